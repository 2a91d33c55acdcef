"""The voice exchange with ears and mouth behind HTTP: requests and answers by bytes, and cancels at every instant of both."""
import threading
import time

import pytest

from harness.speech_server import SpeechServer, spoken
from harness.voice import AUDIO, CANCEL, NOTICE, PAUSE, READY, SPEECH, SPEECH_END, TEXT, VoiceCluster
from harness.waiting import until

SCRIPT = [{"text": "You said {{text}}."}]


class WebCluster(VoiceCluster):
    """`keys`: more lines of [voice.hear]."""

    def __init__(self, server, keys=""):
        super().__init__(SCRIPT, hear="default", speak="default")
        with open(self.directory + "/key", "w") as f:
            f.write("sesame\n")
        with open(self.config, "a") as f:
            f.write(f'[voice.hear]\nurl = "{server.url}/"\nmodel = "hearing-1"\nlanguage = "en"\nkey_file = "{self.directory}/key"\n{keys}\n'
                    f'[voice.speak]\nurl = "{server.url}"\nmodel = "speaking-1"\nvoice = "nova"\n')


def speak(client, text="good morning to you"):
    samples = spoken(text)
    for at in range(0, len(samples), 3200):
        client.send(AUDIO, samples[at:at + 3200])
    client.send(PAUSE)


@pytest.fixture
def cluster():
    opened = []

    def open_one(*transcripts, is_endless=False, keys=""):
        server = SpeechServer(transcripts, is_endless)
        opened.append(server)
        c = WebCluster(server, keys)
        c.__enter__()
        opened.append(c)
        return c, server
    yield open_one
    for one in reversed(opened):
        one.close()


def test_a_server_hears_and_speaks(cluster):
    c, server = cluster("good morning", "and again")
    client = c.client("web/plain")
    client.wait(READY)
    speak(client)
    client.wait(SPEECH_END, seconds=180)
    assert client.texts() == ["You: good morning", "AI: You said good morning."]
    heard, = server.heard
    assert {k: heard[k] for k in ("authorization", "model", "language", "response_format")} == {
        "authorization": "Bearer sesame", "model": "hearing-1", "language": "en", "response_format": "verbose_json"}, heard
    assert 1 < heard["seconds"] < 5, heard
    asked, = server.asked
    assert asked == {"authorization": None, "model": "speaking-1", "voice": "nova", "input": "You said good morning.", "response_format": "pcm", "speed": 1.0}, asked
    sound = b"".join(client.of(SPEECH))
    assert abs(len(sound) - 32000) < 400 and any(sound), "one second, at our rate"
    speak(client)
    client.wait(TEXT, "AI: You said and again.", seconds=180)
    client.close()


def test_a_cancel_in_speech_closes_the_servers_connection_and_is_proven(cluster):
    c, server = cluster("tell me a story", is_endless=True)
    client = c.client("web/speech")
    speak(client)
    client.wait(SPEECH, seconds=180)
    began = time.monotonic()
    client.send(CANCEL)
    client.cancelled()
    heard = len(client.of(SPEECH))
    until(lambda: server.hung_up_at, "the server to be left")
    assert server.hung_up_at[0] - began < 20
    one = until(lambda: [o for o in c.exchanges("web/speech") if o["status"] == "cancelled"], "the exchange to end")[0]
    cancel = c.api("GET", f"/v1/cancels/{one['stop']['cancel']}?wait=settled&wait_ms=60000").json
    assert cancel["status"] == "settled" and cancel["report"]["proven"], cancel
    assert len(client.of(SPEECH)) == heard, "nothing of it comes after cancelled"
    client.close()


def test_a_cancel_while_the_server_listens_is_answered_at_once_and_its_late_words_begin_nothing(cluster):
    late = threading.Event()
    c, server = cluster(late, "new words")
    client = c.client("web/late")
    speak(client)
    until(lambda: server.heard, "the server to hear it", 180)
    client.send(CANCEL)
    client.cancelled()
    late.set()
    speak(client, "what time is it")
    client.wait(TEXT, "You: new words", seconds=180)
    assert not [t for t in client.texts() if "late" in t]
    client.close()


def test_what_the_server_is_not_sure_of_is_ignored(cluster):
    c, _ = cluster(("stop", -3.0))
    client = c.client("web/unsure")
    speak(client, "stop")
    client.wait(NOTICE, "nothing was recognised with enough confidence", seconds=180)
    client.close()


def test_a_server_that_fails_leaves_the_session_usable(cluster):
    c, _ = cluster(500, "now it works")
    client = c.client("web/fails")
    speak(client)
    client.wait(NOTICE, "nothing was recognised", seconds=180)
    speak(client)
    client.wait(TEXT, "AI: You said now it works.", seconds=180)
    client.close()


def test_a_server_without_confidence_is_asked_for_less(cluster):
    c, server = cluster("plain words", keys="confidence = false")
    client = c.client("web/less")
    speak(client)
    client.wait(TEXT, "You: plain words", seconds=180)
    assert server.heard[0]["response_format"] == "json"
    client.close()
