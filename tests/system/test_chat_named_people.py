"""Slack, Telegram and XMPP are closed until they are opened, and only named approvers decide, where it was asked (decision 035). Discord: test_chat_admission.py."""
import itertools
import os

import pytest

from harness.slack import FakeSlack
from harness.telegram import MIA, FakeTelegram
from harness.turns import TurnCluster
from harness.waiting import until
from harness.xmpp import Person, Prosody
from test_chat_slack import SlackCluster, in_slacks_time
from test_chat_telegram import TelegramCluster
from test_chat_xmpp import BOT, IN_ROOM, ROOM, SCOPE, section, wait_in

ASKS = '\n[[approval]]\ntool = "exec"\n'
EVE = {"id": 77, "is_bot": False, "first_name": "Eve"}
TOM = {"id": 7, "is_bot": False, "first_name": "Tom"}
GROUP = -100
NOT_HERE = "nothing of that id waits for approval here"
COMMAND = [{"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true"}}]}]},
           {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 40}]},
           {"when": {"result": ""}, "text": "As you wish."},
           {"text": "You said {{text}}."}]
PINGS = itertools.count(1)


def log_of(c):
    with open(os.path.join(c.directory, "quelld.log"), errors="replace") as f:
        return f.read()


def undecided(c, call):
    """Nobody's word has counted so far."""
    return c.operation(call)["status"] == "paused" and not c.stored_events(call, types="approval_resolved")


def decided_by(c, call):
    """Who decided, once somebody has."""
    told = until(lambda: c.stored_events(call, types="approval_resolved"), "the decision")
    assert len(told) == 1 and c.operation(call)["status"] != "paused", told
    return told[0]["data"]["decision"], told[0]["data"]["by"]["id"]


def claims_are_worth_nothing(c, scope, call, person):
    """A chat bot with a token of its own says for whom it acts; that is not that person's word."""
    token = c.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": scope}).json["token"]
    for word in ("approve", "deny"):
        answer = c.api("POST", f"/v1/operations/{call}/{word}", {"by": {"id": person, "name": person}}, token=token)
        assert answer.status == 403 and answer.json["code"] == "forbidden", answer.body
    assert undecided(c, call)


def untouched(c, turn, scope):
    """It runs on, and nobody has ordered a stop of anything there."""
    return c.operation(turn)["status"] == "running" and c.api("GET", f"/v1/cancels?scope={scope}").json["cancels"] == []


# ---- Slack ----------------------------------------------------------------------------------------------------------
SPEAKERS = [("U1", "T1"), ("U1", "T2"), ("U2", "T1")]


@pytest.mark.parametrize("admitted, heard", [("", []), ('teams = ["T9"]\nusers = ["U9"]', []), ('teams = ["t1", "T"]\nusers = ["u1", ""]', []),
                                             ('teams = ["T1"]', [("U1", "T1"), ("U2", "T1")]), ('users = ["U1"]', [("U1", "T1"), ("U1", "T2")]),
                                             ('users = ["*"]', SPEAKERS)])
def test_slack_hears_only_who_is_named(admitted, heard):
    with FakeSlack() as slack, SlackCluster(slack, admitted=admitted) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        for user, team in SPEAKERS:  # each is answered once it is decided
            slack.say(c, "<@UBOT> hello", user=user, team=team)
            slack.say(c, "hello", user=user, team=team, channel="D" + user)
            is_heard = (user, team) in heard
            asked = in_slacks_time(lambda: slack.command(c, "/ask", "hello", user_id=user, team_id=team))
            assert (b"does not work here" in asked.body) != is_heard, asked.body
        turns = sorted((t["owner"]["id"], t["scope"].split("/")[1]) for t in c.turns())
        assert turns == sorted(heard * 3), turns
        if len(heard) < len(SPEAKERS):
            assert "is not admitted" in log_of(c)


def test_slack_nobody_stops_who_is_not_named():
    with FakeSlack() as slack, SlackCluster(slack, admitted='users = ["U1"]') as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        turn = c.say("slack/T1/C1", "endless")
        [reply] = slack.see(lambda all: all and "on and" in all[0]["text"] and slack.buttons(all[0]), "a reply with a button")
        for text in ("stop", "<@UBOT> stop", "ok, never mind"):
            slack.say(c, text, user="U2")
        slack.say(c, "", subtype="message_changed", user=None,
                  message={"type": "message", "user": "U2", "text": "stop", "ts": slack.fresh(), "edited": {"user": "U2", "ts": slack.fresh()}})
        for name in ("/stop", "/ask"):
            answer = in_slacks_time(lambda: slack.command(c, name, "stop", user_id="U2"))
            assert answer.json["text"] == "This does not work here.", answer.body
        assert slack.press(c, reply, "quell_stop", turn, user="U2").status == 200
        assert untouched(c, turn, "slack")
        slack.say(c, "stop")
        assert c.ended(turn)["status"] == "cancelled"


def test_slack_only_a_named_approver_decides_and_only_where_it_was_asked():
    with FakeSlack() as slack, SlackCluster(slack, admitted='users = ["U1", "U7", "U9"]', chat_settings='approvers = ["slack:U1", "slack:U5", "slack:U7"]', more=ASKS) as c:
        ts = slack.say(c, "<@UBOT> asks")
        [_, question] = slack.see(lambda all: len(all) == 2 and slack.buttons(all[1]), "the question", thread=ts)
        call = slack.buttons(question)["quell_approve"]
        other = slack.say(c, "<@UBOT> hello")  # a thread beside it
        refusals = []

        def refused(user, words, action="quell_approve", **where):
            assert slack.press(c, question, action, call, user=user, **where).status == 200
            if words:
                refusals.append((user, words))
                until(lambda: len(slack.calls("chat.postEphemeral")) == len(refusals), "the reason")
            told = slack.calls("chat.postEphemeral")
            assert [t["user"] for t in told] == [u for u, _ in refusals] and all(w in t["text"] for t, (_, w) in zip(told, refusals)), told
            assert undecided(c, call)

        refused("U5", None)  # named as an approver, but nobody who may speak here
        for action in ("quell_approve", "quell_deny"):
            refused("U9", "you are not an approver", action)
            refused("U1", "it is your own request", action)
            refused("U7", NOT_HERE, action, channel="C9", ts="1.2", thread_ts=None)
            refused("U7", NOT_HERE, action, thread_ts=other)
            refused("U7", NOT_HERE, action, team="T2")
        assert slack.press(c, question, "quell_approve", call, user="U7", secret="another").status == 401
        claims_are_worth_nothing(c, "slack", call, "U7")
        assert slack.press(c, question, "quell_approve", call, user="U7").status == 200
        assert decided_by(c, call) == ("approved", "U7")
        slack.see(lambda all: "approved by u7" in all[1]["text"] and not slack.buttons(all[1]), "the answered question", thread=ts)
        assert slack.press(c, question, "quell_deny", call, user="U7").status == 200
        assert "nothing waits for this answer any more" in until(lambda: slack.calls("chat.postEphemeral")[len(refusals):], "the reason")[0]["text"]
        assert decided_by(c, call) == ("approved", "U7")
        c.cancel(scope="slack")


def test_slack_ones_own_request_is_ones_to_decide_if_that_is_allowed():
    with FakeSlack() as slack, SlackCluster(slack, chat_settings='approvers = ["slack:U1"]\napprove_own = true', more=ASKS) as c:
        ts = slack.say(c, "<@UBOT> asks")
        [_, question] = slack.see(lambda all: len(all) == 2 and slack.buttons(all[1]), "the question", thread=ts)
        call = slack.buttons(question)["quell_approve"]
        assert slack.press(c, question, "quell_approve", call).status == 200
        assert decided_by(c, call) == ("approved", "U1")
        c.cancel(scope="slack")


# ---- Telegram -------------------------------------------------------------------------------------------------------
PLACES = [(MIA, 5), (MIA, GROUP), (EVE, 77), (EVE, GROUP)]


@pytest.mark.parametrize("admitted, heard", [("", []), ('chats = ["100", "-1"]\nusers = ["05", "55"]', []), ('chats = ["-100"]', [(5, GROUP), (77, GROUP)]),
                                             ('users = ["5"]', [(5, 5), (5, GROUP)]), ('chats = ["77"]', [(77, 77)]), ('users = ["*"]', [(5, 5), (5, GROUP), (77, 77), (77, GROUP)])])
def test_telegram_hears_only_who_is_named(admitted, heard):
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, admitted=admitted) as c:
        for user, chat in PLACES:
            for text in ("@clanky_bot hello", "/ask hello", "/start"):
                telegram.say(text, chat=chat, user=user)
        until(telegram.confirmed, "all updates to be done with")
        turns = sorted((int(t["owner"]["id"]), int(t["scope"].split("/")[1])) for t in c.turns())
        assert turns == sorted(heard * 2), turns
        for user, chat in PLACES:
            if not [1 for _, place in heard if place == chat]:
                assert not telegram.shown(chat), "not even a greeting"
        if len(heard) < len(PLACES):
            assert "is not admitted" in log_of(c)


def test_telegram_nobody_stops_who_is_not_named():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, admitted='users = ["5"]') as c:
        until(lambda: telegram.polls, "quelld to ask for updates")
        scope = f"telegram/{GROUP}"
        turn = c.say(scope, "endless")
        [reply] = telegram.see(lambda all: all and telegram.buttons(all[0]), "a reply with a button", chat=GROUP)
        for text in ("stop", "/stop", "@clanky_bot stop", "never mind"):
            telegram.say(text, chat=GROUP, user=EVE)
        telegram.update(edited_message=telegram.message("stop", chat=GROUP, user=EVE, edit_date=2))
        pressed = telegram.press(reply, telegram.buttons(reply)[0], user=EVE)
        until(telegram.confirmed, "all updates to be done with")
        assert telegram.word_on(pressed) is None and untouched(c, turn, scope)
        telegram.say("stop", chat=GROUP)
        assert c.ended(turn)["status"] == "cancelled"


def test_telegram_only_a_named_approver_decides_and_only_where_it_was_asked():
    chat_settings = 'approvers = ["telegram:5", "telegram:7", "telegram:78"]'
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, admitted='users = ["5", "7", "77"]', chat_settings=chat_settings, more=ASKS) as c:
        telegram.say("@clanky_bot asks", chat=GROUP, topic=9)
        [question] = telegram.see(lambda all: all and len(telegram.buttons(all[-1])) == 2, "the question", chat=GROUP, topic=9)
        approve, deny = telegram.buttons(question)
        call = approve.split(":")[1]

        def refused(user, words, data=approve, **where):
            pressed = telegram.press(question, data, user=user, **where)
            until(telegram.confirmed, "the button to be done with")
            if words:
                told = until(lambda: telegram.word_on(pressed), "the reason")
                assert words in told, told
            assert words or telegram.word_on(pressed) is None
            assert undecided(c, call)

        refused({"id": 78, "is_bot": False, "first_name": "Zoe"}, None)  # named as an approver, but nobody who may speak here
        for data in (approve, deny):
            refused(EVE, "you are not an approver", data)
            refused(MIA, "it is your own request", data)
            refused(TOM, NOT_HERE, data, chat=-555, topic=None)
            refused(TOM, NOT_HERE, data, topic=10)
            refused(TOM, NOT_HERE, data, chat=7, topic=None)
        claims_are_worth_nothing(c, "telegram", call, "7")
        pressed = telegram.press(question, deny, user=TOM)
        assert until(lambda: telegram.word_on(pressed), "the answer") == "Denied."
        assert decided_by(c, call) == ("denied", "7")
        late = telegram.press(question, approve, user=TOM)
        assert "this call has ended" in until(lambda: telegram.word_on(late), "the reason") or "any more" in telegram.word_on(late)
        assert decided_by(c, call) == ("denied", "7")


@pytest.mark.parametrize("chat_settings, decides", [("", False), ('approvers = ["telegram:5"]', False), ('approvers = ["telegram:5"]\napprove_own = true', True),
                                              ("approve_own = true", False), ('approvers = ["slack:5", "telegram:55"]\napprove_own = true', False)])
def test_telegram_ones_own_request_is_ones_to_decide_if_one_is_named_and_that_is_allowed(chat_settings, decides):
    with FakeTelegram() as telegram, TelegramCluster(telegram.url, chat_settings=chat_settings, more=ASKS) as c:
        telegram.say("asks")
        [question] = telegram.see(lambda all: all and len(telegram.buttons(all[-1])) == 2, "the question")
        approve = telegram.buttons(question)[0]
        call = approve.split(":")[1]
        pressed = telegram.press(question, approve)
        told = until(lambda: telegram.word_on(pressed), "the answer")
        if decides:
            assert told == "Approved." and decided_by(c, call) == ("approved", "5")
        else:
            assert ("your own request" if "telegram:5\"" in chat_settings else "not an approver") in told and undecided(c, call), told
        c.cancel(scope="telegram")


# ---- XMPP -----------------------------------------------------------------------------------------------------------
class XmppCluster(TurnCluster):
    def __init__(self, folder, server, chat_settings="", more="", **keys):
        super().__init__(COMMAND, f'[chat]\nacknowledgement_model = "none"\n{chat_settings}\n' + section(folder, server.component, **keys) + more, workers=0)


def all_is_decided(person, word):
    """Whatever was written to the bot before this is decided: stanzas are read, and messages decided, in their order."""
    ping = f"ping{next(PINGS)}"
    person.send(f"<iq type='get' id='{ping}' to='{BOT}'><ping xmlns='urn:xmpp:ping'/></iq>")
    until(lambda: person.has("iq", id=ping, type="result"), "the stanzas before it to be read")
    person.say_in(ROOM, f"clanky: {word}")
    person.wait_body(IN_ROOM, f"You said {word}.")


@pytest.mark.parametrize("users, heard", [("[]", []), ('["oz@people.test", "mia@other.test", "@other.test"]', ["oz@people.test"]), ('["mia@people.test"]', ["mia@people.test"]),
                                          ('["@people.test"]', ["mia@people.test", "oz@people.test"]), ('["*"]', ["mia@people.test", "oz@people.test"])])
def test_xmpp_hears_only_who_is_named(tmp_path, users, heard):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia, Person(server.c2s, "oz", ROOM) as oz:
        with XmppCluster(str(tmp_path), server, users=users) as c:
            for person in (mia, oz):
                wait_in(person)
                person.say(BOT, "hello")
                person.say(IN_ROOM, "whispered")  # everybody in the room may speak, to all
                all_is_decided(person, f"after {person.name}")
            direct = sorted(t["owner"]["id"] for t in c.operations(scope="xmpp", kind="turn") if t["scope"] != SCOPE)
            assert direct == heard, direct
            assert [m["text"] for m in c.messages(SCOPE) if m["role"] == "user"] == ["after mia", "after oz"]


def test_xmpp_nobody_stops_who_is_not_named(tmp_path):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia, Person(server.c2s, "oz", ROOM) as oz:
        with XmppCluster(str(tmp_path), server, users='["mia@people.test"]') as c:
            wait_in(oz)
            theirs, hers = (c.say(f"xmpp/{name}@people.test", "endless") for name in ("oz", "mia"))
            for text in ("stop", "clanky: stop", "never mind"):
                oz.say(BOT, text)
            oz.say(IN_ROOM, "stop")  # a whisper
            all_is_decided(oz, "still there")
            assert untouched(c, theirs, "xmpp")
            mia.say(BOT, "stop")
            assert c.ended(hers)["status"] == "cancelled" and c.operation(theirs)["status"] == "running"
            c.cancel(scope="xmpp")


def asked_in(c, person, by, turn):
    """The call that waits below the turn, and the end of its id that the question names."""
    call = c.call(turn, "exec", "paused")["id"]
    person.wait_body(by, f"approve {call[-8:]}")
    return call, call[-8:]


def test_xmpp_in_a_room_nobody_decides_because_only_the_room_knows_who_they_are(tmp_path):
    chat_settings = f'approvers = ["xmpp:*", "xmpp:mia@people.test", "xmpp:oz@people.test", "xmpp:{ROOM}/oz", "xmpp:oz"]\napprove_own = true'
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia, Person(server.c2s, "oz", ROOM) as oz:
        with XmppCluster(str(tmp_path), server, chat_settings, ASKS) as c:
            wait_in(mia)
            mia.say_in(ROOM, "clanky: asks")
            turn = until(lambda: c.operations(scope=SCOPE, kind="turn"), "the turn")[0]["id"]
            call, tail = asked_in(c, mia, IN_ROOM, turn)
            for person, word in ((oz, "approve"), (mia, "deny")):
                since = len(person.bodies(IN_ROOM))
                person.say_in(ROOM, f"clanky: {word} {tail}")
                person.wait_body(IN_ROOM, "does not say for certain who you are", since=since)
                assert undecided(c, call)
            oz.say_in(ROOM, f"approve {tail}")  # not to the bot
            oz.say(BOT, f"approve {tail}")  # not where it was asked: a message like others
            oz.wait_body(BOT, f"You said approve {tail}.")
            claims_are_worth_nothing(c, "xmpp", call, "oz@people.test")
            c.cancel(scope="xmpp")


@pytest.mark.parametrize("chat_settings, owner, refusal", [
    ("", "oz", "you are not an approver"), ('approvers = ["xmpp:oz@people.test", "xmpp:mia"]', "oz", "you are not an approver"),
    ('approvers = ["xmpp:mia@people.test"]', "mia@people.test", "it is your own request"),
    ('approvers = ["xmpp:mia@people.test"]', "oz", None), ('approvers = ["xmpp:mia@people.test"]\napprove_own = true', "mia@people.test", None)])
def test_xmpp_a_named_approver_decides_in_a_direct_chat(tmp_path, chat_settings, owner, refusal):
    with Prosody(str(tmp_path)) as server, Person(server.c2s, "mia", ROOM) as mia:
        with XmppCluster(str(tmp_path), server, chat_settings, ASKS) as c:
            wait_in(mia)
            turn = c.say("xmpp/mia@people.test", "asks", author={"id": owner, "name": owner})
            call, tail = asked_in(c, mia, BOT, turn)
            mia.say(BOT, f"approve {tail}")
            if refusal:
                mia.wait_body(BOT, refusal)
                assert undecided(c, call)
            else:
                assert decided_by(c, call) == ("approved", "mia@people.test")
            c.cancel(scope="xmpp")
