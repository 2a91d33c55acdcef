"""`quell talk` by bytes, against a gateway that the test plays: what the client sends at each instant of an exchange, and what it plays of what it gets."""
import json
import os
import signal
import subprocess
import wave

import pytest

from harness.cluster import BIN
from harness.sound import SoundServer
from harness.terminal import Terminal
from harness.voice import AUDIO, CANCEL, CHOICE, ERROR, FEEDBACK, HELLO, INTERRUPT, NOTICE, PAUSE, RESUME, SPEECH, SPEECH_END, TEXT, PlayedGateway, encoded
from harness.waiting import until

WORDS = b"u" * 70000  # more than one segment holds
QUIET = {AUDIO, PAUSE, RESUME, HELLO}


@pytest.fixture
def gateway():
    one = PlayedGateway()
    yield one
    one.close()


class FileTalk:
    """`quell talk --file` with keys from a pipe."""

    def __init__(self, gateway, folder, samples=WORDS, arguments=()):
        said, self.heard = folder / "in.wav", folder / "out.wav"
        with wave.open(str(said), "wb") as f:
            f.setparams((1, 2, 16000, 0, "NONE", ""))
            f.writeframes(samples)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": "mia"}
        self.out, self.err = folder / "out", folder / "err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([f"{BIN}/quell", "talk", "--voice", gateway.address, "--file", str(said), "--out", str(self.heard), *arguments],
                                            env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err)
        try:
            self.client = gateway.accept()
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait()

    def shows(self, text, count=1):
        until(lambda: (self.out.read_text() + self.err.read_text()).count(text) >= count, f"{text!r} to be shown")

    def asked(self, words="tell me a story"):
        """The whole file was sent, and its words are recognised."""
        self.client.wait(PAUSE)
        self.client.send(TEXT, f"You: {words}")

    def press(self, keys):
        self.process.stdin.write(keys.encode())
        self.process.stdin.flush()

    def end(self):
        until(lambda: self.process.poll() is not None, "quell talk to end")
        with wave.open(str(self.heard), "rb") as f:
            samples = f.readframes(f.getnframes())
        return self.process.returncode, samples, self.out.read_text(), self.err.read_text()


def controls(client):
    """All frames but the sound and its borders."""
    return [(tag, payload) for tag, payload in client.read() if tag not in QUIET]


def test_the_first_frame_is_a_hello_and_the_sound_comes_behind_ready_in_whole_samples(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        assert [tag for tag, _ in talk.client.frames] == [HELLO], "nothing is said before 80"
        hello = json.loads(talk.client.of(HELLO)[0])
        assert set(hello) <= {"token", "scope", "author", "humans_present"} and hello["author"]["id"] and hello["humans_present"] == 1, hello
        talk.asked()
        tags = [tag for tag, _ in talk.client.frames]
        assert tags == [HELLO, RESUME, *[AUDIO] * (len(tags) - 3), PAUSE], tags
        pieces = talk.client.of(AUDIO)
        assert b"".join(pieces) == WORDS and all(len(p) <= 65536 and len(p) % 2 == 0 for p in pieces)
        talk.client.send(TEXT, "AI: Once.")
        talk.client.send(SPEECH, b"oo" * 100)
        talk.client.send(SPEECH_END)
        code, heard, out, _ = talk.end()
        assert (code, heard, out) == (0, b"oo" * 100, "You: tell me a story\nAI: Once.\n")


def test_frames_of_a_gateway_are_read_however_they_are_cut(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        answer = encoded(TEXT, "AI: Grüße.".encode()) + encoded(SPEECH, b"abcd") + encoded(SPEECH, b"") + encoded(SPEECH, b"ef" * 4000) + encoded(0x84, b"dropped")
        for i in range(40):
            talk.client.send_bytes(answer[i:i + 1])
        talk.client.send_bytes(answer[40:])
        code, heard, out, _ = talk.end()
        assert (code, heard, out) == (0, b"abcd" + b"ef" * 4000, "You: tell me a story\nAI: Grüße.\n")


def test_a_cancel_in_speech_is_04_then_07_once_and_what_comes_before_its_answer_is_dropped(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(TEXT, "AI: Once upon a time.")
        talk.client.send(SPEECH, b"oo" * 100)
        talk.shows("AI: Once")
        talk.press("44\x1b")
        talk.client.wait(CANCEL)
        for tag, payload in ((SPEECH, b"xx" * 100), (TEXT, "AI: more"), (FEEDBACK, "Shall I?"), (SPEECH_END, b""), (TEXT, "You: other words")):
            talk.client.send(tag, payload)
        talk.press("13")  # no menu is open
        talk.client.send(NOTICE, "cancelled")
        code, heard, out, err = talk.end()
        assert controls(talk.client) == [(INTERRUPT, b""), (CANCEL, b"")], controls(talk.client)
        assert code == 130 and set(heard) <= set(b"o"), (code, heard)
        assert "You: other words" in out and "more" not in out and "Shall I" not in err and "[1]" not in err, (out, err)


@pytest.mark.parametrize("instant", ["recognised", "asked", "shown"])
def test_a_cancel_before_the_first_chunk_is_07_alone(gateway, tmp_path, instant):
    with FileTalk(gateway, tmp_path) as talk:
        talk.client.wait(PAUSE)
        if instant != "recognised":
            talk.client.send(TEXT, "You: tell me a story")
            talk.shows("You: tell me a story")
        if instant == "shown":
            talk.client.send(TEXT, "AI: Once upon a time.")
            talk.shows("AI: Once upon a time.")
        talk.press("44")
        talk.client.wait(CANCEL)
        talk.client.send(SPEECH, b"xx" * 100)
        talk.client.send(SPEECH_END)
        talk.client.send(NOTICE, "cancelled")
        code, heard, _, _ = talk.end()
        assert controls(talk.client) == [(CANCEL, b"")] and (code, heard) == (130, b"")


@pytest.mark.parametrize("key", ["4", "\x1b", "x"])
def test_a_cancel_in_the_menu_is_one_07_and_no_05(gateway, tmp_path, key):
    with FileTalk(gateway, tmp_path, arguments=["--cancel-key", "x"]) as talk:
        talk.asked()
        talk.client.send(FEEDBACK, "Shall I?")
        talk.shows("[1] Continue  [2] Retry  [3] Replay  [4] Cancel")
        talk.press(key * 2 + "123")
        talk.client.wait(CANCEL)
        talk.client.send(FEEDBACK, "Shall I really?")
        talk.client.send(SPEECH, b"xx" * 100)
        talk.client.send(NOTICE, "cancelled")
        code, heard, _, err = talk.end()
        assert controls(talk.client) == [(CANCEL, b"")] and (code, heard) == (130, b"")
        assert "really" not in err


def test_the_choices_of_the_menu_are_05_and_nothing_is_played_before_it(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(TEXT, "You: a short one")
        for asked, (key, choice) in enumerate((("2", b"\0"), ("1", b"\1"))):
            talk.client.send(FEEDBACK, "Shall I?")
            talk.shows("[1] Continue", asked + 1)
            assert not controls(talk.client)[asked:], "nothing is chosen by itself"
            talk.press("3" + key + key)  # nothing was spoken yet, so there is nothing to replay
            assert talk.client.wait(CHOICE, count=asked + 1) == choice
        talk.client.send(SPEECH, b"oo")
        talk.client.send(SPEECH_END)
        code, heard, _, _ = talk.end()
        assert controls(talk.client) == [(CHOICE, b"\0"), (CHOICE, b"\1")] and (code, heard) == (0, b"oo")


BAD = [(encoded(0x44), "44"), (encoded(AUDIO, b"xx"), "01"), (encoded(0xA9), "A9"), (encoded(SPEECH, b"odd"), "16-bit"), (encoded(SPEECH, b"x" * 8002), "8002"),
       (encoded(TEXT, b"AI: \xc3\x28"), "UTF-8"), (b"\x81\xff\xff\xff\x7f", "at most 65536"), (encoded(NOTICE, b"\xff"), "UTF-8")]


@pytest.mark.parametrize("data,wanted", BAD)
def test_a_gateway_that_breaks_the_rules_ends_the_talk_with_words_and_what_was_heard(gateway, tmp_path, data, wanted):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(SPEECH, b"oo")
        talk.client.send_bytes(data + encoded(SPEECH, b"xx"))
        talk.client.ended()
        code, heard, _, err = talk.end()
        assert (code, heard) == (5, b"oo") and wanted in err, (code, heard, err)


@pytest.mark.parametrize("payload,code,wanted", [
    (b'{"code":"unauthorized","detail":"no such token"}', 6, "no such token"), (b'{"code":"no_brain","detail":"every brain is talking"}', 1, "every brain is talking"),
    (b"not JSON", 1, "not JSON"), (b"", 1, ""),
])
def test_an_error_of_a_gateway_is_shown_and_ends_the_talk(gateway, tmp_path, payload, code, wanted):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(ERROR, payload)
        status, heard, _, err = talk.end()
        assert (status, heard) == (code, b"") and wanted in err, (status, err)


def test_a_gateway_that_goes_ends_the_talk_with_what_was_heard(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(SPEECH, b"oo")
        talk.client.close()
        code, heard, _, err = talk.end()
        assert (code, heard) == (5, b"oo") and "has ended" in err, (code, heard, err)


def test_a_cancel_through_another_door_ends_the_talk_as_cancelled(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(SPEECH, b"oo")
        talk.client.send(SPEECH_END)
        talk.client.send(NOTICE, "brain: exchange cancelled")  # a brain's words are none of quell's
        talk.client.send(NOTICE, "exchange cancelled")
        code, _, _, err = talk.end()
        assert code == 130 and not controls(talk.client), (code, controls(talk.client))


def test_a_signal_cancels_and_waits_for_the_answer_to_the_07(gateway, tmp_path):
    with FileTalk(gateway, tmp_path) as talk:
        talk.asked()
        talk.client.send(SPEECH, b"oo")
        talk.client.send(TEXT, "AI: Once.")
        talk.shows("AI: Once")
        talk.process.send_signal(signal.SIGINT)
        talk.client.wait(CANCEL)
        assert talk.process.poll() is None
        talk.client.send(NOTICE, "cancelled")
        code, heard, _, _ = talk.end()
        assert (code, heard) == (130, b"oo") and controls(talk.client) == [(INTERRUPT, b""), (CANCEL, b"")]


# ---- on a terminal, with a loudspeaker -----------------------------------------------------------------------------
@pytest.fixture
def sound():
    with SoundServer() as s:
        yield s


class LiveTalk:
    def __init__(self, gateway, sound, folder, *arguments):
        self.heard = sound.record()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": "mia", **sound.talk}
        self.terminal = Terminal([f"{BIN}/quell", "talk", "--voice", gateway.address, *arguments], environment)
        try:
            self.client = gateway.accept()
            self.terminal.see("cancels, q")
        except BaseException:
            self.terminal.__exit__(*([Exception] * 3))
            raise

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.terminal.__exit__(*why)

    def ask(self, words="tell me a story"):
        """Talks for a moment, and is understood."""
        before = len(self.client.of(AUDIO)), len(self.client.of(PAUSE))
        self.terminal.type(" ")
        self.client.wait(AUDIO, count=before[0] + 3)
        self.terminal.type(" ")
        self.client.wait(PAUSE, count=before[1] + 1)
        self.client.send(TEXT, f"You: {words}")
        self.terminal.see(f"You: {words}")

    def hears(self, letter, since=0):
        self.client.send(SPEECH, letter * 8000)
        self.heard.wait_for(letter, since=since)

    def quit(self):
        self.terminal.type("q")
        assert self.terminal.end() == 0


def test_with_nothing_said_asked_or_played_no_key_sends_anything(gateway, sound, tmp_path):
    with LiveTalk(gateway, sound, tmp_path, "--cancel-key", "x") as talk:
        talk.terminal.type("x\x1b[A4123x")
        talk.client.send(NOTICE, "hearing: somebody else")
        talk.terminal.type("x4")
        talk.quit()
        talk.client.ended()
        assert [tag for tag, _ in talk.client.read()] == [HELLO]


def test_a_cancel_in_speech_silences_what_is_in_flight_and_listens_again_without_a_menu(gateway, sound, tmp_path):
    with LiveTalk(gateway, sound, tmp_path) as talk:
        talk.ask()
        talk.hears(b"o")
        talk.terminal.type("\x1b\x1b4")
        talk.client.wait(CANCEL)
        for _ in range(3):
            talk.client.send(SPEECH, b"x" * 8000)
        talk.client.send(SPEECH_END)
        talk.client.send(FEEDBACK, "Shall I?")
        talk.terminal.see("Cancelled. Listening again.")
        talk.client.send(NOTICE, "cancelled")
        talk.ask("something else")  # it listens again: no menu stands in the way
        talk.hears(b"p")
        talk.client.send(SPEECH_END)
        talk.terminal.see("[3] Replay  [4] Cancel")
        assert controls(talk.client) == [(INTERRUPT, b""), (CANCEL, b"")], controls(talk.client)
        assert b"x" not in talk.heard.read() and "[1]" not in talk.terminal.text()
        talk.quit()


def test_talking_over_an_answer_is_04_alone_and_silences_what_is_in_flight(gateway, sound, tmp_path):
    with LiveTalk(gateway, sound, tmp_path) as talk:
        talk.ask()
        talk.hears(b"o")
        talk.terminal.type(" ")
        talk.client.wait(INTERRUPT)
        talk.client.send(SPEECH, b"x" * 8000)  # it was on its way
        talk.client.send(SPEECH_END)
        sounds = len(talk.client.of(AUDIO))
        talk.client.wait(AUDIO, count=sounds + 3)
        talk.terminal.type(" ")
        talk.client.send(TEXT, "You: and then")
        talk.hears(b"p")
        assert controls(talk.client) == [(INTERRUPT, b"")], controls(talk.client)
        assert b"x" not in talk.heard.read()
        tags = [tag for tag, _ in talk.client.frames]
        assert tags[tags.index(INTERRUPT) + 1] == RESUME
        talk.quit()


def test_three_replays_the_last_answer_and_returns_and_nothing_is_sent(gateway, sound, tmp_path):
    with LiveTalk(gateway, sound, tmp_path) as talk:
        talk.ask()
        talk.hears(b"o")
        talk.client.send(SPEECH_END)
        talk.terminal.see("[3] Replay  [4] Cancel")
        talk.ask("book it")
        talk.client.send(FEEDBACK, "Shall I?")
        talk.terminal.see("[1] Continue  [2] Retry  [3] Replay  [4] Cancel")
        played = len(talk.heard.read())
        talk.terminal.type("3")
        talk.heard.wait_for(b"o", since=played)
        assert not controls(talk.client)
        talk.terminal.type("1")  # the menu is still there
        assert talk.client.wait(CHOICE) == b"\1"
        talk.hears(b"p")
        talk.client.send(SPEECH_END)
        until(lambda: talk.terminal.text().count("[3] Replay  [4] Cancel") >= 3, "the menu behind the speech")
        talk.terminal.type("4")
        talk.client.wait(CANCEL)
        talk.client.send(NOTICE, "cancelled")
        assert controls(talk.client) == [(CHOICE, b"\1"), (CANCEL, b"")], controls(talk.client)
        talk.quit()
