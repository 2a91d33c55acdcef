"""The voice exchange end to end, without stand-ins: espeak-ng speaks to it, pocketsphinx recognises, a real tree dies with proof, espeak-ng answers."""
import json
import subprocess
import wave

import pytest

from harness import processes
from harness.cluster import marker
from harness.voice import AUDIO, CANCEL, PAUSE, SPEECH, SPEECH_END, TEXT, VoiceCluster
from harness.waiting import until


def spoken(text, speed=150):
    """16-bit samples at 16 kHz."""
    made = subprocess.run(["espeak-ng", "-v", "en-us", "-s", str(speed), "--stdout", text], stdout=subprocess.PIPE, check=True).stdout
    raw = ["sox", "-q", "--ignore-length", "-t", "wav", "-", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    return subprocess.run(raw, input=made, stdout=subprocess.PIPE, check=True).stdout


def speak(client, text):
    samples = spoken(text)
    for at in range(0, len(samples), 3200):
        client.send(AUDIO, samples[at:at + 3200])
    client.send(PAUSE)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    m = marker()
    script = [
        {"when": {"system": "Interrupted:"}, "text": "I stopped what you asked for."},
        {"steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
    ]
    # The recognised words differ from the spoken ones: each scope has one task, whatever is recognised.
    tale = tmp_path_factory.mktemp("tale") / "script.json"
    tale.write_text(json.dumps({"answers": [{"text": "Once upon a time there was a very long story. " * 20}]}))
    teller = f'[[models]]\nname = "tale"\nprovider = "scripted"\nbase_url = "{tale}"\n[[agents]]\nname = "teller"\nmodel = "tale"\n'
    with VoiceCluster(script, hear="default", speak="default", agent='scopes = ["talk/aloud"]', config=teller) as c:
        c.marker = m
        yield c


def test_a_spoken_stop_kills_a_real_tree_and_is_acknowledged_by_voice(world):
    client = world.client("talk/aloud")
    speak(client, "please work for me")
    client.wait(TEXT, "You: ", seconds=180)
    until(lambda: processes.marked(world.marker), "the work to run")
    speak(client, "stop it")
    client.wait(TEXT, "AI: I stopped what you asked for.", seconds=180)
    assert not processes.marked(world.marker)
    cancels = world.api("GET", "/v1/cancels?scope=talk/aloud").json["cancels"]
    assert len(cancels) == 1 and cancels[0]["status"] == "settled" and cancels[0]["report"]["proven"], cancels
    client.wait(SPEECH_END, seconds=180)
    samples = b"".join(client.of(SPEECH))
    assert len(samples) > 16000 and any(samples), "half a second of sound at least"
    client.close()


def test_the_cancel_of_a_spoken_answer_silences_it(world):
    client = world.client("talk/cut")
    speak(client, "tell me a story")
    client.wait(SPEECH, seconds=180)
    client.send(CANCEL)
    client.cancelled()
    heard = len(b"".join(client.of(SPEECH)))
    until(lambda: not [o for o in world.operations(scope="talk/cut", status="live") if o["title"] != "recogniser"], "nothing of it to live on")
    assert len(b"".join(client.of(SPEECH))) == heard and heard < 32000 * 20
    client.close()


def test_quell_talk_takes_a_file_and_leaves_one(world, tmp_path):
    with wave.open(str(tmp_path / "in.wav"), "wb") as f:
        f.setparams((1, 2, 16000, 0, "NONE", ""))
        f.writeframes(spoken("tell me a story"))
    talk = world.quell_background("talk", "--voice", world.voice_address(), "--scope", "talk/file", "--file", str(tmp_path / "in.wav"), "--out", str(tmp_path / "out.wav"),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: [o for o in world.operations(scope="talk/file", kind="task") if o["title"] == "speech"], "it to speak", seconds=180)
    said, _ = talk.communicate(b"4", timeout=180)
    assert talk.returncode == 130, (talk.returncode, said, _)
    assert said.decode().startswith("You: "), said
    until(lambda: world.exchanges("talk/file")[0]["status"] == "cancelled", "the exchange to end")
    with wave.open(str(tmp_path / "out.wav"), "rb") as f:
        assert f.getframerate() == 16000 and f.getnframes() < 16000 * 20
