"""The quota of a workspace while a call runs: bytes in many files, and empty files, end what writes them; what tidies up is let be.
And what counts as use of one."""
import os

import pytest

from harness.cluster import marker
from harness.waiting import until
from harness.workspaces import World


@pytest.fixture(scope="module")
def world():
    with World() as c:
        yield c


def ended_as_full(c, result, scope, word):
    assert not result["ok"] and word in result["result"]["note"] and "signal" in result["result"], result
    task = next(o for o in c.operations(scope=scope, kind="task") if o["error"])
    assert task["status"] == "failed" and task["error"]["code"] == "workspace_full" and word in task["error"]["message"], task


def test_a_command_that_fills_its_workspace_is_ended_while_it_runs(world):
    fill = f"i=0; while :; do head -c 100000 /dev/zero > f$i; i=$((i+1)); sleep 0.02; done #{marker('fill')}"
    result, = world.done("fill", [("exec", {"command": fill})], scope="fill", agent="small")
    ended_as_full(world, result, "fill", "its quota is 256 KiB")
    # What is in a full workspace can be looked at for long, and removed.
    assert world.out("ls | head -1; sleep 6; rm -f f*; ls", scope="fill", agent="small").split() == ["f0"]
    until(lambda: world.run("echo x > y; cat y", scope="fill", agent="small")["stdout"] == "x\n", "the workspace to take files again", 120)


def test_a_command_that_makes_too_many_files_is_ended_while_it_runs(world):
    many = f"seq 3000 | xargs touch; sleep 1000 #{marker('many')}"
    result, = world.done("many", [("exec", {"command": many})], scope="many", agent="small")
    ended_as_full(world, result, "many", "more than 1024 files and folders")
    until(lambda: "more than 1024 files" in world.run("true", scope="many", agent="small")["stderr"], "the next command to be told", 120)
    world.run("ls | xargs rm -f", scope="many", agent="small")
    until(lambda: world.run("echo x > y; cat y", scope="many", agent="small")["stdout"] == "x\n", "the workspace to take files again", 120)


def test_other_conversations_go_on_beside_one_that_is_full(world):
    turn = world.ask("fill", [("exec", {"command": f"seq 3000 | xargs touch; sleep 1000 #{marker('beside')}"})], scope="a", agent="small")
    assert world.out("sleep 8; echo here", scope="b", agent="small") == "here\n"
    assert world.ended(turn)["status"] == "completed"


def test_commands_in_the_background_keep_a_conversation_in_its_workspace(world):
    """Its row knows nothing of what ran on over a restart, or for longer than an unused workspace is kept."""
    kept, days = "echo kept > a; until test -f go; do sleep 0.05; done", 100
    task = world.run(kept, scope="served", background=True)["task"]
    until(lambda: (world.place_of("served") and os.path.exists(world.place_of("served") + "/files/a")), "the command to run")
    world.pretend_unused("served", days)
    assert world.out("cat a", scope="served") == "kept\n"
    assert world.operation(task)["status"] == "running"
    world.run("touch go", scope="served")
    world.wait_status(task, "completed")
    world.pretend_unused("served", days)
    assert world.out("cat a", scope="served") == "kept\n"
    assert len([n for n in world.directories() if n.startswith("w-served~")]) == 1, world.directories()
    assert not [m for m in world.model.requests[-1]["messages"] if m["role"] == "user" and "are gone" in m["content"]]


def test_reading_what_the_workspace_says_of_itself_is_use_of_it(world):
    world.done("rules", [("write", {"path": "AGENTS.md", "text": "Be brief."})], scope="read")
    world.pretend_unused("read", 20)
    before = world.used_at("read")
    assert world.ended(world.ask("only a word", scope="read"))["status"] == "completed"
    until(lambda: world.used_at("read") > before, "the reading to count")
    assert world.out("cat AGENTS.md", scope="read") == "Be brief."
