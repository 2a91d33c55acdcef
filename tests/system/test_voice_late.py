"""A recogniser that reports words late and does not say where they began: what was said before a cancel is never answered behind it."""
import pytest

from harness.voice import CANCEL, PAUSE, TEXT, VoiceCluster, ready_client
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
        assert sorted(o["exchange"]["transcript"] for o in c.exchanges("late/words")) == ["next words", "third words"]
        client.close()
