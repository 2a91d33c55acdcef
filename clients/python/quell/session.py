"""What all operations of one client share: one stream that hears their stops, and one heartbeat for all of them.

Two daemon threads, started with the first operation. Whichever of them hears of a stop first tells the operation; a stop that
is heard twice is told once. Both outlive a controller that is restarted.
"""
from __future__ import annotations

import http.client
import os
import secrets
import socket
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

from .errors import QuellError
from .transport import Transport

if TYPE_CHECKING:
    from .operation import Operation

BATCH = 1000


class Session:
    def __init__(self, transport: Transport, lease_ms: int) -> None:
        self.name = f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(6)}"
        self._transport, self._lease = transport, (lease_ms or 30_000) / 1000
        self._lock = threading.Lock()
        self._operations: dict[str, Operation] = {}
        self._wake, self._closing = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: list[Any] = []
        self._closed = False

    def enter(self, operation: "Operation") -> None:
        """Before the operation is created: so no signal can come for an unknown one."""
        with self._lock:
            if self._closed:
                raise RuntimeError("this client is closed")
            self._operations[operation.id] = operation
            if 0 < operation.lease_ms / 1000 < self._lease:  # the shortest lease of all sets the pace
                self._lease = operation.lease_ms / 1000
                self._wake.set()
            if not self._threads:
                self._threads = [threading.Thread(target=run, name=f"quell-{what}", daemon=True)
                                 for what, run in (("signals", self._listen), ("heartbeat", self._beat))]
                for thread in self._threads:
                    thread.start()

    def leave(self, operation: "Operation") -> None:
        with self._lock:
            self._operations.pop(operation.id, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            opened = list(self._open)
        self._wake.set()
        self._closing.set()
        for connection in opened:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(5)

    def beat_now(self) -> None:
        """Heartbeats of everything that lives here; what is told to stop is told so before this returns."""
        with self._lock:
            live = [o for o in self._operations.values() if o.is_registered]
        for first in range(0, len(live), BATCH):
            part = {o.id: o for o in live[first:first + BATCH]}
            body: dict[str, Any] = {"ids": list(part)}
            while True:
                answer = self._transport.request("POST", "/v1/operations/heartbeat", body, patience=self._lease / 3)
                for signal in answer["cancels"]:
                    self._tell(signal)
                for id in answer["unknown"]:
                    if id in part:
                        part[id].lost()
                if answer.get("next_cursor") is None:
                    break
                body["cursor"] = answer["next_cursor"]  # more must stop than one answer has room for

    def _tell(self, signal: dict[str, Any]) -> None:
        with self._lock:
            operation = self._operations.get(signal["operation"])
        if operation is not None:
            operation.told(signal)

    def _beat(self) -> None:
        next_at = time.monotonic() + self._lease / 3
        while not self._closed:
            if self._wake.wait(max(0.0, next_at - time.monotonic())):
                self._wake.clear()
                next_at = min(next_at, time.monotonic() + self._lease / 3)
                continue
            next_at = time.monotonic() + self._lease / 3
            try:
                if not self._closed:
                    self.beat_now()
            except QuellError:
                next_at = time.monotonic() + min(self._lease / 3, 1.0)  # the lease still runs: try again soon

    def _listen(self) -> None:
        path = "/v1/signals?session=" + urllib.parse.quote(self.name, safe="")
        pause = 0.1
        while not self._closed:
            opened: list[Any] = []
            self._open = opened
            try:
                with self._transport.stream("GET", path, opened=opened) as stream:
                    pause = 0.1
                    for event, data, _ in stream:  # first all that is being stopped now, so a reconnect misses nothing
                        if event == "cancel":
                            self._tell(data)
            except (OSError, http.client.HTTPException, ValueError, AttributeError, QuellError):
                pass  # the heartbeat hears stops, too, until the stream is back
            self._closing.wait(pause)
            pause = min(pause * 2, 1.0)
