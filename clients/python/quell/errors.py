"""What can go wrong, as types; each carries the fields of the problem document (RFC 9457)."""
from __future__ import annotations

from typing import Any


class QuellError(Exception):
    """`code` is what a program switches on; `detail` says what was wrong, where, and what to do."""

    def __init__(self, problem: dict[str, Any], retry_after: float | None = None) -> None:
        self.problem = problem
        self.status: int = problem.get("status", 0)
        self.code: str = problem.get("code", "")
        self.title: str = problem.get("title", "")
        self.detail: str = problem.get("detail", "")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        self.cancel: dict[str, Any] | None = problem.get("cancel")
        self.operation: dict[str, Any] | str | None = problem.get("operation")
        self.request: str | None = problem.get("request")
        self.retry_after = retry_after
        fields = "; ".join(f"{e.get('pointer', '')} {e.get('message', '')}".strip() for e in self.errors)
        super().__init__(f"{self.code}: {self.detail or self.title}" + (f" ({fields})" if fields else ""))


class Unauthenticated(QuellError):
    """401: no token, or one that is not (or no longer) valid."""


class Forbidden(QuellError):
    """403: the token's role or scope does not allow this."""


class NotFound(QuellError):
    """404: no such thing inside the token's scope."""


class Conflict(QuellError):
    """409: parent_ended, id_conflict, not_started, not_cancelling, …"""


class AlreadyTerminal(Conflict):
    """409: the operation has ended otherwise; `operation` is how."""


class Invalid(QuellError):
    """400, 413, 415, 422: the request itself; `errors` lists every bad field."""


class TooMany(QuellError):
    """429: `retry_after` seconds."""


class ServerError(QuellError):
    """500, 503."""


class Unreachable(QuellError):
    """No answer from the controller within the client's patience. Whether the request was done is unknown, unless it is repeated with its id."""

    def __init__(self, detail: str) -> None:
        super().__init__({"code": "unreachable", "title": "The controller does not answer", "detail": detail})


class Cancelled(BaseException):
    """The operation was cancelled: unwind and do not try again.

    Not an `Exception`, as asyncio.CancelledError is none: an `except Exception: retry` must not bring back what a user stopped.
    """

    def __init__(self, operation: str, signal: dict[str, Any] | None = None, *, started: bool = True) -> None:
        cancel = (signal or {}).get("cancel") or {}
        self.operation = operation
        self.started = started
        self.cancel: str | None = cancel.get("id")
        self.cause: str = cancel.get("cause") or "cancel"
        self.reason: str = cancel.get("reason") or ""
        self.by: dict[str, str] | None = cancel.get("by")
        what = "was cancelled" if started else "was cancelled before it started"
        super().__init__(f"operation {operation} {what}" + (f": {self.reason}" if self.reason else ""))


_BY_STATUS: dict[int, type[QuellError]] = {401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 429: TooMany}


def error_of(problem: dict[str, Any], status: int, retry_after: float | None = None) -> QuellError:
    problem.setdefault("status", status)
    if problem.get("code") == "already_terminal":
        return AlreadyTerminal(problem, retry_after)
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else Invalid)
    return kind(problem, retry_after)
