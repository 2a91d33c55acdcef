"""A foreign runtime: registers external operations, reports on them, listens to its session."""
import json
import os
import threading
import time
import urllib.parse
import uuid
from http.client import HTTPConnection

import pytest

from .cluster import Cluster
from .waiting import until


class ExternalCluster(Cluster):
    """A cluster and, over HTTP, the owner's side of external operations."""

    def __init__(self, **options):
        options.setdefault("workers", 0)
        super().__init__(**options)

    def try_register(self, scope=None, token=None, lease_ms=None, session=None, start=None, **fields):
        external = {k: v for k, v in (("lease_ms", lease_ms), ("session", session), ("start", start)) if v is not None}
        body = dict(fields, kind="external", external=external)
        if scope is not None:
            body["scope"] = scope
        return self.api("POST", "/v1/operations", body, token=token)

    def register(self, scope=None, **fields):
        answer = self.try_register(scope, **fields)
        assert answer.status == 201, answer.body
        return answer.json

    def say(self, id, word, body=None, token=None):
        return self.api("POST", f"/v1/operations/{id}/{word}", {} if body is None else body, token=token)

    def stage(self, now, scope="s", **fields):
        """Creates an operation in that state of the table."""
        id = self.register(scope, start="later" if now == "pending" else "now", **fields)["id"]
        if now == "cancelling":
            self.cancel(operation=id, wait="fenced")
        elif now == "completed":
            assert self.say(id, "complete", {"result": 1}).status == 200
        elif now == "failed":
            assert self.say(id, "fail", {"code": "broken", "message": "no"}).status == 200
        elif now == "cancelled":
            self.cancel(operation=id, wait="fenced")
            assert self.say(id, "stopped").status == 200
        assert self.operation(id)["status"] == now
        return id

    def listen(self, session, **options):
        return SignalStream(self, "/v1/signals?session=" + urllib.parse.quote(session), **options)

    def heart(self, **body):
        answer = self.api("POST", "/v1/operations/heartbeat", body)
        assert answer.status == 200, answer.body
        return answer.json


class SignalStream:
    """An SSE stream that a thread reads; `signals` grows."""

    def __init__(self, cluster, path, token=None):
        url = urllib.parse.urlsplit(cluster.url)
        self.connection = HTTPConnection(url.hostname, url.port, timeout=120)
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + (token or cluster.token), "Accept": "text/event-stream"})
        self.response = self.connection.getresponse()
        self.signals, self.is_open, self.has_begun = [], True, False
        self.status = self.response.status
        if self.status != 200:
            self.problem, self.is_open = json.loads(self.response.read()), False
            return
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        until(lambda: self.has_begun or not self.is_open, "the stream to begin")

    def read(self):
        try:
            kind = None
            while line := self.response.readline():
                line = line.decode().rstrip("\n")
                if line.startswith(": listening"):
                    self.has_begun = True
                if line.startswith("event: "):
                    kind = line[7:]
                if line.startswith("data: "):
                    assert kind == "cancel", kind
                    self.signals.append(json.loads(line[6:]))
        except (OSError, ValueError, AttributeError):
            pass
        self.is_open = False

    def heard(self):
        return [s["operation"] for s in self.signals]

    def close(self):
        import socket
        try:
            self.response.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass
        self.reader.join(10)
        self.connection.close()


@pytest.fixture
def c():
    with ExternalCluster() as cluster:
        yield cluster


def code(answer):
    return answer.json.get("code") if answer.status >= 400 else answer.status


def new_id():
    raw = bytearray(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
    raw[6] = raw[6] & 0x0F | 0x70
    raw[8] = raw[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))
