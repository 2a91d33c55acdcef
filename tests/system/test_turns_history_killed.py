"""A kill -9 of quelld at any moment of a change of a conversation: all of the change is there afterwards, or nothing, and the scope goes on."""
import os
import random
import threading
from http.client import HTTPException

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

SEED = int(os.environ.get("QUELL_TEST_SEED") or random.randrange(1 << 30))
ROUNDS = 3


def read(c, scope):
    """What is still read, as (role, text)."""
    rows = c.messages(scope)
    gone = {m["turn"] for m in rows if m["discarded"]}
    return [(m["role"], m["text"]) for m in rows if m["turn"] is None or m["turn"] not in gone]


def exchanges(*texts):
    return [row for text in texts for row in (("user", text), ("assistant", f"You said {text}."))]


@pytest.fixture(scope="module")
def c():
    with TurnCluster([{"text": "You said {{text}}."}], workers=0) as cluster:
        yield cluster


@pytest.mark.parametrize("action", ["fork", "edit", "delete", "clear", "regenerate"])
def test_a_kill_leaves_all_of_a_change_or_nothing(c, action):
    chance = random.Random(f"{SEED} {action}")
    print(f"QUELL_TEST_SEED={SEED}")
    for i in range(ROUNDS):
        scope, copy = f"killed/{action}{i}", f"killed/{action}{i}-copy"
        for text in ("one", "two", "three"):
            assert c.ended(c.say(scope, text))["status"] == "completed"
        order = {"scope": scope, "action": action}
        if action == "fork":
            order["to"] = copy
        if action in ("edit", "delete"):
            order["id"] = next(m["message"] for m in c.messages(scope) if m["text"] == "two")
        if action == "edit":
            order["text"] = "changed"
        answers = []

        def change():
            try:
                answers.append(c.api("POST", "/v1/history", order))
            except (OSError, HTTPException):
                pass  # quelld is gone; nobody knows which of the two it is

        changing = threading.Thread(target=change)
        changing.start()
        threading.Event().wait(chance.choice([0, 0.002, chance.uniform(0, 0.02)]))  # the moment is the draw
        c.kill_controller()
        changing.join(60)
        c.start_controller()
        until(lambda: not c.operations(scope=scope, status="live"), "the scope to be idle")
        rows, whole = read(c, scope), exchanges("one", "two", "three")
        changed = {
            "fork": [whole], "clear": [whole],
            "edit": [exchanges("one") + [("user", "changed")]],
            "delete": [exchanges("one", "three")],
            # Its answer can have been cut; then it is asked again, or its turn was stopped, as whoever asked has gone.
            "regenerate": [exchanges("one", "two", "three"), exchanges("one", "two") + [("user", "three")]],
        }[action]
        marks = [row for row in rows if row[0] == "summary"]
        rows = [row for row in rows if row[0] != "summary"]
        assert rows in [whole, *changed], (i, rows)
        assert len(marks) <= (action == "clear"), marks
        if answers and answers[0].status in (200, 202):
            assert rows in changed and (action != "clear" or marks), "a change that was answered is gone"
        if action == "fork":
            assert read(c, copy) in ([], whole), read(c, copy)
            c.next_message_is_taken(copy)
        c.next_message_is_taken(scope)
        c.check_scope(scope)
