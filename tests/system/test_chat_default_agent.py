"""The agent `default` asks before a command when a chat reaches it, and so does whatever it spawns; nobody has configured its rights."""
import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

LOOP = "while :; do sleep 1000; done #"
WAYS = {"coder": "exec", "middle": "exec", "program": "spawn_agent", "editor": "spawn_agent"}


def script(m):
    def spawn(agent, task):
        return {"steps": [{"calls": [{"name": "spawn_agent", "input": {"agent": agent, "task": task}}]}]}
    return [
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"when": {"user": "by coder"}, **spawn("coder", "runs")},
        {"when": {"user": "by middle"}, **spawn("middle", "by coder")},
        {"when": {"user": "by program"}, **spawn("program", "runs")},
        {"when": {"user": "by editor"}, **spawn("editor", "runs")},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": LOOP + m}}]}]},
    ]


def agents(m):
    models = "".join(f'[[agents]]\nname = "{name}"\nmodel = "script"\nworkspace = "WORKSPACE"\n' for name in ("coder", "middle"))
    return models + "".join(f'[[agents]]\nname = "{name}"\n{acp}workspace = "WORKSPACE"\ncommand = ["sh", "-c", "{LOOP}{m}"]\n'
                            for name, acp in (("program", ""), ("editor", "acp = true\n")))


class Reached(TurnCluster):
    """A bot's turn and a person's, both answered by the agent `default`."""

    def __init__(self, m, more=""):
        super().__init__(script(m), agents(m) + more)
        self.m = m

    def start_controller(self, *flags, **options):
        self.configure(self.configuration().replace('name = "main"', 'name = "default"'))
        return super().start_controller(*flags, **options)

    def bot(self):
        return self.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": "chat"}).json["token"]

    def runs(self):
        return processes.marked(self.m)


@pytest.mark.parametrize("way", WAYS)
def test_no_command_below_the_default_agent_runs_unasked_for_a_chat(way):
    with Reached(marker()) as c:
        turn = c.post("chat/1", f"by {way}", token=c.bot()).json["turn"]["id"]
        call = c.call(turn, WAYS[way], "paused")
        assert not c.runs()
        c.restart()  # the question waits on, and so does the rule
        c.call(turn, WAYS[way], "paused")
        assert not c.runs()
        answer = c.api("POST", f"/v1/operations/{call['id']}/approve", {})
        assert answer.status == 200, answer.body
        until(c.runs, "the command to run")
        c.cancel(scope="chat")
        assert not c.runs()
        # A person with their own token is asked nothing.
        c.say("direct", f"by {way}")
        until(c.runs, "the command to run")
        c.cancel(scope="direct")


def test_the_setting_ends_the_questions_below_the_default_agent_too():
    with Reached(marker(), "[chat]\ndefault_agent_asks = false\n") as c:
        assert c.post("chat/1", "by coder", token=c.bot()).status == 202
        until(c.runs, "the command to run")
        c.cancel(scope="chat")
