"""`quell talk` with a real sound server, on a terminal: what the loudspeaker plays is recorded while keys are pressed."""
import itertools
import os
import signal
import socket
import ssl
import struct
import subprocess
import wave

import pytest

from harness.certificates import make_certificate
from harness.cluster import BIN
from harness.sound import SoundServer
from harness.terminal import Terminal
from harness.voice import HELLO, READY, VoiceCluster, encoded
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "long story"}, "text": "Once endless"},
    {"when": {"user": "think"}, "steps": [{"endless": "hm ", "chunk": 3, "delay_ms": 20}]},
    {"when": {"user": "hello"}, "text": "Say hi"},
    {"text": "Said {{text}}."},
]


@pytest.fixture(scope="module")
def world():
    with VoiceCluster(SCRIPT) as c:
        yield c


@pytest.fixture(scope="module")
def asking():
    with VoiceCluster(SCRIPT, voice="feedback = true") as c:
        yield c


@pytest.fixture
def sound():
    with SoundServer() as s:
        yield s


def talking(world, sound, *arguments, **environment):
    """`quell talk` on a terminal, once it is ready for keys."""
    t = Terminal([f"{BIN}/quell", "talk", "--voice", world.voice_address(), *arguments], {**world.environment(), **sound.talk, **environment})
    t.see("cancels, q")  # the rest can stand on the next line
    return t


def say(t, sound, words):
    """Presses the key to talk, speaks, and presses it again."""
    t.type(" ")
    until(lambda: t.last().startswith("["), "the level meter")
    sound.say(words)
    t.see("You: " + words)
    t.type(" ")


def is_silent(heard):
    """Whether nothing is heard in the next second."""
    begin = len(heard.read())
    heard.goes_on(1)
    return not heard.samples[begin:].strip(b"\0")


def test_the_cancel_key_silences_the_loudspeaker_at_once_and_the_next_answer_is_heard(world, sound):
    heard = sound.record()
    with talking(world, sound, "--scope", "talk/key") as t:
        say(t, sound, "a long story")
        heard.wait_for(b"e")
        t.type("\x1b")
        t.see("Cancelled. Listening again.")
        until(lambda: is_silent(heard), "the answer without end to be silent; benchmarks/voice_latency.py measures how soon it is")
        silent = len(heard.samples)
        say(t, sound, "hello")
        heard.wait_for(b"S", since=silent)
        heard.wait_for(b"h", since=silent)
        t.see("[3] Replay  [4] Cancel")
        after = heard.samples[silent:]
        assert b"e" not in after and b"O" not in after, "nothing of the cancelled answer"
        again = len(heard.samples)
        t.type("3")
        heard.wait_for(b"h", since=again)
        t.type("q")
        assert t.end() == 0
    until(lambda: len(world.operations(scope="talk/key", kind="exchange", status="live")) == 0, "both exchanges to end")
    exchanges = {o["exchange"]["transcript"]: o for o in world.exchanges("talk/key")}
    assert exchanges["a long story"]["status"] == "cancelled" and exchanges["a long story"]["exchange"]["spoken"] is False
    assert exchanges["hello"]["status"] == "completed" and exchanges["hello"]["exchange"]["spoken"] is True


def test_the_menu_comes_before_speech_and_escape_in_it_cancels(asking, sound):
    heard = sound.record()
    with talking(asking, sound, "--scope", "talk/menu") as t:
        say(t, sound, "one")
        t.see("[1] Continue  [2] Retry  [3] Replay  [4] Cancel")
        heard.goes_on(0.5)
        assert not heard.samples.strip(b"\0"), "nothing is spoken before the choice"
        t.type("\x1b")
        t.see("Cancelled. Listening again.")
        say(t, sound, "two")
        until(lambda: t.text().count("[1] Continue") == 2, "the second menu")
        t.type("1")
        heard.wait_for(b"t")
        assert b"o" not in heard.samples
        t.type("q")
        assert t.end() == 0
    first = min(asking.exchanges("talk/menu"), key=lambda o: o["seq"])
    until(lambda: asking.operation(first["id"])["status"] == "cancelled", "the first exchange to be cancelled")


def test_leaving_in_an_answer_cancels_it(world, sound):
    heard = sound.record()
    with talking(world, sound, "--scope", "talk/interrupt") as t:
        say(t, sound, "a long story")
        heard.wait_for(b"e")
        t.type("\x03")
        assert t.end() == 130
    until(lambda: world.exchanges("talk/interrupt")[0]["status"] == "cancelled", "the exchange to end")


def test_with_nothing_said_the_cancel_key_sends_nothing(world, sound):
    with talking(world, sound, "--scope", "talk/idle", "--cancel-key", "x") as t:
        t.type("x\x1b[A4")
        t.type("q")
        assert t.end() == 0
        assert "Cancelled" not in t.text()


def test_an_open_microphone_hears_and_says_that_only_the_key_stops(world, sound):
    heard = sound.record()
    with talking(world, sound, "--scope", "talk/open", "--open") as t:
        t.see("there is no echo cancellation")
        sound.say("a long story")
        t.see("You: a long story")
        heard.wait_for(b"e")
        sound.say("ignored words")  # while the answer plays
        t.type("4")
        t.see("Cancelled. Listening again.")
        heard.goes_on(0.5)
        sound.say("hello")
        t.see("You: hello")
        assert "ignored" not in t.text()
        t.type("q")
        assert t.end() == 0


def test_an_open_microphone_behind_an_echo_canceller_is_never_deaf(world):
    canceller = "module-echo-cancel source_master=room.monitor sink_master=speaker source_name=mic.echo-cancel sink_name=speaker.echo-cancel aec_method=null"
    with SoundServer(modules=[canceller], source="mic.echo-cancel", sink="speaker.echo-cancel") as sound:
        with talking(world, sound, "--scope", "talk/canceller", "--open") as t:
            t.see("echo cancellation is on")
            t.type("q")
            assert t.end() == 0


class Keyboard:
    """A FIFO with the kernel's records of keys, in the place of /dev/input/eventN."""
    F9, F10 = 67, 68

    def __init__(self, folder):
        self.path = str(folder / "keyboard")
        os.mkfifo(self.path)
        self.end = os.open(self.path, os.O_RDWR)  # so that a reader never finds it without a writer

    def change(self, key, value):
        os.write(self.end, struct.pack("@llHHi", 0, 0, 1, key, value) + struct.pack("@llHHi", 0, 0, 0, 0, 0))

    def close(self):
        os.close(self.end)


def test_a_key_of_the_keyboard_talks_while_it_is_held_and_another_one_cancels(world, sound, tmp_path):
    keyboard = Keyboard(tmp_path)
    heard = sound.record()
    with talking(world, sound, "--scope", "talk/keyboard", "--talk-key", f"KEY_F9@{keyboard.path}", "--cancel-key", f"KEY_F10@{keyboard.path}") as t:
        assert "KEY_F9 talks while it is held, esc or KEY_F10 cancels" in t.text(), t.text()
        keyboard.change(keyboard.F9, 1)
        until(lambda: t.last().startswith("["), "the level meter")
        sound.say("a long story")
        keyboard.change(keyboard.F9, 2)  # it repeats
        t.see("You: a long story")
        keyboard.change(keyboard.F9, 0)
        until(lambda: not t.last().startswith("["), "the microphone to be off")
        heard.wait_for(b"e")
        keyboard.change(keyboard.F10, 1)
        t.see("Cancelled. Listening again.")
        keyboard.change(keyboard.F10, 0)
        t.type("q")
        assert t.end() == 0
    keyboard.close()
    until(lambda: [o["status"] for o in world.exchanges("talk/keyboard")] == ["cancelled"], "the exchange to end")


def test_without_a_readable_keyboard_the_keys_of_the_terminal_work(world, sound, tmp_path):
    with talking(world, sound, "--scope", "talk/none", "--cancel-key", "KEY_240") as t:
        t.see("can be read; join the group input")
        t.type("q")
        assert t.end() == 0
    done = world.quell("talk", "--voice", world.voice_address(), "--cancel-key", f"KEY_F10@{tmp_path}/none", env={**world.environment(), **sound.talk}, check=2)
    assert "the keyboard" in done.stderr.decode() and "cannot be read: No such file" in done.stderr.decode(), done.stderr


def test_without_a_sound_device_the_words_are_clear(world, tmp_path):
    for environment, wanted in (({"PULSE_SERVER": f"unix:{tmp_path}/nobody"}, "the sound server cannot be reached (Connection refused); start one (PulseAudio or PipeWire), or use --file"),):
        done = world.quell("talk", "--voice", world.voice_address(), env={**world.environment(), **environment}, check=1)
        assert wanted in done.stderr.decode(), done.stderr


def test_a_sound_server_that_dies_ends_the_talk(world):
    with SoundServer() as sound, talking(world, sound, "--scope", "talk/dies") as t:
        sound.daemon.kill()
        t.see("no sound device")
        assert t.end() == 1


@pytest.mark.parametrize("arguments,wanted", [
    (["--talk-key", "x", "--cancel-key", "x"], "one key cannot both talk and cancel"),
    (["--talk-key", "esc"], "one key cannot both talk and cancel"),
    (["--talk-key", "KEY_F9", "--cancel-key", "key_f9@/dev/input/event0"], "one key cannot both talk and cancel"),
    (["--cancel-key", "KEY_SPACE"], "one key cannot both talk and cancel"),
    (["--talk-key", "KEY_ESC"], "one key cannot both talk and cancel"),
    (["--talk-key", "KEY_1"], "is not a free key"),
    (["--cancel-key", "KEY_F10@nowhere"], "is not a free key"),
    (["--cancel-key", "KEY_F10", "--file", "x.wav"], "a key of the keyboard"),
    (["--cancel-key", "q"], "is not a free key"),
    (["--talk-key", "control"], "is not a free key"),
    (["--out", "x.wav"], "--out needs --file"),
    (["--voice", "nonsense"], "is not HOST:PORT"),
])
def test_wrong_flags_are_refused(world, arguments, wanted):
    done = world.quell("talk", *arguments, check=2)
    assert wanted in done.stderr.decode(), done.stderr


def spoken(text):
    made = subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "--stdout", text], stdout=subprocess.PIPE, check=True).stdout
    raw = ["sox", "-q", "--ignore-length", "-t", "wav", "-", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    return subprocess.run(raw, input=made, stdout=subprocess.PIPE, check=True).stdout


def test_an_answer_that_says_stop_into_its_own_microphone_stops_nothing():
    answer = "Stop. Stop it. Cancel that. Never mind. Stop."
    with VoiceCluster([{"text": answer}], hear="default", speak="default") as c, SoundServer(looped=True) as sound:
        heard = sound.record()
        with talking(c, sound, "--scope", "talk/loop", "--open") as t:
            sound.play(spoken("please tell me what to say"), sink="speaker")
            t.see("AI: Stop.", seconds=180)
            began = len(heard.read())
            t.see("[3] Replay  [4] Cancel", seconds=180)
            heard.goes_on(2)  # words that were heard would be shown by now
            assert t.text().count("You: ") == 1, t.text()
            exchange, = until(lambda: c.operations(scope="talk/loop", kind="exchange", status="ended"), "the exchange to end")
            assert exchange["status"] == "completed" and exchange["exchange"]["spoken"] is True, exchange
            assert not c.api("GET", "/v1/cancels?scope=talk/loop").json["cancels"]
            # The same sound, now that nothing plays, can be heard. A busy machine leaves gaps in the recording, so each second time the words are spoken anew.
            recorded = heard.samples[began:]
            said = (recorded if i % 2 == 0 else spoken(answer) for i in itertools.count())
            until(lambda: sound.play(next(said), sink="speaker") or t.text().count("You: ") >= 2, "the recogniser to hear the very same words", 180)


# ---- TLS -------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = make_certificate(folder, "elsewhere")

    class Encrypted(VoiceCluster):
        trusted = certificate

        def environment(self, **more):
            return super().environment(**{"QUELL_CA_FILE": str(certificate), **more})

    with Encrypted(SCRIPT, settings=[f"http.tls_cert={certificate}", f"http.tls_key={key}"]) as c:
        with wave.open(str(folder / "in.wav"), "wb") as f:
            f.setparams((1, 2, 16000, 0, "NONE", ""))
            f.writeframes(b"hello there\n")
        c.speech = str(folder / "in.wav")
        c.certificate = certificate
        yield c


def test_ctrl_c_cancels_a_file_and_leaves_what_was_heard(world, tmp_path):
    said, heard = tmp_path / "in.wav", tmp_path / "out.wav"
    with wave.open(str(said), "wb") as f:
        f.setparams((1, 2, 16000, 0, "NONE", ""))
        f.writeframes(b"my long story\n")  # whole samples
    talk = world.quell_background("talk", "--voice", world.voice_address(), "--scope", "talk/interrupted", "--file", str(said), "--out", str(heard), stdin=subprocess.PIPE)
    assert talk.stdout.readline() == b"You: my long story\n"
    until(lambda: [o for o in world.operations(scope="talk/interrupted", kind="task", status="running") if o["title"] == "speech"], "it to speak")
    talk.send_signal(signal.SIGINT)
    out, err = talk.communicate(timeout=60)
    assert talk.returncode == 130, (talk.returncode, out, err)
    with wave.open(str(heard), "rb") as f:
        assert f.getframerate() == 16000 and set(f.readframes(f.getnframes())) <= set(b"Oe"), "what was played, and nothing else"
    until(lambda: world.exchanges("talk/interrupted")[0]["status"] == "cancelled", "the exchange to end")


def test_each_utterance_of_a_file_is_answered(world, tmp_path):
    said, heard = tmp_path / "in.wav", tmp_path / "out.wav"
    with wave.open(str(said), "wb") as f:
        f.setparams((1, 2, 16000, 0, "NONE", ""))
        f.writeframes(b"one\ntwo\n")
    done = world.quell("talk", "--voice", world.voice_address(), "--scope", "talk/several", "--file", str(said), "--out", str(heard), check=0)
    shown = done.stdout.decode().splitlines()
    assert sorted(shown) == ["AI: Said one.", "AI: Said two.", "You: one", "You: two"] and shown[-1] == "AI: Said two.", done
    with wave.open(str(heard), "rb") as f:
        assert f.readframes(f.getnframes()) == (b"S" * 3200 + b"o" * 3200) + (b"S" * 3200 + b"t" * 3200)
    exchanges = until(lambda: [o for o in world.exchanges("talk/several") if o["ended_at"]][1:] and world.exchanges("talk/several"), "both exchanges to end")
    assert {o["exchange"]["transcript"] for o in exchanges} == {"one", "two"}, exchanges


def test_quell_talk_speaks_tls_as_http_does(encrypted):
    for address in (["--voice", encrypted.voice_address()], ["--voice", "tls://" + encrypted.voice_address()], ["--state", encrypted.state]):
        done = encrypted.quell("talk", "--file", encrypted.speech, "--scope", "talk/tls", *address, check=0)
        assert done.stdout.decode() == "You: hello there\nAI: Say hi\n", done


def test_a_certificate_that_is_not_trusted_ends_the_talk_before_the_token_is_sent(encrypted, tmp_path):
    _, other = make_certificate(tmp_path, "other")
    talk = ["talk", "--file", encrypted.speech, "--voice"]
    untrusted = encrypted.quell(*talk, encrypted.voice_address(), env=encrypted.environment(QUELL_CA_FILE=str(other)), check=5)
    assert "its certificate is not trusted" in untrusted.stderr.decode(), untrusted
    wrong_name = encrypted.quell(*talk, "tls://localhost:" + encrypted.voice_address().rsplit(":", 1)[1], check=5)
    assert "its certificate is not trusted" in wrong_name.stderr.decode() and "mismatch" in wrong_name.stderr.decode(), wrong_name


def test_plain_to_tls_and_tls_to_plain_say_what_is_wrong(encrypted, world):
    talk = ["talk", "--file", encrypted.speech, "--voice"]
    plain = encrypted.quell(*talk, "tcp://" + encrypted.voice_address(), check=5)
    assert "the connection to the voice gateway has ended" in plain.stderr.decode() or "speaks TLS: name it as --voice tls://" in plain.stderr.decode(), plain
    wrapped = world.quell(*talk, "tls://" + world.voice_address(), check=5)
    assert "for a gateway without TLS: --voice tcp://HOST:PORT" in wrapped.stderr.decode(), wrapped


def test_the_gateway_talks_tls_alone_and_none_that_is_old(encrypted):
    host, port = encrypted.voice_address().rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), timeout=60)
    plain.sendall(encoded(HELLO, b"{}"))
    assert encoded(READY) not in plain.recv(64)
    plain.close()
    trusted = ssl.create_default_context(cafile=encrypted.certificate)
    with trusted.wrap_socket(socket.create_connection((host, int(port)), timeout=60), server_hostname=host) as tls:
        assert tls.recv(5) == encoded(READY)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(socket.create_connection((host, int(port)), timeout=60))
