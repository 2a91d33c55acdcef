"""A voice client and a brain by bytes, and a cluster with `[voice]` whose recogniser reads words out of the audio."""
import contextlib
import json
import os
import socket
import struct
import time

from .turns import TurnCluster
from .waiting import until

AUDIO, PAUSE, RESUME, INTERRUPT, CHOICE, SUMMARY_REQUEST, CANCEL, HELLO = range(1, 9)
READY, TEXT, ERROR, SPEECH, SPEECH_END, FEEDBACK, SUMMARY, NOTICE = range(0x80, 0x88)
A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 = range(0xA0, 0xAA)

# Recognises words in the audio, one per line; skips silence, and forgets a line that is begun again (byte 24).
LETTER_EAR = """
import json, sys
line = b""
while True:
    piece = sys.stdin.buffer.read1(4096)
    if not piece:
        break
    for byte in piece:
        if byte == 10:
            print(json.dumps({"text": line.decode(), "final": True, "confidence": 0.9}), flush=True)
            line = b""
        elif byte == 126:
            print(json.dumps({"text": line.decode(), "final": False}), flush=True)
        elif byte == 24:
            line = b""
        elif byte:
            line += bytes([byte])
"""
# Turns each word of the text into a tenth of a second of sound, endlessly after the word `endless`.
LETTER_MOUTH = """
import select, sys
text = sys.stdin.read()
sound = lambda word: (word.encode()[:1] or b"x") * 3200
for word in text.split():
    sys.stdout.buffer.write(sound(word))
    while word == "endless":
        sys.stdout.buffer.write(sound(word))
        sys.stdout.buffer.flush()
        select.select([], [], [], 0.05)
sys.stdout.buffer.flush()
"""


def encoded(tag, payload=b""):
    return struct.pack("<BI", tag, len(payload)) + payload


class Peer:
    """One end of a frame connection."""

    def __init__(self, address):
        if isinstance(address, socket.socket):
            self.socket = address
        elif address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[5:])
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.socket.setblocking(False)
        self.bytes, self.frames, self.is_over = b"", [], False

    def send(self, tag, payload=b""):
        self.send_bytes(encoded(tag, payload.encode() if isinstance(payload, str) else payload))

    def send_bytes(self, data):
        self.socket.setblocking(True)
        self.socket.sendall(data)
        self.socket.setblocking(False)

    def read(self):
        """Reads the available bytes; returns all frames so far."""
        try:
            while not self.is_over:
                piece = self.socket.recv(1 << 16)
                self.is_over = not piece
                self.bytes += piece
        except BlockingIOError:
            pass
        except OSError:
            self.is_over = True
        while len(self.bytes) >= 5:
            tag, length = struct.unpack("<BI", self.bytes[:5])
            if len(self.bytes) < 5 + length:
                break
            self.frames.append((tag, self.bytes[5:5 + length]))
            self.bytes = self.bytes[5 + length:]
        return self.frames

    def of(self, tag):
        return [payload for t, payload in self.read() if t == tag]

    def texts(self, tag=TEXT):
        return [payload.decode() for payload in self.of(tag)]

    def wait(self, tag, text=None, count=1, seconds=60):
        def look():
            found = [p for p in self.of(tag) if text is None or text in p.decode(errors="replace")]
            return found[count - 1:count] or None
        told = lambda: [(hex(t), p[:80]) for t, p in self.frames if t != SPEECH]
        return until(look, lambda: f"frame {tag:#x} {text or ''} number {count}; came: {told()}", seconds)[0]

    def ended(self, seconds=60):
        until(lambda: (self.read(), self.is_over)[1], "the connection to end", seconds)

    def close(self):
        self.socket.close()


class Client(Peer):
    def __init__(self, address, hello=None):
        super().__init__(address)
        if hello is not None:
            self.send(HELLO, json.dumps(hello))

    def say(self, words):
        data = (words + "\n").encode()
        self.send(AUDIO, data + b"\0" * (len(data) % 2))

    def cancelled(self, count=1):
        """Waits for the `cancelled` frames of all cancels so far; returns the milliseconds from now to the last one."""
        began = time.monotonic()
        until(lambda: self.texts(NOTICE).count("cancelled") >= count, lambda: f"cancelled number {count}; notices: {self.texts(NOTICE)}")
        return (time.monotonic() - began) * 1000


class PlayedGateway:
    """A voice gateway that the test plays, for `quell talk --voice ADDRESS`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.clients = []

    def accept(self):
        """The next client, which has said hello and is told that the gateway is ready."""
        def look():
            try:
                return self.listener.accept()[0]
            except BlockingIOError:
                return None
        client = Peer(until(look, "a client to connect"))
        self.clients.append(client)
        client.wait(HELLO)
        client.send(READY)
        return client

    def close(self):
        for one in [*self.clients, self.listener]:
            one.close()


def ready_client(cluster, scope):
    client = cluster.client(scope)
    client.wait(READY)
    return client


@contextlib.contextmanager
def connected_brain(cluster):
    """A brain at the socket of `[voice] brain = "unix:DIRECTORY/brain.sock"` that has begun its session."""
    one = Peer(f"unix:{cluster.directory}/brain.sock")
    one.send(A2, "{}")
    one.wait(READY)
    yield one
    one.close()


class VoiceCluster(TurnCluster):
    def __init__(self, script, voice="", hear=None, speak=None, config="", **options):
        super().__init__(script, **options)
        for name, text in (("ear.py", LETTER_EAR), ("mouth.py", LETTER_MOUTH)):
            with open(os.path.join(self.directory, name), "w") as f:
                f.write(text)
        here = lambda words: [word.replace("DIRECTORY", self.directory) for word in words]
        command = lambda given, name: json.dumps(here(given or ["/usr/bin/python3", f"DIRECTORY/{name}"]))
        with open(self.config, "a") as f:
            f.write(f'{config}\n[voice]\nlisten = "127.0.0.1:0"\n{here([voice])[0]}\n')
            if hear != "default":
                f.write(f'[voice.hear]\ncommand = {command(hear, "ear.py")}\n')
            if speak != "default":
                f.write(f'[voice.speak]\ncommand = {command(speak, "mouth.py")}\n')

    def voice_address(self):
        with open(os.path.join(self.state, "client.json")) as f:
            return json.load(f)["voice"]

    def client(self, scope=None, **hello):
        if scope:
            hello = {"token": self.token, "scope": scope, "author": {"id": "mia", "name": "Mia"}, "humans_present": 1, **hello}
        return Client(self.voice_address(), hello or None)

    def exchanges(self, scope):
        return [o for o in self.operations(scope=scope, kind="exchange")]
