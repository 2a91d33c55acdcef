"""Recognisers that are late: what was said before a cancel is never answered behind it, and what is said behind it is heard."""
import time

import pytest

from harness.voice import AUDIO, CANCEL, NOTICE, PAUSE, TEXT, VoiceCluster, encoded, ready_client
from harness.waiting import until

SCRIPT = [{"text": "You said {{text}}."}]
# One word per line, like the usual one; the Nth is reported once the file GATE.N is there. GATE.N.heard says that it has come.
LATE_EAR = """
import json, os, select, sys
gate, count, line = sys.argv[1], 0, b""
while True:
    piece = sys.stdin.buffer.read1(4096)
    if not piece:
        break
    for byte in piece:
        if byte == 10:
            count += 1
            open(f"{gate}.{count}.heard", "w").close()
            while not os.path.exists(f"{gate}.{count}"):
                select.select([], [], [], 0.02)
            print(json.dumps({"text": line.decode(), "final": True, "confidence": 0.9}), flush=True)
            line = b""
        elif byte:
            line += bytes([byte])
"""


@pytest.mark.parametrize("talks_again", [False, True])
def test_words_before_a_cancel_that_are_recognised_behind_it_are_not_answered(tmp_path, talks_again):
    ear, gate = tmp_path / "ear.py", tmp_path / "gate"
    ear.write_text(LATE_EAR)
    with VoiceCluster(SCRIPT, hear=["/usr/bin/python3", str(ear), str(gate)]) as c:
        client = ready_client(c, "late/words")
        client.say("book the flight")
        client.send(PAUSE)
        until((tmp_path / "gate.1.heard").exists, "the recogniser to get the first words")
        client.send(CANCEL)
        client.cancelled()
        for n in (2, 3):
            (tmp_path / f"gate.{n}").touch()
        if talks_again:
            client.say("next words")
        (tmp_path / "gate.1").touch()
        if not talks_again:
            client.say("next words")
        client.wait(TEXT, "AI: You said next words.")
        client.say("third words")
        client.wait(TEXT, "AI: You said third words.")
        assert not [t for t in client.texts() if "flight" in t], client.texts()
        transcripts = lambda: sorted(str(o["exchange"]["transcript"]) for o in c.exchanges("late/words"))
        until(lambda: transcripts() == ["next words", "third words"], f"two exchanges to end; {transcripts()}")
        client.close()


# Reads nothing before the file GATE is there; says where each line began.
SHUT_EAR = """
import json, os, select, sys
while not os.path.exists(sys.argv[1]):
    select.select([], [], [], 0.02)
line, at, start = b"", 0, 0
while True:
    piece = sys.stdin.buffer.read1(65536)
    if not piece:
        break
    if piece.strip(b"\\0"):
        for i, byte in enumerate(piece):
            if byte == 10:
                print(json.dumps({"text": line.decode(), "final": True, "confidence": 0.9, "from": start // 2}), flush=True)
                line = b""
            elif byte:
                start = start if line else at + i
                line += bytes([byte])
    at += len(piece)
"""


def test_audio_that_a_recogniser_had_no_room_for_deafens_nobody_behind_a_cancel(tmp_path):
    ear, gate = tmp_path / "ear.py", tmp_path / "gate"
    ear.write_text(SHUT_EAR)
    with VoiceCluster(SCRIPT, hear=["/usr/bin/python3", str(ear), str(gate)]) as c:
        client = ready_client(c, "late/room")
        minute = encoded(AUDIO, b"\0" * 64000) * 30
        behind = lambda: [t for t in client.texts(NOTICE) if "the recogniser is minutes behind" in t]
        for _ in range(60):
            if behind():
                break
            client.send_bytes(minute)
        until(behind, "the client to be told that audio is lost")
        for _ in range(3):
            client.send_bytes(minute)
        gate.touch()
        said = 0.0

        def is_heard():
            nonlocal said
            if time.monotonic() - said > 1:
                said = time.monotonic()
                client.say("hello")
            return [t for t in client.texts() if t == "You: hello"]
        until(is_heard, "the recogniser to catch up")
        client.send(CANCEL)
        client.cancelled()
        client.say("second words")
        client.wait(TEXT, "second words.")
        client.close()
