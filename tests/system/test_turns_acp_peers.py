"""An ACP agent on the official SDK (npm) as a sub-agent of a turn: its text, its rights, and a cancel that reaches it before any signal."""
import os
import subprocess

import pytest

from harness import processes
from harness.peers import installed
from harness.turns import TurnCluster
from harness.waiting import until

ACP_AGENT = os.path.join(os.path.dirname(__file__), "harness", "slow_acp_agent.mjs")


def spawn(agent, task):
    return {"name": "spawn_agent", "input": {"agent": agent, "task": task}}


def answer(result):
    assert result["ok"], result
    return result["result"]["result"]


@pytest.fixture(scope="module")
def acp():
    home = installed("acp-2.4.0", ["@agentclientprotocol/sdk@2.4.0", "zod@4"])
    script = [{"when": {"user": f"{agent} {task}"}, "steps": [{"calls": [spawn(agent, task)]}]}
              for agent in ("free", "ruled", "other", "broken", "stays", "deaf", "own") for task in ("quick", "slow", "ask", "choose", "unnamed")]
    script += [{"when": {"result": ""}, "text": "Done: {{results}}"}, {"text": "You said {{text}}."}]
    config = "".join(f'[[agents]]\nname = "{name}"\nacp = true\nworkspace = "WORKSPACE"\n'
                     f'command = ["env", "SEEN=WORKSPACE/seen-{name}", "node", "{ACP_AGENT}", "{home}"]\n' for name in ("free", "ruled", "other"))
    config += f'[[agents]]\nname = "stays"\nacp = true\ncommand = ["env", "STAYS=1", "node", "{ACP_AGENT}", "{home}", "seen-stays"]\n'
    config += f'[[agents]]\nname = "own"\nacp = true\nworkspace_mode = "per-scope"\ncommand = ["node", "{ACP_AGENT}", "{home}", "seen-own"]\n'
    config += f'[[agents]]\nname = "deaf"\nacp = true\nworkspace = "WORKSPACE"\ncommand = ["env", "DEAF=1", "SEEN=WORKSPACE/seen-deaf", "node", "{ACP_AGENT}", "{home}"]\n'
    config += '[[agents]]\nname = "broken"\nacp = true\nworkspace = "WORKSPACE"\ncommand = ["sh", "-c", "echo hello; read line; exit 4"]\n'
    config += '[[approval]]\ntool = "acp:ruled"\nmatch = "delete*"\n[[approval]]\ntool = "acp:other"\nmatch = "create*"\n'
    with TurnCluster(script, config) as c:
        yield c


def acp_result(c, text):
    scope = text.replace(" ", "-")
    turn = c.say(scope, text)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    c.check_scope(scope)
    return c.results(scope, turn)[0]


def agents_alive(c, name):
    return [p for p in processes.marked(ACP_AGENT) if f"seen-{name}".encode() in processes.read(f"/proc/{p}/environ") and c.directory.encode() in processes.read(f"/proc/{p}/environ")]


def test_the_text_of_an_acp_agent_is_the_result_of_the_call(acp):
    def goes_by_itself():
        result = acp_result(acp, "free quick")
        assert answer(result)["text"] == "word0word1word2", result
        assert not agents_alive(acp, "free")
        task = max(acp.operations(scope="free-quick", kind="task"), key=lambda o: o["seq"])
        assert task["stop"] is None or task["stop"]["cause"] == "parent_ended", (task, acp.operations(scope="free-quick"))
        return task["status"] == "completed" and task["stop"] is None
    until(goes_by_itself, "one that goes within the second that it has: on a busy machine others are ended")


@pytest.mark.parametrize("name, task, said", [("free", "ask", "chose yes"), ("free", "choose", "chose yes"), ("other", "choose", "chose yes"),
                                              ("ruled", "choose", "chose no"), ("ruled", "ask", "nobody chose"),
                                              ("ruled", "unnamed", "chose no"), ("other", "unnamed", "chose yes")])
def test_what_it_asks_for_is_allowed_unless_a_rule_wants_a_human(acp, name, task, said):
    assert answer(acp_result(acp, f"{name} {task}"))["text"] == said


def test_a_workspace_that_vanished_is_made_anew_for_an_acp_agent_too(acp):
    assert answer(acp_result(acp, "own quick"))["text"] == "word0word1word2"
    root = os.path.join(acp.workers["w1"].state, "workspaces")
    first, = [n for n in os.listdir(root) if n.startswith("w-own-quick~")]
    until(lambda: not acp.operations(status="live") and not agents_alive(acp, "own"), "nothing to live in it")
    subprocess.run(["rm", "-rf", os.path.join(root, first)], check=True)
    gone = acp_result(acp, "own quick")
    assert not gone["ok"] and "gone" in gone["result"]["error"]["message"], gone
    assert answer(acp_result(acp, "own quick"))["text"] == "word0word1word2"
    second, = [n for n in os.listdir(root) if n.startswith("w-own-quick~")]
    assert second != first


def test_one_that_does_not_go_when_it_has_answered_is_ended(acp):
    result = acp_result(acp, "stays quick")
    assert answer(result)["text"] == "word0word1word2", result
    task, = [o for o in acp.operations(scope="stays-quick", kind="task")]
    assert task["stop"]["cause"] == "parent_ended" and task["stop"]["receipt"] in ("terminated", "killed"), task


def test_an_acp_agent_that_speaks_something_else_and_ends_is_said(acp):
    result = acp_result(acp, "broken quick")
    assert not result["ok"] and "exited with status 4" in result["result"]["error"]["message"], result


def test_a_cancelled_acp_agent_is_asked_first_and_is_gone(acp):
    turn = acp.say("cancel", "free slow")
    until(lambda: agents_alive(acp, "free"), "the agent to run")
    task = until(lambda: acp.below(turn, kind="task", status="running"), "its task to run")[0]
    until(lambda: acp.operation(task["id"])["task"]["output"]["stdout_bytes"] > 1000 or b"word" in acp.api(
        "GET", f"/v1/operations/{task['id']}/output").body, "it to talk")
    done = acp.cancel(operation=turn, grace_ms=60_000)  # half of it is enough to go without a signal
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert processes.read(os.path.join(acp.workspace, "seen-free")) == b"cancel\n"
    assert not agents_alive(acp, "free")
    task = acp.operation(task["id"])
    # It ended by itself: no signal was needed.
    assert task["status"] == "cancelled" and task["stop"]["receipt"] == "cooperative" and task["exit"] == {"code": 0}, task
    result, = acp.results("cancel", turn)
    assert result["cancelled"], result
    acp.next_message_is_taken("cancel")
    acp.check_scope("cancel")


def test_one_that_ignores_its_cancel_and_signals_is_killed_at_the_grace_with_proof(acp):
    turn = acp.say("deaf", "deaf slow")
    until(lambda: agents_alive(acp, "deaf"), "the agent to run")
    task = until(lambda: acp.below(turn, kind="task", status="running"), "its task to run")[0]
    until(lambda: b"word" in acp.api("GET", f"/v1/operations/{task['id']}/output").body, "it to talk")
    done = acp.cancel(operation=turn, grace_ms=10_000)  # enough for it to hear of the cancel
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert processes.read(os.path.join(acp.workspace, "seen-deaf")) == b"cancel\n"  # it was asked, and went on
    assert not agents_alive(acp, "deaf")
    task = acp.operation(task["id"])
    assert task["status"] == "cancelled" and task["stop"]["receipt"] == "killed", task
    result, = acp.results("deaf", turn)
    assert result["cancelled"], result
    acp.check_scope("deaf")


def test_a_cancel_before_the_handshake_needs_no_answer(acp):
    turn = acp.say("early", "other slow")
    until(lambda: acp.below(turn, kind="task"), "its task to be there")
    done = acp.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert not agents_alive(acp, "other")
    acp.check_scope("early")
