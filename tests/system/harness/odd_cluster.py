"""A cluster with one misbehaving MCP server of our own (odd_mcp.py), and an agent that may use it."""
import os
import sys

from harness import processes
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster

ODD = os.path.join(os.path.dirname(__file__), "odd_mcp.py")


class OddCluster(TurnCluster):
    """One MCP server `odd`, and an agent that may use it."""

    def __init__(self, oddity, command=None, more="", **options):
        self.model = RecordingModel()
        command = command or [sys.executable, ODD, oddity, "WORKSPACE"]
        config = (f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                  f'[[agents]]\nname = "peer"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:odd", "exec"]\n'
                  f'[[mcp]]\nname = "odd"\ncommand = {command!r}\nenv = {{ SEEN = "WORKSPACE/seen" }}\n' + more)
        try:
            super().__init__([{"text": "hi"}], config, **options)
        except BaseException:
            self.model.close()
            raise

    def close(self):
        super().close()
        self.model.close()

    def ask(self, text, *answers, scope="odd"):
        self.model.plan[text] = list(answers)
        return self.say(scope, text, agent="peer")

    def asked(self, text, *answers, scope="odd", seconds=60):
        """The results of a turn that must complete."""
        turn = self.ask(text, *answers, scope=scope)
        assert self.ended(turn, seconds)["status"] == "completed", self.operation(turn)
        return self.results(scope, turn)

    def log_text(self):
        return processes.read(os.path.join(self.directory, "quelld.log")).decode()

    def seen(self, start):
        lines = processes.read(os.path.join(self.workspace, "seen")).decode().splitlines()
        return [line for line in lines if line.startswith(start)]

    def servers(self):
        return [p for p in processes.marked(ODD) if self.workspace.encode() in processes.read(f"/proc/{p}/cmdline")]

    def hosted(self, *statuses):
        return [o for o in self.operations(scope="quell/mcp/odd") if o["status"] in statuses]


def tool(name, **input):
    return (f"mcp__odd__{name}", input)


def said(result):
    return result["result"]["result"]["content"][0]["text"]


def wrong(result):
    assert not result["ok"] and not result["cancelled"], result
    return result["result"]["error"]["message"]
