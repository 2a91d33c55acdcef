"""Discord: the gateway, interactions and REST, against a Discord on loopback; signatures judged by npm discord-interactions, shapes by discord.js."""
import json
import os
import time

import pytest

from harness import processes
from harness.certificates import make_certificate
from harness.cluster import free_ports, marker
from harness.discord import STOP_SIGN, TOKENS, FakeDiscord, interaction
from harness.peers import Program
from harness.turns import TurnCluster
from harness.waiting import until

SCOPE = "discord/9/7"
LISTING = "See:\n```py\n" + "".join(f"line({i})\n" for i in range(500)) + "```\nThat is all."


def script(m):
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 60}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"when": {"user": "slowly"}, "steps": [{"text": "This is said slowly, word by word, so that it is edited", "chunk": 3, "delay_ms": 250}]},
        {"when": {"user": "long"}, "text": "word " * 900},
        {"when": {"user": "listing"}, "text": LISTING},
        {"text": "You said {{text}}."},
    ]


class DiscordCluster(TurnCluster):
    def __init__(self, discord, m, more="", admitted='guilds = ["9"]\nusers = ["5"]', chat_settings="", **options):
        options.setdefault("settings", ["workers.lease=60s"])  # a command outlives a restart, however long that takes
        super().__init__(script(m), config=f"""
[chat]
{chat_settings}

[discord]
{admitted}
token_file = "WORKSPACE/discord.token"
public_key = "{discord.key}"
api_url = "{discord.api}"
{more}
""", **options)
        self.discord = discord
        with open(os.path.join(self.workspace, "discord.token"), "w") as f:
            f.write(TOKENS[0] + "\n")

    def start_controller(self, *flags, **options):
        started = super().start_controller(*flags, **options)
        second = int(time.time())  # requests signed in the second of the start are refused
        until(lambda: int(time.time()) > second, "the next second")
        return started

    def live(self):
        return self.operations(scope=SCOPE, status="live")

    def said(self):
        return [m["text"] for m in self.messages(SCOPE) if m["role"] == "user"]


@pytest.fixture
def world():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m) as c:
        d.see("IDENTIFY")
        d.see("REST", count=2, path="/applications/8/commands", status=201)
        yield c, d, m


def wait_text(d, text, seconds=60):
    return until(lambda: next((s for s in d.shown() if text in s["content"]), None), f"a message with '{text}'; shown: {d.shown()[-5:]}", seconds)


def test_a_message_is_answered_by_a_reply_that_is_edited(world):
    c, d, _ = world
    began = time.monotonic()
    id = d.message("slowly please")
    first = d.see("REST", method="POST", path="/channels/7/messages")
    assert first["body"]["message_reference"]["message_id"] == id
    assert first["body"]["allowed_mentions"] == {"parse": []}
    assert first["body"]["components"][0]["components"][0]["custom_id"].startswith("stop:")
    assert len(first["body"]["nonce"]) <= 25 and first["body"]["enforce_nonce"] is True
    done = until(lambda: next((s for s in d.shown() if s["content"].endswith("so that it is edited") and not s["components"]), None), "the whole reply")
    assert done["content"] == "This is said slowly, word by word, so that it is edited"
    edits = d.found("REST", method="PATCH", status=200)
    assert 1 <= len(edits) <= max(6, time.monotonic() - began + 2), edits  # at most one a second
    assert len(d.posts()) == 1
    said = c.messages(SCOPE)[0]
    assert said["author"] == {"id": "5", "name": "Mia"} and said["text"] == "slowly please", said
    commands = {r["body"]["name"] for r in d.found("REST", path="/applications/8/commands")}
    assert commands == {"ask", "stop"}


def test_who_is_meant(world):
    c, d, _ = world
    d.message("not to you", mention=False)
    d.message("stop", mention=False)  # meant for somebody else: nothing runs here
    d.message("from a bot", author={"id": "6", "username": "b", "bot": True})
    d.message("from a webhook", webhook_id="12")
    d.message("somebody came", type=7)
    d.message("directly", direct=True)
    wait_text(d, "You said directly.")
    d.message("a reply", mention=False, type=19, referenced_message={"author": {"id": "1000"}})
    wait_text(d, "You said a reply.")
    assert c.said() == ["a reply"]
    assert [m["text"] for m in c.messages("discord/dm/77") if m["role"] == "user"] == ["directly"]


def test_a_repeated_delivery_is_one_message(world):
    c, d, _ = world
    id = d.message("hello")
    wait_text(d, "You said hello.")
    d.do("again", id=id)
    d.message("bye")
    wait_text(d, "You said bye.")
    assert c.said() == ["hello", "bye"]


def test_a_long_answer_comes_in_parts_within_the_limit(world):
    _, d, _ = world
    d.message("long")
    until(lambda: "".join(s["content"] for s in d.shown()).count("word") == 900, "all of the answer")
    assert len(d.shown()) >= 3 and all(len(s["content"]) <= 2000 for s in d.shown())


def test_stop_in_the_middle_of_a_reply(world):
    c, d, m = world
    d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    d.message("stop!", mention=False, type=19, referenced_message={"author": {"id": "77"}})  # meant for somebody else
    d.message("directly", direct=True)
    wait_text(d, "You said directly.")
    assert processes.marked(m)
    stop = d.message("stop!", mention=False)  # a cancel word needs no mention
    until(lambda: not processes.marked(m), "the command to be gone")
    until(lambda: not c.live(), "the turn to be over")
    until(lambda: d.found("REACTION", message=stop) or any(s.get("message_reference", {}).get("message_id") == stop for s in d.shown()), "an acknowledgement")
    d.message("endless")
    reply = until(lambda: next((made["id"] for made in d.found("MADE") if "on and on" in d.standing(made["id"])["content"]), None), "the reply to begin")
    d.message("clanky, stop", mention=False)
    until(lambda: not c.live() and not d.standing(reply)["components"], "the reply to be over")
    edits = len(d.found("REST", method="PATCH"))
    d.message("hello")
    wait_text(d, "You said hello.")
    late = [r for r in d.found("REST", method="PATCH")[edits:] if "on and on" in r["body"]["content"] and r["body"]["components"]]
    assert not late, late


def test_the_slash_command_stops_the_channel_and_answers_in_time(world):
    c, d, m = world

    def stopped_in_time():
        """One try: a machine that stands still takes longer."""
        d.message("runs")
        until(lambda: processes.marked(m), "the command to run")
        answer = d.interact(c, interaction(name="stop", type=1))
        assert answer["judge"] and answer["status"] == 200, answer
        assert answer["json"]["data"]["flags"] == 64 and STOP_SIGN in answer["json"]["data"]["content"], answer
        until(lambda: not processes.marked(m), "the command to be gone")
        until(lambda: not c.live(), "the turn to be over")
        return answer if answer["ms"] < 3000 and not answer["late"] else None
    answer = until(stopped_in_time, "an answer in Discord's time")
    assert answer["json"]["type"] == 4, answer
    cancel = c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"][0]
    assert cancel["by"] == {"id": "5", "name": "Mia"} and cancel["reason"] == "/stop", cancel
    idle = d.interact(c, interaction(name="stop", type=1))
    assert idle["json"]["data"]["content"] == "Nothing is running here.", idle


def test_the_slash_command_asks(world):
    c, d, _ = world
    answer = d.interact(c, interaction(name="ask", type=1, options=[{"name": "text", "type": 3, "value": "hello"}]))
    if answer["late"]:  # who sees it was said at once
        assert answer["json"]["data"]["content"] == "**Mia**:\n> hello", answer
    else:
        assert answer["json"] == {"type": 4, "data": {"content": "**Mia**:\n> hello", "flags": 0, "allowed_mentions": {"parse": []}}}, answer
    wait_text(d, "You said hello.")


def test_the_button_stops_its_turn_and_no_other(world):
    c, d, m = world
    d.message("endless")
    first = d.see("REST", method="POST", path="/channels/7/messages")
    button = first["body"]["components"][0]["components"][0]["custom_id"]
    d.message("hello")  # waits behind the first turn
    turn = button.split(":")[1]
    until(lambda: len(c.live()) >= 2, "the second message to wait")
    answer = d.interact(c, interaction(3, custom_id=button, component_type=2))
    assert answer["status"] == 200 and answer["json"]["data"]["flags"] == 64, answer
    assert c.ended(turn)["status"] == "cancelled"
    wait_text(d, "You said hello.")
    # In another scope, or in none:
    other = c.say("elsewhere", "endless")
    c.wait_status(other, "running")
    answer = d.interact(c, interaction(3, custom_id=f"stop:{other}", component_type=2))
    assert answer["json"]["data"]["content"] == "⚠️ Not stopped: nothing of that id runs here", answer
    assert c.operation(other)["status"] == "running"
    c.cancel(scope="elsewhere")


def test_only_what_discord_signed_just_now_comes_in_and_only_once(world):
    c, d, m = world
    assert d.interact(c, {"type": 1})["json"] == {"type": 1}
    d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    for wrong in ({"signature": "00" * 64}, {"signature": "zz"}, {"signature": ""}, {"signed": "{}"}, {"skew": -400}, {"skew": 400}):
        answer = d.interact(c, interaction(name="stop", type=1), **wrong)
        assert answer["status"] == 401, (wrong, answer)
        assert answer["judge"] == ("skew" in wrong), (wrong, answer)  # Discord's library does not check the time
    assert d.interact(c, "{", )["status"] == 400
    assert d.interact(c, {"type": 2})["status"] == 400
    assert processes.marked(m) and c.live()
    good = d.interact(c, interaction(name="stop", type=1))
    assert good["status"] == 200
    until(lambda: not c.live(), "the turn to be over")
    d.message("endless")
    until(lambda: c.live(), "the next turn")
    again = d.replay(c, good)
    assert again["status"] == 409, again
    # Also after a restart: every request signed before it is refused.
    c.restart()
    again = d.replay(c, good)
    assert again["status"] == 401, again
    assert c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"].__len__() == 1


def test_a_gateway_that_breaks_off_is_resumed_without_loss_or_repetition(world):
    c, d, _ = world
    d.message("one")
    wait_text(d, "You said one.")
    d.do("drop")
    d.message("two")  # no connection: the session queues it
    d.see("RESUME", known=True)
    wait_text(d, "You said two.")
    d.do("send", frame={"op": 7, "d": None})
    d.see("RESUME", count=2, known=True)
    d.do("drop", code=4000)
    d.message("three")
    d.see("RESUME", count=3, known=True)
    wait_text(d, "You said three.")
    d.message("four")
    wait_text(d, "You said four.")
    assert c.said() == ["one", "two", "three", "four"]
    assert len(d.found("IDENTIFY")) == 1


def test_a_session_that_is_forgotten_begins_anew(world):
    c, d, _ = world
    d.do("drop", forget=True)
    d.see("RESUME", known=False)
    d.see("IDENTIFY", count=2)
    d.message("hello")
    wait_text(d, "You said hello.")


def test_a_gateway_that_answers_no_heartbeat_is_left(world):
    c, d, _ = world
    d.do("heartbeats", answer=True, interval=300)
    d.do("drop")
    d.see("RESUME")
    d.see("HEARTBEAT", count=3)
    d.do("heartbeats", answer=False)
    d.see("RESUME", count=2)
    d.do("heartbeats", answer=True)
    d.message("hello")
    wait_text(d, "You said hello.")


def test_rate_limits_and_mishaps_lose_and_repeat_nothing(world):
    _, d, _ = world
    d.do("plan", method="POST", status=429, body={"message": "You are being rate limited.", "retry_after": 0.4, "global": False}, headers={"Retry-After": "1"})
    d.message("first")
    wait_text(d, "You said first.")
    d.do("plan", method="POST", status=429, body={"message": "You are being rate limited.", "retry_after": 0.4, "global": True},
         headers={"Retry-After": "1", "X-RateLimit-Global": "true"})
    d.message("second")
    wait_text(d, "You said second.")
    d.do("plan", method="POST", status=502)
    d.message("third")
    wait_text(d, "You said third.")
    d.do("plan", method="POST", cut=True)
    d.message("fourth")
    d.see("CUT")
    wait_text(d, "You said fourth.")
    until(lambda: any("fourth" in r["body"]["content"] for r in d.posts()), "it to be asked for again, and answered")
    made = [m["content"] for m in d.found("MADE")]
    assert [made.count(f"You said {word}.") for word in ("first", "second", "third", "fourth")] == [1, 1, 1, 1], made


def test_a_refused_token_is_not_tried_again():
    with FakeDiscord() as d:
        with DiscordCluster(d, marker()) as c:
            with open(os.path.join(c.workspace, "discord.token"), "w") as f:
                f.write("wrong-token")
            c.kill_controller()
            c.start_controller()
            d.see("REST", path="/gateway/bot", status=401)
            before = len(d.found("REST", status=401))
            assert c.api("GET", "/v1/status").status == 200
            until(lambda: "gives up" in open(os.path.join(c.directory, "quelld.log")).read(), "the log to say so")
            assert "wrong-token" not in open(os.path.join(c.directory, "quelld.log")).read()
            assert len(d.found("REST", status=401)) == before and len(d.found("IDENTIFY")) <= 1


TLS_PROXY = """
const [port, to, key, cert] = process.argv.slice(1), fs = require('fs');
const server = require('tls').createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (s) => {
  const up = require('net').connect(Number(to), '127.0.0.1');
  for (const [a, b] of [[s, up], [up, s]]) a.on('error', () => b.destroy()).on('close', () => b.destroy()).pipe(b);
}).on('tlsClientError', () => console.log('REFUSED'));
server.listen(Number(port), '127.0.0.1', () => console.log('LISTENS'));
process.stdin.on('end', () => process.exit(0)).resume();
"""


@pytest.mark.parametrize("is_trusted", [True, False])
def test_the_gateway_is_reached_over_tls_if_its_certificate_is_good(is_trusted, tmp_path):
    (key, cert), (_, other) = ([str(path) for path in make_certificate(tmp_path, name, "DNS:localhost")] for name in ("localhost", "other"))
    port = free_ports(1)[0]
    with FakeDiscord() as d, Program("node", "-e", TLS_PROXY, str(port), str(d.ports[1]), key, cert) as proxy:
        proxy.line("LISTENS")
        with DiscordCluster(d, marker(), more=f'gateway_url = "wss://localhost:{port}"\nca_file = "{cert if is_trusted else other}"'):
            if is_trusted:
                d.see("IDENTIFY")
                d.message("hello")
                wait_text(d, "You said hello.")
            else:
                proxy.line("REFUSED")
                assert not d.found("CONNECT")


def test_a_call_that_waits_is_approved_or_denied_with_a_button():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, chat_settings='approvers = ["discord:5"]\napprove_own = true', more='[[approval]]\ntool = "exec"') as c:
        d.see("IDENTIFY")
        d.message("runs")

        def question(count):
            asked = [r["body"]["components"][0]["components"] for r in d.found("REST", method="POST", status=200) if r["body"].get("components")]
            return (asked[count - 1:count] or [None])[0]
        buttons = until(lambda: question(1), "the question")
        assert [b["label"] for b in buttons][:2] == ["Approve", "Deny"], buttons
        assert not processes.marked(m)
        answer = d.interact(c, interaction(3, custom_id=buttons[0]["custom_id"], component_type=2))
        assert answer["json"]["data"]["content"] == "Approved.", answer
        until(lambda: processes.marked(m), "the command to run")
        late = d.interact(c, interaction(3, custom_id=buttons[1]["custom_id"], component_type=2))
        assert late["json"]["data"]["content"] != "Denied.", late
        assert d.interact(c, interaction(name="stop", type=1))["status"] == 200
        until(lambda: not processes.marked(m) and not c.live(), "it to be gone")
        until(lambda: not d.shown()[0]["components"], "the buttons to be gone")


OBSERVER = """
import { createRequire } from 'node:module';
const [home, api, token] = process.argv.slice(1);
const require = createRequire(home + '/package.json');
const { Client, GatewayIntentBits, Events } = require('discord.js');
const say = (word, what) => process.stdout.write(word + ' ' + JSON.stringify(what) + '\\n');
const client = new Client({ intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent], rest: { api: api.replace(/\\/v10$/, '') } });
const shown = (m) => ({ id: m.id, text: m.content, author: m.author.username, channel: m.channel?.name, answers: m.reference?.messageId ?? null,
                        buttons: m.components.flatMap((row) => row.components.map((b) => [b.label, b.customId])) });
client.on(Events.ClientReady, () => say('READY', { user: client.user.username }));
client.on(Events.MessageCreate, (m) => say('MESSAGE', shown(m)));
client.on(Events.MessageUpdate, (_, m) => say('UPDATE', shown(m)));
process.stdin.on('end', () => process.exit(0)).resume();
client.login(token);
"""


def test_discord_js_sees_the_replies_as_they_are_meant(world):
    _, d, _ = world
    with Program("node", "--input-type=module", "-e", OBSERVER, d.home, d.api, TOKENS[1]) as observer:
        observer.line("READY")
        id = d.message("slowly please")

        def last():
            seen = [json.loads(line.split(" ", 1)[1]) for line in observer.lines if line.startswith("UPDATE ")]
            return next((s for s in seen if s["text"].endswith("so that it is edited") and not s["buttons"]), None)
        done = until(last, "the whole reply as discord.js sees it")
        first = next(json.loads(line.split(" ", 1)[1]) for line in observer.lines if line.startswith("MESSAGE ") and id in line.split('"answers"')[1])
        assert first["answers"] == id and first["channel"] == "general" and first["author"] == "clanky", first
        assert [b[0] for b in first["buttons"]] == ["Stop"] and first["id"] == done["id"], first
