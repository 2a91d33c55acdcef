"""A model server for both providers that keeps every request. The newest paragraph of the newest user message decides the answer:
`hang` nothing, `half` a beginning and then nothing, `refuse` an error 400, `call NAME {…}` a tool call, anything else a short answer."""
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATHS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}


def parts(message):
    """The texts of one message of either provider, tool results included, in order."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return [content]
    return [b["text"] if b["type"] == "text" else str(b.get("content", "")) for b in content if b["type"] in ("text", "tool_result")]


class ModelRecorder:
    def __init__(self):
        recorder = self
        self.requests, self.guard, self.over = [], threading.Lock(), threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with recorder.guard:
                    recorder.requests.append(body)
                self.close_connection = True
                recorder.answer(self, PATHS[self.path], body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, to, provider, body):
        last = body["messages"][-1]
        is_result = last["role"] == "tool" or any(b["type"] == "tool_result" for b in last["content"] if isinstance(b, dict))
        asked = parts(last)[-1].split("\n\n")[-1]
        if is_result and not (last["role"] == "user" and last["content"][-1]["type"] == "text"):
            asked = "fine"
        if "refuse" in asked:
            error = json.dumps({"error": {"type": "invalid_request_error", "message": "no such model here"}}).encode()
            to.send_response(400)
            to.send_header("Content-Type", "application/json")
            to.send_header("Content-Length", str(len(error)))
            to.end_headers()
            to.wfile.write(error)
            return
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        to.wfile.flush()
        say = OpenAi(to) if provider == "openai" else Anthropic(to)
        call = re.search(r"call (\S+) (\{.*\})", asked)
        if "hang" in asked:
            return self.hold(to)
        if "half" in asked:
            say.text("Half of an answer")
            return self.hold(to)
        if call:
            say.call(call.group(1), call.group(2))
        else:
            say.text("All right.")
        say.end(bool(call))

    def hold(self, to):
        """Blocks until the client disconnects."""
        to.connection.settimeout(0.05)
        while not self.over.is_set():
            try:
                if not to.connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def since(self, count):
        """The requests after the first `count`."""
        with self.guard:
            return self.requests[count:]

    def count(self):
        with self.guard:
            return len(self.requests)

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


class OpenAi:
    def __init__(self, to):
        self.to = to

    def send(self, delta, finish=None):
        chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        self.to.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.to.wfile.flush()

    def text(self, text):
        self.send({"role": "assistant", "content": text})

    def call(self, name, arguments):
        self.send({"tool_calls": [{"index": 0, "id": "call_x", "type": "function", "function": {"name": name, "arguments": arguments}}]})

    def end(self, calls):
        self.send({}, "tool_calls" if calls else "stop")
        self.to.wfile.write(b"data: [DONE]\n\n")
        self.to.wfile.flush()


class Anthropic:
    def __init__(self, to):
        self.to = to
        self.send({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m",
                                                        "usage": {"input_tokens": 1, "output_tokens": 1}}})

    def send(self, event):
        self.to.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.to.wfile.flush()

    def block(self, start, delta):
        self.send({"type": "content_block_start", "index": 0, "content_block": start})
        self.send({"type": "content_block_delta", "index": 0, "delta": delta})

    def text(self, text):
        self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})

    def call(self, name, arguments):
        self.block({"type": "tool_use", "id": "call_x", "name": name, "input": {}}, {"type": "input_json_delta", "partial_json": arguments})

    def end(self, calls):
        self.send({"type": "content_block_stop", "index": 0})
        self.send({"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}, "usage": {"output_tokens": 2}})
        self.send({"type": "message_stop"})
