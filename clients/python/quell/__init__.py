"""Client of quell. `with quell.operation("callLLM", scope="team/build") as op:` registers work, hears its cancel, reports its end."""
from __future__ import annotations

import threading
from typing import Any

from .client import Client
from .errors import (AlreadyTerminal, Cancelled, Conflict, Forbidden, Invalid, NotFound, QuellError, ServerError, TooMany, Unauthenticated,
                     Unreachable)
from .operation import INHERIT, Operation, current_operation

__all__ = ["AlreadyTerminal", "Cancelled", "Client", "Conflict", "Forbidden", "INHERIT", "Invalid", "NotFound", "Operation", "QuellError",
           "ServerError", "TooMany", "Unauthenticated", "Unreachable", "current_operation", "default_client", "operation"]

_lock = threading.Lock()
_default: Client | None = None


def default_client() -> Client:
    """The client made from QUELL_URL and QUELL_TOKEN, or from client.json; one for the whole process."""
    global _default
    with _lock:
        if _default is None:
            _default = Client()
        return _default


def operation(name: str, **options: Any) -> Operation:
    """`default_client().operation(…)`."""
    return default_client().operation(name, **options)
