"""An editor on the official ACP SDK (npm) that talks to `quell acp`, and turns that wait, ask and run for ever."""
import json
import os

import pytest

from harness.cluster import BIN, marker
from harness.peers import Program, installed
from harness.turns import TurnCluster
from harness.waiting import until

EDITOR = os.path.join(os.path.dirname(__file__), "acp_editor.mjs")
PACKAGES = ["@agentclientprotocol/sdk@2.4.0", "zod@4"]
SECOND_AGENT = """
[[agents]]
name = "other"
model = "script"
workspace = "WORKSPACE"
instructions = "other"
[[agents]]
name = "asker"
model = "script"
tools = ["ask_user"]
[[approval]]
tool = "write"
"""


def script(m):
    run = "trap '' TERM; while :; do sleep 1000; done #" + m
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "never begins"}, "steps": [{"delay_ms": 600000}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": run}}]}]},
        {"when": {"user": "sleeps"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "until [ -e go ]; do sleep 0.05; done #" + m}}]}]},
        {"when": {"user": "writes"}, "steps": [{"calls": [{"name": "write", "input": {"path": "a.txt", "text": "x"}}]}]},
        {"when": {"user": "why"}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Why?"}}]}]},
        {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which?", "choices": ["red", "blue"]}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


class Editor(Program):
    def __init__(self, cluster, *arguments, token=None):
        home = installed("acp-2.4.0", PACKAGES)
        super().__init__("env", f"QUELL_URL={cluster.url}", f"QUELL_TOKEN={token or cluster.token}", "node", EDITOR, home, f"{BIN}/quell",
                         "--scope", "edit", *arguments)
        self.line('{"step":"ready"')
        self.asked = 0

    def steps(self, step, **fields):
        found = [json.loads(line) for line in self.all(f'{{"step":"{step}"')]
        return [s for s in found if all(s.get(k) == v for k, v in fields.items())]

    def step(self, step, count=1, **fields):
        return until(lambda: (self.steps(step, **fields)[count - 1:count] or [None])[0],
                     f"{count} steps {step} {fields}; there are {self.lines[-8:]}")

    def begin(self, run, **fields):
        """Sends a command; returns the name under which it will be answered."""
        self.asked += 1
        self.say(json.dumps({"run": run, "name": str(self.asked), **fields}))
        return str(self.asked)

    def done(self, name):
        return self.step("done", name=name)["result"]

    def call(self, run, **fields):
        return self.done(self.begin(run, **fields))

    def position(self, step, **fields):
        """Of the first such line among all of them."""
        return next(i for i, line in enumerate(self.all('{"step":')) if {"step": step, **fields}.items() <= json.loads(line).items())

    def texts(self, kind="agent_message_chunk"):
        return "".join(u["update"]["content"]["text"] for u in self.steps("update") if u["update"]["sessionUpdate"] == kind)

    def tools(self):
        return [u["update"] for u in self.steps("update") if u["update"]["sessionUpdate"].startswith("tool_call")]


@pytest.fixture(scope="module")
def sdk():
    return installed("acp-2.4.0", PACKAGES)


@pytest.fixture
def world(sdk):
    m = marker()
    # The lease: a command outlives a restart, however long that takes.
    with TurnCluster(script(m), SECOND_AGENT, settings=["workers.lease=60s"]) as c, Editor(c) as e:
        assert e.call("initialize")["agentCapabilities"]["loadSession"]
        yield c, e, m


def running_turn(c):
    return until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
