"""A Telegram on loopback that enforces the rules of the Bot API and delivers updates by long poll or webhook."""
import itertools
import threading
import time

from .waiting import until
from .web_service import WebService

TOKEN, SECRET = "123456:test-token_A", "hook-secret_1"
CONFIG = """
[telegram]
token_env = "TEST_TELEGRAM_TOKEN"
chats = ["*"]
base_url = "{url}"
poll = "2s"
edit_every = "100ms"
pace = "50ms"
group_pace = "100ms"
retry_first = "100ms"
retry_most = "500ms"
"""
ENVIRONMENT = {"TEST_TELEGRAM_TOKEN": TOKEN, "TEST_TELEGRAM_HOOK": SECRET}
MIA = {"id": 5, "is_bot": False, "first_name": "Mia"}


def units(text):
    return len(text.encode("utf-16-le")) // 2


class FakeTelegram(WebService):
    def __init__(self):
        self.changed = threading.Condition()
        self.closing = False
        self.updates = {TOKEN: []}  # unconfirmed updates by token
        self.given = []  # ids of updates, once for each delivery
        self.messages, self.reactions, self.answered = {}, [], []
        self.numbers, self.hook, self.polls = itertools.count(100), None, 0
        self.files = {}  # file id -> (file path, bytes)
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def respond(self, path, headers, body):
        if path.startswith(f"/file/bot{TOKEN}/"):
            found = [data for place, data in self.files.values() if path.endswith("/" + place)]
            return (200, {}, found[0]) if found else (404, {}, {"ok": False, "error_code": 404, "description": "Not Found"})
        _, bot, method = (path.split("?")[0].split("/") + ["", ""])[:3]
        token = bot[3:]
        if token not in self.updates:
            return 401, {}, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        answer = getattr(self, "do_" + method.lower(), None)
        if not answer:
            return 404, {}, {"ok": False, "error_code": 404, "description": "Not Found"}
        return answer(token, body)

    @staticmethod
    def good(result):
        return 200, {}, {"ok": True, "result": result}

    @staticmethod
    def bad(why):
        return 400, {}, {"ok": False, "error_code": 400, "description": "Bad Request: " + why}

    def do_getme(self, token, body):
        return self.good({"id": 666, "is_bot": True, "first_name": "Clanky", "username": "clanky_bot", "can_join_groups": True,
                          "can_read_all_group_messages": True, "supports_inline_queries": False})

    def do_getfile(self, token, body):
        if body["file_id"] not in self.files:
            return self.bad("wrong file_id or the file is temporarily unavailable")
        place, data = self.files[body["file_id"]]
        return self.good({"file_id": body["file_id"], "file_unique_id": "u", "file_size": len(data), "file_path": place})

    def do_deletewebhook(self, token, body):
        self.hook = None
        return self.good(True)

    def do_setwebhook(self, token, body):
        self.hook = body
        return self.good(True)

    def do_getupdates(self, token, body):
        if self.hook:
            return 409, {}, {"ok": False, "error_code": 409, "description": "Conflict: can't use getUpdates method while webhook is active"}
        end = time.monotonic() + min(body.get("timeout") or 0, 50)
        with self.changed:
            self.polls += 1
            offset = body.get("offset", 0)
            self.updates[token] = [u for u in self.updates[token] if u["update_id"] >= offset]
            while not self.updates[token] and not self.closing and time.monotonic() < end:
                self.changed.wait(max(0, min(0.1, end - time.monotonic())))
            now = self.updates[token][:body.get("limit", 100)]
            self.given += [u["update_id"] for u in now]
            return self.good(now)

    def do_sendmessage(self, token, body):
        why = self.wrong_text(body)
        if why:
            return self.bad(why)
        with self.lock:
            id = next(self.numbers)
            self.messages[id] = {"id": id, "chat": body["chat_id"], "topic": body.get("message_thread_id"), "text": body["text"],
                                 "texts": [body["text"]], "markup": body.get("reply_markup"), "to": (body.get("reply_parameters") or {}).get("message_id")}
            return self.good({"message_id": id, "date": 1, "chat": {"id": body["chat_id"], "type": "private"}, "text": body["text"]})

    def do_editmessagetext(self, token, body):
        why = self.wrong_text(body)
        with self.lock:
            known = self.messages.get(body.get("message_id"))
            if why or not known or known["chat"] != body["chat_id"]:
                return self.bad(why or "message to edit not found")
            if known["text"] == body["text"].strip() and known["markup"] == body.get("reply_markup"):
                return self.bad("message is not modified: specified new message content and reply markup are exactly the same")
            known["text"], known["markup"] = body["text"], body.get("reply_markup")
            known["texts"].append(body["text"])
            return self.good({"message_id": known["id"], "date": 1, "chat": {"id": known["chat"], "type": "private"}, "text": body["text"]})

    def wrong_text(self, body):
        if not body["text"].strip():
            return "message text is empty"
        for row in (body.get("reply_markup") or {}).get("inline_keyboard", []):
            if any(len(b["callback_data"].encode()) > 64 for b in row):
                return "BUTTON_DATA_INVALID"
        if units(body["text"]) > 4096:
            self.wrong.append(f"a text of {units(body['text'])} units")
            return "message is too long"
        return None

    def do_deletemessage(self, token, body):
        with self.lock:
            return self.good(True) if self.messages.pop(body["message_id"], None) else self.bad("message to delete not found")

    def do_setmessagereaction(self, token, body):
        if body["reaction"] == []:
            return self.good(True)
        if len(body["reaction"]) != 1 or body["reaction"][0]["emoji"] not in ("👌", "👍", "👀"):  # the reactions that bots may use
            return self.bad("REACTION_INVALID")
        with self.lock:
            self.reactions.append((body["chat_id"], body["message_id"]))
        return self.good(True)

    def do_answercallbackquery(self, token, body):
        with self.lock:
            self.answered.append((body["callback_query_id"], body.get("text")))
        return self.good(True)

    # ---- actions of people ----------------------------------------------------------------------------------------
    def message(self, text, chat=5, topic=None, user=MIA, **change):
        m = {"message_id": next(self.numbers), "date": 1, "from": user, "text": text,
             "chat": {"id": chat, "type": "private", "first_name": "Mia"} if chat > 0 else {"id": chat, "type": "supergroup", "title": "Room"}}
        if topic:
            m.update(message_thread_id=topic, is_topic_message=True)
        m.update(change)
        return m

    def update(self, token=TOKEN, **what):
        with self.changed:
            u = {"update_id": next(self.numbers), **what}
            self.updates[token].append(u)
            self.changed.notify_all()
        return u

    def say(self, text, **more):
        m = self.message(text, **more)
        self.update(message=m)
        return m["message_id"]

    def press(self, message, data, user=MIA, **place):
        """`user` presses a button below the message; `place`: where, if not there (chat, topic). The update."""
        where = {**message, **place}
        topic = {"is_topic_message": True, "message_thread_id": where["topic"]} if where["topic"] else {}
        return self.update(callback_query={"id": f"q{next(self.numbers)}", "from": user, "chat_instance": "1", "data": data,
                                           "message": {"message_id": message["id"], "date": 1, "chat": {"id": where["chat"], "type": "private"}, **topic}})

    def deliver(self, cluster, update, secret=SECRET, path="updates"):
        headers = {"Authorization": None, **({"X-Telegram-Bot-Api-Secret-Token": secret} if secret is not None else {})}
        return cluster.api("POST", "/v1/chat/telegram/" + path, update, headers=headers)

    # ---- the view of people ---------------------------------------------------------------------------------------
    def shown(self, chat=5, topic=None):
        with self.lock:
            return [dict(m) for _, m in sorted(self.messages.items()) if m["chat"] == chat and m["topic"] == topic]

    def see(self, condition, what, chat=5, topic=None, seconds=60):
        return until(lambda: (lambda all: all if condition(all) else None)(self.shown(chat, topic)), what, seconds)

    @staticmethod
    def buttons(message):
        return [b["callback_data"] for row in (message["markup"] or {}).get("inline_keyboard", []) for b in row]

    def word_on(self, pressed):
        """What the person reads who pressed this button; None: no answer yet, or one without a word."""
        with self.lock:
            return next((text for query, text in self.answered if query == pressed["callback_query"]["id"]), None)

    def confirmed(self):
        with self.changed:
            return not self.updates[TOKEN]
