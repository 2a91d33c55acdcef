"""`quell acp` under an editor on the official ACP SDK (npm): sessions, modes, cancels with their proof, restarts of quelld, and editors that vanish."""
import os
import signal
import time

import pytest

from harness import processes
from harness.acp import SECOND_AGENT, Editor, running_turn, script, sdk, world  # noqa: F401
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until


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


def test_a_session_that_is_loaded_shows_what_is_part_of_its_conversation(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]

    def shows(*exchanges):
        """Each reads as it would, had nothing else been said."""
        with Editor(c) as later:
            later.call("initialize")
            later.call("load", sessionId=sid)
            until(lambda: (later.texts("user_message_chunk"), later.texts()) == ("".join(exchanges), "".join(f"You said {x}." for x in exchanges)),
                  f"the conversation as it is; it was {exchanges}")

    def history(action, **fields):
        answer = c.api("POST", "/v1/history", {"scope": sid, "action": action, **fields})
        assert answer.status in (200, 202), answer.body
        if answer.json["operation"]:
            assert c.ended(answer.json["operation"])["status"] == "completed"

    def asked(text):
        return [m["message"] for m in c.messages(sid) if m["role"] == "user" and m["text"] == text][-1]
    for text in ("hello", "again"):
        e.call("prompt", sessionId=sid, text=text)
    history("edit", id=asked("again"), text="good day")
    history("regenerate")
    shows("hello", "good day")
    history("regenerate")
    history("delete", id=asked("hello"))
    shows("good day")
    history("clear")
    e.call("prompt", sessionId=sid, text="anew")
    shows("anew")
    c.check_scope(sid)


def test_a_message_that_steered_is_shown_once_by_a_session_that_is_loaded(world):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="sleeps")
    turn = running_turn(c)
    until(lambda: processes.marked(m), "the command to run")
    asked = c.messages(sid)[0]
    said = c.post(sid, "and be brief", during_turn="steer", author=asked["author"])
    assert said.json["during_turn"] == {"manner": "steer", "turn": turn}, said.body
    open(os.path.join(c.workspace, "go"), "w").close()
    assert e.done(name)["stopReason"] == "end_turn"
    with Editor(c) as later:
        later.call("initialize")
        later.call("load", sessionId=sid)
        until(lambda: later.texts("user_message_chunk") == "sleepsand be brief", "each message once")
    c.check_scope(sid)


def test_a_prompt_goes_on_over_a_restart_and_its_cancel_has_the_proof(world):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="runs")
    turn = running_turn(c)
    until(lambda: processes.marked(m), "the command to run")
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    assert processes.marked(m) and not e.steps("done", name=name)
    e.begin("cancel", sessionId=sid)
    told = e.done(name)["_meta"]["quell"]
    assert told["turn"] == turn and told["proven"] is True and not processes.marked(m), told
    c.check_turn(turn)


@pytest.mark.parametrize("when", ["away", "right before it dies"])
def test_a_cancel_while_quelld_is_away_leaves_nothing_running(world, when):
    c, e, m = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="runs")
    turn = running_turn(c)
    until(lambda: processes.marked(m), "the command to run")
    if when == "away":
        c.kill_controller()
    e.begin("cancel", sessionId=sid)
    if when != "away":
        c.kill_controller()
    c.start_controller()
    done = e.done(name)
    assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["turn"] == turn, done
    assert not (done["_meta"]["quell"]["proven"] and processes.marked(m)), done
    assert c.ended(turn)["status"] == "cancelled"
    until(lambda: not processes.marked(m), "the command to be gone")
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"


def test_a_cancel_that_no_controller_answers_says_so_and_reaches_the_next(world):
    c, e, _ = world
    sid = e.call("new")["sessionId"]
    name = e.begin("prompt", sessionId=sid, text="endless")
    turn = running_turn(c)
    e.step("update")
    c.kill_controller()
    e.begin("cancel", sessionId=sid)
    told = e.done(name)["_meta"]["quell"]
    assert told["proven"] is False and told["turn"] == turn and "does not answer" in told["why"], told
    c.start_controller()
    assert c.ended(turn)["status"] == "cancelled"
    stop = c.operation(turn)["stop"]
    assert c.api("GET", f"/v1/cancels/{stop['cancel']}").json["reason"] == "cancelled in the editor", stop
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"
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


def test_a_cancel_that_nobody_can_prove_is_answered_and_names_what_is_not_proven(sdk):
    m = marker()
    # For ten minutes nobody knows what became of the work of a frozen worker: far longer than any wait here.
    with TurnCluster(script(m), SECOND_AGENT, settings=["workers.lease=10m"]) as c, Editor(c) as e:
        e.call("initialize")
        frozen, foreign = (e.call("new")["sessionId"] for _ in range(2))
        on_worker = e.begin("prompt", sessionId=frozen, text="runs")
        turn = running_turn(c)
        until(lambda: processes.marked(m), "the command to run")
        owned = e.begin("prompt", sessionId=foreign, text="endless")
        other, = until(lambda: c.operations(kind="turn", status="running", scope=foreign), "the other turn to run")
        # Work of a foreign runtime below the turn, whose owner never reports.
        far = c.api("POST", "/v1/operations", {"kind": "external", "scope": foreign, "parent": other["id"], "external": {}}).json["id"]
        c.workers["w1"].process.send_signal(signal.SIGSTOP)
        try:
            for sid in (frozen, foreign):
                e.begin("cancel", sessionId=sid)
            done = e.done(on_worker)
            told = done["_meta"]["quell"]
            assert done["stopReason"] == "cancelled" and told["turn"] == turn and told["proven"] is False, done
            assert told["cancel"]["status"] != "settled" and processes.marked(m), told
            open_work = {u["operation"]: u for u in told["cancel"]["report"]["unproven"]}
            task, = c.below(turn, kind="task")
            assert open_work[task["id"]]["worker"] == "w1" and open_work[task["id"]]["why"], told
            told = e.done(owned)["_meta"]["quell"]
            assert told["proven"] is False and told["cancel"]["status"] == "settled", told
            assert told["cancel"]["report"]["receipts"]["unconfirmed"] == 1 and c.operation(far)["status"] == "cancelled", told
        finally:
            c.workers["w1"].process.send_signal(signal.SIGCONT)
        assert c.ended(turn)["status"] == "cancelled"
        until(lambda: not processes.marked(m), "the command to be gone")
        assert e.call("prompt", sessionId=foreign, text="hello")["stopReason"] == "end_turn"


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
    far = c.api("POST", "/v1/operations", {"kind": "external", "name": "far", "parent": turn, "grace_ms": 60_000, "external": {"lease_ms": 0}}).json["id"]
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
    # It is open no more.
    assert e.step("failed", name=e.begin("prompt", sessionId=sid, text="hello"))["code"] == -32002
    e.call("resume", sessionId=sid)
    assert e.call("prompt", sessionId=sid, text="hello")["stopReason"] == "end_turn"


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
