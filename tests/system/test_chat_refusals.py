"""A message that quelld does not take: its author reads why, nobody else waits for it, and a stop behind it is heard."""
import pytest

from harness.slack import FakeSlack
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_slack import SlackCluster
from test_chat_telegram import TelegramCluster

BUDGET = '\n[[budgets]]\nscope = "{}"\nmax_tokens = 1\n'
BOB = {"id": 77, "is_bot": False, "first_name": "Bob"}


def test_slack_tells_the_author_why_a_message_was_refused():
    with FakeSlack() as slack, SlackCluster(slack, more=BUDGET.format("slack")) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        first = slack.say(c, "<@UBOT> hello")
        slack.see(lambda all: all and all[-1]["text"] == "You said hello.", "the answer", thread=first)
        c.ended(c.turns()[0]["id"])  # what it used is counted
        second = slack.say(c, "<@UBOT> more")
        [told] = slack.see(lambda all: len(all) == 1, "the refusal", thread=second)
        assert "budget" in told["text"] and told["text"].startswith("⚠"), told
        assert len(c.turns()) == 1


def test_telegram_tells_the_author_why_a_message_was_refused():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, more=BUDGET.format("telegram")) as c:
        telegram.say("hello")
        telegram.see(lambda all: all and all[0]["text"] == "You said hello.", "the answer")
        c.ended(c.turns()[0]["id"])  # what it used is counted
        refused = telegram.say("more")
        all = telegram.see(lambda all: len(all) == 2, "the refusal")
        assert "budget" in all[1]["text"] and all[1]["text"].startswith("⚠") and all[1]["to"] == refused, all[1]
        until(telegram.confirmed, "both updates to be done with")
        assert len(c.turns()) == 1


@pytest.mark.parametrize("word", ["stop", "/stop"])
def test_one_person_at_their_limit_holds_back_nobody_and_no_stop(word):
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, more="\n[limits]\nturns_per_author = 2\n") as c:
        telegram.say("endless")
        until(lambda: c.turns(), "the first turn")
        telegram.say("two")
        until(lambda: len(c.turns()) == 2, "the second turn")
        refused = telegram.say("three")
        telegram.say("hello", chat=77, user=BOB)
        telegram.see(lambda all: all and all[0]["text"] == "You said hello.", "the answer to somebody else", chat=77)
        told = telegram.see(lambda all: any(m["to"] == refused for m in all), "the refusal")
        assert [m["text"][0] for m in told if m["to"] == refused] == ["⚠"], told
        stop = telegram.say(word)
        until(lambda: (5, stop) in telegram.reactions, "the acknowledgement")
        until(lambda: all(t["status"] == "cancelled" for t in c.turns("telegram/5")), "everything of the chat to be stopped")
        until(telegram.confirmed, "all updates to be done with")
