"""Invariants of a report at every moment, checked while the cancel runs; and overlapping cancels."""
import threading
import time
import uuid

import pytest

from harness import processes
from harness.cluster import Cluster, marker
from harness.waiting import until

ORDER = ["fenced", "signalled", "settled"]


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=2, slots=20) as c:
        yield c


def uuid7():
    ms = time.time_ns() // 1_000_000
    value = (ms << 80) | (7 << 76) | (uuid.uuid4().int & ((1 << 76) - 1))
    return str(uuid.UUID(int=(value & ~(3 << 62)) | (2 << 62)))


def check(cancel):
    report = cancel["report"]
    proven = sum(report["receipts"].values())
    assert proven + report["unproven_total"] == report["operations"], report
    assert sum(report["proofs"].values()) == proven, report
    assert len(report["unproven"]) <= min(100, report["unproven_total"])
    assert (report["settled_ms"] is not None) == (cancel["status"] == "settled"), report


def test_the_counts_add_up_at_every_moment_of_a_running_cancel(cluster):
    m = marker()
    commands = [["bash", "-c", "trap '' TERM; while :; do sleep 1000; done", m], ["bash", "-c", "while :; do sleep 1000; done", m], ["true"],
                ["bash", "-c", f"quell run -d -- bash -c 'while :; do sleep 1000; done' {m}; while :; do sleep 1000; done", m],
                ["bash", "-c", "trap 'exit 3' TERM; while :; do read -t 0.1 <> <(:); done", m]]
    for i in range(60):
        cluster.start(*commands[i % 5], scope=f"sum/s{i % 4}", grace_ms=500)
    id, seen, wrong, over = uuid7(), [], [], threading.Event()

    def poll():
        last, covered = 0, None
        while not over.is_set():
            answer = cluster.api("GET", f"/v1/cancels/{id}")
            if answer.status != 200:
                continue
            try:
                cancel = answer.json
                check(cancel)
                assert ORDER.index(cancel["status"]) >= last, "the status went back"
                assert covered in (None, cancel["report"]["operations"]), "the number of covered operations changed"
                last, covered = ORDER.index(cancel["status"]), cancel["report"]["operations"]
                seen.append(last)
            except AssertionError as e:
                wrong.append(e)

    threads = [threading.Thread(target=poll) for _ in range(3)]
    for t in threads:
        t.start()
    first = cluster.api("POST", "/v1/cancels", {"id": id, "scope": "sum"})
    check(first.json)
    done = cluster.api("GET", f"/v1/cancels/{id}?wait=settled&wait_ms=60000").json
    until(lambda: seen or wrong, "a look at the cancel")
    over.set()
    for t in threads:
        t.join()
    assert not wrong, wrong[0]
    assert seen and done["status"] == "settled" and done["report"]["proven"]
    assert len(cluster.operations(cancel=id)) == done["report"]["operations"]
    cluster.cancel(scope="sum")
    assert processes.marked(m) == []


def test_cancels_of_parent_child_scope_and_owner_at_once_agree(cluster):
    stay = ["bash", "-c", "trap '' TERM; while :; do sleep 1000; done"]
    for _ in range(5):
        parent = cluster.start(*stay, scope="both", grace_ms=300)
        child = cluster.start(*stay, parent=parent["id"], grace_ms=300)
        cluster.wait_status(child["id"], "running")
        answers = []
        targets = [{"operation": parent["id"]}, {"operation": child["id"]}, {"scope": "both"}, {"operation": parent["id"]},
                   {"owner": "admin", "scope": "both"}]
        threads = [threading.Thread(target=lambda t=t: answers.append(cluster.cancel(**t))) for t in targets]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(answers) == len(targets) and all(a["status"] == "settled" for a in answers)
        for a in answers:
            if a["report"]["operations"]:
                check(a)
                assert len(cluster.operations(cancel=a["id"])) == a["report"]["operations"]
        assert [cluster.operation(o["id"])["status"] for o in (parent, child)] == ["cancelled", "cancelled"]


def test_an_overlapping_cancel_tightens_and_never_lengthens(cluster):
    o = cluster.start("bash", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done", scope="tight/in", grace_ms=60000)
    until(lambda: cluster.api("GET", f"/v1/operations/{o['id']}/output").body == b"up\n", "the task to ignore TERM")
    first = cluster.cancel(scope="tight/in", wait="signalled")
    far = cluster.operation(o["id"])["stop"]["kill_at"]
    cluster.cancel(scope="tight", wait="signalled", grace_ms=30000)
    near = cluster.operation(o["id"])["stop"]["kill_at"]
    assert near < far
    cluster.cancel(operation=o["id"], wait="signalled", grace_ms=90000)
    assert cluster.operation(o["id"])["stop"]["kill_at"] == near
    last = cluster.cancel(owner="admin", scope="tight", grace_ms=0)
    assert last["status"] == "settled" and last["report"]["receipts"]["killed"] == 1
    assert cluster.operation(o["id"])["stop"]["cancel"] == first["id"]
    assert cluster.api("GET", f"/v1/cancels/{first['id']}?wait=settled&wait_ms=60000").json["status"] == "settled"


def test_the_same_chosen_id_from_many_clients_at_once_is_one_thing(cluster):
    id, cancel_id, created, cancelled = uuid7(), uuid7(), [], []

    def go():
        created.append(cluster.api("POST", "/v1/operations", {"id": id, "kind": "task", "task": {"command": ["true"]}}).status)
        cancelled.append(cluster.api("POST", "/v1/cancels", {"id": cancel_id, "scope": "at/once"}).json["seq"])

    threads = [threading.Thread(target=go) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(created) == [200] * 11 + [201] and len(set(cancelled)) == 1


def test_much_output_holds_up_no_cancel_and_stays_whole(cluster):
    code = "import os\nb = bytes(range(256)) * 4096\nfor i in range(40):\n  v = memoryview(b)\n  while v: v = v[os.write(1, v):]\nos.write(2, b'done')\n" \
           "import signal\nsignal.pause()"
    big = [cluster.start("/usr/bin/python3", "-c", code, scope="big") for _ in range(4)]
    for o in big:
        cluster.wait_status(o["id"], "running")
    for _ in range(5):
        o = cluster.start("bash", "-c", "while :; do sleep 1000; done", scope="small", grace_ms=20000)
        cluster.wait_status(o["id"], "running")
        assert cluster.cancel(scope="small")["report"]["receipts"]["terminated"] == 1
    for o in big:
        until(lambda: cluster.api("GET", f"/v1/operations/{o['id']}/output?stream=stderr").body == b"done", "the writer to end", 90)

        def whole():
            answer = cluster.api("GET", f"/v1/operations/{o['id']}/output")
            return answer if int(answer.headers["Quell-Offset"]) + len(answer.body) == 40 << 20 else None
        answer = until(whole, "all of its output")  # the streams come each by itself
        offset = int(answer.headers["Quell-Offset"])
        assert answer.body == (bytes(range(256)) * (len(answer.body) // 256 + 2))[offset % 256:offset % 256 + len(answer.body)]
    cluster.cancel(scope="big")
