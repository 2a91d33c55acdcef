"""A remote agent over A2A 1.0 (JSON-RPC) that a test controls: its first word decides what it does with a message."""
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

from harness.waiting import until

OVER = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED")
#: What a message that is not waited for becomes.
ENDS = {"quick": "TASK_STATE_COMPLETED", "fails": "TASK_STATE_FAILED", "rejects": "TASK_STATE_REJECTED",
        "asks": "TASK_STATE_INPUT_REQUIRED", "login": "TASK_STATE_AUTH_REQUIRED"}
#: What a cancel makes of a task; a word that is not here stays as it is, and "refuses" answers with an error.
STOPPED = {"slow": "TASK_STATE_CANCELED", "mute": "TASK_STATE_CANCELED", "late": "TASK_STATE_COMPLETED", "breaks": "TASK_STATE_FAILED"}


class RemoteAgent:
    def __init__(self, streaming, port=0):
        self.streaming, self.calls, self.tasks = streaming, [], {}
        self.changed, self.released = threading.Condition(), set()
        self.card_url = None
        self.forgets = False  # it knows no task, as long as this is set
        self.begin(port)

    def begin(self, port):
        self.server = Server(("127.0.0.1", port), type("Handler", (Handler,), {"agent": self}))
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/agent"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        with self.changed:
            self.released |= {"everything"}
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def named(self, method):
        with self.changed:
            return [params for name, params in self.calls if name == method]

    def sent(self):
        """The messages that it was sent, in their order."""
        return [params["message"] for params in self.named("SendStreamingMessage" if self.streaming else "SendMessage")]

    def card(self):
        return {"name": "The <b>helper</b>\u0007", "description": "Helps with " + "x" * 5000, "version": "1",
                "supportedInterfaces": [{"url": self.card_url or self.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
                "capabilities": {"streaming": self.streaming}, "defaultInputModes": [], "defaultOutputModes": [],
                "skills": [{"id": "s", "name": "sums", "description": "adds\nnumbers", "tags": []}]}

    def set(self, task, state, text=None):
        with self.changed:
            task["status"] = {"state": state, "message": {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": text or state.lower()}]}}
            if state == "TASK_STATE_COMPLETED":
                task["artifacts"] = [{"artifactId": "a", "parts": [{"text": "Answer to " + task["word"]}, {"data": {"n": 5}}]}]
            self.changed.notify_all()

    def release(self, word):
        """Answers a message that it has held back, or completes its task."""
        with self.changed:
            self.released.add(word)
            for task in self.tasks.values():
                if task["word"] == word and task["status"]["state"] == "TASK_STATE_WORKING":
                    self.set(task, "TASK_STATE_COMPLETED")
            self.changed.notify_all()

    def wait_for_call(self, method, count=1):
        until(lambda: len(self.named(method)) >= count, f"{count} × {method}; there were {[n for n, _ in self.calls]}")

    def send(self, params):
        word = params["message"]["parts"][0]["text"].split()[0]
        if word == "mute":
            with self.changed:
                self.changed.wait_for(lambda: self.released & {word, "everything"}, 60)
        if word == "message":
            return {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "no task, only words"}]}}
        with self.changed:
            task = {"id": f"task-{len(self.tasks) + 1}", "contextId": params["message"].get("contextId") or "context", "word": word}
            self.tasks[task["id"]] = task
            self.set(task, "TASK_STATE_WORKING", "has begun")
            if word in ENDS:
                self.set(task, ENDS[word], f"because of {word}")
            return {"task": shown(task)}

    def cancel(self, params):
        task = self.tasks[params["id"]]
        if task["word"] == "refuses" or task["status"]["state"] in OVER:
            return None
        if task["word"] in STOPPED:
            self.set(task, STOPPED[task["word"]])
        return shown(task)


def shown(task):
    return {k: v for k, v in task.items() if k != "word"}


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with self.agent.changed:
            self.agent.calls.append(("card", dict(self.headers)))
        if self.path != "/agent/.well-known/agent-card.json":
            return self.answer(404, {})
        if self.headers.get("Authorization") != "Bearer remote-secret":
            return self.answer(401, {})
        self.answer(200, self.agent.card())

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer remote-secret" or self.headers.get("A2A-Version") != "1.0":
            return self.answer(401, {})
        method, params = request["method"], request["params"]
        with self.agent.changed:
            self.agent.calls.append((method, params))
            self.agent.changed.notify_all()
        wrap = lambda what: {"jsonrpc": "2.0", "id": request["id"], **what}
        try:
            if method == "SendStreamingMessage":
                return self.stream(params, wrap)
            if method == "SendMessage":
                return self.answer(200, wrap({"result": self.agent.send(params)}))
            task = self.agent.tasks.get(params["id"])
            if not task or self.agent.forgets:
                return self.answer(200, wrap({"error": {"code": -32001, "message": "no such task"}}))
            if method == "GetTask":
                return self.answer(200, wrap({"result": shown(task)}))
            result = self.agent.cancel(params)
            self.answer(200, wrap({"result": result} if result else {"error": {"code": -32002, "message": "it cannot be cancelled"}}))
        except OSError:
            pass  # the client hung up

    def stream(self, params, wrap):
        first = self.agent.send(params)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        write = lambda what: (self.wfile.write(f"data: {json.dumps(wrap({'result': what}))}\n\n".encode()), self.wfile.flush())
        write(first)
        if "task" not in first or first["task"]["status"]["state"] != "TASK_STATE_WORKING":
            return
        task = self.agent.tasks[first["task"]["id"]]
        ids = {"taskId": task["id"], "contextId": task["contextId"]}
        if task["word"] == "cut":
            return
        with self.agent.changed:
            self.agent.changed.wait_for(lambda: task["status"]["state"] != "TASK_STATE_WORKING" or "everything" in self.agent.released, 60)
        for artifact in task.get("artifacts", []):
            for i, part in enumerate(artifact["parts"]):
                write({"artifactUpdate": {**ids, "artifact": {"artifactId": artifact["artifactId"], "parts": [part]}, "append": i > 0}})
        write({"statusUpdate": {**ids, "status": task["status"]}})
