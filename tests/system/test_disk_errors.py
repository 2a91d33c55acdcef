"""A disk that fails under the real quelld: at the n-th write, sync, open, truncate or read. Answered requests are known after a restart, and stops are performed.

Tests all of n = 1, 2, 3 … until no call fails any more, for every kind, with QUELL_FAULTS_ALL=1; else a sample that differs each time (QUELL_FAULT_SEED)."""
import errno
import http.client
import os
import random
import shutil
import subprocess

import pytest

from harness import faults, processes
from harness.cluster import marker
from harness.faults import FaultyCluster, Machine
from harness.waiting import until

ALL = bool(os.environ.get("QUELL_FAULTS_ALL"))
SAMPLES = 10**6 if ALL else int(os.environ.get("QUELL_FAULT_SAMPLES", "5"))
SEED = int(os.environ.get("QUELL_FAULT_SEED", random.randrange(1 << 30)))

# The failing calls, the error, and whether it persists.
TROUBLES = {
    "write finds no room once": (faults.WRITES, errno.ENOSPC, False),
    "nothing finds room any more": (faults.WRITES | faults.SIZES, errno.ENOSPC, True),
    "write fails once": (faults.WRITES, errno.EIO, False),
    "writes fail from then on": (faults.WRITES, errno.EIO, True),
    "sync fails once": (faults.SYNCS, errno.EIO, False),
    "open fails once": (faults.OPENS, errno.EIO, False),
    "read fails once": (faults.READS, errno.EIO, False),
}


def numbers(r, most):
    """The n to try, out of 1 to `most`."""
    return list(range(1, most + 1)) if most <= SAMPLES else sorted(r.sample(range(1, most + 1), SAMPLES))


def integrity(state):
    done = subprocess.run(["sqlite3", os.path.join(state, "quell.db"), "PRAGMA integrity_check"], capture_output=True, timeout=120)
    return done.stdout.decode().strip() or done.stderr.decode()


class Told:
    """The answers of quelld."""

    def __init__(self, cluster, m):
        self.cluster, self.marker = cluster, m
        self.operations, self.cancels, self.undurable, self.refused = {}, {}, [], []

    def ask(self, body, path):
        try:
            answer = self.cluster.api("POST", path, body, timeout=20)
        except (OSError, http.client.HTTPException):
            return None  # it ended, as it must if memory and disk can differ
        if answer.status >= 500:
            assert answer.status == 503 and answer.json["code"] == "storage_unavailable" and answer.json["detail"], answer.body
            self.refused.append(answer.json)
            return None
        assert answer.status in (200, 201, 202), answer.body
        return answer.json

    def start(self, scope):
        stay = "trap '' TERM; echo hello; while :; do sleep 1000; done"
        made = self.ask({"kind": "task", "scope": scope, "grace_ms": 100, "task": {"command": ["bash", "-c", stay, self.marker]}}, "/v1/operations")
        if made:
            self.operations[made["id"]] = made
        return made

    def cancel(self, scope):
        made = self.ask({"scope": scope, "wait": "signalled", "wait_ms": 2000}, "/v1/cancels")
        if made and made["durable"]:
            self.cancels[made["id"]] = made
        elif made:
            self.undurable.append(made)
        return made

    def check(self):
        rows = {o["id"]: o for o in self.cluster.operations()}
        missing = [o for i, o in self.operations.items() if i not in rows or rows[i]["seq"] != o["seq"]]
        assert not missing, f"answered, and not known after the restart: {missing[:1]}"
        for id, cancel in self.cancels.items():
            found = self.cluster.api("GET", f"/v1/cancels/{id}")
            assert found.status == 200 and found.json["seq"] == cancel["seq"], f"answered as durable, and not known: {cancel}"
            alive = [o for o in rows.values() if o["scope"] == cancel["target"]["scope"] and o["seq"] < cancel["seq"]]
            for o in alive:
                self.cluster.wait_status(o["id"], "cancelled", "completed", "failed")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_disk_error_loses_nothing_that_was_answered(trouble):
    print("QUELL_FAULT_SEED =", SEED)
    kinds, error, stays = TROUBLES[trouble]
    with Machine() as machine:
        c = FaultyCluster(machine, workers=1, slots=64, settings=["workers.lease=30s", "workers.heartbeat=200ms"])
        machine.directory = c.state
        with c:
            m, told, most = marker("disk"), None, 400
            for turn, n in enumerate([most, *numbers(random.Random(SEED), most)]):
                if turn and n > most:
                    break
                told = Told(c, m)
                kept, gone = told.start(f"disk/{turn}/kept"), told.start(f"disk/{turn}/gone")
                for o in (kept, gone):
                    c.wait_status(o["id"], "running")
                machine.arm(n, kinds, error, stays)
                if not stays and kinds == faults.READS:  # cached pages are not read again: ask for uncached ones
                    c.api("GET", f"/v1/operations?scope=disk/{turn}&status=ended")
                cancel = told.cancel(f"disk/{turn}/gone")
                for i in range(3):
                    told.start(f"disk/{turn}/more{i}")
                told.cancel(f"disk/{turn}/more0")
                if turn == 0:
                    until(machine.seen, "a call that the fault reaches")  # output is written a moment later
                    most = min(most, machine.seen())  # the number of calls that can fail
                ended = c.controller.poll()
                if cancel and ended is None:  # its end may be unwritable, and is then not shown
                    until(lambda: not [p for p in processes.marked(m) if f"disk/{turn}/gone" in scope_of(p)] or c.controller.poll() is not None,
                          "what was cancelled to be dead, whatever the disk says")
                    ended = c.controller.poll()
                hit = machine.failed()
                machine.disarm()
                log = processes.read(os.path.join(c.directory, "quelld.log")).decode()
                if ended is not None:
                    assert ended == 1 and hit, f"quelld ended with {ended}"
                    assert "quelld ends: " in log, "it says why"
                elif told.refused or told.undurable:
                    assert hit
                if ended is None:
                    c.kill_controller()
                assert integrity(c.state) == "ok", f"{trouble}, n = {n}: {machine.first()}"
                c.start_controller()
                told.check()
                until(lambda: c.api("GET", f"/v1/operations/{kept['id']}/output").body == b"hello\n", f"the output to be whole after {trouble}, n = {n}")
                assert c.cancel(scope="disk", grace_ms=0)["status"] == "settled"
                until(lambda: not processes.marked(m), f"everything to be gone after {trouble}, n = {n}")
            print(trouble, "calls:", most)


def scope_of(pid):
    found = [v for v in processes.read(f"/proc/{pid}/environ").split(b"\0") if v.startswith(b"QUELL_SCOPE=")]
    return found[0].decode() if found else ""


def known_or_started(c, id):
    """The operation; None if quelld has ended (then it is started again) or is about to."""
    if c.controller.poll() is not None:
        c.start_controller()
    try:
        answer = c.api("GET", f"/v1/operations/{id}")
    except (OSError, http.client.HTTPException):
        return None
    return answer.json if answer.status == 200 else None


def test_a_start_that_meets_a_disk_error_says_so_and_can_be_repeated(tmp_path):
    print("QUELL_FAULT_SEED =", SEED)
    r = random.Random(SEED)
    c = FaultyCluster(None, workers=1, settings=["workers.lease=600s"])  # restarts so close together leave the worker no time to reconnect
    with c:
        m = marker("start")
        kept = c.start("bash", "-c", "while :; do sleep 1000; done", m, scope="start/kept")
        c.wait_status(kept["id"], "running")
        with Machine(c.state) as machine:
            kinds = faults.WRITES | faults.SYNCS | faults.OPENS | faults.SIZES | faults.READS | faults.NAMES
            c.machine = machine
            c.kill_controller()
            machine.arm(10**6, kinds)
            c.start_controller()
            most = machine.seen()
            assert most > 20
            refused = 0
            for n in numbers(r, most):
                for stays in ((False, True) if ALL else (r.random() < 0.5,)):
                    c.kill_controller()
                    log = os.path.join(c.directory, "quelld.log")
                    before = len(processes.read(log))
                    machine.arm(n, kinds, r.choice([errno.EIO, errno.ENOSPC]), stays)
                    c.start_controller(wait=False)
                    until(lambda: c.controller.poll() is not None or b"quelld is ready" in processes.read(log)[before:], "quelld to start or to refuse")
                    code, said = c.controller.poll(), processes.read(log)[before:].decode()
                    first = machine.first()
                    machine.disarm()
                    if code is not None:
                        refused += 1
                        assert code == 1, f"n = {n} ({first}): exit {code}: {said}"
                        assert "state" in said or c.state in said, said
                        c.start_controller()
                    # The call can fail in the first commit, behind the word that it is ready, and quelld end at any time from then on.
                    found = until(lambda: known_or_started(c, kept["id"]), f"quelld to answer after n = {n} ({first})")
                    assert found["status"] == "running", f"n = {n} ({first})"
            print("calls:", most, "refused:", refused)
            c.kill_controller()
            assert integrity(c.state) == "ok"
            c.start_controller()
        c.cancel(scope="start", grace_ms=0)
        assert processes.marked(m) == []


def test_a_worker_whose_disk_errs_says_so_and_can_be_started_again():
    print("QUELL_FAULT_SEED =", SEED)
    r = random.Random(SEED)
    with FaultyCluster(workers=0, settings=["workers.lease=10s"]) as c, Machine(os.path.join(c.directory, "worker-w1"), "quell-worker") as machine:
        kinds = faults.WRITES | faults.SYNCS | faults.OPENS | faults.SIZES | faults.READS | faults.NAMES
        c.enrol("w1")

        def begin(n, stays):
            """A first start, with an empty state directory. The faults are in the worker only: its guardian is static."""
            shutil.rmtree(machine.directory, ignore_errors=True)
            machine.arm(n, kinds, r.choice([errno.EIO, errno.ENOSPC]), stays)
            before = len(processes.read(os.path.join(c.directory, "w1.log")))
            worker = c.add_worker("w1", wait=False, prefix=machine.prefix()).process
            said = lambda: processes.read(os.path.join(c.directory, "w1.log"))[before:]
            until(lambda: worker.poll() is not None or b"is ready" in said(), f"the worker to start or to refuse (n = {n})")
            code = worker.poll()
            return worker, code, said().decode()

        worker, _, _ = begin(10**6, False)
        most = machine.seen()
        assert most > 5
        refused = 0
        for n in numbers(r, most):
            worker.terminate()
            worker.wait(timeout=90)
            worker, code, said = begin(n, stays=r.random() < 0.5)
            if code is not None:
                refused += 1
                assert code == 1 and machine.directory in said, f"n = {n} ({machine.first()}): {code}: {said}"
            machine.disarm()
            # The call can fail behind the word that it is ready, and the worker end at any time from then on.
            task = c.start("true", scope="disk/worker")["id"]

            def completes_a_task():
                nonlocal worker, task
                if worker.poll() is not None:
                    worker = c.add_worker("w1").process
                if c.operation(task)["status"] == "failed":  # with the worker that had it
                    task = c.start("true", scope="disk/worker")["id"]
                return c.operation(task)["status"] == "completed"
            until(completes_a_task, "a task to run")
        print("calls:", most, "refused:", refused)
