"""Budgets of tokens against what happens at the same instant: a cancel, and a kill -9 of quelld."""
import json
import os
import random
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from harness import processes
from harness.cluster import marker
from harness.recording_model import said
from harness.turns import TurnCluster
from harness.waiting import until

SEED = int(os.environ.get("QUELL_TEST_SEED") or random.randrange(1 << 30))
LIST = ("list", {})


class MeteredModel:
    """Answers by a plan: `plan[user text]` = [(tokens of input, text or list of calls)]; None for the tokens: no usage is reported. An answer to a
    text in `held` waits for its event."""

    def __init__(self):
        self.plan, self.held, self.asked = {}, {}, []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
                last = max(i for i, m in enumerate(messages) if m["role"] == "user")
                text, step = said(messages[last]), sum(m["role"] == "assistant" for m in messages[last:])
                model.asked.append((text, step))
                if text in model.held:
                    model.held[text].wait(60)
                steps = model.plan.get(text, [])
                tokens, answer = steps[step] if step < len(steps) else (1, "done")
                delta = {"content": answer} if isinstance(answer, str) else {"tool_calls": [
                    {"index": i, "id": f"{abs(hash(text))}-{step}-{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(input)}}
                    for i, (name, input) in enumerate(answer)]}
                end = "stop" if isinstance(answer, str) else "tool_calls"
                pieces = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}]
                if tokens is not None:
                    pieces.append({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}})
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                try:
                    for piece in pieces:
                        self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    pass  # the client hung up

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        for event in self.held.values():
            event.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class World(TurnCluster):
    """Agents: `poor` may use 1,000 tokens in a turn, `free` any number; the scope `paid` may use 1,000 a day."""

    def __init__(self, more=""):
        self.model = MeteredModel()
        head = '[[agents]]\nmodel = "metered"\nworkspace = "WORKSPACE"\ntools = ["exec", "list", "spawn_agent"]\n'
        config = (f'[[models]]\nname = "metered"\nprovider = "openai"\nmodel = "m"\nbase_url = "{self.model.url}"\nkey_env = "NO_KEY"\n'
                  f'{head}name = "poor"\nbudget = {{ max_tokens = 1000 }}\n'
                  f'{head}name = "free"\n'
                  '[[budgets]]\nscope = "paid"\nmax_tokens = 1000\n')
        super().__init__([{"text": "ok"}], config + more)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "NO_KEY": "a-key-of-no-value"}, **options)

    def close(self):
        self.model.close()
        super().close()

    def tree(self, scope):
        """A turn with two sub-agents: one runs a command, the other's open model call will use the budget up."""
        m = marker("spent")
        hold, eat, spend = (f"{word} {m}" for word in ("hold", "eat", "spend"))
        self.model.plan[spend] = [(10, [("spawn_agent", {"task": hold}), ("spawn_agent", {"task": eat})])]
        self.model.plan[hold] = [(10, [("exec", {"command": f"sleep 1000; : {m}"})])]
        self.model.plan[eat] = [(5000, [LIST]), (5000, [LIST])]
        gate = self.model.held[eat] = threading.Event()
        turn = self.say(scope, spend, agent="poor")
        until(lambda: processes.marked(m) and (eat, 0) in self.model.asked, "the command to run and the model to be asked", 60)
        return turn, m, gate

    def cancel(self, turn):
        return self.api("POST", f"/v1/operations/{turn}/cancel", {})

    def is_over_once(self, scope, turn, m):
        """The turn has one end, with one cause; nothing of its tree lives; each call has one result."""
        end = self.ended(turn, 60)
        until(lambda: not processes.marked(m), "no process of the tree to be left")
        if end["status"] == "failed":
            assert end["error"]["code"] == "budget" and end["stop"]["cause"] == "budget", end
        else:
            assert end["status"] == "cancelled" and end["stop"]["cause"] == "cancel", end
        assert all(o["ended_at"] for o in self.below(turn)), self.below(turn)
        assert len(self.results(scope, turn)) == 2, self.results(scope, turn)
        self.check_scope(scope)
        return end

    def cost(self, scope):
        return json.loads(self.quell("cost", "--by", "scope", "--scope", scope, "--json", check=0).stdout)["total"]


@pytest.fixture
def world():
    with World() as c:
        yield c


def test_a_cancel_at_the_instant_at_which_the_budget_is_used_up_leaves_one_end_and_one_cause(world):
    chance = random.Random(SEED)
    print(f"QUELL_TEST_SEED={SEED}")
    for i in range(12):
        scope = f"race/{i}"
        turn, m, gate = world.tree(scope)
        answers, both = [], threading.Barrier(2)
        wait = chance.choice([0, 0, chance.uniform(0, 0.02)])  # who is first is the draw

        def cancel():
            both.wait(30)
            threading.Event().wait(wait)
            answers.append(world.cancel(turn))

        canceller = threading.Thread(target=cancel)
        canceller.start()
        both.wait(30)
        gate.set()
        canceller.join(60)
        assert answers and answers[0].status in (200, 202), answers
        first = world.is_over_once(scope, turn, m)
        # Neither of the two comes again: a second cancel changes nothing.
        assert world.cancel(turn).status in (200, 202)
        again = world.operation(turn)
        assert [again[k] for k in ("status", "error", "ended_at")] == [first[k] for k in ("status", "error", "ended_at")], again


def test_a_budget_that_is_used_up_first_is_the_cause_and_a_later_cancel_changes_nothing(world):
    turn, m, gate = world.tree("first/budget")
    gate.set()
    assert world.ended(turn, 60)["status"] == "failed"
    assert world.cancel(turn).status in (200, 202)
    assert world.is_over_once("first/budget", turn, m)["stop"]["cause"] == "budget"
    assert world.cost("first/budget")["input_tokens"] >= 5000


def test_a_cancel_that_comes_first_is_the_cause_and_the_call_in_flight_does_not_fail_the_turn(world):
    turn, m, gate = world.tree("first/cancel")
    assert world.cancel(turn).status in (200, 202)
    until(lambda: world.operation(turn)["status"] != "running", "the cancel to be accepted")
    gate.set()
    assert world.is_over_once("first/cancel", turn, m)["stop"]["cause"] == "cancel"


def test_what_was_spent_in_a_turn_survives_kill_9_and_still_counts(world):
    m = marker("between")
    release = os.path.join(world.workspace, "release")
    world.model.plan[m] = [(800, [("exec", {"command": f"until [ -e {release} ]; do sleep 0.05; done; : {m}"})]), (800, [LIST]), (1, "never said")]
    turn = world.say("kill/turn", m, agent="poor")
    until(lambda: processes.marked(m), "the command to run", 60)
    before = world.cost("kill/turn")
    assert before["input_tokens"] == 800, before
    world.restart()
    assert world.cost("kill/turn") == before
    open(release, "w").close()
    end = world.ended(turn, 60)
    assert end["status"] == "failed" and end["error"]["code"] == "budget", end
    assert world.cost("kill/turn")["input_tokens"] == 1600
    assert (m, 2) not in world.model.asked, "a model was asked beyond the budget"
    world.check_scope("kill/turn")


def test_the_budget_of_a_day_holds_after_kill_9(world):
    world.model.plan["much"] = [(900, "first")]
    assert world.ended(world.say("paid/room", "much", agent="free"))["status"] == "completed"
    before = world.cost("paid")
    world.restart()
    assert world.cost("paid") == before and before["input_tokens"] == 900, before
    assert world.ended(world.say("paid/room", "much", agent="free"))["status"] == "completed"  # 901 of 1,000 were used
    for _ in range(2):
        refused = world.post("paid/room", "more", agent="free")
        assert refused.status == 429 and refused.json["code"] == "budget", refused.body
        assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600, refused.headers
        assert world.ended(world.say("other/room", "more", agent="free"))["status"] == "completed"
        world.restart()
    assert world.cost("paid")["input_tokens"] == 1800


def cut(world, scope, text, agent):
    """Kills quelld while the model is asked with this text; the model answers from then on."""
    gate = world.model.held[text] = threading.Event()
    turn = world.say(scope, text, agent=agent)
    until(lambda: (text, 0) in world.model.asked, "the model to be asked")
    assert world.cost(scope)["model_calls"] == 0
    world.kill_controller()
    gate.set()
    world.start_controller()
    return turn


def test_a_model_call_that_kill_9_cuts_counts_once_with_an_estimate_of_its_input(world):
    text = marker("cut") + " word" * 200
    world.model.plan[text] = [(300, "done")]
    turn = cut(world, "cut/turn", text, "free")
    assert world.ended(turn, 60)["status"] == "completed"
    lost = [o for o in world.below(turn, kind="model_call") if o["status"] == "failed"]
    assert len(lost) == 1 and lost[0]["error"]["code"] == "interrupted", lost
    usage = world.operation(lost[0]["id"])["result"]["usage"]
    assert usage["estimated"] is True and usage["input_tokens"] >= len(text) // 4 and usage["output_tokens"] == 0, usage
    total = world.cost("cut/turn")
    assert (total["model_calls"], total["estimated_calls"], total["input_tokens"]) == (2, 1, 300 + usage["input_tokens"]), total
    world.restart()
    assert world.cost("cut/turn") == total
    world.check_scope("cut/turn")


def test_what_a_cut_model_call_used_can_use_a_budget_up(world):
    text = marker("cut") + " word" * 1000
    world.model.plan[text] = [(1, "done")]
    turn = cut(world, "cut/poor", text, "poor")
    end = world.ended(turn, 60)
    assert end["status"] == "failed" and end["error"]["code"] == "budget" and end["stop"]["cause"] == "budget", end
    assert world.model.asked.count((text, 0)) == 1, "a model was asked beyond the budget"
    world.check_scope("cut/poor")
    much = marker("day") + " word" * 1000
    world.model.plan[much] = [(1, "done")]
    turn = cut(world, "paid/room", much, "free")
    assert world.ended(turn, 60)["error"]["code"] == "budget"
    refused = world.post("paid/room", "more", agent="free")
    assert refused.status == 429 and refused.json["code"] == "budget", refused.body


def stopped_in_silence(world, scope, text):
    """A turn that is stopped while its model has not said a word."""
    gate = world.model.held[text] = threading.Event()
    before = world.model.asked.count((text, 0))
    turn = world.say(scope, text, agent="free")
    until(lambda: world.model.asked.count((text, 0)) > before, "the model to be asked")
    assert world.cancel(turn).status in (200, 202)
    end = world.ended(turn, 60)
    gate.set()
    assert end["status"] == "cancelled" and end["stop"]["cause"] == "cancel", end
    return end


def test_a_call_that_is_stopped_before_its_first_word_counts_with_its_input(world):
    text = marker("silent") + " word" * 400
    usage = stopped_in_silence(world, "silent/turn", text)["turn"]["usage"]
    assert usage["estimated"] and usage["input_tokens"] >= len(text) // 4 and usage["output_tokens"] == 0, usage
    total = world.cost("silent/turn")
    assert (total["model_calls"], total["estimated_calls"], total["input_tokens"]) == (1, 1, usage["input_tokens"]), total
    world.restart()
    assert world.cost("silent/turn") == total
    world.check_scope("silent/turn")


def test_who_asks_and_stops_again_and_again_uses_the_day_up(world):
    text = marker("again") + " word" * 400
    for _ in range(3):
        stopped_in_silence(world, "paid/again", text)
        if world.cost("paid")["input_tokens"] >= 1000:
            break
    refused = world.post("paid/again", "more", agent="free")
    assert refused.status == 429 and refused.json["code"] == "budget", refused.body


def test_a_provider_that_reports_no_usage_is_bounded_by_budgets_all_the_same(world):
    text = marker("mute") + " word" * 200
    world.model.plan[text] = [(None, [LIST])] * 20
    end = world.ended(world.say("mute/turn", text, agent="poor"), 60)
    assert end["status"] == "failed" and end["error"]["code"] == "budget" and end["stop"]["cause"] == "budget", end
    asked = sum(said == text for said, _ in world.model.asked)
    assert asked < 10, asked
    usage, total = end["turn"]["usage"], world.cost("mute/turn")
    assert usage["estimated"] and usage["input_tokens"] + usage["output_tokens"] >= 1000, usage
    assert total["model_calls"] == total["estimated_calls"] == asked and total["input_tokens"] >= asked * (len(text) // 4), total
    whole = marker("whole")
    world.model.plan[whole] = [(None, "x" * 4000)]
    assert world.ended(world.say("paid/mute", whole, agent="free"))["status"] == "completed"
    refused = world.post("paid/mute", "more", agent="free")
    assert refused.status == 429 and refused.json["code"] == "budget", refused.body
    world.check_scope("mute/turn")
