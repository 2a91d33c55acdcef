"""AGENTS.md and skills of a workspace reach the model, by a task on the worker that holds it; no turn waits long for that."""
import itertools
import os
import signal
import threading

import pytest

from harness import processes
from harness.cluster import marker
from harness.recorded_cluster import RecordedCluster
from harness.waiting import until

READS = "reads AGENTS.md and the skills of a workspace"


class World(RecordedCluster):
    """Agents: `reads`, `blind` and `apart` share a workspace, `own` has one for each conversation."""

    def __init__(self, **options):
        head = '[[agents]]\nmodel = "recorded"\ninstructions = "Be brief."\n'
        tools = 'tools = ["exec", "read", "write", "spawn_agent"]\n'
        agents = (f'{head}name = "reads"\nworkspace = "WORKSPACE"\n{tools}'
                  f'{head}name = "blind"\nworkspace = "WORKSPACE"\nread_agents_md = false\n{tools}'
                  f'{head}name = "own"\n{tools}'
                  f'{head}name = "apart"\nworkspace = "WORKSPACE"\ntools = ["spawn_agent", "session_status"]\n')
        super().__init__(agents, **options)

    def put(self, path, text):
        at = os.path.join(self.workspace, path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "w") as f:
            f.write(text)

    def told(self, text, *steps, agent="reads", scope="room"):
        """The system text of the first request of a turn that completes."""
        self.model.plan[text] = list(steps)
        seen = len(self.model.requests)
        turn = self.say(scope, text, agent=agent)
        assert self.ended(turn, 60)["status"] == "completed", self.operation(turn)
        first = next(r for r in self.model.requests[seen:] if text in str(r["messages"][-1]["content"]))
        return first["messages"][0]["content"]

    def told_until(self, words, text, **fields):
        """Asks anew, as a turn goes on without what is not read in three seconds, until a turn is told these words; the system text."""
        numbers = itertools.count()
        return until(lambda: (lambda told: told if words in told else None)(self.told(f"{text} {next(numbers)}", **fields)), f"a turn to be told {words!r}")

    def reads(self):
        return [o for o in self.operations(scope="quell/workspaces", kind="task") if o["title"] == READS]


@pytest.fixture
def world():
    with World() as c:
        yield c


def test_an_agent_is_told_what_agents_md_and_the_skills_say(world):
    world.put("AGENTS.md", "Use tabs, never spaces.\n")
    world.put("api/AGENTS.md", "Here spaces.\n")
    world.put("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nThe secret body.\n")
    told = world.told_until("Use tabs, never spaces.", "first")
    assert told.startswith("Be brief."), told
    assert "<project_instructions" in told and "Use tabs, never spaces." in told, told
    assert "- api/AGENTS.md" in told and "- pdf (skills/pdf/SKILL.md): Fills forms." in told, told
    assert "The secret body" not in told and "Here spaces" not in told
    assert world.told("nothing", agent="blind") == "Be brief."
    # The body comes on demand, by the tool `read`.
    turn_text = "use it"
    world.told(turn_text, [("read", {"path": "skills/pdf/SKILL.md"})])
    assert "The secret body" in str(world.model.requests[-1]["messages"])


def test_a_turn_costs_a_read_only_after_something_was_written(world):
    world.put("AGENTS.md", "Version one.\n")
    world.told_until("Version one.", "one")
    assert "Version one." in world.told("two")
    assert len(world.reads()) == 1, world.reads()
    assert "Version one." in world.told("change it", [("write", {"path": "AGENTS.md", "text": "Version two.\n"})])
    world.told_until("Version two.", "three")
    assert len(world.reads()) == 2, world.reads()
    assert all(o["status"] == "completed" for o in world.reads())


def test_what_a_command_in_the_background_wrote_is_told_after_its_end(world):
    world.put("AGENTS.md", "Version one.\n")
    release = os.path.join(world.workspace, "release")
    command = f"until [ -e {release} ]; do sleep 0.05; done; echo Version two. >AGENTS.md"
    world.told_until("Version one.", "first")
    assert "Version one." in world.told("begin", [("exec", {"command": command, "background": True})])
    assert "Version one." in world.told("meanwhile")
    task, = [o for o in world.operations(scope="room", kind="task") if o["labels"].get("quell.started_by")]
    open(release, "w").close()
    assert world.wait_status(task["id"], "completed", "failed")["status"] == "completed"
    world.told_until("Version two.", "after")


def test_what_a_call_wrote_that_lived_through_kill_9_is_told_to_the_next_turn(world):
    world.put("AGENTS.md", "Version one.\n")
    release, m = os.path.join(world.workspace, "release"), marker("writer")
    command = f"until [ -e {release} ]; do sleep 0.05; done; echo Version two. >AGENTS.md; : {m}"
    world.model.plan[m] = [[("exec", {"command": command})]]
    turn = world.say("room", m, agent="reads")
    until(lambda: processes.marked(m), "the command to run", 60)
    world.restart()
    numbers = itertools.count()
    until(lambda: "Version one." in world.told(f"elsewhere {next(numbers)}", scope="other"), "the worker to be back and the file to be remembered")
    open(release, "w").close()
    assert world.ended(turn, 60)["status"] == "completed", world.operation(turn)
    world.told_until("Version two.", "after")


def test_an_agent_that_cannot_touch_its_workspace_costs_no_task(world):
    world.put("AGENTS.md", "Never read.\n")
    assert world.told("first", agent="apart") == "Be brief."
    assert not world.reads()


def test_a_link_out_of_the_workspace_tells_nothing(world):
    outside = os.path.join(world.directory, "outside")
    with open(outside, "w") as f:
        f.write("Never read.\n")
    os.symlink(outside, os.path.join(world.workspace, "AGENTS.md"))
    world.put("api/AGENTS.md", "Here spaces.\n")
    told = world.told_until("- api/AGENTS.md", "first")  # so the workspace was read
    assert "Never read." not in told, told


def test_a_turn_does_not_wait_for_a_worker_that_is_not_there():
    with World(workers=0) as c:
        assert c.told("first") == "Be brief."
        assert not c.reads(), "a task that nobody can take"


def test_a_stop_while_a_hung_worker_is_asked_ends_the_turn_at_once(world):
    world.put("AGENTS.md", "Never read.\n")
    worker, release = world.workers["w1"], threading.Event()
    world.model.answer = lambda messages: (release.wait(120), "done")[1]  # a turn that waited long enough does not end by itself
    os.kill(worker.process.pid, signal.SIGSTOP)
    try:
        turn = world.say("room", "stopped", agent="reads")
        until(world.reads, "the read to be ordered")
        answer = world.api("POST", f"/v1/operations/{turn}/cancel", {})
        assert answer.status in (200, 202), answer.body
        assert world.ended(turn)["status"] == "cancelled"
        assert not [o for o in world.below(turn) if o["kind"] == "task"], "the read belongs to no turn"
    finally:
        release.set()
        os.kill(worker.process.pid, signal.SIGCONT)


@pytest.mark.skipif(os.geteuid() != 0, reason="workers that may mount")
def test_the_instructions_of_one_conversation_are_not_told_to_another(world):
    assert world.told("first", [("write", {"path": "AGENTS.md", "text": "Only for guild a.\n"})], agent="own", scope="a/room") == "Be brief."
    world.told_until("Only for guild a.", "second", agent="own", scope="a/room")
    assert world.told("third", agent="own", scope="b/room") == "Be brief."
