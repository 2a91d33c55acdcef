"""First requests with one id that come at once: whatever they make is made once, and all get the same answer."""
import threading

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_races import uuid7

ROUNDS, AT_ONCE = 25, 4


@pytest.fixture(scope="module")
def c():
    with TurnCluster([{"text": "hi"}] * (2 * ROUNDS)) as cluster:
        yield cluster


def at_once(ask):
    """The answers of so many threads that ask at the same moment."""
    ready, answers = threading.Barrier(AT_ONCE), []

    def one():
        ready.wait(60)
        answers.append(ask())
    threads = [threading.Thread(target=one) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == AT_ONCE
    return answers


@pytest.mark.parametrize("what", ({"kind": "task", "task": {"command": ["true"]}}, {"kind": "external", "name": "far"}), ids=("task", "external"))
def test_an_operation_is_made_once(c, what):
    scope, ids = "twice/" + what["kind"], [uuid7() for _ in range(ROUNDS)]
    for id in ids:
        answers = at_once(lambda: c.api("POST", "/v1/operations", {"id": id, "scope": scope, **what}))
        assert sorted(a.status for a in answers) == [200] * (AT_ONCE - 1) + [201], [a.body for a in answers]
        assert {(a.json["id"], a.json["seq"], a.json["created_at"]) for a in answers} == {(id, answers[0].json["seq"], answers[0].json["created_at"])}
    assert sorted(o["id"] for o in c.operations(scope=scope)) == sorted(ids)


def test_one_id_is_one_operation_whoever_comes_first(c):
    """Different bodies: one of them wins, and the others are told."""
    for _ in range(ROUNDS):
        id, names = uuid7(), iter(range(AT_ONCE))
        answers = at_once(lambda: c.api("POST", "/v1/operations", {"id": id, "kind": "external", "scope": "twice/other", "name": f"n{next(names)}"}))
        assert sorted(a.status for a in answers) == [201] + [409] * (AT_ONCE - 1), [a.body for a in answers]
        made, = (a.json for a in answers if a.status == 201)
        assert {a.json["code"] for a in answers if a.status == 409} == {"id_conflict"} and c.operation(id)["name"] == made["name"]


def test_a_cancel_is_ordered_once(c):
    for _ in range(ROUNDS):
        id = uuid7()
        answers = at_once(lambda: c.api("POST", "/v1/cancels", {"id": id, "scope": "twice/nobody", "reason": "enough"}))
        assert {a.status for a in answers} <= {200, 202}, [a.body for a in answers]
        assert len({(a.json["id"], a.json["seq"], a.json["created_at"]) for a in answers}) == 1, [a.body for a in answers]


def test_a_message_is_decided_once(c):
    for n in range(ROUNDS):
        answers = at_once(lambda: c.post("twice/chat", "hello", id=f"m{n}"))
        assert {a.status for a in answers} <= {200, 201, 202}, [a.body for a in answers]
        assert len({a.json["turn"]["id"] for a in answers}) == 1, [a.body for a in answers]
    until(lambda: len(c.operations(kind="turn", scope="twice/chat", status="completed")) == ROUNDS, "the turns to end")
    assert len(c.operations(kind="turn", scope="twice/chat")) == ROUNDS


def test_a_token_is_made_once(c):
    met = 0
    for n in range(ROUNDS):
        body = {"id": uuid7(), "name": f"twice {n}", "role": "observer"}
        answers = at_once(lambda: c.api("POST", "/v1/tokens", body))
        assert [a.status for a in answers] == [201] * AT_ONCE, [a.body for a in answers]
        secrets = {a.json["token"] for a in answers}
        met += AT_ONCE - len(secrets)
        good = [s for s in secrets if c.api("GET", "/v1/status", token=s).status == 200]
        assert len(good) == 1, "a repeat behind an answer has a fresh secret, in place of that one"
        c.restart() if n == ROUNDS - 1 else None
        assert c.api("GET", "/v1/status", token=good[0]).status == 200
    assert met, "who asks while it is made gets the same secret"
    made = [t["name"] for t in c.api("GET", "/v1/tokens?limit=1000").json["tokens"]]
    assert sorted(made) == sorted(f"twice {n}" for n in range(ROUNDS))
