"""A reload beside a turn that runs: the turn keeps its instructions, model and tools to its end; only who stops and what needs a human holds at once."""
import os
import signal

import pytest

from harness.processes import read
from harness.recorded_cluster import RecordedCluster
from harness.waiting import until

AGENT = '[[agents]]\nname = "rec"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ninstructions = "Be brief."\ntools = ["exec", "list"]\n'
WAITS = [("exec", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]


@pytest.fixture(scope="module")
def c():
    with RecordedCluster(AGENT) as cluster:
        cluster.first = cluster.configuration()
        yield cluster


def system_of(request):
    return request["messages"][0]["content"]


def test_a_turn_that_runs_keeps_its_instructions_and_tools(c):
    c.model.plan["work"] = [WAITS, [("list", {"path": "."})]]
    turn = c.say("s", "work", agent="rec")
    until(lambda: c.below(turn, kind="task", status="running"), "its command to run")
    c.configure(c.first.replace("Be brief.", "Be long.").replace('"exec", "list"', '"exec"'))
    c.quell("reload", check=0)
    open(os.path.join(c.workspace, "go"), "w").close()
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    asked = [r for r in c.model.requests if any(m.get("content") == "work" for m in r["messages"])]
    assert len(asked) == 3 and all(system_of(r).startswith("Be brief.") for r in asked), asked
    assert [r["ok"] for r in c.results("s", turn)] == [True, True], "list was taken away from a turn that had it"
    c.next_message_is_taken("s", agent="rec")
    newest = c.model.requests[-1]
    assert system_of(newest).startswith("Be long.") and "list" not in {t["function"]["name"] for t in newest["tools"]}


def test_a_hang_up_with_a_wrong_file_changes_nothing_and_is_said(c):
    c.next_message_is_taken("t", agent="rec")
    before = system_of(c.model.requests[-1])
    c.configure(c.first.replace("Be brief.", "Be loud.") + "\n[[agents]]\nname = 7\n")
    c.controller.send_signal(signal.SIGHUP)
    log = os.path.join(c.directory, "quelld.log")
    until(lambda: b"the configuration was not reloaded" in read(log), "the refusal in the log")
    c.next_message_is_taken("t", agent="rec")
    assert system_of(c.model.requests[-1]) == before
