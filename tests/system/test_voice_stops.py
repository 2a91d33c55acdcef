"""Who may stop by voice while an answer is heard, and what is said aloud about a stop when no model has a word about it: never ahead of the proof, with what was interrupted, and nothing that a voice would spell."""
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.voice import A0, A1, A9, NOTICE, SPEECH, SPEECH_END, TEXT, VoiceCluster, connected_brain
from harness.waiting import until


def script(m, acknowledges):
    return [
        {"when": {"system": "Interrupted:"}, "steps": acknowledges},
        {"when": {"user": "deaf"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "trap '' TERM; while :; do sleep 0.1; done #" + m}}]}]},
        {"text": "You said {{text}}."},
    ]


HANGS = [{"hang": True}]
REFUSES = [{"error": {"code": "model_refused", "message": "no"}}]


@pytest.mark.parametrize("acknowledges,model", [(HANGS, ""), (REFUSES, ""), (REFUSES, '[chat]\nacknowledgement_model = "none"\n')], ids=["slow", "down", "none"])
def test_without_a_models_words_the_voice_says_what_was_stopped_behind_the_proof(acknowledges, model):
    m, scope = marker(), "talk/deaf"
    with VoiceCluster(script(m, acknowledges), config=model, settings=["defaults.grace=6s"] if model else []) as c:
        client = c.client(scope)
        client.say("be deaf")
        until(lambda: any(processes.ignores(p, signal.SIGTERM) for p in processes.marked(m)), "the deaf command to ignore SIGTERM")
        client.say("stop")
        client.wait(TEXT, "AI: Stopped: exec.")
        assert not processes.marked(m), "it is said to be stopped when it is"
        stop, = c.api("GET", f"/v1/cancels?scope={scope}").json["cancels"]
        assert stop["status"] == "settled" and stop["report"]["proven"], stop
        said = [t for t in client.texts() if t.startswith("AI: ")]
        assert said in (["AI: Okay, stopping.", "AI: Stopped: exec."], ["AI: Stopped: exec."]), said
        client.wait(SPEECH_END, count=len(said))
        events = c.stored_events(types="acknowledgement,cancel_settled")
        order = [e["data"].get("state") if e["type"] == "acknowledgement" else e["type"] for e in events]
        assert order[-2:] == ["cancel_settled", "stopped"] and order[:-2] in (["stopping"], []), order
        if model:
            assert order[0] == "stopping", "the grace of the deaf command takes six seconds"
        client.say("next words")
        client.wait(TEXT, "next words.")
        assert len([t for t in client.texts() if "Stopped" in t]) == 1
        client.close()


# A minute of sound, which the voice gives at once: its task ends long before it is heard.
MINUTE = "word " * 600
ROB = {"id": "rob", "name": "Rob"}


@pytest.fixture(scope="module")
def room():
    answers = [{"when": {"system": "Interrupted:"}, "text": "Stopped it all."}, {"when": {"user": "minute"}, "text": MINUTE},
               {"when": {"user": "stop"}, "text": "Once endless"}, {"text": "You said {{text}}."}]
    with VoiceCluster(answers) as c:
        yield c


def only_sound(c, client, scope):
    """Waits until nothing runs below the exchange that is heard; returns it."""
    client.wait(SPEECH)
    one, = until(lambda: c.exchanges(scope), "the exchange to be on disk")
    running = lambda: [o for o in c.operations(scope=scope, status="live") if o["kind"] != "exchange"]
    until(lambda: not running(), "the turn and the voice to be over")
    assert c.operation(one["id"])["status"] == "running"
    return one["id"]


def test_who_asked_may_stop_the_sound_of_the_answer_in_a_room_of_several_people(room):
    client = room.client("talk/room", humans_present=2)
    client.say("a minute please")
    one = only_sound(room, client, "talk/room")
    other = room.client("talk/room", humans_present=2, author=ROB)
    other.say("stop")
    other.wait(TEXT, "AI: Once endless")  # an ordinary message of his: he did not ask
    assert room.operation(one)["status"] == "running"
    client.say("stop")
    room.wait_status(one, "cancelled")
    stop, = room.api("GET", "/v1/cancels?scope=talk/room").json["cancels"]
    assert stop["via"]["channel"] == "voice" and stop["by"]["id"] == "mia", stop
    client.wait(TEXT, "AI: Stopped it all.")
    client.close()
    other.close()


@pytest.mark.parametrize("place", ["talk/claims", "talk/claims/below"])
def test_two_who_each_claim_to_be_alone_are_two(room, place):
    """`quell talk` always says that one human is there."""
    scope = "talk/claims"
    client = room.client(place, humans_present=1)
    client.say("a minute please")
    one = only_sound(room, client, place)
    other = room.client(scope, humans_present=1, author=ROB)
    other.say("stop")
    other.wait(TEXT, "AI: Once endless")  # an ordinary message: he did not ask, and is not alone
    assert room.operation(one)["status"] == "running"
    assert not room.api("GET", f"/v1/cancels?scope={scope}").json["cancels"]
    for peer in (client, other):
        peer.close()
    until(lambda: not room.operations(scope=scope, status="live"), "both exchanges to end")


def test_the_answer_to_a_refused_stop_gives_no_right_to_stop(room):
    task = room.start("sleep", "1000", scope="talk/twice")
    room.wait_status(task["id"], "running")
    client = room.client("talk/twice", humans_present=2, author=ROB)
    for count in (1, 2):  # the second one while the voice still speaks the answer to the first one
        client.say("stop")
        client.wait(TEXT, "You: stop", count=count)
        client.wait(SPEECH)
        until(lambda: not room.operations(scope="talk/twice", kind="turn", status="live"), "the turn to be over")
    room.say("talk/elsewhere", "hello")  # decided behind the second stop
    assert room.operation(task["id"])["status"] == "running", "speaking twice has made him an owner"
    client.close()
    room.cancel(operation=task["id"])


def test_who_asked_a_brain_outside_may_stop_its_answer():
    with VoiceCluster([{"text": "ok"}], voice='brain = "unix:DIRECTORY/brain.sock"') as c, connected_brain(c) as brain:
        client = c.client("talk/foreign", humans_present=2)
        client.say("a minute please")
        brain.wait(A0)
        brain.send(A1, MINUTE)
        one = only_sound(c, client, "talk/foreign")
        client.say("stop")
        c.wait_status(one, "cancelled")
        brain.wait(A9)
        client.wait(NOTICE, "exchange cancelled")
        client.close()
