"""Every phase of a turn, stopped in every way: the stored rows, the ends, that nothing lives on, and that the scope continues."""
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

RUNS = "trap 'exit 9' TERM; while :; do sleep 1000 & wait $!; done #"
PHASES = ("silent", "streaming", "announced", "running", "some_done", "approval", "next_call")


def script(m):
    exec_ = lambda line: {"name": "exec", "input": {"command": line + " " + m}}
    listing = {"name": "list", "input": {"path": "."}}
    return [
        {"when": {"user": "silent"}, "steps": [{"hang": True}]},
        {"when": {"user": "streaming"}, "steps": [{"endless": "on and on ", "chunk": 3, "delay_ms": 20}]},
        {"when": {"user": "announced"}, "steps": [{"text": "Three. "}, {"calls": [exec_(RUNS), exec_(RUNS), listing]}]},
        {"when": {"user": "running"}, "steps": [{"calls": [exec_(RUNS)]}]},
        {"when": {"user": "some_done", "round": 1}, "steps": [{"calls": [listing, exec_("echo done #"), exec_(RUNS)]}]},
        {"when": {"user": "approval", "round": 1}, "steps": [{"calls": [exec_("rm -f ./nothing; " + RUNS), listing]}]},
        {"when": {"user": "next_call", "round": 1}, "steps": [{"text": "First."}, {"calls": [listing]}]},
        {"when": {"user": "next_call", "round": 2}, "steps": [{"hang": True}]},
        {"when": {"user": "error before"}, "steps": [{"error": {"code": "model_refused", "message": "no key"}}]},
        {"when": {"user": "error within"}, "steps": [{"text": "Half a"}, {"error": {"code": "model_broken", "message": "cut"}}]},
        {"when": {"user": "error after", "round": 1}, "steps": [{"calls": [listing]}]},
        {"when": {"user": "error after", "round": 2}, "steps": [{"error": {"code": "model_unavailable", "message": "gone"}}]},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world():
    m = marker()
    config = ('[[agents]]\nname = "brief"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { timeout = "40s" }\n'
              '[[approval]]\ntool = "exec"\nmatch = "rm *"\n')
    with TurnCluster(script(m), config, settings=["defaults.grace=30s"]) as c:  # a command that ends at its signal is never killed
        yield c, m


def begin(c, **fields):
    """Starts a turn in each phase, each in its own scope; returns phase → turn once all have reached it."""
    turns = {p: c.say("phase/" + p, p, **fields) for p in PHASES}
    results = lambda p: len(c.events(turns[p], "tool_result"))
    until(lambda: c.below(turns["silent"], kind="model_call", status="running"), "the model to be asked")
    c.wait_event(turns["streaming"], "text_delta")
    for p in ("announced", "running"):
        c.call(turns[p], "exec", "running")
    until(lambda: results("some_done") == 2 and len(c.events(turns["some_done"], "tool_start")) == 3, "two of three to be done")
    for p in ("announced", "running", "some_done"):
        until(lambda: c.below(turns[p], kind="task", status="running"), f"the command of {p} to run")
    c.call(turns["approval"], "exec", "paused")
    until(lambda: results("approval") == 1, "what needs no human to be done")
    until(lambda: len(c.below(turns["next_call"], kind="model_call")) == 2, "the model to be asked again")
    return turns


def words(result):
    error = result["result"].get("error", {})
    return ("ok" if result["ok"] else "cancelled" if result["cancelled"] else "failed", error.get("code"), error.get("message", ""))


def kinds(c, phase, turn):
    return [m["role"] for m in c.of_turn("phase/" + phase, turn)]


def check_all(c, m, turns, status, reason, code, cancelled):
    """Checks the stored messages of each phase; `code` of the results of stopped calls."""
    for p, turn in turns.items():
        done = c.ended(turn)
        assert done["status"] == status, (p, done)
        over = c.check_turn(turn)
        assert over["type"] == "turn_abort" and over["data"]["reason"] == reason, (p, over)
        c.check_scope("phase/" + p)
        for o in c.below(turn):
            assert o["status"] in ("completed", "failed", "cancelled"), (p, o)
    until(lambda: not processes.marked(m), "no process to be left")
    assert kinds(c, "silent", turns["silent"]) == ["user"]
    results = {p: [words(r) for r in c.results("phase/" + p, turns[p])] for p in PHASES}
    stopped = "cancelled" if cancelled else "failed"
    for p, r in results.items():
        for how, why, text in r:
            assert how in ("ok", stopped), (p, r)
            if how != "ok":
                assert why == code, (p, r)
                assert cancelled or "by user" not in text, (p, r)
    assert [r[0] for r in results["announced"]] == [stopped] * 3
    assert ["not started" in r[2] for r in results["announced"]] == [False, True, True], results["announced"]
    assert [r[0] for r in results["running"]] == [stopped]
    assert [r[0] for r in results["some_done"]] == ["ok", "ok", stopped]
    assert [r[0] for r in results["approval"]] == [stopped, "ok"]
    assert "not started" in results["approval"][0][2], results["approval"]
    assert [r[0] for r in results["next_call"]] == ["ok"]
    assert kinds(c, "next_call", turns["next_call"]) == ["user", "assistant", "tool"]
    for e in c.events(turns["approval"], "approval_resolved"):
        assert e["data"]["decision"] == "cancelled", e
    assert len(c.events(turns["approval"], "approval_resolved")) == 1


def text_so_far_is_kept(c, turn):
    user, answer = c.of_turn("phase/streaming", turn)
    told = ""
    for e in c.events(turn, "text_delta", "turn_resumed"):
        told = told[:e["data"]["offset"]] + e["data"].get("text", "")
    assert answer["interrupted"] and answer["text"] and answer["text"] == told, (answer, told)


def scopes_go_on(c):
    for p in PHASES:
        c.next_message_is_taken("phase/" + p)
        c.check_scope("phase/" + p)


def test_a_cancel_of_the_turn_in_every_phase(world):
    c, m = world
    turns = begin(c)
    for p, turn in turns.items():
        answer = c.api("POST", f"/v1/operations/{turn}/cancel", {"wait": "settled", "wait_ms": 60000, "reason": "enough"})
        assert answer.status == 200 and answer.json["report"]["proven"], (p, answer.body)
    check_all(c, m, turns, "cancelled", "user", "cancelled_by_user", True)
    text_so_far_is_kept(c, turns["streaming"])
    for o in (o for t in turns.values() for o in c.below(t) if o["status"] == "cancelled"):
        expected = {"turn": ("cooperative",), "model_call": ("cooperative",), "tool_call": ("cooperative", "never_started"),
                    "task": ("terminated",), "sub_agent": ("cooperative",)}[o["kind"]]
        assert o["stop"]["receipt"] in expected and o["stop"]["reason"] == "enough", o
        if o["kind"] == "model_call":
            assert o["stop"]["proof"] == "connection_closed", o
    scopes_go_on(c)


def test_a_cancel_of_the_scope_in_every_phase(world):
    c, m = world
    turns = begin(c)
    done = c.cancel(scope="phase", reason="enough")
    assert done["status"] == "settled" and done["report"]["proven"], done
    check_all(c, m, turns, "cancelled", "user", "cancelled_by_user", True)
    text_so_far_is_kept(c, turns["streaming"])
    scopes_go_on(c)


def test_the_timeout_of_the_turn_in_every_phase(world):
    c, m = world
    turns = begin(c, agent="brief")
    for turn in turns.values():
        c.ended(turn, 120)
    for p, turn in turns.items():
        assert c.operation(turn)["error"]["code"] == "timeout", c.operation(turn)
        assert c.operation(turn)["stop"]["cause"] == "timeout"
    check_all(c, m, turns, "failed", "timeout", "timeout", False)
    text_so_far_is_kept(c, turns["streaming"])
    scopes_go_on(c)


def test_an_error_of_the_model_ends_the_turn_with_its_words(world):
    c, m = world
    for text, roles, code, words in (("error before", ["user"], "model_refused", "no key"), ("error within", ["user", "assistant"], "model_broken", "cut"),
                                     ("error after", ["user", "assistant", "tool"], "model_unavailable", "gone")):
        scope = "phase/" + text.split()[1]
        turn = c.say(scope, text)
        done = c.ended(turn)
        assert done["status"] == "failed" and done["error"]["code"] == code and words in done["error"]["message"], done
        over = c.check_turn(turn)
        assert over["data"]["reason"] == "error", over
        assert kinds(c, text.split()[1], turn) == roles
        assert [x["interrupted"] for x in c.of_turn(scope, turn) if x["role"] == "assistant"] == \
            ([True] if text == "error within" else [False] * (len(roles) // 2))
        c.next_message_is_taken(scope)
        c.check_scope(scope)


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_an_end_of_the_controller_in_every_phase(world, sig):
    c, m = world
    turns = begin(c)
    tasks = {p: [o["id"] for o in c.below(t, kind="task")] for p, t in turns.items()}
    c.kill_controller(sig)
    c.start_controller()
    for p, turn in turns.items():
        if p != "approval":  # it lost nothing, and waits on
            until(lambda: c.events(turn, "turn_resumed"), f"{p} to go on")
        assert c.operation(turn)["status"] == "running", p
        assert [o["id"] for o in c.below(turn, kind="task")] == tasks[p], "what ran is adopted, nothing runs again"
    assert c.call(turns["approval"], "exec")["status"] == "paused" and not c.events(turns["approval"], "turn_resumed")
    assert [words(r)[0] for r in c.results("phase/approval", turns["approval"])] == ["ok"]
    for p in ("announced", "running", "some_done"):
        until(lambda: c.below(turns[p], kind="tool_call", status="running"), f"the call of {p} to go on")
    until(lambda: c.events(turns["streaming"], "text_delta", "turn_resumed")[-1]["type"] == "text_delta", "the new text")
    # Then they are stopped like any others.
    done = c.cancel(scope="phase", reason="enough")
    assert done["status"] == "settled" and done["report"]["proven"], done
    check_all(c, m, turns, "cancelled", "user", "cancelled_by_user", True)
    text_so_far_is_kept(c, turns["streaming"])
    scopes_go_on(c)
