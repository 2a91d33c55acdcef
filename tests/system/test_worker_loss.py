"""Workers that are killed, frozen or cut off: their tasks die, the records show it with proof, and nothing runs twice."""
import os
import signal
import subprocess

import pytest

from harness import processes, trees
from harness.cluster import Cluster, levels, marker
from harness.waiting import until

SHORT_LEASE = ["workers.heartbeat=200ms", "workers.lease=8s"]


def ignoring(m):
    return [p for p in processes.marked(m) if processes.ignores(p, signal.SIGTERM)]


@pytest.mark.parametrize("level", levels())
def test_a_killed_worker_takes_its_tasks_along(level):
    with Cluster(workers=1, worker_flags=["--containment", level], settings=SHORT_LEASE) as c:
        m = marker()
        lives = c.start(*trees.daemon(m), scope="lost/one")
        dies = c.start(*trees.term_ignored(m), scope="lost/two", grace_ms=600000)
        until(lambda: len(processes.marked(m)) >= 4, "both trees to run")
        until(lambda: len(ignoring(m + "-child")) >= 2, "both processes of the second to ignore the signal")
        for op in (lives, dies):
            c.wait_status(op["id"], "running")
        c.cancel(operation=dies["id"], wait="signalled")
        c.workers["w1"].process.kill()
        c.workers["w1"].process.wait()
        until(lambda: not processes.marked(m), "the guardian to kill all tasks of the dead worker")
        lost = c.wait_status(lives["id"], "failed")
        assert lost["error"]["code"] == "worker_lost"
        cancelled = c.wait_status(dies["id"], "cancelled")
        assert cancelled["stop"]["proof"] == "lease_expired"
        until(lambda: c.worker("w1")["status"] == "lost", "the worker to be lost")
        c.add_worker("w1")
        again = c.start("true", scope="lost/again")
        c.wait_status(again["id"], "completed")
        assert c.operation(lives["id"])["status"] == "failed"


def test_a_worker_that_restarts_at_once_settles_its_past():
    with Cluster(workers=1, settings=["workers.lease=60s"]) as c:
        m = marker()
        op = c.start(*trees.daemon(m), scope="re/start")
        until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
        c.wait_status(op["id"], "running")
        c.workers["w1"].process.kill()
        c.workers["w1"].process.wait()
        c.add_worker("w1")
        lost = c.wait_status(op["id"], "failed")
        assert lost["error"]["code"] == "worker_lost"
        assert processes.marked(m) == []


def test_a_killed_guardian_is_replaced_and_its_tasks_are_gone():
    with Cluster(workers=1) as c:
        m = marker()
        op = c.start(*trees.daemon(m), scope="guard/ian")
        until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
        c.wait_status(op["id"], "running")
        guardian = [p for p in processes.children_of(c.workers["w1"].process.pid) if processes.name_of(p).startswith("quell-guardian")]
        assert len(guardian) == 1
        os.kill(guardian[0], signal.SIGKILL)
        c.wait_status(op["id"], "failed")
        assert processes.marked(m) == []
        after = c.start("true", scope="guard/after")
        c.wait_status(after["id"], "completed")


def test_a_frozen_worker_is_unreachable_until_its_lease_is_over():
    # Long enough for all that is judged while it is unreachable.
    with Cluster(workers=1, settings=["workers.heartbeat=200ms", "workers.lease=15s"]) as c:
        m = marker()
        ran = os.path.join(c.directory, "ran")
        op = c.start("bash", "-c", f"echo once >> {ran}; trap '' TERM; while :; do sleep 1000; done", m, scope="fro/zen")
        until(lambda: processes.marked(m), "the task to run")
        until(lambda: processes.read(ran), "it to say so")
        c.wait_status(op["id"], "running")
        c.workers["w1"].process.send_signal(signal.SIGSTOP)
        silent = until(lambda: c.operation(op["id"])["unreachable"], "the operation to be shown as unreachable")
        assert silent["dead_by"] and silent["since_at"]
        first = c.cancel(operation=op["id"], wait="fenced")
        entry = until(lambda: c.api("GET", f"/v1/cancels/{first['id']}").json["report"]["unproven"], "the report to say what is not proven")[0]
        assert entry["why"] == "worker_unreachable" and entry["next"]["action"] == "lease_expiry" and entry["dead_by"]
        assert c.worker("w1")["slots_used"] == 1, "capacity is not freed before the proof"
        until(lambda: not processes.marked(m), "the guardian to kill by the end of the lease")
        done = until(lambda: (lambda x: x if x["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{first['id']}").json),
                     "the cancel to settle by the lease")
        assert done["report"]["proofs"]["lease_expired"] == 1
        c.workers["w1"].process.send_signal(signal.SIGCONT)
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to come back")
        after = c.start("true", scope="fro/after")
        c.wait_status(after["id"], "completed")
        assert processes.read(ran) == b"once\n", "nothing runs twice"
        assert c.operation(op["id"])["status"] == "cancelled" and processes.marked(m) == []


def netns_allowed():
    probe = "qt-probe"
    ok = subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode == 0
    if ok:
        subprocess.run(["ip", "netns", "del", probe], capture_output=True)
    return ok


@pytest.mark.skipif(os.geteuid() != 0 or not netns_allowed(), reason="network namespaces need root")
def test_a_cut_off_worker_kills_by_itself_and_comes_back_clean():
    name = f"qt{os.getpid()}"
    run = lambda *a: subprocess.run(a, check=True, capture_output=True)
    try:
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name + "a", "type", "veth", "peer", "name", name + "b", "netns", name)
        run("ip", "addr", "add", "10.199.77.1/24", "dev", name + "a")
        run("ip", "link", "set", name + "a", "up")
        run("ip", "netns", "exec", name, "ip", "addr", "add", "10.199.77.2/24", "dev", name + "b")
        run("ip", "netns", "exec", name, "ip", "link", "set", name + "b", "up")
        run("ip", "netns", "exec", name, "ip", "link", "set", "lo", "up")
        with Cluster(workers=0, settings=SHORT_LEASE + ["workers.advertise_host=10.199.77.1"]) as c:
            c.kill_controller(signal.SIGTERM)
            control, bulk = c.ports[1:]
            c.start_controller(flags=["--workers-listen", f"10.199.77.1:{control}", "--output-listen", f"10.199.77.1:{bulk}"])
            c.add_worker("far", prefix=["ip", "netns", "exec", name])
            m = marker()
            ran = os.path.join(c.directory, "ran")
            plain = c.start("bash", "-c", f"echo once >> {ran}; while :; do sleep 1000; done", m, scope="cut/off")
            child = c.start("bash", "-c", "quell run -- echo hello through the relay", scope="cut/relay")
            until(lambda: processes.marked(m) and processes.read(ran), "the task to run")
            c.wait_status(plain["id"], "running")
            c.wait_status(child["id"], "completed")
            assert b"hello through the relay" in c.output(child["id"])
            run("ip", "link", "set", name + "a", "down")
            until(lambda: c.operation(plain["id"])["unreachable"], "the operation to be unreachable")
            cancel = c.cancel(scope="cut/off", wait="fenced")
            until(lambda: not processes.marked(m), "the cut-off worker's guardian to kill by the lease")
            until(lambda: c.api("GET", f"/v1/cancels/{cancel['id']}").json["status"] == "settled", "the cancel to settle")
            assert c.operation(plain["id"])["stop"]["proof"] == "lease_expired"
            run("ip", "link", "set", name + "a", "up")
            until(lambda: c.worker("far")["status"] == "ready", "the worker to come back")
            after = c.start("true", scope="cut/after")
            c.wait_status(after["id"], "completed")
            assert processes.read(ran) == b"once\n"
            assert c.operation(plain["id"])["status"] == "cancelled"
    finally:
        subprocess.run(["ip", "link", "del", name + "a"], capture_output=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
