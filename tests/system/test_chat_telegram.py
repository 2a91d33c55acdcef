"""Telegram: real quelld, a Telegram on loopback with Telegram's rules, another one of a third party, and grammy as judge of the first."""
import json
import os

import pytest

from harness.cluster import free_ports
from harness.peers import Program, installed
from harness.telegram import CONFIG, ENVIRONMENT, MIA, TOKEN, FakeTelegram
from harness.turns import TurnCluster
from harness.waiting import until

PEERS = ("telegram-4.2.1-1.46.0", ["telegram-test-api@4.2.1", "grammy@1.46.0"])
HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness")
LONG = "\n\n".join(f"Paragraph {i}: " + "word é漢👍 " * 40 for i in range(30))
SCRIPT = [
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 40}]},
    {"when": {"user": "slowly"}, "steps": [{"text": "This comes in small pieces, one after the other.", "chunk": 4, "delay_ms": 500}]},
    {"when": {"user": "long"}, "steps": [{"text": LONG, "chunk": 200, "delay_ms": 5}]},
    {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true"}}]}]},
    {"when": {"result": ""}, "text": "As you wish."},
    {"text": "You said {{text}}."},
]


class TelegramCluster(TurnCluster):
    def __init__(self, url, more="", chat_settings="", admitted='chats = ["*"]'):
        section = CONFIG.format(url=url).replace('chats = ["*"]', admitted)
        super().__init__(SCRIPT, config=f'[chat]\nacknowledgement_model = "none"\n{chat_settings}\n' + section + more, workers=0)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, **ENVIRONMENT}, **options)

    def turns(self, scope="telegram"):
        return self.operations(scope=scope, kind="turn")


@pytest.fixture
def world():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        until(lambda: telegram.polls, "quelld to ask for updates")
        yield telegram, c


def test_a_message_is_answered_by_edits_of_one_message_that_answers_it(world):
    telegram, c = world
    said = telegram.say("slowly, please")
    text = "This comes in small pieces, one after the other."
    [reply] = telegram.see(lambda all: all and all[0]["text"] == text and not all[0]["markup"], "the whole reply")
    assert len(reply["texts"]) > 2 and all(text.startswith(t.rstrip()) for t in reply["texts"]), reply["texts"]
    assert reply["to"] == said
    [turn] = c.turns()
    assert turn["scope"] == "telegram/5" and turn["owner"] == {"id": "5", "name": "Mia"}, turn


def test_in_groups_only_what_is_addressed_counts_and_stops_do_always(world):
    telegram, c = world
    telegram.say("hello everybody", chat=-100)
    telegram.say("stop", chat=-100)  # meant for somebody else: nothing runs here
    telegram.say("@clanky_bot hello", chat=-100, topic=9)
    telegram.see(lambda all: all and all[0]["text"] == "You said hello.", "the answer in the topic", chat=-100, topic=9)
    telegram.say("/ask endless", chat=-100)
    telegram.see(lambda all: all and len(all[0]["text"]) > 20, "the reply to begin", chat=-100)
    telegram.say("/stop@other_bot", chat=-100)
    telegram.say("stop", chat=-100, reply_to_message={"message_id": 1, "from": {"id": 77, "is_bot": False, "first_name": "Tom"}})
    stop = telegram.say("never mind", chat=-100)
    until(lambda: (-100, stop) in telegram.reactions, "the acknowledgement")
    [turn] = until(lambda: c.operations(scope="telegram/-100", kind="turn", status="cancelled"), "the reply to be stopped")
    assert turn["scope"] == "telegram/-100"
    assert len(c.turns()) == 2


@pytest.mark.parametrize("word", ["/stop", "stop", "ok, Clanky, stop!"])
def test_stop_ends_the_reply_at_once_and_is_acknowledged_first(world, word):
    telegram, c = world
    telegram.say("endless")
    telegram.see(lambda all: all and len(all[0]["text"]) > 30, "some of the endless reply")
    telegram.say("in the queue")
    stop = telegram.say(word)
    until(lambda: (5, stop) in telegram.reactions, "the acknowledgement")
    until(lambda: all(t["status"] == "cancelled" for t in c.turns()), "everything to be stopped")
    [reply] = telegram.see(lambda all: "stopped" in all[0]["text"] and not all[0]["markup"], "the mark of the end")
    shown = [t.split("\n⏹")[0] for t in reply["texts"]]
    assert len(shown[-1]) <= max(map(len, shown[:-1])), shown[-3:]
    telegram.say("hello again")
    telegram.see(lambda all: all[-1]["text"] == "You said hello again.", "work said after the stop")
    assert not [m for m in telegram.shown() if "queue" in m["text"]]


def test_edits_and_bots_start_nothing(world):
    telegram, c = world
    telegram.update(edited_message=telegram.message("an edit"))
    telegram.say("a bot", user={"id": 9, "is_bot": True, "first_name": "Other"})
    telegram.say("/start")
    telegram.say("hello")
    telegram.see(lambda all: len(all) == 2 and all[-1]["text"] == "You said hello.", "the greeting and the answer")
    assert len(c.turns()) == 1


def test_the_stop_button_ends_its_reply(world):
    telegram, c = world
    telegram.say("endless")
    [reply] = telegram.see(lambda all: all and telegram.buttons(all[0]), "a reply with a button")
    telegram.press(reply, telegram.buttons(reply)[0])
    [turn] = c.turns()
    done = c.ended(turn["id"])
    assert done["status"] == "cancelled" and done["stop"]["by"]["name"] == "Mia", done
    until(lambda: telegram.answered, "the button to be answered")
    telegram.see(lambda all: "stopped" in all[0]["text"] and not all[0]["markup"], "the mark of the end")
    telegram.press(reply, "stop:nonsense")
    telegram.press(reply, telegram.buttons(reply)[0])
    until(telegram.confirmed, "all updates to be done with")


def test_a_long_answer_arrives_whole_and_in_order_whatever_telegram_refuses(world):
    telegram, c = world
    wait = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 1", "parameters": {"retry_after": 1}}
    telegram.scripted["editMessageText"].extend([(429, {}, wait), (503, {}, {})])
    telegram.scripted["sendMessage"].append((429, {}, wait))
    telegram.say("long")
    squeezed = "".join(LONG.split())
    telegram.see(lambda all: "".join("".join(m["text"] for m in all).split()) == squeezed, "exactly the answer", seconds=60)
    assert len(telegram.shown()) >= 3


def test_updates_are_neither_lost_nor_taken_twice_over_crashes(world):
    telegram, c = world
    for i in range(12):
        telegram.say(f"number {i}")
        if i % 4 == 1:
            c.restart()
    until(telegram.confirmed, "all updates to be taken", 120)
    until(lambda: len(c.turns()) == 12 and not c.operations(scope="telegram", kind="turn", status="live"), "all turns to have ended", 120)
    texts = [m["text"] for m in c.messages("telegram/5") if m["role"] == "user"]
    assert texts == [f"number {i}" for i in range(12)]


def test_what_is_said_while_quelld_is_dead_is_answered_by_its_next_life(world):
    telegram, c = world
    telegram.say("hello")
    telegram.see(lambda all: [m["text"] for m in all] == ["You said hello."] and not all[0]["markup"], "the first answer")
    telegram.say("endless", user={**MIA, "id": 6, "first_name": "Noa"}, chat=6)
    telegram.see(lambda all: all and len(all[0]["text"]) > 20, "some of the reply", chat=6)
    c.kill_controller()
    telegram.say("one")
    telegram.say("stop", user={**MIA, "id": 6, "first_name": "Noa"}, chat=6)
    telegram.say("hello everybody", chat=-100)  # not to the bot
    telegram.say("@clanky_bot two", chat=-100)
    telegram.say("three")
    c.start_controller()
    telegram.see(lambda all: [m["text"] for m in all[1:]] == ["You said one.", "You said three."], "both answers, in order")
    telegram.see(lambda all: [m["text"] for m in all] == ["You said two."], "the group's answer", chat=-100)
    until(lambda: not c.operations(scope="telegram", kind="turn", status="live"), "the endless reply to be stopped")
    until(telegram.confirmed, "all updates to be taken")
    until(lambda: not c.remembers("telegram")["shown"]["parts"], "quelld to know that Telegram has every answer")
    c.restart()  # nothing of it comes again
    telegram.say("four")
    telegram.see(lambda all: [m["text"] for m in all[1:]] == ["You said one.", "You said three.", "You said four."], "each answer once")
    assert [m["text"] for m in telegram.shown(-100)] == ["You said two."]
    stopped, = [t for t in c.turns("telegram/6")]
    assert stopped["status"] == "cancelled", stopped


def test_telegram_may_be_down_and_come_back(world):
    telegram, c = world
    telegram.say("hello")
    telegram.see(lambda all: len(all) == 1, "the first answer")
    until(lambda: not c.remembers("telegram")["shown"]["parts"], "quelld to know that Telegram has it: else it would say that something may be missing")
    telegram.stop()
    telegram.updates[TOKEN].append({"update_id": next(telegram.numbers), "message": telegram.message("again")})
    telegram.start()
    telegram.see(lambda all: [m["text"] for m in all] == ["You said hello.", "You said again."], "both answers, each once")


def test_after_a_crash_the_reply_goes_on_in_its_message(world):
    telegram, c = world
    telegram.say("endless")
    [reply] = telegram.see(lambda all: all and len(all[0]["text"]) > 20, "some of the reply")
    until(lambda: f'{reply["id"]}"' in c.chat_memory("telegram").replace("\\", ""), "the message to be remembered")
    turn = c.turns()[0]["id"]
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    assert len(telegram.shown()) == 1
    c.cancel(operation=turn)


def test_a_webhook_is_set_and_taken_with_its_secret_only():
    more = 'webhook_url = "https://bot.test/v1/chat/telegram/updates"\nwebhook_secret_env = "TEST_TELEGRAM_HOOK"\n'
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, more) as c:
        until(lambda: telegram.hook, "the webhook to be set")
        assert telegram.hook["url"] == "https://bot.test/v1/chat/telegram/updates" and telegram.hook["secret_token"] == ENVIRONMENT["TEST_TELEGRAM_HOOK"]
        update = {"update_id": 7, "message": telegram.message("hello")}
        for secret in (None, "", "hook-secret_", "hook-secret_12", "HOOK-SECRET_1"):
            assert telegram.deliver(c, update, secret=secret).status == 401
        assert telegram.deliver(c, update, path="update").status == 404
        assert telegram.deliver(c, {"no": "update"}).status == 400
        assert not c.turns()
        for _ in range(3):
            assert until(lambda: telegram.deliver(c, update).status == 200, "the update to be taken")
        telegram.see(lambda all: all and all[0]["text"] == "You said hello.", "the answer")
        c.restart()
        until(lambda: telegram.deliver(c, update).status == 200, "the update to be taken again")
        assert len(c.turns()) == 1
        assert telegram.polls == 0


def test_it_works_with_a_telegram_of_somebody_elses():
    home = installed(*PEERS)
    port = free_ports(1)[0]
    with Program("node", os.path.join(HARNESS, "telegram_api.mjs"), home, str(port), TOKEN) as api:
        api.line("LISTENS")

        def shown():
            count = len(api.all("SHOWN"))
            api.say(json.dumps({"show": True}))
            return json.loads(api.line("SHOWN", count + 1)[6:])
        with TelegramCluster(f"http://127.0.0.1:{port}") as c:
            api.say(json.dumps({"say": "hello"}))
            until(lambda: [m["text"] for m in shown()][-1:] == ["You said hello."], "the answer")
            api.say(json.dumps({"say": "endless"}))
            until(lambda: len(shown()[-1]["text"]) > 30 and "on and" in shown()[-1]["text"], "the reply to grow")
            api.say(json.dumps({"say": "/stop"}))
            until(lambda: all(t["status"] in ("completed", "cancelled") for t in c.turns()), "the reply to be stopped")
            # It has no reactions, so the acknowledgement is a text.
            until(lambda: any("🛑" in m["text"] for m in shown()), "the acknowledgement")
            assert sorted(t["status"] for t in c.turns()) == ["cancelled", "completed"]


def test_the_telegram_that_is_played_here_is_one_for_grammy():
    home = installed(*PEERS)
    with FakeTelegram() as telegram:
        telegram.updates["9:grammy"] = []
        with Program("node", os.path.join(HARNESS, "grammy_echo.mjs"), home, telegram.url, "9:grammy") as bot:
            bot.line("STARTED clanky_bot")
            for text in ("hello", "and again"):
                message = telegram.message(text)
                telegram.update(token="9:grammy", message=message)
                telegram.see(lambda all: all and all[-1]["text"] == "echoed " + text and all[-1]["to"] == message["message_id"], "grammy's answer")
                until(lambda: (5, message["message_id"]) in telegram.reactions, "grammy's reaction")
            [first, _] = telegram.shown()
            telegram.updates["9:grammy"].append({**telegram.press(first, "pressed"), "update_id": 10**6})
            until(lambda: any(text == "pressed" for _, text in telegram.answered), "grammy's word about a button")
            telegram.closing = True
