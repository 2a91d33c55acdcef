"""A Stop button stops what runs where it was pressed: neither another guild, team or chat reaches it, nor another channel, nor a direct message."""
import contextlib
import json
import urllib.parse

from harness import processes
from harness.cluster import marker
from harness.discord import FakeDiscord, interaction
from harness.slack import FakeSlack, signed
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_discord import SCOPE, DiscordCluster
from test_chat_slack import SlackCluster
from test_chat_telegram import TelegramCluster

ASKS = '[[approval]]\ntool = "exec"'
EVE = {"id": 77, "is_bot": False, "first_name": "Eve"}


def press(d, c, button, guild="9", channel="7", user="5"):
    body = interaction(3, custom_id=button, component_type=2, user=user, channel=channel)
    body["guild_id"] = guild
    if guild is None:
        body["user"] = body.pop("member")["user"]
        body.pop("guild_id")
    return d.interact(c, body)["json"]["data"]["content"]


@contextlib.contextmanager
def running_discord(admitted):
    """A Discord whose turn runs a command: the service, the cluster, and the marker of the command."""
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, admitted=admitted) as c:
        d.see("IDENTIFY")
        d.message("runs")
        until(lambda: processes.marked(m), "the command to run")
        yield d, c, m


def live_turn(c, scope):
    return c.operations(scope=scope, kind="turn", status="live")[0]["id"]


def test_discord_stops_only_where_the_button_is():
    with running_discord('guilds = ["9", "10"]\nusers = ["5"]') as (d, c, m):
        for kind in ("turn", "tool_call", "task"):
            id = c.operations(scope=SCOPE, kind=kind, status="live")[0]["id"]
            for guild, channel in (("10", "7"), ("10", "8"), ("9", "8"), (None, "7"), (None, "77")):
                answer = press(d, c, "stop:" + id, guild, channel)
                assert "Not stopped: nothing of that id runs here" in answer, (kind, guild, channel, answer)
        assert processes.marked(m) and not c.operations(scope=SCOPE, status="cancelling")
        turn = live_turn(c, SCOPE)
        assert "Stopping" in press(d, c, "stop:" + turn)
        until(lambda: not processes.marked(m) and not c.live(), "everything to end")
        assert press(d, c, "stop:" + turn) == "It had finished already."
        assert "nothing of that id" in press(d, c, "stop:" + turn, "10", "8")


def test_a_stranger_to_the_guild_stops_nothing_there():
    with running_discord('guilds = ["10"]\nusers = ["5"]') as (d, c, m):
        turn = live_turn(c, SCOPE)
        assert press(d, c, "stop:" + turn, user="6") == "This bot does not work here."
        assert "nothing of that id" in press(d, c, "stop:" + turn, "10", "8", user="6")
        assert processes.marked(m) and c.operation(turn)["status"] == "running"
        c.cancel(scope=SCOPE)


def test_who_approves_after_a_stop_reads_that_the_call_has_ended():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS, chat_settings='approvers = ["discord:5"]\napprove_own = true') as c:
        d.see("IDENTIFY")
        d.message("runs")
        call = until(lambda: c.operations(scope=SCOPE, kind="tool_call", status="paused"), "the question")[0]["id"]
        c.cancel(scope=SCOPE)
        until(lambda: not c.live(), "everything to end")
        answer = press(d, c, "approve:" + call)
        assert "this call has ended; nothing is waiting any more" in answer and call not in answer, answer


def test_slack_stops_only_where_the_button_is():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        slack.say(c, "endless", channel="D1")
        [reply] = slack.see(lambda all: all and slack.buttons(all[0]), "a reply with a button", channel="D1")
        turn = live_turn(c, "slack")
        for count, (team, channel) in enumerate((("T2", "D1"), ("T1", "C9")), 1):
            payload = {"type": "block_actions", "user": {"id": "U7", "username": "eve"}, "team": {"id": team}, "channel": {"id": channel},
                       "message": {"ts": "1.2"}, "actions": [{"action_id": "quell_stop", "value": turn}]}
            body = "payload=" + urllib.parse.quote(json.dumps(payload))
            assert slack.send(c, "actions", body, signed(body), "application/x-www-form-urlencoded").status == 200
            told = until(lambda: (slack.calls("chat.postEphemeral") + [None] * count)[count - 1], "the refusal")
            assert told["user"] == "U7" and "nothing of that id runs here" in told["text"], told
            assert c.operation(turn)["status"] == "running"
        assert slack.press(c, reply, "quell_stop", turn).status == 200
        assert c.ended(turn)["status"] == "cancelled"


def test_telegram_stops_only_where_the_button_is():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        telegram.say("endless")
        [reply] = telegram.see(lambda all: all and telegram.buttons(all[0]), "a reply with a button")
        [turn] = c.turns()
        telegram.update(callback_query={"id": "q-eve", "from": EVE, "chat_instance": "1", "data": telegram.buttons(reply)[0],
                                        "message": {"message_id": 3, "date": 1, "chat": {"id": -555, "type": "supergroup"}}})
        until(lambda: telegram.answered, "the button to be answered")
        until(telegram.confirmed, "the update to be done with")
        assert "nothing of that id runs here" in str(telegram.answered), telegram.answered
        assert c.operation(turn["id"])["status"] == "running"
        telegram.press(reply, telegram.buttons(reply)[0])
        assert c.ended(turn["id"])["status"] == "cancelled"
