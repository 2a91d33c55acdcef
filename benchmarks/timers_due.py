"""The cancel of another scope while 100,000 timers are due at once, beside the same cancel in the quiet cluster, and quelld's memory before and after."""
import select
import sys
import time

from other_scopes import Cancels, rows
from support import Client, Cluster, compare, rss_bytes, say, until

A_REQUEST = 1000  # operations
A_SECOND = 5000  # so many are registered at least
UNCONFIRMED_S = 10  # after a stop that an owner does not answer


def register(client, count, due):
    """External operations whose timeouts end at the instant `due` (CLOCK_MONOTONIC), as exactly as one request is long."""
    for _ in range(0, count, A_REQUEST):
        left_ms = round((due - time.monotonic()) * 1000)
        assert left_ms > 1000, "this machine registers too slowly: give a lower rate"
        operation = {"kind": "external", "scope": "bench/timers", "name": "call", "timeout_ms": left_ms, "grace_ms": 0, "external": {"lease_ms": 0}}
        answer, _ = client.post("/v1/operations/batch", {"operations": [operation] * A_REQUEST})
        assert all(r["status"] == 201 for r in answer["results"]), answer["results"][0]


def counted(client, *states):
    counts = client.get("/v1/status")[0]["operations"]
    return sum(counts.get(s, 0) for s in states)


def wait_for(instant):
    select.select([], [], [], max(0, instant - time.monotonic()))


def fire(cancels, is_over):
    """Cancels while timers fire; the first one comes with the first timers."""
    took = [cancels.one()]
    while not is_over():
        took.append(cancels.one())
    return took


def peak_bytes(pid, forget=False):
    """The highest RSS since the last call that forgets it."""
    with open(f"/proc/{pid}/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    if forget:
        with open(f"/proc/{pid}/clear_refs", "w") as refs:
            refs.write("5")
    return peak


def one_round(c, client, cancels, count):
    cancels.prepare(1000)
    idle = counted(client, "running")
    due = time.monotonic() + count / A_SECOND + 6
    register(client, count, due)
    wait_for(due - 4)
    quiet = cancels.some(60)
    before = rss_bytes(c.controller.pid)
    peak_bytes(c.controller.pid, forget=True)
    wait_for(due)
    began = time.monotonic()
    stops = fire(cancels, lambda: counted(client, "running") <= idle)
    stopped_s = time.monotonic() - began
    wait_for(due + UNCONFIRMED_S)
    began = time.monotonic()
    ends = fire(cancels, lambda: counted(client, "running", "cancelling") <= idle)
    ended_s = time.monotonic() - began
    peak = peak_bytes(c.controller.pid)
    say(f"    {count:,} timeouts: stopped within {stopped_s:.2f} s ({len(stops)} cancels, worst {max(stops):.1f} ms), given up within {ended_s:.2f} s "
        f"({len(ends)} cancels, worst {max(ends):.1f} ms); RSS {before / 2**20:.0f} MiB, at most {peak / 2**20:.0f}")
    return stops + ends, quiet, before / 2**20, peak / 2**20


def main(count, rounds):
    loaded, quiet, before, peak = [], [], [], []
    with Cluster(workers=1) as c:
        client, cancels = Client(c), Cancels(c)
        for _ in range(rounds):
            some = one_round(c, client, cancels, count)
            loaded += some[0]
            quiet += some[1]
            before.append(some[2]), peak.append(some[3])
            until(lambda: counted(client, "running", "cancelling") == 0, "all timers to have fired", 120)
        say(f"    RSS in the end {rss_bytes(c.controller.pid) / 2**20:.0f} MiB")
    rows(f"{count:,} timers that are due", loaded, quiet, 2)
    compare(f"memory while {count:,} timers are due, at its peak", peak, before, "while they wait", 1.1, unit="MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
