"""Cancels of a voice exchange at each instant, choices and interruptions, byte by byte: what reaches the client, the brain, the model and the ledger."""
import json

import pytest

from harness.recording_model import RecordingModel
from harness.voice import A0, A1, A2, A4, A5, A9, AUDIO, CANCEL, CHOICE, FEEDBACK, INTERRUPT, NOTICE, SPEECH, SPEECH_END, TEXT, VoiceCluster, connected_brain, encoded, ready_client
from harness.waiting import until

CONTEXT = "[The user cancelled the previous exchange. Discard it entirely. Do not refer to it, quote it or follow up on it. Treat the next message as a fresh turn.]\n\n"
RETRY = "[The user rephrased the previous statement. Answer the new one and do not comment on the change.]\n\n"
SCRIPT = [
    {"when": {"user": "long story"}, "text": "Once endless"},
    {"when": {"user": "broken"}, "steps": [{"error": {"code": "model_refused", "message": "no such model"}}]},
    {"text": "You said {{text}}."},
]


@pytest.fixture(scope="module")
def world():
    with VoiceCluster(SCRIPT) as c:
        yield c


@pytest.fixture(scope="module")
def asking():
    with VoiceCluster(SCRIPT, voice="feedback = true") as c:
        yield c


@pytest.fixture(scope="module")
def outside():
    with VoiceCluster(SCRIPT, voice='brain = "unix:DIRECTORY/brain.sock"') as c:
        yield c


@pytest.fixture
def brain(outside):
    with connected_brain(outside) as one:
        yield one


def status(c, scope, *wanted):
    """Waits until the exchanges of the scope, oldest first, have these statuses."""
    def look():
        found = [o["status"] for o in sorted(c.exchanges(scope), key=lambda o: o["seq"])]
        return found == list(wanted) or None
    return until(look, f"the exchanges of {scope} to be {wanted}; they are {[o['status'] for o in c.exchanges(scope)]}")


def next_prompt(c, client, scope, words="next words"):
    """What the model is told for the next words."""
    client.say(words)
    client.wait(TEXT, f"{words}.")
    return [t for t in client.texts() if t.startswith("AI: ")][-1].removeprefix("AI: You said ").removesuffix(words + ".")


def test_a_cancel_while_speech_is_recognised_discards_all_of_that_utterance(world):
    client = ready_client(world, "bytes/hearing")
    client.send(AUDIO, b"tell me~")
    client.wait(NOTICE, "hearing: tell me")
    client.send(CANCEL)
    client.cancelled()
    status(world, "bytes/hearing", "cancelled")
    client.send(AUDIO, b"a story\n")  # the recogniser finishes what it had begun
    assert next_prompt(world, client, "bytes/hearing") == CONTEXT, "the model was never asked, and is told all the same"
    assert next_prompt(world, client, "bytes/hearing", "third words") == ""
    assert not [t for t in client.texts() if "story" in t]
    client.close()


def test_a_cancel_of_the_first_words_through_another_door_is_told_until_a_query_is_answered(world):
    client = ready_client(world, "bytes/first")
    client.send(AUDIO, b"tell me~")
    client.wait(NOTICE, "hearing: tell me")
    one, = until(lambda: world.exchanges("bytes/first"), "the exchange to be on disk")
    world.cancel(operation=one["id"])
    client.wait(NOTICE, "exchange cancelled")
    status(world, "bytes/first", "cancelled")
    client.send(AUDIO, b"a story\n")
    client.say("broken please")
    client.wait(TEXT, "AI: That did not work")
    client.wait(SPEECH_END)
    assert next_prompt(world, client, "bytes/first") == CONTEXT
    assert next_prompt(world, client, "bytes/first", "third words") == ""
    client.close()


def test_a_cancel_of_the_first_words_is_one_frame_to_a_brain_outside(outside, brain):
    client = ready_client(outside, "bytes/foreign")
    client.send(AUDIO, b"tell me~")
    client.wait(NOTICE, "hearing: tell me")
    client.send(CANCEL)
    client.cancelled()
    client.send(AUDIO, b"a story\n")
    client.say("hello")
    brain.wait(A0)
    assert brain.frames[-2:] == [(A9, b""), (A0, b"hello")] and len(brain.of(A9)) == 1, brain.frames
    client.close()
    brain.wait(A9, count=2)


def test_a_cancel_before_the_first_chunk_and_between_chunks_sends_nothing_more_of_it(outside, brain):
    client = ready_client(outside, "bytes/chunks")
    for chunks in (0, 1, 3):
        client.say("hello")
        brain.wait(A0, count=len(brain.of(A0)) + 1)
        ends, heard = len(client.of(SPEECH_END)), len(client.of(SPEECH))
        brain.send(A1, "endless")
        if chunks:
            client.wait(SPEECH, count=heard + chunks)
        cancels = client.texts(NOTICE).count("cancelled")
        client.send(CANCEL)
        client.cancelled(cancels + 1)
        at = max(i for i, (tag, payload) in enumerate(client.frames) if tag == NOTICE and payload == b"cancelled")
        brain.send(A1, "Too late.")
        client.send(CANCEL)  # its answer comes behind all that the late answer could have caused
        client.cancelled(cancels + 2)
        assert not [tag for tag, _ in client.frames[at:] if tag in (SPEECH, TEXT, FEEDBACK, SPEECH_END)], client.frames[at:]
        told = len(client.of(SPEECH_END)) - ends
        assert told == 1 or chunks == 0 and told == 0, "an answer that the cancel overtook is dropped, and has no end"
    brain.wait(A9, count=6)
    assert len(brain.of(A9)) == 6
    status(outside, "bytes/chunks", "cancelled", "cancelled", "cancelled")
    client.close()


def test_a_cancel_after_the_answer_leaves_it_completed_and_tells_the_model_once(world):
    client = ready_client(world, "bytes/after")
    client.say("hello")
    client.wait(SPEECH_END)
    status(world, "bytes/after", "completed")
    client.send(CANCEL)
    client.cancelled()
    assert next_prompt(world, client, "bytes/after") == CONTEXT
    assert next_prompt(world, client, "bytes/after", "third words") == ""
    status(world, "bytes/after", "completed", "completed", "completed")
    client.close()


def test_the_cancel_context_survives_a_failed_query(world):
    client = ready_client(world, "bytes/fails")
    client.say("a long story")
    client.wait(SPEECH)
    client.send(CANCEL)
    client.cancelled()
    client.say("broken please")
    client.wait(TEXT, "AI: That did not work")
    assert next_prompt(world, client, "bytes/fails") == CONTEXT
    client.close()


def test_an_interruption_alone_ends_the_speech_and_changes_no_context(world):
    client = ready_client(world, "bytes/interrupt")
    client.say("a long story")
    client.wait(SPEECH)
    client.send(INTERRUPT)
    client.wait(SPEECH_END)
    heard = len(client.of(SPEECH))
    status(world, "bytes/interrupt", "completed")
    assert len(client.of(SPEECH)) == heard and len(client.of(SPEECH_END)) == 1
    assert next_prompt(world, client, "bytes/interrupt") == ""
    client.close()


def test_a_cancel_with_a_payload_is_a_cancel_and_the_bytes_behind_it_are_read(world):
    client = ready_client(world, "bytes/payload")
    client.send_bytes(encoded(CANCEL, b"xyz") + encoded(CANCEL))
    client.cancelled(2)
    assert next_prompt(world, client, "bytes/payload") == ""
    client.close()


def test_frames_come_one_byte_at_a_time_or_all_at_once(world):
    client = ready_client(world, "bytes/split")
    words = encoded(AUDIO, b"hello you\n")
    for i in range(len(words)):
        client.send_bytes(words[i:i + 1])
    client.wait(TEXT, "AI: You said hello you.")
    client.send_bytes(words + encoded(CANCEL) + words)
    client.cancelled()
    client.wait(TEXT, "hello you.", count=2)
    assert client.texts().count("You: hello you") == 2, "the words before the 07 are discarded, though nothing of them was recognised yet"
    client.close()


def test_choices_reach_the_brain_and_an_empty_one_means_continue(outside, brain):
    client = ready_client(outside, "bytes/choices")
    for payload, told in ((b"", b"\1"), (b"\1", b"\1"), (b"\0", b"\0")):
        client.say("book it")
        brain.wait(A0, count=len(brain.of(A0)) + 1)
        choices, questions, ends = len(brain.of(A5)), len(client.of(FEEDBACK)), len(client.of(SPEECH_END))
        brain.send(A4, "Shall I?")
        client.wait(FEEDBACK, count=questions + 1)
        assert len(client.of(SPEECH_END)) == ends, "nothing is spoken before the choice"
        client.send_bytes(encoded(CHOICE, payload))
        assert brain.wait(A5, count=choices + 1) == told
        if told == b"\1":
            brain.send(A1, "Booked.")
            client.wait(SPEECH_END, count=ends + 1)
    client.say("book that")
    brain.wait(A0, "book that")
    client.close()
    brain.wait(A9)


def test_each_answer_has_one_end_of_speech_also_those_that_an_interruption_leaves_unspoken(outside, brain):
    client = ready_client(outside, "bytes/ends")
    client.say("hello")
    brain.wait(A0)
    for text in ("endless", "Second.", "Third."):
        brain.send(A1, text)
    client.wait(SPEECH)
    client.send(INTERRUPT)
    client.wait(SPEECH_END, count=3)
    client.send(CANCEL)
    client.cancelled()
    assert len(client.of(SPEECH_END)) == 3
    client.close()


def test_a_cancel_in_the_question_beats_the_retry_context(asking):
    client = ready_client(asking, "bytes/retry")

    def question(words, count):
        client.say(words)
        return client.wait(FEEDBACK, count=count).decode()
    assert question("one", 1) == "You said one."
    client.send(CHOICE, b"\0")
    assert question("two", 2) == "You said " + RETRY + "two."
    client.send(CHOICE, b"\0")
    assert question("three", 3) == "You said " + RETRY + "three."
    client.send(CANCEL)
    client.cancelled()
    assert question("four", 4) == "You said " + CONTEXT + "four."
    client.send(CHOICE, b"\1")
    client.wait(SPEECH_END)
    assert question("five", 5) == "You said five."
    assert len(client.of(SPEECH_END)) == 1, "only what was chosen is spoken"
    client.close()


def test_a_brain_that_begins_twice_or_sends_a_cancel_harms_its_own_client_alone(outside, brain):
    client = ready_client(outside, "bytes/own")
    brain.send(A9)
    client.say("hello")
    assert brain.wait(A0) == b"hello", "a cancel that comes from a brain means nothing"
    brain.send(A2, "{}")
    assert json.loads(brain.wait(0x82))["code"] == "bad_order"
    assert json.loads(client.wait(0x82))["code"] == "no_brain"
    status(outside, "bytes/own", "failed")
    client.close()


# A second of sound, which is handed over at once: the last word is heard a second later.
SECOND = "Nice day today and so it will be tomorrow again"


@pytest.fixture(scope="module")
def recorded():
    model = RecordingModel()
    model.plan = {"a long story": ["Once endless"], "a lost story": ["Twice endless"], "a tenth of a minute": [SECOND], "a short story": [SECOND]}
    config = f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{model.url}"\n[[agents]]\nname = "keen"\nmodel = "recorded"\n'
    with VoiceCluster(SCRIPT, voice='agent = "keen"', config=config) as c:
        c.model = model
        yield c
    model.close()


def told(c, words):
    """The texts of the request with which the model was asked to answer these words."""
    def look():
        asked = [r["messages"] for r in c.model.requests if any(m["role"] == "user" and str(m["content"]).endswith(words) for m in r["messages"])]
        return asked[-1] if asked else None
    return [(m["role"], str(m["content"])) for m in until(look, f"the model to be asked about {words}")]


def test_a_cancelled_answer_is_never_told_to_the_model_as_an_answer(recorded):
    client = ready_client(recorded, "bytes/model")
    client.say("a long story")
    client.wait(SPEECH)
    client.send_bytes(encoded(INTERRUPT) + encoded(CANCEL))
    client.cancelled()
    client.say("next words")
    client.wait(TEXT, "AI: done")
    messages = told(recorded, "next words")
    assert not [m for m in messages if "endless" in m[1]], messages
    assert [m for m in messages if m[0] == "user" and "was cancelled by the user" in m[1]], messages
    assert messages[-1] == ("user", CONTEXT + "next words") or messages[-1][1].endswith("next words") and CONTEXT in messages[-1][1], messages
    client.close()


def test_a_cancel_behind_the_last_chunk_is_a_cancel_of_audible_speech(recorded):
    for i in range(10):  # until one comes in the last second, as it may not on a busy machine
        client, scope = ready_client(recorded, f"bytes/audible{i}"), f"bytes/audible{i}"
        client.say("a tenth of a minute")
        client.wait(SPEECH_END)
        client.send_bytes(encoded(INTERRUPT) + encoded(CANCEL))
        client.cancelled()
        one, = until(lambda: [o for o in recorded.exchanges(scope) if o["ended_at"]], "the exchange to end")
        if one["status"] != "completed":
            break
        client.close()
    assert one["status"] == "cancelled" and one["stop"]["cause"] == "cancel" and one["exchange"]["spoken"] is False, one
    cancel = recorded.api("GET", f"/v1/cancels/{one['stop']['cancel']}?wait=settled&wait_ms=60000").json
    assert cancel["status"] == "settled" and cancel["report"]["proven"] and cancel["via"]["channel"] == "voice", cancel
    assert len(client.of(SPEECH_END)) == 1
    client.say("the next words")
    client.wait(TEXT, "AI: done")
    messages = told(recorded, "the next words")
    assert not [m for m in messages if SECOND in m[1]], messages
    assert [m for m in messages if m[0] == "user" and "was cancelled by the user" in m[1]], messages
    client.close()


def test_a_cancel_after_the_answer_takes_it_back_also_after_a_restart(recorded):
    client = ready_client(recorded, "bytes/heard")
    client.say("a short story")
    client.wait(SPEECH_END)
    status(recorded, "bytes/heard", "completed")
    client.send(CANCEL)
    client.cancelled()
    client.say("words behind it")
    client.wait(TEXT, "AI: done")
    messages = told(recorded, "words behind it")
    assert not [m for m in messages if SECOND in m[1]], messages
    assert [m for m in messages if m[0] == "user" and "was cancelled by the user" in m[1]], messages
    assert messages[-1][1].endswith(CONTEXT + "words behind it"), messages
    client.wait(SPEECH_END, count=2)
    status(recorded, "bytes/heard", "completed", "completed")
    recorded.restart()
    again = ready_client(recorded, "bytes/heard")
    again.say("words of the next day")
    again.wait(TEXT, "AI: done")
    messages = told(recorded, "words of the next day")
    assert not [m for m in messages if SECOND in m[1]] and [m for m in messages if m == ("assistant", "done")], messages
    again.close()


def test_an_answer_that_was_heard_stays_one_when_its_client_leaves(recorded):
    client = ready_client(recorded, "bytes/leaves")
    client.say("a short story")
    client.wait(SPEECH_END)
    client.close()  # a second before its end: it has all of it
    status(recorded, "bytes/leaves", "completed")
    assert recorded.exchanges("bytes/leaves")[0]["exchange"]["spoken"] is True
    again = ready_client(recorded, "bytes/leaves")
    again.say("words of another client")
    again.wait(TEXT, "AI: done")
    assert [m for m in told(recorded, "words of another client") if m == ("assistant", SECOND)]
    again.close()


def test_an_answer_whose_client_was_lost_stays_an_answer(recorded):
    client = ready_client(recorded, "bytes/lost")
    client.say("a lost story")
    client.wait(SPEECH)
    client.close()
    status(recorded, "bytes/lost", "cancelled")
    again = ready_client(recorded, "bytes/lost")
    again.say("more words")
    again.wait(TEXT, "AI: done")
    assert [m for m in told(recorded, "more words") if m == ("assistant", "Twice endless")], told(recorded, "more words")
    again.close()
