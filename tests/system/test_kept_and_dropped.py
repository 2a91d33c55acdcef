"""store.keep_operations: ended operations are dropped later, in slices, but never one that a kept row still needs."""
import os
import signal
import time
import uuid

from harness.cluster import Cluster
from harness.waiting import until

HALF_A_DAY_MS = 12 * 3600 * 1000


def old_id(seconds_left):
    """An id that a create can carry for that many more seconds: its row is kept until then, because a repeat must be idempotent."""
    ms = int(time.time() * 1000) - HALF_A_DAY_MS + int(seconds_left * 1000)
    n = (ms << 80) | (7 << 76) | ((uuid.uuid4().int & 0xFFF) << 64) | (2 << 62) | (uuid.uuid4().int & ((1 << 62) - 1))
    return str(uuid.UUID(int=n))


def folder(c, id):
    return os.path.join(c.state, "output", id[34:], id)


def is_gone(c, id):
    return c.api("GET", f"/v1/operations/{id}").status == 404


def test_what_ended_long_ago_goes_with_its_output_and_cancel():
    with Cluster(workers=1, settings=["store.keep_operations=1s"]) as c:
        young = c.start("true", scope="young")
        live = c.start("bash", "-c", "while :; do sleep 1000; done", scope="live", id=old_id(40), grace_ms=0)
        done = c.start("bash", "-c", "echo hello", scope="old", id=old_id(40))
        stopped = c.start("bash", "-c", "while :; do sleep 1000; done", scope="old/stopped", id=old_id(40), grace_ms=0)
        below_live = c.start("bash", "-c", "while :; do sleep 1000; done", scope="live", parent=live["id"], id=old_id(40), grace_ms=0)
        cancel, needed = old_id(40), old_id(40)
        c.wait_status(done["id"], "completed")
        c.cancel(operation=stopped["id"], id=cancel, reason="enough")
        c.cancel(operation=below_live["id"], id=needed, reason="only this")
        assert c.output(done["id"]) == b"hello\n" and os.path.isdir(folder(c, done["id"]))

        until(lambda: is_gone(c, done["id"]) and is_gone(c, stopped["id"]), "what ended to be dropped", 120)
        answer = c.api("GET", f"/v1/operations/{done['id']}")
        assert answer.json["code"] == "operation_not_found" and "no longer kept" in answer.json["detail"]
        until(lambda: c.api("GET", f"/v1/cancels/{cancel}").status == 404, "its cancel to be dropped", 60)
        assert "no longer kept" in c.api("GET", f"/v1/cancels/{cancel}").json["detail"]
        until(lambda: not os.path.exists(folder(c, done["id"])), "its output to go, too")
        # A repeat of the create does not run it again.
        assert c.api("POST", "/v1/operations", {"id": done["id"], "kind": "task", "scope": "old", "task": {"command": ["bash", "-c", "echo hello"]}}).status == 422

        assert c.operation(live["id"])["status"] == "running"
        kept = c.operation(below_live["id"])
        assert kept["status"] == "cancelled" and kept["stop"]["reason"] == "only this"
        assert c.api("GET", f"/v1/cancels/{needed}").status == 200
        assert c.operation(young["id"])["status"] == "completed"  # its id is too young

        c.cancel(operation=live["id"])
        until(lambda: is_gone(c, live["id"]) and is_gone(c, below_live["id"]), "the tree to go when all of it has ended", 60)
        until(lambda: c.api("GET", f"/v1/cancels/{needed}").status == 404, "the cancel to go after what needed it", 60)


def test_a_crash_while_old_work_goes_leaves_a_whole_store():
    with Cluster(workers=1, settings=["store.keep_operations=1s"]) as c:
        ids = []
        for _ in range(60):
            parent = c.start("true", id=old_id(25), scope="crash", task_slots=0)
            ids.append(parent["id"])
        alive = c.start("bash", "-c", "while :; do sleep 1000; done", scope="alive", grace_ms=0)
        until(lambda: not c.operations(scope="crash", status="live"), "all to end", 60)
        for round in range(100):
            left = sum(not is_gone(c, id) for id in ids)
            if left < len(ids):
                c.kill_controller(signal.SIGKILL)
                c.start_controller()
            if left == 0:
                break
            until(lambda: sum(not is_gone(c, id) for id in ids) < left or left == 0, "some to go", 60)
        assert left == 0
        until(lambda: c.operation(alive["id"])["status"] == "running", "the running task to be adopted")
        assert c.cancel(scope="alive")["report"]["proven"] is True
        until(lambda: not any(os.path.exists(folder(c, id)) for id in ids), "the output of what went to go, too")
