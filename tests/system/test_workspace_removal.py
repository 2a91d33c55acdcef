"""A turn's own workspace is removed in the end, whatever becomes of the removal that was ordered first."""
import signal

from harness import processes
from harness.cluster import marker
from harness.waiting import until
from harness.workspaces import World


def removals(c):
    return c.operations(scope="quell/workspaces", kind="task")


def test_a_removal_that_was_cancelled_while_its_worker_was_away_is_ordered_again():
    with World(settings=["workers.heartbeat=200ms", "workers.lease=5s"]) as c:
        mark = marker("x")
        turn = c.ask("hold", [("exec", {"command": f"echo x > x; sleep 1000; : {mark}"})], scope="t", agent="turn")
        until(lambda: processes.marked(mark), "the call to run")
        place, = c.directories()
        worker = c.workers["w1"].process
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        until(lambda: c.worker("w1")["status"] == "lost", "the worker to be lost")
        c.cancel(wait="fenced", operation=turn)
        c.ended(turn, 60)
        until(lambda: removals(c), "the removal to be ordered", 60)
        c.restart()
        c.cancel(everything=True)
        assert [o["status"] for o in removals(c)] == ["cancelled"], "one removal was ordered, also behind a restart"
        c.add_worker("w1")
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        assert c.directories() == [place]
        c.restart()
        until(lambda: not c.directories(), "the workspace to be removed", 60)
        until(lambda: [o["status"] for o in removals(c)].count("completed") == 1, "the removal to be recorded")
