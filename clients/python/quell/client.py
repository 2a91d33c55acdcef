"""The client: operations, cancels, lists, messages. Every method may be called from any thread."""
from __future__ import annotations

import concurrent.futures
import http.client
import logging
import os
import threading
import time
import urllib.parse
from typing import Any, Iterable, Iterator

from .errors import QuellError, Unreachable, error_of
from .operation import INHERIT, Operation, uuid7
from .session import BATCH, Session
from .transport import Transport, discover

LOG = logging.getLogger("quell")


def _query(parameters: dict[str, Any]) -> str:
    given = {k: str(v).lower() if isinstance(v, bool) else v for k, v in parameters.items() if v is not None}
    return "?" + urllib.parse.urlencode(given, doseq=True) if given else ""


class Client:
    """`url` and `token` default to QUELL_URL and QUELL_TOKEN, then to client.json of a controller on this machine.

    `lease_ms`: an operation whose owner is silent for that long fails as `heartbeat_lost` (at least 1000; 0 = never).
    `patience`: seconds for which a request is repeated while the controller does not answer (it may be restarting).
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, lease_ms: int = 30_000, timeout: float = 90.0,
                 patience: float = 30.0) -> None:
        self.lease_ms = lease_ms
        self.transport = Transport(*discover(url, token), timeout=timeout, patience=patience)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None

    @property
    def session(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = Session(self.transport, self.lease_ms)
            return self._session

    @property
    def executor(self) -> concurrent.futures.ThreadPoolExecutor:
        """Where asyncio's requests wait for their answers."""
        with self._lock:
            if self._executor is None:
                self._executor = concurrent.futures.ThreadPoolExecutor(16, thread_name_prefix="quell")
            return self._executor

    def close(self) -> None:
        """Hears nothing any more. Operations that still run lose their lease."""
        if self._session is not None:
            self._session.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def complain(self, sentence: str) -> None:
        LOG.warning("%s", sentence)

    # ---- operations -----------------------------------------------------------------------------------------------------
    def operation(self, name: str, *, scope: str | None = None, parent: Operation | str | None = INHERIT, id: str | None = None,
                  title: str | None = None, labels: dict[str, str] | None = None, timeout_ms: int | None = None, grace_ms: int | None = None,
                  on_parent_end: str | None = None, supersede: str | None = None, as_of_seq: int | None = None,
                  owner: dict[str, str] | None = None, lease_ms: int | None = None) -> Operation:
        """For `with` or `async with`; nothing happens before. Without a scope it is the parent's, else QUELL_SCOPE, else `default`.

        `as_of_seq`: the seq given when this work was decided (by a message, an operation, `status()`): for callers with a queue of
        their own, so that a cancel meets what waited there.
        """
        operation = Operation(self, name, scope=scope, parent=parent, id=id, title=title, labels=labels, timeout_ms=timeout_ms,
                              grace_ms=grace_ms, on_parent_end=on_parent_end, supersede=supersede, as_of_seq=as_of_seq, owner=owner,
                              lease_ms=lease_ms)
        if scope is None and operation.parent is None and os.environ.get("QUELL_SCOPE"):
            operation._fields["scope"] = os.environ["QUELL_SCOPE"]
        return operation

    def register(self, name: str, **options: Any) -> Operation:
        """As `operation`, but known to the controller from now on, pending: its `with` starts it, or raises `Cancelled`."""
        return self._raised(self.register_many([dict(options, name=name)])[0])

    @staticmethod
    def _raised(one: Operation | QuellError) -> Operation:
        if isinstance(one, QuellError):
            raise one
        return one

    def register_many(self, specs: Iterable[dict[str, Any]]) -> list[Operation | QuellError]:
        """Pending operations, a thousand in one commit; each its own answer, in order."""
        made = [self.operation(**spec) for spec in specs]
        out: list[Operation | QuellError] = []
        for first in range(0, len(made), BATCH):
            part = made[first:first + BATCH]
            for operation in part:
                self.session.enter(operation)
            try:
                results = self.transport.request("POST", "/v1/operations/batch", {"operations": [o.body("later") for o in part]})["results"]
            except BaseException:
                for operation in part:
                    operation.forget()
                raise
            for operation, item in zip(part, results):
                if item.get("error"):
                    operation.forget()
                    out.append(error_of(item["error"], item["status"]))
                else:
                    operation.record, operation.is_registered = item["operation"], True
                    out.append(operation)
        return out

    def end_many(self, ends: Iterable[tuple[Operation, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Ends without `with`: (operation, {"complete": {"result": …}} | {"fail": {"code", "message"}} | {"stopped": {}}), a thousand in one
        commit; the answers in order: {"status", "operation", "error"}."""
        todo = list(ends)
        out: list[dict[str, Any]] = []
        for first in range(0, len(todo), BATCH):
            part = todo[first:first + BATCH]
            answer = self.transport.request("POST", "/v1/operations/end", {"items": [dict(word, id=o.id) for o, word in part]})
            for (operation, _), item in zip(part, answer["results"]):
                operation.record = item.get("operation") or operation.record
                operation.forget()
                out.append(item)
        return out

    def get(self, id: str, *, wait: str | None = None, wait_ms: int | None = None) -> dict[str, Any]:
        """One operation; `wait="ended"` waits up to `wait_ms` (at most 60000)."""
        return self.transport.request("GET", f"/v1/operations/{urllib.parse.quote(id, safe='')}" + _query({"wait": wait, "wait_ms": wait_ms}))

    def list(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Operations, all pages: scope, status, kind, name, owner, label, worker, parent, root, below, cancel, since, until, order."""
        yield from self._pages("/v1/operations", "operations", filters)

    def cancels(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Cancels, all pages: scope, status, operation, owner."""
        yield from self._pages("/v1/cancels", "cancels", filters)

    def messages(self, scope: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """The stored conversation of a scope, all pages."""
        yield from self._pages("/v1/messages", "messages", dict(filters, scope=scope))

    def status(self) -> dict[str, Any]:
        return self.transport.request("GET", "/v1/status")

    def _pages(self, path: str, key: str, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            page = self.transport.request("GET", path + _query({"limit": 1000, **filters, "cursor": cursor}))
            yield from page[key]
            cursor = page["next_cursor"]
            if not cursor:
                return

    # ---- cancels --------------------------------------------------------------------------------------------------------
    def cancel(self, *, operation: Operation | str | None = None, scope: str | None = None, owner: str | None = None,
               everything: bool = False, reason: str = "", grace_ms: int | None = None, by: dict[str, str] | None = None,
               up_to_seq: int | None = None, dry_run: bool = False, wait: str = "settled", wait_ms: int = 30_000) -> dict[str, Any]:
        """Exactly one target. The cancel with its report, after `wait` (fenced, signalled, settled) or `wait_ms`; look at `report.proven`."""
        target = {"operation": operation.id if isinstance(operation, Operation) else operation, "scope": scope, "owner": owner,
                  "everything": everything or None}
        body = {"id": None if dry_run else uuid7(), "reason": reason, "grace_ms": grace_ms, "by": by, "up_to_seq": up_to_seq, "dry_run": dry_run,
                "wait": wait, "wait_ms": min(wait_ms, 60_000), **target}
        return self.transport.request("POST", "/v1/cancels", {k: v for k, v in body.items() if v is not None})

    # ---- calls that wait for a human ------------------------------------------------------------------------------------
    def approve(self, call: str, *, input: dict[str, Any] | None = None, reason: str = "", by: dict[str, str] | None = None,
                always_ms: int | None = None) -> dict[str, Any]:
        """The call may begin; with `input` it runs with that instead of its own. `always_ms`: this exact call needs no human for so long."""
        always = {"for_ms": always_ms} if always_ms is not None else None
        return self._decide(call, "approve", {"input": input, "reason": reason, "by": by, "always": always})

    def deny(self, call: str, *, reason: str = "", by: dict[str, str] | None = None) -> dict[str, Any]:
        """The call does not begin; its model reads the reason."""
        return self._decide(call, "deny", {"reason": reason, "by": by})

    def _decide(self, call: str, word: str, body: dict[str, Any]) -> dict[str, Any]:
        path = f"/v1/operations/{urllib.parse.quote(call, safe='')}/{word}"
        return self.transport.request("POST", path, {k: v for k, v in body.items() if v is not None})

    # ---- messages and events ----------------------------------------------------------------------------------------------
    def say(self, scope: str, text: str, *, author: dict[str, str], id: str | None = None, **fields: Any) -> Iterator[tuple[str, Any]]:
        """Says it and yields (type, data) of what follows: `message_decided` first, then the turn's events.

        Leaving the loop early hangs up, which cancels the turn unless `on_disconnect="continue"`. `fields`: as in POST /v1/messages, for
        example `agent`, `model`, `tools`, `parent`, `timeout_ms`, `labels`.
        """
        body = {"scope": scope, "text": text, "author": author, "id": id, **fields}
        with self.transport.stream("POST", "/v1/messages", {k: v for k, v in body.items() if v is not None}) as stream:
            for event, data, _ in stream:
                yield event, data

    def events(self, *, operation: Operation | str | None = None, after: str | None = None, **filters: Any) -> Iterator[dict[str, Any]]:
        """Events as they come, for ever; a lost connection is made anew behind the last event seen. Watching never cancels."""
        id = operation.id if isinstance(operation, Operation) else operation
        path = f"/v1/operations/{id}/events" if id else "/v1/events"
        pause, lost_at = 0.1, time.monotonic()
        while True:
            try:
                with self.transport.stream("GET", path + _query({**filters, "after": after})) as stream:
                    pause = 0.1
                    for _, data, _ in stream:
                        after, lost_at = data["id"], time.monotonic()
                        yield data
                lost_at = time.monotonic()
            except (OSError, http.client.HTTPException, ValueError) as e:
                if time.monotonic() - lost_at > self.transport.patience:
                    raise Unreachable(f"the event stream is lost: {e}") from e
            except QuellError as e:
                if e.status != 503:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 1.0)
