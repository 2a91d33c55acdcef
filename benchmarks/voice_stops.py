"""How many spoken stops are recognised, and how many other sentences are taken for one: espeak-ng speaks, every second sentence in noise, the recogniser listens, the cancel-word rule decides.

usage: voice_stops.py [--ear COMMAND] [--voices N] [--speeds N] [--every N]
Prints a table and every false stop. Needs espeak-ng, sox, and by default build/bin/quell-ear.
"""
import argparse
import array
import itertools
import json
import random
import re
import shlex
import subprocess

VOICES = ["en-us", "en-gb", "en-us+f3", "en-gb+m3", "en-gb-scotland", "en-us+m7", "en-gb-x-rp+f2"]
SPEEDS = [175, 140, 210]
STOPS = ["stop", "stop it", "cancel", "cancel that", "never mind", "forget it", "abort", "quit", "please stop", "ok stop", "just stop it", "stop now"]
NEAR = """top of the list|a stopover in rome|the bus stop is near|do not stop|don't stop now|stop the music please|we never stopped|cancel my subscription|can you cancel my order
the cancellation was late|never mind the gap|i never minded it|forget it not|do not forget it|she forgot it|quite good|quit smoking is hard|a quiet night|port the program|a board meeting
what time is it|tell me a story|how are you today|play some music|read the next page|what is the weather|continue please|go on|yes please|no thank you
step by step|shop at noon|stock is up|hop on the train|drop it here|crop the picture|stop by my house|stop sign ahead|top it up|pop it open
council that met|cancer research|candle light|channel five|counsel them|ever mind|clever mind|remind me|mind the step|never again
forge it in fire|for good it is|forty kids|about time|a boat|report it|support that|equip it|acquit him|kick it""".replace("\n", "|").split("|")
LEADS = r"(?:ok|okay|oh|actually|just|please|yeah|hey)"
WORD = r"(?:stop|cancel|never ?mind|nvm|forget ?it|abort|quit)"
CANCEL = re.compile(rf"^(?:{LEADS} )*{WORD}(?: (?:it|that|this|please|now))*$")


def spoken(text, voice, speed):
    made = subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", text], stdout=subprocess.PIPE, check=True).stdout
    raw = ["sox", "-R", "-q", "--ignore-length", "-t", "wav", "-", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    return subprocess.run(raw, input=made, stdout=subprocess.PIPE, check=True).stdout


def noisy(samples, seed, part=0.06):
    """With white noise whose loudness is this part of the speech's."""
    speech, chance = array.array("h", samples), random.Random(seed)
    loudness = (sum(s * s for s in speech) / max(1, len(speech))) ** 0.5
    return array.array("h", (max(-32768, min(32767, int(s + chance.gauss(0, part * loudness)))) for s in speech)).tobytes()


class Ear:
    """One warm recogniser; each utterance has a silence before and after it."""

    def __init__(self, command):
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hear(self, samples):
        silence = b"\0" * 32000
        self.process.stdin.write(silence + samples + silence * 2)
        self.process.stdin.flush()
        while True:
            line = json.loads(self.process.stdout.readline())
            if line["final"]:
                return line["text"]


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--ear", default="build/bin/quell-ear")
    flags.add_argument("--voices", type=int, default=len(VOICES))
    flags.add_argument("--speeds", type=int, default=len(SPEEDS))
    flags.add_argument("--every", type=int, default=1, help="only each n-th sentence")
    given = flags.parse_args()
    ear = Ear(given.ear)
    ways = list(itertools.product(VOICES[:given.voices], SPEEDS[:given.speeds]))
    print("| | said | taken for a stop | | of these in noise |\n|---|---|---|---|---|")
    for name, texts in (("words that stop", STOPS), ("near misses and other sentences", NEAR)):
        said, stops, in_noise, wrong = 0, 0, 0, []
        for i, ((voice, speed), text) in enumerate(itertools.product(ways, texts[::given.every])):
            samples = spoken(text, voice, speed)
            heard = ear.hear(noisy(samples, i) if i % 2 else samples)
            said += 1
            if CANCEL.match(heard):
                stops += 1
                in_noise += i % 2
                if texts is NEAR:
                    wrong.append(f"{voice} {speed}: {text!r} was heard as {heard!r}")
        print(f"| {name} | {said} | {stops} | {100 * stops / said:.1f} % | {in_noise} |", flush=True)
        for line in wrong:
            print("  " + line)


if __name__ == "__main__":
    main()
