"""A small controller for the tests of the command line: the shapes of the public API over in-memory operations.

Commands of tasks are scripts for it: ["say", TEXT, CODE] prints and ends; ["hang"] runs until cancelled; ["echo"] gives back its input.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

NOW = "2026-11-20T09:51:07.123Z"


def operation(body, seq):
    task = body.get("task", {})
    return {
        "id": body["id"], "seq": seq, "kind": "task", "name": None, "title": body.get("title"), "scope": body.get("scope") or "default",
        "parent": body.get("parent"), "root": body.get("parent") or body["id"], "owner": {"id": "alice", "name": "Alice"}, "labels": body.get("labels", {}),
        "supersede": None, "status": "running", "waiting_for": None, "worker": "w1", "unreachable": None, "timeout_ms": 0, "deadline_at": None,
        "grace_ms": 2000, "on_parent_end": "cancel", "created_at": NOW, "started_at": NOW, "ended_at": None, "stop": None, "exit": None, "result": None,
        "error": None,
        "task": {"command": task.get("command", []), "cwd": task.get("cwd"), "env_names": sorted(task.get("env", {})), "pty": False, "stop_signal": "TERM",
                 "slots": 1, "on_leader_exit": "wait", "lease_ms": 10000, "containment": "cgroup+pidns", "pid": 1,
                 "output": {"stdout_bytes": 0, "stderr_bytes": 0, "dropped_bytes": 0}},
    }


def report(**changes):
    out = {"operations": 1, "workers": ["w1"],
           "receipts": {"cooperative": 0, "terminated": 1, "killed": 0, "never_started": 0, "already_finished": 0, "unconfirmed": 0, "declared": 0},
           "proofs": {"cgroup_empty": 1}, "unproven_total": 0, "unproven": [], "fenced_ms": 0.4, "signalled_ms": 1.1, "settled_ms": 12.0, "proven": True}
    out.update(changes)
    return out


class FakeController:
    """All state is under one condition variable; `requests` logs the requests."""

    def __init__(self):
        self.lock = threading.Condition()
        self.operations, self.output, self.creates = {}, {}, {}
        self.cancels, self.requests, self.inputs = {}, [], {}
        self.drop_after = None          # bytes of output after which a connection is cut, once
        self.lose_creates = 0           # creates that are stored but whose answer is lost
        self.refuse = {}                # path prefix -> (status, code)
        self.cancel_answer = {}         # members that replace those of a cancel's answer
        self.settle_at = None           # polls of a cancel before it is settled; None = at once; -1 = never
        self.not_started = 0            # number of refusals of input and resize as too early
        self.sizes = []
        self.pieces = {}                # operation -> output in the order received, served as events
        self.pieces_are_all = False     # the events end with the trailer that says so
        self.hold_cancel = False        # a cancel is recorded, but the operation stays live
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.handle(self, "GET")

            def do_POST(self):
                outer.handle(self, "POST")

            def do_DELETE(self):
                outer.handle(self, "DELETE")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # the tests provoke disconnects of clients
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # -- for the tests
    def asked(self, method, prefix):
        with self.lock:
            return [r for r in self.requests if r[0] == method and r[1].startswith(prefix)]

    def wait_for(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        with self.lock:
            while not condition():
                left = end - time.monotonic()
                assert left > 0, "waited %s s for: %s" % (seconds, what)
                self.lock.wait(min(left, 0.1))

    def add(self, id, **changes):
        with self.lock:
            self.operations[id] = dict(operation({"id": id}, len(self.operations) + 1), **changes)
            self.output[id] = {"stdout": b"", "stderr": b"", "end": changes.get("status") in ("completed", "failed", "cancelled")}

    def end(self, id, **changes):
        with self.lock:
            self.operations[id].update(changes, ended_at=NOW)
            self.output[id]["end"] = True
            self.lock.notify_all()

    # -- HTTP
    def answer(self, h, status, document):
        body = json.dumps(document).encode()
        h.send_response(status)
        h.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)

    def problem(self, h, status, code, **more):
        self.answer(h, status, dict({"type": "urn:quell:error:" + code, "title": code, "status": status, "code": code, "detail": "fake " + code, "errors": [], "request": "r"}, **more))

    def handle(self, h, method):
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        url = urlparse(h.path)
        query = {k: v[-1] for k, v in parse_qs(url.query).items()}
        with self.lock:
            self.requests.append((method, h.path, body, dict(h.headers)))
            self.lock.notify_all()
        if h.headers.get("Authorization") != "Bearer secret":
            return self.problem(h, 401, "unauthenticated")
        for prefix, (status, code) in self.refuse.items():
            if (method + " " + url.path).startswith(prefix):
                return self.problem(h, status, code)
        parts = url.path.strip("/").split("/")[1:]
        try:
            if method == "POST" and parts == ["operations"]:
                return self.create(h, json.loads(body))
            if method == "POST" and parts == ["cancels"]:
                return self.cancel(h, json.loads(body))
            if parts[0] == "cancels" and len(parts) == 2:
                return self.show_cancel(h, parts[1])
            if parts[0] == "cancels":
                with self.lock:
                    return self.answer(h, 200, {"cancels": [c for c in self.cancels.values()], "next_cursor": None})
            if parts == ["operations"]:
                return self.list(h, query)
            if parts[0] == "operations":
                return self.one(h, method, parts, query, body)
            if parts == ["workers"]:
                return self.answer(h, 200, {"workers": [], "next_cursor": None})
            if parts == ["status"]:
                return self.answer(h, 200, {"seq": 7, "version": "0.1.0", "commit": "x", "started_at": NOW, "cluster": "c", "workers": {"ready": 1},
                                            "operations": {"running": 2}, "cancels_open": 0, "oldest_open_cancel_ms": 0})
            return self.problem(h, 404, "not_found")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def create(self, h, body):
        with self.lock:
            id = body["id"]
            fresh = id not in self.operations
            if fresh:
                self.creates[id] = body
                self.operations[id] = operation(body, len(self.operations) + 1)
                self.output[id] = {"stdout": b"", "stderr": b"", "end": False}
                self.run(id, body["task"]["command"])
            document = dict(self.operations[id])
            lost = self.lose_creates > 0
            self.lose_creates -= lost
            self.lock.notify_all()
        if lost:
            h.close_connection = True
            h.connection.close()
            return
        self.answer(h, 201 if fresh else 200, document)

    def run(self, id, command):
        if command[0] != "say":
            return
        code = int(command[2])
        self.output[id]["stdout"] = command[1].encode("utf-8")
        self.output[id]["stderr"] = b"to stderr\n" if len(command) > 3 else b""
        self.output[id]["end"] = True
        self.operations[id].update(status="completed" if code == 0 else "failed", ended_at=NOW, exit={"code": code},
                                   error=None if code == 0 else {"code": "error", "message": "exit code"})

    def cancel(self, h, body):
        with self.lock:
            id = body.get("id") or "01a1f86a-0b77-7c55-9a3d-8e41d2c7f019"
            target = {k: body[k] for k in ("operation", "scope", "owner", "everything") if body.get(k)}
            known = body.get("operation") in self.operations
            outcome = "stopping" if known or "scope" in target or "everything" in target else "unknown_id"
            status = "settled" if self.settle_at is None else "fenced"
            document = {"id": None if body.get("dry_run") else id, "seq": 9, "target": target, "outcome": outcome, "status": status, "dry_run": bool(body.get("dry_run")),
                        "durable": True, "reason": body.get("reason"), "cause": "cancel", "by": {"id": "alice", "name": "Alice"},
                        "via": {"channel": "cli", "token": "t"}, "grace_ms": body.get("grace_ms"), "created_at": NOW, "report": report()}
            if self.settle_at is not None:
                document["report"].update(unproven_total=1, settled_ms=None, proven=False, receipts={}, proofs={}, unproven=[
                    {"operation": body.get("operation"), "title": "stubborn", "scope": "default", "worker": "w1", "why": "in_grace", "since_at": NOW, "processes_total": 1,
                     "processes": [{"pid": 42, "state": "S", "command": "sleep"}], "next": {"action": "kill", "at": NOW}, "dead_by": NOW}])
            document.update(self.cancel_answer)
            self.cancels[id] = document
            if known and not self.hold_cancel and not body.get("dry_run"):
                self.operations[body["operation"]].update(status="cancelled", ended_at=NOW, stop={
                    "cause": "cancel", "cancel": id, "reason": body.get("reason"), "by": None, "signalled_at": NOW, "kill_at": NOW, "receipt": "terminated", "proof": "cgroup_empty"})
                self.output[body["operation"]]["end"] = True
            self.lock.notify_all()
        self.answer(h, 200 if document["status"] == "settled" else 202, document)

    def show_cancel(self, h, id):
        with self.lock:
            document = self.cancels.get(id)
            if document and self.settle_at is not None and self.settle_at >= 0:
                self.settle_at -= 1
                if self.settle_at < 0:
                    document.update(status="settled", report=report())
        if not document:
            return self.problem(h, 404, "cancel_not_found")
        self.answer(h, 200, {k: v for k, v in document.items() if k != "outcome"})

    def list(self, h, query):
        with self.lock:
            live = ("pending", "running", "paused", "cancelling")
            found = [o for o in self.operations.values() if query.get("status") not in ("live", "ended") or (o["status"] in live) == (query["status"] == "live")]
        found.sort(key=lambda o: o["seq"], reverse=query.get("order") != "asc")
        start = int(query.get("cursor") or 0)
        page = found[start:start + 2]  # small pages, so that every list has several
        self.answer(h, 200, {"operations": page, "next_cursor": str(start + 2) if start + 2 < len(found) else None})

    def one(self, h, method, parts, query, body):
        id = parts[1]
        with self.lock:
            if id not in self.operations:
                return self.problem(h, 404, "operation_not_found")
        if len(parts) == 2:
            with self.lock:
                if query.get("wait") == "ended":
                    self.lock.wait_for(lambda: self.operations[id]["ended_at"], min(int(query["wait_ms"]), 60000) / 1000)
                document = dict(self.operations[id])
            return self.answer(h, 200, document)
        if parts[2] == "output" and h.headers.get("Accept") == "text/event-stream" and id in self.pieces:
            return self.send_pieces(h, id)
        if parts[2] == "output":
            return self.send_output(h, id, query)
        if parts[2] in ("input", "resize") and self.not_started > 0:
            self.not_started -= 1
            return self.problem(h, 409, "not_started")
        if parts[2] == "input":
            with self.lock:
                known = self.inputs.setdefault(id, b"")
                assert int(query["offset"]) <= len(known)
                self.inputs[id] = known[:int(query["offset"])] + body
                if self.operations[id]["task"]["command"] == ["echo"]:
                    self.output[id]["stdout"] = self.inputs[id]
                    if query.get("end") == "true":
                        self.operations[id].update(status="completed", exit={"code": 0}, ended_at=NOW)
                        self.output[id]["end"] = True
                self.lock.notify_all()
                taken = len(self.inputs[id])
            return self.answer(h, 200, {"offset": taken})
        if parts[2] == "resize":
            with self.lock:
                self.sizes.append(json.loads(body))
                self.lock.notify_all()
        return self.answer(h, 200, {})

    def send_pieces(self, h, id):
        """Output as events, `pieces[id]` = [(stream, offset, bytes)]; the first connection is cut after two of them."""
        after = int(h.headers.get("Last-Event-ID") or 0)
        h.send_response(200)
        h.send_header("Content-Type", "text/event-stream")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for n, (stream, offset, data) in enumerate(self.pieces[id][after:], after + 1):
            event = {"id": str(n), "type": "output", "operation": id, "data": {"stream": stream, "offset": offset, "text": data}}
            frame = ("id: %d\nevent: output\ndata: %s\n\n" % (n, json.dumps(event))).encode()
            h.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
            h.wfile.flush()
            if after == 0 and n == 2:
                h.close_connection = True
                h.connection.shutdown(2)
                return
        h.wfile.write(b"0\r\nQuell-End: true\r\n\r\n" if self.pieces_are_all else b"0\r\n\r\n")

    def send_output(self, h, id, query):
        stream, offset, follow = query.get("stream", "stdout"), int(query.get("offset") or 0), query.get("follow") == "true"
        with self.lock:
            out = self.output[id]
            if "tail_bytes" in query:
                offset = max(0, len(out[stream]) - int(query["tail_bytes"]))
            ended = out["end"]
        h.send_response(200)
        h.send_header("Content-Type", "application/octet-stream")
        h.send_header("Quell-Offset", str(offset))
        h.send_header("Quell-End", "true" if ended else "false")
        h.send_header("Quell-Dropped", "0")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        while True:
            with self.lock:
                if follow:
                    self.lock.wait_for(lambda: len(out[stream]) > offset or out["end"], 30)
                data, ended = out[stream][offset:offset + 4096], out["end"]
                cut = self.drop_after is not None and data and offset + len(data) > self.drop_after
                if cut:
                    data = data[:max(0, self.drop_after - offset)]
                    self.drop_after = None
            if data:
                h.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                h.wfile.flush()
                offset += len(data)
            if cut:
                h.close_connection = True
                h.connection.shutdown(2)
                return
            if not data and (ended or not follow):
                break
        h.wfile.write(b"0\r\n\r\n")
