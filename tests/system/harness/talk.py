"""Shared by the tests of `quell say` and `quell chat`: scripted agents, and the commands on a terminal."""
import os

import pytest

from .cluster import BIN, marker
from .terminal import Terminal
from .turns import TurnCluster
from .waiting import until

APPROVAL = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'
SHORT = '[[agents]]\nname = "hasty"\nmodel = "script"\nbudget = { timeout = "500ms" }\n'


def call(command):
    return {"calls": [{"name": "exec", "input": {"command": command}}]}


def script(m):
    return [
        {"when": {"user": "danger"}, "steps": [call("rm -rf ./nothing && echo removed")]},
        {"when": {"user": "tools"}, "steps": [{"text": "Working:"}, {"calls": [
            {"name": "exec", "input": {"command": "echo hello"}}, {"name": "list", "input": {"path": "."}}]}]},
        {"when": {"user": "stubborn"}, "steps": [call(f"trap '' TERM; echo {m}; sleep 1000 & sleep 1000")]},
        {"when": {"user": "delegate"}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "tools please"}}]}]},
        {"when": {"user": "broken"}, "steps": [{"error": {"code": "model_refused", "message": "no such model"}}]},
        {"when": {"user": "forever"}, "steps": [{"endless": "on and on ", "delay_ms": 20}]},
        {"when": {"user": "escape"}, "text": "\x1b[2Jgone?\x07 wide: 漢字 end"},
        {"when": {"user": "paragraph"}, "text": "word " * 100},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture(scope="module")
def world():
    m = marker()
    with TurnCluster(script(m), APPROVAL + SHORT, workers=1) as c:
        c.marker = m
        yield c


def on_terminal(c, *arguments, **more):
    return Terminal([f"{BIN}/quell", *arguments], c.environment(QUELL_STATE=os.path.join(c.directory, "person"), **more))


def chat(c, scope, *arguments):
    return on_terminal(c, "chat", "--scope", scope, *arguments)


def turns(c, scope):
    return sorted(c.operations(scope=scope, kind="turn"), key=lambda o: o["seq"])


# ---- say ------------------------------------------------------------------------------------------------------------


def asked(c, scope):
    return until(lambda: c.operations(scope=scope, status="paused"), "a call to wait for a human")[0]["id"]
