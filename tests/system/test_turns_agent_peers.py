"""Other people's programs as sub-agents of a turn: codex (npm) with aimock as its model, and a plain shell script
in its place. A cancel of the turn ends them and everything that they have started."""
import os

import pytest

from harness import processes
from harness.aimock import Aimock
from harness.cluster import marker
from harness.peers import installed
from harness.turns import TurnCluster
from harness.waiting import until


def spawn(agent, task):
    return {"name": "spawn_agent", "input": {"agent": agent, "task": task}}


def answer(result):
    assert result["ok"], result
    return result["result"]["result"]


def escaping(m):
    return f"sh -c 'sleep 1000; : {m}' & setsid sh -c 'sleep 1000; : {m}' & (trap '' TERM INT HUP; sh -c 'sleep 1000; : {m}')"


@pytest.fixture(params=["codex", "script"])
def command_agent(request, tmp_path):
    """A cluster with an agent `worker` that runs `escaping` on "work", and answers "it ran" to "hello"."""
    m = marker()
    script = [{"when": {"user": "work"}, "steps": [{"calls": [spawn("worker", "work")]}]},
              {"when": {"user": "hello"}, "steps": [{"calls": [spawn("worker", "hello")]}]},
              {"when": {"result": ""}, "text": "Done: {{results}}"}, {"text": "You said {{text}}."}]
    aimock = None
    if request.param == "codex":
        codex = os.path.join(installed("codex-0.169.0", ["@openai/codex@0.169.0"]), "node_modules", "@openai", "codex", "bin", "codex.js")
        aimock = Aimock(tmp_path, [
            {"match": {"userMessage": "work", "hasToolResult": True}, "response": {"content": "it ran"}},
            {"match": {"userMessage": "work"}, "response": {"toolCalls": [{"name": "exec_command", "arguments": {"cmd": escaping(m), "yield_time_ms": 30000}}]}},
            {"match": {"userMessage": "hello"}, "response": {"content": "it ran"}}])
        provider = f'model_providers.mock={{name="mock",base_url="{aimock.url}",wire_api="responses"}}'
        command = ["env", f"HOME={tmp_path}", f"CODEX_HOME={tmp_path}", "node", codex, "exec", "--json", "--skip-git-repo-check",
                   "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=mock", "-c", "model=gpt-4o", "-c", provider, "{prompt}"]
    else:
        command = ["sh", "-c", f'case "$1" in work) {escaping(m)};; *) echo it ran;; esac', "script", "{prompt}"]
    text = "[" + ", ".join("'''" + word + "'''" for word in command) + "]"
    try:
        with TurnCluster(script, f'[[agents]]\nname = "worker"\nworkspace = "WORKSPACE"\ncommand = {text}\n') as c:
            yield c, m, request.param
    finally:
        if aimock:
            aimock.close()


def test_a_command_answers_as_a_sub_agent(command_agent):
    c, _, _ = command_agent
    turn = c.say("agents", "hello")
    assert c.ended(turn, 180)["status"] == "completed"
    result, = c.results("agents", turn)
    said = answer(result)
    assert said["agent"] == "worker" and said["exit_code"] == 0 and "it ran" in said["stdout"], said
    c.check_scope("agents")


def test_all_that_it_has_started_dies_with_the_turn(command_agent):
    c, m, _ = command_agent
    turn = c.say("agents", "work")
    # Its shell with the three processes that escape it: one plain, one in its own session, one that ignores SIGTERM.
    def sleepers():
        shells = processes.marked(m)
        found = [int(p) for p in os.listdir("/proc") if p.isdigit() and processes.read(f"/proc/{p}/cmdline") == b"sleep\0" b"1000\0"]
        found = [p for p in found if processes.parent_of(p) in shells]
        return found if len(found) == 3 else None
    sleeps = until(sleepers, "its children to run", 180)
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert not processes.marked(m)
    assert not [p for p in sleeps if processes.alive(p)]
    result, = c.results("agents", turn)
    assert result["cancelled"], result
    task, = c.below(turn, kind="task")
    assert task["status"] == "cancelled" and task["stop"]["receipt"] in ("terminated", "killed"), task
    c.next_message_is_taken("agents")
    c.check_scope("agents")


def test_it_lives_on_when_the_controller_is_killed_and_dies_with_its_turn(command_agent):
    c, m, kind = command_agent
    turn = c.say("agents", "work")
    until(lambda: len(processes.marked(m)) >= 3, "its children to run", 180)
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    assert len(processes.marked(m)) >= 3 and len(c.below(turn, kind="task")) == 1
    assert c.cancel(operation=turn)["status"] == "settled"
    until(lambda: not processes.marked(m), "its children to be gone")
    c.next_message_is_taken("agents")
    c.check_scope("agents")


def test_a_prompt_without_a_place_in_the_arguments_comes_on_stdin():
    task = "a prompt\nof several lines, with 'quotes' " + "and much more " * 10000
    script = [{"when": {"user": "read"}, "steps": [{"calls": [spawn("reader", task), spawn("deaf", task), spawn("wrong", "x")]}]}, {"text": "done"}]
    config = ('[[agents]]\nname = "reader"\ncommand = ["sh", "-c", "wc -c; echo careful >&2"]\n[[agents]]\nname = "deaf"\ncommand = ["sh", "-c", "exec sleep 0.5"]\n'
              '[[agents]]\nname = "wrong"\ncommand = ["/no/such/agent"]\n')
    with TurnCluster(script, config) as c:
        turn = c.say("agents", "read")
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        read, deaf, wrong = c.results("agents", turn)
        assert answer(read)["stdout"].strip() == str(len(task)) and answer(read)["stderr"] == "careful\n", read
        assert answer(deaf)["exit_code"] == 0, deaf
        assert not wrong["ok"] and "/no/such/agent" in str(wrong["result"]), wrong
        c.check_scope("agents")
