"""Resources of a program: descriptors, threads, memory. Measured repeatedly at rest, so that growth shows."""
import os

from . import processes
from .cluster import BIN
from .faults import sanitizers
from .processes import descriptors, guardian_of

KIB = 1024
SANITIZED = bool(sanitizers(os.path.join(BIN, "quelld")))  # its allocator keeps freed memory


def program(pid):
    status = dict(line.split(":\t", 1) for line in processes.read(f"/proc/{pid}/status").decode(errors="replace").splitlines() if ":\t" in line)
    return {"pid": pid, "descriptors": descriptors(pid), "threads": int(status.get("Threads", "0")),
            "memory": int(status.get("VmRSS", "0 kB").split()[0]) * KIB}


def cluster(c):
    """Name → measure of every program of a cluster."""
    found = {"quelld": program(c.controller.pid)}
    for w in c.workers.values():
        found[w.name] = program(w.process.pid)
        found[w.name + "'s guardian"] = program(guardian_of(w.process.pid) or 0)
    return found


class Growth:
    """Compares measures at rest of the same processes."""

    # Permitted differences at rest: a connection that is being closed, an idle thread of a pool, memory that the allocator keeps after a burst.
    DESCRIPTORS, THREADS, BURST = 6, 2, 8 << 20
    # A worker keeps these for its connections, from the first start of a session.
    RESERVE = 8
    # quelld also keeps pages of its store, at most this much, and its caches of recent operations and cancels.
    PAGES, RECENT = 40 << 20, 1 * KIB

    def __init__(self):
        self.first = {}

    def check(self, measures, operations, store_bytes):
        """`operations` so far, of the whole run; `store_bytes` on disk now. Returns a finding as text, or None."""
        for name, now in measures.items():
            then, since, stored = self.first.setdefault((name, now["pid"]), (now, operations, store_bytes))
            if now["descriptors"] > then["descriptors"] + self.DESCRIPTORS + (0 if name == "quelld" else self.RESERVE):
                return f"{name} (pid {now['pid']}) holds {now['descriptors']} descriptors at rest, it was {then['descriptors']}"
            if now["threads"] > then["threads"] + self.THREADS:
                return f"{name} (pid {now['pid']}) has {now['threads']} threads at rest, it was {then['threads']}"
            allowed = then["memory"] + self.BURST
            if name == "quelld":
                allowed += min(max(store_bytes - stored, 0), self.PAGES) + self.RECENT * (operations - since)
            if now["memory"] > allowed and not SANITIZED:
                return f"{name} (pid {now['pid']}) holds {now['memory'] >> 10} KiB at rest after {operations - since} operations, it was " \
                       f"{then['memory'] >> 10} KiB, and the store grew by {(store_bytes - stored) >> 10} KiB"
        return None


def line(measures):
    return ", ".join(f"{name} {m['descriptors']}fd {m['threads']}th {m['memory'] >> 20}MiB" for name, m in measures.items())
