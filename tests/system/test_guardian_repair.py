"""A worker whose guardian died and cannot be replaced at once retries; it does not leave."""
import contextlib
import os
import shutil
import signal

from harness import processes
from harness.cluster import BIN, Cluster, marker
from harness.waiting import until

STAY = "while :; do sleep 1000; done"


def test_a_worker_without_a_guardian_tries_again_until_there_is_one(tmp_path):
    program = tmp_path / "guardian"
    shutil.copy(f"{BIN}/quell-guardian", program)
    m = marker()
    with Cluster(workers=1, worker_flags=["--guardian", str(program)]) as c:
        worker = c.workers["w1"].process
        o = c.start("bash", "-c", f"exec -a {m} sleep 1000", scope="broken", grace_ms=0)
        until(lambda: processes.marked(m), "the task to run")
        guardian = next(p for p in processes.children_of(worker.pid) if "guardian" in processes.name_of(p))
        os.rename(program, tmp_path / "away")
        os.kill(guardian, signal.SIGKILL)
        until(lambda: not processes.marked(m), "the task to die with its guardian", 30)
        assert c.wait_status(o["id"], "failed")["error"]["code"] == "worker_lost"
        until(lambda: b"tried again" in processes.read(os.path.join(c.directory, "w1.log")), "the worker to say what is wrong")
        waiting = c.start("true", scope="broken")
        until(lambda: c.worker("w1")["slots"] == 0, "the worker to offer no slots")
        assert worker.poll() is None and c.operation(waiting["id"])["status"] == "pending"
        os.rename(tmp_path / "away", program)
        c.wait_status(waiting["id"], "completed", seconds=60)
        assert c.worker("w1")["status"] == "ready" and c.worker("w1")["slots"] == c.slots
        assert worker.poll() is None


def test_a_worker_whose_guardians_sweep_is_slow_offers_its_slots_again():
    import fcntl
    import threading
    with Cluster(workers=1) as c:
        worker = c.workers["w1"]
        guardian = next(p for p in processes.children_of(worker.process.pid) if "guardian" in processes.name_of(p))
        # The holder of the life lock counts as a leftover of an earlier guardian: the sweep waits for it.
        held = threading.Event()
        with open(os.path.join(worker.state, "life"), "rb") as life:
            taker = threading.Thread(target=lambda: (fcntl.flock(life, fcntl.LOCK_EX), held.set()), daemon=True)
            taker.start()
            os.kill(guardian, signal.SIGKILL)

            def is_ours():
                """If the next guardian was faster than the taker's thread, it has to go, too: the taker waits behind it."""
                later = processes.guardian_of(worker.process.pid)
                if not held.is_set() and later not in (None, guardian):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(later, signal.SIGKILL)
                return held.is_set()
            until(is_ours, "the lock to be ours")
            shown = until(lambda: (lambda w: w if w["slots"] == 0 and w["trouble"] else None)(c.worker("w1")), "the worker to offer no slots")
            assert shown["status"] == "ready" and "guardian" in shown["trouble"]["why"], shown
            waiting = c.start("true", scope="slow")
            until(lambda: "guardian" in (c.operation(waiting["id"])["waiting_for"] or {}).get("detail", ""), "the task to say what it waits for")
            fcntl.flock(life, fcntl.LOCK_UN)
        c.wait_status(waiting["id"], "completed", seconds=60)
        until(lambda: c.worker("w1")["slots"] == c.slots and c.worker("w1")["trouble"] is None, "the worker to be whole again", 60)
        assert worker.process.poll() is None


def test_a_worker_without_a_guardian_can_be_told_to_leave(tmp_path):
    program = tmp_path / "guardian"
    shutil.copy(f"{BIN}/quell-guardian", program)
    with Cluster(workers=1, worker_flags=["--guardian", str(program)]) as c:
        worker = c.workers["w1"].process
        guardian = next(p for p in processes.children_of(worker.pid) if "guardian" in processes.name_of(p))
        os.unlink(program)
        os.kill(guardian, signal.SIGKILL)
        until(lambda: b"tried again" in processes.read(os.path.join(c.directory, "w1.log")), "the worker to say what is wrong")
        worker.send_signal(signal.SIGTERM)
        until(lambda: worker.poll() is not None, "the worker to leave")
        assert worker.returncode == 0
