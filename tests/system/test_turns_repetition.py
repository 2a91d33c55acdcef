"""A model that makes the same call again and again: warned first, then ended; calls whose results differ are polling; configurable by agent."""

import pytest

from harness.recorded_cluster import RecordedCluster
from harness.recording_model import said

AGENT = '[[agents]]\nname = "{}"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["exec", "list"]\n{}\n'
LIST = [("list", {})]
WARNING = "this call was made "  # actors/turn/repetition.hpp


@pytest.fixture(scope="module")
def c():
    agents = "".join(AGENT.format(name, more) for name, more in (
        ("plain", ""), ("strict", "repetition = { warn = 2, stop = 3, within = 4 }"), ("patient", 'repetition = "off"'),
        ("warned", "repetition = { warn = 2, stop = 0, within = 12 }")))
    with RecordedCluster(agents) as cluster:
        yield cluster


def read_results(c, user):
    """What the model read as the results of its calls, in the newest request that answers this message."""
    newest = [r["messages"] for r in c.model.requests if said([m for m in r["messages"] if m["role"] == "user"][-1]) == user][-1]
    return [m["content"] for m in newest if m["role"] == "tool"]


def ask(c, scope, text, calls, agent):
    c.model.plan[text] = calls
    turn = c.say(scope, text, agent=agent)
    end = c.ended(turn)
    c.check_scope(scope)
    return turn, end


@pytest.mark.parametrize("agent, warned_at, ended_at", [("plain", 3, 5), ("strict", 2, 3)])
def test_the_model_is_warned_before_its_turn_ends(c, agent, warned_at, ended_at):
    scope = f"again/{agent}"
    turn, end = ask(c, scope, f"again {agent}", [LIST] * 10, agent)
    assert end["status"] == "failed" and end["error"]["code"] == "repetition", end
    results = read_results(c, f"again {agent}")
    assert len(results) == ended_at - 1
    warned = [i + 1 for i, text in enumerate(results) if WARNING in text]
    assert warned == list(range(warned_at, ended_at)), results
    stored = [r["result"] for r in c.results(scope, turn)]
    assert len(stored) == ended_at and [r["ok"] for r in stored] == [True] * (ended_at - 1) + [False], stored
    assert c.below(turn, kind="model_call", status="completed") and not c.operations(scope=scope, status="live")
    assert ask(c, scope, f"and now {agent}", [], agent)[1]["status"] == "completed"
    c.model.plan["cli " + agent] = [LIST] * 10
    printed = c.quell("say", "--scope", f"cli/{agent}", "--agent", agent, "cli " + agent)
    assert printed.returncode != 0 and b"(repetition)" in printed.stderr, printed.stderr


def test_a_call_whose_result_changes_is_polling(c):
    counter = [("exec", {"command": "echo x >> counted; wc -l < counted"})]
    turn, end = ask(c, "polls", "poll", [counter] * 9, "strict")
    assert end["status"] == "completed", end
    assert [r["result"]["result"]["stdout"].strip() for r in c.results("polls", turn)] == [str(i + 1) for i in range(9)]
    assert not any(WARNING in text for text in read_results(c, "poll"))


def test_the_same_calls_among_others_count_only_within_the_window(c):
    def other(i):
        return [("exec", {"command": f"echo {i}"})]
    mixed = [step for i in range(6) for step in (LIST, other(3 * i), other(3 * i + 1), other(3 * i + 2))]
    assert ask(c, "mixed", "mixed", mixed, "strict")[1]["status"] == "completed"


@pytest.mark.parametrize("agent, warns", [("patient", False), ("warned", True)])
def test_an_agent_has_its_own_rule(c, agent, warns):
    assert ask(c, f"own/{agent}", f"own {agent}", [LIST] * 12, agent)[1]["status"] == "completed"
    assert any(WARNING in text for text in read_results(c, f"own {agent}")) == warns
