"""CPU time of quelld, one quell-worker and its guardian together, with a few live tasks that do nothing."""
import select
import sys
import time

from support import Cluster, children_of, cpu_seconds, name_of, record, say


def family(pid):
    found = [pid]
    for child in children_of(pid):
        found += family(child)
    return found


def main(seconds):
    with Cluster(workers=1, slots=8) as c:
        for i in range(4):
            c.wait_status(c.start("sleep", "1000", scope="bench/idle")["id"], "running")
        for i in range(4):
            c.start("true", scope="bench/waiting", task_on={"bench": "nobody-has-this"})
        pids = [c.controller.pid] + family(c.workers["w1"].process.pid)
        select.select([], [], [], 2)  # wait for the work that the starts left behind
        before, begun = {p: cpu_seconds(p) for p in pids}, time.monotonic()
        select.select([], [], [], seconds)
        elapsed = time.monotonic() - begun
        used = {p: (cpu_seconds(p) - before[p]) / elapsed * 100 for p in pids}
        for p in pids:
            say(f"    {name_of(p)} ({p}): {used[p]:.3f} % of a core")
        c.cancel(scope="bench", grace_ms=0)
    total = sum(used.values())
    record("idle CPU of quelld, worker, guardian", f"{total:.3f} % of a core", "1 % of a core", f"{total:.2f} x", "< 1 x", total < 1, [total])


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20)
