"""Turns that use other people's MCP servers (npm), over stdio on a worker and over HTTP: the offered tools, their results,
progress, cancels, timeouts, exclusive calls, and servers that stop."""
import json
import os

import pytest

from harness import processes
from harness.peers import MCP_HOME, MCP_PACKAGES, Program, everything_on_the_web, installed, program_of
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster
from harness.waiting import until

NEWEST = os.path.join(os.path.dirname(__file__), "harness", "newest_mcp.mjs")
LONG = "mcp__{}__trigger-long-running-operation"
CONFIG = """
[[models]]
name = "recorded"
provider = "openai"
model = "any"
base_url = "{model}"
[[agents]]
name = "peer"
model = "recorded"
workspace = "WORKSPACE"
tools = ["mcp:pipe", "mcp:web", "mcp:files", "exec"]
[[mcp]]
name = "pipe"
command = ["node", "{everything}", "stdio"]
[[mcp]]
name = "web"
url = "{web}"
[[mcp]]
name = "files"
command = ["node", "{filesystem}", "WORKSPACE"]
[tools.timeouts]
mcp__pipe__trigger-long-running-operation = "1500ms"
"""
both = pytest.mark.parametrize("server", ["pipe", "web"])


@pytest.fixture(scope="module")
def home():
    return installed(MCP_HOME, MCP_PACKAGES)


@pytest.fixture(scope="module")
def world(home, tmp_path_factory):
    model = RecordingModel()
    try:
        with everything_on_the_web(home, tmp_path_factory.mktemp("web")) as (url, _):
            config = CONFIG.format(model=model.url, web=url, everything=program_of(home, "server-everything"),
                                   filesystem=program_of(home, "server-filesystem"))
            with TurnCluster([{"text": "hi"}], config) as c:
                yield c, model
    finally:
        model.close()


def say(world, text, *answers, scope="peers"):
    c, model = world
    model.plan[text] = list(answers)
    return c.say(scope, text, agent="peer")


def texts(result):
    """The text of the tool's result."""
    return "".join(part["text"] for part in result["result"]["result"]["content"])


def hosted(c, name, *statuses):
    return [o for o in c.operations(scope=f"quell/mcp/{name}") if o["status"] in (statuses or ("running",))]


def test_the_model_is_offered_the_tools_of_all_servers(world):
    c, model = world
    turn = say(world, "what is there")
    assert c.ended(turn)["status"] == "completed"
    offered = model.tools_offered("what is there")
    assert {"exec", "mcp__pipe__echo", "mcp__web__echo", "mcp__files__write_file", "mcp__files__read_text_file"} <= set(offered)
    assert offered["mcp__pipe__echo"]["parameters"]["properties"]["message"]["type"] == "string"
    assert "read" not in offered
    # Each hosted server has no parent, is in its reserved scope, and takes no slot.
    for name in ("pipe", "files"):
        task, = hosted(c, name)
        assert (task["kind"], task["parent"], task["task"]["slots"], task["worker"]) == ("task", None, 0, "w1"), task
    assert not hosted(c, "web")


@both
def test_a_call_is_answered_and_its_result_told_to_the_model(world, server):
    c, model = world
    turn = say(world, f"echo on {server}", [(f"mcp__{server}__echo", {"message": "hällo wörld"}),
                                            (f"mcp__{server}__get-sum", {"a": 2, "b": 40}),
                                            (f"mcp__{server}__get-sum", {"a": "two", "b": 40}),
                                            (f"mcp__{server}__no-such-tool", {})])
    assert c.ended(turn)["status"] == "completed"
    echo, total, wrong, unknown = c.results("peers", turn)
    assert echo["ok"] and texts(echo) == "Echo: hällo wörld" and "42" in texts(total)
    assert not wrong["ok"] and "a" in wrong["result"]["error"]["message"], wrong
    assert not unknown["ok"] and "no-such-tool" in unknown["result"]["error"]["message"], unknown
    told = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"][-4:]
    assert [json.loads(t) for t in told] == [r["result"] for r in (echo, total, wrong, unknown)]
    c.check_scope("peers")


def test_a_long_tool_tells_its_progress(world):
    c, _ = world
    turn = say(world, "take your time", [(LONG.format("web"), {"duration": 2, "steps": 4})])
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("peers", turn)
    assert result["ok"] and "completed" in texts(result)
    said = [e["data"] for e in c.events(turn, "tool_progress")]
    steps = [d["progress"] for d in said]  # one that comes right behind another is left out
    assert steps and steps == sorted(set(steps)) and set(steps) <= {1, 2, 3, 4} and {d["total"] for d in said} == {4}, said
    assert all(d["call"] == result["call"] and d["name"] == LONG.format("web") for d in said)
    assert [d["elapsed_ms"] for d in said] == sorted(d["elapsed_ms"] for d in said) and all(d["elapsed_ms"] >= 450 * d["progress"] for d in said), said


@both
def test_a_cancel_in_the_middle_is_over_at_once_and_what_the_server_did_is_recorded(world, server):
    c, _ = world
    scope = f"cancel-{server}"
    # The server `pipe` has a configured timeout of 1.5 s; this call has its own.
    turn = say(world, f"cancel on {server}", [(LONG.format(server), {"duration": 10, "steps": 30, "_meta": {"timeout": 0}})], scope=scope)
    c.wait_event(turn, "tool_progress")
    done = c.cancel(operation=turn)
    # Settled before the server's own end, and without proof of it.
    assert done["status"] == "settled" and not done["report"]["proven"], done
    assert done["report"]["receipts"]["unconfirmed"] == 1 and done["report"]["proofs"]["none"] == 1, done
    assert done["report"]["settled_ms"] < 8000, done["report"]
    call = c.call(turn, LONG.format(server), "cancelled")
    assert (call["stop"]["receipt"], call["stop"]["proof"]) == ("unconfirmed", "none"), call
    result, = c.results(scope, turn)
    assert result["cancelled"] and result["result"]["error"]["message"] == "Tool call cancelled by user."
    told = len(c.events(turn, "tool_progress"))
    turn2 = say(world, f"after cancel on {server}", [(f"mcp__{server}__echo", {"message": "still here"})], scope=scope)
    assert c.ended(turn2)["status"] == "completed" and texts(c.results(scope, turn2)[0]) == "Echo: still here"
    # It sends progress of the cancelled call for its full duration; quell ignores it.
    wait = say(world, f"wait on {server}", [(LONG.format(server), {"duration": 10, "steps": 1, "_meta": {"timeout": 0}})], scope=scope)
    assert c.ended(wait)["status"] == "completed"
    assert len(c.events(turn, "tool_progress")) == told
    c.check_scope(scope)


def test_a_write_that_is_cancelled_at_once_claims_nothing(world):
    """PEERS reports: a write_file sent together with its cancel still wrote the file."""
    c, _ = world
    name, path = "mcp__files__write_file", os.path.join(c.workspace, "written")
    for i in range(8):
        turn = say(world, f"write {i}", [(name, {"path": f"{path}-{i}", "content": "perhaps"})], scope="late")
        c.call(turn, name)
        c.cancel(operation=turn)
        call = c.call(turn, name, "cancelled", "completed", "failed")
        receipt = call["stop"] and call["stop"]["receipt"]
        if call["status"] == "cancelled":
            assert receipt in ("unconfirmed", "never_started"), call
        if os.path.exists(f"{path}-{i}"):
            assert receipt != "never_started", call
        assert call["late"] is None or call["late"]["server"] in ("not_sent", "too_late", "done"), call
    c.check_scope("late")


def test_the_configured_time_of_a_tool_ends_the_call_and_not_the_turn(world):
    c, _ = world
    turn = say(world, "too slow", [(LONG.format("pipe"), {"duration": 40, "steps": 80}), ("mcp__pipe__echo", {"message": "beside"})], scope="time")
    assert c.ended(turn)["status"] == "completed"
    late, beside = c.results("time", turn)
    assert "[TIMEOUT]" in late["result"]["error"]["message"] and "1.5" in late["result"]["error"]["message"], late
    assert texts(beside) == "Echo: beside"
    call = c.call(turn, LONG.format("pipe"))
    assert (call["status"], call["error"]["code"], call["stop"]["cause"], call["stop"]["receipt"]) == ("failed", "timeout", "timeout", "unconfirmed"), call
    c.check_scope("time")


def test_a_destructive_tool_runs_alone(world):
    c, _ = world
    path = os.path.join(c.workspace, "alone")
    turn = say(world, "alone", [(LONG.format("web"), {"duration": 5, "steps": 1}), (LONG.format("web"), {"duration": 5, "steps": 1}),
                                ("mcp__files__write_file", {"path": path, "content": "x"}), ("mcp__files__read_text_file", {"path": path})], scope="alone")
    assert c.ended(turn)["status"] == "completed"
    assert all(r["ok"] for r in c.results("alone", turn)), c.results("alone", turn)
    a, b, alone, after = sorted(c.below(turn, kind="tool_call"), key=lambda o: o["seq"])
    assert alone["tool"]["exclusive"] and not a["tool"]["exclusive"] and not after["tool"]["exclusive"]
    assert a["started_at"] < b["ended_at"] and b["started_at"] < a["ended_at"]
    assert alone["started_at"] >= max(a["ended_at"], b["ended_at"]) and after["started_at"] >= alone["ended_at"]


def test_two_turns_share_one_server(world):
    c, _ = world
    for name in ("one", "two"):
        world[1].plan[f"share {name}"] = [[(LONG.format("pipe"), {"duration": 5, "steps": 2, "_meta": {"timeout": 0}})]]
    turns = [c.say(f"share-{name}", f"share {name}", agent="peer") for name in ("one", "two")]
    for turn in turns:
        assert c.ended(turn)["status"] == "completed"
    assert all(c.results(f"share-{name}", t)[0]["ok"] for name, t in zip(("one", "two"), turns))
    calls = [c.call(t, LONG.format("pipe")) for t in turns]
    assert calls[0]["started_at"] < calls[1]["ended_at"] and calls[1]["started_at"] < calls[0]["ended_at"]
    assert len(hosted(c, "pipe")) == 1


def test_a_server_on_the_web_that_goes_away_and_comes_back(home, tmp_path):
    model = RecordingModel()
    try:
        with everything_on_the_web(home, tmp_path) as (url, _):
            config = CONFIG.format(model=model.url, web=url, everything="-", filesystem="-").replace('"mcp:pipe", "mcp:web", "mcp:files", "exec"', '"mcp:web"')
            c = TurnCluster([{"text": "hi"}], config, workers=0).__enter__()
            here = (c, model)
            turn = say(here, "first", [("mcp__web__echo", {"message": "one"})])
            assert c.ended(turn)["status"] == "completed" and texts(c.results("peers", turn)[0]) == "Echo: one"
            turn = say(here, "cut", [(LONG.format("web"), {"duration": 100, "steps": 1000, "_meta": {"timeout": 0}})], [("mcp__web__echo", {"message": "two"})])
            c.wait_event(turn, "tool_progress")
        assert c.ended(turn)["status"] == "completed"
        # The first call had been sent, and its outcome is unknown; the second reached no server.
        assert [r["result"]["error"]["code"] for r in c.results("peers", turn)] == ["outcome_unknown", "mcp_unreachable"], c.results("peers", turn)
        with everything_on_the_web(home, tmp_path, int(url.split(":")[2].split("/")[0])):
            turn = say(here, "back", [("mcp__web__echo", {"message": "three"})])
            assert c.ended(turn)["status"] == "completed" and c.results("peers", turn)[0]["ok"], c.results("peers", turn)
        c.check_scope("peers")
    finally:
        c.__exit__(None, None, None)
        model.close()


def test_in_the_newest_version_a_cancel_closes_the_response_and_stops_the_tool(home):
    model = RecordingModel()
    try:
        with Program("node", NEWEST, home) as server:
            url = f"http://127.0.0.1:{server.line('listening').split()[1]}/mcp"
            config = CONFIG.format(model=model.url, web=url, everything="-", filesystem="-").replace('"mcp:pipe", "mcp:web", "mcp:files", "exec"', '"mcp:web"')
            with TurnCluster([{"text": "hi"}], config, workers=0) as c:
                turn = say((c, model), "slow", [("mcp__web__slow", {"steps": 10000, "_meta": {"timeout": 0}})])
                c.wait_event(turn, "tool_progress")
                done = c.cancel(operation=turn)
                assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1, done
                server.line("hung up")
                server.line("tool stopped")
                call = c.call(turn, "mcp__web__slow", "cancelled")
                until(lambda: c.operation(call["id"])["late"] == {"server": "ignored"}, "what became of it")
                c.check_scope("peers")
    finally:
        model.close()


@pytest.mark.parametrize("target", ["scope", "everything"])
def test_a_cancel_stops_the_server_and_the_next_call_begins_another(world, target):
    c, _ = world
    turn = say(world, f"begin for {target}", [("mcp__files__list_allowed_directories", {})], scope="stop")
    c.ended(turn)
    server, = hosted(c, "files")
    pid = server["task"]["pid"]
    assert processes.alive(pid) or c.worker("w1")["containment"].endswith("pidns")
    before = processes.marked("server-filesystem/dist/index.js " + c.workspace) or processes.marked(c.workspace)
    assert before
    done = c.cancel(scope="quell/mcp/files") if target == "scope" else c.cancel(everything=True)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert c.operation(server["id"])["status"] == "cancelled"
    assert not processes.marked(c.workspace)
    turn = say(world, f"again after {target}", [("mcp__files__list_allowed_directories", {})], scope="stop")
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    again = say(world, f"and again after {target}", [("mcp__files__list_allowed_directories", {})], scope="stop")
    assert c.ended(again)["status"] == "completed", c.operation(again)
    result, = c.results("stop", again)
    log = processes.read(os.path.join(c.directory, "quelld.log")).decode()[-3000:]
    assert result["ok"] and c.workspace in texts(result), f"{result}\n{log}"
    fresh, = hosted(c, "files")
    assert fresh["id"] != server["id"]
