"""Single sentences of the public surface, each as a client would rely on it."""
import datetime
import os
import subprocess
import urllib.parse

import pytest

from harness import processes
from harness.cluster import BIN, Cluster, marker
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, settings=["store.keep_output=1048576"]) as c:
        yield c


STAY = "while :; do sleep 1000; done"


def test_declaring_a_living_worker_dead_abandons_no_process():
    m = marker()
    with Cluster(workers=1) as c:
        running = c.start("bash", "-c", STAY, m, scope="declared/running")
        graced = c.start("bash", "-c", "trap '' TERM; echo up; " + STAY, m, scope="declared/grace", grace_ms=600000)
        c.wait_status(running["id"], "running")
        until(lambda: c.api("GET", f"/v1/operations/{graced['id']}/output").body == b"up\n", "the task to ignore TERM")
        c.cancel(scope="declared/grace", wait="signalled")
        answer = c.api("POST", "/v1/workers/w1/resolve", {"declare": "dead", "reason": "by mistake"})
        if answer.status == 200:
            until(lambda: not processes.marked(m), "what was declared dead to be dead")
        else:
            assert answer.status == 409, answer.body
            assert c.operation(running["id"])["status"] == "running"
        c.cancel(scope="declared", grace_ms=0)
        until(lambda: not processes.marked(m), "a cancel to reach what still lives")


def test_declaring_a_task_dead_in_its_grace_abandons_no_process(cluster):
    m = marker()
    o = cluster.start("bash", "-c", "trap '' TERM; echo up; " + STAY, m, scope="declared", grace_ms=600000)
    until(lambda: cluster.api("GET", f"/v1/operations/{o['id']}/output").body == b"up\n", "the task to ignore TERM")
    cluster.cancel(scope="declared", wait="signalled")
    assert cluster.api("POST", f"/v1/operations/{o['id']}/resolve", {"declare": "dead", "reason": "impatient"}).status in (200, 409)
    cluster.cancel(scope="declared", grace_ms=0)
    until(lambda: not processes.marked(m), "the process to be dead")


@pytest.mark.parametrize("target", [{"scope": "idle/here"}, {"owner": "nobody"}, {"scope": "idle/here", "up_to_seq": 1}])
def test_a_cancel_of_nothing_is_settled_and_proven(cluster, target):
    done = cluster.cancel(**target)
    assert done["outcome"] == "nothing_live" and done["status"] == "settled"
    assert done["report"]["proven"] is True
    assert done["report"]["signalled_ms"] is not None and done["report"]["settled_ms"] is not None


def test_unproven_lists_all_of_up_to_100(cluster):
    for _ in range(30):
        cluster.start("bash", "-c", STAY, scope="listed")
    fenced = cluster.cancel(scope="listed", wait="fenced")["report"]
    assert len(fenced["unproven"]) == fenced["unproven_total"]
    cluster.cancel(scope="listed")


def test_a_dry_run_names_the_seq_that_it_was_made_at(cluster):
    o = cluster.start("bash", "-c", STAY, scope="dry")
    shown = cluster.cancel(scope="dry", dry_run=True)
    later = cluster.start("bash", "-c", STAY, scope="dry")
    assert shown["up_to_seq"] is not None and shown["up_to_seq"] >= o["seq"]
    done = cluster.cancel(scope="dry", up_to_seq=shown["up_to_seq"])
    assert [x["id"] for x in cluster.operations(cancel=done["id"])] == [o["id"]]
    assert cluster.operation(later["id"])["status"] in ("pending", "running")
    cluster.cancel(scope="dry")


def test_output_is_counted_while_the_task_runs(cluster):
    o = cluster.start("bash", "-c", "echo hello; " + STAY, scope="counted")
    until(lambda: cluster.api("GET", f"/v1/operations/{o['id']}/output").body == b"hello\n", "the output")
    until(lambda: cluster.operation(o["id"])["task"]["output"]["stdout_bytes"] == 6, "the running operation to count its output")
    cluster.cancel(scope="counted")


def test_what_is_dropped_is_said_in_the_operation_too(cluster):
    o = cluster.start("/usr/bin/python3", "-c", "import sys; sys.stdout.buffer.write(b'x' * (24 << 20))")
    cluster.wait_status(o["id"], "completed")
    cluster.output(o["id"])  # read to the end of the output, which can come after the task's
    dropped = int(cluster.api("GET", f"/v1/operations/{o['id']}/output").headers["Quell-Dropped"])
    assert dropped > 0
    until(lambda: cluster.operation(o["id"])["task"]["output"]["dropped_bytes"] == dropped, "the operation to say what was dropped")


def test_run_starts_in_the_callers_directory_on_the_same_host(cluster, tmp_path):
    done = subprocess.run([f"{BIN}/quell", "run", "--", "pwd"], cwd=tmp_path, env=cluster.environment(), capture_output=True, timeout=60)
    assert done.stdout.decode().strip() == os.path.realpath(tmp_path), done


def test_a_short_timeout_comes_in_time(cluster):
    """Not a measurement: a signal that waits for the next full second is half a second late in most of the attempts."""
    late = []
    for _ in range(3):
        o = cluster.wait_status(cluster.start("sleep", "1000", timeout_ms=100, grace_ms=0)["id"], "failed")
        deadline, signalled = (datetime.datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (o["deadline_at"], o["stop"]["signalled_at"]))
        late.append((signalled - deadline).total_seconds())
    assert min(late) < 0.5, late


def test_output_events_are_read_per_operation(cluster):
    """docs/decisions/006: the event stream refuses such parameters and names the place of the bytes."""
    o = cluster.start("bash", "-c", "echo hello", scope="named")
    cluster.wait_status(o["id"], "completed")
    answer = cluster.api("GET", "/v1/events?" + urllib.parse.urlencode({"types": "output", "scope": "named", "after": 0}))
    assert answer.status == 422 and b"/output" in answer.body
    cluster.output(o["id"])  # its output can come after its end
    events = cluster.api("GET", f"/v1/operations/{o['id']}/output", headers={"Accept": "text/event-stream"}).body
    assert b"event: output" in events and b"hello" in events
