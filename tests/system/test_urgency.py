"""The threads on a stop's path are scheduled before all others, if that is permitted; the processes of tasks are not."""
import contextlib
import os
import subprocess
import sys

import pytest

from harness.cluster import Cluster, levels
from harness.processes import guardian_of
from harness.waiting import until

MAY = subprocess.run([sys.executable, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"],
                     stderr=subprocess.DEVNULL).returncode == 0


def policies(pid):
    found = []
    for t in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):  # a thread that has ended meanwhile
            found.append(os.sched_getscheduler(int(t)) & ~os.SCHED_RESET_ON_FORK)
    return found


@pytest.mark.skipif(not MAY, reason="real-time scheduling is not allowed here")
def test_some_threads_are_urgent_and_the_others_are_not():
    with Cluster(workers=1) as c:
        for pid in (c.controller.pid, c.workers["w1"].process.pid):
            until(lambda: {os.SCHED_FIFO, os.SCHED_OTHER} <= set(policies(pid)), f"threads of both kinds in {pid}")
        guardian = guardian_of(c.workers["w1"].process.pid)
        assert policies(guardian) == [os.SCHED_OTHER]  # it clones continuously


@pytest.mark.parametrize("level", levels())
def test_a_task_and_what_it_starts_run_as_ordinary_processes(level):
    look = "import os, subprocess, sys; print(os.sched_getscheduler(0)); sys.stdout.flush(); os.fork() or print(os.sched_getscheduler(0))"
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        done = c.quell("run", "--", "/usr/bin/python3", "-c", look)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [b"0", b"0"]
