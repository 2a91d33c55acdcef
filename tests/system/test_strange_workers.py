"""Workers that do not belong here, played by hand over ZeroMQ and msgpack: unknown keys, other versions, garbage, other workers' tasks."""
import os

import msgpack
import pytest
import zmq

from harness import processes, trees
from harness.cluster import Cluster, marker
from harness.peer import HELLO, REFUSE, TASK_ENDED, Peer
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1) as c:
        yield c


def works(cluster):
    op = cluster.start("true")
    cluster.wait_status(op["id"], "completed")


def test_an_unknown_key_fails_the_handshake_and_is_named_in_the_log(cluster):
    with Peer(cluster) as stranger:
        stranger.events(zmq.Event.HANDSHAKE_FAILED_AUTH)
        log = os.path.join(cluster.directory, "quelld.log")
        until(lambda: stranger.public in processes.read(log), "the log to name the refused key")
    works(cluster)


def test_a_worker_of_another_version_is_refused_politely(cluster):
    keys = zmq.curve_keypair()
    made = cluster.api("POST", "/v1/workers", {"name": "newer", "key": keys[0].decode(), "labels": {}})
    assert made.status == 201, made.body
    with Peer(cluster, keys) as newer:
        newer.events(zmq.Event.HANDSHAKE_SUCCEEDED)
        newer.send(os.urandom(16), 0, HELLO, [99, "fields of a later time", {"x": [1, 2, 3]}])
        session, number, ack, tag, fields = newer.receive()
        assert tag == REFUSE and fields[0] == "unsupported_version", fields
        assert "99" in fields[1] and "1" in fields[1]
    cluster.api("DELETE", "/v1/workers/newer")
    works(cluster)


def test_garbage_and_somebody_elses_work_harm_nobody(cluster):
    m = marker()
    victim = cluster.start(*trees.term_ignored(m), scope="strange/victim")
    until(lambda: len(processes.marked(m)) >= 2, "the victim to run")
    keys = zmq.curve_keypair()
    assert cluster.api("POST", "/v1/workers", {"name": "evil", "key": keys[0].decode(), "labels": {}}).status == 201
    with Peer(cluster, keys) as evil:
        evil.events(zmq.Event.HANDSHAKE_SUCCEEDED)
        for garbage in (b"", b"\xc1", os.urandom(1000), msgpack.packb([1, 2]), msgpack.packb({"a": 1}), b"\x91" * 100000, msgpack.packb("x" * 1000000)):
            evil.socket.send(garbage)
        # It reports the victim's end, in a session that it made up.
        id = bytes.fromhex(victim["id"].replace("-", ""))
        evil.send(os.urandom(16), 1, TASK_ENDED, [id, 0, None, 0, [0, None], "", "", 0, 0, [0, 0, 0]])
        works(cluster)
    assert cluster.operation(victim["id"])["status"] == "running"
    cluster.api("DELETE", "/v1/workers/evil")
    assert cluster.cancel(operation=victim["id"], grace_ms=0)["status"] == "settled"
    assert processes.marked(m) == []


def test_a_second_worker_with_the_same_state_is_refused_by_its_lock(cluster):
    import subprocess
    from harness.cluster import BIN
    w = cluster.workers["w1"]
    done = subprocess.run([f"{BIN}/quell-worker", "--join-file", os.path.join(cluster.directory, "w1.join"), "--state", w.state], capture_output=True,
                          timeout=60)
    assert done.returncode == 1 and str(w.process.pid).encode() in done.stderr, done.stderr
    works(cluster)


def test_a_second_worker_with_the_same_key_waits_for_the_first_ones_lease(cluster):
    import subprocess
    from harness.cluster import BIN, end
    log = os.path.join(cluster.directory, "twin.log")
    with open(log, "ab") as out:
        twin = subprocess.Popen([f"{BIN}/quell-worker", "--join-file", os.path.join(cluster.directory, "w1.join"), "--state",
                                 os.path.join(cluster.directory, "worker-twin")], stderr=out, stdout=out, stdin=subprocess.DEVNULL)
    try:
        until(lambda: b"lease_held" in processes.read(log), "the twin to be refused")
        before = cluster.worker("w1")["incarnation"]
        works(cluster)
        assert cluster.worker("w1")["incarnation"] == before and cluster.worker("w1")["status"] == "ready"
    finally:
        twin.terminate()
        end(twin)


def test_a_twin_that_lives_does_not_lock_the_worker_out():
    import signal
    import subprocess
    from harness.cluster import BIN, Cluster, end
    with Cluster(workers=1, settings=["workers.lease=5s", "workers.heartbeat=200ms"]) as c:
        w = c.workers["w1"]
        before = c.worker("w1")
        assert before["rival"] is None
        w.process.send_signal(signal.SIGSTOP)
        log = os.path.join(c.directory, "twin.log")
        with open(log, "ab") as out:
            twin = subprocess.Popen([f"{BIN}/quell-worker", "--join-file", os.path.join(c.directory, "w1.join"), "--state",
                                     os.path.join(c.directory, "worker-twin"), "--slots", "3"], stderr=out, stdout=out, stdin=subprocess.DEVNULL)
        try:
            until(lambda: c.worker("w1")["slots"] == 3 and c.worker("w1")["status"] == "ready", "the twin to take the place", 60)
            w.process.send_signal(signal.SIGCONT)
            # The twin lives, renews, and repeatedly sends hello; the first state directory is accepted nevertheless.
            until(lambda: c.worker("w1")["slots"] == c.slots and c.worker("w1")["status"] == "ready", "the worker to be taken again", 60)
            c.quell("run", "--worker", "w1", "--", "true", check=0)
            until(lambda: b"lease_held" in processes.read(log), "the twin to be refused")
            assert c.worker("w1")["slots"] == c.slots and twin.poll() is None and w.process.poll() is None
            rival = c.worker("w1")["rival"]
            assert rival and rival["last_at"] >= rival["since_at"] and rival["address"], rival
            told = c.api("GET", "/v1/events?types=worker_disputed&after=0").json["events"]
            assert told and told[0]["worker"] == "w1", told
        finally:
            w.process.send_signal(signal.SIGCONT)
            twin.kill()
            end(twin)


def test_a_twin_that_came_and_went_does_not_lock_the_worker_out():
    import signal
    import subprocess
    from harness.cluster import BIN, Cluster, end
    with Cluster(workers=1, settings=["workers.lease=5s", "workers.heartbeat=200ms"]) as c:
        w = c.workers["w1"]
        before = c.worker("w1")["incarnation"]
        w.process.send_signal(signal.SIGSTOP)
        log = os.path.join(c.directory, "twin.log")
        with open(log, "ab") as out:
            twin = subprocess.Popen([f"{BIN}/quell-worker", "--join-file", os.path.join(c.directory, "w1.join"), "--state",
                                     os.path.join(c.directory, "worker-twin")], stderr=out, stdout=out, stdin=subprocess.DEVNULL)
        try:
            until(lambda: c.worker("w1")["incarnation"] != before and c.worker("w1")["status"] == "ready", "the twin to take the place", 60)
        finally:
            twin.kill()
            end(twin)
            w.process.send_signal(signal.SIGCONT)
        until(lambda: c.quell("run", "--worker", "w1", "--timeout", "15s", "--", "cat", "/proc/sys/kernel/hostname").returncode == 0,
              "the worker to be taken again", 60)
        assert w.process.poll() is None
