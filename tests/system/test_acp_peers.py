"""An ACP agent on the official SDK (npm): text in pieces, permissions, cancels and their outcomes."""
import os

import pytest

from harness.peers import BIN, Program, installed

PROBE = os.path.join(BIN, "acp_probe")
AGENT = os.path.join(os.path.dirname(__file__), "harness", "slow_acp_agent.mjs")

if not os.path.exists(PROBE):
    pytest.skip(f"there is no {PROBE}: build the target acp_probe", allow_module_level=True)


@pytest.fixture
def agent():
    home = installed("acp-2.4.0", ["@agentclientprotocol/sdk@2.4.0", "zod@4"])
    with Program(PROBE, "node", AGENT, home) as probe:
        yield probe


def test_an_answer_comes_in_pieces_and_another_prompt_follows(agent):
    for count in (1, 2):
        agent.say("prompt quick")
        assert agent.line("finished", count) == "finished end_turn"
    assert [line.split()[1] for line in agent.all("text")] == ["word0", "word1", "word2"] * 2
    assert agent.line("ready") == "ready slow 1"


def test_a_cancel_in_the_middle_is_over_at_once_and_the_agent_says_that_it_stopped(agent):
    agent.say("prompt slow")
    agent.line("text", 3)
    agent.say("cancel")
    agent.line("cancelled")
    told = len(agent.all("text"))
    assert agent.line("late") == "late done"
    agent.say("prompt quick")
    agent.line("finished")
    assert len(agent.all("text")) == told + 3
    assert not agent.all("failed")


def test_a_permission_is_given(agent):
    agent.say("prompt ask")
    assert agent.line("permission") == "permission 1 1 delete it"
    agent.say("permit 1 yes")
    assert agent.line("text") == "text chose yes"
    agent.line("finished end_turn")


def test_a_cancel_answers_the_permission_that_the_agent_waits_for(agent):
    agent.say("prompt ask")
    agent.line("permission")
    agent.say("cancel")
    # It continues with "nobody chose" and an ordinary end: the stop reason alone proves nothing.
    assert agent.line("late") == "late too_late"
    assert not agent.all("text") and not agent.all("finished")


def test_a_cancel_before_the_handshake_is_over_sends_no_prompt(agent):
    agent.say("prompt slow")
    agent.say("cancel")
    assert agent.line("late").split()[1] in ("not_sent", "done")
    assert not agent.all("finished")
