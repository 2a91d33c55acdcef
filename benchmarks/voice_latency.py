"""From the cancel key to silence, recorded behind the loudspeaker; from the end of a spoken stop to fenced, beside the bare recogniser.

usage: voice_latency.py [ROUNDS]. Needs pulseaudio, espeak-ng, sox and build/bin/quell-ear.
"""
import itertools
import json
import os
import select
import subprocess
import sys
import time

import voice_stops
from support import BIN, median, record, say, until
from harness.sound import SAMPLES_PER_SECOND, SoundServer  # noqa: E402
from harness.terminal import Terminal  # noqa: E402
from harness.voice import AUDIO, NOTICE, READY, TEXT, VoiceCluster  # noqa: E402

STEP_S = 0.02
STEP = int(2 * SAMPLES_PER_SECOND * STEP_S)
SCRIPT = [{"when": {"user": "long story"}, "text": "Once endless"}, {"steps": [{"calls": [{"name": "exec", "input": {"command": "exec sleep 1000"}}]}]}]


def key_to_silence(rounds):
    took = []
    with VoiceCluster(SCRIPT) as c, SoundServer() as sound:
        heard = sound.record()
        command = [f"{BIN}/quell", "talk", "--voice", c.voice_address(), "--scope", "bench/key"]
        with Terminal(command, {**c.environment(), **sound.talk}) as t:
            t.see("q leaves")
            for i in range(rounds):
                t.type(" ")
                until(lambda: t.last().startswith("["), "the level meter")
                begin = len(heard.read())
                sound.say("a long story")
                until(lambda: t.text().count("You: ") > i, "the words")
                t.type(" ")
                heard.wait_for(b"e", since=begin)
                t.type("\x1b")
                pressed = time.monotonic()
                until(lambda: t.text().count("Cancelled.") > i, "the cancel")
                heard.goes_on(0.5)
                took.append(heard.last_sound_ms(pressed))
                say(f"    round {i + 1} of {rounds}: {took[-1]:.0f} ms")
            t.type("q")
            t.end()
    record("cancel key to silence behind the loudspeaker", f"{median(took):.0f} ms (worst {max(took):.0f} ms)", "150 ms", f"{median(took) / 150:.2f} x", "<= 1 x",
           median(took) <= 150, took)


def paced(samples, write, is_done, seconds=15):
    """Writes the samples, then silence, at the speed of speech until `is_done`; the milliseconds from the last word to then."""
    loud = samples.rstrip(b"\0")
    began = time.monotonic()
    sent = 0
    while time.monotonic() < began + seconds:
        if is_done():
            return (time.monotonic() - began - len(loud) / 2 / SAMPLES_PER_SECOND) * 1000
        due = int((time.monotonic() - began) * SAMPLES_PER_SECOND) * 2
        while sent < due:
            piece = loud[sent:sent + STEP]
            write(piece + b"\0" * (STEP - len(piece)))
            sent += STEP
        select.select([], [], [], STEP_S / 4)
    return None


def trimmed(samples):
    """Without the quiet end that espeak-ng leaves behind the last word."""
    loud = [i for i in range(0, len(samples), 2) if abs(int.from_bytes(samples[i:i + 2], "little", signed=True)) > 40]
    return samples[:loud[-1] + 2]


class Ear:
    """The bare recogniser."""

    def __init__(self):
        self.process = subprocess.Popen([f"{BIN}/quell-ear"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)

    def hear(self, samples):
        """The milliseconds from the last word to the final transcript, and the transcript."""
        came, final = b"", None

        def write(piece):
            self.process.stdin.write(piece)
            self.process.stdin.flush()

        def is_final():
            nonlocal came, final
            came += self.process.stdout.read() or b""
            finals = [line["text"] for line in map(json.loads, came.splitlines(keepends=False)[:came.count(b"\n")]) if line["final"]]
            final = finals[0] if finals else None
            return final is not None
        return paced(samples, write, is_final), final

    def close(self):
        self.process.kill()
        self.process.wait()


def a_stop_that_is_heard(ear):
    """The recogniser does not hear every spoken stop; this is about the time that it takes for one that it hears."""
    for (voice, speed), text in itertools.product(itertools.product(voice_stops.VOICES, voice_stops.SPEEDS), ("stop it", "forget it", "stop", "please stop", "cancel that")):
        words = trimmed(voice_stops.spoken(text, voice, speed))
        heard = [ear.hear(words)[1] for _ in range(2)]
        if all(h and voice_stops.CANCEL.match(h) for h in heard):
            say(f"    {text!r}, {voice} at {speed}")
            return words
        say(f"    {text!r}, {voice} at {speed} is heard as {heard}")
    raise SystemExit("no spoken stop is heard")


def word_to_fenced(rounds):
    took, bare, ear = [], [], Ear()
    words = a_stop_that_is_heard(ear)
    with VoiceCluster(SCRIPT, hear="default") as c:
        client = c.client("bench/word")
        client.wait(READY)
        paced(b"", lambda piece: client.send(AUDIO, piece), lambda: False, seconds=2)  # both have heard silence before the first word
        for i in range(rounds):
            c.say("bench/word", "work please")
            until(lambda: c.operations(scope="bench/word", kind="tool_call", status="running"), "the work to run")
            before = client.texts(NOTICE).count("stopping")
            ms = paced(words, lambda piece: client.send(AUDIO, piece), lambda: client.texts(NOTICE).count("stopping") > before)
            bare.append(ear.hear(words)[0])
            if ms is None:
                say(f"    round {i + 1} of {rounds}: not heard as a stop: {client.texts(TEXT)[-1:]}")
                c.cancel(scope="bench/word")
                continue
            took.append(ms)
            say(f"    round {i + 1} of {rounds}: {ms:.0f} ms, bare {bare[-1]:.0f} ms")
        client.close()
    ear.close()
    assert took, "no round was heard as a stop"
    ratio = median(took) / median(bare)
    record("end of a spoken stop to fenced", f"{median(took):.0f} ms", f"the bare recogniser {median(bare):.0f} ms", f"{ratio:.2f} x", "<= 1.2 x",
           ratio <= 1.2, took, bare)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    key_to_silence(count)
    word_to_fenced(count)
