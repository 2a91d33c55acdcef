"""A cancel reaches exactly its target; trees span workers; dry runs are correct."""
import pytest

from harness import processes, trees
from harness.cluster import BIN, Cluster, marker
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=2) as c:
        yield c


def nested(m, levels):
    """A task that starts a child on the other worker, which starts a child on the first one …"""
    if not levels:
        return ["bash", "-c", "trap '' TERM; while :; do sleep 1000; done", f"{m}-leaf"]
    worker = "w2" if levels % 2 else "w1"
    return ["bash", "-c", f'trap "" TERM; "$@"; while :; do sleep 1000; done', f"{m}-{levels}", "quell", "run", "--worker", worker, "--grace",
            "300ms", "--"] + nested(m, levels - 1)


def test_three_levels_over_two_workers_die_with_their_root(cluster):
    m = marker()
    root = cluster.start(*nested(m, 2), scope="deep/tree", task_worker="w1", grace_ms=300)
    until(lambda: len(cluster.operations(below=root["id"], status="running")) == 3, "three levels to run")
    until(lambda: any(m in processes.read(f"/proc/{p}/cmdline").decode() for p in processes.marked(m + "-leaf")), "the leaf to run")
    tree = cluster.operations(below=root["id"], order="asc")
    assert {o["worker"] for o in tree} == {"w1", "w2"}
    assert [o["root"] for o in tree] == [root["id"]] * 3
    report = cluster.cancel(operation=root["id"])["report"]
    assert processes.marked(m) == []
    assert report["operations"] == 3 and report["proven"]
    assert sorted(report["workers"]) == ["w1", "w2"]
    assert {o["status"] for o in cluster.operations(below=root["id"])} == {"cancelled"}


def test_siblings_parents_and_other_scopes_go_on(cluster):
    m = marker()
    parent = cluster.start(*trees.crowd(m + "-parent", 1), scope="go/on")
    branch = cluster.start(*trees.crowd(m + "-branch", 2), scope="go/on", parent=parent["id"])
    leaf = cluster.start(*trees.crowd(m + "-leaf", 1), scope="go/on", parent=branch["id"])
    sibling = cluster.start(*trees.crowd(m + "-sibling", 1), scope="go/on", parent=parent["id"])
    stranger = cluster.start(*trees.crowd(m + "-stranger", 1), scope="go/onwards")
    for o in (parent, branch, leaf, sibling, stranger):
        cluster.wait_status(o["id"], "running")
    cluster.cancel(operation=branch["id"])
    assert processes.marked(m + "-branch") == [] and processes.marked(m + "-leaf") == []
    for o, name in ((parent, "parent"), (sibling, "sibling"), (stranger, "stranger")):
        assert cluster.operation(o["id"])["status"] == "running"
        assert processes.marked(f"{m}-{name}")
    cluster.cancel(scope="go/on")
    assert cluster.operation(stranger["id"])["status"] == "running", "team/a must not touch team/ab"
    assert processes.marked(m + "-stranger")
    cluster.cancel(scope="go")
    assert processes.marked(m) == []


def test_a_dry_run_lists_exactly_what_the_cancel_then_stops(cluster):
    m = marker()
    ours = [cluster.start(*trees.crowd(f"{m}-{i}", 1), scope=s)["id"] for i, s in enumerate(["dry", "dry/a", "dry/a/b"])]
    other = cluster.start(*trees.crowd(f"{m}-other", 1), scope="drys")
    for id in ours:
        cluster.wait_status(id, "running")
    answer = cluster.api("POST", "/v1/cancels", {"scope": "dry", "dry_run": True})
    assert answer.status == 200
    dry = answer.json
    assert dry["id"] is None and dry["seq"] is None and dry["dry_run"] is True
    listed = [o["id"] for o in dry["would_stop"]["operations"]]
    assert sorted(listed) == sorted(ours)
    assert dry["report"]["operations"] == 3
    assert all(cluster.operation(id)["status"] == "running" for id in ours)
    done = cluster.cancel(scope="dry")
    assert done["report"]["operations"] == 3
    stopped = [o["id"] for o in cluster.operations(cancel=done["id"])]
    assert sorted(stopped) == sorted(listed)
    cluster.cancel(operation=other["id"])


def test_a_detached_child_survives_its_parent_but_not_its_scope(cluster):
    m = marker()
    parent = cluster.start(*trees.crowd(m + "-p", 1), scope="det/ach")
    child = cluster.start(*trees.crowd(m + "-c", 1), scope="det/ach", parent=parent["id"], on_parent_end="detach")
    cluster.wait_status(child["id"], "running")
    done = cluster.cancel(operation=parent["id"])
    assert done["report"]["operations"] == 1
    assert cluster.operation(child["id"])["status"] == "running" and processes.marked(m + "-c")
    cluster.cancel(scope="det/ach")
    assert processes.marked(m) == []


def test_a_child_ends_with_its_parent_and_one_that_is_waited_for_does_not(cluster):
    m = marker()
    parent = cluster.start("bash", "-c", "read line; exit 0", scope="par/ent", task_stdin=True, title="leaves when told")
    cluster.wait_status(parent["id"], "running")
    dies = cluster.start(*trees.crowd(m + "-dies", 1), scope="par/ent", parent=parent["id"])
    waits = cluster.start("bash", "-c", "read line; exit 0", scope="par/ent", parent=parent["id"], on_parent_end="wait", task_stdin=True)
    for o in (dies, waits):
        cluster.wait_status(o["id"], "running")
    cluster.api("POST", f"/v1/operations/{parent['id']}/input?offset=0&end=true", raw=b"go\n")
    ended = cluster.wait_status(dies["id"], "cancelled")
    assert ended["stop"]["cause"] == "parent_ended"
    assert processes.marked(m) == []
    assert cluster.operation(parent["id"])["status"] == "running", "it waits for the child that asked to be waited for"
    cluster.api("POST", f"/v1/operations/{waits['id']}/input?offset=0&end=true", raw=b"go\n")
    cluster.wait_status(waits["id"], "completed")
    cluster.wait_status(parent["id"], "completed")


def test_owner_and_everything(cluster):
    mia = cluster.start("sleep", "1000", scope="own/er", owner={"id": "mia", "name": "Mia"})
    tom = cluster.start("sleep", "1000", scope="own/er", owner={"id": "tom", "name": "Tom"})
    for o in (mia, tom):
        cluster.wait_status(o["id"], "running")
    done = cluster.cancel(owner="mia")
    assert done["report"]["operations"] == 1
    assert cluster.operation(mia["id"])["status"] == "cancelled"
    assert cluster.operation(tom["id"])["status"] == "running"
    done = cluster.cancel(everything=True)
    assert done["status"] == "settled"
    assert cluster.operation(tom["id"])["status"] == "cancelled"
    assert cluster.operations(status="live") == []


def test_one_deadline_for_a_wide_and_deep_tree(cluster):
    """6 deep and 30 wide, all of which ignore SIGTERM: depth and width do not add up."""
    m = marker()
    for column in range(30):
        parent = None
        for row in range(6):
            parent = cluster.start(*trees.deaf(f"{column}-{row}-{m}"), scope="wide/deep", parent=parent, task_slots=0)["id"]
    until(lambda: len(processes.marked(m + "-deaf")) == 180, "180 tasks to run", 180)
    done = cluster.cancel(scope="wide/deep", grace_ms=5000)
    assert processes.marked(m) == []
    assert done["report"]["operations"] == 180
    assert done["report"]["receipts"]["killed"] == 180
    # Not a measured figure but the guarantee itself: one grace, not one per level. Six would be 30 s.
    assert done["report"]["settled_ms"] < 25000, done["report"]
