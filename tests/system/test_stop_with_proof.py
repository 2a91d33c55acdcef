"""After a cancel reports settled, no process of the target lives and no cgroup is left: each awkward tree, at each level of containment."""
import pytest

from harness import processes, trees
from harness.cluster import Cluster, levels, marker
from harness.waiting import until

CASES = {
    "ignores SIGTERM": (trees.term_ignored, {}, 2),
    "daemonises": (trees.daemon, {}, 2),
    "respawns itself": (trees.respawner, {}, 1),
    "stopped by SIGSTOP": (trees.stopped, {}, 2),
    "leader gone, children live": (trees.orphans, {}, 2),
    "500 processes": (lambda m: trees.crowd(m, 500), {}, 500),
    "a PTY shell with job control": (trees.job_control_shell, {"task_pty": True}, 2),
}


@pytest.fixture(scope="module", params=levels())
def cluster(request):
    with Cluster(workers=1, worker_flags=["--containment", request.param]) as c:
        assert c.worker("w1")["containment"] == request.param
        yield c


@pytest.mark.parametrize("case", CASES)
def test_nothing_lives_after_settled(cluster, case):
    command, fields, least = CASES[case]
    m = marker()
    op = cluster.start(*command(m), scope="proof/one", grace_ms=300, **fields)
    until(lambda: len(processes.marked(m)) >= least, f"{least} processes of the tree to run")
    cluster.wait_status(op["id"], "running")
    report = cluster.cancel(scope="proof/one")
    assert processes.marked(m) == [], f"alive after settled: {report}"
    assert report["status"] == "settled" and report["report"]["proven"] is True
    assert processes.cgroups(op["id"]) == []
    after = cluster.operation(op["id"])
    assert after["status"] == "cancelled"
    assert after["stop"]["receipt"] in ("cooperative", "terminated", "killed")
    level = cluster.worker("w1")["containment"]
    assert after["stop"]["proof"] == {"cgroup+pidns": "cgroup_empty", "cgroup": "cgroup_empty", "pidns": "pidns_gone",
                                      "group": "group_empty"}[level]
    assert after["task"]["containment"] == level


def test_a_kill_needs_no_grace(cluster):
    m = marker()
    op = cluster.start(*trees.term_ignored(m), scope="proof/kill", grace_ms=600000)
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    answer = cluster.cancel(operation=op["id"], grace_ms=0)
    assert answer["status"] == "settled"
    assert processes.marked(m) == []
    assert answer["report"]["receipts"]["killed"] == 1


def test_a_leader_that_exits_may_take_the_rest_along(cluster):
    m = marker()
    op = cluster.start(*trees.orphans(m), scope="proof/leader", task_on_leader_exit="kill")
    ended = cluster.wait_status(op["id"], "completed")
    assert processes.marked(m) == []
    assert ended["exit"] == {"code": 0}


def test_a_tree_that_obeys_is_terminated_not_killed(cluster):
    m = marker()
    op = cluster.start("sleep", "1000", scope="proof/obey", title=m)
    cluster.wait_status(op["id"], "running")
    answer = cluster.cancel(operation=op["id"])
    assert answer["report"]["receipts"]["terminated"] == 1, answer
    assert cluster.operation(op["id"])["exit"] == {"signal": "TERM"}
