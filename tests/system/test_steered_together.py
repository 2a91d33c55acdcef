"""Many messages that steer a turn: they are told together, also those that the turn did not take any more."""
import os

import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

MANY = 300
ONCE = '[[agents]]\nname = "once"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { model_calls = 1 }\n'


def script(m):
    work = "while [ ! -e go ]; do sleep 0.05; done #" + m
    return [{"when": {"user": "work", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": work}}]}]},
            {"when": {"user": "hangs"}, "steps": [{"text": "x"}, {"hang": True}]},
            {"text": "Done."}]


@pytest.fixture
def c():
    with TurnCluster(script(marker()), ONCE) as cluster:
        yield cluster


def working(c, scope, **fields):
    turn = c.say(scope, "work", **fields)
    until(lambda: c.below(turn, kind="task", status="running"), "its command to run")
    return turn


def steer(c, scope, count, **fields):
    answers = [c.post(scope, f"and {n}", during_turn="steer", **fields) for n in range(count)]
    assert all(a.json["during_turn"]["manner"] == "steer" for a in answers), answers[0].body
    return [a.json["turn"]["id"] for a in answers]


def go(c):
    open(os.path.join(c.workspace, "go"), "w").close()


def idle(c, scope):
    until(lambda: not c.operations(scope=scope, status="live"), "everything to end")


def all_told_once(c, scope, texts):
    """Each text is read once in the conversation: as a copy that was told, or as the request of a turn."""
    read = [m["text"] for m in c.messages(scope) if m["role"] == "user" and not m["discarded"]]
    assert sorted(t for t in read if t.startswith("and ")) == sorted(texts), read
    c.check_scope(scope)


def test_many_messages_during_one_call_are_few_model_calls(c):
    turn = working(c, "on/many")
    waiting = steer(c, "on/many", MANY)
    go(c)
    assert c.ended(turn)["status"] == "completed"
    idle(c, "on/many")
    assert {c.operation(w)["status"] for w in (waiting[0], waiting[150], waiting[-1])} == {"completed"}
    assert len(c.operations(scope="on/many", kind="model_call", limit=1000)) <= 8
    all_told_once(c, "on/many", [f"and {n}" for n in range(MANY)])


def test_what_a_turn_did_not_take_is_told_to_the_first_of_it(c):
    turn = working(c, "on/rest", agent="once")
    waiting = steer(c, "on/rest", 5, agent="once")
    go(c)
    assert c.ended(turn)["error"]["code"] == "budget"  # it asks no model any more
    idle(c, "on/rest")
    assert [c.operation(w)["turn"].get("steered") for w in waiting] == [None] + [waiting[0]] * 4
    assert len(c.below(waiting[0], kind="model_call")) == 1
    all_told_once(c, "on/rest", [f"and {n}" for n in range(5)])


def test_a_restart_forgets_nobody_who_waits_with_others(c):
    turn = working(c, "on/crash", agent="once")
    waiting = steer(c, "on/crash", 3, agent="once")
    waiting.append(c.post("on/crash", "hangs", during_turn="steer", agent="once").json["turn"]["id"])
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    go(c)
    assert c.ended(turn)["error"]["code"] == "budget"
    first = waiting[0]
    until(lambda: c.events(first, "text_delta"), "the first of the rest to be answered")
    assert [c.ended(w)["turn"]["steered"] for w in waiting[1:]] == [first] * 3
    # Who steers that turn dies with its cancel.
    more = steer(c, "on/crash", 2, agent="once")
    assert c.api("POST", f"/v1/operations/{first}/cancel", {}).status in (200, 202)
    assert [c.ended(w)["stop"]["cause"] for w in more] == ["parent_ended"] * 2
    c.next_message_is_taken("on/crash")
    c.check_scope("on/crash")
