"""Bounded waits on a condition: the only kind of waiting in these tests."""
import os
import select
import time

# Everything takes longer under sanitizers: this factor multiplies all waits.
PATIENCE = float(os.environ.get("QUELL_TEST_PATIENCE", "1"))


class TimedOut(AssertionError):
    pass


def until(condition, what, seconds=60.0):
    """Polls `condition` until it is truthy and returns that value; the failure names the awaited event and the last state.
    `what`: words, or a function that returns them when the time is over."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        last = condition()
        if last:
            return last
        select.select([], [], [], 0.01)
    raise TimedOut(f"waited {seconds} s for: {what() if callable(what) else what}; last seen: {last!r}")
