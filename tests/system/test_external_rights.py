"""External operations: rights, bad input, and the command line."""
import json

from harness.externals import SignalStream, c, code, new_id  # noqa: F401
from harness.waiting import until


def test_a_parent_that_a_token_may_not_see_does_not_exist_also_when_it_has_ended(c):
    other = c.api("POST", "/v1/tokens", {"name": "else", "role": "operator", "scope": "else"}).json["token"]
    for now in ("running", "cancelling", "completed", "failed", "cancelled"):
        parent = c.stage(now, scope="team")
        refused = c.try_register(parent=parent, token=other)
        assert refused.status == 404 and refused.json["code"] == "operation_not_found" and refused.json["cancel"] is None, (now, refused.body)
        batch = c.api("POST", "/v1/operations/batch", {"operations": [{"kind": "external", "parent": parent}]}, token=other).json["results"]
        assert batch[0]["status"] == 404 and batch[0]["error"]["code"] == "operation_not_found", (now, batch)


def test_tokens_reach_no_further_than_their_scope_and_role(c):
    def token(role, scope=None):
        answer = c.api("POST", "/v1/tokens", {"name": role + str(scope), "role": role, "scope": scope})
        assert answer.status == 201, answer.body
        return answer.json["token"]
    chat, observer, other = token("chat", "team"), token("observer"), token("operator", "else")
    mine = c.try_register("team/a", token=chat, session="r")
    assert mine.status == 201
    id = mine.json["id"]
    assert code(c.try_register("else", token=chat)) == "scope_forbidden"
    assert code(c.try_register("team", token=observer)) == "forbidden"
    batch = c.api("POST", "/v1/operations/batch", {"operations": [{"kind": "task", "scope": "team", "task": {"command": ["true"]}},
                                                                  {"kind": "external", "scope": "else"}, {"kind": "external", "scope": "team"}]}, token=chat)
    assert [r["status"] for r in batch.json["results"]] == [403, 403, 201], batch.body
    for word in ("start", "complete", "fail", "stopped", "heartbeat"):
        assert code(c.say(id, word, token=other)) == "operation_not_found"
        assert code(c.say(id, word, token=observer)) == "forbidden"
        assert code(c.say(new_id(), word)) == "operation_not_found" and code(c.say("42", word)) == "bad_id"
        assert code(c.say(id, word, {"bogus": 1})) == "unknown_field"
    assert code(c.api("GET", f"/v1/operations/{id}/signal?wait_ms=0", token=other)) == "operation_not_found"
    assert SignalStream(c, "/v1/signals?session=r", token=observer).problem["code"] == "forbidden"
    assert SignalStream(c, "/v1/signals").problem["code"] == "invalid_field"
    heartbeat = c.api("POST", "/v1/operations/heartbeat", {"ids": [id], "session": "r"}, token=other).json
    assert heartbeat["unknown"] == [id] and heartbeat["renewed"] == 0
    deaf, hears = SignalStream(c, "/v1/signals?session=r", token=other), SignalStream(c, "/v1/signals?session=r", token=chat)
    c.cancel(scope="team", wait="fenced")
    until(lambda: hears.heard() == [id], "the signal to who may hear it")
    assert deaf.signals == []
    for s in (deaf, hears):
        s.close()


def test_bad_fields_are_named(c):
    for body, pointer in [({"lease_ms": 1}, "/external/lease_ms"), ({"lease_ms": -1}, "/external/lease_ms"), ({"lease_ms": 8 * 86400000}, "/external/lease_ms"),
                          ({"session": ""}, "/external/session"), ({"session": "x" * 129}, "/external/session"), ({"start": "soon"}, "/external/start"),
                          ({"more": 1}, "/external/more")]:
        answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": "s", "external": body})
        assert answer.status == 422 and answer.json["errors"][0]["pointer"] == pointer, answer.body
    assert c.api("POST", "/v1/operations", {"kind": "external", "task": {"command": ["true"]}}).status == 422
    assert c.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["true"]}, "external": {}}).status == 422
    id = c.register("s")["id"]
    for word, body in [("fail", {"code": "no spaces"}), ("fail", {"message": 1}), ("fail", {"message": "x" * 5000}), ("complete", {"result": 1, "x": 1})]:
        assert c.say(id, word, body).status == 422, (word, body)
    assert c.say(id, "complete", {"result": "x" * 1_100_000}).status == 413
    assert c.api("GET", f"/v1/operations/{id}/signal?wait_ms=60001").status == 422
    assert c.operation(id)["status"] == "running" and c.operation(id)["name"] == "external"


def test_the_command_line_shows_and_cancels_external_work(c):
    id = c.register("s", name="callLLM", title="summarise", session="r", lease_ms=0, grace_ms=60000)["id"]
    for command in (["ps"], ["ps", "--tree"], ["show", id]):
        shown = c.quell(*command, check=0).stdout.decode()
        assert "summarise" in shown and ("callLLM" in shown or command[0] == "ps"), shown
    assert json.loads(c.quell("show", id, "--json", check=0).stdout)["external"]["session"] == "r"
    c.quell("cancel", id, "--no-wait")
    why = c.quell("why", id).stdout.decode()
    assert "owner" in why, why
    c.say(id, "stopped")
    assert c.quell("wait", id).returncode == 130
