"""Budgets of every kind end a turn: money, what a message asks for, a place's, those of a day by child and by author; and limits hold for the whole tree."""
import json
import os
import threading

import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until
from test_metrics import figures
from test_turns_budgets import LIST, MeteredModel

CONFIG = """
[[place]]
scope = "place/a"
budget = { max_tokens = 1000 }
[[budgets]]
scope = "kids"
per = "child"
max_tokens = 1000
[[budgets]]
scope = "folk"
per = "author"
max_tokens = 1000
[[budgets]]
scope = "again"
max_tokens = 1000
[[budgets]]
scope = "doors"
per = "child"
max_tokens = 1000
[[budgets]]
scope = "line"
max_tokens = 1000
[[budgets]]
scope = "coins"
max_cost = 0.001
"""


class Kinds(TurnCluster):
    """A million tokens of input cost 1. `rich` may spend 0.001 in a turn, `few` may ask a model 3 times, `narrow` has 2 sub-agents at once, `shallow` 2 levels of them."""

    def __init__(self):
        self.model = MeteredModel()
        config = f'[[models]]\nname = "metered"\nprovider = "openai"\nmodel = "m"\nbase_url = "{self.model.url}"\nkey_env = "NO_KEY"\nprice = {{ input = 1, output = 0 }}\n'
        for name, budget in (("rich", "max_cost = 0.001"), ("few", "model_calls = 3"), ("narrow", "width = 2"), ("shallow", "depth = 2"), ("free", "")):
            config += f'[[agents]]\nname = "{name}"\nmodel = "metered"\nworkspace = "WORKSPACE"\ntools = ["list", "spawn_agent"]\nbudget = {{ {budget} }}\n'
        super().__init__([{"text": "ok"}], config + CONFIG)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "NO_KEY": "a-key-of-no-value"}, **options)

    def close(self):
        self.model.close()
        super().close()


@pytest.fixture(scope="module")
def c():
    with Kinds() as cluster:
        yield cluster


@pytest.mark.parametrize("scope, agent, fields", [
    ("money/agent", "rich", {}),
    ("money/message", "free", {"budget": {"max_cost": 0.001}}),
    ("tokens/message", "free", {"budget": {"max_tokens": 1000}}),
    ("place/a/room", "free", {}),
])
def test_a_turn_ends_when_its_budget_is_used_up(c, scope, agent, fields):
    text = marker("spend")
    c.model.plan[text] = [(800, [LIST]), (800, [LIST]), (1, "never said")]
    turn = c.say(scope, text, agent=agent, **fields)
    end = c.ended(turn)
    assert end["status"] == "failed" and end["error"]["code"] == "budget" and end["stop"]["cause"] == "budget", end
    assert [step for said, step in c.model.asked if said == text] == [0, 1], "a model was asked beyond the budget"
    c.check_scope(scope)


def test_the_cli_says_that_a_budget_was_used_up(c):
    text = marker("spend")
    c.model.plan[text] = [(1100, [LIST]), (1, "never said")]
    printed = c.quell("say", "--scope", "money/cli", "--agent", "rich", text)
    assert printed.returncode != 0 and b"(budget)" in printed.stderr, printed.stderr
    c.model.plan[text] = [(1100, "said")]
    assert c.quell("say", "--scope", "doors/cli", "--agent", "free", text).returncode == 0
    printed = c.quell("say", "--scope", "doors/cli", "--agent", "free", text)
    assert printed.returncode != 0 and b"the budget of today is used up" in printed.stderr, printed.stderr


def test_without_a_budget_the_same_turn_completes(c):
    text = marker("spend")
    c.model.plan[text] = [(800, [LIST]), (800, [LIST]), (1, "said")]
    for scope in ("tokens/none", "place/b/room"):
        assert c.ended(c.say(scope, text, agent="free"))["status"] == "completed"


@pytest.mark.parametrize("used, refused, goes_on", [
    (("kids/g1/x", "ann"), ("kids/g1/y", "bob"), ("kids/g2/x", "ann")),
    (("folk/x", "ann"), ("folk/y", "ann"), ("folk/x", "bob")),
    (("coins/x", "ann"), ("coins/y", "bob"), ("elsewhere/x", "ann")),
])
def test_a_budget_of_a_day_is_by_child_by_author_or_of_all_in_tokens_or_money(c, used, refused, goes_on):
    text = marker("day")
    c.model.plan[text] = [(1100, "said")]

    def post(at):
        scope, author = at
        return c.post(scope, text, agent="free", author={"id": author, "name": author})

    first = post(used)
    assert first.status == 202, first.body
    assert c.ended(first.json["turn"]["id"])["status"] == "completed"
    answer = post(refused)
    assert answer.status == 429 and answer.json["code"] == "budget", answer.body
    answer = post(goes_on)
    assert answer.status == 202, answer.body
    assert c.ended(answer.json["turn"]["id"])["status"] == "completed"


def token(c, role, scope):
    return c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": scope}).json["token"]


def test_the_day_of_an_author_is_one_whichever_token_names_them(c):
    text = marker("day")
    c.model.plan[text] = [(1100, "said")]
    ann = {"id": f"ann {text}", "name": "Ann"}
    first = c.post("folk/a", text, agent="free", author=ann, token=token(c, "chat", "folk/a"))
    assert first.status == 202, first.body
    assert c.ended(first.json["turn"]["id"])["status"] == "completed"
    other = token(c, "chat", "folk/b")
    answer = c.post("folk/b", text, agent="free", author=ann, token=other)
    assert answer.status == 429 and answer.json["code"] == "budget", answer.body
    # The day of a scope of its own is out of reach of that token, and a stop is never refused.
    live = c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": "folk/b"}).json["id"]
    stop = c.post("folk/b", "stop", author=ann, token=other)
    assert stop.status == 200 and stop.json["decision"] == "cancel", stop.body
    c.wait_status(live, "cancelling", "cancelled")


def test_a_used_up_budget_is_said_at_every_door_in_its_own_words(c):
    text = marker("doors")
    c.model.plan[text] = [(1100, "said")]
    assert c.ended(c.say("doors/room", text, agent="free"))["status"] == "completed"
    inside = token(c, "admin", "doors/room")
    ui = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "more"}]}
    sdk = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "more"}], "contextId": "a2a"}}
    asked = len(c.model.asked)
    doors = {
        "OpenAI": lambda: c.api("POST", "/openai/v1/chat/completions", {"model": "free", "messages": [{"role": "user", "content": "more"}]},
                                token=inside, headers={"X-Quell-Scope": "doors/room"}),
        "OpenAI, streamed": lambda: c.api("POST", "/openai/v1/chat/completions", {"model": "free", "stream": True, "messages": [{"role": "user", "content": "more"}]},
                                          token=inside, headers={"X-Quell-Scope": "doors/room"}),
        "AI SDK": lambda: c.api("POST", "/v1/ui/chat", {"id": "chat", "agent": "free", "scope": "doors/room", "messages": [ui]}, token=inside),
        "A2A": lambda: c.api("POST", "/a2a/free/message:send", sdk, headers={"A2A-Version": "1.0"}, token=inside),
        "A2A over JSON-RPC": lambda: c.api("POST", "/a2a/free", {"jsonrpc": "2.0", "id": "r", "method": "SendMessage", "params": sdk},
                                           headers={"A2A-Version": "1.0"}, token=inside),
    }
    for name, door in doors.items():
        answer = door()
        assert answer.status == 429 and b"the budget of today is used up: scope doors" in answer.body, (name, answer.status, answer.body)
        assert 0 < int(answer.headers["Retry-After"]) <= 24 * 3600, (name, dict(answer.headers))
        if name.startswith("A2A"):  # which has no codes of ours
            assert answer.json["error"]["status"] == "RESOURCE_EXHAUSTED", answer.body
        else:
            assert answer.json.get("error", answer.json)["code"] == "budget", (name, answer.body)
    assert len(c.model.asked) == asked, "a model was asked beyond the budget"


def test_a_budget_that_is_used_up_lets_nobody_ask_again_or_compact(c):
    first, second = marker("cheap"), marker("dear")
    c.model.plan.update({first: [(1, "said")], second: [(1100, "said")]})
    for text in (first, second):
        assert c.ended(c.say("again/x", text, agent="free"))["status"] == "completed"
    asked = len(c.model.asked)
    rows = c.messages("again/x")
    for action in ("regenerate", "compact"):
        answer = c.api("POST", "/v1/history", {"scope": "again/x", "action": action})
        assert answer.status == 429 and answer.json["code"] == "budget", (action, answer.body)
    assert len(c.model.asked) == asked and c.messages("again/x") == rows, "nothing was asked or changed"
    # The scope was let go: what costs nothing is still done.
    assert c.api("POST", "/v1/history", {"scope": "again/x", "action": "clear"}).status == 200


def test_a_message_that_waited_until_the_budget_of_the_day_was_used_up_is_not_asked(c):
    first, second = marker("eats"), marker("waits")
    c.model.plan.update({first: [(1100, "said")], second: [(1, "never said")]})
    gate = c.model.held[first] = threading.Event()
    turns = [c.say("line/x", text, agent="free") for text in (first, second)]
    until(lambda: (first, 0) in c.model.asked, "the model to be asked")
    gate.set()
    assert c.ended(turns[0])["status"] == "completed"
    end = c.ended(turns[1])
    assert end["status"] == "failed" and end["error"]["code"] == "budget" and end["stop"]["cause"] == "budget", end
    assert (second, 0) not in c.model.asked
    c.check_scope("line/x")


def spawn(task):
    return "spawn_agent", {"task": task}


def metered(c):
    """What /metrics says of the tokens of input, and of the cost."""
    found = figures(c)
    return (sum(v for k, v in found.items() if k.startswith("quell_model_tokens_total") and 'kind="input"' in k),
            sum(v for k, v in found.items() if k.startswith("quell_model_cost_total")))


def test_what_a_tree_has_used_is_the_same_in_the_api_the_command_and_the_metrics(c):
    m = marker("sums")
    root, below = f"root {m}", f"below {m}"
    c.model.plan.update({root: [(500, [spawn(below)]), (1, "said")], below: [(200, "said")]})
    tokens, cost = metered(c)
    turn = c.say("sums/x", root, agent="free")
    assert c.ended(turn)["status"] == "completed"
    usage = c.operation(turn)["turn"]["usage"]
    assert usage["input_tokens"] == 701 and usage["cost"] == pytest.approx(701e-6), usage
    api = c.api("GET", "/v1/cost?by=scope&scope=sums").json["total"]
    command = json.loads(c.quell("cost", "--by", "scope", "--scope", "sums", "--json", check=0).stdout)["total"]
    for total in (api, command):
        assert total["input_tokens"] == 701 and total["model_calls"] == 3 and total["cost"] == pytest.approx(701e-6), total
    until(lambda: metered(c)[0] == tokens + 701, "the metrics to have the tokens")
    assert metered(c)[1] == pytest.approx(cost + 701e-6)
    # A call that the restart cuts counts in the next life (docs/operating.md).
    until(lambda: not c.operations(kind="model_call", status="live"), "all model calls to have ended")
    c.restart()  # counters begin anew, and what is stored stays
    until(lambda: c.api("GET", "/v1/cost?by=scope&scope=sums").json["total"] == api, "the cost to be what it was")
    assert metered(c) == (0, 0)


def test_width_holds_over_all_levels_of_a_tree(c):
    m = marker("wide")
    root, first, second, third = (f"{word} {m}" for word in ("root", "first", "second", "third"))
    c.model.plan.update({root: [(1, [spawn(first)])], first: [(1, [spawn(second)])], second: [(1, [spawn(third)])]})
    turn = c.say("tree/wide", root, agent="narrow")
    assert c.ended(turn)["status"] == "completed"
    assert (second, 0) in c.model.asked and (third, 0) not in c.model.asked
    assert len(c.below(turn, kind="sub_agent")) == 2
    refused, = [o for o in c.below(turn, kind="tool_call") if o["status"] == "failed"]
    assert refused["error"]["code"] == "too_many_sub_agents", refused


def test_depth_is_counted_from_the_root_of_a_tree(c):
    m = marker("deep")
    root, first, second, third = (f"{word} {m}" for word in ("root", "first", "second", "third"))
    c.model.plan.update({root: [(1, [spawn(first)])], first: [(1, [spawn(second)])], second: [(1, [spawn(third)])]})
    turn = c.say("tree/deep", root, agent="shallow")
    assert c.ended(turn)["status"] == "completed"
    assert (second, 0) in c.model.asked and (third, 0) not in c.model.asked
    refused, = [o for o in c.below(turn, kind="tool_call") if o["status"] == "failed"]
    assert refused["error"]["code"] == "too_deep", refused
    c.check_scope("tree/deep")


def test_model_calls_count_over_all_levels_of_a_tree(c):
    m = marker("calls")
    root, below = f"root {m}", f"below {m}"
    c.model.plan.update({root: [(1, [spawn(below)])], below: [(1, [LIST])] * 5})
    turn = c.say("tree/calls", root, agent="few")
    assert c.ended(turn)["status"] == "failed"
    assert [asked for asked in c.model.asked if m in asked[0]] == [(root, 0), (below, 0), (below, 1)]


@pytest.mark.parametrize("agent, code", [("narrow", "too_many_sub_agents"), ("shallow", "too_deep")])
def test_width_and_depth_of_a_tree_hold_after_a_restart(agent, code):
    with Kinds() as c:
        m = marker(agent)
        root, first, second, third = (f"{word} {m}" for word in ("root", "first", "second", "third"))
        c.model.plan.update({root: [(1, [spawn(first)])], first: [(1, [LIST]), (1, [spawn(second)])], second: [(1, [spawn(third)])]})
        gate = c.model.held[first] = threading.Event()  # quelld is killed with the first sub-agent at its model
        turn = c.say("tree/again", root, agent=agent)
        until(lambda: (first, 0) in c.model.asked, "the sub-agent to ask its model")
        c.kill_controller()
        gate.set()
        c.start_controller()
        assert c.ended(turn)["status"] == "completed"
        assert (second, 0) in c.model.asked and (third, 0) not in c.model.asked
        refused, = [o for o in c.below(turn, kind="tool_call") if o["status"] == "failed"]
        assert refused["error"]["code"] == code, refused
        c.check_scope("tree/again")
