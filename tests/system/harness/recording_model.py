"""A model server that answers by a plan in OpenAI's stream format and keeps its requests: the real input of a model."""
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

from harness.waiting import until


#: The tools of an agent that has exec.
WITH_EXEC = {"exec", "task_output", "task_wait", "task_kill"}


def said(message):
    """The person's text, without quell's notes in front of it."""
    return message["content"].split("]\n\n")[-1]


class RecordingModel:
    """`plan[user text]` = the successive answers to that message, each a text, a list of calls `(name, input)` (an input that
    is a text is sent as it is), or `{"content", "usage"}` as they are sent. Without a plan, and after its end, the answer is "done"."""

    def __init__(self):
        self.plan, self.requests = {}, []
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"model": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def answer(self, messages):
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        step = sum(m["role"] == "assistant" for m in messages[last:])
        steps = self.plan.get(said(messages[last]), [])
        return steps[step] if step < len(steps) else "done"

    def tools_offered(self, user, step=0):
        """{name: function} as offered with the request that answers this message."""
        def look():
            for r in list(self.requests):
                last = max(i for i, m in enumerate(r["messages"]) if m["role"] == "user")
                if said(r["messages"][last]) == user and sum(m["role"] == "assistant" for m in r["messages"][last:]) == step:
                    return r
            return None
        return {t["function"]["name"]: t["function"] for t in until(look, f"a request for {user}").get("tools", [])}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model.requests.append(request)
        said, usage = self.model.answer(request["messages"]), None
        if isinstance(said, str):
            delta, end = {"content": said}, "stop"
        elif isinstance(said, dict):
            delta, end, usage = {"content": said["content"]}, "stop", said.get("usage")
        else:
            end = "tool_calls"
            delta = {"tool_calls": [{"index": i, "id": f"c{len(self.model.requests)}-{i}", "type": "function",
                                     "function": {"name": name, "arguments": input if isinstance(input, str) else json.dumps(input)}}
                                    for i, (name, input) in enumerate(said)]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for choice in ({"delta": delta}, {"delta": {}, "finish_reason": end}):
                self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n".encode())
            if usage:
                self.wfile.write(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # the client hung up
