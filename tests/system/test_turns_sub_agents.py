"""Sub-agents and single calls: a stop reaches everything below its target, on any worker, and nothing beside it."""
import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster, broken_history
from harness.waiting import until

CONFIG = ('[[agents]]\nname = "mid"\nmodel = "script"\nworkspace = "WORKSPACE"\n'
          '[[agents]]\nname = "far"\nmodel = "script"\nworkspace = "WORKSPACE"\nworker = "w2"\n'
          '[[agents]]\nname = "program"\nworker = "w2"\nworkspace = "WORKSPACE"\n'
          'command = ["sh", "-c", "setsid sh -c \'while :; do sleep 1000; done # $0\' $1 & while :; do sleep 1000; done # $1", "x", "{prompt}"]\n')


def spawn(task, **more):
    return {"name": "spawn_agent", "input": {"task": task, **more}}


def script(m):
    # Its children leave session and parent, and one ignores the signal.
    escape = f"setsid sh -c 'while :; do sleep 1000; done #{m}' & (setsid sh -c \"trap '' TERM; while :; do sleep 1000; done #{m}\" &) ; while :; do sleep 1000; done #{m}"
    return [
        {"when": {"user": "deep"}, "steps": [{"text": "I pass it on. "}, {"calls": [spawn("middle task", agent="mid")]}]},
        {"when": {"user": "middle task"}, "steps": [{"calls": [spawn("far task", agent="far")]}]},
        {"when": {"user": "far task"}, "steps": [{"calls": [{"name": "exec", "input": {"command": escape}}]}]},
        {"when": {"user": "program"}, "steps": [{"calls": [spawn(m, agent="program"), spawn("short task", agent="mid")]}]},
        {"when": {"user": "short task"}, "text": "That was short."},
        {"when": {"user": "two"}, "steps": [{"calls": [spawn("far task", agent="far"), spawn("short task", agent="mid")]}]},
        {"when": {"user": "one exec"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "sleep 1000 #" + m}},
                                                            {"name": "exec", "input": {"command": "echo second ran"}},
                                                            {"name": "exec", "input": {"command": "echo third ran"}}]}]},
        {"when": {"user": "silent"}, "steps": [{"text": "Well, "}, {"hang": True}]},
        {"when": {"user": "many"}, "steps": [{"calls": [spawn(f"silent {i}", agent="mid") for i in range(10)]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m), CONFIG, workers=2) as c:
        yield c, m


def sub_agent(c, turn, name, *statuses):
    def look():
        found = [o for o in c.below(turn, kind="sub_agent") if o["name"] == name]
        return found[0] if found and (not statuses or found[0]["status"] in statuses) else None
    return until(look, f"sub-agent {name} of {turn} to be {statuses}")


def test_a_sub_agent_of_a_sub_agent_on_another_worker_dies_with_its_root(world):
    c, m = world
    turn = c.say("swarm", "deep")
    until(lambda: len(processes.marked(m)) >= 3, "three processes to run")
    task, = c.below(turn, kind="task")
    assert task["worker"] == "w2"
    answer = c.api("POST", f"/v1/operations/{turn}/cancel", {"wait": "settled", "wait_ms": 60000, "reason": "enough"})
    assert answer.status == 200 and answer.json["report"]["proven"], answer.body
    assert not processes.marked(m)
    assert {o["kind"] for o in c.below(turn)} >= {"turn", "tool_call", "sub_agent", "task"}
    for o in c.below(turn):
        assert o["status"] == ("completed" if o["kind"] == "model_call" else "cancelled"), o
        if o["stop"]:
            assert o["stop"]["receipt"] in ("cooperative", "terminated", "killed") and o["stop"]["reason"] == "enough", o
    middle, far = sub_agent(c, turn, "mid"), sub_agent(c, turn, "far")
    for agent in (middle, far):
        talk = c.messages("swarm", sub_agent=agent["id"])
        assert not broken_history(talk), (broken_history(talk), talk)
        assert [(r["ok"], r["cancelled"]) for x in talk for r in x["results"]] == [(False, True)], talk
    c.next_message_is_taken("swarm")
    c.check_scope("swarm")


@pytest.mark.parametrize("target", ["sub_agent", "tool_call", "task"])
def test_a_cancelled_sub_agent_leaves_its_parent_running_with_a_cancelled_result(world, target):
    c, m = world
    turn = c.say("swarm", "two")
    until(lambda: len(processes.marked(m)) >= 3, "three processes to run")
    far = sub_agent(c, turn, "far", "running")
    id = {"sub_agent": far["id"], "tool_call": far["parent"], "task": None}[target] or c.below(turn, kind="task")[0]["id"]
    done = c.cancel(operation=id)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert not processes.marked(m)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    stopped, short = c.results("swarm", turn)
    assert short["ok"] and "That was short." in str(short), short
    if target == "task":  # the remote agent was told the result, and continued
        assert stopped["ok"] and "cancelled" in str(stopped) and c.operation(far["id"])["status"] == "completed", stopped
    else:
        assert stopped["cancelled"] and stopped["result"]["error"]["message"] == "Tool call cancelled by user.", stopped
        assert c.operation(far["id"])["status"] == "cancelled"
    c.check_scope("swarm")


@pytest.mark.parametrize("target", ["call", "task"])
def test_a_command_as_a_sub_agent_dies_with_its_call_and_leaves_the_others(world, target):
    c, m = world
    turn = c.say("swarm", "program")
    until(lambda: len(processes.marked(m)) >= 2, "the program and its escaped child to run")
    task, = c.below(turn, kind="task")
    assert task["worker"] == "w2"
    done = c.cancel(operation=task["parent"] if target == "call" else task["id"])
    assert done["status"] == "settled" and not processes.marked(m), done
    assert c.ended(turn)["status"] == "completed"
    stopped, short = c.results("swarm", turn)
    assert stopped["cancelled"] and short["ok"], (stopped, short)
    c.check_scope("swarm")


def test_one_exec_is_cancelled_alone_and_those_behind_it_begin(world):
    c, m = world
    turn = c.say("swarm", "one exec")
    until(lambda: processes.marked(m), "the command to run")
    calls = sorted(c.below(turn, kind="tool_call"), key=lambda o: o["seq"])
    assert [o["status"] for o in calls] == ["running", "pending", "pending"]
    # A pending call alone first: the others are not affected.
    done = c.cancel(operation=calls[1]["id"])
    assert done["status"] == "settled" and done["report"]["receipts"]["never_started"] == 1, done
    assert processes.marked(m) and c.operation(calls[0]["id"])["status"] == "running"
    done = c.cancel(operation=calls[0]["id"])
    assert done["status"] == "settled" and not processes.marked(m), done
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    first, second, third = c.results("swarm", turn)
    assert first["cancelled"] and first["result"]["error"]["message"] == "Tool call cancelled by user."
    assert second["cancelled"] and "not started" in second["result"]["error"]["message"], second
    assert third["ok"] and "third ran" in str(third), third
    assert len(c.events(turn, "tool_start")) == 2 and len(c.events(turn, "tool_result")) == 3
    c.check_scope("swarm")


def test_a_cancelled_model_call_ends_its_turn(world):
    c, _ = world
    turn = c.say("swarm", "silent")
    c.wait_event(turn, "text_delta")
    call, = c.below(turn, kind="model_call")
    done = c.cancel(operation=call["id"])
    assert done["status"] == "settled" and done["report"]["proofs"]["connection_closed"] == 1, done
    over = c.ended(turn)
    assert over["status"] == "failed", over
    user, answer = c.of_turn("swarm", turn)
    assert answer["interrupted"] and answer["text"] == "Well, "
    c.next_message_is_taken("swarm")
    c.check_scope("swarm")


def test_as_many_sub_agents_as_may_and_all_are_stopped_at_once(world):
    c, _ = world
    turn = c.say("swarm", "many")
    until(lambda: len(c.below(turn, kind="sub_agent", status="running")) == 8, "eight sub-agents to run")
    until(lambda: len([o for o in c.below(turn, kind="tool_call") if o["status"] == "failed"]) == 2, "two to be one too many")
    until(lambda: len({e["operation"] for e in c.events(turn, "text_delta")}) == 8, "all eight to have begun to speak")
    done = c.cancel(scope="swarm")
    assert done["status"] == "settled" and done["report"]["proven"], done
    results = c.results("swarm", turn)
    assert [r["cancelled"] for r in results].count(True) == 8
    assert [r["result"]["error"]["code"] for r in results if not r["cancelled"]] == ["too_many_sub_agents"] * 2
    for o in c.below(turn, kind="sub_agent"):
        talk = c.messages("swarm", sub_agent=o["id"])
        assert not broken_history(talk) and talk[-1]["interrupted"] and talk[-1]["text"] == "Well, ", talk
    c.next_message_is_taken("swarm")
    c.check_scope("swarm")
