"""quelld dies in the instant in which a turn ends or is stopped: the next life reads what was committed, so no chat calls a whole
reply cut, misses an answer, shows a live button below a dead reply, or waits for the end of a stop."""
import pytest

from harness.discord import FakeDiscord
from harness.slack import FakeSlack
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_discord import SCOPE, DiscordCluster
from test_chat_slack import SlackCluster
from test_chat_telegram import TelegramCluster
from test_stop_words import marker

SLOW = "This comes in small pieces, one after the other."
SAID_SLOWLY = "This is said slowly, word by word, so that it is edited"


def has_completed(c, scope, count):
    until(lambda: sum(t["status"] == "completed" for t in c.operations(scope=scope, kind="turn")) >= count, "the turn to end")


def test_discord_shows_each_whole_reply_once_over_crashes_at_its_end():
    with FakeDiscord() as d, DiscordCluster(d, marker()) as c:
        d.see("IDENTIFY")
        for i in range(4):
            d.message("slowly")
            has_completed(c, SCOPE, i + 1)
            c.restart()
            d.see("IDENTIFY", count=i + 2)
        until(lambda: [(m["content"], m["components"]) for m in d.all_standing()] == [(SAID_SLOWLY, [])] * 4,
              lambda: f"four whole replies without a button; {d.all_standing()}")


def stands(c, service, turn):
    """The service has the reply, and quelld knows its message: of a post in flight the next life would say that it may be missing."""
    def is_known():
        parts = [p for p in c.remembers(service).get("shown", {}).get("parts", []) if p.get("turn") == turn]
        return any(p["message"] for p in parts) or not parts and c.operation(turn)["status"] == "completed"
    until(is_known, "its message to be known")


@pytest.mark.parametrize("stops", [False, True])
def test_slack_loses_no_answer_and_no_end_of_a_stop(stops):
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "the introduction")
        threads = []
        for _ in range(4):
            ts = slack.say(c, "<@UBOT> endless" if stops else "<@UBOT> slowly")
            threads.append(ts)
            slack.see(lambda all: all, "the reply to begin", thread=ts)
            stands(c, "slack", c.operations(scope=f"slack/T1/C1/{ts}", kind="turn")[0]["id"])
            if stops:
                slack.say(c, "stop", thread=ts)
            else:
                has_completed(c, f"slack/T1/C1/{ts}", 1)
            c.restart()

        def is_right(ts):
            all = slack.shown(thread=ts)
            told = [m for m in all if m["text"].startswith("🛑")]  # words in place of a reaction that was in flight
            replies = [m for m in all if m not in told]
            if len(replies) != 1 or len(told) > (1 if stops else 0):
                return False
            text = replies[0]["text"]
            return not slack.buttons(replies[0]) and (text.endswith("⏹ stopped") if stops else text == SLOW)
        for ts in threads:
            until(lambda: is_right(ts), f"the thread to be put right; {slack.shown(thread=ts)}")


@pytest.mark.parametrize("has_arrived", [True, False])
@pytest.mark.parametrize("words", ["endless", "hello"])
def test_slack_is_asked_for_a_post_that_was_under_way(words, has_arrived):
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "the introduction")
        if has_arrived:
            slack.unanswered = ("chat.postMessage",)
        else:
            slack.unheard = ("chat.postMessage",)
        ts = slack.say(c, f"<@UBOT> {words}")
        scope = f"slack/T1/C1/{ts}"
        until(lambda: "perhaps" in str(c.remembers("slack").get("shown")), "the post to be under way")
        if has_arrived:
            slack.see(lambda all: all, "the post", thread=ts)
        if words == "endless":
            slack.say(c, "stop", thread=ts)
            until(lambda: all(t["status"] == "cancelled" for t in c.turns(scope)), "the stop")
        else:
            has_completed(c, scope, 1)
        c.kill_controller()
        slack.unanswered = slack.unheard = ()
        c.start_controller()
        until(lambda: any(x.get("raw", "").count("include_all_metadata") for x in slack.calls("conversations.replies")), "quelld to look for it")
        if words == "hello":
            slack.see(lambda all: [m["text"] for m in all] == ["You said hello."] and not slack.buttons(all[0]), "the answer, once", thread=ts)
        elif has_arrived:
            slack.see(lambda all: all[0]["text"].endswith("⏹ stopped") and not slack.buttons(all[0]), "the end of the stop", thread=ts)
        until(lambda: not c.remembers("slack")["shown"]["parts"], "nothing to be left to say")
        assert len(slack.shown(thread=ts)) == (1 if has_arrived or words == "hello" else 0), slack.shown(thread=ts)


def test_telegram_shows_each_whole_reply_over_crashes_at_its_end():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        until(lambda: telegram.polls, "the first poll")
        for i in range(4):
            telegram.say("slowly")
            turns = until(lambda: (lambda all: all if len(all) == i + 1 else None)(c.turns()), "the turn")
            stands(c, "telegram", max(turns, key=lambda t: t["seq"])["id"])
            until(lambda: sum(t["status"] == "completed" for t in c.turns()) == i + 1, "the turn to end")
            c.restart()
        until(lambda: [m["text"] for m in telegram.shown()] == [SLOW] * 4, f"four whole answers; {telegram.shown()}")
