"""What a turn has used, while it runs: the same in the turn, in /v1/cost, in the metrics and in the CLI, whatever cut one of its model calls."""
import json
import os
import threading

import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until
from test_metrics import figures
from test_turns_budgets import MeteredModel
from test_turns_budget_kinds import spawn


class Live(TurnCluster):
    """A million tokens of input cost 1. `main` asks a patient model; `hasty` one that has two seconds for its first word, and `falls` the same with a patient fallback."""

    def __init__(self):
        self.model = MeteredModel()
        config = ""
        for name, more in (("metered", ""), ("hasty", 'first_event_timeout = "2s"\nretries = 0\n'), ("falls", 'first_event_timeout = "2s"\nretries = 0\nfallback = ["metered"]\n')):
            config += (f'[[models]]\nname = "{name}"\nprovider = "openai"\nmodel = "{name}"\nbase_url = "{self.model.url}"\nkey_env = "NO_KEY"\n'
                       f'price = {{ input = 1, output = 0 }}\n{more}')
            config += f'[[agents]]\nname = "{name}-agent"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["list", "spawn_agent"]\n'
        super().__init__([{"text": "ok"}], config)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "NO_KEY": "a-key-of-no-value"}, **options)

    def close(self):
        self.model.close()
        super().close()

    def hold(self, text):
        self.model.held[text] = threading.Event()

    def let(self, text):
        self.model.held.pop(text).set()

    def until_asked(self, text, step=0, times=1):
        until(lambda: self.model.asked.count((text, step)) >= times, f"the model to be asked {times} times: {text}", 60)

    def begin(self, scope, *, agent="metered-agent", below=None):
        """A turn whose sub-agent waits for its model. Returns the turn and the two texts."""
        m = marker("live")
        root, task = f"root {m}", f"below {m}" + " word" * 200
        step = spawn(task)
        if below:
            step[1]["agent"] = below
        self.model.plan.update({root: [(500, [step]), (1, "said")], task: [(40, "done")]})
        self.hold(task)
        turn = self.say(scope, root, agent=agent)
        self.until_asked(task)
        return turn, root, task

    def metered(self):
        found = figures(self)
        return sum(v for k, v in found.items() if k.startswith("quell_model_tokens_total") and 'kind="input"' in k)

    def cost(self, scope):
        return self.api("GET", f"/v1/cost?by=scope&scope={scope}").json["total"]

    def used(self, turn, scope):
        """What the turn shows now; the API, the command and the sums of its events say the same."""
        def look():
            usage = self.operation(turn)["turn"]["usage"]
            rest = (self.cost(scope), [e["data"] for e in self.events(turn, "model_usage")],
                    json.loads(self.quell("show", turn, "--json", check=0).stdout)["turn"]["usage"], self.quell("show", turn, check=0).stdout.decode())
            return (usage, *rest) if self.operation(turn)["turn"]["usage"] == usage else None
        usage, total, events, listed, words = until(look, "a moment in which nothing more is used")
        shown = {k: usage.get(k, 0) for k in ("input_tokens", "output_tokens", "cost")}
        assert shown == {k: pytest.approx(total[k], abs=2e-6) for k in shown}, (usage, total)
        assert usage.get("estimated", False) == (total["estimated_calls"] > 0), (usage, total)
        assert sum(d["usage"]["input_tokens"] for d in events) == usage["input_tokens"], (events, usage)
        assert events[-1]["tree"]["input_tokens"] == usage["input_tokens"], (events[-1], usage)
        assert listed == usage and f"{usage['input_tokens']} tokens in" in words, (listed, usage, words)
        return usage["input_tokens"]


@pytest.fixture
def c():
    with Live() as cluster:
        yield cluster


def test_a_call_that_kill_9_cuts_is_in_the_running_turn_at_once_and_once(c):
    turn, root, task = c.begin("killed/below")
    assert c.used(turn, "killed/below") == 500
    c.restart()
    estimate = c.used(turn, "killed/below") - 500  # whether its agent is back or not
    assert estimate > len(task) // 4
    until(lambda: c.metered() == estimate, "the metrics of this life to have the cut call")
    c.until_asked(task, times=2)
    assert c.used(turn, "killed/below") == 500 + estimate
    c.restart()
    assert c.used(turn, "killed/below") == 500 + 2 * estimate
    until(lambda: c.metered() == estimate, "the metrics of the next life to have the second one alone")
    c.until_asked(task, times=3)
    c.let(task)
    assert c.ended(turn)["status"] == "completed"
    assert c.used(turn, "killed/below") == 500 + 2 * estimate + 40 + 1
    # Each agent knows the same of itself.
    assert c.events(turn, "turn_complete")[0]["data"]["usage"]["input_tokens"] == 541 + 2 * estimate
    agent, = c.below(turn, kind="sub_agent")
    assert agent["result"]["usage"]["input_tokens"] == 40 + 2 * estimate, agent
    c.check_scope("killed/below")


def test_a_turn_that_is_stopped_right_after_the_restart_has_the_cut_call_too(c):
    text = marker("stopped") + " word" * 200
    c.hold(text)
    turn = c.say("killed/stopped", text, agent="metered-agent")
    c.until_asked(text)
    c.restart()
    assert c.api("POST", f"/v1/operations/{turn}/cancel", {}).status in (200, 202)
    assert c.ended(turn)["status"] == "cancelled"
    assert c.used(turn, "killed/stopped") > len(text) // 4
    c.check_scope("killed/stopped")


def test_a_turn_that_is_given_up_after_three_resumes_has_all_four(c):
    text = marker("given-up") + " word" * 200
    c.hold(text)
    turn = c.say("killed/often", text, agent="metered-agent")
    seen = []
    for life in range(4):
        c.until_asked(text, times=life + 1)
        c.restart()
        seen.append(c.used(turn, "killed/often"))
    assert seen == [seen[0] * (i + 1) for i in range(4)] and seen[0] > len(text) // 4, seen
    end = c.ended(turn)
    assert end["status"] == "failed" and end["error"]["code"] == "interrupted", end
    assert c.used(turn, "killed/often") == seen[3]
    c.check_scope("killed/often")


def test_a_cancel_of_a_sub_agent_is_in_its_turn_while_that_goes_on(c):
    turn, root, task = c.begin("cut/cancel")
    before = c.metered()
    c.hold(root)
    agent, = c.below(turn, kind="sub_agent")
    assert c.api("POST", f"/v1/operations/{agent['id']}/cancel", {}).status in (200, 202)
    c.until_asked(root, step=1)
    used = c.used(turn, "cut/cancel")
    assert used > 500 + len(task) // 4, used
    until(lambda: c.metered() == before + used - 500, "the metrics to have it")
    c.let(root)
    assert c.ended(turn)["status"] == "completed"
    assert c.used(turn, "cut/cancel") == used + 1


def test_a_call_that_runs_out_of_time_is_in_its_turn_while_that_goes_on(c):
    turn, root, task = c.begin("cut/idle", below="hasty-agent")
    c.hold(root)
    c.until_asked(root, step=1)
    used = c.used(turn, "cut/idle")
    assert used > 500 + len(task) // 4, used
    until(lambda: c.metered() == used, "the metrics to have it")
    c.let(root)
    assert c.ended(turn)["status"] == "completed"
    assert c.used(turn, "cut/idle") == used + 1


def test_an_attempt_that_gave_way_is_in_its_turn_while_the_next_model_is_asked_and_no_kill_loses_it(c):
    turn, root, task = c.begin("cut/falls", below="falls-agent")
    c.until_asked(task, times=2)  # the second model, which is silent, too
    c.wait_event(turn, "model_fallback")
    attempt = c.used(turn, "cut/falls") - 500
    assert attempt > len(task) // 4
    until(lambda: c.metered() == 500 + attempt, "the metrics to have it")
    c.restart()
    assert c.used(turn, "cut/falls") > 500 + attempt  # and the estimate of the second one
    c.let(task)
    assert c.ended(turn)["status"] == "completed"
    c.used(turn, "cut/falls")
    c.check_scope("cut/falls")
