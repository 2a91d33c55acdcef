"""Networks that delay, lose, cut one way and heal: stops stay bounded, dead-by holds, nothing runs twice, no old task revives."""
import datetime
import os
import random
import signal
import threading
from collections import Counter

import pytest

from harness import processes
from harness.cluster import Cluster, marker
from harness.network import DOWN, UP, Namespace, Relay, add_far_worker, namespaces_allowed
from harness.waiting import PATIENCE, until

LEASE = 10.0 * PATIENCE  # properties of a lease must be observed within it, and nobody loses it who merely waits for a processor
SHORT_LEASE = ["workers.heartbeat=200ms", f"workers.lease={round(LEASE * 1000)}ms"]
ENDED = ("completed", "failed", "cancelled")
SEED = int(os.environ.get("QUELL_FAULT_SEED", random.randrange(1 << 30)))


def instant(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)


def now():
    return datetime.datetime.now(datetime.timezone.utc)


class Far:
    """A worker behind its own relay, and its tasks."""

    def __init__(self, cluster, number, m):
        self.cluster, self.name, self.marker = cluster, f"far{number}", f"{m}-{number}-"
        self.relay = Relay(f"127.0.10.{number}", cluster.ports[1:])
        add_far_worker(cluster, self.name, f"127.0.10.{number}", wait=False)

    def start(self, what, **fields):
        """Ignores SIGTERM, and records that it ran."""
        note = f"echo $QUELL_OPERATION >> {self.cluster.directory}/ran; trap '' TERM; exec -a {self.marker}{what} sleep 1000"
        return self.cluster.start("bash", "-c", note, scope=f"{self.name}/{what}", task_worker=self.name, **{"grace_ms": 500, **fields})

    def living(self, what=""):
        return processes.marked(self.marker + what)

    def status(self):
        return self.cluster.worker(self.name)["status"]


def check_end(c, m, started):
    """After everything has healed: every cancel is settled with correct sums, each operation is over and ran at most once, no process and no slot is in use."""
    until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "all workers to be back", 90)
    c.cancel(everything=True, grace_ms=0)
    until(lambda: not c.api("GET", "/v1/cancels?status=open").json["cancels"], "all cancels to settle", 90)
    until(lambda: not processes.marked(m), "every process to be gone")
    rows = {o["id"]: o for o in c.operations()}
    assert set(started) <= set(rows)
    assert not [o for o in rows.values() if o["status"] not in ENDED]
    ran = Counter(processes.read(f"{c.directory}/ran").decode().split())
    assert not [x for x, times in ran.items() if times > 1], "an operation ran twice"
    assert not [x for x in ran if (rows[x]["stop"] or {}).get("receipt") == "never_started"], "it ran, and is said to be never started"
    for cancel in c.api("GET", "/v1/cancels?limit=1000").json["cancels"]:
        report = cancel["report"]
        assert sum(report["receipts"].values()) == report["operations"] == sum(report["proofs"].values()), report
    until(lambda: all(w["slots_used"] == 0 and w["operations_live"] == 0 for w in c.api("GET", "/v1/workers").json["workers"]), "every slot to be free")


# Faults of the link, and whether each lasts longer than the lease.
FAULTS = {
    "cut": (lambda r: r.cut(), True),
    "cut to the controller": (lambda r: r.cut(UP), True),
    "cut to the worker": (lambda r: r.cut(DOWN), True),
    "half open": (lambda r: (r.set(mute=True), r.forget()), True),
    "refused": (lambda r: (r.set(refuse=True), r.reset()), True),
    "slower than the lease": (lambda r: r.set(delay=1.2 * LEASE), True),
    "reset": (lambda r: r.reset(), False),
    "half open for a moment": (lambda r: r.forget(), False),
    "slow": (lambda r: r.set(delay=0.25), False),
}


def test_cancels_before_during_and_after_every_kind_of_cut():
    m = marker("cut")
    with Cluster(workers=1, slots=8, settings=SHORT_LEASE) as c:
        links = {}
        try:
            for number, fault in enumerate(FAULTS, 1):
                links[fault] = Far(c, number, m)
            started, cancels = [], []
            for f in links.values():
                until(lambda: f.status() == "ready", f"{f.name} to be ready")
                started += [f.start("before"), f.start("during", grace_ms=600000), f.start("after"), f.start("untold")]
            until(lambda: len(processes.marked(m)) == 4 * len(links), "everything to run")
            for f in links.values():
                cancels.append(c.cancel(scope=f"{f.name}/before", wait="signalled"))
            for fault, f in links.items():
                FAULTS[fault][0](f.relay)
            at = now()
            late = {f.name: f.start("into") for f in links.values()}  # sent during the cut, if at all
            for f in links.values():
                answer = c.cancel(scope=f"{f.name}/during", wait="fenced")
                assert answer["durable"]
                cancels += [answer, c.cancel(scope=f"{f.name}/into", wait="fenced")]
            until(lambda: not [p for f in links.values() for p in f.living("before")], "what was told in time to be killed by its grace, cut or not")
            lasting = [f for fault, f in links.items() if FAULTS[fault][1]]
            brief = [f for f in links.values() if f not in lasting]
            dead_by = {}
            for f in lasting:
                silent = until(lambda: c.operation(next(o["id"] for o in started if o["scope"] == f"{f.name}/untold"))["unreachable"],
                               f"{f.name}'s work to be shown as unreachable")
                dead_by[f.name] = instant(silent["dead_by"])
                assert dead_by[f.name] > at
                assert c.worker(f.name)["slots_used"] >= 2, "capacity is not freed before the proof"
            alive_at = {}

            def all_dead():
                at = now()  # before the check: a process that it finds lived at this instant
                living = [f.name for f in lasting if f.living("during") or f.living("untold")]
                alive_at.update({name: at for name in living})
                return not living

            until(all_dead, "the cut-off workers to kill by their own clocks")
            for name, seen in alive_at.items():
                assert seen <= dead_by[name], f"{name} had a process after its dead-by"
            for f in brief:
                until(lambda: f.status() == "ready", f"{f.name} to be back")
                assert len(f.living("after")) == 1 and len(f.living("untold")) == 1, "a link that breaks within the lease costs no task"
            for f in lasting:
                done = c.wait_status(next(o["id"] for o in started if o["scope"] == f"{f.name}/during"), "cancelled")
                assert done["stop"]["proof"] == "lease_expired" and instant(done["ended_at"]) >= dead_by[f.name], "settled before it was surely dead"
                assert c.wait_status(next(o["id"] for o in started if o["scope"] == f"{f.name}/untold"), "failed")["error"]["code"] == "worker_lost"
            for f in links.values():
                f.relay.heal()  # held frames arrive now: old sessions, old starts
            for f in links.values():
                cancels.append(c.cancel(scope=f"{f.name}/after", wait="fenced", grace_ms=0))
            for f in links.values():
                until(lambda: f.status() == "ready", f"{f.name} to be back")
                c.wait_status(f.start("fresh")["id"], "running")
                assert not f.living("into"), "a cancelled start came back to life"
            check_end(c, m, [o["id"] for o in started + list(late.values())])
        finally:
            for f in links.values():
                f.relay.close()


def test_links_that_flap_at_random_under_load():
    print("QUELL_FAULT_SEED =", SEED)
    r, m = random.Random(SEED), marker("flap")
    with Cluster(workers=0, slots=12, settings=SHORT_LEASE) as c:
        links, accepted, wrong, over = [], [], [], threading.Event()
        try:
            links = [Far(c, n, m) for n in (1, 2, 3)]
            for f in links:
                until(lambda: f.status() == "ready", f"{f.name} to be ready")
            loads = [threading.Thread(target=flapping_load, args=(c, f, random.Random(SEED + n), accepted, wrong, over)) for n, f in enumerate(links)]
            for t in loads:
                t.start()
            try:
                for _ in range(12):
                    f, goal = r.choice(links), len(accepted) + r.randrange(3, 25)
                    r.choice([lambda: f.relay.cut(), lambda: f.relay.cut(UP), lambda: f.relay.cut(DOWN), f.relay.reset, f.relay.forget,
                              lambda: f.relay.set(delay=r.random()), lambda: (f.relay.set(mute=True), f.relay.forget())])()
                    until(lambda: len(accepted) >= goal or f.status() == "lost", "the load to go on")
                    if r.random() < 0.7:
                        f.relay.heal()
            finally:
                over.set()
                for t in loads:
                    t.join()
            assert not wrong, wrong[:3]
            for f in links:
                f.relay.heal()
            check_end(c, m, accepted)
        finally:
            for f in links:
                f.relay.close()


def flapping_load(c, f, r, accepted, wrong, over):
    while not over.is_set():
        try:
            o = f.start("load", grace_ms=r.choice([0, 100, 400]))
            accepted.append(o["id"])
            if r.random() < 0.5:
                until(lambda: over.is_set() or c.operation(o["id"])["status"] != "pending" or f.status() != "ready", "the start to begin")
            target = r.choice([{"operation": o["id"]}, {"scope": f"{f.name}/load"}])
            c.cancel(wait=r.choice(["fenced", "signalled"]), wait_ms=200, **target)
        except AssertionError as e:
            wrong.append(e)
            return


@pytest.mark.skipif(os.geteuid() != 0 or not namespaces_allowed(), reason="network namespaces and packet loss need root and tc")
def test_packets_lost_by_the_kernel_and_one_way_cuts():
    m = marker("loss")
    with Namespace() as net, Cluster(workers=0, slots=8, settings=["workers.heartbeat=200ms", "workers.lease=4s", f"workers.advertise_host={net.near}"]) as c:
        c.kill_controller(signal.SIGTERM)
        flags = ["--workers-listen", f"{net.near}:{c.ports[1]}", "--output-listen", f"{net.near}:{c.ports[2]}"]
        c.start_controller(flags=flags)
        c.add_worker("far", prefix=net.prefix())
        started = []

        def start(what):
            note = f"echo $QUELL_OPERATION >> {c.directory}/ran; trap '' TERM; exec -a {m}-{what} sleep 1000"
            started.append(c.start("bash", "-c", note, scope=f"lossy/{what}", grace_ms=100)["id"])
            return started[-1]

        for way in (UP, DOWN):
            net.loss(0.2, way)
        for i in range(6):
            id = start(f"rain{i}")
            until(lambda: c.operation(id)["status"] != "pending", "a start to come through the rain", 90)
            c.cancel(scope=f"lossy/rain{i}", wait="fenced")
        for way in (UP, DOWN):
            net.heal()
            until(lambda: c.worker("far")["status"] == "ready", "the worker to be there", 60)
            kept = start("kept")
            c.wait_status(kept, "running", *ENDED, seconds=60)
            net.cut(way)
            cancel = c.cancel(scope="lossy/kept", wait="fenced")
            until(lambda: not processes.marked(f"{m}-kept"), "the task to be killed by the cancel or by the lease")
            until(lambda: c.api("GET", f"/v1/cancels/{cancel['id']}").json["status"] == "settled", "the cancel to settle")
            assert c.operation(kept)["status"] == "cancelled"
        net.heal()
        check_end(c, m, started)


def test_output_that_comes_behind_the_end_of_its_task_is_awaited():
    with Cluster(workers=0) as c:
        control, bulk = (Relay("127.0.10.80", [port]) for port in c.ports[1:])
        try:
            add_far_worker(c, "far", "127.0.10.80")
            assert c.output(c.start("echo", "first")["id"]) == b"first\n"
            bulk.cut(UP)
            late = c.start("echo", "late")["id"]
            c.wait_status(late, "completed")
            answer = c.api("GET", f"/v1/operations/{late}/output")
            assert (answer.headers["Quell-End"], answer.body) == ("false", b""), answer.body
            follower = c.quell_background("logs", "-f", late)
            bulk.heal()
            assert follower.communicate(timeout=60)[0] == b"late\n"
            assert c.output(late) == b"late\n"
        finally:
            control.close()
            bulk.close()
