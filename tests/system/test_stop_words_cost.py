"""The words about a stop are a model call: it counts for the day and for who stopped, and a used-up day leaves the stop to its reaction."""
import threading

import pytest

from harness.waiting import until
from test_metrics import figures
from test_turns_budgets import World


@pytest.fixture
def world():
    with World('[chat]\nacknowledgement_model = "metered"\n') as c:
        yield c


def stop(c, scope):
    """Stops external work there; returns the acknowledgement."""
    assert c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": scope}).status == 201
    answer = c.post(scope, "stop")
    assert answer.status == 200 and answer.json["decision"] == "cancel", answer.body
    return until(lambda: next((e["data"] for e in c.stored_events(types="acknowledgement") if e["data"]["message"] == answer.json["message"]), None),
                 "the acknowledgement")


def by_author(c):
    return {row["author"]: row["model_calls"] for row in c.api("GET", "/v1/cost?by=author").json["cost"]}


def metered(c):
    return sum(v for k, v in figures(c).items() if k.startswith("quell_model_tokens_total") and 'kind="input"' in k)


def test_the_words_count_for_the_day_and_for_who_stopped(world):
    world.model.plan["stop"] = [(40, "I have stopped.")]
    stop(world, "other/x")
    total = until(lambda: (lambda t: t if t["model_calls"] else None)(world.cost("other")), "the call to be counted")
    assert (total["model_calls"], total["input_tokens"], total["output_tokens"], total["estimated_calls"]) == (1, 40, 1, 0), total
    assert by_author(world) == {"mia": 1}
    until(lambda: metered(world) == 40, "the metrics to have it")
    used, = world.stored_events(types="model_usage")
    assert used["scope"] == "other/x" and used["operation"] is None and used["data"]["usage"]["input_tokens"] == 40, used
    world.restart()
    assert world.cost("other") == total


def test_words_that_do_not_come_in_time_count_with_an_estimate(world):
    gate = world.model.held["stop"] = threading.Event()
    assert stop(world, "other/x")["text"] is None  # the reaction came in their place
    gate.set()
    total = until(lambda: (lambda t: t if t["model_calls"] else None)(world.cost("other")), "the call to be counted")
    assert (total["model_calls"], total["estimated_calls"], total["output_tokens"]) == (1, 1, 0) and total["input_tokens"] > 0, total


def test_where_the_day_is_used_up_a_stop_asks_no_model_and_is_acknowledged(world):
    world.model.plan["hello"] = [(1100, "said")]
    assert world.ended(world.say("paid/x", "hello", agent="free"))["status"] == "completed"
    assert world.post("paid/x", "again", agent="free").status == 429
    asked, total = len(world.model.asked), world.cost("paid")
    for _ in range(3):
        word = stop(world, "paid/x")
        assert word["reaction"] == "🛑" and word["text"] is None, word
    assert len(world.model.asked) == asked and world.cost("paid") == total
    assert not world.operations(scope="paid", status="running"), "a stop waited for its words"
    stop(world, "other/x")  # elsewhere there is still money for words
    until(lambda: len(world.model.asked) == asked + 1, "the model to be asked for words")
