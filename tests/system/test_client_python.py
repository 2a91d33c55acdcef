"""The Python client (clients/python) with the real controller, in threads: every end of an operation, every way in which a cancel can reach it."""
import os
import signal
import subprocess
import threading

import pytest

from harness.cluster import Cluster, end
from harness.python_client import FOLDER, client, cluster, quell, terminal_events  # noqa: F401
from harness.waiting import until


def test_a_body_that_returns_is_completed_with_its_result(cluster, client):
    with client.operation("callLLM", scope="py/done", title="a call", labels={"pr": "1"}) as op:
        assert cluster.operation(op.id)["status"] == "running"
        op.raise_if_cancelled()
        op.heartbeat()
        op.result = {"tokens": 42, "text": "grüezi"}
    assert op.status == "completed"
    stored = cluster.operation(op.id)
    assert stored["status"] == "completed" and stored["result"] == {"tokens": 42, "text": "grüezi"}
    assert stored["name"] == "callLLM" and stored["title"] == "a call" and stored["labels"] == {"pr": "1"}


def test_an_exception_is_a_failure_and_goes_on(cluster, client):
    with pytest.raises(ValueError, match="no such model"):
        with client.operation("callLLM", scope="py/raise") as op:
            raise ValueError("no such model")
    stored = cluster.operation(op.id)
    assert stored["status"] == "failed" and stored["error"] == {"code": "error", "message": "ValueError: no such model"}


def test_operations_inside_each_other_are_children(cluster, client):
    with client.operation("agent", scope="py/tree") as agent:
        with client.operation("tool", scope="py/tree/tool") as tool:
            with client.operation("model") as model:
                assert quell.current_operation() is model
            with client.operation("alone", scope="py/other", parent=None) as alone:
                pass
        with client.operation("explicit", parent=agent.id) as explicit:
            pass
    assert quell.current_operation() is None
    stored = {name: cluster.operation(o.id) for name, o in (("agent", agent), ("tool", tool), ("model", model), ("alone", alone), ("explicit", explicit))}
    assert stored["tool"]["parent"] == stored["explicit"]["parent"] == agent.id and stored["model"]["parent"] == tool.id
    assert stored["model"]["scope"] == "py/tree/tool" and stored["alone"]["parent"] is None
    assert {o["status"] for o in stored.values()} == {"completed"}
    assert {o["id"] for o in client.list(below=agent.id)} == {agent.id, tool.id, model.id, explicit.id}


def test_a_cancel_reaches_threads_and_is_reported_as_stopped(cluster, client):
    begun, told, raised = threading.Barrier(4), [], []

    def work(i):
        try:
            with client.operation("loop", scope=f"py/threads/{i}") as op:
                op.on_cancel(lambda o: told.append(o.id))
                begun.wait(60)
                assert op.cancelled.wait(60)
                op.raise_if_cancelled()
        except quell.Cancelled as e:
            raised.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    begun.wait(60)
    done = client.cancel(scope="py/threads", reason="wrong branch")
    for t in threads:
        t.join(60)
    assert done["status"] == "settled" and done["report"]["receipts"]["cooperative"] == 3 and done["report"]["proofs"]["reported"] == 3
    assert [e.reason for e in raised] == ["wrong branch"] * 3 and all(e.cancel == done["id"] and e.started for e in raised)
    assert sorted(told) == sorted(e.operation for e in raised)


def test_what_a_user_stopped_is_not_brought_back_by_a_retry_loop(cluster, client):
    tries = []

    def work():
        with client.operation("retry", scope="py/retry") as op:
            while True:
                try:
                    tries.append(1)
                    op.cancelled.wait(60)
                    op.raise_if_cancelled()
                except Exception:  # as frameworks do
                    continue
    thread = threading.Thread(target=lambda: pytest.raises(quell.Cancelled, work))
    thread.start()
    until(lambda: tries, "the body to run")
    assert client.cancel(scope="py/retry")["report"]["proven"]
    thread.join(60)
    assert len(tries) == 1


def test_a_stale_start_raises_and_never_runs_the_body(cluster, client):
    ran = []
    with pytest.raises(quell.Cancelled):
        with client.operation("parent", scope="py/stale") as parent:
            client.cancel(operation=parent, reason="too late", wait="fenced")
            with pytest.raises(quell.Cancelled, match="too late") as refused:
                with client.operation("child"):
                    ran.append("child")
            assert not refused.value.started and refused.value.reason == "too late"
            parent.cancelled.wait(60)
            parent.raise_if_cancelled()
    queued = client.register_many([{"name": "queued", "scope": "py/queue"}, {"name": "queued", "scope": "py/queue", "parent": None}])
    assert [o.status for o in queued] == ["pending", "pending"]
    seq = client.status()["seq"]
    client.cancel(scope="py/queue", reason="queue cleared")
    for op in queued:
        with pytest.raises(quell.Cancelled, match="queue cleared"):
            with op:
                ran.append("queued")
        assert cluster.operation(op.id)["stop"]["receipt"] == "never_started"
    with pytest.raises(quell.Cancelled, match="queue cleared"):
        with client.operation("decided before", scope="py/queue", as_of_seq=seq):
            ran.append("decided before")
    with client.operation("after", scope="py/queue"):
        ran.append("after")
    assert ran == ["after"]


def test_a_registered_operation_starts_when_its_turn_comes(cluster, client):
    op = client.register("later", scope="py/later")
    assert cluster.operation(op.id)["status"] == "pending"
    with op:
        assert cluster.operation(op.id)["status"] == "running"
    assert cluster.operation(op.id)["status"] == "completed"


def test_one_that_supersedes_another_begins_when_that_has_ended(cluster, client):
    order, begun = [], threading.Event()

    def older():
        with client.operation("older", scope="py/super", supersede="k", grace_ms=20000) as op:
            begun.set()
            op.cancelled.wait(60)
            order.append("older unwound")
            op.raise_if_cancelled()
    thread = threading.Thread(target=lambda: pytest.raises(quell.Cancelled, older))
    thread.start()
    begun.wait(60)
    with client.operation("newer", scope="py/super", supersede="k"):
        order.append("newer runs")
    thread.join(60)
    assert order == ["older unwound", "newer runs"]


def test_an_operation_with_a_shorter_lease_than_the_others_is_kept_alive(cluster):
    with quell.Client(cluster.url, cluster.token, lease_ms=90000) as client:
        with client.operation("long", scope="py/lease"), client.operation("short", lease_ms=10000) as short, client.operation("none", lease_ms=0):
            assert not short.cancelled.wait(13.0)  # longer than its lease; short enough that the others' pace would lose it
    assert cluster.operation(short.id)["status"] == "completed"


def test_batches_register_and_end_a_thousand_at_a_time(cluster, client):
    made = client.register_many([{"name": f"b{i}", "scope": "py/batch"} for i in range(1500)] + [{"name": "bad", "scope": "not//valid"}])
    assert isinstance(made[-1], quell.Invalid) and all(isinstance(o, quell.Operation) for o in made[:-1])
    for op in made[:3]:
        op.begin()
    answers = client.end_many([(made[0], {"complete": {"result": 1}}), (made[1], {"fail": {"code": "error", "message": "no"}}), (made[2], {"stopped": {}})])
    assert [a["status"] for a in answers] == [200, 200, 409]
    assert cluster.operation(made[0].id)["result"] == 1 and cluster.operation(made[1].id)["status"] == "failed"
    done = client.cancel(scope="py/batch", grace_ms=0)
    assert done["report"]["operations"] == 1498 and done["status"] == "settled"


HOLDER = """
import sys, os
sys.path.insert(0, os.environ["QUELL_CLIENT"])
import quell
client = quell.Client(lease_ms=int(sys.argv[2]))
with client.operation("held", scope=sys.argv[1]) as op:
    print(op.id, flush=True)
    op.cancelled.wait(600)
    op.raise_if_cancelled()
"""


INSIDE = """
import sys, os
sys.path.insert(0, os.environ["QUELL_CLIENT"])
import quell
try:
    with quell.operation("inside") as op:
        op.cancelled.wait(600)
        op.raise_if_cancelled()
except quell.Cancelled as e:
    print(e.reason)
"""


def test_inside_a_task_nothing_need_be_configured_and_what_it_registers_is_its_child():
    with Cluster(workers=1) as c:
        task = c.start("/usr/bin/python3", "-c", INSIDE, scope="py/task", task_env={"QUELL_CLIENT": FOLDER})
        child = until(lambda: next((o for o in c.operations(below=task["id"]) if o["kind"] == "external"), None), "the task to register its operation")
        assert child["parent"] == task["id"] and child["scope"] == "py/task" and child["root"] == task["id"]
        assert c.cancel(operation=child["id"], reason="only the inner one")["report"]["receipts"]["cooperative"] == 1
        c.wait_status(task["id"], "completed")
        assert c.output(task["id"]) == b"only the inner one\n"


def test_an_owner_that_is_killed_loses_its_operation_to_the_lease(cluster):
    holder = subprocess.Popen(["/usr/bin/python3", "-c", HOLDER, "py/lost", "10000"], stdout=subprocess.PIPE, text=True,
                              env=cluster.environment(QUELL_CLIENT=FOLDER))
    try:
        id = holder.stdout.readline().strip()
        assert cluster.operation(id)["status"] == "running"
        holder.kill()
        lost = cluster.wait_status(id, "failed")
        assert lost["error"]["code"] == "heartbeat_lost"
    finally:
        holder.kill()
        end(holder)
        holder.stdout.close()


def test_an_owner_that_was_frozen_past_its_lease_is_told_that_it_is_over(cluster):
    holder = subprocess.Popen(["/usr/bin/python3", "-c", HOLDER, "py/frozen", "3000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=cluster.environment(QUELL_CLIENT=FOLDER))
    try:
        id = holder.stdout.readline().strip()
        os.kill(holder.pid, signal.SIGSTOP)
        assert cluster.wait_status(id, "failed")["error"]["code"] == "heartbeat_lost"
        os.kill(holder.pid, signal.SIGCONT)
        _, said = holder.communicate(timeout=60)
        assert holder.returncode == 1 and "Cancelled" in said and "out of contact" in said
    finally:
        holder.kill()
        end(holder)
    assert terminal_events(cluster, id) == ["operation_failed"]


def test_errors_are_types_with_the_fields_of_the_problem(cluster, client):
    with pytest.raises(quell.Invalid) as bad:
        with client.operation("x", scope="a//b"):
            pass
    assert bad.value.status == 422 and bad.value.code == "bad_scope" and bad.value.errors and bad.value.request
    with pytest.raises(quell.NotFound) as gone:
        client.get("01a1f869-3df9-7303-8207-dde70bee07dd")
    assert gone.value.code == "operation_not_found"
    with pytest.raises(quell.Unauthenticated):
        quell.Client(cluster.url, "wrong").status()
    with pytest.raises(quell.Unreachable):
        quell.Client("http://127.0.0.1:1", "x", patience=0.2).status()
    with client.operation("done", scope="py/errors") as op:
        pass
    with pytest.raises(quell.AlreadyTerminal) as over:
        client.transport.request("POST", f"/v1/operations/{op.id}/stopped", {})
    assert over.value.operation["status"] == "completed"
    with pytest.raises(quell.Conflict) as twice:
        with client.operation("other", scope="py/errors", id=op.id):
            pass
    assert twice.value.code == "id_conflict"


def test_the_client_finds_the_controller_of_this_machine(cluster, monkeypatch):
    for name in ("QUELL_URL", "QUELL_TOKEN", "QUELL_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUELL_STATE", cluster.state)
    with quell.Client() as found:
        assert found.status()["seq"] >= 0
    monkeypatch.setenv("QUELL_STATE", os.path.join(cluster.directory, "nothing"))
    with pytest.raises(quell.Unreachable, match="QUELL_URL"):
        quell.Client()


def test_events_go_on_over_lost_connections(cluster, client):
    seen = []
    with client.operation("watched", scope="py/watch") as op:
        for event in client.events(operation=op, after="0"):
            seen.append(event["type"])
            if event["type"] == "operation_started":
                break
    assert seen[0] == "operation_created"
