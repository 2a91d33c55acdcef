"""Calls that wait for a human: shown, approved, denied, cancelled, and all of that also after a kill of the controller."""
import threading

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

CONFIG = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'


def rm(what):
    return {"name": "exec", "input": {"command": f"rm -rf ./{what} && echo removed {what}"}}


def script(m):
    return [
        {"when": {"user": "one"}, "steps": [{"calls": [rm("a")]}]},
        {"when": {"user": "three"}, "steps": [{"calls": [rm("a"), {"name": "list", "input": {"path": "."}}, rm("b"), rm("c")]}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f nothing; sleep 1000 #" + m}}]}]},
        {"when": {"user": "below"}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "one more"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m), CONFIG) as c:
        yield c, m


def paused(c, turn, count=1):
    until(lambda: len(c.below(turn, status="paused")) == count, f"{count} calls of {turn} to wait for a human")
    return [o["id"] for o in sorted(c.below(turn, status="paused"), key=lambda o: o["seq"])]


def word(c, call, what, **body):
    return c.api("POST", f"/v1/operations/{call}/{what}", body)


def resolved(c, turn):
    return [(e["data"]["operation"], e["data"]["decision"]) for e in c.events(turn, "approval_resolved")]


def test_what_waits_is_shown_and_its_turn_stays_running(world):
    c, _ = world
    turn = c.say("ask", "one")
    call, = paused(c, turn)
    shown, = c.api("GET", "/v1/operations?status=paused").json["operations"]
    assert shown["id"] == call and shown["waiting_for"]["what"] == "approval", shown
    assert c.operation(turn)["status"] == "running"
    asked, = c.events(turn, "approval_required")
    assert asked["data"]["operation"] == call and asked["data"]["name"] == "exec" and asked["data"]["rule"] == "exec: rm *", asked
    assert "rm -rf ./a" in asked["data"]["input"]["command"]
    assert not c.below(turn, kind="task"), "nothing runs before a human has said so"
    yes = word(c, call, "approve", by={"id": "ann", "name": "Ann"})
    assert yes.status == 200 and yes.json["id"] == call, yes.body
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("ask", turn)
    assert result["ok"] and "removed a" in str(result)
    said, = c.events(turn, "approval_resolved")
    assert said["data"]["decision"] == "approved" and said["data"]["by"] == {"id": "ann", "name": "Ann"}, said
    assert len(c.events(turn, "operation_paused")) == 1 == len(c.events(turn, "operation_resumed"))
    # The same decision again succeeds, the opposite one is too late.
    assert word(c, call, "approve").status == 200
    late = word(c, call, "deny")
    assert late.status == 409 and late.json["code"] == "not_paused", late.body
    assert resolved(c, turn) == [(call, "approved")]
    c.check_scope("ask")


def test_a_denial_tells_the_model_why(world):
    c, _ = world
    turn = c.say("ask", "one")
    call, = paused(c, turn)
    no = word(c, call, "deny", reason="not on a Friday")
    assert no.status == 200 and no.json["status"] == "failed", no.body
    done = c.ended(turn)
    assert done["status"] == "completed" and "not on a Friday" in done["turn"]["text"], done
    result, = c.results("ask", turn)
    assert not result["ok"] and not result["cancelled"] and "not on a Friday" in result["result"]["error"]["message"], result
    assert word(c, call, "deny").status == 200
    assert word(c, call, "approve").status == 409
    assert resolved(c, turn) == [(call, "denied")] and not c.below(turn, kind="task")
    c.check_scope("ask")


def test_each_of_several_gets_its_own_word(world):
    c, _ = world
    turn = c.say("ask", "three")
    a, b, d = paused(c, turn, 3)
    assert word(c, b, "deny", reason="keep it").status == 200
    assert word(c, d, "approve").status == 200
    until(lambda: c.operation(d)["status"] == "completed", "the approved one to run while another waits")
    done = c.cancel(operation=a)
    assert done["status"] == "settled", done
    assert c.ended(turn)["status"] == "completed"
    results = c.results("ask", turn)
    assert [(r["ok"], r["cancelled"]) for r in results] == [(False, True), (True, False), (False, False), (True, False)], results
    assert "not started" in results[0]["result"]["error"]["message"]
    assert sorted(resolved(c, turn)) == sorted([(a, "cancelled"), (b, "denied"), (d, "approved")])
    c.check_scope("ask")


@pytest.mark.parametrize("target", ["call", "turn", "scope"])
def test_a_cancel_wins_over_a_later_word(world, target):
    c, _ = world
    turn = c.say("ask", "one")
    call, = paused(c, turn)
    done = c.cancel(**({"scope": "ask"} if target == "scope" else {"operation": call if target == "call" else turn}))
    assert done["status"] == "settled" and done["report"]["proven"], done
    for what in ("approve", "deny"):
        late = word(c, call, what)
        assert late.status == 409 and late.json["code"] == "not_paused", late.body
    assert c.ended(turn)["status"] == ("completed" if target == "call" else "cancelled")
    result, = c.results("ask", turn)
    assert result["cancelled"], result
    assert resolved(c, turn) == [(call, "cancelled")] and not c.below(turn, kind="task")
    c.next_message_is_taken("ask")
    c.check_scope("ask")


def test_of_many_words_at_once_the_first_counts(world):
    c, _ = world
    for i in range(12):
        scope = f"race/{i}"
        turn = c.say(scope, "one")
        call, = paused(c, turn)
        answers = {}
        def say(name, what):
            answers[name] = c.cancel(operation=call) if what == "cancel" else word(c, call, what)
        threads = [threading.Thread(target=say, args=(n, w)) for n, w in enumerate(("approve", "deny", "cancel", "approve"))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        decision, = [d for _, d in resolved(c, turn)]
        assert answers[2]["status"] == "settled", answers[2]
        for n, what in ((0, "approved"), (1, "denied"), (3, "approved")):
            assert answers[n].status == (200 if decision == what else 409), (decision, n, answers[n].body)
        result, = c.results(scope, turn)
        if decision != "approved":
            assert result["cancelled"] == (decision == "cancelled") and not result["ok"], (decision, result)
            assert not c.below(turn, kind="task")
        c.check_scope(scope)


def test_what_waits_for_a_human_survives_a_kill_of_the_controller(world):
    c, _ = world
    turns = {w: c.say("after/" + w, "one") for w in ("approve", "deny", "cancel")}
    several = c.say("after/several", "three")
    calls = {w: paused(c, t)[0] for w, t in turns.items()}
    a, b, d = paused(c, several, 3)
    until(lambda: len(c.events(several, "tool_result")) == 1, "the listing to be done")
    queued = c.say("after/approve", "hello")
    for _ in range(2):
        c.restart()
        assert {o["id"] for o in c.api("GET", "/v1/operations?status=paused").json["operations"]} == {*calls.values(), a, b, d}
    # At once, whether or not the turn has been resumed.
    assert word(c, calls["approve"], "approve").status == 200
    assert word(c, calls["deny"], "deny", reason="no").status == 200
    assert c.cancel(operation=calls["cancel"])["status"] == "settled"
    assert word(c, a, "approve").status == 200 and word(c, d, "deny").status == 200 and word(c, b, "approve").status == 200
    for turn in (*turns.values(), several, queued):
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
    told = {w: (r["ok"], r["cancelled"]) for w, t in turns.items() for r in c.results("after/" + w, t)}
    assert told == {"approve": (True, False), "deny": (False, False), "cancel": (False, True)}, told
    assert [r["ok"] for r in c.results("after/several", several)] == [True, True, True, False]
    assert len(c.events(several, "approval_required")) == 3 and len(c.events(several, "turn_start")) == 1
    for scope in ("approve", "deny", "cancel", "several"):
        c.check_scope("after/" + scope)


def test_a_turn_that_waits_is_cancelled_after_a_restart(world):
    c, _ = world
    turn = c.say("ask", "three")
    calls = paused(c, turn, 3)
    c.wait_event(turn, "tool_result")
    c.restart()
    done = c.cancel(scope="ask")
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert c.ended(turn)["status"] == "cancelled"
    assert [r["cancelled"] for r in c.results("ask", turn)] == [True, False, True, True]
    for call in calls:
        assert word(c, call, "approve").status == 409
    c.restart()
    assert c.operation(turn)["status"] == "cancelled" and not c.api("GET", "/v1/operations?status=paused").json["operations"]
    c.next_message_is_taken("ask")
    c.check_scope("ask")


def test_what_was_approved_and_runs_is_stopped_as_anything_else(world):
    c, m = world
    turn = c.say("ask", "runs")
    call, = paused(c, turn)
    assert word(c, call, "approve").status == 200
    until(lambda: processes.marked(m), "the command to run")
    assert c.cancel(operation=turn)["status"] == "settled" and not processes.marked(m)
    result, = c.results("ask", turn)
    assert result["cancelled"] and result["result"]["error"]["message"] == "Tool call cancelled by user."
    c.check_scope("ask")


def test_a_sub_agent_asks_too(world):
    c, _ = world
    turn = c.say("ask", "below")
    call, = paused(c, turn)
    assert c.operation(turn)["status"] == "running"
    assert word(c, call, "approve").status == 200
    assert c.ended(turn)["status"] == "completed" and "removed a" in c.operation(turn)["turn"]["text"]
    c.check_scope("ask")


def test_only_a_call_that_waits_takes_a_word(world):
    c, _ = world
    turn = c.next_message_is_taken("ask")
    assert word(c, turn, "approve").status == 409
    assert word(c, "01a1f869-3df9-7303-8207-dde70bee07dd", "approve").status == 404
    observer = c.api("POST", "/v1/tokens", {"name": "eyes", "role": "observer", "scope": None})
    assert observer.status == 201, observer.body
    turn = c.say("ask", "one")
    call, = paused(c, turn)
    refused = c.api("POST", f"/v1/operations/{call}/approve", {}, token=observer.json["token"])
    assert refused.status == 403, refused.body
    assert c.operation(call)["status"] == "paused"
    c.cancel(scope="ask")
