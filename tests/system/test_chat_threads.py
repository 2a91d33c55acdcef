"""One rule for every service: a stop covers its place and the threads and topics below it, and no place above or beside it."""
from harness.cluster import marker
from harness.discord import FakeDiscord, interaction
from harness.slack import FakeSlack
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_discord import DiscordCluster
from test_chat_slack import SlackCluster
from test_chat_telegram import TelegramCluster


def running(c, scope):
    """The number of running replies in exactly this place."""
    return len([t for t in c.operations(scope=scope, kind="turn", status="running") if t["scope"] == scope])


def test_discord_a_stop_in_a_channel_stops_its_threads():
    with FakeDiscord() as d, DiscordCluster(d, marker()) as c:
        d.see("IDENTIFY")
        for thread, channel in (("70", "7"), ("71", "7"), ("80", "8")):
            d.do("tell", type="THREAD_CREATE", data={"id": thread, "parent_id": channel, "guild_id": "9", "type": 11})
        places = {p: f"discord/9/{p}" for p in ("7", "70", "71", "80")}
        for p in places:
            d.message("endless", channel_id=p)
        until(lambda: all(running(c, s) == 1 for s in places.values()), "four replies to run")
        # A reply that is stopped before its first words shows none, so later counts are taken from here.
        replies = lambda p: len([m for m in d.found("MADE", channel=p) if m["content"].startswith("on")])
        until(lambda: all(replies(p) == 1 for p in places), "four replies to be shown")
        d.message("stop", mention=False, channel_id="71")
        until(lambda: running(c, places["71"]) == 0, "the thread to be stopped")
        assert [running(c, places[p]) for p in ("7", "70", "80")] == [1, 1, 1], "a stop in a thread is for that thread"
        d.message("stop", mention=False)
        until(lambda: running(c, places["7"]) == running(c, places["70"]) == 0, "the channel and its thread to be stopped")
        assert running(c, places["80"]) == 1, "a thread of another channel"
        # Only a thread is active: a stop in the channel covers it, and the acknowledgement appears in the channel.
        d.message("endless", channel_id="70")
        until(lambda: replies("70") == 2, "the second reply in the thread")
        before = len(d.found("MADE", channel="7"))
        d.message("stop", mention=False)
        until(lambda: running(c, places["70"]) == 0, "the thread to be stopped")
        until(lambda: any("stopped" in d.standing(m["id"])["content"] for m in d.found("MADE", channel="7")[before:]), "the channel to be told")
        # So does the command.
        d.message("endless", channel_id="70")
        until(lambda: running(c, places["70"]) == 1, "the reply in the thread")
        d.interact(c, interaction(name="stop", type=1))
        until(lambda: running(c, places["70"]) == 0, "the thread to be stopped")
        assert running(c, places["80"]) == 1
        c.cancel(scope="discord")


def test_telegram_a_stop_in_a_chat_stops_its_topics():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        until(lambda: telegram.polls, "quelld to ask for updates")
        places = {None: "telegram/-100", 9: "telegram/-100/9", 10: "telegram/-100/10"}
        for topic in places:
            telegram.say("@clanky_bot endless", chat=-100, topic=topic)
        telegram.say("@clanky_bot endless", chat=-200)
        until(lambda: all(running(c, s) == 1 for s in [*places.values(), "telegram/-200"]), "four replies to run")
        telegram.say("stop", chat=-100, topic=9)
        until(lambda: running(c, places[9]) == 0, "the topic to be stopped")
        assert running(c, places[None]) == running(c, places[10]) == 1
        telegram.say("stop", chat=-100)
        until(lambda: running(c, places[None]) == running(c, places[10]) == 0, "the chat and its topics to be stopped")
        assert running(c, "telegram/-200") == 1
        c.cancel(scope="telegram")


def test_slack_a_stop_in_a_channel_stops_its_threads():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        one, two = (slack.say(c, "<@UBOT> endless") for _ in range(2))
        beside = slack.say(c, "<@UBOT> endless", channel="C2")
        places = [f"slack/T1/C1/{one}", f"slack/T1/C1/{two}", f"slack/T1/C2/{beside}"]
        until(lambda: [running(c, p) for p in places] == [1, 1, 1], "three replies to run")
        slack.say(c, "stop", thread=one)
        until(lambda: running(c, places[0]) == 0, "the thread to be stopped")
        assert running(c, places[1]) == 1
        slack.say(c, "stop")
        until(lambda: running(c, places[1]) == 0, "the other thread to be stopped")
        assert running(c, places[2]) == 1
        c.cancel(scope="slack")
