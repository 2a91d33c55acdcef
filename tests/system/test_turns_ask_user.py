"""The tool ask_user: a model asks the people of its conversation, who answer, say no, or stop it; and quelld dies meanwhile."""
import pytest

from harness.turns import TurnCluster
from harness.waiting import until

QUESTION = {"question": "Which one?", "choices": ["the red one", "the blue one"], "default": "the red one"}
SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": QUESTION}]}]},
    {"when": {"user": "free", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "What is its name?"}}]}]},
    {"when": {"user": "wrong", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {**QUESTION, "default": "green"}}]}]},
    {"text": "Thank you."},
]


@pytest.fixture(scope="module")
def c():
    with TurnCluster(SCRIPT, agent='tools = ["exec", "ask_user"]') as cluster:
        yield cluster


def asked(c, turn):
    call, = until(lambda: c.below(turn, status="paused"), "the question")
    return call, call["tool"]["question"]


def answer(c, call, what="approve", **body):
    return c.api("POST", f"/v1/operations/{call['id']}/{what}", body)


def result(c, scope, turn):
    only, = c.results(scope, turn)
    return only["result"]["result"]


def test_a_choice_is_shown_checked_and_answered(c):
    turn = c.say("ask/a", "choose")
    call, question = asked(c, turn)
    assert call["waiting_for"]["what"] == "answer" and question["message"] == "Which one?" and question["server"] == "main", question
    assert question["form"]["properties"]["answer"]["enum"] == QUESTION["choices"]
    wrong = answer(c, call, question=question["id"], values={"answer": "green"})
    assert (wrong.status, wrong.json["code"]) == (422, "invalid_values"), wrong.body
    assert answer(c, call, question=question["id"], values={"answer": "the blue one"}).status == 200
    assert c.ended(turn)["status"] == "completed"
    assert result(c, "ask/a", turn) == {"answered": True, "answer": "the blue one"}
    c.check_scope("ask/a")


def test_who_only_agrees_gives_the_default_and_a_no_is_told(c):
    turn = c.say("ask/b", "choose")
    call, question = asked(c, turn)
    assert c.quell("approve", call["id"], "--question", question["id"]).returncode == 0
    assert c.ended(turn)["status"] == "completed"
    assert result(c, "ask/b", turn)["answer"] == "the red one"
    turn = c.say("ask/b", "free")
    call, question = asked(c, turn)
    assert answer(c, call, "deny", question=question["id"]).status == 200
    assert c.ended(turn)["status"] == "completed"
    assert result(c, "ask/b", turn) == {"answered": False, "why": "the answer is no"}
    c.check_scope("ask/b")


def test_an_input_that_asks_nothing_sensible_is_refused_to_the_model(c):
    turn = c.say("ask/c", "wrong")
    assert c.ended(turn)["status"] == "completed"
    only, = c.results("ask/c", turn)
    assert only["ok"] is False and "one of `choices`" in str(only), only


def test_a_stop_while_it_waits_answers_nothing_and_the_scope_goes_on(c):
    turn = c.say("ask/d", "free")
    call, question = asked(c, turn)
    c.cancel(scope="ask/d")
    assert c.ended(turn)["status"] == "cancelled"
    late = answer(c, call, question=question["id"], values={"answer": "Bob"})
    assert late.status == 409, late.body
    assert not c.below(turn, status="paused")
    c.next_message_is_taken("ask/d")
    c.check_scope("ask/d")


def test_the_death_of_quelld_while_it_waits_loses_nothing(c):
    turn = c.say("ask/e", "free")
    asked(c, turn)
    c.restart()
    assert c.ended(turn)["status"] in ("failed", "completed"), c.operation(turn)
    c.next_message_is_taken("ask/e")
    c.check_scope("ask/e")
