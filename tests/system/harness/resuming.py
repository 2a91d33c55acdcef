"""Turns that a restart of quelld meets at each of their steps."""
import json
import os
import signal

import pytest

from harness.turns import TurnCluster

ends = pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
BRIEF = '[[agents]]\nname = "brief"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { timeout = "10s" }\n'
ONCE = '[[agents]]\nname = "once"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { model_calls = 1 }\n'
ASKED = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'


def waits(m, name):
    """Runs until the workspace has this file, and counts its runs."""
    return {"name": "exec", "input": {"command": f"echo x >> runs-{name}; while [ ! -e go-{name} ]; do sleep 0.05; done; echo went on #{m}"}}


def script(m, after=False):
    """`after`: what the model says when it is asked again."""
    listing = {"name": "list", "input": {"path": "."}}
    cut = lambda text: {"steps": [{"text": text}]} if after else {"steps": [{"text": "Half a"}, {"endless": " word", "delay_ms": 20}]}
    return [
        {"when": {"user": "silent"}, "steps": [{"text": "Not silent any more."}] if after else [{"hang": True}]},
        {"when": {"user": "streams"}, **cut("A whole answer.")},
        {"when": {"user": "second", "round": 1}, "steps": [{"text": "First."}, {"calls": [listing]}]},
        {"when": {"user": "second", "round": 2}, **cut("Second.")},
        {"when": {"user": "counts", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "small"}}]}], "usage": {"input": 100, "output": 10}},
        {"when": {"user": "counts", "round": 2}, **({"steps": [{"text": "Counted."}]} if after else {"steps": [{"hang": True}]}), "usage": {"input": 200, "output": 20}},
        {"when": {"user": "small"}, "steps": [{"text": "Small."}], "usage": {"input": 5, "output": 1}},
        {"when": {"user": "later", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": waits(m, "later")["input"]["command"], "background": True}}]}]},
        {"when": {"user": "later", "round": 2}, **cut("It runs.")},
        {"when": {"user": "runs", "round": 1}, "steps": [{"calls": [waits(m, "runs")]}]},
        {"when": {"user": "ends", "round": 1}, "steps": [{"calls": [waits(m, "ends")]}]},
        {"when": {"user": "many", "round": 1}, "steps": [{"calls": [listing, waits(m, "one"), waits(m, "two")]}]},
        {"when": {"user": "inner"}, "steps": [{"calls": [waits(m, "inner")]}]},
        {"when": {"user": "below", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "inner"}}]}]},
        {"when": {"user": "speaks"}, **cut("The sub-agent speaks.")},
        {"when": {"user": "talks", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "speaks"}}]}]},
        {"when": {"user": "prints", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"printf '42%s' printed; sleep 1000 #{m}"}}]}]},
        {"when": {"user": "prints", "round": 2}, "steps": [{"text": "Read: {{results}}"}] if after else [{"hang": True}]},
        {"when": {"user": "through", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "prints"}}]}]},
        {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f ./nothing; echo removed"}}]}]},
        {"when": {"user": "humans", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "asks"}}]}]},
        {"when": {"user": "stubborn"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"trap '' TERM; while :; do sleep 1; done #{m}"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


class Resuming(TurnCluster):
    def __init__(self, m, config=""):
        self.m = m
        super().__init__(script(m), config)

    def answer_otherwise(self):
        with open(self.script, "w") as f:
            json.dump({"answers": script(self.m, after=True)}, f)

    def again(self, sig=signal.SIGKILL):
        """The model answers otherwise in the next life."""
        self.kill_controller(sig)
        self.answer_otherwise()
        self.start_controller()

    def go(self, name):
        open(os.path.join(self.workspace, "go-" + name), "w").close()

    def runs(self, name):
        path = os.path.join(self.workspace, "runs-" + name)
        return len(open(path).readlines()) if os.path.exists(path) else 0

    def resumed(self, operation):
        return [e["data"]["offset"] for e in self.events(operation, "turn_resumed") if e["operation"] == operation]

    def shown(self, operation):
        """The text that a watcher shows."""
        text = ""
        for e in self.events(operation, "text_delta", "turn_resumed"):
            if e["operation"] == operation:
                assert e["data"]["offset"] <= len(text), e
                text = text[:e["data"]["offset"]] + e["data"].get("text", "")
        return text

    def completed(self, turn, scope, text):
        done = self.ended(turn)
        assert done["status"] == "completed" and done["turn"]["text"] == text, done
        assert self.shown(turn) == text, self.events(turn, "text_delta", "turn_resumed")
        self.check_scope(scope)
        return done
