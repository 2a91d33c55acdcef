"""`quell acp` under an editor on the official ACP SDK (npm): sessions, modes, permissions, cancels with their proof, and editors that vanish."""
import json
import os
import time

import pytest

from harness import processes
from harness.cluster import BIN, marker
from harness.peers import Program, installed
from harness.turns import TurnCluster
from harness.waiting import until

EDITOR = os.path.join(os.path.dirname(__file__), "harness", "acp_editor.mjs")
PACKAGES = ["@agentclientprotocol/sdk@2.4.0", "zod@4"]
SECOND_AGENT = """
[[agents]]
name = "other"
model = "script"
workspace = "WORKSPACE"
instructions = "other"
[[agents]]
name = "asker"
model = "script"
tools = ["ask_user"]
[[approval]]
tool = "write"
"""


def script(m):
    run = "trap '' TERM; while :; do sleep 1000; done #" + m
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "never begins"}, "steps": [{"delay_ms": 600000}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": run}}]}]},
        {"when": {"user": "writes"}, "steps": [{"calls": [{"name": "write", "input": {"path": "a.txt", "text": "x"}}]}]},
        {"when": {"user": "why"}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Why?"}}]}]},
        {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which?", "choices": ["red", "blue"]}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


class Editor(Program):
    def __init__(self, cluster, *arguments, token=None):
        home = installed("acp-2.4.0", PACKAGES)
        super().__init__("env", f"QUELL_URL={cluster.url}", f"QUELL_TOKEN={token or cluster.token}", "node", EDITOR, home, f"{BIN}/quell",
                         "--scope", "edit", *arguments)
        self.line('{"step":"ready"')
        self.asked = 0

    def steps(self, step, **fields):
        found = [json.loads(line) for line in self.all(f'{{"step":"{step}"')]
        return [s for s in found if all(s.get(k) == v for k, v in fields.items())]

    def step(self, step, count=1, **fields):
        return until(lambda: (self.steps(step, **fields)[count - 1:count] or [None])[0],
                     f"{count} steps {step} {fields}; there are {self.lines[-8:]}")

    def begin(self, run, **fields):
        """Sends a command; returns the name under which it will be answered."""
        self.asked += 1
        self.say(json.dumps({"run": run, "name": str(self.asked), **fields}))
        return str(self.asked)

    def done(self, name):
        return self.step("done", name=name)["result"]

    def call(self, run, **fields):
        return self.done(self.begin(run, **fields))

    def texts(self, kind="agent_message_chunk"):
        return "".join(u["update"]["content"]["text"] for u in self.steps("update") if u["update"]["sessionUpdate"] == kind)

    def tools(self):
        return [u["update"] for u in self.steps("update") if u["update"]["sessionUpdate"].startswith("tool_call")]


@pytest.fixture
def world():
    m = marker()
    installed("acp-2.4.0", PACKAGES)
    with TurnCluster(script(m), SECOND_AGENT) as c, Editor(c) as e:
        assert e.call("initialize")["agentCapabilities"]["loadSession"]
        yield c, e, m


def running_turn(c):
    return until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]


def test_a_prompt_is_a_turn_and_a_session_can_be_loaded_or_resumed(world):
    c, e, _ = world
    session = e.call("new")
    assert session["sessionId"].startswith("edit/acp/")
    assert {"auto", "main", "other"} <= {m["id"] for m in session["modes"]["availableModes"]}
    sid = session["sessionId"]
    done = e.call("prompt", sessionId=sid, text="hello")
    assert done["stopReason"] == "end_turn"
    until(lambda: e.texts() == "You said hello.", "the SDK to hand over the text")
    assert c.operation(done["_meta"]["quell"]["turn"])["scope"] == sid
    e.call("mode", sessionId=sid, modeId="other")
    done = e.call("prompt", sessionId=sid, text="again")
    assert c.operation(done["_meta"]["quell"]["turn"])["name"] == "other"
    wrong = e.begin("mode", sessionId=sid, modeId="nobody")
    assert "nobody" in e.step("failed", name=wrong)["message"]
    with Editor(c) as later:
        later.call("initialize")
        later.call("load", sessionId=sid)
        until(lambda: (later.texts("user_message_chunk"), later.texts()) == ("helloagain", "You said hello.You said again."), "the past")
        assert later.call("prompt", sessionId=sid, text="third")["stopReason"] == "end_turn"
        missing = later.begin("load", sessionId="edit/acp/nothing")
        assert later.step("failed", name=missing)["code"] == -32002
    with Editor(c) as later:
        later.call("initialize")
        later.call("resume", sessionId=sid)
        assert not later.steps("update")
        assert later.call("prompt", sessionId=sid, text="fourth")["stopReason"] == "end_turn"
    c.check_scope(sid)


def test_a_permission_is_an_approval(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    for n, (option, status) in enumerate([("allow", "completed"), ("reject", "failed")]):
        name = e.begin("prompt", sessionId=sid, text="writes")
        asked = e.step("permission", count=n + 1)
        assert {o["kind"] for o in asked["options"]} == {"allow_once", "reject_once"}
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


@pytest.mark.parametrize("what", ["never begins", "endless", "runs", "writes"])
def test_a_cancelled_prompt_answers_with_the_proof(world, what):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text=what)
    turn = running_turn(c)
    if what == "runs":
        until(lambda: processes.marked(m), "the command to run")
    if what == "endless":
        e.step("update")
    if what == "writes":
        e.step("permission")
    e.begin("cancel", sessionId=sid)
    done = e.done(name)
    assert done["stopReason"] == "cancelled", done
    told = done["_meta"]["quell"]
    assert told["turn"] == turn and told["proven"] is True and told["cancel"]["status"] == "settled", told
    assert not processes.marked(m), "answered before the processes were gone"
    assert c.ended(turn)["status"] == "cancelled"
    c.check_turn(turn)
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"
    c.check_scope(sid)


def test_a_cancel_that_nobody_can_prove_is_answered_in_time_and_says_so(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="endless")
    turn = running_turn(c)
    e.step("update")
    # Work of a foreign runtime below the turn, whose owner never reports.
    made = c.api("POST", "/v1/operations", {"kind": "external", "scope": c.operation(turn)["scope"], "parent": turn, "external": {}})
    assert made.status == 201, made.body
    began = time.monotonic()
    e.begin("cancel", sessionId=sid)
    done = e.done(name)
    waited = time.monotonic() - began
    told = done["_meta"]["quell"]
    assert done["stopReason"] == "cancelled" and told["turn"] == turn and told["proven"] is False, done
    assert told["cancel"]["status"] in ("fenced", "signalled", "settled"), told
    assert waited < 40, f"answered {waited:.1f} s after the cancel, long behind the end of the grace + 10 s"
    assert c.ended(turn)["status"] == "cancelled"
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"


def test_a_cancel_by_somebody_else_answers_cancelled_too(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="endless")
    running_turn(c)
    e.step("update")
    c.cancel(scope="edit", reason="enough")
    done = e.done(name)
    assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["cancel"]["reason"] == "enough", done


def test_a_prompt_that_somebody_else_stops_is_answered_behind_the_proof(world):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="runs")  # it ignores its signal: two seconds until the kill
    running_turn(c)
    until(lambda: processes.marked(m), "the command to run")
    c.cancel(wait="fenced", scope="edit", reason="enough")
    told = e.done(name)["_meta"]["quell"]
    assert not processes.marked(m), "answered before the processes were gone"
    assert told["proven"] is True and told["cancel"]["status"] == "settled", told


def test_a_cancelled_prompt_waits_as_long_as_what_is_below_it_may_take(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="endless")
    turn = running_turn(c)
    e.step("update")
    far = c.api("POST", "/v1/operations", {"kind": "external", "name": "far", "parent": turn, "grace_ms": 60_000}).json["id"]
    e.begin("cancel", sessionId=sid)
    c.wait_status(turn, "cancelling")
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 14 or e.steps("done", name=name), "longer than a stop without a known end is waited for")
    assert not e.steps("done", name=name), "its owner has a minute, and the cancel has not settled"
    assert c.api("POST", f"/v1/operations/{far}/stopped", {}).status == 200
    told = e.done(name)["_meta"]["quell"]
    assert told["proven"] is True and told["cancel"]["status"] == "settled", told


def test_closing_a_session_stops_its_prompt(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="endless")
    turn = running_turn(c)
    e.call("close", sessionId=sid)
    assert e.done(name)["stopReason"] == "cancelled"
    assert c.ended(turn)["status"] == "cancelled"


@pytest.mark.parametrize("how", ["hang_up", "kill"])
def test_an_editor_that_vanishes_leaves_nothing_running(world, how):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    e.begin("prompt", sessionId=sid, text="runs")
    turn = running_turn(c)
    until(lambda: processes.marked(m), "the command to run")
    e.begin(how)
    gone = e.step("exit")
    assert gone["code"] == 0 if how == "hang_up" else gone["signal"] == "SIGKILL", gone
    assert c.ended(turn)["status"] == "cancelled"
    until(lambda: not processes.marked(m), "the command to be gone")
