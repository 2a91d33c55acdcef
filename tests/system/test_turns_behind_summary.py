"""What a model still knows when a summary stands for the messages that told it: who speaks, and which commands ended."""
import json
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.recorded_cluster import RecordedCluster
from harness.recording_model import RecordingModel
from harness.waiting import until

AGENT = '[[agents]]\nname = "hand"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["exec", "spawn_agent"]\n'
WORDS = "word " * 200
ANN, BOB = {"id": "1", "name": "Ann"}, {"id": "2", "name": "Bob"}


class Model(RecordingModel):
    """A planned answer can be a function of the messages."""

    def answer(self, messages):
        planned = super().answer(messages)
        return planned(messages) if callable(planned) else planned


@pytest.fixture
def world():
    with RecordedCluster(AGENT, model=Model()) as c:
        yield c


def told(c, text, **fields):
    """What the user's side of the conversation says to the model, at its last request for this message."""
    assert c.ended(c.say("room", text, agent="hand", **fields))["status"] == "completed"
    return [m["content"] for m in c.model.requests[-1]["messages"] if m["role"] == "user"]


def compact(c):
    begun = c.api("POST", "/v1/history", {"scope": "room", "action": "compact"})
    assert begun.status == 202, begun.body
    assert c.wait_status(begun.json["operation"], "completed", "failed")["status"] == "completed"


def wait_for_over(mark):
    return ("exec", {"command": f"until [ -e over ]; do sleep 0.05; done; exit 3 # {mark}", "background": True})


def let_it_end(c, task):
    open(os.path.join(c.workspace, "over"), "w").close()
    c.wait_status(task, "completed", "failed")


def test_who_speaks_is_named_also_when_only_a_summary_knows_the_others(world):
    for i in range(3):
        assert told(world, f"hello {i} {WORDS}", author=ANN)[-1].startswith("hello"), "one person needs no name"
    assert told(world, f"I am the second {WORDS}", author=BOB)[-1].startswith("<Bob> ")
    for i in range(3):
        told(world, f"more {i} {WORDS}", author=BOB)
    compact(world)
    for i in range(3):
        told(world, f"even more {i} {WORDS}", author=BOB)
    compact(world)
    last = told(world, "the last word", author=BOB)
    assert not any("Ann" in line and "hello" in line for line in last if not line.startswith("[quell:")), last
    assert last[-1] == "<Bob> the last word", last


def test_the_end_of_a_command_is_told_when_its_start_is_in_a_summary(world):
    m = marker()
    world.model.plan["begin"] = [[wait_for_over(m)]]
    turn = world.say("room", "begin", agent="hand")
    assert world.ended(turn)["status"] == "completed"
    task = world.results("room", turn)[0]["result"]["result"]["task"]
    for i in range(3):
        told(world, f"more {i} {WORDS}")
    compact(world)
    assert any("Still running: " + task in line for line in told(world, "does it run?"))
    let_it_end(world, task)
    assert any("Ended since" in line and task in line and "exit code 3" in line for line in told(world, "and now?"))
    assert not any(task in line for line in told(world, "anything else?")[-2:]), "it is told once"


def test_the_end_of_a_command_that_a_sub_agent_began_is_told(world):
    m = marker()
    world.model.plan["inner"] = [[wait_for_over(m)]]
    world.model.plan["outer"] = [[("spawn_agent", {"task": "inner"})]]
    turn = world.say("room", "outer", agent="hand")
    assert world.ended(turn)["status"] == "completed"
    task, = [o["id"] for o in world.operations(scope="room", kind="task", status="live") if m in json.dumps(o["task"])]
    assert any("Still running: " + task in line for line in told(world, "does it run?"))
    let_it_end(world, task)
    assert any("Ended since" in line and task in line for line in told(world, "and now?"))


def test_a_command_that_ends_while_the_answer_is_written_is_told_at_the_next_message(world):
    m = marker()
    task = []

    def answer_late(messages):
        task.append(json.loads(messages[-1]["content"])["result"]["task"])
        let_it_end(world, task[0])  # the model has been asked already, so it does not know
        return "I have begun it."

    world.model.plan["begin"] = [[wait_for_over(m)], answer_late]
    assert world.ended(world.say("room", "begin", agent="hand"))["status"] == "completed"
    until(lambda: not processes.marked(m), "the command to be over")
    assert any("Ended since" in line and task[0] in line for line in told(world, "and now?"))


def test_an_edited_message_makes_no_old_end_new(world):
    m = marker()
    world.model.plan["begin"] = [[wait_for_over(m)]]
    turn = world.say("room", "begin", agent="hand")
    assert world.ended(turn)["status"] == "completed"
    task = world.results("room", turn)[0]["result"]["result"]["task"]
    let_it_end(world, task)
    assert any("Ended since" in line and task in line for line in told(world, "and now?"))
    told(world, "anything else?")
    message = [r for r in world.messages("room") if r["text"] == "anything else?"][0]["message"]
    edit = world.api("POST", "/v1/history", {"scope": "room", "action": "edit", "id": message, "text": "nothing else?"})
    assert edit.status == 200, edit.body
    assert not any("Ended since" in line for line in told(world, "good")[-2:]), "it was told before the edited message"
