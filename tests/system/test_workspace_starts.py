"""What a command in the workspace of a conversation starts with its own token stays in that workspace, and on that worker."""
import os

import pytest

from harness.cluster import marker
from harness.workspaces import World

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="workers that may mount")


@pytest.fixture(scope="module")
def world():
    with World(workers=2) as c:
        yield c


def test_it_sees_and_changes_what_the_command_does(world):
    m = marker()
    there = os.path.join(world.workspace, m)
    said = world.out("mkdir -p sub; echo one > sub/a; echo two > /tmp/b; quell run -- sh -c 'pwd; cat sub/a /tmp/b; echo three > c'; cat c; "
                     f"cd sub; quell run -- pwd; quell run --cwd /tmp -- pwd; quell run -- sh -c 'echo x > {there}; echo x > /srv/{m}' 2>/dev/null; true",
                     scope="starts/a")
    assert said == "/workspace\none\ntwo\nthree\n/workspace/sub\n/tmp\n", said
    assert not os.path.exists(there) and not os.path.exists(f"/srv/{m}")


def test_neither_do_those_that_it_starts_in_turn(world):
    m = marker()
    there = os.path.join(world.workspace, m)
    said = world.out(f"quell run -- quell run -- sh -c 'pwd; echo x > {there}' 2>/dev/null; true", scope="starts/b")
    assert said == "/workspace\n" and not os.path.exists(there), said
    tasks = [o["task"]["cwd"].split("?")[0] for o in world.operations(scope="starts/b", kind="task")]
    assert len(tasks) == 3 and len(set(tasks)) == 1, tasks


def test_another_worker_is_refused(world):
    world.out("true", scope="starts/c")
    own, = world.workers_of("starts/c")
    other = {"w1": "w2", "w2": "w1"}[own]
    said = world.out(f"quell run --worker {other} -- true 2>&1; echo $?", scope="starts/c")
    assert f"works on {own} starts others there only" in said and said.endswith("\n125\n"), said


def test_an_agents_labels_hold_for_what_its_commands_start():
    with World(agent='workspace_mode = "shared"\non = { guild = "a" }', workers=0) as c:
        for guild in "ab":
            c.add_worker(f"w-{guild}", flags=["--label", f"guild={guild}"])
        said = c.out("quell run --on guild=b -- true 2>&1; echo $?", scope="labels/a")
        assert "guild=a" in said and said.endswith("\n125\n"), said
        c.run("for i in 1 2 3; do quell run -- true; done", scope="labels/a")
        assert c.workers_of("labels/a") == {"w-a"}
