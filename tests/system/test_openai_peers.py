"""OpenAI's and the AI SDK's own clients (npm) talk to agents of quell; their Stop is a cancel of everything below the turn."""
import json
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.peers import Program, installed
from harness.turns import TurnCluster
from harness.waiting import until

PACKAGES = ["openai@7.57.0", "ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92", "zod@4"]
CLIENT = os.path.join(os.path.dirname(__file__), "harness", "openai_clients.mjs")


def script(m):
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "never begins"}, "steps": [{"delay_ms": 600000}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"when": {"user": "slow"}, "steps": [{"text": "Looking. "}, {"calls": [{"name": "exec", "input": {"command": "until [ -e go ]; do sleep 0.1; done"}}]}]},
        {"when": {"user": "fails"}, "steps": [{"error": {"code": "model_refused", "message": "no"}}]},
        {"when": {"user": "approve", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f nothing"}}]}]},
        {"when": {"user": "lists"}, "steps": [{"text": "Looking. "}, {"calls": [{"name": "list", "input": {"path": "."}}]}]},
        {"when": {"result": ""}, "text": "Found it."},
        {"text": "You said {{text}}."},
    ]


class Clients(Program):
    def __init__(self, cluster):
        super().__init__("node", CLIENT, installed("openai-7.57-ai-7.0", PACKAGES), cluster.url, cluster.token)
        self.line('{"step":"ready"')

    def run(self, command, **fields):
        self.say(json.dumps({"run": command, **fields}))

    def steps(self, step, name=None):
        found = [json.loads(line) for line in self.all(f'{{"step":"{step}"')]
        return [s for s in found if name is None or s.get("name") == name]

    def step(self, step, name=None, count=1, seconds=60):
        return until(lambda: (self.steps(step, name)[count - 1:count] or [None])[0],
                     f"{count} steps {step} of {name}; there are {self.lines[-8:]}", seconds)


@pytest.fixture
def world():
    installed("openai-7.57-ai-7.0", PACKAGES)
    m = marker()
    with TurnCluster(script(m), '[[approval]]\ntool = "exec"\nmatch = "rm *"\n') as c, Clients(c) as clients:
        yield c, clients, m


def asked(text, **more):
    return {"model": "main", "messages": [{"role": "user", "content": text}], **more}


def stopped_by_its_client(c, turn, channel):
    """The turn was cancelled, by a cancel that is in the ledger, with its proof."""
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["cause"] == "cancel", done
    cancel = c.api("GET", f"/v1/cancels/{done['stop']['cancel']}?wait=settled&wait_ms=60000").json
    assert cancel["status"] == "settled" and cancel["report"]["proven"], cancel
    assert cancel["target"] == {"operation": turn} and cancel["via"]["channel"] == channel, cancel
    assert "closed its connection" in cancel["reason"], cancel
    c.check_turn(turn)
    return cancel


def test_a_completion_is_one_turn_in_a_scope_of_its_own(world):
    c, clients, _ = world
    clients.run("models")
    assert "main" in clients.step("models")["list"]
    clients.run("whole", name="a", body=asked("hello"))
    one = clients.step("whole", "a")
    answer = one["answer"]
    assert answer["object"] == "chat.completion" and answer["choices"][0]["message"]["content"] == "You said hello."
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["id"] == "chatcmpl-" + one["turn"]
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"] > 0
    assert c.operation(one["turn"])["scope"] == one["scope"] and one["scope"].startswith("openai/")
    clients.run("stream", name="b", body=asked("hi", stream_options={"include_usage": True}))
    begun = clients.step("begun", "b")
    clients.step("over", "b")
    chunks = [s["chunk"] for s in clients.steps("chunk", "b")]
    assert begun["scope"] != one["scope"]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(x["choices"][0]["delta"].get("content", "") for x in chunks if x["choices"]) == "You said hi."
    assert [x["choices"][0]["finish_reason"] for x in chunks if x["choices"]][-1] == "stop"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] > 0
    assert c.check_turn(begun["turn"])["type"] == "turn_complete"


def test_a_named_scope_keeps_the_conversation(world):
    c, clients, _ = world
    for n in (1, 2):
        clients.run("whole", name="a", body=asked(f"word {n}", user="mia"), headers={"X-Quell-Scope": "team/kept"})
        assert clients.step("whole", "a", count=n)["scope"] == "team/kept"
    messages = c.check_scope("team/kept")
    assert [m["text"] for m in messages if m["role"] == "user"] == ["word 1", "word 2"]
    assert messages[0]["author"]["id"] == "mia"


@pytest.mark.parametrize("how", ["stream", "whole"])
@pytest.mark.parametrize("what", ["never begins", "endless", "runs"])
def test_an_abort_of_the_official_client_cancels_the_turn_with_everything_below(world, how, what):
    c, clients, m = world
    clients.run(how, name="x", body=asked(what))
    turn = until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
    if what == "runs":
        until(lambda: processes.marked(m), "the command to run")
    if what == "endless":
        c.wait_event(turn, "text_delta")
    clients.run("stop", name="x")
    cancel = stopped_by_its_client(c, turn, "openai")
    assert cancel["report"]["operations"] >= (2 if what == "runs" else 1), cancel
    until(lambda: not processes.marked(m), "the command to be gone")


def test_a_cancel_by_somebody_else_is_an_error_that_no_client_repeats(world):
    c, clients, _ = world
    for how in ("stream", "whole"):
        clients.run(how, name=how, body=asked("endless"))
        turn = until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
        c.wait_event(turn, "text_delta")
        if how == "stream":
            clients.step("begun", how)  # before that the client would read a status, not an event
        c.api("POST", f"/v1/operations/{turn}/cancel", {"reason": "enough"})
        failed = clients.step("failed", how)
        assert "enough" in failed["message"] and failed["code"] == "cancelled", failed
        assert failed["status"] == (None if how == "stream" else 410), failed
    assert len(c.operations(kind="turn")) == 2, "a client has repeated what was cancelled"


def test_a_turn_that_fails_is_an_error_that_no_client_repeats(world):
    c, clients, _ = world
    for how in ("whole", "stream"):
        clients.run(how, name=how, body=asked("fails"))
        failed = clients.step("failed", how)
        assert failed["code"] == "model_refused" and failed["status"] == (None if how == "stream" else 424), failed
    assert len(c.operations(kind="turn")) == 2, "a client has repeated a turn whose tools may have had their effect"


def test_a_page_sees_what_waits_for_a_human(world):
    c, clients, _ = world
    clients.run("page", name="p", text="approve", body={"agent": "main", "scope": "team/asks"})
    waiting = lambda: [p for s in clients.steps("parts", "p") for p in s["parts"] if p["type"] == "data-approval"]
    call = until(waiting, "the part that asks")[0]["id"]
    assert c.operation(call)["status"] == "paused"
    assert c.api("POST", f"/v1/operations/{call}/approve", {}).status == 200
    sent = clients.step("sent", "p")
    assert sent["status"] == "ready" and "data-approval-resolved" in [p["type"] for p in sent["messages"][-1]["parts"]], sent
    # Stop while it waits: nothing runs.
    clients.run("page", name="p", text="approve")
    until(lambda: len({p["id"] for p in waiting()}) == 2, "the second part that asks")
    turn = c.operations(kind="turn", status="running")[0]["id"]
    clients.run("stop", name="p")
    stopped_by_its_client(c, turn, "ui")
    assert not c.below(turn, kind="task")


def test_errors_have_the_shape_that_the_official_client_reads(world):
    c, clients, _ = world
    wrong = {
        "model": asked("x") | {"model": "nobody"},
        "empty": {"model": "main", "messages": []},
        "tools": asked("x", tools=[{"type": "function", "function": {"name": "f"}}]),
        "image": {"model": "main", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
    }
    for name, body in wrong.items():
        clients.run("whole", name=name, body=body)
        failed = clients.step("failed", name)
        assert (failed["status"], failed["code"]) == ((404, "model_not_found") if name == "model" else (400, "invalid_field")), failed
        assert failed["type"] == "invalid_request_error", failed
    answer = c.api("GET", "/openai/v1/models", token="qk_wrong")
    assert answer.status == 401 and answer.json["error"]["code"] == "invalid_api_key", answer.body
    assert not c.operations(kind="turn")


def test_the_ai_sdks_provider_generates_streams_and_stops(world):
    c, clients, _ = world
    clients.run("generate", name="g", prompt="hello")
    done = clients.step("generated", "g")
    assert done["text"] == "You said hello." and done["reason"] == "stop" and done["usage"]["outputTokens"] > 0, done
    clients.run("text", name="t", prompt="endless")
    clients.step("delta", "t", count=3)
    turn = c.operations(kind="turn", status="running")[0]["id"]
    clients.run("stop", name="t")
    stopped_by_its_client(c, turn, "openai")


def test_a_page_with_use_chat_shows_text_and_tools_and_goes_on(world):
    c, clients, _ = world
    clients.run("page", name="p", text="lists", body={"agent": "main", "scope": "team/p"})
    sent = clients.step("sent", "p")
    assert sent["status"] == "ready", sent
    parts = sent["messages"][-1]["parts"]
    assert [p["type"] for p in parts] == ["step-start", "text", "dynamic-tool", "text"], parts
    assert parts[1]["text"] == "Looking. " and parts[3]["text"] == "Found it." and parts[2]["state"] == "output-available", parts
    clients.run("page", name="p", text="hello")
    again = clients.step("sent", "p", count=2)
    assert again["messages"][-1]["parts"][-1]["text"] == "You said hello.", again
    assert len(again["messages"]) == 4


def shown(messages):
    return ["".join(p["text"] for p in m["parts"] if p["type"] == "text") for m in messages]


def test_a_page_that_is_loaded_again_resumes_its_stream(world):
    c, clients, m = world
    lasting = {"agent": "main", "scope": "team/again", "on_disconnect": "continue"}
    clients.run("page", name="p", text="slow", body=lasting, id="chat/1 of Mia")
    turn = until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
    clients.step("parts", "p")
    clients.run("stop", name="p")
    clients.step("finished", "p")  # its connection is closed, as by a reload
    for name, kept in (("nothing kept", 1), ("a part kept", 2)):
        clients.run("resume", name=name, of="p", body=lasting, kept=kept)
        clients.step("parts", name)
    assert c.operation(turn)["status"] == "running"
    open(os.path.join(c.workspace, "go"), "w").close()
    for name in ("nothing kept", "a part kept"):
        done = clients.step("resumed", name)
        assert done["status"] == "ready" and len(done["messages"]) == 2 and done["messages"][1]["id"] == turn, done
        assert shown(done["messages"]) == ["slow", "Looking. Found it."], done
    clients.run("resume", name="late", of="p", body=lasting, kept=1)
    late = clients.step("resumed", "late")
    assert late["status"] == "ready" and len(late["messages"]) == 1, late
    assert c.ended(turn)["status"] == "completed" and len(c.operations(kind="turn")) == 1
    c.check_scope("team/again")


def test_a_page_edits_and_regenerates_any_of_its_messages(world):
    c, clients, _ = world
    for n, text in enumerate(("one", "two", "three")):
        clients.run("page", name="p", text=text, body={"agent": "main", "scope": "team/edits"}, id="c")
        clients.step("sent", "p", count=n + 1)
    clients.run("edit", name="p", at=2, text="second")
    edited = clients.step("edited", "p")
    assert shown(edited["messages"]) == ["one", "You said one.", "second", "You said second."], edited
    clients.run("edit", name="p", at=2, text="again")  # of the one that is asked again
    assert shown(clients.step("edited", "p", count=2)["messages"])[2:] == ["again", "You said again."]
    clients.run("regenerate", name="p", at=1)
    done = clients.step("regenerated", "p")
    assert done["status"] == "ready" and shown(done["messages"]) == ["one", "You said one."], done
    messages = c.messages("team/edits")
    gone = {m["turn"] for m in messages if m["discarded"]}
    assert [m["text"] for m in messages if m["turn"] not in gone] == ["one", "You said one."], messages
    clients.run("regenerate", name="p")
    assert shown(clients.step("regenerated", "p", count=2)["messages"]) == ["one", "You said one."]
    c.check_scope("team/edits")


@pytest.mark.parametrize("what", ["never begins", "endless", "runs"])
def test_stop_in_a_page_cancels_the_turn_with_everything_below(world, what):
    c, clients, m = world
    clients.run("page", name="p", text=what, body={"agent": "main", "scope": "team/page"})
    turn = until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
    if what == "runs":
        until(lambda: processes.marked(m), "the command to run")
    if what == "endless":
        clients.step("parts", "p")
    clients.run("stop", name="p")
    stopped_by_its_client(c, turn, "ui")
    until(lambda: not processes.marked(m), "the command to be gone")
    assert clients.step("finished", "p")["isAbort"]
    c.next_message_is_taken("team/page")
    c.check_scope("team/page")
