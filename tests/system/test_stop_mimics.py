"""A model that writes what quell writes about a stop: nobody can take its words for quell's, in a chat service or on a terminal (decision 297)."""
import json

import pytest

from harness import talk
from harness.slack import FakeSlack
from harness.talk import on_terminal
from harness.turns import TurnCluster
from harness.waiting import until
from harness.xmpp import Person, Prosody
from test_chat_slack import SlackCluster
from test_chat_xmpp import BOT, section, wait_in

MIMIC = "I have stopped.\n**🛑 stopped**\n:stop_button: stopped\nPress ⏹ twice.\n\u200b ⏹️ stopped"
SHOWN = "I have stopped.\n**• stopped**\n• stopped\nPress ⏹ twice.\n\u200b •️ stopped"
SCRIPT = [{"when": {"system": "interrupted"}, "text": "⏹ stopped: all of it"},  # its words about a stop
          {"when": {"user": "pretends and goes on"}, "steps": [{"text": MIMIC + "\n⏹ stop"}, {"endless": "ped ", "chunk": 4, "delay_ms": 40}]},
          {"when": {"user": "pretends"}, "text": MIMIC},
          {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Really?\n🛑 stopped"}}]}]},
          {"text": "You said {{text}}."}]


class MimicSlack(SlackCluster):
    def __init__(self, slack):
        super().__init__(slack, acknowledged_by="script", agent='tools = ["ask_user"]')
        with open(self.script, "w") as f:
            json.dump({"answers": SCRIPT}, f)


def owned(text):
    """The lines that are quell's by their sign."""
    return [line for line in text.split("\n") if line.startswith(("⏹", "🛑"))]


def test_slack_a_reply_that_ends_like_quells_mark_and_one_that_goes_on():
    with FakeSlack() as slack, MimicSlack(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        ts = slack.say(c, "<@UBOT> pretends")
        slack.see(lambda all: all and all[0]["text"] == SHOWN and not slack.buttons(all[0]), "the reply, as the model's", thread=ts)
        turn, = c.turns()
        assert c.ended(turn["id"])["status"] == "completed"
        assert [m["text"] for m in c.messages(turn["scope"]) if m["role"] == "assistant"] == [MIMIC], "what is stored is what it wrote"
        ts = slack.say(c, "<@UBOT> pretends and goes on")
        [reply] = slack.see(lambda all: all and "• stopped" in all[0]["text"].split("\n")[-1], "a reply that goes on", thread=ts)
        assert not owned(reply["text"]) and slack.buttons(reply), reply["text"]
        assert not [t for t in reply["texts"] if owned(t)], reply["texts"]
        slack.say(c, "stop", thread=ts)
        replies = slack.see(lambda all: len(all) == 2 and all[0]["text"].endswith("\n⏹ stopped") and "all of it" in all[1]["text"], "quell's own words", thread=ts)
        assert owned(replies[0]["text"]) == ["⏹ stopped"] and replies[1]["text"] == "🛑 stopped\n• stopped: all of it", replies


def test_slack_a_question_of_an_agent():
    with FakeSlack() as slack, MimicSlack(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        ts = slack.say(c, "<@UBOT> asks")
        asked = slack.see(lambda all: all and "Really?" in all[-1]["text"], "the question", thread=ts)[-1]
        assert not owned(asked["text"]) and "• stopped" in asked["text"], asked
        c.cancel(scope="slack")


def test_xmpp_a_message_that_reads_like_quells(tmp_path):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", "dev@rooms.test") as mia:
        with TurnCluster(SCRIPT, '[chat]\nacknowledgement_model = "none"\n' + section(str(tmp_path), server.component), workers=0) as c:
            wait_in(mia)
            mia.say(BOT, "pretends")
            mia.wait_body(BOT, "• stopped")
            until(lambda: not c.operations(scope="xmpp", status="live"), "the turn to be over")
            mia.say(BOT, "hello")
            mia.wait_body(BOT, "You said hello.")
            assert not [line for body in mia.bodies(BOT) for line in owned(body)], mia.bodies(BOT)


# ---- the terminal -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def world():
    with TurnCluster(SCRIPT, workers=1) as c:
        yield c


def test_quell_chat_marks_its_own_lines(world):
    with talk.chat(world, "chat/mimic") as t:
        t.prompt()
        t.enter("pretends")
        t.see("I have stopped.", "**• stopped**", "Press ⏹ twice.")
        t.prompt()
        t.enter("pretends and goes on")
        t.see("• stopped ped")
        assert not [line for line in t.lines() if line.strip().startswith(("⏹", "🛑"))], t.text()
        t.enter("stop")
        t.see("⏹ stopped; ")
        t.prompt()
        assert [line for line in t.lines() if line.startswith("⏹")] == [line for line in t.lines() if "⏹ stopped; " in line], t.text()
        t.type("\x04")
        assert t.end() == 0
    with talk.chat(world, "chat/mimic") as t:  # the conversation again
        t.see("I have stopped.")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


def test_quell_say_marks_nothing_of_the_models_on_a_terminal_and_changes_nothing_elsewhere(world):
    with on_terminal(world, "say", "--scope", "say/mimic", "pretends") as t:
        assert t.end() == 0
        t.see("**• stopped**", "• stopped", "Press ⏹ twice.")
        assert not [line for line in t.lines() if line.strip().startswith(("⏹", "🛑"))], t.text()
    assert world.quell("say", "--scope", "say/mimic", "pretends").stdout.decode() == MIMIC + "\n"


def test_events_tell_a_models_words_from_a_stop_by_their_type(world):
    """So it is with webhooks, which send these events, and the console, which draws them apart."""
    turn = world.say("events/mimic", "pretends")
    assert world.ended(turn)["status"] == "completed"
    kinds = {e["type"] for e in world.events(turn)}
    assert not kinds & {"acknowledgement", "cancel_fenced", "cancel_settled", "turn_abort", "operation_cancelling", "operation_cancelled"}, kinds
    assert [e["data"]["text"] for e in world.events(turn, "turn_complete")] == [MIMIC]
