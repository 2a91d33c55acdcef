"""The turn routes of existing clients: /api/turns/active and /api/turns/{id}/abort, with exactly their fields."""
import time

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]},
    {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done"}}]}]},
    {"text": "You said {{text}}."},
]
GONE = {"error": "Turn not found or already completed"}


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT) as c:
        yield c


def active(c, token=None):
    answer = c.api("GET", "/api/turns/active", token=token)
    assert answer.status == 200, answer.body
    return {t["turnId"]: t for t in answer.json["turns"]}


def abort(c, turn, **options):
    return c.api("POST", f"/api/turns/{turn}/abort", **options)


def token(c, role, scope):
    return c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": scope}).json["token"]


def test_active_turns_are_told_in_their_clients_words(cluster):
    c = cluster
    before = time.time() * 1000
    turn = c.say("alias/a", "runs")
    c.call(turn, "exec", "running")
    shown = until(lambda: (lambda t: t if t["currentTool"] else None)(active(c)[turn]), "the tool to be shown")
    assert set(shown) == {"turnId", "nousId", "sessionId", "startedAt", "currentTool", "toolCallCount"}
    assert shown["nousId"] == "main" and shown["sessionId"] == "alias/a" and shown["currentTool"] == "exec" and shown["toolCallCount"] == 1
    assert isinstance(shown["startedAt"], int) and before - 2000 < shown["startedAt"] < time.time() * 1000 + 2000
    queued = c.say("alias/a", "later")
    assert active(c)[queued]["currentTool"] is None
    c.cancel(scope="alias/a")
    assert not {turn, queued} & set(active(c))


def test_abort_says_ok_now_again_and_afterwards(cluster):
    c = cluster
    turn = c.say("alias/b", "endless")
    c.wait_status(turn, "running")
    for _ in range(3):
        answer = abort(c, turn)
        assert answer.status == 200 and answer.json == {"ok": True, "turnId": turn}
    done = c.ended(turn)
    assert done["status"] == "cancelled"
    assert abort(c, turn).json == {"ok": True, "turnId": turn}
    # Clients send any body.
    assert abort(c, turn, raw=b"reason=none", headers={"Content-Type": "application/x-www-form-urlencoded"}).status == 200
    [stop] = c.api("GET", f"/v1/cancels?operation={turn}").json["cancels"]
    assert stop["id"] == done["stop"]["cancel"] and stop["target"] == {"operation": turn}


def test_what_is_no_turn_or_has_ended_otherwise_is_not_found(cluster):
    c = cluster
    turn = c.say("alias/c", "hello")
    assert c.ended(turn)["status"] == "completed"
    task = c.start("true", scope="alias/c")
    for id in (turn, task["id"], "01a1f869-3df9-7303-8207-dde70bee07dd", "nonsense", "%2e%2e"):
        answer = abort(c, id)
        assert answer.status == 404 and answer.json == GONE, (id, answer.body)
    assert c.operation(task["id"])["status"] in ("pending", "running", "completed")


def test_rights_are_those_of_reading_and_of_cancelling(cluster):
    c = cluster
    here, there = c.say("alias/here", "endless"), c.say("alias/there", "endless")
    for turn in (here, there):
        c.wait_status(turn, "running")
    chat, observer = token(c, "chat", "alias/here"), token(c, "observer", "alias")
    assert set(active(c, chat)) == {here} and set(active(c, observer)) == {here, there}
    hidden = abort(c, there, token=chat)
    assert hidden.status == 404 and hidden.json == GONE
    assert abort(c, here, token=observer).status == 403
    assert c.api("GET", "/api/turns/active", token="qk_none").status == 401
    assert c.operation(there)["status"] == c.operation(here)["status"] == "running"
    assert abort(c, here, token=chat).status == 200
    c.ended(here)
    c.cancel(scope="alias")
