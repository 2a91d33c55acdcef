"""`user` of a task: a worker that runs as root runs the task as another user, and still stops it with proof."""
import os
import pwd
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, Cluster, levels, marker
from harness.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as somebody else")
STAY = "while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, worker_flags=["--user", "nobody"]) as c:
        yield c


def test_a_task_runs_as_the_user_that_it_asks_for(cluster):
    script = "id -un; id -G; echo $HOME $USER $LOGNAME; echo again > /dev/stdout; grep -c . /proc/self/cgroup > /dev/null; cat /proc/self/status | grep CapEff"
    done = cluster.quell("run", "--user", "nobody", "--", "sh", "-c", script, check=0)
    nobody = pwd.getpwnam("nobody")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "nobody" and str(nobody.pw_gid) in lines[1].split() and "0" not in lines[1].split()
    assert lines[2] == f"{nobody.pw_dir} nobody nobody"
    assert lines[3] == "again"
    assert lines[4].split()[1].strip("0") == ""  # no capability is left


def test_the_user_is_shown(cluster):
    o = cluster.start("true", task_user="nobody")
    assert o["task"]["user"] == "nobody"
    assert cluster.wait_status(o["id"], "completed")["task"]["user"] == "nobody"
    shown = cluster.quell("show", o["id"], check=0).stdout.decode()
    assert "user        nobody" in shown
    assert cluster.start("true")["task"]["user"] is None
    assert "--user" in cluster.quell("doctor").stdout.decode()


def test_a_user_that_the_worker_does_not_permit_is_refused(cluster):
    o = cluster.wait_status(cluster.start("id", task_user="daemon")["id"], "failed")
    assert o["error"]["code"] == "start_failed" and "daemon" in o["error"]["message"] and "nobody" in o["error"]["message"]
    assert o["started_at"] is None
    assert cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["id"], "user": "no/body"}}).status == 422
    # Its own user needs no permission.
    assert cluster.quell("run", "--user", "root", "--", "id", "-un", check=0).stdout == b"root\n"


def test_a_terminal_belongs_to_the_user(cluster):
    done = cluster.quell("run", "--pty", "--user", "nobody", "--", "sh", "-c", "echo fine > /dev/tty; id -un > $(tty)", check=0)
    assert done.stdout.split() == [b"fine", b"nobody"]


def test_what_it_starts_has_its_user_and_no_other(cluster):
    nested = cluster.quell("run", "--user", "nobody", "--", "quell", "run", "--", "id", "-un")
    assert nested.stdout == b"nobody\n", nested
    refused = cluster.quell("run", "--user", "nobody", "--", "quell", "run", "--user", "root", "--", "id", "-un")
    assert refused.returncode == 125 and b"nobody" in refused.stderr and refused.stdout == b"", refused


def test_it_cannot_read_the_environment_of_others(cluster):
    other = cluster.start("bash", "-c", STAY, task_env={"SECRET": "x"}, scope="other", grace_ms=0)
    pid = cluster.wait_status(other["id"], "running")["task"]["pid"]
    done = cluster.quell("run", "--user", "nobody", "--", "sh", "-c", f"cat /proc/{pid}/environ")
    assert done.returncode == 1 and b"SECRET" not in done.stdout
    cluster.cancel(scope="other")


@pytest.mark.parametrize("level", levels())
def test_it_is_stopped_with_proof_at_every_level(level):
    m = marker()
    tree = f"trap '' TERM HUP; (setsid bash -c \"trap '' TERM; exec -a {m} sleep 1000\" &) ; (exec -a {m} sleep 1000) & exec -a {m} bash -c 'trap \"\" TERM; {STAY}'"
    with Cluster(workers=1, worker_flags=["--user", "nobody", "--containment", level]) as c:
        o = c.start("bash", "-c", tree, scope="stop", grace_ms=300, task_user="nobody")
        stands = lambda: [p for p in processes.marked(m) if processes.read(f"/proc/{p}/cmdline").startswith(m.encode())]
        until(lambda: len(stands()) == 3, "the tree to stand")
        c.wait_status(o["id"], "running")
        nobody = pwd.getpwnam("nobody").pw_uid
        for pid in stands():
            assert os.stat(f"/proc/{pid}").st_uid == nobody
        done = c.cancel(scope="stop")
        assert done["report"]["proven"] is True and done["report"]["receipts"]["killed"] == 1
        assert not processes.marked(m)


@pytest.mark.parametrize("level", levels())
def test_it_dies_with_its_guardian(level):
    m = marker()
    with Cluster(workers=1, worker_flags=["--user", "nobody", "--containment", level]) as c:
        c.start("bash", "-c", f"exec -a {m} sleep 1000", scope="stop", task_user="nobody")
        until(lambda: processes.marked(m), "the task to run")
        worker = c.workers["w1"].process
        worker.kill()
        worker.wait(timeout=60)
        until(lambda: not processes.marked(m), "the task to die with its worker")


def test_an_unknown_user_is_no_configuration(tmp_path):
    with Cluster(workers=0) as c:
        join = c.enrol("w1")
        done = subprocess.run([f"{BIN}/quell-worker", "--join-file", join, "--state", str(tmp_path), "--user", "no-such-user"], capture_output=True, timeout=60)
        assert done.returncode == 2 and b"no-such-user" in done.stderr
