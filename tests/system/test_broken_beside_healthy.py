"""A worker whose starts fail, beside a healthy one: the work goes to the healthy one, and the broken one tries again later and later."""
import os
import re

import pytest

from harness import processes
from harness.cluster import Cluster, marker
from harness.processes import descriptors, guardian_of
from harness.waiting import until
from test_resource_limits import limit_descriptors, sleeper

TASKS = 6


def pauses(c):
    """The pauses that w1 has told of, in seconds."""
    log = processes.read(os.path.join(c.directory, "w1.log")).decode()
    return [int(n) for n in re.findall(r"cannot start tasks: .*; it takes none for (\d+) s", log)]


@pytest.mark.parametrize("program", ["worker", "guardian"])
def test_the_healthy_one_gets_all_work_and_the_broken_one_none(program):
    with Cluster(workers=2) as c:
        m = marker()
        broken = c.workers["w1"].process.pid
        pid = broken if program == "worker" else guardian_of(broken)
        lift = limit_descriptors(pid, descriptors(pid))
        # Those that were meant for it are given back; the others find no slot there.
        tasks = [c.start(*sleeper(m), scope="beside") for _ in range(TASKS)]
        for t in tasks:
            assert c.wait_status(t["id"], "running")["worker"] == "w2"
        shown = until(lambda: (lambda w: w if w["trouble"] else None)(c.worker("w1")), "the broken one to say so")
        assert shown["slots"] == 0 and shown["slots_used"] == 0 and shown["status"] == "ready", shown
        assert c.wait_status(c.start(*sleeper(m), scope="beside")["id"], "running")["worker"] == "w2"
        told = until(lambda: (lambda p: p if len(p) >= 3 else None)(pauses(c)), "the third pause") if program == "worker" else pauses(c)
        assert told == [1, 2, 4, 8, 16, 32, 60][:len(told)] and told, told
        assert c.worker("w2")["trouble"] is None and c.worker("w2")["slots_used"] == TASKS + 1
        lift()
        until(lambda: (lambda w: w["trouble"] is None and w["slots"] == c.slots)(c.worker("w1")), "it to offer its slots again", 90)
        c.wait_status(c.start("true", scope="beside", task_worker="w1")["id"], "completed")
        assert c.cancel(scope="beside")["status"] == "settled"
        assert processes.marked(m) == []
