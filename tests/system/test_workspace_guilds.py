"""`worker.workspaces_per_guild`: what all workspaces of one guild hold together on a worker. Who fills the disk is ended; the other conversations of the guild
are told, and those of other guilds notice nothing."""
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.waiting import until
from harness.workspaces import World

MOST = "4MiB"
WORDS = "the workspaces of chat/g1 on this worker hold "
ALLOWED = "worker.workspaces_per_guild allows 4096 KiB"


@pytest.fixture
def world(tmp_path):
    config = tmp_path / "worker.toml"
    config.write_text(f'[worker]\nworkspaces_per_guild = "{MOST}"\n')
    with World(worker_flags=["--config", str(config)]) as c:
        yield c


def fill(m):
    """Files of 200 KB, without an end."""
    return f"i=0; while :; do head -c 200000 /dev/zero > f$i; i=$((i+1)); sleep 0.02; done; : {m}"


def test_a_guild_over_two_conversations_is_ended_where_it_grows_and_the_next_one_goes_on(world):
    c, quiet, growing, other = world, *(marker(word) for word in ("quiet", "growing", "other"))
    # The first conversation holds 3 MiB, and has a command that writes no more.
    c.run("head -c 3145728 /dev/zero > kept", scope="chat/g1/c1")
    waiting = c.ask(quiet, [("exec", {"command": f"sleep 1000; : {quiet}"})], scope="chat/g1/c1")
    # A guild whose name begins like the other one's holds as much, and goes on writing.
    c.run("head -c 3145728 /dev/zero > kept", scope="chat/g10/c1")
    until(lambda: processes.marked(quiet), "the quiet command to run")

    result, = c.done(growing, [("exec", {"command": fill(growing)})], scope="chat/g1/c2")
    assert not result["ok"] and WORDS in result["result"]["note"] and ALLOWED in result["result"]["note"], result
    assert "what runs there was ended" in result["result"]["note"] and "signal" in result["result"], result
    task, = c.operations(scope="chat/g1/c2", kind="task")
    assert task["status"] == "failed" and task["error"]["code"] == "workspace_full" and WORDS in task["error"]["message"], task
    assert not processes.marked(growing), "something of the command that was ended lives"
    held = sum(os.path.getsize(os.path.join(at, name)) for scope in ("chat/g1/c1", "chat/g1/c2") for at, _, names in os.walk(c.place_of(scope)) for name in names)
    assert 4 << 20 < held < 64 << 20, held

    # Nobody of this guild can write, and everybody can read; the quiet command is let be.
    shown = c.run("pwd", scope="chat/g1/c3")
    assert shown["stdout"] == "/workspace\n" and shown["stderr"].startswith(f"quell: {WORDS}"), shown
    assert ALLOWED in shown["stderr"] and "nothing can be written until files are removed" in shown["stderr"], shown
    wrote, = c.done(marker("write"), [("write", {"path": "z", "text": "x"})], scope="chat/g1/c3")
    assert not wrote["ok"] and wrote["error"]["code"] == "workspace_full", wrote
    assert processes.marked(quiet) and c.operation(waiting)["status"] == "running"

    # The other guild notices nothing: neither its room nor a word.
    shown = c.run(f"head -c 500000 /dev/zero > more && stat -c %s more; : {other}", scope="chat/g10/c2")
    assert shown["stdout"] == "500000\n" and not shown["stderr"], shown

    # Room in one of its conversations is room in all.
    c.run("rm f*", scope="chat/g1/c2")
    until(lambda: c.run("echo x > y; cat y", scope="chat/g1/c3")["stdout"] == "x\n", "the guild to have room again", 120)
    assert c.cancel(operation=waiting)["report"]["proven"]
    assert c.ended(waiting)["status"] == "cancelled" and not processes.marked(quiet)
