"""Limits of memory, processes and processors that one task requests: enforced for its whole tree, or the task does not start."""
import glob
import os
import re
import shutil
import subprocess

import pytest

from harness.cluster import BIN, Cluster, Worker, die_with_us, levels
from harness.waiting import until

MIB = 1024 * 1024
EAT = "b=bytearray(400*1024*1024)\nfor i in range(0,len(b),4096): b[i]=1\nprint('fits',flush=True)"
BOMB = ("import os,signal\nn=0\ntry:\n  while n<2000:\n    if os.fork()==0: signal.pause()\n    n+=1\n"
        "except OSError: print(n,flush=True); os._exit(7)\nprint(n)")


@pytest.fixture(scope="module", params=levels())
def cluster(request):
    with Cluster(workers=1, worker_flags=["--pids", "300", "--containment", request.param]) as c:
        c.unable = " ".join(c.worker("w1")["containment_limits"])
        yield c


def need(cluster, controller):
    if f"The {controller} of a task cannot be limited" in cluster.unable:
        pytest.skip("this machine cannot, and the worker says so")


def test_a_task_that_needs_more_memory_is_killed_and_told_why(cluster):
    need(cluster, "memory")
    o = cluster.start("python3", "-c", EAT, task_memory_bytes=100 * MIB)
    assert o["task"]["memory_bytes"] == 100 * MIB and o["task"]["pids"] is None
    done = cluster.wait_status(o["id"], "failed")
    assert done["exit"] == {"signal": "KILL"}, done
    assert done["error"] == {"code": "error", "message": "killed by signal KILL: it needed more memory than its limit of 100 MiB, "
                                                         "and the kernel killed a process of it"}
    assert cluster.quell("run", "--", "python3", "-c", EAT, check=0).stdout == b"fits\n"  # without the limit it fits


def test_it_counts_for_the_tree_and_for_nobody_else(cluster):
    need(cluster, "memory")
    neighbour = cluster.start("python3", "-c", EAT + "\nimport signal\nsignal.pause()", scope="neighbour")
    until(lambda: cluster.quell("logs", neighbour["id"]).stdout, "the neighbour to have its memory")
    halves = "python3 -c '" + EAT.replace("400", "60").replace("'fits'", "1") + "\nimport signal\nsignal.pause()' & "
    o = cluster.start("bash", "-c", halves * 2 + "wait -n; exit 9", task_memory_bytes=100 * MIB, task_on_leader_exit="kill")
    done = cluster.wait_status(o["id"], "failed")
    assert "more memory than its limit" in done["error"]["message"], done
    assert cluster.operation(neighbour["id"])["status"] == "running"
    assert cluster.cancel(scope="neighbour")["report"]["proven"] is True


def test_a_fork_bomb_is_capped_and_told_why(cluster):
    need(cluster, "pids")
    done = cluster.quell("run", "--pids", "40", "--on-leader-exit=kill", "--", "python3", "-c", BOMB)
    assert done.returncode == 7 and 20 <= int(done.stdout) < 40, done
    shown = cluster.operations(limit=1, name="python3")[0]
    assert shown["error"]["message"] == "exited with code 7: it wanted more processes and threads than its limit of 40"


def test_no_task_gets_more_than_its_worker_gives(cluster):
    need(cluster, "pids")
    done = cluster.quell("run", "--pids", "1500", "--on-leader-exit=kill", "--", "python3", "-c", BOMB)
    assert done.returncode == 7 and 200 <= int(done.stdout) < 300, done


def limits_in_force(id):
    """What the kernel enforces for this task, by the file of its own cgroup or directory."""
    return {os.path.basename(f): open(f).read().split()[0] for name in ("memory.max", "memory.limit_in_bytes", "pids.max", "cpu.max", "cpu.cfs_quota_us")
            for f in glob.glob(f"/sys/fs/cgroup/**/t-{id}/{name}", recursive=True) if open(f).read().split()[0] not in ("max", "-1")}


def test_the_flags_of_quell_run_reach_the_kernel(cluster):
    for controller in ("memory", "pids", "cpu"):
        need(cluster, controller)
    waiting = cluster.quell_background("run", "--scope", "flags", "--memory", "96MiB", "--pids", "30", "--cpu", "0.25", "--", "sleep", "1000")
    o = until(lambda: next(iter(cluster.operations(scope="flags", status="running")), None), "the task to run")
    task = cluster.operation(o["id"])["task"]
    assert (task["memory_bytes"], task["pids"], task["cpu"]) == (96 * MIB, 30, 0.25), task
    assert sorted(limits_in_force(o["id"]).values()) == sorted([str(96 * MIB), "30", "25000"]), limits_in_force(o["id"])
    assert cluster.cancel(scope="flags")["report"]["proven"] is True
    waiting.wait(timeout=60)
    done = cluster.quell("run", "--memory", "100MiB", "--", "python3", "-c", EAT)
    assert done.returncode == 137 and b"fits" not in done.stdout, done
    assert cluster.quell("run", "--memory", "1GiB", "--", "python3", "-c", EAT, check=0).stdout == b"fits\n"


def test_processors(cluster):
    need(cluster, "cpu")
    o = cluster.start("sleep", "1000", task_cpu=1.5, scope="processors")
    assert o["task"]["cpu"] == 1.5
    cluster.wait_status(o["id"], "running")
    files = glob.glob(f"/sys/fs/cgroup/**/t-{o['id']}/cpu.max", recursive=True) + glob.glob(f"/sys/fs/cgroup/**/t-{o['id']}/cpu.cfs_quota_us", recursive=True)
    assert [open(f).read().split()[0] for f in files] == ["150000"], files  # in each 100 ms
    assert cluster.cancel(scope="processors")["report"]["proven"] is True


def test_what_a_task_starts_has_no_more_than_itself(cluster):
    need(cluster, "pids")
    done = cluster.quell("run", "--pids", "60", "--", "quell", "run", "--pids", "1000", "--on-leader-exit=kill", "--", "python3", "-c", BOMB)
    assert done.returncode == 7 and int(done.stdout) < 60, done
    inner = cluster.operations(limit=1, name="python3")[0]
    assert inner["task"]["pids"] == 60


def test_a_limit_that_cannot_be_kept_is_refused_and_doctor_says_so(cluster):
    unable = re.findall(r"The (\w+) of a task cannot be limited", cluster.unable)
    if not unable:
        pytest.skip("this machine can limit everything at this level")
    flag = {"memory": "--memory=100MiB", "pids": "--pids=100", "cpu": "--cpu=1"}[unable[0]]
    done = cluster.quell("run", flag, "--", "true")
    assert done.returncode == 125 and f"its {unable[0]} cannot be limited by this worker" in done.stderr.decode(), done
    assert f"The {unable[0]} of a task cannot be limited" in cluster.quell("doctor").stdout.decode()
    assert cluster.quell("run", "--", "true").returncode == 0


@pytest.mark.parametrize("level", levels())
def test_a_worker_s_own_memory_and_processors_hold_for_tasks_that_ask_for_nothing(level):
    with Cluster(workers=1, worker_flags=["--containment", level, "--memory", "100MiB", "--cpu", "0.5"]) as c:
        c.unable = " ".join(c.worker("w1")["containment_limits"])
        for controller in ("memory", "cpu"):
            need(c, controller)
        o = c.wait_status(c.start("python3", "-c", EAT)["id"], "failed")
        assert "more memory than its limit of 100 MiB" in o["error"]["message"], o
        # More than it gives is not given; less is.
        o = c.start("python3", "-c", EAT, task_memory_bytes=800 * MIB)
        assert "its limit of 100 MiB" in c.wait_status(o["id"], "failed")["error"]["message"]
        o = c.start("sleep", "1000", scope="both", task_cpu=4.0, task_memory_bytes=50 * MIB)
        c.wait_status(o["id"], "running")
        assert {v for k, v in limits_in_force(o["id"]).items() if k != "pids.max"} == {str(50 * MIB), "50000"}, limits_in_force(o["id"])
        assert c.cancel(scope="both")["report"]["proven"] is True


@pytest.mark.skipif(os.geteuid() != 0, reason="a worker without rights is started by root")
def test_a_worker_without_cgroups_refuses_what_it_cannot_limit(tmp_path):
    # Without root and without a delegated cgroup no limit can be set.
    with Cluster(workers=0) as c:
        os.chmod(c.directory, 0o755)
        join = c.enrol("plain")
        os.chmod(join, 0o644)
        state = os.path.join(c.directory, "worker-plain")
        os.mkdir(state, 0o700)
        shutil.chown(state, "nobody")
        with c.log("plain") as log:
            process = subprocess.Popen(["setpriv", "--reuid=nobody", "--clear-groups", f"{BIN}/quell-worker", "--join-file", join, "--state", state, "--work-dir", "/"],
                                       stdout=log, stderr=log, preexec_fn=die_with_us)
        c.workers["plain"] = Worker("plain", process, state)
        until(lambda: c.worker("plain")["status"] == "ready", "the worker to be ready")
        o = c.wait_status(c.start("true", task_memory_bytes=100 * MIB)["id"], "failed")
        assert o["error"]["code"] == "start_failed" and "its memory cannot be limited by this worker" in o["error"]["message"], o
        c.wait_status(c.start("true")["id"], "completed")


@pytest.mark.parametrize("field, value", [("memory_bytes", 4096), ("memory_bytes", "1GiB"), ("pids", -1), ("cpu", 0.001), ("cpu", "x"), ("cpu", 1e9)])
def test_bad_limits_are_refused(cluster, field, value):
    answer = cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["true"], field: value}})
    assert answer.status == 422 and answer.json["errors"][0]["pointer"] == f"/task/{field}", answer.body


@pytest.mark.parametrize("flags", [["--memory", "4096"], ["--memory", "x"], ["--pids", "0"], ["--cpu", "0"], ["--cpu", "x"]])
def test_bad_flags_are_refused(cluster, flags):
    done = cluster.quell("run", *flags, "--", "true")
    assert done.returncode == 125 and flags[0].encode() in done.stderr, done
