"""quelld as a component of a real XMPP server: rooms and people, a stop that stops, and recovery after every kind of loss."""
import json
import os

import pytest
from harness.turns import TurnCluster
from harness.waiting import until
from harness.xmpp import Person, Prosody

ACKNOWLEDGE = "interrupted"  # occurs only in the instructions of an acknowledgement
SCRIPT = [{"when": {"system": ACKNOWLEDGE}, "text": "🛑 All right."},
          {"when": {"user": "tell all"}, "steps": [{"endless": "old words and ", "delay_ms": 5}]},
          {"when": {"user": "list"}, "text": "\n".join(f"item {i} <ö> & 🛑 " + "x" * 30 * i for i in range(30))},
          {"text": "You said {{text}}."}]
ROOM, BOT, SCOPE = "dev@rooms.test", "clanky@bot.test", "xmpp/dev@rooms.test"
IN_ROOM = ROOM + "/clanky"


def section(folder, port, secret="component-secret", **keys):
    path = os.path.join(folder, "component.secret")
    with open(path, "w") as f:
        f.write(secret)
    values = {"port": port, "domain": '"bot.test"', "secret_file": f'"{path}"', "nick": '"clanky"', "rooms": f'["{ROOM}"]', "users": '["*"]', "pace": '"100ms"',
              "rejoin": '"300ms"', "retry_first": '"100ms"', "retry_most": '"1s"', **keys}
    return "[xmpp]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


def log_of(cluster):
    with open(os.path.join(cluster.directory, "quelld.log"), errors="replace") as f:
        return f.read()


def wait_log(cluster, words):
    return until(lambda: words in log_of(cluster), lambda: f"{words!r} in quelld's log: {log_of(cluster)[-1500:]}")


def wait_in(person):
    until(lambda: person.sees(ROOM, "clanky"), "clanky to be in the room")


@pytest.fixture
def xmpp(tmp_path):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.component), workers=0) as c:
            wait_in(mia)
            yield server, c, mia


def test_questions_are_answered_where_they_were_asked(xmpp):
    server, c, mia = xmpp
    mia.say_in(ROOM, "nobody is meant")
    mia.say_in(ROOM, "clanky: hello <you> & all")
    mia.wait_body(IN_ROOM, "You said")
    assert mia.bodies(IN_ROOM) == ["You said hello <you> & all."]
    mia.say(BOT, "hi there")
    mia.wait_body(BOT, "You said hi there.")
    said = [(m["text"], m["author"]["id"]) for m in c.messages(SCOPE) if m["role"] == "user"]
    assert said == [("hello <you> & all", ROOM + "/mia")], said
    assert [m["author"]["id"] for m in c.messages("xmpp/mia@people.test") if m["role"] == "user"] == ["mia@people.test"]


def test_a_delivery_is_taken_once(xmpp):
    server, c, mia = xmpp
    for _ in range(3):
        mia.say(BOT, "hello", more="<origin-id xmlns='urn:xmpp:sid:0' id='the-same'/>")
    mia.say(BOT, "last")
    mia.wait_body(BOT, "You said last.")
    assert [m["text"] for m in c.messages("xmpp/mia@people.test") if m["role"] == "user"] == ["hello", "last"]


def test_messages_are_taken_in_the_order_in_which_they_were_said(xmpp):
    server, c, mia = xmpp
    said = [f"number {i}" for i in range(50)]
    for i, text in enumerate(said):  # with an id that is looked up, and without
        mia.say(BOT, text, more=f"<origin-id xmlns='urn:xmpp:sid:0' id='id-{i}'/>" if i % 2 else "")

    def taken():
        return [m["text"] for m in c.messages("xmpp/mia@people.test") if m["role"] == "user"]
    until(lambda: len(taken()) == len(said), "all to be taken")
    assert taken() == said


def test_a_long_answer_arrives_whole(xmpp):
    server, c, mia = xmpp
    mia.say(BOT, "list")
    mia.wait_body(BOT, "item 29", 60)
    text = "".join(mia.bodies(BOT))
    assert all(f"item {i} <ö> & 🛑 " in text for i in range(30)) and text.count("x") == 30 * sum(range(30))


def test_anybody_stops_an_answer_and_nothing_more_of_it_comes(xmpp):
    server, c, mia = xmpp
    with Person(server.c2s, "oz", ROOM) as oz:
        mia.say_in(ROOM, "clanky: tell all")
        mia.wait_body(IN_ROOM, "old words", 60)
        oz.say_in(ROOM, "stop")
        mia.wait_body(IN_ROOM, "🛑")
        at = next(i for i, t in enumerate(mia.bodies(IN_ROOM)) if "🛑" in t)
        until(lambda: not c.operations(scope=SCOPE, status="live"), "the turn to be over")
        oz.say_in(ROOM, "clanky: hello")
        mia.wait_body(IN_ROOM, "You said hello.")
        behind = mia.bodies(IN_ROOM)[at + 1:]
        assert [t for t in behind if not t.startswith("🛑")] == ["You said hello."], behind  # what is stopping for long is told so first
    turns = lambda: c.operations(scope=SCOPE, kind="turn")
    until(lambda: sorted(t["status"] for t in turns()) == ["cancelled", "completed"], "the second turn to be complete")
    assert next(t for t in turns() if t["status"] == "cancelled")["stop"]["by"]["id"] == ROOM + "/oz"
    c.check_scope(SCOPE)


def test_a_stop_that_replies_to_somebody_else_stops_nothing(xmpp):
    server, c, mia = xmpp
    with Person(server.c2s, "oz", ROOM) as oz:
        mia.say_in(ROOM, "clanky: tell all")
        mia.wait_body(IN_ROOM, "old words", 60)
        oz.say_in(ROOM, "wait a moment")
        mia.wait_body(ROOM + "/oz", "wait a moment")
        mia.say_in(ROOM, "stop", more=f"<reply xmlns='urn:xmpp:reply:0' to='{ROOM}/oz' id='m1'/>")
        mia.say(BOT, "hello")  # behind it, on the same way
        mia.wait_body(BOT, "You said hello.")
        [turn] = c.operations(scope=SCOPE, kind="turn")
        assert turn["status"] == "running" and not c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"], turn
        mia.say_in(ROOM, "stop", more=f"<reply xmlns='urn:xmpp:reply:0' to='{IN_ROOM}' id='m2'/>")
        mia.wait_body(IN_ROOM, "🛑")
        assert c.ended(turn["id"])["stop"]["by"]["id"] == ROOM + "/mia"


def test_a_stop_with_nothing_to_stop_is_an_ordinary_message(xmpp):
    server, c, mia = xmpp
    mia.say(BOT, "stop")
    mia.wait_body(BOT, "You said stop.")


def test_history_of_a_room_is_not_answered_when_it_comes_in(tmp_path):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia:
        mia.say_in(ROOM, "clanky: said before you came")
        until(lambda: mia.bodies(ROOM + "/mia"), "the room to have it")
        with TurnCluster(SCRIPT, section(str(tmp_path), server.component), workers=0) as c:
            wait_in(mia)
            mia.say_in(ROOM, "clanky: hello")
            mia.wait_body(IN_ROOM, "You said hello.")
            assert mia.bodies(IN_ROOM) == ["You said hello."]


def test_it_comes_back_after_the_server_did(xmpp):
    server, c, mia = xmpp
    server.stop()
    wait_log(c, "xmpp: retrying")
    server.start()
    with Person(server.c2s, "oz", ROOM) as oz:
        wait_in(oz)
        oz.say_in(ROOM, "clanky: hello")
        oz.wait_body(IN_ROOM, "You said hello.")


def test_kicked_it_comes_back(xmpp):
    server, c, mia = xmpp
    # The first occupant owns the room.
    mia.send(f"<iq type='set' id='kick' to='{ROOM}'><query xmlns='http://jabber.org/protocol/muc#admin'><item nick='clanky' role='none'/></query></iq>")
    wait_log(c, f"not in {ROOM}: kicked")
    until(lambda: log_of(c).rindex(f", in {ROOM}") > log_of(c).rindex("kicked"), "clanky to be back")
    mia.say_in(ROOM, "clanky: hello")
    mia.wait_body(IN_ROOM, "You said hello.")


def test_an_answer_goes_on_after_a_kill_of_quelld_and_a_stop_makes_room_for_the_next(xmpp):
    server, c, mia = xmpp
    mia.say_in(ROOM, "clanky: tell all")
    mia.wait_body(IN_ROOM, "old words", 60)
    turn = c.operations(kind="turn", status="live")[0]["id"]
    c.kill_controller()
    since = len(mia.bodies(IN_ROOM))
    c.start_controller()
    # The room has not noticed: a component's occupants stay until the component reports their leave.
    until(lambda: log_of(c).count(f"as {BOT}, in {ROOM}") >= 2, "clanky to be in the room again")
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    c.cancel(operation=turn)
    mia.say_in(ROOM, "clanky: hello")
    mia.wait_body(IN_ROOM, "You said hello.", since=since)
    c.check_scope(SCOPE)


def test_a_request_that_is_corrected_is_asked_anew_and_one_that_is_taken_back_stops(xmpp):
    server, c, mia = xmpp

    def begun():
        since = len(mia.bodies(IN_ROOM))
        mia.say_in(ROOM, "clanky: tell all")
        mia.wait_body(IN_ROOM, "old words", since=since)
        return c.operations(kind="turn", status="live")[0]["id"], f"m{mia.count}"

    turn, request = begun()
    mia.say_in(ROOM, "clanky: hello", more=f"<replace id='{request}' xmlns='urn:xmpp:message-correct:0'/>")
    mia.wait_body(IN_ROOM, "You said hello.")
    assert c.ended(turn)["status"] == "cancelled"
    turn, request = begun()
    mia.say_in(ROOM, "clanky: this was retracted", more=f"<retract id='{request}' xmlns='urn:xmpp:message-retract:1'/>")
    assert c.ended(turn)["status"] == "cancelled"
    mia.say_in(ROOM, "clanky: and now")
    mia.wait_body(IN_ROOM, "You said and now.")
    assert [m["text"] for m in c.messages(SCOPE) if m["role"] == "user"] == ["tell all", "hello", "tell all", "and now"]
    c.check_scope(SCOPE)


def heard(c):
    more = c.remembers("xmpp").get("more")
    return json.loads(more)["heard"].get(ROOM) if more else None


def test_what_was_said_in_a_room_meanwhile_is_answered_and_a_stop_among_it_goes_first(xmpp):
    server, c, mia = xmpp
    mia.say_in(ROOM, "clanky: one")
    mia.wait_body(IN_ROOM, "You said one.")
    until(lambda: heard(c), "the room to be remembered")
    c.kill_controller()
    for text in ("clanky: delete everything", "stop", "clanky: two", "not to you", "clanky: three"):
        mia.say_in(ROOM, text)
    until(lambda: mia.bodies(ROOM + "/mia")[-1] == "clanky: three", "the room to have it all")
    c.start_controller()
    mia.wait_body(IN_ROOM, "You said three.", 60)
    mia.wait_body(IN_ROOM, "stopped before it began: 1 message")
    said = [m["text"] for m in c.messages(SCOPE) if m["role"] == "user"]
    assert said == ["one", "two", "three"], said
    c.restart()
    mia.say_in(ROOM, "clanky: four")
    mia.wait_body(IN_ROOM, "You said four.", 60)
    assert [m["text"] for m in c.messages(SCOPE) if m["role"] == "user"] == ["one", "two", "three", "four"]


def test_questions_about_the_bot_are_answered(xmpp):
    server, c, mia = xmpp
    mia.send(f"<iq type='get' id='info' to='{BOT}'><query xmlns='http://jabber.org/protocol/disco#info'/></iq>"
             f"<iq type='get' id='ping' to='{BOT}'><ping xmlns='urn:xmpp:ping'/></iq>"
             f"<iq type='set' id='odd' to='{BOT}'><query xmlns='jabber:iq:roster'/></iq>")
    until(lambda: mia.has("iq", id="info", type="result") and mia.has("iq", id="ping", type="result") and mia.has("iq", id="odd", type="error"),
          "three answers")


def test_a_wrong_secret_is_said_and_waited_over(tmp_path):
    with Prosody(str(tmp_path)) as server:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.component, secret="wrong-geheim", retry_most='"1h"'), workers=0) as c:
            wait_log(c, "check the component's secret")
            assert "geheim" not in log_of(c) and c.healthy()
            assert log_of(c).count("not-authorized") == 1
