"""Starts racing cancels: no process runs on unseen."""
import threading
import time
import uuid

import pytest

from harness import processes, trees
from harness.cluster import Cluster, marker
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=2, slots=8) as c:
        yield c


def uuid7():
    """A UUIDv7 of now, as a client would choose one."""
    ms = time.time_ns() // 1_000_000
    value = (ms << 80) | (7 << 76) | (uuid.uuid4().int & ((1 << 76) - 1))
    return str(uuid.UUID(int=(value & ~(3 << 62)) | (2 << 62)))


def test_a_thousand_starts_race_twenty_cancels(cluster):
    m = marker()
    starts, cancels, refused = [], [], []
    lock = threading.Lock()

    def start_some(n):
        for _ in range(n):
            answer = cluster.api("POST", "/v1/operations", {"kind": "task", "scope": "race/way", "grace_ms": 200,
                                                            "task": {"command": ["bash", "-c", "while :; do sleep 1000; done", m]}})
            with lock:
                (starts if answer.status == 201 else refused).append(answer.json)

    def cancel_some():
        while True:
            with lock:
                started = len(starts) + len(refused)
                due = len(cancels) * 1000 // 20
                if len(cancels) == 20:
                    return
            if started >= due:
                done = cluster.cancel(scope="race/way", wait="fenced")
                with lock:
                    cancels.append(done)

    threads = [threading.Thread(target=start_some, args=(125,)) for _ in range(8)] + [threading.Thread(target=cancel_some)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(starts) + len(refused) == 1000 and len(cancels) == 20
    assert all(r["code"] == "stale_start" for r in refused), refused[:1]
    last = max(c["seq"] for c in cancels)
    until(lambda: not cluster.api("GET", "/v1/cancels?status=open").json["cancels"], "all cancels to settle", 60)
    rows = {o["id"]: o for o in cluster.operations(scope="race/way")}
    assert len(rows) == len(starts)
    survivors = [o for o in rows.values() if o["status"] not in ("cancelled", "completed", "failed")]
    assert all(o["seq"] > last for o in survivors), "something below the last cutoff lives"
    assert not [o for o in rows.values() if o["seq"] < last and o["status"] != "cancelled"]
    live_pids = processes.marked(m)
    assert len(live_pids) <= 2 * len(survivors)
    if live_pids:  # their workers report it behind the beginning of the process
        until(lambda: cluster.operations(scope="race/way", status="running"), "what lives to be shown as running")
    cluster.cancel(scope="race/way")
    assert processes.marked(m) == []


def test_a_cancel_before_the_create_wins(cluster):
    id = uuid7()
    answer = cluster.api("POST", "/v1/cancels", {"operation": id, "reason": "too late for you"})
    assert answer.status == 202 and answer.json["outcome"] == "unknown_id"
    m = marker()
    create = cluster.api("POST", "/v1/operations", {"id": id, "kind": "task", "task": {"command": ["sleep", "1000", m]}})
    assert create.status == 409 and create.json["code"] == "stale_start", create.body
    assert create.json["cancel"]["id"] == answer.json["id"] and "too late for you" in create.json["detail"]
    assert cluster.api("GET", f"/v1/operations/{id}").status == 404
    assert processes.marked(m) == []
    assert cluster.api("POST", f"/v1/operations/{uuid7()}/cancel").status == 404


def test_a_tombstone_answers_202_whatever_the_wait_and_when_repeated(cluster):
    for wait in ("fenced", "signalled", "settled"):
        body = {"id": uuid7(), "operation": uuid7(), "wait": wait}
        for _ in range(2):
            answer = cluster.api("POST", "/v1/cancels", body)
            assert answer.status == 202, answer.body
            assert (answer.json["outcome"], answer.json["status"], answer.json["id"]) == ("unknown_id", "settled", body["id"])
        dry = cluster.api("POST", "/v1/cancels", {"operation": uuid7(), "dry_run": True})
        assert dry.status == 200 and dry.json["outcome"] == "unknown_id", dry.body  # it leaves nothing behind


def test_a_task_cancelled_while_it_waits_for_a_slot_never_starts(cluster):
    m = marker()
    blockers = [cluster.start("sleep", "1000", scope="slots/held", task_slots=8) for _ in range(2)]
    for b in blockers:
        cluster.wait_status(b["id"], "running")
    waits = cluster.start("bash", "-c", "while :; do sleep 1000; done", m, scope="slots/wait")
    op = until(lambda: (lambda o: o if o["waiting_for"] else None)(cluster.operation(waits["id"])), "the reason why it waits")
    assert op["status"] == "pending" and op["waiting_for"]["what"] == "slot"
    done = cluster.cancel(scope="slots/wait")
    assert done["report"]["receipts"]["never_started"] == 1 and done["report"]["proofs"]["never_ran"] == 1
    cluster.cancel(scope="slots/held")
    assert cluster.operation(waits["id"])["status"] == "cancelled"
    assert cluster.operation(waits["id"])["started_at"] is None
    after = cluster.start("true", scope="slots/after")
    cluster.wait_status(after["id"], "completed")
    assert processes.marked(m) == []


def test_a_cancel_in_the_last_instant_has_one_winner_everywhere(cluster):
    """The task ends by itself at about the time of the cancel; whichever wins, store, API and report agree from then on."""
    ends = {"completed": 0, "cancelled": 0}
    for i in range(40):
        op = cluster.start("bash", "-c", f"read -t 0.0{i % 10}{i % 7} <> <(:); exit 0", scope=f"last/i{i}")
        done = cluster.cancel(operation=op["id"])
        assert done["status"] == "settled"
        first = cluster.operation(op["id"])
        assert first["status"] in ends
        ends[first["status"]] += 1
        if done["outcome"] == "already_finished":
            assert first["status"] == "completed" and done["report"]["operations"] == 0
        else:
            finished = done["report"]["receipts"]["already_finished"]
            assert finished == (1 if first["status"] == "completed" else 0), (first, done)
            assert done["report"]["operations"] == 1
            assert cluster.operations(cancel=done["id"])[0]["status"] == first["status"]
        again = cluster.cancel(operation=op["id"])
        assert again["outcome"] == "already_finished"
        assert cluster.operation(op["id"]) == first
    assert sum(ends.values()) == 40


def test_a_second_cancel_joins_and_may_only_tighten(cluster):
    m = marker()
    op = cluster.start(*trees.deaf(m), scope="join/ed", grace_ms=60000)
    until(lambda: processes.marked(m + "-deaf"), "the task to run")
    first = cluster.cancel(scope="join/ed", wait="signalled", reason="first")
    second = cluster.cancel(scope="join/ed", wait="signalled", reason="second")
    assert second["outcome"] == "joined" and second["id"] == first["id"] and second["seq"] == first["seq"]
    assert second["reason"] == "first"
    third = cluster.cancel(scope="join/ed", grace_ms=0)
    assert third["id"] == first["id"] and third["status"] == "settled"
    assert processes.marked(m) == []
    assert cluster.operation(op["id"])["stop"]["reason"] == "first"


def test_the_same_id_is_the_same_thing(cluster):
    id = uuid7()
    body = {"id": id, "kind": "task", "scope": "same/id", "task": {"command": ["true"]}}
    assert cluster.api("POST", "/v1/operations", body).status == 201
    assert cluster.api("POST", "/v1/operations", body).status == 200
    body["task"]["command"] = ["false"]
    other = cluster.api("POST", "/v1/operations", body)
    assert other.status == 409 and other.json["code"] == "id_conflict"
    cluster.wait_status(id, "completed")
    body["task"]["command"] = ["true"]
    assert cluster.api("POST", "/v1/operations", body).status == 200
