"""A Slack on loopback that enforces Slack's rules, and Slack's side of a signature."""
import hashlib
import hmac
import itertools
import json
import time
import urllib.parse

from .waiting import until
from .web_service import WebService

SECRET, TOKEN, BOT = "8f742231b10e8888abcd99yyyzzz85a5", "xoxb-1-test", "UBOT"
CONFIG = """
[slack]
bot_token_env = "TEST_SLACK_TOKEN"
signing_secret_env = "TEST_SLACK_SECRET"
teams = ["*"]
base_url = "{url}"
edit_every = "100ms"
pace = "100ms"
"""
ENVIRONMENT = {"TEST_SLACK_TOKEN": TOKEN, "TEST_SLACK_SECRET": SECRET}


def signed(body, secret=SECRET, at=None):
    stamp = str(int(time.time() if at is None else at))
    mac = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Signature": "v0=" + mac, "X-Slack-Request-Timestamp": stamp}


class FakeSlack(WebService):
    def __init__(self):
        self.messages = {}  # ts -> {"channel", "thread_ts", "text", "blocks", "texts"}
        self.order, self.reactions, self.removed, self.numbers = [], [], [], itertools.count(1)
        self.shows_metadata = True
        self.past = []  # messages of people as conversations.history returns them
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/api"

    def respond(self, path, headers, body):
        method = path.rsplit("/", 1)[-1]
        with self.lock:
            if headers.get("Authorization") != "Bearer " + TOKEN:
                return 200, {}, {"ok": False, "error": "invalid_auth"}
            if method == "auth.test":
                return 200, {}, {"ok": True, "user_id": BOT, "user": "clanky", "team": "Test", "team_id": "T1", "bot_id": "B1"}
            if method == "reactions.add":
                if not body["name"].replace("_", "").isalnum():
                    return 200, {}, {"ok": False, "error": "invalid_name"}
                reaction = (body["channel"], body["timestamp"], body["name"])
                if reaction in self.reactions:
                    return 200, {}, {"ok": False, "error": "already_reacted"}
                self.reactions.append(reaction)
                return 200, {}, {"ok": True}
            if method == "reactions.remove":
                reaction = (body["channel"], body["timestamp"], body["name"])
                if reaction not in self.reactions:
                    return 200, {}, {"ok": False, "error": "no_reaction"}
                self.removed.append(reaction)
                return 200, {}, {"ok": True}
            if method == "chat.delete":
                known = self.messages.pop(body["ts"], None)
                if not known or known["channel"] != body["channel"]:
                    return 200, {}, {"ok": False, "error": "message_not_found"}
                self.order = [ts for ts in self.order if ts != body["ts"]]
                self.removed.append((body["channel"], body["ts"], known["texts"]))
                return 200, {}, {"ok": True, "channel": body["channel"], "ts": body["ts"]}
            if method == "chat.postEphemeral":
                return 200, {}, {"ok": True, "message_ts": "1.0"}
            if method in ("conversations.history", "conversations.replies"):
                return self.history(method, dict(urllib.parse.parse_qsl(body.get("raw", ""))))
            if method not in ("chat.postMessage", "chat.update"):
                return 200, {}, {"ok": False, "error": "unknown_method"}
            self.check(body)
            if not body["text"].strip():
                return 200, {}, {"ok": False, "error": "no_text"}
            if method == "chat.update":
                known = self.messages.get(body["ts"])
                if not known or known["channel"] != body["channel"]:
                    return 200, {}, {"ok": False, "error": "message_not_found"}
                known["text"], known["blocks"] = body["text"], body.get("blocks", known["blocks"])
                known["texts"].append(body["text"])
                return 200, {}, {"ok": True, "channel": body["channel"], "ts": body["ts"]}
            ts = f"1800000000.{next(self.numbers):06}"
            self.messages[ts] = {"channel": body["channel"], "thread_ts": body.get("thread_ts"), "text": body["text"],
                                 "blocks": body.get("blocks", []), "texts": [body["text"]], "ts": ts, "metadata": body.get("metadata")}
            self.order.append(ts)
            return 200, {}, {"ok": True, "channel": body["channel"], "ts": ts}

    def history(self, method, asked):
        """The newest messages first, in pages."""
        if asked.get("include_all_metadata") == "true":
            return self.own(asked)
        thread = asked.get("ts") if method.endswith("replies") else None
        found = [m for m in self.past if m["channel"] == asked["channel"] and float(m["ts"]) > float(asked["oldest"])
                 and (m.get("thread_ts") == thread if thread else m.get("thread_ts") in (None, m["ts"]))]
        if not found and not any(m["channel"] == asked["channel"] for m in self.past):
            return 200, {}, {"ok": False, "error": "channel_not_found"}
        found.sort(key=lambda m: float(m["ts"]), reverse=not thread)
        start, limit = int(asked.get("cursor") or 0), min(int(asked["limit"]), 3)
        told = [{k: v for k, v in m.items() if k != "channel"} for m in found[start:start + limit]]
        more = str(start + limit) if len(found) > start + limit else ""
        return 200, {}, {"ok": True, "messages": told, "has_more": bool(more), "response_metadata": {"next_cursor": more}}

    def own(self, asked):
        """The app's own messages with their metadata."""
        found = [self.messages[ts] for ts in self.order if self.messages[ts]["channel"] == asked["channel"] and self.messages[ts]["thread_ts"] == asked.get("ts")]
        told = [{"type": "message", "user": BOT, "bot_id": "B1", "ts": m["ts"], "text": m["text"],
                 **({"metadata": m["metadata"]} if self.shows_metadata and m["metadata"] else {})} for m in found]
        return 200, {}, {"ok": True, "messages": told, "has_more": False, "response_metadata": {"next_cursor": ""}}

    def keep(self, text, channel="C1", thread=None, user="U1"):
        """Stores a person's message, which only conversations.history returns; its ts."""
        ts = f"{time.time():.6f}"
        with self.lock:
            while any(m["ts"] >= ts for m in self.past):
                ts = f"{float(ts) + 0.000005:.6f}"
            self.past.append({"type": "message", "channel": channel, "user": user, "text": text, "ts": ts, **({"thread_ts": thread} if thread else {})})
            for m in self.past:  # a message with replies lists them
                if m["ts"] == thread:
                    m["thread_ts"] = thread
        return ts

    def check(self, body):
        if len(body["text"]) > 4000:
            self.wrong.append(f"a text of {len(body['text'])} characters")
        for block in body.get("blocks", []):
            if block["type"] == "section" and len(block["text"]["text"]) > 3000:
                self.wrong.append("a section of more than 3,000 characters")
            for button in block.get("elements", []):
                if len(button["value"]) > 2000 or len(button["action_id"]) > 255:
                    self.wrong.append("a button's value that is too long")

    # ---- actions of people ----------------------------------------------------------------------------------------
    def send(self, cluster, path, body, headers, kind="application/json"):
        return cluster.api("POST", "/v1/chat/slack/" + path, raw=body.encode(), headers={"Content-Type": kind, "Authorization": None, **headers})

    def event(self, text, ts=None, channel="C1", thread=None, user="U1", team="T1", **change):
        e = {"type": "message", "channel": channel, "channel_type": "im" if channel.startswith("D") else "channel", "user": user,
             "text": text, "ts": ts or self.fresh(), "client_msg_id": "x", "team": team, **({"thread_ts": thread} if thread else {}), **change}
        return {"token": "z", "team_id": team, "api_app_id": "A1", "event": e, "type": "event_callback", "event_id": "Ev" + e["ts"],
                "event_time": 1, "authorizations": [{"team_id": team, "user_id": BOT, "is_bot": True}]}

    def fresh(self):
        return f"1700000000.{next(self.numbers):06}"

    def say(self, cluster, text, expect=200, **more):
        """Delivers the message as Slack does; its ts."""
        event = self.event(text, **more)
        answer = self.deliver(cluster, json.dumps(event))
        assert answer.status == expect, (answer.status, answer.body)
        return event["event"]["ts"]

    def edit(self, cluster, ts, text, thread=None, stamp=None, **more):
        """The author edits the message. Slack names the thread also in the message that begins it, once it has answers."""
        message = {"type": "message", "user": "U1", "text": text, "ts": ts, "edited": {"user": "U1", "ts": stamp or self.fresh()},
                   **({"thread_ts": thread} if thread else {})}
        return self.say(cluster, "", subtype="message_changed", message=message, user=None, **more)

    def deliver(self, cluster, body, **headers):
        """Slack repeats an event that is not taken within its 3 s (decision 024); the answer to the first delivery that was."""
        for retry in itertools.count(1):
            answer = self.send(cluster, "events", body, {**signed(body), **headers})
            if answer.status != 503 or retry > 9:
                return answer
            headers = {"X-Slack-Retry-Num": str(min(retry, 2)), "X-Slack-Retry-Reason": "http_timeout"}  # the third repetition is the last one

    def command(self, cluster, name, text="", channel="C1", **form):
        body = urllib.parse.urlencode({"team_id": "T1", "channel_id": channel, "channel_name": "general", "command": name, "text": text,
                                       "user_id": "U1", "user_name": "mia", "trigger_id": "t" + self.fresh(), **form})
        return self.send(cluster, "commands", body, signed(body), "application/x-www-form-urlencoded")

    def press(self, cluster, message, action_id, value, user="U1", team="T1", secret=SECRET, **place):
        """`user` presses a button below the message; `place`: where, if not there (channel, thread_ts, ts)."""
        where = {**message, **place}
        payload = {"type": "block_actions", "user": {"id": user, "username": "mia" if user == "U1" else user.lower()}, "team": {"id": team},
                   "channel": {"id": where["channel"]}, "message": {"ts": where["ts"], "thread_ts": where["thread_ts"]},
                   "actions": [{"action_id": action_id, "value": value}]}
        for _ in range(10):  # people press again what was not taken in time
            payload["trigger_id"] = "t" + self.fresh()
            body = "payload=" + urllib.parse.quote(json.dumps(payload))
            answer = self.send(cluster, "actions", body, signed(body, secret), "application/x-www-form-urlencoded")
            if answer.status != 503:
                break
        return answer

    # ---- the view of people ---------------------------------------------------------------------------------------
    def shown(self, channel="C1", thread=...):
        with self.lock:
            return [dict(self.messages[ts]) for ts in self.order
                    if self.messages[ts]["channel"] == channel and (thread is ... or self.messages[ts]["thread_ts"] == thread)]

    def see(self, condition, what, channel="C1", thread=..., seconds=60):
        """The messages of the place, as soon as they meet the condition."""
        return until(lambda: (lambda all: all if condition(all) else None)(self.shown(channel, thread)), what, seconds)

    @staticmethod
    def buttons(message):
        return {b["action_id"]: b["value"] for block in message["blocks"] for b in block.get("elements", [])}
