"""One external operation: registered, told of its stop, ended. A context manager for threads (`with`) and for asyncio (`async with`).

Who won is decided where the work is: a body that returns normally is reported complete even if a cancel came meanwhile (the
controller keeps that as `already_finished`); one that unwinds because of the cancel is reported stopped.
"""
from __future__ import annotations

import asyncio
import contextvars
import os
import secrets
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, Callable

from .errors import AlreadyTerminal, Cancelled, Conflict, QuellError

if TYPE_CHECKING:
    from .client import Client

INHERIT: Any = object()
"""As `parent`: the operation around this one in the same thread or asyncio task, else QUELL_OPERATION, else none."""

_current: contextvars.ContextVar["Operation | None"] = contextvars.ContextVar("quell_operation", default=None)


def current_operation() -> "Operation | None":
    """The innermost operation whose body this code runs in."""
    return _current.get()


def uuid7() -> str:
    ms = time.time_ns() // 1_000_000
    return str(uuid.UUID(int=ms << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)))


class Operation:
    """Made by `Client.operation` or `Client.register`; used once."""

    def __init__(self, client: "Client", name: str, *, scope: str | None = None, parent: "Operation | str | None" = INHERIT,
                 id: str | None = None, lease_ms: int | None = None, **fields: Any) -> None:
        if parent is INHERIT:
            around = _current.get()
            parent = around if around is not None else os.environ.get("QUELL_OPERATION")
        self.parent: str | None = parent.id if isinstance(parent, Operation) else parent
        self.id: str = id or uuid7()
        self.name = name
        self.lease_ms: int = client.lease_ms if lease_ms is None else lease_ms
        self.cancelled = threading.Event()
        """Set when the operation is to stop. `cancelled.wait(s)` instead of `time.sleep(s)` ends early."""
        self.signal: dict[str, Any] | None = None
        """The stop: {"operation", "kind", "name", "labels", "cancel": {"id", "cause", "reason", "by"}, "grace_ms", "kill_at"}."""
        self.result: Any = None
        """What is reported when the body ends normally; any JSON."""
        self.record: dict[str, Any] | None = None
        """The operation as the controller showed it last."""
        self.is_registered = False
        self._client, self._fields = client, dict(fields, scope=scope)
        self._lock = threading.Lock()
        self._callbacks: list[Callable[["Operation"], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._interrupted = self._entered = self._over = self._is_ours = False
        self._cancelling = 0
        self._token: contextvars.Token[Any] | None = None

    # ---- what the body asks -------------------------------------------------------------------------------------------
    def raise_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled(self.id, self.signal)

    def heartbeat(self) -> None:
        """Asks the controller now, and raises `Cancelled` if this is to stop. Not needed for the lease: the client beats by itself."""
        self._client.session.beat_now()
        self.raise_if_cancelled()

    def on_cancel(self, callback: Callable[["Operation"], None]) -> None:
        """Called once, in another thread (at once, in this one, if the stop is here already): to close a socket, kill a process."""
        with self._lock:
            if not self.cancelled.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    @property
    def status(self) -> str | None:
        """As the controller said it last; after the end the terminal status, or `running` while children are still at work."""
        return self.record["status"] if self.record else None

    # ---- told by the session, from its threads ------------------------------------------------------------------------
    def told(self, signal: dict[str, Any]) -> None:
        with self._lock:
            if self._over:
                return
            if self.signal is None or self.cancelled.is_set():
                self.signal = signal  # a second one may only bring the kill nearer
            if self.cancelled.is_set():
                return
            self.cancelled.set()
            callbacks, self._callbacks = self._callbacks, []
            loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._interrupt)
            except RuntimeError:
                pass  # the loop is closed: so is the body
        for callback in callbacks:
            try:
                callback(self)
            except Exception as e:  # its own business; the stop goes on
                self._client.complain(f"a cancel callback of {self.name} failed: {e!r}")

    def lost(self) -> None:
        """The controller says that it is over: its lease ran out, or it was settled without us."""
        self.told({"operation": self.id, "cancel": {"cause": "worker_lost", "reason": "the controller has ended it: it was out of contact too long"}})

    def _interrupt(self) -> None:
        if self._task is not None and self._entered and not self._over and not self._interrupted:
            self._interrupted = True
            self._task.cancel()

    # ---- begin --------------------------------------------------------------------------------------------------------
    def body(self, start: str) -> dict[str, Any]:
        request = {"id": self.id, "kind": "external", "name": self.name, "parent": self.parent,
                   "external": {"lease_ms": self.lease_ms, "session": self._client.session.name, "start": start}}
        request.update({k: v for k, v in self._fields.items() if v is not None})
        return request

    def begin(self) -> None:
        """Registers and starts it. Raises `Cancelled` if it must not start."""
        send = self._client.transport.request
        try:
            if not self.is_registered:
                self._client.session.enter(self)
                self.record = send("POST", "/v1/operations", self.body("now"))
                self.is_registered = True
            while self.record is None or self.record["status"] == "pending":
                try:
                    self.record = send("POST", f"/v1/operations/{self.id}/start", {})
                except Conflict as e:
                    if e.code != "not_started":
                        raise
                    self.cancelled.wait(0.1)  # it waits for the end of what it supersedes
            if self.record["status"] not in ("running", "paused"):  # stopped while the answer was lost
                stop = self.record["stop"] or {}
                self.told({"operation": self.id, "cancel": dict(stop, id=stop.get("cancel"))})
        except QuellError as e:
            self.forget()
            if e.code == "stale_start":
                self.cancelled.set()
                raise Cancelled(self.id, {"cancel": e.cancel}, started=False) from e
            raise
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        self._over = True
        self._client.session.leave(self)

    def __enter__(self) -> "Operation":
        self.begin()
        self._token = _current.set(self)
        return self

    async def __aenter__(self) -> "Operation":
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task else 0
        begun = self._loop.run_in_executor(self._client.executor, self.begin)
        try:
            await asyncio.shield(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(self._begun_for_nobody)
            raise
        self._entered = True
        self._token = _current.set(self)
        if self.cancelled.is_set():
            self._interrupt()
        return self

    def _begun_for_nobody(self, begun: "asyncio.Future[None]") -> None:
        if not begun.cancelled() and begun.exception() is None:
            self._client.executor.submit(self.abandon, "the task that began it was cancelled")

    # ---- end ----------------------------------------------------------------------------------------------------------
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: Any) -> None:
        self._leave_context()
        self.finish(error)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: Any) -> None:
        self._leave_context()
        self._entered = False
        if self._interrupted and self._task is not None:
            if error is None:  # it ended before our cancel() reached it: that one must not hit the await below
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    pass
            # As asyncio.timeout does it: if somebody else cancelled the task, too, their CancelledError goes on.
            self._is_ours = self._task.uncancel() <= self._cancelling
        assert self._loop is not None
        await asyncio.shield(self._loop.run_in_executor(self._client.executor, self.finish, error))

    def _leave_context(self) -> None:
        if self._token is not None:
            _current.reset(self._token)
            self._token = None

    def finish(self, error: BaseException | None) -> None:
        """Reports how the body ended. Raises `Cancelled` in the place of asyncio's when the cancel was ours."""
        try:
            if error is None:
                self._report("complete", {"result": self.result})
                return
            by_asyncio = isinstance(error, asyncio.CancelledError)
            try:
                if self.cancelled.is_set() and (by_asyncio or isinstance(error, Cancelled)):
                    self._report("stopped", {})
                elif by_asyncio or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                    self.abandon(f"its owner was interrupted ({type(error).__name__})")
                else:
                    self._report("fail", {"code": "error", "message": f"{type(error).__name__}: {error}"[:4000]})
            except AlreadyTerminal:
                pass  # ended without us meanwhile; `record` says how, and the body's own exception goes on
            except QuellError as e:
                self._client.complain(f"the end of {self.name} {self.id} was not reported: {e}")
            if by_asyncio and self._is_ours:
                raise Cancelled(self.id, self.signal) from None
        finally:
            self.forget()

    def abandon(self, reason: str) -> None:
        """Its owner gives it up: cancelled, and nothing below it goes on."""
        send = self._client.transport.request
        try:
            send("POST", "/v1/cancels", {"id": uuid7(), "operation": self.id, "reason": reason, "wait": "fenced"})
            self._report("stopped", {})
        finally:
            self.forget()

    def _report(self, word: str, body: dict[str, Any]) -> None:
        try:
            self.record = self._client.transport.request("POST", f"/v1/operations/{self.id}/{word}", body)
        except AlreadyTerminal as e:
            if isinstance(e.operation, dict):
                self.record = e.operation
            stop = (self.record or {}).get("stop")
            if word == "complete" and self.status == "cancelled":  # our work was too late: what the store says holds
                raise Cancelled(self.id, self.signal or {"cancel": dict(stop, id=stop["cancel"]) if stop else {}}) from e
            raise
        except QuellError as e:
            if word == "stopped" and e.code == "not_cancelling":  # told by a signal, but the controller has lost nothing: say it failed
                self._report("fail", {"code": "error", "message": "its owner stopped working on it"})
                return
            raise
