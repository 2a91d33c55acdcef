"""What waits for a person in an editor on the official ACP SDK (npm): permissions and forms, decided there, elsewhere, or while quelld is away."""
import os

import pytest

from harness.acp import Editor, sdk, world  # noqa: F401
from harness.waiting import until


def test_a_permission_is_an_approval(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    for n, (option, status) in enumerate([("allow", "completed"), ("reject", "failed")]):
        name = e.begin("prompt", sessionId=sid, text="writes")
        asked = e.step("permission", count=n + 1)
        assert [o["kind"] for o in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
        assert asked["toolCall"]["rawInput"]["path"] == "a.txt" and c.operation(asked["toolCall"]["toolCallId"])["status"] == "paused"
        e.call("answer", index=n, outcome={"outcome": "selected", "optionId": option})
        assert e.done(name)["stopReason"] == "end_turn"
        of_call = lambda: [t["status"] for t in e.tools() if t["toolCallId"] == asked["toolCall"]["toolCallId"]]
        until(lambda: of_call()[:1] == ["pending"] and of_call()[-1] == status, f"the call to be {status}; there is {of_call()}")
        assert os.path.exists(os.path.join(c.workspace, "a.txt"))
    c.check_scope(sid)


def test_a_permission_that_is_taken_back_with_its_prompt_is_no_denial(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="writes")
    asked = e.step("permission")
    # As the protocol says: open requests are answered `cancelled`, and the cancel comes.
    e.call("answer", index=0, outcome={"outcome": "cancelled"})
    e.begin("cancel", sessionId=sid)
    done = e.done(name)
    assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["proven"], done
    resolved, = c.events(done["_meta"]["quell"]["turn"], "approval_resolved")
    assert resolved["data"]["decision"] == "cancelled", resolved
    assert c.operation(asked["toolCall"]["toolCallId"])["status"] == "cancelled"
    assert len(c.operations(scope=sid, kind="model_call")) == 1, "the model was told of a denial"
    c.check_scope(sid)


def test_what_is_always_allowed_in_the_editor_is_not_asked_again(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="writes")
    always, = [o for o in e.step("permission")["options"] if o["kind"] == "allow_always"]
    assert "8 hours" in always["name"], always
    e.call("answer", index=0, outcome={"outcome": "selected", "optionId": always["optionId"]})
    assert e.done(name)["stopReason"] == "end_turn"
    rule, = c.api("GET", "/v1/approvals/rules").json["rules"]
    assert (rule["scope"], rule["tool"], rule["agent"]) == (sid, "write", "main"), rule
    assert e.call("prompt", sessionId=sid, text="writes")["stopReason"] == "end_turn"
    assert len(e.steps("permission")) == 1
    other = e.call("new")["sessionId"]  # another conversation is another place
    name = e.begin("prompt", sessionId=other, text="writes")
    e.step("permission", count=2)
    e.begin("cancel", sessionId=other)
    assert e.done(name)["_meta"]["quell"]["proven"]
    c.check_scope(sid)


@pytest.mark.parametrize("word", ["approve", "deny"])
def test_who_decides_first_wins_and_the_others_request_is_taken_back(world, word):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="writes")
    call = e.step("permission")["toolCall"]["toolCallId"]
    assert c.quell(word, call).returncode == 0
    assert e.done(name)["stopReason"] == "end_turn"
    assert e.position("taken back", what=call) < e.position("done", name=name)
    is_there = os.path.exists(os.path.join(c.workspace, "a.txt"))
    assert is_there == (word == "approve")
    e.call("answer", index=0, outcome={"outcome": "selected", "optionId": "reject" if is_there else "allow"})  # too late
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"
    assert os.path.exists(os.path.join(c.workspace, "a.txt")) == is_there
    resolved, = c.events(c.operation(call)["parent"], "approval_resolved")
    assert resolved["data"]["decision"] == ("approved" if is_there else "denied"), resolved
    c.check_scope(sid)


def test_a_form_that_somebody_else_answers_is_taken_back(world):
    c, _, _ = world
    with Editor(c) as e:
        e.call("initialize", capabilities={"elicitation": {"form": {}}})
        sid = e.call("new")["sessionId"]
        e.call("mode", sessionId=sid, modeId="asker")
        name = e.begin("prompt", sessionId=sid, text="why")
        call = e.step("form")["toolCallId"]
        question = c.operation(call)["tool"]["question"]["id"]
        assert c.api("POST", f"/v1/operations/{call}/approve", {"question": question, "values": {"answer": "from elsewhere"}}).status == 200
        assert e.done(name)["stopReason"] == "end_turn"
        assert e.position("taken back", what=call) < e.position("done", name=name)
        until(lambda: '"answer":"from elsewhere"' in e.texts(), "the model to be told")
        c.check_scope(sid)


@pytest.mark.parametrize("option", ["allow", "always", "reject"])
def test_a_decision_while_quelld_is_away_is_not_lost(world, option):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="writes")
    e.step("permission")
    c.kill_controller()
    e.call("answer", index=0, outcome={"outcome": "selected", "optionId": option})
    c.start_controller()
    done = e.done(name)
    assert done["stopReason"] == "end_turn", done
    assert os.path.exists(os.path.join(c.workspace, "a.txt")) == (option != "reject")
    assert len(e.steps("permission")) == 1
    resolved, = c.events(done["_meta"]["quell"]["turn"], "approval_resolved")
    assert resolved["data"]["decision"] == ("denied" if option == "reject" else "approved"), resolved
    assert len(c.api("GET", "/v1/approvals/rules").json["rules"]) == (option == "always")
    c.check_scope(sid)


def test_a_decision_right_before_quelld_dies_counts_or_is_made_again(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    for n in range(3):
        name = e.begin("prompt", sessionId=sid, text="writes")
        e.step("permission", count=n + 1)
        e.call("answer", index=n, outcome={"outcome": "selected", "optionId": "allow"})
        c.restart()
        done = e.done(name)
        assert done["stopReason"] == "end_turn" and len(e.steps("permission")) == n + 1, done
        resolved, = c.events(done["_meta"]["quell"]["turn"], "approval_resolved")
        assert resolved["data"]["decision"] == "approved", resolved
    c.check_scope(sid)


def test_an_answer_in_words_while_quelld_is_away_is_not_lost(world):
    c, _, _ = world
    token = c.api("POST", "/v1/tokens", {"name": "editor", "role": "chat", "scope": "edit"}).json["token"]  # answers as the next message does
    with Editor(c, token=token) as e:
        e.call("initialize", capabilities={"elicitation": {"form": {}}})
        sid = e.call("new")["sessionId"]
        e.call("mode", sessionId=sid, modeId="asker")
        name = e.begin("prompt", sessionId=sid, text="why")
        e.step("form")
        c.kill_controller()
        e.call("fill", index=0, form={"action": "accept", "content": {"answer": "because I say so"}})
        c.start_controller()
        assert e.done(name)["stopReason"] == "end_turn"
        until(lambda: '"answer":"because I say so"' in e.texts(), "the model to be told")
        c.check_scope(sid)


def test_who_may_not_decide_is_told_at_the_call(world):
    c, _, _ = world
    token = c.api("POST", "/v1/tokens", {"name": "editor", "role": "chat", "scope": "edit"}).json["token"]
    with Editor(c, token=token) as e:
        e.call("initialize")
        sid = e.call("new")["sessionId"]
        name = e.begin("prompt", sessionId=sid, text="writes")
        call = e.step("permission")["toolCall"]["toolCallId"]
        e.call("answer", index=0, outcome={"outcome": "selected", "optionId": "allow"})
        until(lambda: [t for t in e.tools() if t["toolCallId"] == call and "was not taken" in str(t.get("content"))], "the refusal to be told")
        assert c.operation(call)["status"] == "paused"
        assert c.quell("approve", call).returncode == 0
        assert e.done(name)["stopReason"] == "end_turn"
        c.check_scope(sid)


def test_what_an_agent_asks_is_answered_in_the_editor(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    e.call("mode", sessionId=sid, modeId="asker")
    name = e.begin("prompt", sessionId=sid, text="asks")
    asked = e.step("permission")
    assert asked["toolCall"]["title"] == "Which?" and [o["name"] for o in asked["options"]] == ["red", "blue", "Reject"], asked
    e.call("answer", index=0, outcome={"outcome": "selected", "optionId": asked["options"][1]["optionId"]})
    assert e.done(name)["stopReason"] == "end_turn"
    until(lambda: '"answer":"blue"' in e.texts(), "the model to be told")
    c.check_scope(sid)


@pytest.mark.parametrize("role", ["admin", "chat"])
def test_what_an_agent_asks_is_a_form_where_the_editor_shows_forms(world, role):
    c, _, _ = world
    token = c.token if role == "admin" else c.api("POST", "/v1/tokens", {"name": "editor", "role": role, "scope": "edit"}).json["token"]
    with Editor(c, token=token) as e:
        e.call("initialize", capabilities={"elicitation": {"form": {}}})
        sid = e.call("new")["sessionId"]
        e.call("mode", sessionId=sid, modeId="asker")
        name = e.begin("prompt", sessionId=sid, text="why")
        asked = e.step("form")
        assert (asked["mode"], asked["message"]) == ("form", "Why?") and asked["requestedSchema"]["properties"]["answer"]["type"] == "string", asked
        assert c.operation(asked["toolCallId"])["status"] == "paused"
        e.call("fill", index=0, form={"action": "accept", "content": {"answer": "because I say so"}})
        assert e.done(name)["stopReason"] == "end_turn"
        until(lambda: '"answer":"because I say so"' in e.texts(), "the model to be told")
        name = e.begin("prompt", sessionId=sid, text="asks")
        assert e.step("form", count=2)["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]
        if role == "admin":
            e.call("fill", index=1, form={"action": "accept", "content": {"answer": "green"}})
            assert "Which?\n" in e.step("form", count=3)["message"]
            e.call("fill", index=2, form={"action": "decline"})
            until(lambda: '"answered":false' in e.texts(), "the model to be told")
        else:
            e.call("fill", index=1, form={"action": "accept", "content": {"answer": "blue"}})
            until(lambda: '"answer":"blue"' in e.texts(), "the model to be told")
        assert e.done(name)["stopReason"] == "end_turn"
        assert not e.steps("permission")
        c.check_scope(sid)


def test_a_stop_takes_a_form_back(world):
    c, _, _ = world
    with Editor(c) as e:
        e.call("initialize", capabilities={"elicitation": {"form": {}}})
        sid = e.call("new")["sessionId"]
        e.call("mode", sessionId=sid, modeId="asker")
        name = e.begin("prompt", sessionId=sid, text="why")
        e.step("form")
        e.call("cancel", sessionId=sid)
        result = e.done(name)
        assert result["stopReason"] == "cancelled" and result["_meta"]["quell"]["proven"], result
        e.call("fill", index=0, form={"action": "accept", "content": {"answer": "too late"}})
        e.call("prompt", sessionId=sid, text="hello")
        assert "too late" not in e.texts()
        c.check_scope(sid)
