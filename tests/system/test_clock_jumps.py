"""Clocks that jump: the wall clock decides only displayed times and the expiry of tokens; the clock since boot decides the lease."""
import datetime
import os
import signal
import time

import pytest

from harness import processes, trees
from harness.cluster import marker
from harness.faults import DAY, HOUR, SECOND, YEAR, FaultyCluster, Machine
from harness.waiting import PATIENCE, until

# Short, but a worker or a controller that has to wait for a processor is not silent (three heartbeats) or lost.
SHORT_LEASE = [f"workers.heartbeat={round(1000 * PATIENCE)}ms", f"workers.lease={round(6000 * PATIENCE)}ms"]
# Where no lease may end: a machine that stands still for some seconds is not silent, either.
LONG_LEASE = [f"workers.heartbeat={round(4000 * PATIENCE)}ms", f"workers.lease={round(60000 * PATIENCE)}ms"]
ENDED = ("completed", "failed", "cancelled")


@pytest.fixture
def clocks():
    """The controller's machine and the worker's."""
    with Machine() as controller, Machine(program="quell-worker") as worker:
        yield controller, worker


def instant(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)


def offset_of(operation):
    return (instant(operation["created_at"]) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def round_of_work(c, m, last_seq):
    """Completes one operation, lets one time out, cancels one; returns the last seq."""
    done, late, stopped = (c.start(*command, scope=f"jump/{what}", **fields) for what, command, fields in (
        ("done", ["true"], {}), ("late", ["bash", "-c", "while :; do sleep 1000; done", m], {"timeout_ms": 300}),
        ("stopped", ["bash", "-c", "while :; do sleep 1000; done", m], {"grace_ms": 60000})))
    assert last_seq < done["seq"] < late["seq"] < stopped["seq"]
    c.wait_status(done["id"], "completed")
    c.wait_status(stopped["id"], "running")
    cancel = c.cancel(scope="jump/stopped", wait="settled")
    assert cancel["status"] == "settled" and cancel["seq"] > stopped["seq"]
    report = cancel["report"]
    assert 0 <= report["fenced_ms"] <= report["signalled_ms"] <= report["settled_ms"] < 30000, report
    assert c.wait_status(late["id"], "failed")["error"]["code"] == "timeout"
    assert c.operation(stopped["id"])["stop"]["receipt"] == "terminated"
    return cancel["seq"]


@pytest.mark.parametrize("who", ["controller", "worker", "both"])
def test_the_wall_clock_may_jump_and_nothing_ends_early_late_or_out_of_order(clocks, who):
    controller, worker = clocks
    jumping = {"controller": [controller], "worker": [worker], "both": [controller, worker]}[who]
    # Rows that are old enough by the wall clock may be dropped: none is here.
    with FaultyCluster(controller, worker, workers=1, settings=[*LONG_LEASE, "store.keep_operations=0"]) as c:
        m, began = marker(), time.monotonic()
        patient = c.start("bash", "-c", "while :; do sleep 1000; done", m, scope="patient", timeout_ms=3600 * 1000)
        c.wait_status(patient["id"], "running")
        before, seq = c.worker("w1")["incarnation"], 0
        for jump in (HOUR, -HOUR, 10 * YEAR, -10 * YEAR, DAY):
            for machine in jumping:
                machine.jump_wall(jump)
            seq = round_of_work(c, m, seq)
            if controller in jumping:
                assert abs(offset_of(c.start("true", scope="jump/shown")) - jump / SECOND) < 60, "the jump did not arrive"
        until(lambda: time.monotonic() - began > 9 * PATIENCE, "two heartbeats")
        # The lease is valid, and the hour of the patient task is not over.
        c.wait_status(c.start("true", scope="jump/tick", timeout_ms=0)["id"], "completed")
        assert c.worker("w1")["incarnation"] == before and c.worker("w1")["status"] == "ready"
        events = c.stored_events(types=["worker_unreachable", "worker_lost", "worker_joined"])
        assert [e["type"] for e in events] == ["worker_joined"], events
        assert c.operation(patient["id"])["status"] == "running"
        seqs = [o["seq"] for o in c.operations(order="asc")]
        assert seqs == sorted(set(seqs))
        c.cancel(everything=True)
        assert processes.marked(m) == []


def test_a_restart_after_a_jump_adopts_the_work_and_finishes_the_cancels(clocks):
    controller, _ = clocks
    with FaultyCluster(controller, workers=1, settings=["workers.lease=60s"]) as c:
        m, seq = marker(), 0
        for jump in (-YEAR, YEAR):
            controller.jump_wall(0)
            task = c.start("bash", "-c", "while :; do sleep 1000; done", m, scope="kept")
            brief = c.start("bash", "-c", "while :; do sleep 1000; done", m, scope="brief", timeout_ms=4000)
            stubborn = c.start(*trees.deaf(m), scope="stubborn", grace_ms=3000)
            until(lambda: [p for p in processes.marked(m + "-deaf")], "the deaf one to be deaf")
            c.wait_status(task["id"], "running")
            c.wait_status(brief["id"], "running", "failed")
            cancel = c.cancel(scope="stubborn", wait="signalled")
            c.kill_controller()
            controller.jump_wall(jump)
            c.start_controller()
            done = until(lambda: (lambda x: x if x["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{cancel['id']}").json),
                         "the cancel to settle after the restart")
            times = [done["report"][k] for k in ("fenced_ms", "signalled_ms", "settled_ms")]
            assert times == sorted(times) and 0 <= times[0], times
            assert c.operation(stubborn["id"])["status"] == "cancelled"
            assert c.operation(task["id"])["status"] == "running"
            assert c.wait_status(brief["id"], "failed")["error"]["code"] == "timeout"
            newer = c.start("true", scope="newer")
            assert newer["seq"] > max(task["seq"], cancel["seq"], seq)
            seq = newer["seq"]
            assert c.cancel(scope="kept")["status"] == "settled"
            assert processes.marked(m) == []


@pytest.mark.parametrize("skew", [-HOUR, HOUR])
def test_a_worker_whose_wall_clock_is_wrong_shortens_and_lengthens_no_timeout(clocks, skew):
    _, worker = clocks
    worker.jump_wall(skew)
    with FaultyCluster(None, worker, workers=1, settings=["workers.lease=60s"]) as c:
        m = marker()
        brief, patient = (c.start("bash", "-c", "while :; do sleep 1000; done", m, scope=f"skew/{ms}", timeout_ms=ms) for ms in (1500, 600000))
        c.wait_status(brief["id"], "running", "failed")
        c.wait_status(patient["id"], "running")
        shown = until(lambda: (lambda o: o if o["deadline_at"] else None)(c.operation(patient["id"])), "the deadline to be shown")
        left = (instant(shown["deadline_at"]) - instant(shown["created_at"])).total_seconds()
        assert 500 < left < 700, "by the controller's clock, as created_at"
        c.kill_controller()
        c.start_controller()
        assert c.wait_status(brief["id"], "failed")["error"]["code"] == "timeout"
        assert c.operation(patient["id"])["status"] == "running"
        assert c.cancel(scope="skew")["status"] == "settled"
        assert processes.marked(m) == []


def test_a_token_expires_by_the_wall_clock_and_comes_back_with_it(clocks):
    controller, _ = clocks
    with FaultyCluster(controller, workers=0) as c:
        expires = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        made = c.api("POST", "/v1/tokens", {"name": "brief", "role": "operator", "scope": None, "expires_at": expires})
        assert made.status == 201, made.body
        look = lambda: c.api("GET", "/v1/operations", token=made.json["token"]).status
        assert look() == 200
        controller.jump_wall(HOUR)
        assert look() == 200
        controller.jump_wall(3 * HOUR)
        assert look() == 401
        assert c.api("GET", "/v1/operations").status == 200, "the administrator's own has no end"
        controller.jump_wall(0)
        assert look() == 200


def suspended(c, m, worker):
    """All processes of the worker's machine stop, its clock since boot moves forward, and they continue."""
    host = c.workers["w1"].process.pid
    everyone = [host, *processes.children_of(host), *processes.marked(m)]
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    worker.jump_boot(HOUR)
    for pid in reversed(everyone):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def test_a_worker_that_slept_past_its_lease_kills_its_tasks_and_comes_back(clocks):
    _, worker = clocks
    with FaultyCluster(None, worker, workers=1, settings=["workers.heartbeat=500ms", "workers.lease=20s"]) as c:
        m = marker()
        ran = os.path.join(c.directory, "ran")
        lives = c.start("bash", "-c", f"echo once >> {ran}; trap '' TERM; exec -a $0-deaf sleep 1000", m, scope="sleep/lives")
        longer = c.start(*trees.deaf(m), scope="sleep/longer", task_lease_ms=2 * 3600 * 1000)
        stopping = c.start(*trees.deaf(m), scope="sleep/stopping", grace_ms=1800 * 1000)
        until(lambda: len(processes.marked(m + "-deaf")) == 3, "all tasks to run")
        c.cancel(operation=stopping["id"], wait="signalled")
        suspended(c, m, worker)
        until(lambda: len(processes.marked(m)) == 1, "the guardian to kill what has no longer lease")
        assert c.wait_status(lives["id"], "failed")["error"]["code"] == "worker_lost"
        assert c.wait_status(stopping["id"], "cancelled")["stop"]["receipt"] == "killed"
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        c.wait_status(c.start("true", scope="sleep/after")["id"], "completed")
        assert c.operation(longer["id"])["status"] == "running", "its own lease of two hours outlives the hour"
        assert processes.read(ran) == b"once\n"
        c.cancel(scope="sleep", grace_ms=0)
        assert processes.marked(m) == []


def test_a_controller_that_slept_past_the_lease_settles_what_the_worker_killed(clocks):
    controller, _ = clocks
    with FaultyCluster(controller, workers=1, settings=SHORT_LEASE) as c:
        m = marker()
        lives, stopping = (c.start(*trees.deaf(m), scope=f"slept/{x}", grace_ms=600000) for x in ("lives", "stopping"))
        until(lambda: len(processes.marked(m + "-deaf")) == 2, "both to run")
        cancel = c.cancel(operation=stopping["id"], wait="signalled")
        c.controller.send_signal(signal.SIGSTOP)
        until(lambda: not processes.marked(m), "the worker to kill at the end of its lease")
        controller.jump_boot(HOUR)
        c.controller.send_signal(signal.SIGCONT)
        assert c.wait_status(lives["id"], "failed")["error"]["code"] == "worker_lost"
        c.wait_status(stopping["id"], "cancelled")
        assert c.api("GET", f"/v1/cancels/{cancel['id']}?wait=settled&wait_ms=60000").json["status"] == "settled"
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        c.wait_status(c.start("true", scope="slept/after")["id"], "completed")


def test_a_controller_whose_clock_alone_breaks_the_bound_leaves_no_process(clocks):
    """The one case that no lease covers: a task that the controller declares dead by its wrong clock is killed when the worker is heard again."""
    controller, _ = clocks
    with FaultyCluster(controller, workers=1, settings=SHORT_LEASE) as c:
        m = marker()
        op = c.start(*trees.deaf(m), scope="wrong/clock")
        until(lambda: processes.marked(m + "-deaf"), "the task to run")
        for jump in (SECOND // 2, HOUR):
            controller.jump_boot(jump)
            until(lambda: c.wait_status(c.start("true", scope="wrong/after")["id"], *ENDED)["status"] == "completed", "the worker to be there or back")
            now = c.operation(op["id"])
            assert now["status"] == "running" or jump == HOUR, "half a second is inside the lease"
        c.cancel(scope="wrong", grace_ms=0)
        until(lambda: not processes.marked(m), "the task to be gone")
        assert c.operation(op["id"])["status"] in ENDED
