"""Messages of Slack while quelld was away: fetched, a stop first, once and in order."""
import json
import os
import time

import pytest

from harness.slack import FakeSlack
from harness.waiting import until
from test_chat_slack import STOP, SlackCluster


@pytest.fixture
def world():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        yield slack, c


def heard(c):
    """The position read in each channel and thread, as the next life will know it."""
    more = json.loads(c.remembers("slack").get("more") or '{"heard": {}, "threads": {}}')
    return {**more["heard"], **more["threads"]}


def say(slack, c, text, **more):
    """A message that Slack stores and delivers."""
    ts = slack.keep(text, **{k: v for k, v in more.items() if k != "expect"})
    slack.say(c, text, ts=ts, **more)
    return ts


def answered(slack, c, text, thread=None, **more):
    ts = say(slack, c, text, **({"thread": thread} if thread else {}), **more)
    words = text.replace("<@UBOT> ", "")
    slack.see(lambda all: any(m["text"] == f"You said {words}." for m in all), f"the answer to {words}", thread=thread or ts, **more)
    known = [f"slack/T1/C1/{thread or ts}"] + ([] if thread else ["slack/T1/C1"])
    until(lambda: all(heard(c).get(k) == ts for k in known), f"{known} to be remembered as {ts}")
    until(lambda: not c.operations(scope="slack", status="live"), "the turn to be over")
    return ts


def said(c):
    turns = sorted(c.operations(scope="slack", kind="turn"), key=lambda t: t["seq"])
    return [t["title"] for t in turns]


def test_what_was_said_while_quelld_was_away_is_answered_once_and_in_order(world):
    slack, c = world
    first = answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    slack.keep("<@UBOT> two")
    slack.keep("not to you")
    slack.keep("three", thread=first)  # the bot takes part in this thread
    new = slack.keep("<@UBOT> four")
    slack.keep("<@UBOT> five", thread=new)
    slack.keep("a bot of its own", user="UBOT")
    c.start_controller()
    slack.see(lambda all: any(m["text"] == "You said five." for m in all), "the last answer", seconds=60)
    until(lambda: len(said(c)) == 5, "all of it")
    assert said(c) == ["one", "two", "three", "four", "five"]
    c.restart()
    answered(slack, c, "<@UBOT> six")
    assert said(c) == ["one", "two", "three", "four", "five", "six"]


def test_a_stop_said_meanwhile_goes_first_and_what_came_before_it_is_not_begun():
    with FakeSlack() as slack, SlackCluster(slack, more='[[approval]]\ntool = "exec"\n') as c:
        ts = say(slack, c, "<@UBOT> asks")
        slack.see(lambda all: len(all) == 2 and slack.buttons(all[1]), "the question", thread=ts)  # the question survives a restart
        until(lambda: heard(c).get("slack/T1/C1") == ts, "the channel to be remembered")
        c.kill_controller()
        slack.keep("<@UBOT> delete everything")
        stop = slack.keep("stop")
        slack.keep("<@UBOT> hello")
        c.start_controller()
        until(lambda: ("C1", stop, STOP) in slack.reactions, "the acknowledgement", 60)
        slack.see(lambda all: any(m["text"] == "You said hello." for m in all), "the answer to what came after", seconds=60)
        slack.see(lambda all: any(m["text"] == "🛑 stopped before it began: 1 message" for m in all), "what was not begun")
        assert said(c) == ["asks", "hello"]
        until(lambda: [t["status"] for t in c.operations(scope=f"slack/T1/C1/{ts}", kind="turn")] == ["cancelled"], "what asked to be stopped")


def test_a_stop_that_is_said_while_the_past_is_fetched_waits_for_nothing(world):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    slack.keep("<@UBOT> delete everything")
    slack.scripted["conversations.history"].append((429, {"Retry-After": "15"}, {"ok": False, "error": "ratelimited"}))
    c.start_controller()
    until(lambda: slack.calls("conversations.history"), "the past to be asked for")
    say(slack, c, "<@UBOT> hello")  # waits: a missed stop may precede it
    say(slack, c, "stop")
    say(slack, c, "<@UBOT> goodbye")
    slack.see(lambda all: any(m["text"] == "You said goodbye." for m in all), "the answer to what came after", seconds=60)
    slack.see(lambda all: any(m["text"] == "🛑 stopped before it began: 2 messages" for m in all), "what was not begun")
    assert said(c) == ["one", "goodbye"]


def test_a_history_that_is_refused_keeps_nothing_up(world):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    slack.scripted["conversations.history"].append((200, {}, {"ok": False, "error": "missing_scope"}))
    c.start_controller()
    answered(slack, c, "<@UBOT> two")
    assert "missing_scope" in open(os.path.join(c.directory, "quelld.log")).read()


def test_a_reply_that_slack_did_not_take_is_sent_by_the_next_life(world):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    slack.stop()
    ts = slack.keep("<@UBOT> two")
    slack.say(c, "<@UBOT> two", ts=ts)
    until(lambda: [t["status"] for t in c.operations(scope=f"slack/T1/C1/{ts}", kind="turn")] == ["completed"], "the turn to be over")
    until(lambda: any(p["text"] == "You said two." and "flies" not in p for p in c.remembers("slack")["shown"]["parts"]), "the reply to be kept as not sent")
    c.kill_controller()
    slack.start()
    c.start_controller()
    slack.see(lambda all: [m["text"] for m in all] == ["You said two."], "the answer, once", thread=ts, seconds=60)


AWAY = "1500000000.000001"  # a thread in which the bot has not spoken: no history that quelld asks for has what is said there


def held_up(slack, c):
    """A life of quelld that does not get the past, so that what is said now waits."""
    slack.scripted["conversations.history"].append((429, {"Retry-After": "600"}, {"ok": False, "error": "ratelimited"}))
    asked = len(slack.calls("conversations.history"))
    c.start_controller()
    until(lambda: len(slack.calls("conversations.history")) > asked, "the past to be asked for")


def deliver(slack, c, event):
    assert slack.deliver(c, json.dumps(event)).status == 200


def edit_of(slack, event, text):
    """What Slack delivers when the author edits that message."""
    e = event["event"]
    message = {"type": "message", "user": "U1", "text": text, "ts": e["ts"], "thread_ts": e["thread_ts"], "edited": {"user": "U1", "ts": slack.fresh()}}
    return slack.event("", subtype="message_changed", message=message, user=None)


def deletion_of(slack, event):
    return slack.event("", subtype="message_deleted", deleted_ts=event["event"]["ts"], user=None,
                       previous_message={"type": "message", "user": "U1", "ts": event["event"]["ts"], "thread_ts": event["event"]["thread_ts"]})


def test_a_message_that_waits_for_the_past_survives_a_crash(world):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    held_up(slack, c)
    two = slack.event("<@UBOT> two", ts=f"{time.time():.6f}", thread=AWAY)
    deliver(slack, c, two)  # Slack keeps it no longer
    c.kill_controller()
    held_up(slack, c)
    c.kill_controller()
    c.start_controller()
    slack.see(lambda all: any(m["text"] == "You said two." for m in all), "the answer", thread=AWAY)
    deliver(slack, c, two)
    c.restart()
    deliver(slack, c, two)
    answered(slack, c, "<@UBOT> three")
    assert said(c) == ["one", "two", "three"]


@pytest.mark.parametrize("taken_back", ["by a stop", "by an edit", "by a deletion"])
def test_what_was_taken_back_while_it_waited_does_not_begin_after_a_crash(world, taken_back):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    held_up(slack, c)
    two = slack.event("<@UBOT> two", ts=f"{time.time():.6f}", thread=AWAY)
    deliver(slack, c, two)
    if taken_back == "by a stop":
        slack.say(c, "stop", ts=f"{time.time():.6f}", thread=AWAY)
    elif taken_back == "by an edit":
        deliver(slack, c, edit_of(slack, two, "not for you"))
    else:
        deliver(slack, c, deletion_of(slack, two))
    c.kill_controller()
    held_up(slack, c)
    deliver(slack, c, two)  # the answer to it was lost
    c.kill_controller()
    c.start_controller()
    deliver(slack, c, two)
    answered(slack, c, "<@UBOT> three")
    deliver(slack, c, two)
    answered(slack, c, "<@UBOT> four")
    assert said(c) == ["one", "three", "four"]


NOT_BEGUN = "🛑 stopped before it began: {}"


def told(slack):
    return [m["text"] for m in slack.shown() if m["text"].startswith(NOT_BEGUN.format(""))]


@pytest.mark.parametrize("where", [AWAY, None])
def test_what_a_stop_left_out_is_told_after_a_crash(world, where):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    held_up(slack, c)
    two, stop = (slack.event(text, ts=f"{time.time() + ahead:.6f}", **({"thread": where} if where else {})) for ahead, text in enumerate(("<@UBOT> two", "stop")))
    deliver(slack, c, two)
    deliver(slack, c, stop)
    if not where:  # the history of the channel has both
        with slack.lock:
            slack.past += [e["event"] for e in (two, stop)]
    c.kill_controller()
    held_up(slack, c)
    c.kill_controller()
    c.start_controller()
    slack.see(lambda all: NOT_BEGUN.format("1 message") in [m["text"] for m in all], "what was not begun")
    c.restart()
    answered(slack, c, "<@UBOT> three")
    assert told(slack) == [NOT_BEGUN.format("1 message")]
    assert said(c) == ["one", "three"]


@pytest.mark.parametrize("first", ["the message", "the edit"])
def test_the_present_form_of_a_message_that_waited_begins_after_a_crash(world, first):
    slack, c = world
    answered(slack, c, "<@UBOT> one")
    c.kill_controller()
    held_up(slack, c)
    two = slack.event("<@UBOT> two", ts=f"{time.time():.6f}", thread=AWAY)
    edit = edit_of(slack, two, "<@UBOT> a better two")
    deliver(slack, c, two)
    deliver(slack, c, edit)
    c.kill_controller()
    c.start_controller()
    for event in (two, edit) if first == "the message" else (edit, two):
        deliver(slack, c, event)
    slack.see(lambda all: any(m["text"] == "You said a better two." for m in all), "the answer", thread=AWAY)
    answered(slack, c, "<@UBOT> three")
    assert said(c) == ["one", "a better two", "three"]
