"""Streamable HTTP in front of `quell mcp`, which uses standard input and output: for suites that test servers over HTTP only."""
import contextlib
import http.server
import json
import subprocess
import threading
import uuid

from harness.cluster import BIN


class Session:
    """One `quell mcp`; an answer is fetched by the id of its request."""

    def __init__(self, cluster, scope):
        self.process = subprocess.Popen([f"{BIN}/quell", "mcp", "--scope", scope], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=cluster.directory, env=cluster.environment())
        cluster.clients.append(self.process)
        self.answers, self.arrived, self.writing = {}, threading.Condition(), threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.arrived:
                if "method" not in message:
                    self.answers[json.dumps(message.get("id"))] = message
                self.arrived.notify_all()

    def pass_on(self, message):
        """Sends the message; returns the answer if it is a request."""
        with self.writing:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        if "method" not in message or "id" not in message:
            return None
        key = json.dumps(message["id"])
        with self.arrived:
            self.arrived.wait_for(lambda: key in self.answers, 60)
            return self.answers.pop(key, None)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


class Bridge(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def is_foreign(self):
        names = [self.headers.get("Host", ""), (self.headers.get("Origin") or "//127.0.0.1").split("//")[-1]]
        return any(name.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost") for name in names)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.is_foreign():
            return self.answer(403, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "foreign host"}})
        sessions, name = self.server.sessions, self.headers.get("Mcp-Session-Id")
        if isinstance(message, dict) and message.get("method") == "initialize":
            name = uuid.uuid4().hex
            sessions[name] = Session(self.server.cluster, self.server.scope)
        if name not in sessions:
            return self.answer(404 if name else 400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no such session"}})
        answer = sessions[name].pass_on(message)
        return self.answer(202) if answer is None else self.answer(200, answer, Mcp_Session_Id=name)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        session = self.server.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if session:
            session.close()
        self.answer(200 if session else 404)


@contextlib.contextmanager
def bridge(cluster, scope):
    """The URL of `quell mcp --scope SCOPE`; each session is its own process."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
    server.daemon_threads = True
    server.cluster, server.scope, server.sessions = cluster, scope, {}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        for session in list(server.sessions.values()):
            session.close()
