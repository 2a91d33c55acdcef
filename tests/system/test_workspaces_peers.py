"""Programs that quell starts for an agent with a workspace for each conversation (a command, an ACP agent, an MCP server of the turn)
find nothing of another conversation's."""
import os
import sys

import pytest

from harness.cluster import marker
from harness.workspaces import EVERYWHERE, World

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="workers that may mount")
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness", "searching_peer.py")
#: Begins after everything that an earlier test has left.
LOOK = "touch -d '1 hour ago' {1}/.begun; " + EVERYWHERE.replace("/workspace/.begun", "{1}/.begun")
TRICKS = ("cat /proc/[0-9]*/root/workspace/kept /proc/[0-9]*/cwd/kept /proc/[0-9]*/root{1}/*/files/kept {1}/*/files/kept {1}/*/tmp/kept 2>/dev/null"
          " | grep -a -F {0}; ls -A {1} 2>/dev/null; echo looked")


class Peers(World):
    """Agents `command` and `editor` for `lead` to spawn, and MCP server `own` for the turn of `host`."""

    def __init__(self):
        head = '[[agents]]\nmodel = "recorded"\n'
        super().__init__(agent=f'{head}name = "lead"\ntools = ["exec", "spawn_agent"]\nmay_spawn = ["command", "editor"]\n'
                         f'{head}name = "host"\ntools = ["exec", "mcp:own"]\n'
                         '[[agents]]\nname = "command"\ncommand = ["sh", "-c", "{prompt}"]\n'
                         f'[[agents]]\nname = "editor"\nacp = true\ncommand = [{sys.executable!r}, {PEER!r}]\n'
                         f'[[mcp]]\nname = "own"\nper = "turn"\ncommand = [{sys.executable!r}, {PEER!r}]\n')


@pytest.fixture(scope="module")
def world():
    with Peers() as c:
        yield c


def said_by(c, peer, command, scope):
    """What the program of this kind printed, in the conversation of `scope`."""
    if peer == "mcp":
        result, = c.done(marker("ask"), [("mcp__own__run", {"command": command})], scope=scope, agent="host")
        assert result["ok"], result
        return result["result"]["content"][0]["text"]
    result, = c.done(marker("ask"), [("spawn_agent", {"agent": peer, "task": command})], scope=scope, agent="lead")
    assert result["ok"], result
    return result["result"]["stdout" if peer == "command" else "text"]


@pytest.mark.parametrize("peer", ["command", "editor", "mcp"])
def test_a_program_of_an_agent_finds_nothing_of_another_conversation(world, peer):
    secret, theirs, ours = marker("of-b"), f"b-{peer}/c", f"a-{peer}/c"
    world.run(f"for d in . /tmp /var/tmp $HOME; do echo {secret} > $d/kept; done", scope=theirs)
    turn = world.ask(marker("hold"), [("exec", {"command": f"echo {secret} > kept; sleep 1000 < kept; : hold"})], scope=theirs)
    world.call(turn, "exec", "running")
    place = "/tmp" if peer == "mcp" else "/workspace"
    at = os.path.join(place, marker("look"))
    said = said_by(world, peer, f"mkdir {at}; " + LOOK.format(secret, at), ours)
    assert said == "searched\n", said
    # It finds what is its own, so it did search.
    assert secret in open(os.path.join(world.place_of(theirs), "files", "kept")).read()
    mine = marker("of-a")
    found = said_by(world, peer, f"mkdir {at}2; echo {mine} > {at}2/kept; " + LOOK.format(mine, at + "2"), ours)
    assert "/kept\n" in found, found
    root = os.path.dirname(world.place_of(theirs))
    said = said_by(world, peer, TRICKS.format(secret, root), ours)
    assert said == "looked\n", said
    assert world.cancel(operation=turn)["report"]["proven"]
