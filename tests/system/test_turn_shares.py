"""Shares of live turns: a token, a chat service and a scope have so many and no more, others go on, and a stop always passes."""
import pytest

from harness.telegram import FakeTelegram
from harness.turns import TurnCluster
from harness.waiting import until
from test_chat_refusals import BOB
from test_chat_telegram import TelegramCluster

SCRIPT = [
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "delay_ms": 40}]},
    {"when": {"user": "spawns", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "endless"}}]}]},
    {"text": "You said {{text}}."},
]


def limited(**limits):
    return TurnCluster(SCRIPT, "\n[limits]\n" + "".join(f"{key} = {most}\n" for key, most in limits.items()), 'tools = ["spawn_agent"]', workers=0)


def token(c, name, role="chat", scope="room"):
    return c.api("POST", "/v1/tokens", {"name": name, "role": role, "scope": scope}).json["token"]


def post(c, who, scope, text, author="mia"):
    return c.post(scope, text, token=who, author={"id": author})


def begun(answer):
    assert answer.status == 202, answer.body
    return answer.json["turn"]["id"]


def is_refused(answer, whose, setting):
    assert answer.status == 429 and answer.json["code"] == "too_many_operations", answer.body
    assert whose in answer.json["detail"] and f"limits.{setting}" in answer.json["detail"], answer.body
    return True


def test_a_token_has_so_many_turns_and_the_next_token_goes_on():
    with limited(turns_per_token=2) as c:
        one, two = token(c, "one"), token(c, "two")
        first = begun(post(c, one, "room/1", "spawns", "ann"))
        until(lambda: c.operations(kind="sub_agent", status="running"), "the sub-agent, which is no turn")
        second = begun(post(c, one, "room/2", "endless", "bob"))
        assert is_refused(post(c, one, "room/3", "hello", "cyd"), "token one has 2 live turns", "turns_per_token")
        assert is_refused(post(c, one, "room/2", "hello", "cyd"), "token one has 2 live turns", "turns_per_token"), "one that waits is one, too"
        assert c.messages("room/3") == []
        assert c.ended(begun(post(c, two, "room/3", "hello", "cyd")))["status"] == "completed"
        for _ in range(3):  # who owns the machine has no share
            begun(c.post("room/4", "endless"))

        c.restart()
        assert is_refused(post(c, one, "room/3", "hello", "cyd"), "token one has 2 live turns", "turns_per_token"), "a restart knows whose they are"
        stop = post(c, one, "room/2", "stop", "bob")
        assert stop.status == 200 and stop.json["decision"] == "cancel", stop.body
        assert c.ended(second)["status"] == "cancelled"
        third = begun(post(c, one, "room/3", "endless", "cyd"))
        assert is_refused(post(c, one, "room/2", "hello", "bob"), "token one has 2 live turns", "turns_per_token")
        assert c.api("POST", f"/v1/operations/{first}/cancel", {}, token=one).status in (200, 202)
        assert c.api("POST", "/v1/cancels", {"scope": "room/3"}, token=one).status in (200, 202)
        assert [c.ended(turn)["status"] for turn in (first, third)] == ["cancelled"] * 2
        assert c.ended(begun(post(c, one, "room/3", "hello", "cyd")))["status"] == "completed"
        c.cancel(scope="room")
        c.check_scope("room/3")


def test_a_scope_and_what_is_below_it_have_so_many_turns_whoever_brings_them():
    with limited(turns_per_scope=2) as c:
        one, two = token(c, "one", scope="guilds"), token(c, "two", scope="guilds")
        begun(post(c, one, "guilds/a/1", "endless", "ann"))
        begun(post(c, two, "guilds/a/2", "endless", "bob"))
        assert is_refused(post(c, one, "guilds/a/3", "hello", "cyd"), "scope guilds/a has 2 live turns", "turns_per_scope")
        assert is_refused(c.post("guilds/a/3", "hello"), "scope guilds/a has 2 live turns", "turns_per_scope"), "the owner of the machine fills no guild either"
        assert c.ended(begun(c.post("elsewhere", "hello")))["status"] == "completed"
        stop = post(c, two, "guilds/a/2", "never mind", "bob")
        assert stop.status == 200 and stop.json["decision"] == "cancel", stop.body
        until(lambda: not c.operations(scope="guilds/a/2", kind="turn", status="live"), "the stop")
        assert c.ended(begun(post(c, one, "guilds/a/3", "hello", "cyd")))["status"] == "completed"
        c.cancel(scope="guilds")


@pytest.mark.parametrize("word", ["stop", "/stop"])
def test_a_chat_service_at_its_limit_tells_who_asks_holds_back_no_token_and_no_stop(word):
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, more="\n[limits]\nturns_per_token = 2\n") as c:
        telegram.say("endless")
        telegram.say("endless", chat=77, user=BOB)
        until(lambda: len(c.turns()) == 2, "a turn of each")
        refused = telegram.say("more")
        told = telegram.see(lambda all: any(m["to"] == refused for m in all), "the refusal")
        [words] = [m["text"] for m in told if m["to"] == refused]
        assert words.startswith("⚠") and "2 live turns" in words and "turns_per_token" in words, words
        assert c.ended(begun(c.post("mine", "hello")))["status"] == "completed"
        stop = telegram.say(word)
        until(lambda: (5, stop) in telegram.reactions, "the acknowledgement")
        until(lambda: all(t["status"] == "cancelled" for t in c.turns("telegram/5")), "the turn of this chat to be stopped")
        assert [t["status"] for t in c.turns("telegram/77")] == ["running"], "the other chat goes on"
        telegram.say("hello again")
        telegram.see(lambda all: any(m["text"] == "You said hello again." for m in all), "an answer in the place that is free")
        until(telegram.confirmed, "all updates to be done with")
        c.cancel(scope="telegram")
