"""What an agent asks in a voice exchange (ask_user) is spoken, and the speaker's next words are the answer; a cancel and a stop clear it."""
import pytest

from harness.voice import CANCEL, NOTICE, TEXT, VoiceCluster, ready_client
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which one?", "choices": ["red", "blue"]}}]}]},
    {"when": {"result": ""}, "text": "Then {{results}}."},
    {"text": "You said {{text}}."},
]
ASKED, TAKEN = "AI: Which one? red, or blue?", "taken as the answer"
ROB = {"id": "rob", "name": "Rob"}


@pytest.fixture(scope="module")
def c():
    with VoiceCluster(SCRIPT, agent='tools = ["ask_user"]', config='[chat]\nacknowledgement_model = "none"\n') as cluster:
        yield cluster


def asked(c, client, scope):
    """The turn that asks."""
    client.say("choose one")
    client.wait(TEXT, ASKED)
    [turn] = [t["id"] for t in c.operations(scope=scope, kind="turn", status="live")]
    return turn


def all_ended(c, scope):
    until(lambda: not c.operations(scope=scope, kind="exchange", status="live"), "the exchanges to end")
    return sorted(o["status"] for o in c.exchanges(scope))


def test_the_speakers_next_words_are_the_answer(c):
    scope = "talk/answers"
    client = ready_client(c, scope)
    turn = asked(c, client, scope)
    client.say("Blue.")
    client.wait(NOTICE, TAKEN)
    client.wait(TEXT, '"answer":"blue"')
    assert c.ended(turn)["status"] == "completed"
    assert all_ended(c, scope) == ["completed"] * 3  # the question and the answer to it are exchanges, too
    client.say("hello")
    client.wait(TEXT, "AI: You said hello.")
    assert len(c.operations(scope=scope, kind="model_call")) == 3
    c.check_scope(scope)
    client.close()


def test_the_words_of_somebody_else_wait(c):
    scope = "talk/others"
    mia, rob = ready_client(c, scope), c.client(scope, author=ROB)
    turn = asked(c, mia, scope)
    rob.say("blue")
    until(lambda: [t for t in c.operations(scope=scope, kind="turn", status="pending")], "the words of Rob to wait")
    mia.say("red")
    mia.wait(TEXT, '"answer":"red"')
    rob.wait(TEXT, "AI: You said blue.")
    assert c.ended(turn)["status"] == "completed" and not rob.texts(NOTICE)
    c.check_scope(scope)
    mia.close()
    rob.close()


@pytest.mark.parametrize("how", ["key", "word"])
def test_a_cancel_clears_the_question(c, how):
    scope = f"talk/cleared-{how}"
    client = ready_client(c, scope)
    turn = asked(c, client, scope)
    if how == "key":
        client.send(CANCEL)
        client.cancelled()
    else:
        client.say("stop")
    assert c.ended(turn)["status"] == "cancelled"
    client.say("blue")
    client.wait(TEXT, "blue.")
    assert TAKEN not in " ".join(client.texts(NOTICE))
    c.check_scope(scope)
    client.close()


def test_a_cancel_right_behind_the_answer_leaves_one_result(c):
    for n in range(4):
        scope = f"talk/race{n}"
        client = ready_client(c, scope)
        turn = asked(c, client, scope)
        client.say("blue")
        if n % 2:
            until(lambda: len(c.operations(scope=scope, kind="turn")) == 2, "the answer to be taken")
        client.send(CANCEL)
        client.cancelled()
        told = len(client.texts())
        until(lambda: not c.operations(scope=scope, status="live", kind=["turn", "exchange"]), "everything to end")
        assert c.operation(turn)["status"] in ("completed", "cancelled")
        client.say("hello")
        client.wait(TEXT, "hello.")
        assert not [t for t in client.texts()[told:] if '"answer"' in t]
        c.check_scope(scope)
        client.close()
