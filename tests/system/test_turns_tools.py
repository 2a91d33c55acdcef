"""Calls of one answer: concurrency, timeouts, tools that do not die, and tools that only claim to be cancelled."""
import datetime
import os
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

STUBBORN = "trap '' TERM; while :; do sleep 1000; done #"
CONFIG = '[[agents]]\nname = "sleeper"\ncommand = ["sh", "-c", "sleep $1; echo woke after $1", "sh", "{prompt}"]\nworkspace = "WORKSPACE"\n'
CONFIG += '[[agents]]\nname = "waiter"\ncommand = ["sh", "-c", "until [ -e $1 ]; do sleep 0.05; done", "sh", "{prompt}"]\nworkspace = "WORKSPACE"\n'


def sleeper(seconds, timeout=None):
    call = {"agent": "sleeper", "task": str(seconds)}
    return {"name": "spawn_agent", "input": {**call, **({"_meta": {"timeout": timeout}} if timeout else {})}}


def waiter(name):
    """Ends when the workspace has this file."""
    return {"name": "spawn_agent", "input": {"agent": "waiter", "task": name}}


def shell(line, **more):
    return {"name": "exec", "input": {"command": line, **more}}


def script(m):
    return [
        {"when": {"user": "overlap"}, "steps": [{"calls": [waiter("first"), waiter("first"), waiter("first"), shell("echo alone"), waiter("then"), waiter("then")]}]},
        {"when": {"user": "timeout of one"}, "steps": [{"calls": [sleeper(0.2), sleeper(1000, 400), sleeper(0.3)]}]},
        {"when": {"user": "order"}, "steps": [{"calls": [waiter("last"), {"name": "list", "input": {"path": "."}}, waiter("second")]}]},
        {"when": {"user": "stubborn timeout"}, "steps": [{"calls": [shell(STUBBORN + m, _meta={"timeout": 8000})]}]},
        {"when": {"user": "stubborn", "round": 1}, "steps": [{"calls": [shell(STUBBORN + m)]}]},
        {"when": {"user": "two in a row"}, "steps": [{"calls": [shell(STUBBORN + m, _meta={"timeout": 3000}), shell("echo second")]}]},
        {"when": {"user": "configured"}, "steps": [{"calls": [shell("sleep 1000 #" + m)]}]},
        {"when": {"user": "words"}, "steps": [{"calls": [shell("echo 'Tool call cancelled by user. aborted' >&2; exit 1"),
                                                         shell("echo cancelled; kill -TERM $$"),
                                                         {"name": "read", "input": {"path": "cancelled_by_user aborted"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world(request):
    """Its grace: long enough for what is judged while a tool that ignores its signal lives."""
    m = marker()
    with TurnCluster(script(m), CONFIG, settings=["defaults.grace=" + getattr(request, "param", "15s")]) as c:
        yield c, m


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def calls_of(c, turn):
    return sorted(c.below(turn, kind="tool_call"), key=lambda o: o["seq"])


def lives(c, turn):
    """(begin, end) of each call of a turn, in call order."""
    return [(instant(o["started_at"]), instant(o["ended_at"])) for o in calls_of(c, turn)]


def together(a, b):
    return a[0] < b[1] and b[0] < a[1]


def test_calls_run_side_by_side_and_an_exclusive_one_alone(world):
    c, _ = world
    turn = c.say("tools", "overlap")
    for name, at_once in (("first", ["running"] * 3 + ["pending"] * 3), ("then", ["completed"] * 4 + ["running"] * 2)):
        until(lambda: [o["status"] for o in calls_of(c, turn)] == at_once, f"its calls to be {at_once}")
        open(os.path.join(c.workspace, name), "w").close()
    assert c.ended(turn)["status"] == "completed"
    a, b, d, alone, e, f = lives(c, turn)
    assert together(a, b) and together(b, d) and together(a, d), (a, b, d)
    assert together(e, f), (e, f)
    assert all(not together(alone, other) for other in (a, b, d, e, f)), (alone, a, b, d, e, f)
    assert all(r["ok"] for r in c.results("tools", turn))
    c.check_scope("tools")


def test_one_of_three_times_out_and_two_are_kept(world):
    c, _ = world
    turn = c.say("tools", "timeout of one")
    assert c.ended(turn)["status"] == "completed"
    first, late, third = c.results("tools", turn)
    assert first["ok"] and third["ok"] and "woke after 0.2" in str(first) and "woke after 0.3" in str(third)
    assert not late["ok"] and not late["cancelled"] and "[TIMEOUT]" in late["result"]["error"]["message"], late
    assert "spawn_agent" in late["result"]["error"]["message"] and "0.4" in late["result"]["error"]["message"], late
    said = c.events(turn, "tool_timeout")
    assert [e["data"]["timeout_ms"] for e in said] == [400] and said[0]["data"]["call"] == late["call"]
    calls = sorted(c.below(turn, kind="tool_call"), key=lambda o: o["seq"])
    assert [o["status"] for o in calls] == ["completed", "failed", "completed"]
    assert calls[1]["error"]["code"] == "timeout" and calls[1]["stop"]["cause"] == "timeout", calls[1]
    c.check_scope("tools")


def test_results_are_told_as_they_come_and_stored_in_the_order_of_the_calls(world):
    c, _ = world
    turn = c.say("tools", "order")
    for count, name in ((1, "second"), (2, "last")):
        until(lambda: len(c.events(turn, "tool_result")) == count, f"{count} of three to be told")
        open(os.path.join(c.workspace, name), "w").close()
    c.ended(turn)
    stored = [r["call"] for r in c.results("tools", turn)]
    told = [e["data"]["call"] for e in c.events(turn, "tool_result")]
    started = [e["data"]["call"] for e in c.events(turn, "tool_start")]
    assert started == stored and told == [stored[1], stored[2], stored[0]], (started, told, stored)
    c.check_scope("tools")


def test_a_tool_that_ignores_its_signal_holds_up_neither_turn_nor_cancel(world):
    c, m = world
    turn = c.say("tools", "stubborn")
    until(lambda: any(processes.ignores(p, signal.SIGTERM) for p in processes.marked(m)), "the tool to ignore its signal")
    answer = c.api("POST", f"/v1/operations/{turn}/cancel", {})
    assert answer.json["status"] in ("fenced", "signalled"), answer.body
    c.wait_event(turn, "turn_abort")
    following = c.next_message_is_taken("tools")
    assert processes.marked(m), "the tool was to outlive its turn"
    # Nothing reports its end before it has ended.
    assert c.operation(turn)["status"] == "cancelling"
    look = lambda: c.api("GET", f"/v1/cancels/{answer.json['id']}").json
    cancel = until(lambda: (lambda x: x if x["status"] != "fenced" else None)(look()), "its worker to have heard of it")
    assert cancel["status"] == "signalled" and cancel["report"]["unproven_total"] >= 1, cancel
    assert [r["cancelled"] for r in c.results("tools", turn)] == [True]
    done = c.api("GET", f"/v1/cancels/{answer.json['id']}?wait=settled&wait_ms=60000").json
    assert done["status"] == "settled" and done["report"]["proven"] and done["report"]["receipts"]["killed"] == 1, done
    assert not processes.marked(m)
    assert c.operation(turn)["status"] == "cancelled" and c.operation(following)["status"] == "completed"
    c.check_scope("tools")


def test_a_timeout_does_not_wait_for_a_tool_that_ignores_its_signal(world):
    c, m = world
    turn = c.say("tools", "stubborn timeout")
    c.wait_event(turn, "turn_complete")
    assert processes.marked(m), "the tool was to outlive its result"
    c.next_message_is_taken("tools")
    assert processes.marked(m)
    assert c.ended(turn)["status"] == "completed"
    assert not processes.marked(m), "the turn was over before its process was"
    c.check_scope("tools")


@pytest.mark.parametrize("world", ["4s"], indirect=True)  # far below the time for which it waits
def test_an_exclusive_call_waits_for_the_end_of_one_that_timed_out(world):
    c, m = world
    turn = c.say("tools", "two in a row")
    c.wait_event(turn, "tool_timeout")
    assert c.ended(turn)["status"] == "completed"
    late, second = c.results("tools", turn)
    assert "[TIMEOUT]" in late["result"]["error"]["message"] and second["ok"], (late, second)
    first, then = lives(c, turn)
    assert then[0] >= first[1], (first, then)
    c.check_scope("tools")


def test_the_configured_time_of_a_tool():
    m = marker()
    with TurnCluster(script(m), '[tools.timeouts]\nexec = "500ms"\n') as c:
        turn = c.say("tools", "configured")
        assert c.ended(turn)["status"] == "completed"
        late, = c.results("tools", turn)
        assert "[TIMEOUT]" in late["result"]["error"]["message"] and "0.5" in late["result"]["error"]["message"], late
        until(lambda: not processes.marked(m), "the tool to be gone")
        c.check_scope("tools")


def test_a_tool_that_says_cancelled_has_failed(world):
    c, _ = world
    turn = c.say("tools", "words")
    assert c.ended(turn)["status"] == "completed"
    results = c.results("tools", turn)
    assert [(r["ok"], r["cancelled"]) for r in results] == [(False, False)] * 3, results
    assert all(o["status"] == "failed" and o["stop"] is None for o in c.below(turn, kind="tool_call"))
    assert [(e["data"]["ok"], e["data"]["cancelled"]) for e in c.events(turn, "tool_result")] == [(False, False)] * 3
    c.check_scope("tools")
