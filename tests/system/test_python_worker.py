"""A worker in Python, written from docs/PROTOCOL.md (clients/python-worker): it keeps that page's guarantees with the real controller."""
import os
import re
import signal
import subprocess

import pytest

from harness import processes, trees
from harness.cluster import Cluster, Worker, die_with_us, marker
from harness.network import Relay, rejoin
from harness.waiting import PATIENCE, until

HOME = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../clients/python-worker"))
# Short, and longer than a restart of the controller on a busy machine takes.
SHORT_LEASE = ["workers.heartbeat=200ms", f"workers.lease={round(8000 * PATIENCE)}ms"]


def join(cluster, name="py", host=None, slots=16):
    path = os.path.join(cluster.directory, name + ".join")
    if not os.path.exists(path):
        cluster.enrol(name)
        if host:
            rejoin(path, host)
    state = os.path.join(cluster.directory, "worker-" + name)
    with cluster.log(name) as log:
        process = subprocess.Popen(["/usr/bin/python3", os.path.join(HOME, "worker.py"), "--join-file", path, "--state", state, "--slots", str(slots)],
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_us)
    cluster.workers[name] = Worker(name, process, state)
    until(lambda: cluster.worker(name)["status"] == "ready" or process.poll() is not None, f"the Python worker {name} to be ready")
    assert process.poll() is None, "the Python worker ended at its start"
    return process


@pytest.fixture
def cluster():
    with Cluster(workers=0, settings=SHORT_LEASE) as c:
        join(c)
        yield c


def test_the_worker_itself_has_less_than_300_lines():
    with open(os.path.join(HOME, "worker.py"), encoding="utf-8") as f:
        assert len(f.readlines()) < 300


def test_tasks_run_with_their_environment_output_and_exit_code(cluster):
    op = cluster.start("bash", "-c", 'echo "$QUELL_SCOPE $QUELL_OPERATION $GREETING"; echo oops >&2; exit 3', scope="py/env", task_env={"GREETING": "grüezi"})
    done = cluster.wait_status(op["id"], "completed", "failed")
    assert done["exit"] == {"code": 3} and done["error"]["code"] == "error"
    assert cluster.output(op["id"]).decode() == f"py/env {op['id']} grüezi\n"
    assert cluster.output(op["id"], "stderr") == b"oops\n"
    assert done["task"]["output"] == {"stdout_bytes": len(f"py/env {op['id']} grüezi\n".encode()), "stderr_bytes": 5, "dropped_bytes": 0}
    killed = cluster.start("bash", "-c", "kill -9 $$")
    assert cluster.wait_status(killed["id"], "failed")["exit"] == {"signal": "KILL"}
    none = cluster.start("/no/such/command")
    failed = cluster.wait_status(none["id"], "failed")
    assert failed["error"]["code"] == "start_failed" and failed["exit"] == {"code": 127}
    terminal = cluster.start("true", task_pty=True)
    assert "PTY" in cluster.wait_status(terminal["id"], "failed")["error"]["message"]


def test_a_large_output_arrives_whole(cluster):
    op = cluster.start("bash", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; echo end")
    cluster.wait_status(op["id"], "completed")
    assert cluster.output(op["id"]) == b"x" * 5000000 + b"end\n"


def test_many_tasks_one_cancel_and_proof(cluster):
    m = marker()
    awkward = [trees.sleeper(m), trees.daemon(m), trees.stopped(m), trees.term_ignored(m), trees.orphans(m)] * 2
    ops = [cluster.start(*command, scope=f"py/many/{i}", grace_ms=500) for i, command in enumerate(awkward)]
    other = cluster.start(*trees.sleeper(m + "-other"), scope="py/manyfold")
    for op in (*ops, other):
        cluster.wait_status(op["id"], "running")
    until(lambda: len(processes.marked(m)) >= 20 and processes.marked(m + "-other"), "all trees to run")
    done = cluster.cancel(scope="py/many", reason="enough")
    assert done["status"] == "settled" and done["report"]["proven"]
    assert done["report"]["proofs"]["group_empty"] == len(ops)
    receipts = done["report"]["receipts"]
    assert receipts["killed"] + receipts["terminated"] == len(ops) and receipts["killed"] >= 1, receipts
    assert processes.marked(m) == processes.marked(m + "-other") != []
    assert cluster.operation(other["id"])["status"] == "running"
    cluster.cancel(operation=other["id"], grace_ms=0)
    assert processes.marked(m) == []


def test_a_deaf_task_is_killed_at_the_grace_and_a_second_cancel_brings_the_kill_nearer(cluster):
    m = marker()
    op = cluster.start(*trees.term_ignored(m), scope="py/deaf", grace_ms=600000)
    until(lambda: len(processes.marked(m)) >= 2, "the deaf tree to run")
    first = cluster.cancel(operation=op["id"], wait="signalled")
    assert first["status"] == "signalled" and processes.marked(m)
    shown = until(lambda: (lambda u: u and u[0]["why"] == "in_grace" and u)(cluster.api("GET", f"/v1/cancels/{first['id']}").json["report"]["unproven"]),
                  "the report to list the deaf task")
    assert shown[0]["worker"] == "py"
    again = cluster.cancel(operation=op["id"], grace_ms=200)
    assert again["id"] == first["id"] and again["status"] == "settled"
    assert again["report"]["receipts"]["killed"] == 1 and again["report"]["proofs"]["group_empty"] == 1
    assert processes.marked(m) == []


def test_a_controller_that_is_killed_finds_its_tasks_again_and_stops_them(cluster):
    m = marker()
    live = cluster.start("bash", "-c", f"echo before; while ! test -e {cluster.directory}/go; do read -t 0.05 <> <(:) || :; done; echo after", scope="py/live")
    deaf = cluster.start(*trees.term_ignored(m), scope="py/deaf", grace_ms=600000)
    until(lambda: len(processes.marked(m)) >= 2, "the deaf tree to run")
    cluster.wait_status(live["id"], "running")
    cluster.cancel(operation=deaf["id"], wait="signalled")
    cluster.kill_controller()
    cluster.start_controller()
    until(lambda: cluster.worker("py")["status"] == "ready", "the worker to be back")
    cluster.wait_status(live["id"], "running")
    with open(os.path.join(cluster.directory, "go"), "w"):
        pass
    cluster.wait_status(live["id"], "completed")
    assert cluster.output(live["id"]) == b"before\nafter\n"
    assert cluster.cancel(operation=deaf["id"], grace_ms=0)["status"] == "settled"
    assert cluster.operation(deaf["id"])["status"] == "cancelled" and processes.marked(m) == []


def test_work_that_ends_while_the_controller_is_down_is_counted_once(cluster):
    op = cluster.start("bash", "-c", f"while ! test -e {cluster.directory}/go; do read -t 0.05 <> <(:) || :; done; exit 4")
    pid = cluster.wait_status(op["id"], "running")["task"]["pid"]
    cluster.kill_controller()
    with open(os.path.join(cluster.directory, "go"), "w"):
        pass
    until(lambda: not processes.alive(pid), "the task to end")
    cluster.start_controller()
    assert cluster.wait_status(op["id"], "failed")["exit"] == {"code": 4}


def test_a_worker_cut_off_past_its_lease_has_killed_its_tasks_and_comes_back():
    with Cluster(workers=0, settings=SHORT_LEASE) as c:
        relay = Relay("127.0.11.7", c.ports[1:])
        try:
            join(c, host="127.0.11.7")
            m = marker()
            op = c.start(*trees.daemon(m), scope="py/cut")
            until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
            relay.cut()
            until(lambda: not processes.marked(m), "the tasks to die with the lease")
            lost = c.wait_status(op["id"], "failed")
            assert lost["error"]["code"] == "worker_lost"
            relay.heal()
            until(lambda: c.worker("py")["status"] == "ready", "the worker to be back")
            c.wait_status(c.start("true")["id"], "completed")
            assert c.worker("py")["slots_used"] == 0
        finally:
            relay.close()


def test_tasks_of_a_frozen_worker_die_with_the_lease_and_nothing_starts_late(cluster):
    m = marker()
    worker = cluster.workers["py"].process
    cluster.start(*trees.daemon(m), scope="py/frozen")
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    os.kill(worker.pid, signal.SIGSTOP)
    late = cluster.start(*trees.sleeper(m + "-late"), scope="py/late")  # its START waits in the frozen worker's socket
    until(lambda: not processes.marked(m), "the keepers to kill at the lease's end")
    until(lambda: cluster.worker("py")["status"] in ("lost", "unreachable"), "the controller to miss it")
    cluster.cancel(scope="py/late", wait="fenced")
    os.kill(worker.pid, signal.SIGCONT)
    until(lambda: cluster.worker("py")["status"] == "ready", "the worker to be back")
    ended = cluster.wait_status(late["id"], "cancelled")
    assert ended["started_at"] is None
    assert processes.marked(m) == []


@pytest.mark.parametrize("victim", ["the worker", "its keepers", "both"])
def test_tasks_die_with_the_worker_and_with_their_keeper(cluster, victim):
    m = marker()
    # Without worker and keepers, only the environment identifies leftovers of an earlier life: a daemon that cleared it is out of reach (README).
    tree = trees.term_ignored(m) if victim == "both" else trees.daemon(m)
    ops = [cluster.start(*tree, scope="py/die") for _ in range(3)]
    until(lambda: len(processes.marked(m)) >= 6, "the trees to run")
    worker = cluster.workers["py"].process
    keepers = processes.children_of(worker.pid)
    assert len(keepers) == 3
    if victim != "its keepers":
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    if victim != "the worker":
        for keeper in keepers:
            os.kill(keeper, signal.SIGKILL)
    if victim == "both":
        join(cluster)  # the next life clears the leftovers before it sends hello
    until(lambda: not processes.marked(m), "everything to be gone")
    for op in ops:
        assert cluster.wait_status(op["id"], "failed")["error"]["code"] == "worker_lost"
    if victim == "the worker":
        join(cluster)
    cluster.wait_status(cluster.start("true")["id"], "completed")


def test_a_stale_start_never_runs(cluster):
    """Starts and cancels in one burst: a START that the cancel met in the worker is never_started, and left no trace."""
    ran = os.path.join(cluster.directory, "ran")
    for round in range(10):
        ops = [cluster.start("bash", "-c", f"echo $QUELL_OPERATION >> {ran}; exec sleep 1000", scope=f"py/stale/{round}", grace_ms=0) for _ in range(4)]
        done = cluster.cancel(scope=f"py/stale/{round}")
        assert done["status"] == "settled" and done["report"]["operations"] == 4
        for op in ops:
            end = cluster.wait_status(op["id"], "cancelled")
            if end["stop"]["receipt"] == "never_started":
                assert op["id"] not in processes.read(ran).decode()


def test_a_worker_that_is_told_to_leave_takes_its_tasks_along(cluster):
    m = marker()
    op = cluster.start(*trees.term_ignored(m), grace_ms=300)
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    worker = cluster.workers["py"].process
    worker.terminate()
    assert worker.wait(60) == 0
    assert processes.marked(m) == []
    assert cluster.wait_status(op["id"], "failed")["error"]["code"] == "worker_lost"


def test_a_mistyped_join_line_and_another_cluster_are_refused():
    with Cluster(workers=0) as c:
        c.enrol("py")
        path = os.path.join(c.directory, "py.join")
        with open(path, encoding="ascii") as f:
            line = f.read().strip()
        with open(path, "w", encoding="ascii") as f:
            f.write(re.sub(r".(.{20})$", lambda x: ("A" if x.group(0)[0] != "A" else "B") + x.group(1), line))
        done = subprocess.run(["/usr/bin/python3", os.path.join(HOME, "worker.py"), "--join-file", path, "--state", c.directory + "/s"],
                              capture_output=True, timeout=60)
        assert done.returncode == 1 and b"mistyped" in done.stderr
