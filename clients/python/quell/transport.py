"""HTTP to the controller: where it is, one kept connection per thread, and repeating what may be repeated."""
from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
import urllib.parse
from typing import Any, Iterator

from .errors import QuellError, Unreachable, error_of

RETRYABLE = (OSError, http.client.HTTPException)


def discover(url: str | None, token: str | None) -> tuple[str, str]:
    """Arguments, then QUELL_URL with QUELL_TOKEN or QUELL_TOKEN_FILE, then client.json in the state directory."""
    url = url or os.environ.get("QUELL_URL")
    token = token or os.environ.get("QUELL_TOKEN")
    token_file = os.environ.get("QUELL_TOKEN_FILE")
    if not token and token_file:
        with open(token_file, encoding="utf-8") as f:
            token = f.read().strip()
    if url and token:
        return url, token
    state = os.environ.get("QUELL_STATE")
    for folder in [state] if state else [os.path.expanduser("~/.local/state/quell"), "/var/lib/quell"]:
        try:
            with open(os.path.join(folder, "client.json"), encoding="utf-8") as f:
                found = json.load(f)
            return url or found["url"], token or found["token"]
        except (OSError, ValueError, KeyError):
            continue
    raise Unreachable("no controller is known: set QUELL_URL and QUELL_TOKEN, or start one on this machine with `quell up`")


class Transport:
    """Safe to use from any thread."""

    def __init__(self, url: str, token: str, *, timeout: float = 90.0, patience: float = 30.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an http or https URL")
        self.host, self.is_tls, self.prefix = parts.hostname, parts.scheme == "https", parts.path.rstrip("/")
        self.port = parts.port or (443 if self.is_tls else 80)
        self.timeout, self.patience = timeout, patience
        self._token = token
        self._tls = ssl.create_default_context(cafile=os.environ.get("QUELL_CA_FILE")) if self.is_tls else None
        self._local = threading.local()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.is_tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def _headers(self, accept: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Accept": accept, "Content-Type": "application/json"}

    def request(self, method: str, path: str, body: Any = None, *, patience: float | None = None) -> Any:
        """The answer's JSON (None for 204). Raises QuellError.

        Everything that this client sends may be done twice (it is a GET, carries an id chosen here, or says how something ended), so a
        lost answer, a controller that restarts and a 503 are waited out, up to `patience` seconds.
        """
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        data = None if body is None else json.dumps(body).encode()
        pause = 0.05
        while True:
            try:
                return self._once(method, path, data)
            except QuellError as e:
                # 429 and 503 say that nothing was done.
                if e.status not in (429, 503) or time.monotonic() + (e.retry_after or pause) >= deadline:
                    raise
                pause = max(pause, min(e.retry_after or 0.0, 5.0))
            except RETRYABLE as e:
                self._drop()
                if time.monotonic() + pause >= deadline:
                    raise Unreachable(f"{method} {path} at {self.host}:{self.port}: {e or type(e).__name__}") from e
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def _once(self, method: str, path: str, data: bytes | None) -> Any:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect(self.timeout)
        connection.request(method, self.prefix + path, data, self._headers("application/json"))
        answer = connection.getresponse()
        return self._read(answer)

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _read(self, answer: http.client.HTTPResponse) -> Any:
        raw = answer.read()
        if answer.status < 300:
            return json.loads(raw) if raw else None
        try:
            problem = json.loads(raw)
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            problem = {"code": "internal" if answer.status >= 500 else "bad_request", "detail": raw[:500].decode(errors="replace")}
        wait = answer.getheader("Retry-After") or ""
        raise error_of(problem, answer.status, float(wait) if wait.isdigit() else None)

    def stream(self, method: str, path: str, body: Any = None, *, silence: float = 45.0, opened: list[Any] | None = None) -> "EventStream":
        """Server-sent events. The server says something at least every 15 s; `silence` seconds without a byte are a lost connection."""
        connection = self._connect(silence)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, self.prefix + path, data, self._headers("text/event-stream"))
            if opened is not None:
                opened.append(connection.sock)  # for another thread to shut down
            answer = connection.getresponse()
            if answer.status != 200 or not (answer.getheader("Content-Type") or "").startswith("text/event-stream"):
                self._read(answer)
                raise Unreachable(f"{path} answered {answer.status} and no event stream")
        except BaseException:
            connection.close()
            raise
        return EventStream(connection, answer)


class EventStream:
    """Iterates (event, data, id). Closing it hangs up."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection, self._answer = connection, answer

    def __iter__(self) -> Iterator[tuple[str, Any, str | None]]:
        event, id, lines = "message", None, []
        while True:
            raw = self._answer.readline()
            if not raw:
                return
            line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            if not line:
                if lines:
                    yield event, json.loads("\n".join(lines)), id
                event, lines = "message", []
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                event = value
            elif field == "data":
                lines.append(value)
            elif field == "id":
                id = value

    def close(self) -> None:
        self._answer.close()
        self._connection.close()

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
