"""A stop waits for no read of the store: its answer is here while lists over many rows are still being read, whatever door it takes, with an id of its client or without."""
import contextlib
import sqlite3
import uuid

import pytest

from harness.slack import FakeSlack
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_slack import SlackCluster, in_slacks_time
from test_chat_telegram import TelegramCluster
from test_rights_of_lists import fresh_id
from test_starved_cancels import SCAN, Raw, fill, token

MANY = 200_000
LISTS = 64  # of two tokens; 32 of one may wait


@pytest.fixture(scope="module")
def full():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        fill(c, MANY)
        c.observers = [token(c, "observer", name) for name in ("one", "two")]
        yield slack, c


@contextlib.contextmanager
def store_at_work(c):
    """Lists of two tokens, each over all rows, and a reader of another program that holds on to the store. Yields the number of lists that wait."""
    held = sqlite3.connect(f"file:{c.state}/quell.db?mode=ro", uri=True)
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM event").fetchone()
    probe = Raw(c)
    lists = [Raw(c, observer).ask("GET", SCAN) for observer in c.observers for _ in range(LISTS // 2)]
    assert probe.ask("GET", "/healthz").status() == 200  # all earlier requests have been read by then
    yield lambda: sum(not x.has_answer() for x in lists)
    for x in [*lists, probe]:
        x.close()
    held.close()


def by_id(slack, c, scope, turn):
    assert Raw(c).ask("POST", f"/v1/operations/{turn}/cancel", "{}").status() in (200, 202)


def by_id_in_a_cancel(slack, c, scope, turn):
    assert c.api("POST", "/v1/cancels", {"operation": turn}).status in (200, 202)


def with_a_chosen_id(slack, c, scope, turn):
    body = {"id": fresh_id(), "operation": turn}
    assert [c.api("POST", "/v1/cancels", body).status in (200, 202) for _ in range(2)] == [True] * 2, "and its repeat"


def of_a_scope(slack, c, scope, turn):
    assert c.api("POST", "/v1/cancels", {"id": fresh_id(), "scope": scope}).status in (200, 202)


def by_message(slack, c, scope, turn, **fields):
    answer = c.post(scope, "ok, stop it", **fields)
    assert answer.json["decision"] == "cancel" and answer.json["cancel"]["operations"] >= 1, answer.body


def by_message_with_an_id(slack, c, scope, turn):
    name = f"chat:{uuid.uuid4()}"
    by_message(slack, c, scope, turn, id=name)
    assert c.post(scope, "ok, stop it", id=name).json["decision"] == "cancel", "and its repeat"


def by_a_word(slack, c, scope, turn):
    slack.say(c, "stop", channel=scope.split("/")[2])


def by_a_command(slack, c, scope, turn):
    answer = in_slacks_time(lambda: slack.command(c, "/stop", channel=scope.split("/")[2]))
    assert "Stopping" in answer.json["text"] or "already" in answer.json["text"], answer.body


def by_a_button(slack, c, scope, turn):
    [reply] = slack.shown(scope.split("/")[2])
    assert slack.press(c, reply, "quell_stop", turn).status == 200


STOPS = [by_id, by_id_in_a_cancel, with_a_chosen_id, of_a_scope, by_message, by_message_with_an_id, by_a_word, by_a_command, by_a_button]


@pytest.mark.parametrize("stop", STOPS, ids=lambda s: s.__name__)
def test_a_stop_is_answered_before_the_lists_are(full, stop):
    slack, c = full
    channel = f"C{STOPS.index(stop)}"
    scope = f"slack/T1/{channel}"
    turn = c.say(scope, "endless")
    slack.see(lambda all: all and "on and" in all[0]["text"] and slack.buttons(all[0]), "some of the reply", channel=channel)
    with store_at_work(c) as waiting:
        stop(slack, c, scope, turn)
        left = waiting()
        assert left > LISTS // 4, f"the stop was answered behind all but {left} of {LISTS} lists"
    done = c.ended(turn)
    assert done["status"] == "cancelled", done
    slack.see(lambda all: "⏹ stopped" in all[0]["text"], "the proof below the reply", channel=channel)


def test_a_stop_of_a_service_that_is_polled_overtakes_the_lists_too():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        fill(c, MANY)
        c.observers = [token(c, "observer", name) for name in ("one", "two")]
        telegram.say("endless")
        telegram.see(lambda all: all and len(all[0]["text"]) > 20, "some of the reply")
        with store_at_work(c) as waiting:
            stop = telegram.say("stop")
            until(lambda: (5, stop) in telegram.reactions, "the acknowledgement")
            left = waiting()
            assert left > LISTS // 4, f"the stop was acknowledged behind all but {left} of {LISTS} lists"
        [turn] = c.turns()
        assert c.ended(turn["id"])["status"] == "cancelled"
