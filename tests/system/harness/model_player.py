"""A model server of all three dialects that plays what models do besides answering: thinking, waiting, refusing, breaking off. The
words of the newest message of the person say what (`Player.answer`); it keeps every request with its headers."""
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .model_recorder import Anthropic, ModelRecorder, OpenAi

PATHS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic", "/v1/responses": "responses"}
REASONS = {"end": ("stop", "end_turn"), "calls": ("tool_calls", "tool_use"), "length": ("length", "max_tokens"),
           "filter": ("content_filter", "refusal")}


SUMMARY = "(a summary is asked for)"
UNPAID = {"openai": (429, {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}),
          "anthropic": (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API"}),
          "responses": (402, {"type": "billing_error", "message": "pay first"})}
TOO_LONG = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "prompt is too long: 300000 tokens > 200000 maximum"}


def instructions(body):
    """The system text."""
    system = body.get("system") or body.get("instructions") or ""
    if isinstance(system, list):
        system = " ".join(b["text"] for b in system)
    return system + " ".join(m["content"] for m in body.get("messages", []) if m["role"] == "system")


def whole_text(body):
    """All texts of the messages."""
    texts = []
    for m in body.get("messages") or body["input"]:
        content = m.get("content") or ""
        texts += [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] in ("text", "input_text")]
    return "\n".join(texts)


def person_said(body):
    """The newest text of the person, without quell's notes, and whether results of tools came after it."""
    messages = body.get("messages") or body["input"]
    is_result = False
    for m in reversed(messages):
        content = m.get("content") or ""
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] in ("text", "input_text")]
        if m.get("role") == "user" and texts:
            return texts[-1].split("\n\n")[-1], is_result
        is_result = True
    return "", False


class Player(ModelRecorder):
    """`requests`: dicts with `dialect`, `headers` (names in lower case), `body`, `text`."""

    def __init__(self):
        player = self
        self.requests, self.guard, self.over = [], threading.Lock(), threading.Event()
        self.hung_up, self.open, self.most_open = 0, 0, 0
        self.released = threading.Event()
        self.most_bytes = None  # of a request, beyond which it is refused as too long

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text, is_result = person_said(body)
                asks_summary = "Write a summary" in instructions(body)
                if asks_summary:
                    text = SUMMARY
                with player.guard:
                    player.requests.append({"dialect": PATHS[self.path], "headers": {k.lower(): v for k, v in self.headers.items()},
                                            "body": body, "text": text})
                    player.open += 1
                    player.most_open = max(player.most_open, player.open)
                self.close_connection = True
                try:
                    if asks_summary:
                        player.summarise(self, PATHS[self.path], body)
                    else:
                        player.play(self, PATHS[self.path], text, is_result, len(whole_text(body)))
                except OSError:
                    pass  # the client hung up
                finally:
                    with player.guard:
                        player.open -= 1

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def of(self, text):
        with self.guard:
            return [r for r in self.requests if r["text"] == text]

    def refuse(self, to, status, error, after=None):
        body = json.dumps({"error": error}).encode()
        to.send_response(status)
        to.send_header("Content-Type", "application/json")
        to.send_header("Content-Length", str(len(body)))
        if after:
            to.send_header("Retry-After", after)
        to.end_headers()
        to.wfile.write(body)

    def summaries(self):
        """Requests for a summary of a conversation."""
        with self.guard:
            return [r for r in self.requests if r["text"] == SUMMARY]

    def summarise(self, to, dialect, body):
        """A summary with every fact (`… is called …`); `held summary`, `failing summary` in the conversation say what happens to it."""
        shown = whole_text(body)
        if self.most_bytes and len(shown) > self.most_bytes:
            return self.refuse(to, 400, TOO_LONG)
        if "failing summary" in shown:
            return self.refuse(to, 400, {"type": "invalid_request_error", "message": "no summaries here"})
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        to.wfile.flush()
        say = PLAYED[dialect](to)
        say.text("In short: ")
        if "held summary" in shown and not self.released.is_set():
            self.hold(to)
            self.hung_up += 1
            return None
        say.text(" ".join(dict.fromkeys(re.findall(r"[A-Z][^.\n]* is called \w+\.", shown))) or "nothing to keep.")
        return say.end("end")

    def play(self, to, dialect, text, is_result, size):
        times = len(self.of(text))
        if "busy" in text and ("once" not in text or times == 1) and ("first" not in text or dialect == "openai"):
            return self.refuse(to, 429, {"type": "rate_limit_error", "message": "slow down"}, "30" if "later" in text else None)
        if f"unpaid {dialect}" in text:
            return self.refuse(to, *UNPAID[dialect])
        if "too long" in text and ("once" not in text or times == 1) or self.most_bytes and size > self.most_bytes:
            return self.refuse(to, 400, TOO_LONG)
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        to.wfile.flush()
        if "silent" in text:
            self.hold(to)
            self.hung_up += 1
            return None
        say = PLAYED[dialect](to)
        if "think" in text:
            say.think("Let me see. ")
            say.think("Yes.")
        if "cut early" in text and times == 1:
            return None
        if "comments" in text:
            while not self.released.wait(0.05) and not self.over.is_set():
                to.wfile.write(b": still here\n\n")
                to.wfile.flush()
        rounds = "pass on" not in text and re.search(r"(\d+) rounds", text)
        if rounds and times <= int(rounds[1]):
            # Long inputs: results can be trimmed, inputs cannot.
            command = f"rm -f none-{times}; echo {times}" if "asked" in text and times == int(rounds[1]) else f"echo {times} " + "x" * 600
            say.call("exec", json.dumps({"command": command}), f"call_{times}")
            return say.end("calls")
        if "pass on" in text and not is_result:
            say.call("spawn_agent", json.dumps({"task": text.partition("pass on: ")[2]}))
            return say.end("calls")
        if "tool" in text and not is_result:
            say.text("I look. ")
            say.call("exec", json.dumps({"command": "echo from the tool"}))
            return say.end("calls")
        if "hold" in text:
            say.text("It begins")
            self.hold(to)
            self.hung_up += 1
            return None
        if "wait" in text:
            say.text("Slowly. ")
            while not self.released.wait(0.05) and not self.over.is_set():
                to.wfile.write(b": still here\n\n")
                to.wfile.flush()
        if "wordless" not in text:
            say.text("Half of the answer" if "cut" in text and "early" not in text else "All right.")
        if "cut" in text and "early" not in text:
            return None
        return say.end("length" if "length" in text else "filter" if "filter" in text else "end")


class PlayedOpenAi(OpenAi):
    def call(self, name, arguments, id="call_x"):
        self.send({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})

    def think(self, text):
        self.send({"reasoning_content": text})

    def end(self, why):
        self.send({}, REASONS[why][0])
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
        self.to.wfile.write(f'data: {json.dumps({"choices": [], "usage": usage})}\n\ndata: [DONE]\n\n'.encode())


class PlayedAnthropic(Anthropic):
    def __init__(self, to):
        self.to, self.index, self.thinks = to, 0, False
        self.send({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m",
                                                        "usage": {"input_tokens": 100, "cache_creation_input_tokens": 500,
                                                                  "cache_read_input_tokens": 400, "output_tokens": 1}}})

    def block(self, start, *deltas):
        self.close_thinking()
        self.send({"type": "content_block_start", "index": self.index, "content_block": start})
        for delta in deltas:
            self.send({"type": "content_block_delta", "index": self.index, "delta": delta})
        self.send({"type": "content_block_stop", "index": self.index})
        self.index += 1

    def think(self, text):
        if not self.thinks:
            self.send({"type": "content_block_start", "index": self.index, "content_block": {"type": "thinking", "thinking": ""}})
        self.thinks = True
        self.send({"type": "content_block_delta", "index": self.index, "delta": {"type": "thinking_delta", "thinking": text}})

    def close_thinking(self):
        if not self.thinks:
            return
        self.thinks = False
        self.send({"type": "content_block_delta", "index": self.index, "delta": {"type": "signature_delta", "signature": "sealed=="}})
        self.send({"type": "content_block_stop", "index": self.index})
        self.index += 1

    def call(self, name, arguments, id="call_x"):
        self.block({"type": "tool_use", "id": id, "name": name, "input": {}}, {"type": "input_json_delta", "partial_json": arguments})

    def end(self, why):
        self.close_thinking()
        self.send({"type": "message_delta", "delta": {"stop_reason": REASONS[why][1]}, "usage": {"output_tokens": 100}})
        self.send({"type": "message_stop"})


class PlayedResponses:
    def __init__(self, to):
        self.to, self.index, self.thoughts = to, 0, []
        self.send({"type": "response.created", "response": {"id": "r", "status": "in_progress"}})

    def send(self, event):
        self.to.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.to.wfile.flush()

    def think(self, text):
        self.thoughts.append(text)
        self.send({"type": "response.reasoning_summary_text.delta", "output_index": self.index, "summary_index": 0, "delta": text})

    def close_thinking(self):
        if self.thoughts:
            item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "".join(self.thoughts)}],
                    "encrypted_content": "sealed=="}
            self.send({"type": "response.output_item.done", "output_index": self.index, "item": item})
            self.thoughts, self.index = [], self.index + 1

    def text(self, text):
        self.close_thinking()
        self.send({"type": "response.output_text.delta", "output_index": self.index, "content_index": 0, "delta": text})

    def call(self, name, arguments, id="call_x"):
        self.index += 1
        item = {"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": ""}
        self.send({"type": "response.output_item.added", "output_index": self.index, "item": item})
        for piece in (arguments[:5], arguments[5:]):
            self.send({"type": "response.function_call_arguments.delta", "output_index": self.index, "item_id": "fc_1", "delta": piece})
        self.send({"type": "response.output_item.done", "output_index": self.index, "item": {**item, "arguments": arguments}})

    def end(self, why):
        self.close_thinking()
        response = {"id": "r", "status": "completed", "usage": {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 400},
                                                                 "output_tokens": 100}}
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(why)
        if reason:
            response.update(status="incomplete", incomplete_details={"reason": reason})
        self.send({"type": "response.incomplete" if reason else "response.completed", "response": response})


#: What `[[models]]` says of each provider's rules.
DIALECTS = {"openai": 'provider = "openai"', "anthropic": 'provider = "anthropic"', "responses": 'provider = "openai"\napi = "responses"'}
PLAYED = {"openai": PlayedOpenAi, "anthropic": PlayedAnthropic, "responses": PlayedResponses}


def model(name, kind, url, more=""):
    """A model of this server, `kind` a value of DIALECTS, and an agent of the same name that asks it."""
    return (f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m-{name}"\nbase_url = "{url}"\n{more}\n'
            f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["exec"]\ninstructions = "Be brief."\n')
