"""What is said aloud about a spoken stop when no model has a word about it: never ahead of the proof, with what was interrupted, and nothing that a voice would spell."""
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.voice import SPEECH_END, TEXT, VoiceCluster
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
    with VoiceCluster(script(m, acknowledges), config=model) as c:
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
        events = c.api("GET", "/v1/events?after=0&types=acknowledgement,cancel_settled").json["events"]
        order = [e["data"].get("state") if e["type"] == "acknowledgement" else e["type"] for e in events]
        assert order[-2:] == ["cancel_settled", "stopped"] and order[:-2] in (["stopping"], []), order
        if model:
            assert order[0] == "stopping", "the grace of the deaf command takes two seconds"
        client.say("next words")
        client.wait(TEXT, "next words.")
        assert len([t for t in client.texts() if "Stopped" in t]) == 1
        client.close()
