"""Errors of models, tools and clients: each is reported clearly to the party that can act on it, and the turn stays valid."""
import os

import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

CALLS = {
    "unknown tool": ({"name": "frobnicate", "input": {"a": 1}}, "unknown_tool", "frobnicate"),
    "no json": ({"name": "exec", "input": '{"command": "echo'}, "invalid_input", "JSON"),
    "no object": ({"name": "exec", "input": "[1,2]"}, "invalid_input", ""),
    "empty input": ({"name": "exec", "input": ""}, "invalid_input", ""),
    "missing field": ({"name": "read", "input": {}}, "invalid_input", "path"),
    "wrong type": ({"name": "read", "input": {"path": 7}}, "invalid_input", "path"),
    "unknown field": ({"name": "read", "input": {"path": "a", "colour": "red"}}, "invalid_input", "colour"),
    "not wanted": ({"name": "spawn_agent", "input": {"task": "x", "agent": "nobody"}}, "invalid_input", "nobody"),
    "outside": ({"name": "read", "input": {"path": "../../../../etc/passwd"}}, "", ""),
    "nul": ({"name": "exec", "input": {"command": "echo a\u0000b"}}, "invalid_input", "NUL"),
    "not there": ({"name": "read", "input": {"path": "nothing/here"}}, "", "nothing/here"),
    "own network": ({"name": "web_fetch", "input": {"url": "http://127.0.0.1:1/"}}, "", ""),
    "negative timeout": ({"name": "exec", "input": {"command": "true", "_meta": {"timeout": -5}}}, "invalid_input", "timeout"),
    "no worker": ({"name": "exec", "input": {"command": "true", "worker": "w99"}}, "no_such_worker", "w99"),
}


def shell(line):
    return {"name": "exec", "input": {"command": line}}


SCRIPT = [
    *({"when": {"user": f"[{name}]"}, "steps": [{"calls": [call, shell("echo beside")]}]} for name, (call, _, _) in CALLS.items()),
    {"when": {"user": "much"}, "steps": [{"calls": [shell("head -c 50000000 /dev/zero | tr '\\0' x; echo END"), {"name": "list", "input": {"path": "."}}]}]},
    {"when": {"user": "bytes"}, "steps": [{"calls": [shell("printf 'a\\377\\376b\\303('; printf '\\355\\240\\200' >&2"), {"name": "read", "input": {"path": "latin1.txt"}}]}]},
    {"when": {"user": "never ends"}, "steps": [{"endless": "0123456789" * 2000, "delay_ms": 1}]},
    {"when": {"user": "again and again"}, "steps": [{"calls": [{"name": "list", "input": {"path": "."}}]}]},
    {"when": {"result": "\"entries\"", "user": "x"}, "text": "no"},
    {"when": {"user": "crowd"}, "steps": [{"calls": [shell(f"echo {i}") for i in range(129)]}]},
    {"when": {"user": "token"}, "steps": [{"calls": [shell("echo \"$QUELL_TOKEN\"; env | grep -c QUELL_ || true; sleep 1000")]}]},
    {"when": {"user": "nothing"}, "steps": [{"usage": {"input": 1, "output": 0}}] if False else [{"delay_ms": 1}]},
    {"when": {"result": ""}, "text": "Done: {{results}}"},
    {"text": "You said {{text}}."},
]


@pytest.fixture(scope="module")
def c():
    with TurnCluster(SCRIPT) as cluster:
        with open(os.path.join(cluster.workspace, "latin1.txt"), "wb") as f:
            f.write(b"caf\xe9 \xff\n")
        yield cluster


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_that_is_wrong_fails_with_words_for_the_model_and_the_others_run(c, name):
    _, code, words = CALLS[name]
    scope = "bad/" + name.replace(" ", "-")
    turn = c.say(scope, f"[{name}]")
    done = c.ended(turn)
    assert done["status"] == "completed", done
    wrong, beside = c.results(scope, turn)
    assert beside["ok"], beside
    assert not wrong["ok"] and not wrong["cancelled"], wrong
    error = wrong["result"]["error"]
    assert error["code"] and error["message"] and words in error["message"] and (not code or error["code"] == code), wrong
    assert not c.operations(below=wrong_operation(c, turn), kind="task") or not code, "nothing runs for a call that is refused"
    c.next_message_is_taken(scope)
    c.check_scope(scope)


def wrong_operation(c, turn):
    return min(c.below(turn, kind="tool_call"), key=lambda o: o["seq"])["id"]


def test_a_result_of_fifty_megabytes_is_cut_and_says_so(c):
    turn = c.say("much", "much")
    assert c.ended(turn, seconds=180)["status"] == "completed"
    result, listing = c.results("much", turn)
    told = result["result"]["result"]
    assert result["ok"] and listing["ok"] and told["truncated"] and told["exit_code"] == 0, str(result)[:2000]
    assert len(told["stdout"]) < 70_000 and told["stdout"].startswith("xxx") and told["stdout"].endswith("END\n"), told["stdout"][-200:]
    c.next_message_is_taken("much")
    c.check_scope("much")


def test_bytes_that_are_no_text(c):
    turn = c.say("bytes", "bytes")
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    result, read = c.results("bytes", turn)
    assert result["ok"] and result["result"]["result"]["stdout"] == "a\ufffd\ufffdb\ufffd(", result
    assert "\ufffd" in result["result"]["result"]["stderr"]
    assert read["ok"] and "caf\ufffd" in str(read) or read["result"]["error"]["message"], read
    c.next_message_is_taken("bytes")
    c.check_scope("bytes")


def test_a_model_that_never_ends_is_cut(c):
    turn = c.say("endless", "never ends")
    done = c.ended(turn, seconds=120)
    assert done["status"] == "failed" and "was cut" in done["error"]["message"], done["error"]
    user, answer = c.of_turn("endless", turn)
    assert answer["interrupted"] and 1 << 20 <= len(answer["text"]) < (1 << 20) + 100_000
    assert c.check_turn(turn)["data"]["reason"] == "error"
    call, = c.below(turn, kind="model_call")
    assert call["status"] in ("failed", "cancelled"), call
    c.next_message_is_taken("endless")
    c.check_scope("endless")


def test_a_model_that_makes_the_same_call_again_and_again(c):
    scope = "again"
    with TurnCluster([{"steps": [{"calls": [{"name": "list", "input": {"path": "."}}]}]}]) as own:
        turn = own.say(scope, "again and again")
        done = own.ended(turn)
        assert done["status"] == "failed" and "same call of list" in done["error"]["message"], done
        assert len(own.results(scope, turn)) == 5 and [r["ok"] for r in own.results(scope, turn)] == [True] * 4 + [False]
        own.check_scope(scope)


def test_too_many_calls_in_one_answer(c):
    turn = c.say("crowd", "crowd")
    done = c.ended(turn)
    assert done["status"] == "failed" and "129 calls in one answer" in done["error"]["message"] and done["error"]["code"] == "too_many_calls", done
    assert len(c.results("crowd", turn)) == 129 and not any(r["ok"] for r in c.results("crowd", turn))
    assert not c.below(turn, kind="task")
    c.next_message_is_taken("crowd")
    c.check_scope("crowd")


def test_a_model_that_says_nothing(c):
    turn = c.say("nothing", "nothing")
    done = c.ended(turn)
    assert done["status"] == "completed" and done["turn"]["text"] == "", done
    assert [m["role"] for m in c.of_turn("nothing", turn)] == ["user"]
    c.next_message_is_taken("nothing")
    c.check_scope("nothing")


@pytest.mark.parametrize("wrong, status, code", [
    ({"text": "x" * (64 * 1024 + 1)}, 422, "invalid_field"), ({"scope": ""}, 422, None), ({"scope": "a//b"}, 422, None), ({"scope": "a/../b"}, 422, None),
    ({"scope": "a/*"}, 422, None), ({"scope": "quell/mcp/x"}, 422, None), ({"scope": "quell"}, 422, None), ({"agent": "nobody"}, 422, None),
    ({"author": None}, 422, None), ({"author": {"id": ""}}, 422, None), ({"author": {"name": "x"}}, 422, None), ({"text": None}, 422, None),
    ({"text": 7}, 422, None), ({"on_disconnect": "maybe"}, 422, None), ({"coalesce_ms": -1}, 422, None), ({"id": "x" * 129}, 422, None),
    ({"modality": "smell"}, 422, None), ({"confidence": 2}, 422, None), ({"unheard_of": 1}, 422, "unknown_field"), ({"bot_names": ["", 7]}, 422, None),
], ids=lambda v: str(v)[:40])
def test_a_message_that_is_wrong_is_refused(c, wrong, status, code):
    body = {"scope": "refused", "text": "hello", "author": {"id": "mia"}, **wrong}
    answer = c.api("POST", "/v1/messages", body)
    assert answer.status == status and answer.json["code"] and answer.json["detail"], answer.body
    assert code is None or answer.json["code"] == code, answer.body
    assert not c.messages("refused")


def test_what_is_just_small_enough_is_taken(c):
    turn = c.say("small", "x" * (64 * 1024))
    assert c.ended(turn)["status"] == "completed"
    assert len(c.of_turn("small", turn)[0]["text"]) == 64 * 1024
    for text, why in (("", "empty"), (" \n\t", "empty")):
        answer = c.post("small", text)
        assert answer.status == 200 and answer.json["decision"] == "ignored" and answer.json["why"] == why, answer.body
    answer = c.post("small", "hello", final=False)
    assert answer.json["why"] == "not_final" and answer.json["turn"] is None
    c.check_scope("small")


def test_no_json_and_too_large_a_body(c):
    for raw in (b"{", b"[]", b"\xff\xfe", b'"text"', b""):
        answer = c.api("POST", "/v1/messages", raw=raw, headers={"Content-Type": "application/json"})
        assert answer.status in (400, 422) and answer.json["detail"], answer.body
    assert c.api("POST", "/v1/messages", raw=b'{"scope":"x","text":"' + b"y" * (2 << 20) + b'"}', headers={"Content-Type": "application/json"}).status == 413
    bad = c.api("POST", "/v1/messages", raw=b'{"scope":"x","text":"\xff\xfe","author":{"id":"a"}}', headers={"Content-Type": "application/json"})
    assert bad.status in (400, 422), bad.body


def test_who_may_say_something(c):
    tokens = {}
    for role, scope in (("observer", None), ("chat", "team/a"), ("operator", "team")):
        made = c.api("POST", "/v1/tokens", {"name": f"{role}-t", "role": role, "scope": scope})
        assert made.status == 201, made.body
        tokens[role] = made.json["token"]
    assert c.post("team/a", "hello", token=tokens["observer"]).status == 403
    assert c.post("team/a/b", "hello", token=tokens["chat"]).status == 202
    assert c.post("team/b", "hello", token=tokens["chat"]).status in (403, 404)
    assert c.post("team/b", "hello", token=tokens["operator"]).status == 202
    assert c.post("other", "hello", token=tokens["operator"]).status in (403, 404)
    assert c.post("team", "hello", token="no token at all").status == 401
    turn = c.say("team/a", "token")
    call = c.call(turn, "exec", "running")
    task = until(lambda: c.below(call["id"], kind="task", status="running"), "the command to run")[0]
    token = until(lambda: c.api("GET", f"/v1/operations/{task['id']}/output?stream=stdout").body.decode().split("\n")[0], "its token to be shown")
    assert c.post("team/a", "from below", token=token).status == 403
    assert c.api("GET", "/v1/messages?scope=team/a", token=token).status in (403, 404) or token.strip("0123456789") == ""
    assert c.api("GET", "/v1/messages?scope=other", token=tokens["chat"]).status in (403, 404)
    c.cancel(scope="team")
    c.check_scope("team/a")
