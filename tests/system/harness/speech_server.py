"""A server of `/v1/audio/transcriptions` and `/v1/audio/speech`, as OpenAI's clients expect it, that answers as the test tells it."""
import email.parser
import email.policy
import http.server
import json
import math
import struct
import subprocess
import threading
import time
import wave
import io

SPOKEN = {}


def spoken(text, speed=150):
    """What espeak-ng makes of the text: 16-bit samples at 16 kHz."""
    if (text, speed) not in SPOKEN:
        made = subprocess.run(["espeak-ng", "-v", "en-us", "-s", str(speed), "--stdout", text], stdout=subprocess.PIPE, check=True).stdout
        raw = ["sox", "-q", "--ignore-length", "-t", "wav", "-", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
        SPOKEN[text, speed] = subprocess.run(raw, input=made, stdout=subprocess.PIPE, check=True).stdout
    return SPOKEN[text, speed]


def tone(seconds, rate=24000):
    return b"".join(struct.pack("<h", int(12000 * math.sin(2 * math.pi * 440 * i / rate))) for i in range(int(seconds * rate)))


class SpeechServer:
    """`transcripts`: the answers, in order, each a text, a status, a (text, avg_logprob), or an Event to wait for before the text "late words". `is_endless`: speech never ends."""

    def __init__(self, transcripts=(), is_endless=False):
        self.transcripts, self.is_endless = list(transcripts), is_endless
        self.heard, self.asked, self.hung_up_at = [], [], []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                (owner.transcribe if self.path == "/v1/audio/transcriptions" else owner.speak)(self, body)

            def answer(self, status, document):
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def transcribe(self, request, body):
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        fields = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in form.iter_parts()}
        with wave.open(io.BytesIO(fields.pop("file"))) as f:
            seconds = f.getnframes() / f.getframerate()
        self.heard.append({"seconds": seconds, "authorization": request.headers["Authorization"], **{k: v.decode() for k, v in fields.items()}})
        next_one = self.transcripts.pop(0)
        if isinstance(next_one, threading.Event):
            next_one.wait(60)
            next_one = "late words"
        if isinstance(next_one, int):
            return request.answer(next_one, {"error": {"message": "not now"}})
        text, sure = next_one if isinstance(next_one, tuple) else (next_one, -0.1)
        request.answer(200, {"text": " " + text, "segments": [{"start": 0, "end": seconds, "avg_logprob": sure, "no_speech_prob": 0.01}]})

    def speak(self, request, body):
        self.asked.append({"authorization": request.headers["Authorization"], **json.loads(body)})
        request.send_response(200)
        request.send_header("Content-Type", "audio/pcm")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        piece = tone(0.5)
        try:
            while True:
                for _ in range(2):
                    request.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                if not self.is_endless:
                    return request.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.hung_up_at.append(time.monotonic())
            request.close_connection = True
