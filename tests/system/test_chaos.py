"""Any program killed or frozen at random while starts and cancels run: no accepted request is lost, nothing runs twice, nothing is left."""
import http.client
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter

import pytest

from harness import processes
from harness.cluster import Cluster, levels, marker
from harness.waiting import until

STEPS = int(os.environ.get("QUELL_CHAOS_STEPS", "8"))
ENDED = ("completed", "failed", "cancelled")


def uuid7():
    ms = time.time_ns() // 1_000_000
    value = (ms << 80) | (7 << 76) | (uuid.uuid4().int & ((1 << 76) - 1))
    return str(uuid.UUID(int=(value & ~(3 << 62)) | (2 << 62)))


def guardian_of(worker):
    for pid in processes.children_of(worker.process.pid):
        if b"quell-guardian" in processes.read(f"/proc/{pid}/cmdline"):
            return pid
    return None


class Load:
    """Three clients that start and cancel with ids of their own choice and remember the accepted requests."""

    def __init__(self, cluster, m, seed, runs=None):
        self.cluster, self.marker, self.seed = cluster, m, seed
        self.runs = runs or os.path.join(cluster.directory, "runs")
        open(self.runs, "a").close()
        self.accepted, self.cancels, self.wrong, self.requests = {}, set(), [], 0
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(3)]
        for t in self.threads:
            t.start()

    def command(self, r):
        note = f"echo $QUELL_OPERATION >> {self.runs}; "
        stay = "while :; do sleep 1000; done"
        return ["bash", "-c", r.choice([note + stay, note + "trap '' TERM; " + stay, note + "true",
                                        note + f"quell run -d -- bash -c '{stay}' {self.marker}; {stay}"]), self.marker]

    def work(self, n):
        r = random.Random(self.seed * 100 + n)
        while not self.stop.is_set():
            id, kind = uuid7(), r.random()
            with self.lock:
                self.requests += 1
                known = r.choice(list(self.accepted)) if self.accepted else None
            try:
                if kind < 0.6:
                    body = {"id": id, "kind": "task", "grace_ms": 300, "task": {"command": self.command(r)}}
                    body.update({"parent": known} if known and r.random() < 0.3 else {"scope": f"chaos/{n}"})
                    answer = self.cluster.api("POST", "/v1/operations", body, timeout=20)
                    if answer.status == 201:
                        with self.lock:
                            self.accepted[id] = answer.json
                    elif answer.status not in (409, 503):
                        self.wrong.append((answer.status, answer.body[:300]))
                else:
                    target = {"scope": f"chaos/{n}"} if kind < 0.75 or not known else {"operation": known}
                    answer = self.cluster.api("POST", "/v1/cancels", dict(target, wait="fenced", grace_ms=r.choice([None, 0, 100])), timeout=20)
                    if answer.status in (200, 202):
                        if answer.json["durable"]:  # else it is performed, but may be forgotten by a restart
                            with self.lock:
                                self.cancels.add(answer.json["id"])
                    elif answer.status != 503:
                        self.wrong.append((answer.status, answer.body[:300]))
            except (OSError, http.client.HTTPException):
                until(lambda: self.stop.is_set() or self.cluster.healthy(), "the controller to come back")

    def more(self, count):
        """Waits until this many more requests have begun, or (with a frozen controller) for a moment."""
        target, end = self.requests + count, time.monotonic() + 4
        until(lambda: self.requests >= target or time.monotonic() > end, "the load to go on")

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()

    def check(self, m):
        """After load and faults: everything settles, every accepted request is known, nothing ran twice, nothing is left."""
        c = self.cluster
        until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "all workers to be back", 90)
        last = c.cancel(scope="chaos", wait_ms=60000)
        assert last["status"] == "settled", last
        assert processes.marked(m) == []
        until(lambda: not c.api("GET", "/v1/cancels?status=open").json["cancels"], "all cancels to settle", 90)
        operations = {o["id"]: o for o in c.operations(scope="chaos")}
        assert set(self.accepted) <= set(operations), "an accepted operation is missing"
        assert not [o for o in operations.values() if o["status"] not in ENDED]
        for id in filter(None, self.cancels):
            report = c.api("GET", f"/v1/cancels/{id}").json["report"]
            assert report["unproven_total"] == 0
            assert sum(report["receipts"].values()) == report["operations"] == sum(report["proofs"].values()), report
        ran = Counter(processes.read(self.runs).decode().split())
        assert not [id for id, times in ran.items() if times > 1], "an operation ran twice"
        assert not [id for id in ran if (operations[id]["stop"] or {}).get("receipt") == "never_started"], "it ran, and is said to be never started"
        until(lambda: all(w["slots_used"] == 0 and w["operations_live"] == 0 for w in c.api("GET", "/v1/workers").json["workers"]), "every slot to be free")


def disturb(cluster, load, r, action, name):
    worker = cluster.workers[name]
    if action == "kill quelld":
        cluster.kill_controller()
        cluster.start_controller()
    elif action in ("kill worker", "kill worker twice", "end worker"):
        for _ in range(2 if action == "kill worker twice" else 1):
            process = cluster.workers[name].process
            process.send_signal(signal.SIGTERM if action == "end worker" else signal.SIGKILL)
            process.wait(timeout=90)
            cluster.add_worker(name, wait=False)
    else:
        pid = {"freeze quelld": cluster.controller.pid, "freeze worker": worker.process.pid}.get(action) or guardian_of(worker)
        if pid is None:
            return
        try:
            if action == "kill guardian":
                os.kill(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGSTOP)
                load.more(r.choice([3, 30, 100]))
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    for n, w in cluster.workers.items():
        if w.process.poll() is not None:
            cluster.add_worker(n, wait=False)


@pytest.mark.parametrize("level", levels())
def test_random_kills_and_freezes_lose_nothing_and_leave_nothing(level):
    seed = int(os.environ.get("QUELL_CHAOS_SEED", random.randrange(1 << 30)))
    print("QUELL_CHAOS_SEED =", seed)
    r, m = random.Random(seed), marker("chaos")
    with Cluster(workers=3, slots=12, settings=["workers.lease=3s"], worker_flags=["--containment", level]) as c:
        load = Load(c, m, seed)
        try:
            for _ in range(STEPS):
                load.more(r.randrange(5, 60))
                action = r.choice(["kill quelld", "kill worker", "kill worker twice", "end worker", "kill guardian", "freeze quelld",
                                   "freeze worker", "freeze guardian"])
                print(action, name := r.choice(list(c.workers)))
                disturb(c, load, r, action, name)
        finally:
            load.end()
        assert not load.wrong, load.wrong[:3]
        load.check(m)
        # A pause of the machine can cost a worker its 3 s; then the next task runs.
        until(lambda: c.wait_status(c.start("true", scope="after")["id"], *ENDED)["status"] == "completed", "a task to run")
