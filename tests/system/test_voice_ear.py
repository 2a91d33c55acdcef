"""quell-ear with its second pass, as `[voice]` uses it: espeak-ng speaks, every sentence in its own noise, so that each run hears the same."""
import os
import sys

import pytest

from harness.cluster import BIN

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../benchmarks"))
import voice_stops  # noqa: E402

EAR = os.path.join(BIN, "quell-ear")
pytestmark = pytest.mark.skipif(not os.path.exists(EAR), reason="quell-ear is not built here: pocketsphinx is missing")

# Free decoding alone mishears these.
STOPS = [("en-us+m7", 140, "cancel that", 195), ("en-us", 210, "cancel that", 27), ("en-gb-x-rp+f2", 210, "forget it", 245), ("en-us+f3", 210, "forget it", 101)]
# A grammar of stops alone hears one in each of these.
OTHERS = [("en-gb+m3", 140, "council that met"), ("en-us+f3", 210, "counsel them"), ("en-gb", 175, "report it"), ("en-us", 140, "what time is it"),
          ("en-gb", 210, "never mind the gap"), ("en-us", 175, "the bus stop is near")]


@pytest.fixture(scope="module")
def ear():
    listener = voice_stops.Ear(EAR)
    yield listener
    listener.process.stdin.close()
    assert listener.process.wait(timeout=60) == 0
    listener.process.stdout.close()


def test_stops_that_free_decoding_mishears_are_heard(ear):
    heard = [ear.hear(voice_stops.noisy(voice_stops.spoken(text, voice, speed), seed)) for voice, speed, text, seed in STOPS]
    stops = [text for text in heard if voice_stops.CANCEL.match(text)]
    assert len(stops) >= 3, heard  # the loudness that the recogniser has grown used to makes a difference


def test_what_only_sounds_like_a_stop_is_none(ear):
    heard = [ear.hear(voice_stops.spoken(text, voice, speed)) for voice, speed, text in OTHERS]
    assert not [text for text in heard if voice_stops.CANCEL.match(text)], heard
