"""The audit after load and faults: store, API, worker inventories and /proc must agree."""
import os
import sqlite3
import uuid
from collections import Counter

from . import processes
from .processes import guardian_of
from .waiting import until

STATUS = ("pending", "running", "paused", "cancelling", "completed", "failed", "cancelled")
ENDED = STATUS[4:]
RECEIPTS = ("cooperative", "terminated", "killed", "never_started", "already_finished", "unconfirmed", "declared")


def read_store(state):
    """(rows by id, cancel statuses by id, terminal events per operation) straight from the file."""
    store = sqlite3.connect(f"file:{state}/quell.db?mode=ro", uri=True)
    try:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        text = lambda blob: str(uuid.UUID(bytes=blob))
        rows = {text(r[0]): r[1:] for r in store.execute("SELECT id, seq, status, ended_seq, receipt FROM operation")}
        cancels = {text(r[0]): r[1] for r in store.execute("SELECT id, status FROM cancel")}
        ends = Counter(text(r[0]) for r in store.execute(
            "SELECT operation FROM event WHERE type IN ('operation_completed', 'operation_failed', 'operation_cancelled')"))
        return rows, cancels, ends
    finally:
        store.close()


def store_bytes(state):
    return sum(os.path.getsize(f"{state}/{n}") for n in os.listdir(state) if n.startswith("quell.db"))


def settle(c, marker, scope, seconds=60):
    """Faults are over: all workers come back, everything is cancelled, all cancels settle, no process is left."""
    until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "all workers to be back", seconds)
    last = c.cancel(scope=scope, wait_ms=60000)
    assert last["status"] == "settled", last
    until(lambda: not c.api("GET", "/v1/cancels?status=open").json["cancels"], "all cancels to settle", seconds)
    until(lambda: not processes.marked(marker), "every process to be gone", 5)
    until(lambda: all(w["slots_used"] == 0 and w["operations_live"] == 0 for w in c.api("GET", "/v1/workers").json["workers"]),
          "all slots to be free", 5)


def check_records(c, accepted, cancels):
    """Store and API contain every accepted operation and agree; everything is terminal, once."""
    shown = {o["id"]: o for o in c.operations()}
    rows, stored_cancels, ends = read_store(c.state)
    missing = [i for i in accepted if i not in shown]
    assert not missing, f"{len(missing)} accepted operations are missing: {missing[:3]}"
    assert set(shown) == set(rows), "the API and the store know different operations"
    for id, o in shown.items():
        seq, status, ended_seq, receipt = rows[id]
        assert (o["seq"], o["status"]) == (seq, STATUS[status]), (o, rows[id])
        assert o["status"] in ENDED and ended_seq > 0, o
        assert (o["stop"] or {}).get("receipt") == (RECEIPTS[receipt] if receipt is not None else None), (o, receipt)
        assert o["unreachable"] is None and o["ended_at"], o
    assert not [i for i, times in ends.items() if times > 1], "two terminal events of one operation"
    listed = all_cancels(c)
    for id in cancels:
        assert stored_cancels.get(id) == 2 and id in listed, f"cancel {id} is {stored_cancels.get(id)} in the store"
    for cancel in listed.values():
        assert cancel["status"] == "settled", cancel
        report = cancel["report"]
        assert report["unproven_total"] == 0, report
        assert sum(report["receipts"].values()) == report["operations"] == sum(report["proofs"].values()), report
    return shown


def all_cancels(c):
    found, cursor = {}, ""
    while cursor is not None:
        page = c.api("GET", f"/v1/cancels?limit=1000&cursor={cursor}" if cursor else "/v1/cancels?limit=1000").json
        found.update({x["id"]: x for x in page["cancels"]})
        cursor = page["next_cursor"]
    return found


def check_runs(shown, runs):
    """The tasks' own records: each ran at most once, and none that is reported as never started."""
    ran = Counter(processes.read(runs).decode().split())
    assert not [i for i, times in ran.items() if times > 1], "an operation ran twice"
    assert not [i for i in ran if i in shown and (shown[i]["stop"] or {}).get("receipt") == "never_started"], "it ran, and is said to be never started"


def check_workers(c):
    """The guardians have no child, their cgroups no child and no process; none of our processes has a zombie."""
    for w in c.workers.values():
        guardian = guardian_of(w.process.pid)
        assert guardian, f"worker {w.name} has no guardian"
        until(lambda: not processes.children_of(guardian), f"the guardian of {w.name} to have no child", 5)
        assert zombies_of(w.process.pid) == [] == zombies_of(guardian)
        id = processes.read(os.path.join(w.state, "id")).decode().strip()
        own = processes.cgroups("quell-worker-" + id[-12:])
        until(lambda: not [d for folder in own for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d)) and d.startswith("task")],
              f"the cgroups of {w.name} to have no task", 5)
    assert zombies_of(c.controller.pid) == []


def zombies_of(pid):
    return [p for p in processes.children_of(pid) if processes.state_of(p) == "Z"]
