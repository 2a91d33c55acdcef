"""Workers, and quelld itself, change their CURVE keys while tasks run and cancels come."""
import json
import os
import re
import signal
import subprocess
import threading

import pytest
import zmq

from harness import processes, trees
from harness.cluster import BIN, Cluster, marker
from harness.peer import Peer
from harness.waiting import until


@pytest.fixture
def cluster():
    with Cluster(workers=1, settings=["workers.lease=10s", "workers.heartbeat=300ms"]) as c:
        yield c


def keys_of(worker):
    try:
        with open(os.path.join(worker.state, "keys")) as f:
            return dict(line.rstrip("\n").split(" ", 1) for line in f)
    except FileNotFoundError:
        return {}


def given_pair(cluster, name):
    """The key pair of the join line."""
    import base64
    with open(os.path.join(cluster.directory, name + ".join")) as f:
        text = re.search(r"qwj1\.(\S+)", f.read())[1]
    secret = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[2:-4][-40:]
    return zmq.curve_public(secret), secret


def pair_in_use(cluster, name):
    secret = keys_of(cluster.workers[name]).get("key")
    return (zmq.curve_public(secret.encode()), secret.encode()) if secret else given_pair(cluster, name)


def rotate(worker, *flags, code=0):
    done = subprocess.run([f"{BIN}/quell-worker", "rotate-key", "--state", worker.state, *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done
    return done.stdout.strip()


def is_refused(cluster, pair):
    with Peer(cluster, pair) as old, Peer(cluster, pair, bulk=True) as bulk:
        old.events(zmq.Event.HANDSHAKE_FAILED_AUTH)
        bulk.events(zmq.Event.HANDSHAKE_FAILED_AUTH)


def ready(cluster, name="w1"):
    return until(lambda: (lambda w: w if w["status"] == "ready" else None)(cluster.worker(name)), f"{name} to be ready")


def restart_killed(cluster, name="w1"):
    """SIGKILL, and the next life: the controller shows the dead worker as ready until the next one reports."""
    w = cluster.workers[name]
    w.process.kill()
    w.process.wait()
    dead = cluster.worker(name)["incarnation"]
    cluster.add_worker(name, wait=False)
    until(lambda: cluster.worker(name)["incarnation"] != dead, f"the next life of {name}")
    return ready(cluster, name)


def log_of(cluster, name):
    return processes.read(os.path.join(cluster.directory, name + ".log")).decode()


def works(cluster):
    cluster.wait_status(cluster.start("true")["id"], "completed")


def test_a_worker_changes_its_key_under_running_tasks(cluster):
    w = cluster.workers["w1"]
    first = given_pair(cluster, "w1")
    before = cluster.worker("w1")
    assert before["key_changed_at"] is None
    m = marker("keys")
    task = cluster.start("bash", "-c", 'exec -a "$0" sleep 1000', m)  # one process from its first moment on
    cluster.wait_status(task["id"], "running")
    pids = until(lambda: processes.marked(m), "the task to run")
    said = rotate(w)
    assert said.encode() == pair_in_use(cluster, "w1")[0] != first[0]
    after = ready(cluster)
    assert after["incarnation"] == before["incarnation"] and after["key_changed_at"] and after["operations_live"] == 1
    assert processes.marked(m) == pids and cluster.operation(task["id"])["status"] == "running"
    assert os.stat(os.path.join(w.state, "keys")).st_mode & 0o777 == 0o600
    is_refused(cluster, first)
    # The second change: the key of the first one is refused after it.
    second = pair_in_use(cluster, "w1")
    rotate(w)
    is_refused(cluster, second)
    is_refused(cluster, first)
    works(cluster)
    report = cluster.cancel(operation=task["id"])
    assert report["status"] == "settled" and cluster.operation(task["id"])["status"] == "cancelled"
    told = cluster.api("GET", "/v1/events?types=worker_key_changed,audit&after=0").json["events"]
    assert len([e for e in told if e["type"] == "worker_key_changed"]) == 2
    audited = [e["data"] for e in told if e["type"] == "audit" and e["data"]["action"] == "worker_key"]
    assert len(audited) == 2 and all(a["target"] == "worker w1" for a in audited)
    text = log_of(cluster, "w1") + log_of(cluster, "quelld") + json.dumps(told)
    assert all(pair[1].decode() not in text for pair in (first, second, pair_in_use(cluster, "w1")))


def test_output_goes_on_over_a_change_of_keys(cluster):
    task = cluster.start("sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); [ $((i%100)) = 0 ] && sleep 0.05; done")
    cluster.wait_status(task["id"], "running")
    for _ in range(3):
        rotate(cluster.workers["w1"])
    cluster.wait_status(task["id"], "completed", seconds=60)
    assert cluster.output(task["id"]).decode().split() == " ".join(f"line {i}" for i in range(3000)).split()


def test_cancels_meet_no_gap_while_keys_change(cluster):
    """Cancels come one after the other while the key changes repeatedly: each stops its task with proof, and soon."""
    w = cluster.workers["w1"]
    stop = threading.Event()
    failures, changes = [], []

    def change():
        while not stop.is_set():
            try:
                changes.append(rotate(w))
            except BaseException as e:  # the test's own thread raises it
                failures.append(e)
                return

    changing = threading.Thread(target=change)
    changing.start()
    try:
        def stops_one():
            m = marker("keys")
            op = cluster.start(*trees.term_ignored(m), scope="keys/in/motion")
            until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
            report = cluster.cancel(scope="keys/in/motion", grace_ms=0)
            assert report["status"] == "settled", report
            assert processes.marked(m) == [] and cluster.operation(op["id"])["status"] == "cancelled"
        # The controller accepts ten changes at once and then one per minute; cancels come during all of them.
        for _ in range(15):
            stops_one()
        until(lambda: (stops_one(), len(set(changes)) >= 3 or failures)[1], "three changes, with cancels in between")
    finally:
        stop.set()
        changing.join()
    assert len(set(changes)) >= 3
    assert all("too often" in str(f) for f in failures), failures


@pytest.mark.parametrize("who", ["worker", "quelld"])
def test_whoever_dies_at_any_moment_of_a_change_comes_back(cluster, who):
    """SIGKILL at increasing times after the beginning of a change."""
    long_lived = cluster.start("sleep", "1000", scope="keys/kept", task_lease_ms=120_000) if who == "quelld" else None
    if long_lived:
        cluster.wait_status(long_lived["id"], "running")
    for step in range(8):
        w = cluster.workers["w1"]
        old = pair_in_use(cluster, "w1")
        asking = subprocess.Popen([f"{BIN}/quell-worker", "rotate-key", "--state", w.state, "--wait", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wish = os.path.join(w.state, "change")
        # Steps: as soon as the request is written, granted, the next key is stored, and a little later each time.
        if step < 2:
            until(lambda: os.path.exists(wish) or "next" in keys_of(w) or asking.poll() is not None, "the wish")
        else:
            until(lambda: "next" in keys_of(w) or asking.poll() is not None, "the next key")
            for _ in range(30 * (step - 2)):  # a little longer each time
                keys_of(w)
        if who == "worker":
            restart_killed(cluster)
        else:
            cluster.kill_controller()
            cluster.start_controller()
            ready(cluster)
            assert cluster.operation(long_lived["id"])["status"] == "running"
        asking.communicate(timeout=90)
        w = cluster.workers["w1"]
        until(lambda: "next" not in keys_of(w) and not os.path.exists(wish), "the change to be over")
        ready(cluster)
        if pair_in_use(cluster, "w1") != old:
            is_refused(cluster, old)
        works(cluster)
    if long_lived:
        assert cluster.cancel(scope="keys/kept")["status"] == "settled"


def test_a_crash_between_the_controllers_commit_and_the_workers_file_is_found_out(cluster):
    """The state that is hardest to reach: the controller uses the next key, the worker's file has both."""
    w = cluster.workers["w1"]
    first = given_pair(cluster, "w1")
    rotate(w)
    after = keys_of(w)
    w.process.kill()
    w.process.wait()
    with open(os.path.join(w.state, "keys"), "w") as f:
        f.write(f"given {after['given']}\nnext {after['key']}\ngiven-controller {after['given-controller']}\n")
    cluster.add_worker("w1", wait=False)
    ready(cluster)
    until(lambda: keys_of(w).get("key") == after["key"] and "next" not in keys_of(w), "the file to be repaired")
    is_refused(cluster, first)
    works(cluster)


def test_a_change_waits_for_a_controller_that_is_away(cluster):
    w = cluster.workers["w1"]
    first = given_pair(cluster, "w1")
    cluster.kill_controller()
    assert rotate(w, "--wait", "1", code=1) == ""
    until(lambda: "next" in keys_of(w), "the worker's next key")
    cluster.start_controller()
    until(lambda: "key" in keys_of(w) and "next" not in keys_of(w), "the change to be over")
    ready(cluster)
    is_refused(cluster, first)


def test_a_worker_that_does_not_run_changes_its_key_when_it_starts(cluster):
    w = cluster.workers["w1"]
    first = given_pair(cluster, "w1")
    w.process.terminate()
    w.process.wait(timeout=60)
    rotate(w)
    cluster.add_worker("w1")
    until(lambda: "key" in keys_of(w) and "next" not in keys_of(w), "the change to be over")
    is_refused(cluster, first)
    works(cluster)


def test_a_copy_of_the_key_cannot_change_it(cluster):
    """Otherwise it would lock the worker out for good."""
    w = cluster.workers["w1"]
    w.process.kill()
    w.process.wait()
    state = os.path.join(cluster.directory, "worker-copy")
    with cluster.log("copy") as log:
        copy = subprocess.Popen([f"{BIN}/quell-worker", "--join-file", os.path.join(cluster.directory, "w1.join"), "--state", state], stdout=log, stderr=log,
                                stdin=subprocess.DEVNULL)
    try:
        until(lambda: "is ready" in log_of(cluster, "copy"), "the copy to be taken")
        done = subprocess.run([f"{BIN}/quell-worker", "rotate-key", "--state", state], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "used the present key first" in done.stderr, done
    finally:
        copy.terminate()
        copy.wait(timeout=60)
    cluster.add_worker("w1", wait=False)
    ready(cluster)
    works(cluster)


def test_rotate_key_says_what_is_wrong(tmp_path):
    for flags, code, text in (([], 2, "--state"), (["--state", str(tmp_path)], 1, "not a state directory"), (["--state", str(tmp_path), "--wait", "-1"], 2, "--wait")):
        done = subprocess.run([f"{BIN}/quell-worker", "rotate-key", *flags], capture_output=True, text=True, timeout=60)
        assert done.returncode == code and text in done.stderr, done


# ---- quelld's own key ---------------------------------------------------------------------------------------------

def quelld(cluster, flag, code=0):
    done = subprocess.run([f"{BIN}/quelld", "--state", cluster.state, flag], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def secret_in(cluster, name):
    with open(os.path.join(cluster.state, name)) as f:
        return f.read().strip().encode()


def test_quelld_changes_its_key_while_tasks_run(cluster):
    cluster.add_worker("w2")
    first = secret_in(cluster, "controller.key")
    task = cluster.start("sleep", "1000", scope="keys/kept", task_lease_ms=120_000)
    cluster.wait_status(task["id"], "running")
    assert cluster.worker("w1")["knows_controller_key"] is None
    # w2 is away when the next key is announced.
    cluster.workers["w2"].process.send_signal(signal.SIGSTOP)
    said = quelld(cluster, "--rotate-key")
    next = secret_in(cluster, "controller.key.next")
    assert zmq.curve_public(next).decode() in said and next.decode() not in said
    assert quelld(cluster, "--rotate-key") == said  # idempotent
    until(lambda: cluster.worker("w1")["knows_controller_key"] is True, "w1 to know the next key")
    assert cluster.worker("w2")["knows_controller_key"] is False
    assert b"w2" in b"".join(line for line in cluster.quell("doctor").stdout.splitlines() if b"next key" in line)
    cluster.workers["w2"].process.send_signal(signal.SIGCONT)
    until(lambda: cluster.worker("w2")["knows_controller_key"] is True, "w2 to know the next key")
    # A crash of either side before the end: the workers know both keys, and the old one is served.
    cluster.kill_controller()
    cluster.start_controller()
    ready(cluster), ready(cluster, "w2")
    before = cluster.worker("w1")["incarnation"]
    pid = cluster.controller.pid
    quelld(cluster, "--finish-key")
    assert secret_in(cluster, "controller.key") == next != first
    until(lambda: "goes by the key " + zmq.curve_public(next).decode() in log_of(cluster, "quelld"), "quelld to take its new key")
    report = cluster.cancel(scope="keys/kept")  # in the middle of the change
    assert report["status"] == "settled" and cluster.operation(task["id"])["status"] == "cancelled"
    for name in ("w1", "w2"):
        until(lambda: keys_of(cluster.workers[name]).get("controller") == zmq.curve_public(next).decode(), f"{name} to go by the new key")
        ready(cluster, name)
    assert cluster.worker("w1")["incarnation"] == before and cluster.controller.pid == pid and cluster.controller.poll() is None
    assert cluster.worker("w1")["knows_controller_key"] is None
    # A server with quelld's first key is a stranger to the workers; new join lines contain the new key.
    with Peer(cluster, pair_in_use(cluster, "w1")) as good:
        good.events(zmq.Event.HANDSHAKE_SUCCEEDED)
    cluster.add_worker("w3")
    for name in ("w1", "w2"):
        restart_killed(cluster, name)
    works(cluster)
    assert "holds no next key" in quelld(cluster, "--finish-key", code=1)


def test_both_sides_change_at_once_and_quelld_restarts_into_the_new_key(cluster):
    w = cluster.workers["w1"]
    first = given_pair(cluster, "w1")
    quelld(cluster, "--rotate-key")
    until(lambda: cluster.worker("w1")["knows_controller_key"] is True, "w1 to know the next key")
    task = cluster.start("sleep", "1000", scope="keys/kept", task_lease_ms=120_000)
    cluster.wait_status(task["id"], "running")
    cluster.kill_controller()
    quelld(cluster, "--finish-key")
    rotate(w, "--wait", "0", code=1)
    until(lambda: "next" in keys_of(w), "the worker's next key")
    cluster.start_controller()
    ready(cluster)
    until(lambda: {"key", "controller"} <= keys_of(w).keys() and not {"next", "next-controller"} & keys_of(w).keys(), "both changes to be over")
    assert cluster.operation(task["id"])["status"] == "running"
    is_refused(cluster, first)
    assert cluster.cancel(scope="keys/kept")["status"] == "settled"


def test_cancels_in_the_instant_of_quellds_change_are_not_lost(cluster):
    for _ in range(3):
        quelld(cluster, "--rotate-key")
        until(lambda: cluster.worker("w1")["knows_controller_key"] is True, "w1 to know the next key")
        next = zmq.curve_public(secret_in(cluster, "controller.key.next")).decode()
        trees_running = []
        for i in range(12):
            m = marker("keys")
            trees_running.append((m, cluster.start(*trees.term_ignored(m), scope=f"keys/k{i}")))
        for m, _op in trees_running:
            until(lambda: len(processes.marked(m)) >= 2, "the trees to run")
        quelld(cluster, "--finish-key")
        for i, (m, op) in enumerate(trees_running):  # before, in and after the change: it is noticed within a second
            report = cluster.cancel(scope=f"keys/k{i}", grace_ms=0)
            assert report["status"] == "settled" and processes.marked(m) == []
            assert cluster.operation(op["id"])["status"] == "cancelled"
        until(lambda: keys_of(cluster.workers["w1"]).get("controller") == next, "the worker to go by the new key")
        ready(cluster)
