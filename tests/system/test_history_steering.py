"""Changes of a conversation whose turn was steered, and what GET /v1/messages names after an edit."""
import os

import pytest

from harness.recorded_cluster import RecordedCluster
from harness.waiting import until

AGENT = '[[agents]]\nname = "rec"\nmodel = "recorded"\nworkspace = "WORKSPACE"\n'
WAITS = [("exec", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]


@pytest.fixture
def c():
    with RecordedCluster(AGENT) as cluster:
        yield cluster


def change(c, scope, action, **fields):
    answer = c.api("POST", "/v1/history", {"scope": scope, "action": action, **fields})
    assert answer.status in (200, 202), answer.body
    return answer.json


def words(request):
    """Of people; messages that follow each other reach the model as one."""
    return [text for m in request["messages"] if m["role"] == "user" for text in m["content"].split("\n\n")]


def test_regenerate_asks_again_what_steered_the_turn(c):
    c.ended(c.say("s", "before", agent="rec"))
    c.model.plan["work"] = [WAITS]
    turn = c.say("s", "work", agent="rec")
    until(lambda: c.below(turn, kind="task", status="running"), "its command to run")
    said = [c.post("s", text, agent="rec", during_turn="steer").json["turn"]["id"] for text in ("in French", "and short")]
    open(os.path.join(c.workspace, "go"), "w").close()
    assert c.ended(turn)["status"] == "completed" and [c.ended(w)["turn"]["steered"] for w in said] == [turn] * 2
    for times in (1, 2):  # the exchange that was asked again can be asked again
        newest = c.messages("s")[-1]["seq"]
        again = change(c, "s", "regenerate", expect=newest)
        assert c.ended(again["operation"])["status"] == "completed" and again["seq"] > newest
        assert words(c.model.requests[-1])[-3:] == ["work", "in French", "and short"], times
        told = [m for m in c.of_turn("s", again["operation"]) if m.get("steered_from")]
        assert [(m["text"], m["steered_from"]) for m in told] == list(zip(("in French", "and short"), said))
        c.check_scope("s")
    c.restart()
    c.ended(c.say("s", "next", agent="rec"))
    assert words(c.model.requests[-1]) == ["before", "work", "in French", "and short", "next"]
    c.check_scope("s")


def test_an_edited_message_names_no_turn_until_it_is_asked_again(c):
    c.ended(c.say("e", "first", agent="rec"))
    edited = change(c, "e", "edit", id=c.messages("e")[0]["message"], text="second")
    row = next(m for m in c.messages("e") if m["message"] == edited["message"])
    assert row["turn"] is None and row["text"] == "second" and not row["discarded"]
    c.check_scope("e")
    again = change(c, "e", "regenerate")
    assert c.ended(again["operation"])["status"] == "completed"
    shown = {m["turn"] for m in c.messages("e")} - {None}
    assert again["operation"] in shown and all(c.api("GET", f"/v1/operations/{t}").status == 200 for t in shown)
