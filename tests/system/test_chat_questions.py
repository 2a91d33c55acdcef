"""What an agent asks in a chat (ask_user) is answered there: by the person who wrote to it, with their next message, also after a crash."""
import os

import pytest

from harness.telegram import CONFIG, ENVIRONMENT, FakeTelegram
from harness.turns import TurnCluster
from harness.waiting import until

LONG = "Which of the two colours shall the new door have, now that the old one is gone: red or blue?"
SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which one?", "choices": ["red", "blue"]}}]}]},
    {"when": {"user": "ask at length", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": LONG}}]}]},
    {"when": {"user": "ask for ever", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "ö€" * 2000}}]}]},
    {"when": {"result": ""}, "text": "Then {{results}}."},
    {"text": "You said {{text}}."},
]
ASKED = "❓ main asks: Which one? (1: red, 2: blue)"
TOM = {"id": 7, "is_bot": False, "first_name": "Tom"}


class AskingCluster(TurnCluster):
    def __init__(self, url):
        super().__init__(SCRIPT, '[chat]\nacknowledgement_model = "none"\n' + CONFIG.format(url=url), agent='tools = ["ask_user"]', workers=0)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, **ENVIRONMENT}, **options)

    def turns(self):
        return self.operations(scope="telegram", kind="turn")


@pytest.fixture
def world():
    with FakeTelegram() as telegram, AskingCluster(telegram.url) as c:
        until(lambda: telegram.polls, "quelld to ask for updates")
        yield telegram, c


def asks(telegram, times=1, **where):
    telegram.see(lambda all: sum(ASKED in m["text"] for m in all) == times, "the question", **where)


def test_the_next_message_is_the_answer_and_gets_no_reply_of_its_own(world):
    telegram, c = world
    telegram.say("choose")
    asks(telegram)
    telegram.say("Blue")
    telegram.see(lambda all: any('"answer":"blue"' in m["text"] for m in all), "the reply to go on")
    until(lambda: [t["status"] for t in c.turns()] == ["completed"] * 2, "both turns to end")
    telegram.say("hello")
    telegram.see(lambda all: any(m["text"] == "You said hello." for m in all), "the next message to be answered")
    replies = [m["text"] for m in telegram.shown() if m["text"].startswith("You said")]
    assert replies == ["You said hello."], replies  # none to the answer


def test_in_a_group_another_persons_message_waits(world):
    telegram, c = world
    telegram.say("@clanky_bot choose", chat=-100)
    asks(telegram, chat=-100)
    telegram.say("@clanky_bot 1", chat=-100, user=TOM)
    until(lambda: [t for t in c.turns() if t["status"] == "pending"], "Tom's message to wait")
    telegram.say("2", chat=-100)  # not meant for the bot
    telegram.say("@clanky_bot 2", chat=-100)
    telegram.see(lambda all: any('"answer":"blue"' in m["text"] for m in all), "the reply to go on", chat=-100)
    telegram.see(lambda all: any(m["text"] == "You said 1." for m in all), "Tom to be answered", chat=-100)


def test_a_question_outlives_quelld_and_a_stop_ends_it(world):
    telegram, c = world
    telegram.say("choose")
    asks(telegram)
    c.restart()
    [turn] = c.turns()
    telegram.say("1")
    telegram.see(lambda all: any('"answer":"red"' in m["text"] for m in all), "the reply to go on")
    telegram.say("choose")
    asks(telegram, times=2)
    telegram.say("stop")
    until(lambda: all(t["status"] in ("completed", "cancelled") for t in c.turns()), "the question to be stopped")
    assert c.operation(turn["id"])["status"] == "completed"
    assert [t["status"] for t in c.turns()].count("cancelled") == 1
    telegram.say("2")
    telegram.see(lambda all: any(m["text"] == "You said 2." for m in all), "an ordinary message")


def test_a_question_is_asked_word_for_word_however_long(world):
    telegram, c = world
    telegram.say("ask at length")
    telegram.see(lambda all: any(m["text"] == f"❓ main asks: {LONG}" for m in all), "the whole question")
    [asked] = [e["data"]["question"]["message"] for e in c.stored_events(types="approval_required")]
    assert asked == LONG
    c.cancel(scope="telegram")
    telegram.say("ask for ever")
    asked = until(lambda: c.stored_events(types="approval_required")[1:], "the next question")[0]["data"]["question"]["message"]
    assert asked == ("ö€" * 2000).encode()[:4000].decode(errors="ignore"), asked[-20:]
    c.cancel(scope="telegram")
