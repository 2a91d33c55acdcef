"""Bounded waits on a condition: the only kind of waiting in these tests."""
import select
import time


class TimedOut(AssertionError):
    pass


def until(condition, what, seconds=20.0):
    """Polls `condition` until it is truthy and returns that value; fails saying what was waited for and what was seen last."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        last = condition()
        if last:
            return last
        select.select([], [], [], 0.01)
    raise TimedOut(f"waited {seconds} s for: {what}; last seen: {last!r}")
