"""Slack: an edit that takes the bot's mention away stops the reply, and nothing is asked."""
import pytest

from harness.slack import FakeSlack
from harness.waiting import until
from test_chat_slack import SlackCluster
from test_chat_slack_missed import heard


@pytest.fixture
def world():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        yield slack, c


def asked(c):
    return [t["title"] for t in sorted(c.turns(), key=lambda t: t["seq"])]


def running(slack, c, text="<@UBOT> endless", **more):
    """Asks; the message's ts and its turn, which writes."""
    ts = slack.say(c, text, **more)
    turn = until(lambda: [t for t in c.turns(f"slack/T1/C1/{more.get('thread') or ts}") if t["status"] == "running" and t["title"] == "endless"], "the turn")[0]["id"]
    c.wait_event(turn, "text_delta")
    return ts, turn


def reasons(c):
    return [x["reason"] for x in c.api("GET", "/v1/cancels?scope=slack").json["cancels"]]


@pytest.mark.parametrize("answered", [False, True], ids=["before Slack names its thread", "once it begins a thread"])
def test_an_edit_that_takes_the_mention_away_is_not_answered(world, answered):
    slack, c = world
    for text in ("endless", "something else", "x" * 70_000):  # the mention alone goes, or the words with it
        ts, turn = running(slack, c)
        slack.edit(c, ts, text, thread=ts if answered else None)
        assert c.ended(turn)["status"] == "cancelled"
    assert reasons(c) == ["its message was edited, and is not for the bot now"] * 3
    ts = slack.say(c, "<@UBOT> hello")
    slack.see(lambda all: all and all[-1]["text"] == "You said hello.", "the next answer", thread=ts)
    assert asked(c) == ["endless"] * 3 + ["hello"]
    assert not [m for m in slack.shown() if "too long" in m["text"]]


def test_edits_of_messages_that_were_never_for_the_bot_stop_nothing(world):
    slack, c = world
    _, turn = running(slack, c)
    other = slack.say(c, "hello everybody")
    slack.edit(c, other, "hello all")
    slack.edit(c, other, "good morning")
    ts = slack.say(c, "<@UBOT> hello")
    slack.see(lambda all: all and all[-1]["text"] == "You said hello.", "an answer", thread=ts)
    assert c.operation(turn)["status"] == "running" and asked(c) == ["endless", "hello"]
    c.cancel(scope="slack")


def test_in_a_thread_in_which_the_bot_speaks_an_edit_needs_no_mention(world):
    slack, c = world
    first = slack.say(c, "<@UBOT> hi")
    slack.see(lambda all: all and all[-1]["text"] == "You said hi.", "the first answer", thread=first)
    ts, turn = running(slack, c, thread=first)
    slack.edit(c, ts, "hello", thread=first)
    slack.see(lambda all: all[-1]["text"] == "You said hello.", "the answer to the edited text", thread=first)
    assert c.operation(turn)["status"] == "cancelled" and reasons(c) == ["its message was edited"]


def test_an_edit_that_comes_again_or_after_a_restart_stops_once(world):
    slack, c = world
    ts, turn = running(slack, c)
    calls = len(slack.calls("auth.test"))
    c.restart()
    until(lambda: len(slack.calls("auth.test")) > calls, "quelld to introduce itself again")
    c.wait_event(turn, "turn_resumed")
    stamp = slack.fresh()
    for _ in range(2):
        slack.edit(c, ts, "endless", thread=ts, stamp=stamp)
    assert c.ended(turn)["status"] == "cancelled"
    assert asked(c) == ["endless"] and len(reasons(c)) == 1


def test_a_message_that_waits_for_the_past_is_not_begun_after_such_an_edit(world):
    slack, c = world
    first = slack.keep("<@UBOT> one")
    slack.say(c, "<@UBOT> one", ts=first)
    slack.see(lambda all: all and all[-1]["text"] == "You said one.", "the first answer", thread=first)
    until(lambda: heard(c).get("slack/T1/C1") == first, "the channel to be remembered")
    c.kill_controller()
    slack.scripted["conversations.history"].append((429, {"Retry-After": "15"}, {"ok": False, "error": "ratelimited"}))
    c.start_controller()
    until(lambda: slack.calls("conversations.history"), "the past to be asked for")
    ts = slack.keep("<@UBOT> hello")
    slack.say(c, "<@UBOT> hello", ts=ts)
    slack.edit(c, ts, "hello")
    with slack.lock:
        next(m for m in slack.past if m["ts"] == ts)["text"] = "hello"
    last = slack.keep("<@UBOT> goodbye")
    slack.say(c, "<@UBOT> goodbye", ts=last)
    slack.see(lambda all: all and all[-1]["text"] == "You said goodbye.", "the answer to what came after", thread=last, seconds=60)
    assert asked(c) == ["one", "goodbye"]


@pytest.mark.parametrize("edits, answered", [(["<@UBOT> new"], ["new"]), (["<@UBOT> first", "<@UBOT> second"], ["second"]), (["not for you"], []), (["stop"], [])],
                         ids=["other words", "two edits", "the mention goes", "a word to stop"])
def test_an_edit_that_comes_before_its_message_counts(world, edits, answered):
    """Slack brings a message again, whose delivery was lost, after a minute, and an edit at once."""
    slack, c = world
    ts = slack.fresh()
    for text in edits:
        slack.edit(c, ts, text)
    slack.say(c, "<@UBOT> old", ts=ts)
    last = slack.say(c, "<@UBOT> hello")
    slack.see(lambda all: all and all[-1]["text"] == "You said hello.", "the next answer", thread=last)
    assert asked(c) == [*answered, "hello"]
