"""Programs frozen and thawed, alone and together, shorter and longer than the lease, with cancels before, during and after."""
import os
import random
import signal
import threading

import pytest

from harness import processes, trees
from harness.cluster import Cluster, marker
from harness.processes import guardian_of
from harness.waiting import until
from test_chaos import ENDED, Load

SHORT_LEASE = ["workers.heartbeat=200ms", "workers.lease=8s"]  # nobody loses it who merely waits for a processor
SHORTEST_LEASE = ["workers.heartbeat=200ms", "workers.lease=2s"]  # for freezes that may or may not be longer
ROUNDS = int(os.environ.get("QUELL_CHAOS_STEPS", "6"))


class Frozen:
    """Freezes processes for the duration of the block; they can die meanwhile."""

    def __init__(self, *pids):
        self.pids = [p for p in pids if p]

    def __enter__(self):
        for pid in self.pids:
            send(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self.pids:
            send(pid, signal.SIGCONT)


def send(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def deaf_tasks(c, m, *names, **fields):
    made = {n: c.start(*trees.deaf(f"{m}-{n}"), scope=f"frozen/{n}", **{"grace_ms": 200, **fields}) for n in names}
    until(lambda: len(processes.marked(m)) == len(names), "the tasks to run")
    until(lambda: len([p for p in processes.marked(m) if b"-deaf" in processes.read(f"/proc/{p}/cmdline")]) == len(names), "the tasks to be deaf")
    return made


def settled(c, cancel, seconds=60):
    done = until(lambda: (lambda x: x if x["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{cancel['id']}").json),
                 "the cancel to settle", seconds)
    report = done["report"]
    assert sum(report["receipts"].values()) == report["operations"] == sum(report["proofs"].values()), report
    return done


def test_a_controller_frozen_for_longer_than_the_lease_settles_the_cancels_that_waited():
    with Cluster(workers=2, settings=SHORT_LEASE) as c:
        m, answers = marker(), []
        tasks = deaf_tasks(c, m, "before", "during", "after", "untold")
        before = c.cancel(scope="frozen/before", wait="fenced")
        with Frozen(c.controller.pid):
            asking = threading.Thread(target=lambda: answers.append(c.cancel(scope="frozen/during")))
            asking.start()  # its bytes wait in the socket of a process that does not read
            until(lambda: not processes.marked(m), "the workers to kill by their lease")
        asking.join()
        assert answers[0]["status"] == "settled"
        assert settled(c, before)["report"]["operations"] == 1
        assert c.cancel(scope="frozen/after")["status"] == "settled"
        until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "the workers to be back")
        assert c.wait_status(tasks["untold"]["id"], "failed")["error"]["code"] == "worker_lost"
        assert c.operation(tasks["before"]["id"])["status"] == "cancelled"
        c.wait_status(c.start("true", scope="frozen/new")["id"], "completed")


def test_a_worker_frozen_for_less_than_the_lease_loses_nothing_and_stops_what_was_cancelled():
    with Cluster(workers=1, settings=["workers.heartbeat=200ms", "workers.lease=20s"]) as c:
        m = marker()
        tasks = deaf_tasks(c, m, "before", "during", "kept")
        before = c.cancel(scope="frozen/before", wait="fenced")
        with Frozen(c.workers["w1"].process.pid):
            during = c.cancel(scope="frozen/during", wait="fenced")
            into = c.start(*trees.deaf(f"{m}-into"), scope="frozen/into")
            stopped = c.cancel(scope="frozen/into", wait="fenced")
            until(lambda: c.operation(tasks["kept"]["id"])["unreachable"], "the silence to be seen")
        for cancel in (before, during, stopped):
            settled(c, cancel)
        # START and STOP wait behind each other; what had begun when the second was read was stopped with proof.
        stop = c.operation(into["id"])["stop"]
        assert stop["receipt"] in ("never_started", "terminated", "killed") and stop["proof"] != "none" and not processes.marked(f"{m}-into"), stop
        assert c.operation(tasks["kept"]["id"])["status"] == "running" and len(processes.marked(f"{m}-kept")) == 1
        assert c.cancel(scope="frozen/kept")["status"] == "settled"


def test_a_frozen_guardian_holds_a_stop_open_until_it_is_proven():
    with Cluster(workers=1, settings=SHORT_LEASE) as c:
        m = marker()
        tasks = deaf_tasks(c, m, "one", "two")
        guardian = guardian_of(c.workers["w1"].process.pid)
        with Frozen(guardian):
            cancel = c.cancel(scope="frozen/one", wait="signalled")
            into = c.start(*trees.deaf(f"{m}-into"), scope="frozen/into")
            c.cancel(scope="frozen/into", wait="signalled")
            late = until(lambda: (lambda r: r if r["unproven"] and r["unproven"][0]["dead_by"] else None)(
                c.api("GET", f"/v1/cancels/{cancel['id']}").json["report"]), "the report to say what is not proven")
            until(lambda: c.worker("w1")["last_heard_at"] > late["unproven"][0]["dead_by"], "the grace to be over")
            assert c.api("GET", f"/v1/cancels/{cancel['id']}").json["status"] != "settled", "nothing is said to be gone that lives"
            assert c.operation(tasks["one"]["id"])["status"] == "cancelling" and c.worker("w1")["slots_used"] >= 2
            assert len(processes.marked(f"{m}-one")) == 1
        assert settled(c, cancel)["report"]["receipts"]["killed"] == 1
        c.wait_status(into["id"], "cancelled")
        assert not processes.marked(f"{m}-into") and c.operation(tasks["two"]["id"])["status"] == "running"
        assert c.cancel(scope="frozen/two")["status"] == "settled"


@pytest.mark.parametrize("end", ["worker killed", "worker killed and started again", "guardian killed"])
def test_a_frozen_guardian_whose_worker_dies_leaves_nothing_in_the_end(end):
    with Cluster(workers=1, settings=SHORT_LEASE) as c:
        m = marker()
        tasks = deaf_tasks(c, m, "one", "two")
        worker = c.workers["w1"].process
        guardian = guardian_of(worker.pid)
        with Frozen(guardian):
            cancel = c.cancel(scope="frozen/one", wait="fenced")
            if end == "guardian killed":
                os.kill(guardian, signal.SIGKILL)
                until(lambda: not processes.marked(m), "the tasks to die with their guardian")
            else:
                worker.kill()
                worker.wait()
                if end == "worker killed and started again":
                    c.add_worker("w1", wait=False)
                    until(lambda: not processes.marked(m) or c.workers["w1"].process.poll() is not None,
                          "the next life to clear what the earlier one left, or to refuse")
        until(lambda: not processes.marked(m), "everything to be gone once the guardian can move")
        settled(c, cancel)
        c.wait_status(tasks["two"]["id"], "failed")
        if c.workers["w1"].process.poll() is not None:
            c.add_worker("w1")
        c.wait_status(c.start("true", scope="frozen/new")["id"], "completed")


def test_random_freezes_of_several_programs_at_once_during_cancels():
    seed = int(os.environ.get("QUELL_CHAOS_SEED", random.randrange(1 << 30)))
    print("QUELL_CHAOS_SEED =", seed)
    r, m = random.Random(seed), marker("freeze")
    with Cluster(workers=3, slots=12, settings=SHORTEST_LEASE) as c:
        load = Load(c, m, seed)
        try:
            for _ in range(ROUNDS):
                load.more(r.randrange(5, 30))
                everyone = [c.controller.pid, *(w.process.pid for w in c.workers.values()), *(guardian_of(w.process.pid) for w in c.workers.values())]
                chosen = [p for p in r.sample(everyone, r.randrange(1, 5)) if p]
                killed = r.choice([None, None, *chosen])
                with Frozen(*chosen):
                    if c.controller.pid not in chosen:
                        load.more(r.choice([1, 10, 60]))
                    elif r.random() < 0.5:
                        moving = [g for g in (guardian_of(w.process.pid) for w in c.workers.values()) if g and g not in chosen]
                        until(lambda: not [p for g in moving for p in processes.children_of(g)], "the guardians that can move to kill by the lease")
                    if killed:
                        send(killed, signal.SIGKILL)
                if killed == c.controller.pid:
                    c.controller.wait(timeout=60)
                    c.start_controller()
                for name, w in c.workers.items():
                    if w.process.pid == killed:
                        w.process.wait(timeout=60)
                    if w.process.poll() is not None:
                        c.add_worker(name, wait=False)
        finally:
            load.end()
        assert not load.wrong, load.wrong[:3]
        load.check(m)
