"""The frames that a brain and the built-in brain seldom use, and what the recogniser and the voice of a session are started with."""
import datetime
import json
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.voice import A0, A1, A3, A8, A9, AUDIO, CANCEL, ERROR, NOTICE, PAUSE, RESUME, SPEECH, SPEECH_END, SUMMARY, SUMMARY_REQUEST, TEXT, VoiceCluster, connected_brain, encoded, ready_client
from harness.waiting import until

# A tenth of a second of sound, whatever the text is.
SPEAK = ["sh", "-c", "cat > /dev/null; head -c 3200 /dev/zero # {wpm} {speed}"]
SCRIPT = [{"text": "You said {{text}}."}]


@pytest.fixture(scope="module")
def outside():
    with VoiceCluster(SCRIPT, voice='brain = "unix:DIRECTORY/brain.sock"', speak=SPEAK) as c:
        yield c


@pytest.fixture
def brain(outside):
    with connected_brain(outside) as one:
        yield one


@pytest.fixture(scope="module")
def builtin():
    with VoiceCluster(SCRIPT) as c:
        yield c


def voices(c, scope):
    """The commands with which the voice was started, oldest first."""
    found = [o for o in c.operations(scope=scope, kind="task") if o["title"] == "speech"]
    return [c.operation(o["id"])["task"]["command"] for o in sorted(found, key=lambda o: o["seq"])]


def test_the_speed_of_an_answer_reaches_the_voice(outside, brain):
    client = ready_client(outside, "brain/speed")
    for count, text in enumerate(("[SPEED:1.5] Fast.", "Plain.", "[SPEED:0.5]Slow.", "[SPEED:9] Wrong."), 1):
        client.say("hello")
        brain.wait(A0, count=count)
        brain.send(A1, text)
        client.wait(SPEECH_END, count=count)
    assert [command[-1].split("# ")[1] for command in voices(outside, "brain/speed")] == ["263 1.50", "175 1.00", "88 0.50", "175 1.00"]
    assert client.texts()[1::2] == ["AI: Fast.", "AI: Plain.", "AI: Slow.", "AI: Wrong."]
    client.close()


def test_a_notice_of_a_brain_is_shown_as_one_and_never_taken_for_the_answer_to_a_cancel(outside, brain):
    client = ready_client(outside, "brain/notice")
    client.say("hello")
    brain.wait(A0)
    for text in ("looking it up", "cancelled", "exchange cancelled"):
        brain.send(A8, text)
    client.wait(NOTICE, "brain: exchange cancelled")
    assert [t for t in client.texts(NOTICE) if t.startswith("brain: ")] == ["brain: looking it up", "brain: cancelled", "brain: exchange cancelled"]
    assert "cancelled" not in client.texts(NOTICE)
    client.send(CANCEL)
    client.cancelled()
    assert client.texts(NOTICE).count("cancelled") == 1
    brain.wait(A9)
    client.close()


def test_the_longest_answer_of_a_brain_fits_the_frame_to_the_client(outside, brain):
    client = ready_client(outside, "brain/long")
    client.say("hello")
    brain.wait(A0)
    longest = "xy" + "\u00e4" * 32767
    brain.send(A1, longest)
    client.wait(SPEECH_END)
    shown = client.texts()[-1]
    assert 65533 <= len(shown.encode()) <= 65536 and ("AI: " + longest).startswith(shown)
    client.close()


def test_a_brain_that_ends_its_session_fails_the_exchange_and_ends_the_client(outside, brain):
    client = ready_client(outside, "brain/ends")
    client.say("hello")
    brain.wait(A0)
    brain.send(A3)
    assert json.loads(client.wait(ERROR)) == {"code": "no_brain", "detail": "the brain has ended the session"}
    client.ended()
    brain.ended()
    one = until(lambda: [o for o in outside.exchanges("brain/ends") if o["ended_at"]], "the exchange to end")[0]
    assert one["status"] == "failed" and "ended the session" in one["error"]["message"], one
    assert not client.of(SPEECH)


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_brain_that_sends_more_answers_than_may_wait_is_refused(outside, brain, is_asked):
    scope = f"brain/flood{is_asked}"
    client = ready_client(outside, scope)
    client.say("hello")
    brain.wait(A0)
    if not is_asked:
        brain.send(A1, "Hi.")
        until(lambda: [o for o in outside.exchanges(scope) if o["ended_at"]], "the answer to be heard")
    brain.send_bytes(encoded(A1, b"more") * 400)
    assert json.loads(brain.wait(ERROR))["code"] == "too_many_answers"
    brain.ended()
    assert json.loads(client.wait(ERROR))["code"] == "no_brain"
    client.ended()
    assert len(client.of(SPEECH_END)) >= 257, "each one that was taken has its end"
    # An answer is not an exchange each. The rows follow what the client has heard.
    ends = [True] if is_asked else [True, True]
    until(lambda: [o["ended_at"] is not None for o in outside.exchanges(scope)] == ends, f"{len(ends)} exchanges to end")


def test_the_built_in_brain_sums_up_what_was_answered_and_not_cancelled(builtin):
    client = ready_client(builtin, "brain/sum")
    client.send(SUMMARY_REQUEST)
    assert client.wait(SUMMARY) == b"Nothing was answered yet."
    for count, words in enumerate(("one", "two"), 1):
        client.say(words)
        client.wait(TEXT, f"AI: You said {words}.")
        client.wait(SPEECH_END, count=count)
    client.send(CANCEL)
    client.cancelled()
    client.send(SUMMARY_REQUEST)
    assert client.wait(SUMMARY, count=2).decode() == "You: one\nAI: You said one.\n"
    client.close()


def test_a_resume_behind_a_pause_is_heard_on(builtin):
    client = ready_client(builtin, "brain/resume")
    client.send(PAUSE)
    client.send(RESUME)
    client.say("hello")
    client.wait(TEXT, "AI: You said hello.")
    client.close()


def test_the_recogniser_of_a_session_ends_with_it(builtin):
    def recognisers():
        return {o["id"]: o for o in builtin.operations(scope="quell/voice", kind="task")}
    before = set(recognisers())
    client = ready_client(builtin, "brain/ear")
    client.say("hello")
    client.wait(TEXT, "AI: You said hello.")
    mine, = set(recognisers()) - before
    assert not recognisers()[mine]["ended_at"]
    client.close()
    one = until(lambda: (lambda o: o if o["ended_at"] else None)(builtin.operation(mine)), "the recogniser to end")
    assert one["status"] in ("completed", "cancelled"), one


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_recogniser_of_a_session_does_not_outlive_the_restart_of_quelld(how):
    m = marker()
    with VoiceCluster(SCRIPT, hear=["/usr/bin/python3", "DIRECTORY/ear.py", m]) as c:
        client = ready_client(c, "brain/restart")
        client.say("hello")
        client.wait(TEXT, "AI: You said hello.")
        before, = c.operations(scope="quell/voice", kind="task", status="live")
        c.kill_controller(how)
        c.start_controller()
        one = until(lambda: (lambda o: o if o["ended_at"] else None)(c.operation(before["id"])), "the recogniser of the earlier life to end")
        assert one["status"] == "cancelled" and one["stop"]["cause"] == "superseded" and one["stop"]["proof"] not in (None, "none"), one
        assert not processes.marked(m)
        again = ready_client(c, "brain/restart")
        again.say("hello again")
        again.wait(TEXT, "AI: You said hello again.")
        again.close()


def test_a_recogniser_that_cannot_run_is_not_run_for_each_piece_of_sound():
    with VoiceCluster(SCRIPT, hear=["false"]) as c:
        client = ready_client(c, "brain/deaf")

        def talk():
            client.send(AUDIO, b"u" * 640)
            return len([t for t in client.texts(NOTICE) if t.startswith("the recogniser (false) exited with status 1")]) >= 3
        until(talk, "the third recogniser to end")
        told = [t for t in client.texts(NOTICE) if t.startswith("the recogniser")]
        assert told[1].endswith("; it begins again in 1 s") and told[2].endswith("; it begins again in 2 s"), told
        began = sorted(datetime.datetime.fromisoformat(o["created_at"].replace("Z", "+00:00")) for o in c.operations(scope="quell/voice", kind="task"))
        assert len(began) == 3 and (began[2] - began[1]).total_seconds() >= 0.9, began
        client.close()
