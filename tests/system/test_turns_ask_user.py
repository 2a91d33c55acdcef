"""The tool ask_user: a model asks the people of its conversation, who answer by a message or by its form, say no, or stop it; and
quelld dies meanwhile."""
import http.client
import signal
import threading

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

QUESTION = {"question": "Which one?", "choices": ["the red one", "the blue one"], "default": "the red one"}
SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": QUESTION}]}]},
    {"when": {"user": "free", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "What is its name?"}}]}]},
    {"when": {"user": "wrong", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {**QUESTION, "default": "green"}}]}]},
    {"when": {"user": "below", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "free"}}]}]},
    {"text": "Thank you."},
]
ends = pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])


@pytest.fixture(scope="module")
def c():
    with TurnCluster(SCRIPT, agent='tools = ["exec", "ask_user", "spawn_agent"]') as cluster:
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


@ends
def test_a_question_outlives_quelld_and_is_no_resume(c, sig):
    scope = f"ask/{sig.name.lower()}"
    turn = c.say(scope, "choose")
    call, question = asked(c, turn)
    for _ in range(5):  # more than a turn is resumed
        c.kill_controller(sig)
        c.start_controller()
        again, same = asked(c, turn)
        assert again["id"] == call["id"] and same == question and again["waiting_for"]["what"] == "answer", again
        # It stands again when the call judges an answer.
        assert answer(c, call, question=question["id"], values={"answer": "green"}).status == 422
    assert not c.events(turn, "turn_resumed") and len(c.events(turn, "approval_required")) == 1
    assert answer(c, call, question=question["id"], values={"answer": "the blue one"}).status == 200
    assert c.ended(turn)["status"] == "completed"
    assert result(c, scope, turn) == {"answered": True, "answer": "the blue one"}
    c.check_scope(scope)


def test_an_answer_right_behind_a_restart_counts_once(c):
    for n in range(4):
        scope = f"ask/behind{n}"
        turn = c.say(scope, "free")
        call, question = asked(c, turn)
        c.kill_controller()
        c.start_controller()
        assert answer(c, call, question=question["id"], values={"answer": "Bob"}).status == 200
        if n % 2:
            c.kill_controller()  # the answer is on disk, and with it the end of the call
            c.start_controller()
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        assert result(c, scope, turn) == {"answered": True, "answer": "Bob"}
        assert answer(c, call, question=question["id"], values={"answer": "Bob"}).status == 200  # a repeat
        c.check_scope(scope)


def test_a_stop_of_a_question_that_a_restart_left_open(c):
    for n, at_once in enumerate((True, False)):
        scope = f"ask/stopped{n}"
        turn = c.say(scope, "free")
        call, question = asked(c, turn)
        c.kill_controller()
        c.start_controller()
        if not at_once:
            until(lambda: c.operation(turn)["turn"]["tool_calls"] == 1, "the turn to stand again")
        assert c.post(scope, "stop").json["decision"] == "cancel"
        assert c.ended(turn)["status"] == "cancelled"
        assert answer(c, call, question=question["id"], values={"answer": "Bob"}).status == 409
        c.check_scope(scope)
        c.next_message_is_taken(scope)


def test_a_question_of_a_sub_agent_outlives_quelld(c):
    turn = c.say("ask/below", "below")
    call, question = asked(c, turn)
    c.kill_controller()
    c.start_controller()
    again, _ = asked(c, turn)
    assert again["id"] == call["id"]
    told = c.post("ask/below", "Bob", during_turn="answer")
    assert told.status == 202 and told.json["during_turn"] == {"manner": "answer", "turn": turn}, told.body
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    aside = c.messages("ask/below", sub_agent=call["parent"])
    assert [r["result"]["result"] for m in aside for r in m["results"]] == [{"answered": True, "answer": "Bob"}], aside
    c.check_scope("ask/below")


SAID = [("choose", "2", {"answer": "the blue one"}), ("choose", " THE Red One\n", {"answer": "the red one"}),
        ("choose", "neither, take green", {"answer": "neither, take green", "in_own_words": True}), ("free", "Bob", {"answer": "Bob"})]


@pytest.mark.parametrize("text, said, given", SAID, ids=["number", "words", "own words", "free"])
def test_the_person_who_asked_answers_with_the_next_message(c, request, text, said, given):
    scope = "ask/reply-" + request.node.callspec.id.replace(" ", "-")
    turn = c.say(scope, text)
    call, question = asked(c, turn)
    told = c.post(scope, said, id="an-answer")
    assert told.status == 202 and told.json["decision"] == "turn", told.body
    assert told.json["during_turn"] == {"manner": "answer", "turn": turn} and told.json["turn"]["status"] == "completed", told.body
    assert c.ended(turn)["status"] == "completed"
    assert result(c, scope, turn) == {"answered": True, **given}
    resolved, = c.events(turn, "approval_resolved")
    assert resolved["data"]["question"] == question["id"] and resolved["data"]["by"] == {"id": "mia", "name": "Mia"}
    again = c.post(scope, said, id="an-answer")
    assert again.json["duplicate"] and again.json["turn"]["id"] == told.json["turn"]["id"] and again.json["during_turn"]["manner"] == "answer"
    assert c.operation(told.json["turn"]["id"])["turn"]["steered"] == turn
    assert len(c.operations(scope=scope, kind="turn")) == 2 and len(c.operations(scope=scope, kind="model_call")) == 2
    c.check_scope(scope)


def test_who_waits_supersedes_or_stops_answers_nothing(c):
    scope = "ask/others"
    turn = c.say(scope, "free")
    call, question = asked(c, turn)
    others = [c.post(scope, "me too", author={"id": "tom", "name": "Tom"}), c.post(scope, "later", during_turn="queue")]
    assert all(a.json["turn"]["status"] == "pending" and "during_turn" not in a.json for a in others), [a.body for a in others]
    assert c.operation(call["id"])["status"] == "paused"
    assert c.post(scope, "stop").json["decision"] == "cancel"
    assert c.ended(turn)["status"] == "cancelled"
    late = c.post(scope, "Bob", during_turn="answer")
    assert (late.status, late.json["code"]) == (409, "not_paused"), late.body
    turn = c.say(scope, "free")
    asked(c, turn)
    instead = c.post(scope, "something else", during_turn="supersede")
    assert instead.json["during_turn"]["manner"] == "supersede"
    assert c.ended(turn)["status"] == "cancelled" and c.ended(instead.json["turn"]["id"])["status"] == "completed"
    c.check_scope(scope)


def test_an_answer_that_is_killed_with_quelld_counts_or_is_asked_again(c):
    """kill -9 around the message: it was the answer for good, or it becomes that when it comes again, also before the turn is back."""
    for n in range(6):
        scope = f"ask/killed{n}"
        turn = c.say(scope, "free")
        call, question = asked(c, turn)
        sender = threading.Thread(target=lambda: swallow(lambda: c.post(scope, "Bob", id="once")))
        sender.start()
        if n % 2:
            until(lambda: c.operation(call["id"])["status"] != "paused", "the answer to be taken")
        c.kill_controller()
        sender.join()
        c.start_controller()
        told = c.post(scope, "Bob", id="once")
        assert told.status in (200, 202), told.body  # a repeat, or the first that was taken
        assert told.json["during_turn"] == {"manner": "answer", "turn": turn}, told.body
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        assert result(c, scope, turn) == {"answered": True, "answer": "Bob"}
        until(lambda: not c.operations(scope=scope, status="live"), "everything to end")
        c.check_scope(scope)


def swallow(what):
    try:
        what()
    except (OSError, http.client.HTTPException):
        pass


def test_a_turn_that_waits_outlives_any_number_of_kills(c):
    """Each kill comes as soon as quelld answers, often before the turn has its agent again."""
    turn = c.say("ask/kills", "free")
    call, question = asked(c, turn)
    for _ in range(6):
        c.kill_controller()
        c.start_controller()
    told = c.post("ask/kills", "Bob")
    assert told.json["during_turn"] == {"manner": "answer", "turn": turn}, told.body
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    assert result(c, "ask/kills", turn) == {"answered": True, "answer": "Bob"}
    c.check_scope("ask/kills")
