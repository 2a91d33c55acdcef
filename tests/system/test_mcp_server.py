"""`quell mcp`: an agent starts, watches and cancels work below its own operation, and no further."""

import pytest

from harness import processes
from harness.cluster import marker
from harness.mcp_client import AGAIN, STAY, McpServer, mcp, scope_of, stopped_text, text, world  # noqa: F401
from harness.waiting import until

TOOLS = ["quell_run", "quell_list", "quell_show", "quell_output", "quell_wait", "quell_cancel"]


def short(id):
    return id[-8:]


# ---- the protocol --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("asked, agreed", [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2025-03-26", "2025-03-26"),
                                           ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
def test_a_version_is_agreed_on(world, asked, agreed):
    with McpServer(world, "--scope", "mcp/versions", version=asked) as m:
        assert m.info["protocolVersion"] == agreed
        assert m.info["serverInfo"]["name"] == "quell" and "tools" in m.info["capabilities"]


def test_the_tools_are_those_of_the_surface(mcp):
    tools = mcp.answer(mcp.ask("tools/list"))["tools"]
    assert [t["name"] for t in tools] == TOOLS
    for t in tools:
        looks_only = t["name"] in ("quell_list", "quell_show", "quell_output", "quell_wait")
        assert t["annotations"]["readOnlyHint"] is looks_only and t["annotations"]["destructiveHint"] is not looks_only
        assert t["inputSchema"]["type"] == "object" and t["inputSchema"]["additionalProperties"] is False
    assert mcp.answer(mcp.ask("ping")) == {}


def test_the_newest_version_needs_no_handshake(world):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    with McpServer(world, "--scope", "mcp/stateless", handshake=False) as m:
        found = m.answer(m.ask("server/discover", meta))
        assert found["supportedVersions"] == ["2026-07-28"] and found["resultType"] == "complete"
        assert [t["name"] for t in m.answer(m.ask("tools/list", meta))["tools"]] == TOOLS
        done = m.answer(m.ask("tools/call", {"name": "quell_list", "arguments": {}, **meta}))
        assert done["resultType"] == "complete" and done["structuredContent"]["operations"] == []


def test_bad_lines_are_answered_and_harm_nothing(mcp):
    def error(data):
        before = len(mcp.messages)
        mcp.raw(data + b"\n")
        return until(lambda: mcp.messages[before:], f"an answer to {data[:60]}")[0]["error"]["code"]
    assert error(b"{") == -32700
    assert error(b"\xff\xfe") == -32700
    assert error(b"x" * (1024 * 1024 + 1)) == -32700
    assert error(b"[" * 100_000) == -32700
    assert error(b"5") == -32600
    assert error(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]') == -32600
    assert error(b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}') == -32600
    assert error(b'{"jsonrpc":"2.0","id":7,"method":"no/such"}') == -32601
    assert error(b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}') == -32602
    mcp.raw(b'\n  \n{"jsonrpc":"2.0","id":999,"result":{}}\n{"jsonrpc":"2.0","method":"notifications/of-tomorrow"}\r\n')
    assert mcp.answer(mcp.ask("ping", id="5")) == {}
    assert not mcp.answers_to(5)


@pytest.mark.parametrize("tool, arguments, says", [
    ("quell_fly", {}, "no tool"), ("quell_run", {}, "command"), ("quell_run", {"command": "make test"}, "list of words"),
    ("quell_run", {"command": []}, "1 to 1000"), ("quell_run", {"command": ["a", 5]}, "strings"), ("quell_run", {"command": ["x"], "cmd": 1}, '"cmd"'),
    ("quell_run", {"command": ["x"], "wait_ms": 55001}, "55000"), ("quell_run", {"command": ["x"], "labels": {"a": 1}}, "labels"),
    ("quell_list", {"status": "lively"}, "live"), ("quell_list", {"limit": 0}, "limit"), ("quell_show", {}, "id"), ("quell_show", {"id": "../x"}, "not an id"),
    ("quell_output", {"id": "abcdef12", "stream": "stdin"}, "stdout"), ("quell_cancel", {}, "all_mine"),
    ("quell_cancel", {"id": "abcdef12", "all_mine": True}, "id"), ("quell_wait", {"id": "abcdef12", "wait_ms": -1}, "wait_ms")])
def test_wrong_arguments_are_explained_to_the_model(mcp, tool, arguments, says):
    result = mcp.call(tool, **arguments)
    assert result["isError"] is True and says in text(result), text(result)


def test_a_worker_that_is_not_there_is_refused_by_name(mcp):
    result = mcp.call("quell_run", command=["true"], worker="nobody")
    assert result["isError"] is True and "nobody" in text(result) and result["structuredContent"]["code"] == "no_such_worker"


def test_calls_run_side_by_side_up_to_a_limit(mcp):
    started = mcp.run("sh", "-c", STAY)["id"]
    open_calls = [mcp.begin("quell_wait", id=started, wait_ms=55000) for _ in range(64)]
    refused = mcp.call("quell_list")
    assert refused["isError"] is True and "64 calls are open" in text(refused)
    twice = mcp.ask("ping", id=open_calls[0])
    assert "still open" in mcp.message(twice)["error"]["message"]
    mcp.tell("notifications/cancelled", {"requestId": open_calls[1]})
    assert mcp.do("quell_cancel", id=started)["report"]["proven"] is True
    for id in open_calls[2:]:
        assert mcp.answer(id)["structuredContent"]["status"] == "cancelled"


def test_a_client_that_does_not_read_holds_up_nothing_but_itself(world):
    with McpServer(world, "--scope", "mcp/deaf", "--lease", "15s", reads=False) as m:
        for number in range(2000):
            m.ask("tools/list")
        own = m.own()["id"]
        beats = world.operation(own)["external"]["lease_expires_at"]
        for _ in range(2):
            beats = until(lambda: (lambda now: now if now != beats else None)(world.operation(own)["external"]["lease_expires_at"]), "its next heartbeat")
        m.begin_reading()
        assert len(m.answer(2000)["tools"]) == 6
        m.close_input()
        assert m.exit_code() == 0


# ---- the tools -----------------------------------------------------------------------------------------------------
def test_a_command_is_started_watched_read_and_listed(world, mcp):
    started = mcp.run("sh", "-c", "echo out; echo err >&2; sleep 1; echo more; exit 3", title="a test", labels={"pr": "4711"}, worker="w2")
    own = mcp.own()
    assert started["parent"] == own["id"] and started["scope"] == own["scope"] and own["kind"] == "external"
    assert started["title"] == "a test" and started["labels"] == {"pr": "4711"} and started["task"]["command"][0] == "sh"

    waited = mcp.call("quell_wait", id=short(started["id"]), wait_ms=30000)
    assert waited["structuredContent"]["exit"] == {"code": 3} and waited["isError"] is False
    assert "failed exit 3" in text(waited) and "quell_output" in text(waited), text(waited)

    out = mcp.output(started["id"])
    assert out["structuredContent"]["text"] == "out\nmore\n" and "more" in text(out)
    assert mcp.output(started["id"], stream="stderr")["structuredContent"]["text"] == "err\n"
    assert mcp.do("quell_output", id=started["id"], tail_bytes=5)["text"] == "more\n"

    shown = mcp.call("quell_show", id=started["id"])
    assert shown["structuredContent"] == world.operation(started["id"]) and short(started["id"]) in text(shown)
    listed = mcp.call("quell_list", status="failed")
    assert [o["id"] for o in listed["structuredContent"]["operations"]] == [started["id"]] and "a test" in text(listed)
    assert mcp.do("quell_list", status="live")["operations"] == []


def test_a_wait_that_runs_out_leaves_the_work_alone(world, mcp):
    result = mcp.call("quell_run", command=["sh", "-c", STAY], wait_ms=300)
    id = result["structuredContent"]["id"]
    assert result["isError"] is False and "quell_wait" in text(result) and short(id) in text(result)
    assert world.wait_status(id, "running")
    assert mcp.call("quell_wait", id=id, wait_ms=100)["structuredContent"]["status"] == "running"
    done = mcp.call("quell_run", command=["sh", "-c", "echo hello"], wait_ms=30000)
    assert done["structuredContent"]["status"] == "completed" and done["isError"] is False


def test_a_timeout_ends_the_command(mcp):
    done = mcp.run("sh", "-c", STAY, timeout_ms=300, wait_ms=30000)
    assert done["status"] == "failed" and done["error"]["code"] == "timeout"


def test_long_output_is_cut_in_the_text_and_whole_in_the_structure(mcp):
    done = mcp.run("sh", "-c", "seq 1 20000; printf 'ende \\303\\244\\n'", wait_ms=30000)
    out = mcp.output(done["id"])
    assert len(out["structuredContent"]["text"].encode()) >= 4090 and out["structuredContent"]["text"].endswith("20000\nende ä\n")
    assert 500 < len(text(out)) <= 2000 and text(out).endswith("20000\nende ä")
    assert len(mcp.do("quell_output", id=done["id"], tail_bytes=65536)["text"]) == 65536 - 1


def test_output_that_is_no_text_is_given_as_base64(mcp):
    done = mcp.run("sh", "-c", "printf '\\377\\376\\000x'", wait_ms=30000)
    out = mcp.output(done["id"])
    assert out["structuredContent"]["base64"] == "//4AeA==" and "not text" in text(out)


def test_a_cancel_by_id_says_that_it_is_proven(world, mcp):
    mark = marker()
    started = mcp.run("bash", "-c", f": {mark}; {STAY}")
    until(lambda: processes.marked(mark), "the command to run")
    would = mcp.call("quell_cancel", id=started["id"], dry_run=True)
    assert would["structuredContent"]["dry_run"] is True and "would stop 1 operation" in text(would)
    world.wait_status(started["id"], "running")
    done = mcp.call("quell_cancel", id=short(started["id"]), reason="wrong branch")
    assert done["structuredContent"]["status"] == "settled" and done["structuredContent"]["report"]["proven"] is True
    assert "stopped, proven" in text(done) and not processes.marked(mark)
    again = mcp.call("quell_cancel", id=started["id"])
    assert again["structuredContent"]["outcome"] == "already_finished" and again["isError"] is False
    # A stop by the agent itself is not reported as the user's.
    waited = mcp.call("quell_wait", id=started["id"])
    assert waited["isError"] is False and AGAIN not in text(waited)


def test_all_mine_is_everything_below_and_not_the_server(world, mcp):
    started = [mcp.run("sh", "-c", STAY)["id"] for _ in range(20)]
    other = world.start("sh", "-c", STAY, scope=mcp.own()["scope"])
    would = mcp.call("quell_cancel", all_mine=True, dry_run=True)
    assert "Would stop 20 operations" in text(would)
    done = mcp.call("quell_cancel", all_mine=True, reason="enough")
    assert len(done["structuredContent"]["cancels"]) == 20 and "Stopped, proven: 20 operations" in text(done), text(done)
    assert all(world.operation(id)["status"] == "cancelled" for id in started)
    assert world.wait_status(other["id"], "running") and mcp.own()["status"] == "running"
    assert "nothing to stop" in text(mcp.call("quell_cancel", all_mine=True)).lower()
    assert mcp.run("true", wait_ms=30000)["status"] == "completed"
    world.cancel(operation=other["id"])


def test_what_a_user_cancels_is_told_with_the_reason(world, mcp):
    id = mcp.begin("quell_run", command=["sh", "-c", STAY], wait_ms=55000)
    started = until(lambda: world.operations(parent=mcp.own()["id"], status="running"), "the command to run")[0]
    world.cancel(operation=started["id"], reason="too expensive")
    result = mcp.answer(id)
    assert result["isError"] is True and text(result).startswith(stopped_text("too expensive"))
    assert mcp.run("true", wait_ms=30000)["status"] == "completed"  # only that operation was stopped


# ---- its own operations and no others ----------------------------------------------------------------------------
def test_ids_outside_do_not_exist(world, mcp):
    other = world.start("sh", "-c", STAY, scope=mcp.own()["scope"])
    foreign = [other["id"], short(other["id"]), mcp.own()["id"], "01a1f869-3df9-7303-8207-dde70bee07dd", "07dd07dd"]
    for id in foreign:
        for tool in ("quell_show", "quell_output", "quell_wait", "quell_cancel"):
            result = mcp.call(tool, id=id)
            assert result["isError"] is True and "no operation" in text(result), (tool, id, text(result))
    assert world.wait_status(other["id"], "running") and mcp.own()["status"] == "running"
    assert mcp.do("quell_list")["operations"] == []
    world.cancel(operation=other["id"])


def test_what_lies_deeper_is_within_reach(world, mcp):
    started = mcp.run("sh", "-c", "quell run -d -- sh -c '" + STAY + "'; " + STAY)
    grandchild = until(lambda: world.operations(parent=started["id"]), "the command's own task")[0]["id"]
    assert {o["id"] for o in mcp.do("quell_list")["operations"]} == {started["id"], grandchild}
    assert mcp.do("quell_show", id=grandchild)["parent"] == started["id"]
    assert mcp.do("quell_cancel", id=grandchild)["report"]["proven"] is True


def test_two_servers_in_one_scope_do_not_see_each_others_work(world, request):
    scope = scope_of(request)
    with McpServer(world, "--scope", scope) as a, McpServer(world, "--scope", scope) as b:
        of_a, of_b = a.run("sh", "-c", STAY)["id"], b.run("sh", "-c", STAY)["id"]
        assert [o["id"] for o in a.do("quell_list")["operations"]] == [of_a]
        assert b.call("quell_show", id=of_a)["isError"] is True
        a.do("quell_cancel", all_mine=True)
        assert world.operation(of_a)["status"] == "cancelled" and world.wait_status(of_b, "running")
