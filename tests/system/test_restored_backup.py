"""A backup of a running cluster, restored later: operations in flight at the backup do not run a second time, and are never reported as never started."""
import os
import shutil
import sqlite3

from harness.cluster import Cluster, marker
from harness.waiting import until


def lines(path):
    return open(path).read().splitlines() if os.path.exists(path) else []


def test_what_waited_in_a_backup_and_ran_since_is_not_run_again():
    with Cluster(workers=1, slots=1, settings=["workers.lease=10s", "workers.heartbeat=200ms", "workers.handover=3s"]) as c:
        log = os.path.join(c.directory, "ran.log")
        holds = c.start("bash", "-c", "read -r line", marker("holds"), scope="hold", task_stdin=True)
        c.wait_status(holds["id"], "running")
        waits, stopped = [c.start("bash", "-c", f"echo {name} >> {log}", scope=name) for name in ("waits", "stopped")]
        backup = os.path.join(c.directory, "backup.db")
        source, target = sqlite3.connect(os.path.join(c.state, "quell.db")), sqlite3.connect(backup)
        source.backup(target)
        source.close(), target.close()

        assert c.cancel(scope="hold")["status"] == "settled"
        for o in (waits, stopped):
            c.wait_status(o["id"], "completed")
        assert lines(log) == ["waits", "stopped"]
        for _ in range(2):  # its workers have seen later epochs than the backup contains
            c.kill_controller()
            c.start_controller()
        c.kill_controller()
        for end in ("-wal", "-shm"):
            if os.path.exists(path := os.path.join(c.state, "quell.db" + end)):
                os.unlink(path)
        shutil.copy(backup, os.path.join(c.state, "quell.db"))
        c.settings[-1] = "workers.handover=60s"  # nothing is judged before the crash
        c.start_controller(flags=["--restored"])
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be taken")
        assert c.operation(waits["id"])["status"] == "pending"
        report = c.cancel(wait="fenced", scope="stopped")
        c.kill_controller()  # a crash right after the restore keeps the mark
        c.settings[-1] = "workers.handover=3s"
        c.start_controller()

        assert c.wait_status(waits["id"], "failed")["error"]["code"] == "interrupted"
        cancelled = c.wait_status(stopped["id"], "cancelled")
        assert cancelled["started_at"] is None and cancelled["stop"]["receipt"] != "never_started", cancelled
        settled = until(lambda: (lambda k: k if k["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{report['id']}").json), "the cancel to settle")
        assert settled["report"]["proofs"].get("never_ran", 0) == 0, settled
        assert lines(log) == ["waits", "stopped"]
        fresh = c.start("bash", "-c", f"echo fresh >> {log}", scope="fresh")
        c.wait_status(fresh["id"], "completed")
        assert lines(log) == ["waits", "stopped", "fresh"]
