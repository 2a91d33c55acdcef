"""Slack: real quelld, a Slack on loopback with Slack's rules, and Slack's own library as judge of signatures."""
import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.parse
from contextlib import closing

import pytest

from harness.peers import installed
from harness.slack import CONFIG, ENVIRONMENT, FakeSlack, signed
from harness.turns import TurnCluster
from harness.waiting import until

STOP = "octagonal_sign"
LONG = "\n\n".join(f"Paragraph {i}: " + "word é漢👍 " * 40 for i in range(30))
SCRIPT = [
    {"when": {"system": "told you to stop"}, "text": "Right, I have stopped."},
    {"when": {"user": "leaves"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true", "background": True}}]}]},
    {"when": {"result": "in the background"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 40}]},
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 40}]},
    {"when": {"user": "slowly"}, "steps": [{"text": "This comes in small pieces, one after the other.", "chunk": 4, "delay_ms": 500}]},
    {"when": {"user": "long"}, "steps": [{"text": LONG, "chunk": 200, "delay_ms": 5}]},
    {"when": {"user": "asks"}, "steps": [{"text": "May I?"}, {"calls": [{"name": "exec", "input": {"command": "true"}}]}]},
    {"when": {"result": ""}, "text": " As you wish."},
    {"text": "You said {{text}}."},
]


class SlackCluster(TurnCluster):
    def __init__(self, slack, acknowledged_by="none", more="", chat_settings="", admitted='teams = ["*"]', agent=""):
        # Without a model for acknowledgements, a reaction acknowledges a stop.
        section = CONFIG.format(url=slack.url).replace('teams = ["*"]', admitted)
        super().__init__(SCRIPT, config=f'[chat]\nacknowledgement_model = "{acknowledged_by}"\n{chat_settings}\n' + section + more, agent=agent, workers=0)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, **ENVIRONMENT}, **options)

    def turns(self, scope="slack"):
        return self.operations(scope=scope, kind="turn")


@pytest.fixture
def world():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        yield slack, c


def in_slacks_time(post):
    """The answer to something that may be posted again, once one comes within the 2.5 s after which quelld says 503."""
    return until(lambda: (lambda x: None if x.status == 503 else x)(post()), "an answer in Slack's time")


def test_a_mention_is_answered_in_its_thread_by_edits_of_one_message(world):
    slack, c = world
    ts = slack.say(c, "<@UBOT> slowly, please")
    text = "This comes in small pieces, one after the other."
    [reply] = slack.see(lambda all: all and all[-1]["text"] == text, "the whole reply", thread=ts)
    assert len(reply["texts"]) > 2 and all(text.startswith(t.rstrip()) for t in reply["texts"]), reply["texts"]
    until(lambda: not slack.buttons(slack.shown(thread=ts)[0]), "the Stop button to go")
    [turn] = c.turns()
    assert turn["scope"] == f"slack/T1/C1/{ts}" and turn["owner"]["id"] == "U1", turn


def test_what_is_not_addressed_to_the_bot_is_no_message_but_a_thread_of_its_is(world):
    slack, c = world
    slack.say(c, "hello everybody")
    slack.say(c, "stop the music")
    slack.say(c, "stop")  # meant for somebody else: nothing runs here
    ts = slack.say(c, "<@UBOT> hi")
    slack.see(lambda all: len(all) == 1, "the answer", thread=ts)
    slack.say(c, "and now?", thread=ts)
    slack.see(lambda all: len(all) == 2 and all[1]["text"] == "You said and now?.", "the second answer", thread=ts)
    assert len(c.turns()) == 2
    direct = slack.say(c, "hello", channel="D1")
    slack.see(lambda all: all and all[0]["text"] == "You said hello.", "the answer to a direct message", channel="D1")
    assert c.turns("slack/T1/D1") and not c.turns(f"slack/T1/D1/{direct}")


def test_stop_ends_the_reply_at_once_and_is_acknowledged_first(world):
    slack, c = world
    ts = slack.say(c, "<@UBOT> endless")
    slack.see(lambda all: all and len(all[0]["text"]) > 30, "some of the endless reply", thread=ts)
    stop = slack.say(c, "stop", thread=ts)
    before = len(slack.requests)
    until(lambda: ("C1", stop, STOP) in slack.reactions, "the acknowledgement")
    [turn] = c.turns()
    assert c.ended(turn["id"])["status"] == "cancelled"
    [reply] = slack.see(lambda all: "stopped" in all[0]["text"], "the mark of the end", thread=ts)
    assert not slack.buttons(reply)
    # After the decision nothing is added to the old reply: it shows only the text that was already in flight.
    shown = [t.split("\n⏹")[0] for t in reply["texts"]]
    assert len(shown[-1]) <= max(map(len, shown[:-1])), shown[-3:]
    sent = [(path.rsplit("/", 1)[-1], body) for _, path, body in slack.requests[before:]]
    assert len([m for m, b in sent if m == "chat.postMessage"]) == 0, sent
    slack.say(c, "hello again", thread=ts)
    slack.see(lambda all: all[-1]["text"] == "You said hello again.", "work said after the stop", thread=ts)


def test_the_models_own_word_answers_the_message_that_said_stop():
    with FakeSlack() as slack, SlackCluster(slack, acknowledged_by="script") as c:
        ts = slack.say(c, "<@UBOT> endless")
        slack.see(lambda all: all and len(all[0]["text"]) > 30, "some of the endless reply", thread=ts)
        slack.say(c, "ok, stop it", thread=ts)
        # The mark is quell's own: a model's text proves nothing.
        slack.see(lambda all: all[-1]["text"] == "🛑 stopped\nRight, I have stopped.", "the acknowledgement", thread=ts)
        slack.say(c, "hello", thread=ts)
        slack.see(lambda all: all[-1]["text"] == "You said hello.", "the next answer", thread=ts)
        assert [m["text"].startswith("on and on") for m in slack.shown(thread=ts)] == [True, False, False]
        assert not slack.reactions


def test_a_stop_in_the_channel_covers_its_threads_and_no_other_channel(world):
    slack, c = world
    here = [slack.say(c, "<@UBOT> endless") for _ in range(2)]
    there = slack.say(c, "<@UBOT> endless", channel="C2")
    until(lambda: len([t for t in c.turns() if t["status"] == "running"]) == 3, "three replies to run")
    stop = slack.say(c, "<@UBOT> stop!")
    until(lambda: ("C1", stop, STOP) in slack.reactions, "the acknowledgement")
    until(lambda: all(t["status"] == "cancelled" for ts in here for t in c.turns(f"slack/T1/C1/{ts}")), "both threads to be stopped")
    [other] = c.turns(f"slack/T1/C2/{there}")
    assert other["status"] == "running"
    c.cancel(scope="slack")


def test_queued_messages_are_stopped_with_the_reply_and_later_ones_are_answered(world):
    slack, c = world
    ts = slack.say(c, "<@UBOT> endless", channel="D1")
    slack.see(lambda all: all, "the reply to begin", channel="D1")
    slack.say(c, "first in the queue", channel="D1")
    slack.say(c, "second in the queue", channel="D1")
    slack.say(c, "stop", channel="D1")
    slack.say(c, "after the stop", channel="D1")
    slack.see(lambda all: all[-1]["text"] == "You said after the stop.", "the answer to what came after", channel="D1")
    assert not [m for m in slack.shown("D1") if "queue" in m["text"]]
    until(lambda: sorted(t["status"] for t in c.turns("slack/T1/D1")) == ["cancelled"] * 3 + ["completed"], f"the turns behind {ts} to end so")


def test_a_delivery_that_comes_again_does_nothing_again(world):
    slack, c = world
    event = slack.event("<@UBOT> hello")
    body = json.dumps(event)
    for retry in range(3):
        more = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_timeout"} if retry else {}
        assert slack.deliver(c, body, **more).status == 200
    # The same message also arrives as a mention of the app, under another id.
    event["event"]["type"], event["event_id"] = "app_mention", "EvOther"
    body = json.dumps(event)
    assert slack.deliver(c, body).status == 200
    slack.see(lambda all: all and all[0]["text"] == "You said hello." and not slack.buttons(all[0]), "the whole answer")
    until(lambda: not c.remembers("slack")["shown"]["parts"], "quelld to know that Slack has it: else it would say that something may be missing")
    c.restart()
    assert slack.deliver(c, body).status == 200
    assert len(c.turns()) == 1 and len(slack.shown()) == 1


def test_wrong_signatures_and_old_timestamps_are_refused(world):
    slack, c = world
    body = json.dumps(slack.event("<@UBOT> hello"))
    good = signed(body)
    for headers, sent in [({}, body), (signed(body, secret="another"), body), (good, body + " "), ({**good, "X-Slack-Signature": "v0="}, body),
                          ({**good, "X-Slack-Request-Timestamp": str(int(time.time()) + 1)}, body),
                          (signed(body, at=time.time() - 301), body), (signed(body, at=time.time() + 310), body)]:
        answer = slack.send(c, "events", sent, headers)
        assert answer.status == 401, (headers, answer.status)
    for path in ["events/", "Events", "%65vents", "events%2f..", "../slack/events", "nothing"]:
        assert slack.send(c, path, body, good).status == 404, path
    assert c.api("POST", "/v1/chat/%73lack/events", raw=body.encode(), headers={**good, "Authorization": None}).status == 404
    assert c.api("POST", "/v1/chat/discord/events", raw=b"{}").status == 404
    assert slack.send(c, "events", "x" * (1 << 21), good).status == 413
    # Tasks use the Unix socket, through their worker: it serves no chat service.
    with socket.socket(socket.AF_UNIX) as relay:
        relay.connect(os.path.join(c.state, "http.sock"))
        head = "".join(f"{k}: {v}\r\n" for k, v in good.items())
        relay.sendall(f"POST /v1/chat/slack/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{head}\r\n{body}".encode())
        assert relay.makefile("rb").readline().split()[1] == b"404"
    assert not c.turns()


def test_slacks_own_library_judges_signatures_as_we_do(world):
    slack, c = world
    home = installed("slack-bolt-4", ["@slack/bolt@4.6.0"])
    judge = """
const { isValidSlackRequest } = require(process.argv[1] + '/node_modules/@slack/bolt/dist/receivers/verify-request.js');
const asked = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(asked.map((a) => isValidSlackRequest({ signingSecret: a.secret, body: a.body,
  headers: { 'x-slack-signature': a.headers['X-Slack-Signature'], 'x-slack-request-timestamp': Number(a.headers['X-Slack-Request-Timestamp']) } }))));
"""
    challenge = json.dumps({"type": "url_verification", "challenge": "é漢👍 <&>"}, ensure_ascii=False)
    now = time.time()
    asked = [{"secret": ENVIRONMENT["TEST_SLACK_SECRET"], "body": challenge, "headers": h} for h in
             (signed(challenge), signed(challenge, at=now - 200), signed(challenge, at=now - 400), signed(challenge, secret="x"), signed(challenge + " "))]
    done = subprocess.run(["node", "-e", judge, home], input=json.dumps(asked), capture_output=True, text=True, timeout=60)
    verdicts = json.loads(done.stdout or "[]")
    assert verdicts == [True, True, False, False, False], (verdicts, done.stderr)
    for a, verdict in zip(asked, verdicts):
        answer = in_slacks_time(lambda: slack.send(c, "events", a["body"], a["headers"]))
        assert (answer.status == 200) == verdict, (a, answer.status)
        assert not verdict or answer.body.decode() == "é漢👍 <&>"


def test_the_stop_command_answers_within_slacks_time_and_a_copy_of_it_does_nothing(world):
    slack, c = world

    def stopped_in_time():
        """One try: a machine that stands still takes longer, and quelld answers 503 then."""
        ts = slack.say(c, "<@UBOT> endless")
        slack.see(lambda all: all, "the reply to begin", thread=ts)
        began = time.monotonic()
        answer = slack.command(c, "/stop", "enough")
        return answer if answer.status == 200 and time.monotonic() - began < 3 else None
    answer = until(stopped_in_time, "an answer within 3 s")
    assert "Stopping" in answer.json["text"] and answer.json["response_type"] == "ephemeral"
    for turn in c.turns():
        assert c.ended(turn["id"])["stop"]["reason"] == "enough"
    assert in_slacks_time(lambda: slack.command(c, "/stop")).json["text"] == "Nothing is running here."
    assert slack.command(c, "/ask", "what is it").status in (200, 503)  # not decided in time is decided all the same
    slack.see(lambda all: all and all[-1]["text"] == "You said what is it.", "the answer to a command", thread=None)


def test_a_stop_command_that_is_replayed_after_a_restart_stops_nothing(world):
    slack, c = world
    body = urllib.parse.urlencode({"team_id": "T1", "channel_id": "C1", "channel_name": "general", "command": "/stop", "text": "", "user_id": "U1",
                                   "user_name": "mia", "trigger_id": "t1"})
    headers, form = signed(body), "application/x-www-form-urlencoded"
    first = slack.say(c, "<@UBOT> endless")
    slack.see(lambda all: all, "the reply to begin", thread=first)
    done = slack.send(c, "commands", body, headers, form)
    assert done.status == 503 or "Stopping" in done.json["text"], done.body  # 503: the answer was late, the stop is performed
    until(lambda: not c.operations(scope="slack", status="live"), "the reply to be over")
    c.restart()
    second = slack.say(c, "<@UBOT> endless")
    slack.see(lambda all: all, "the reply to begin", thread=second)
    assert in_slacks_time(lambda: slack.send(c, "commands", body, headers, form)).json["text"] == "That was done already."
    assert [t["status"] for t in c.turns(f"slack/T1/C1/{second}")] == ["running"]
    # A message that no earlier life has seen is performed, whenever it was signed.
    later = body.replace("t1", "t2")
    done = slack.send(c, "commands", later, signed(later, at=time.time() - 100), form)
    assert done.status == 503 or "Stopping" in done.json["text"], done.body
    until(lambda: not c.operations(scope="slack", status="live"), "the reply to be over")


def test_the_stop_button_ends_its_reply_and_leaves_the_queue_and_what_runs_in_the_background(world):
    slack, c = world
    slack.say(c, "leaves a command", channel="D1")
    [reply] = slack.see(lambda all: all and "on and" in all[0]["text"] and slack.buttons(all[0]), "a reply with a button", channel="D1")
    slack.say(c, "next please", channel="D1")
    assert slack.press(c, reply, "quell_stop", slack.buttons(reply)["quell_stop"]).status == 200
    slack.see(lambda all: all[-1]["text"] == "You said next please.", "the queued message to be answered", channel="D1")
    slack.see(lambda all: "stopped" in all[0]["text"] and not slack.buttons(all[0]), "the mark of the end", channel="D1")
    slack.see(lambda all: any("in the background: 1 command." in m["text"] for m in all), "what goes on", channel="D1")
    assert [t["status"] for t in c.operations(scope="slack", kind="task")] == ["pending"]  # there is no worker
    assert slack.press(c, reply, "quell_stop", "no-id").status == 200
    slack.say(c, "stop", channel="D1")
    until(lambda: not c.operations(scope="slack", status="live"), "everything to be over")


def test_a_call_that_waits_for_a_word_is_asked_about_with_buttons():
    with FakeSlack() as slack, SlackCluster(slack, chat_settings='approvers = ["slack:*"]\napprove_own = true', more='[[approval]]\ntool = "exec"\n') as c:
        ts = slack.say(c, "<@UBOT> asks")
        [said, question] = slack.see(lambda all: len(all) == 2 and slack.buttons(all[1]), "the question", thread=ts)
        assert said["text"] == "May I?" and "exec" in question["text"]
        assert slack.press(c, question, "quell_deny", slack.buttons(question)["quell_deny"]).status == 200
        slack.see(lambda all: len(all) == 3 and all[2]["text"].strip() == "As you wish.", "the rest of the reply", thread=ts)
        slack.see(lambda all: "denied by mia" in all[1]["text"] and not slack.buttons(all[1]), "the answered question", thread=ts)


def test_who_may_not_decide_is_told_why():
    with FakeSlack() as slack, SlackCluster(slack, chat_settings='approvers = ["slack:U7"]', more='[[approval]]\ntool = "exec"\n') as c:
        ts = slack.say(c, "<@UBOT> asks")
        [_, question] = slack.see(lambda all: len(all) == 2 and slack.buttons(all[1]), "the question", thread=ts)
        assert slack.press(c, question, "quell_approve", slack.buttons(question)["quell_approve"]).status == 200
        told = until(lambda: slack.calls("chat.postEphemeral"), "the reason")
        assert told[0]["user"] == "U1" and "you are not an approver" in told[0]["text"] and told[0]["thread_ts"] == ts, told
        c.cancel(scope="slack")


def test_a_long_answer_arrives_whole_and_in_order_whatever_slack_refuses(world):
    slack, c = world
    slack.scripted["chat.update"].extend([(429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}), (503, {}, {})])
    slack.scripted["chat.postMessage"].append((429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}))
    ts = slack.say(c, "<@UBOT> long")
    squeezed = "".join(LONG.split())
    slack.see(lambda all: len("".join("".join(m["text"] for m in all).split())) >= len(squeezed), "all of it", thread=ts, seconds=60)
    slack.see(lambda all: "".join("".join(m["text"] for m in all).split()) == squeezed, "exactly the answer", thread=ts)
    assert len(slack.shown(thread=ts)) >= 4


def test_slack_may_be_down_and_come_back(world):
    slack, c = world
    slack.stop()
    ts = slack.say(c, "<@UBOT> hello")
    [turn] = until(lambda: c.turns(), "the turn")
    c.ended(turn["id"])
    slack.start()
    slack.see(lambda all: [m["text"] for m in all] == ["You said hello."], "the answer, once", thread=ts)


def test_after_a_crash_a_reply_goes_on_in_its_message(world):
    slack, c = world
    ts = slack.say(c, "<@UBOT> endless")
    [reply] = slack.see(lambda all: all and len(all[0]["text"]) > 20, "some of the reply", thread=ts)
    until(lambda: reply["ts"] in c.chat_memory("slack"), "the message to be remembered")
    [turn] = c.turns()
    c.restart()
    until(lambda: c.events(turn["id"], "turn_resumed"), "the turn to go on")
    slack.see(lambda all: len(all[0]["text"]) > len(reply["text"]) + 40, "the text to grow in its message", thread=ts)
    assert len(slack.shown(thread=ts)) == 1
    c.cancel(operation=turn["id"])
    slack.say(c, "<@UBOT> hello", thread=ts)
    slack.see(lambda all: all[-1]["text"] == "You said hello.", "the next answer", thread=ts)


def test_a_request_that_is_deleted_or_edited_after_a_restart_finds_its_turn(world):
    slack, c = world
    asked = [slack.say(c, "<@UBOT> endless") for _ in range(2)]
    first, second = (until(lambda ts=ts: c.turns(f"slack/T1/C1/{ts}"), "the turn")[0]["id"] for ts in asked)
    for turn in (first, second):
        c.wait_event(turn, "text_delta")
    calls = len(slack.calls("auth.test"))
    c.restart()
    until(lambda: len(slack.calls("auth.test")) > calls, "quelld to introduce itself again")
    for turn in (first, second):
        c.wait_event(turn, "turn_resumed")
    message = lambda ts, text: {"type": "message", "user": "U1", "text": text, "ts": ts, "edited": {"user": "U1", "ts": ts + "9"}}
    slack.say(c, "", subtype="message_deleted", deleted_ts=asked[0], previous_message=message(asked[0], "<@UBOT> endless"), user=None)
    assert c.ended(first)["status"] == "cancelled"
    slack.say(c, "", subtype="message_changed", message=message(asked[1], "<@UBOT> hello"), user=None)
    assert c.ended(second)["status"] == "cancelled"
    slack.see(lambda all: all and all[-1]["text"] == "You said hello.", "the answer to the new text", thread=asked[1])
    reasons = sorted(x["reason"] for x in c.api("GET", "/v1/cancels?scope=slack").json["cancels"])
    assert reasons == ["its message was deleted", "its message was edited"], reasons


@pytest.mark.parametrize("dies", ["at once", "when its acknowledgement is stored and waits for Slack"])
def test_a_stop_that_quelld_did_not_live_to_acknowledge_is_acknowledged_by_the_next_life(world, dies):
    slack, c = world
    ts = slack.say(c, "<@UBOT> endless")
    slack.see(lambda all: all, "the reply to begin", thread=ts)
    body = json.dumps(slack.event("stop", thread=ts))
    slack.stop()  # no message can be sent
    assert slack.deliver(c, body).status == 200
    if dies != "at once":
        with closing(sqlite3.connect(f"file:{c.state}/quell.db?mode=ro", uri=True)) as store:
            until(lambda: store.execute("SELECT count(*) FROM message WHERE acknowledged = 1").fetchone() == (1,), "it to be stored as acknowledged")
    c.kill_controller()
    slack.start()
    c.start_controller()
    assert slack.deliver(c, body).status == 200  # Slack repeats an event without a visible answer
    [turn] = c.turns()
    assert c.ended(turn["id"])["status"] == "cancelled"

    def acknowledged():
        return [r for r in slack.reactions if r[2] == STOP] + [m for m in slack.shown(thread=ts) if "🛑" in m["text"]]
    until(acknowledged, "the acknowledgement")
    assert slack.deliver(c, body).status == 200
    slack.say(c, "<@UBOT> hello", thread=ts)
    slack.see(lambda all: all[-1]["text"] == "You said hello.", "the next answer", thread=ts)
    assert len(acknowledged()) == 1, "once"
    assert len(c.turns()) == 2


def test_the_configuration_is_checked_and_shows_no_secret(tmp_path):
    from harness.cluster import BIN
    file = tmp_path / "q.toml"

    def check(text, *flags, **env):
        file.write_text(text)
        return subprocess.run([f"{BIN}/quelld", "--config", str(file), *(flags or ["--check-config"])], capture_output=True, text=True,
                              env={**os.environ, **ENVIRONMENT, **env}, timeout=60)
    good = CONFIG.format(url="https://slack.test/api/")
    assert check(good).returncode == 0
    shown = check(good, "--print-config").stdout
    assert 'bot_token_env = "TEST_SLACK_TOKEN"' in shown and 'base_url = "https://slack.test/api"' in shown
    assert ENVIRONMENT["TEST_SLACK_TOKEN"] not in shown and ENVIRONMENT["TEST_SLACK_SECRET"] not in shown
    for text, words in [(good + 'tokn = "x"\n', "nearest"), (good.replace("bot_token_env", "bot_token"), "bot_token"),
                        (good.replace("TEST_SLACK_TOKEN", "NOT_SET"), "NOT_SET"), (good + "buttons = 3\n", "true or false"),
                        (good.replace("[slack]", "[[slack]]"), "[slack]"), (good.replace("[slack]", "[slak]"), "slack")]:
        done = check(text)
        assert done.returncode == 2 and words in done.stderr, (text, done.stderr)
        assert ENVIRONMENT["TEST_SLACK_TOKEN"] not in done.stderr
