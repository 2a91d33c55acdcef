"""A stop right after a beginning: at the acceptance of a message, of a sub-agent, of a call, before or after its actor exists."""
import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until


def script(m):
    shell = lambda line: {"name": "exec", "input": {"command": line + " #" + m}}
    spawn = lambda task: {"name": "spawn_agent", "input": {"task": task}}
    return [
        {"when": {"user": "work"}, "steps": [{"text": "So. "}, {"calls": [shell("sleep 1000"), shell("echo never")]}]},
        {"when": {"user": "deep"}, "steps": [{"calls": [spawn("middle one"), spawn("middle two")]}]},
        {"when": {"user": "middle"}, "steps": [{"calls": [spawn("work below")]}]},
        {"when": {"user": "ask"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f nothing"}}, {"name": "list", "input": {"path": "."}}]}]},
        {"when": {"result": ""}, "text": "Done."},
        {"text": "You said {{text}}."},
    ]


CONFIG = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m), CONFIG, slots=64, settings=["defaults.grace=500ms"]) as c:
        yield c, m


def is_whole(c, scope, turn, done):
    assert done["status"] == "settled" and done["report"]["proven"] and done["report"]["receipts"]["unconfirmed"] == 0, done
    assert c.ended(turn)["status"] == "cancelled"
    assert not [o for o in c.below(turn, status="live")]
    c.check_scope(scope)


@pytest.mark.parametrize("text", ["work", "deep", "ask", "hello"])
@pytest.mark.parametrize("target", ["turn", "scope"])
def test_a_stop_a_few_requests_behind_the_acceptance(world, text, target):
    c, m = world
    for steps in range(0, 24, 2):
        scope = f"race/{steps}"
        turn = c.say(scope, text)
        for _ in range(steps):  # later by that many steps; one takes as long as a request
            c.healthy()
        if c.operation(turn)["status"] == "completed":
            assert text == "hello"
            continue
        done = c.cancel(**({"operation": turn} if target == "turn" else {"scope": scope}))
        if done["outcome"] in ("already_finished", "nothing_live") or c.ended(turn)["status"] == "completed":
            assert text == "hello", done
            continue
        is_whole(c, scope, turn, done)
    assert not processes.marked(m)


def test_each_operation_is_stopped_as_soon_as_it_is_seen(world):
    c, m = world
    for kind in ("model_call", "tool_call", "sub_agent", "task"):
        for i in range(8):
            scope = f"seen/{kind}/{i}"
            turn = c.say(scope, "deep")
            seen = until(lambda: c.below(turn, kind=kind), f"a {kind} of {turn}")
            done = c.cancel(operation=seen[0]["id"])
            assert done["report"]["receipts"]["unconfirmed"] == 0, done
            over = c.cancel(operation=turn)
            assert over["report"]["receipts"]["unconfirmed"] == 0, over
            c.ended(turn)
            until(lambda: not c.below(turn, status="live"), "everything to end")
            c.check_scope(scope)
    assert not processes.marked(m)


def test_a_stop_right_behind_a_restart(world):
    c, m = world
    for i in range(4):
        turns = [c.say(f"again/{i}/{n}", text) for n, text in enumerate(("ask", "work", "deep", "ask"))]
        for turn in (turns[0], turns[3]):
            c.call(turn, "exec", "paused")
            c.wait_event(turn, "tool_result")
        queued = c.say(f"again/{i}/0", "hello")
        c.restart()
        for turn in turns:
            done = c.cancel(operation=turn)
            assert done["report"]["receipts"]["unconfirmed"] == 0 and done["status"] == "settled", done
        assert c.ended(queued)["status"] in ("completed", "cancelled")
        for n in range(4):
            c.check_scope(f"again/{i}/{n}")
    until(lambda: not processes.marked(m), "every process to be gone")


def test_a_queue_has_an_end(world):
    c, _ = world
    first = c.say("long", "work")
    refused = None
    for i in range(1005):
        answer = c.post("long", f"hello {i}")
        if answer.status != 202:
            refused = answer
            break
    assert refused is not None and refused.status == 429 and refused.json["code"] == "too_many_operations", refused and refused.body
    assert i >= 900
    done = c.cancel(scope="long")
    assert done["status"] == "settled" and done["report"]["receipts"]["never_started"] >= 900, done
    assert c.operation(first)["status"] == "cancelled"
    c.next_message_is_taken("long")
