"""Restrictions of a task by default, things that still work, and the one setting that turns the restrictions off."""
import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, Cluster, levels, marker
from harness.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what root is kept from")


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, worker_flags=["--pids", "64"]) as c:
        yield c


def said(c, script, **more):
    done = c.quell("run", "--", "sh", "-c", script, **more)
    return done.stdout.decode() + done.stderr.decode()


def test_a_task_has_few_capabilities_and_gains_none(cluster):
    status = said(cluster, "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status")
    held = int(re.search(r"CapEff:\s+(\w+)", status)[1], 16)
    for bit in (1 << 21, 1 << 19, 1 << 16, 1 << 12, 1 << 17, 1 << 27, 1 << 24):  # sys_admin, ptrace, module, net_admin, rawio, mknod, resource
        assert held & bit == 0, status
    assert re.search(r"CapBnd:\s+(\w+)", status)[1] == re.search(r"CapEff:\s+(\w+)", status)[1]
    assert re.search(r"NoNewPrivs:\s+1", status) and re.search(r"Seccomp:\s+2", status)


@pytest.mark.parametrize("script", [
    "echo x > /proc/sys/kernel/core_pattern", "echo h > /proc/sysrq-trigger", "mount -t tmpfs none /mnt", "unshare -Ur true",
    "mkdir /sys/fs/cgroup/unified/mine || mkdir /sys/fs/cgroup/mine", "umount /proc", "echo 0 > /sys/kernel/mm/ksm/run",
    "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/port; do head -c1 $d && exit 0; done; exit 1"])
def test_the_machine_is_out_of_reach(cluster, script):
    before = processes.read("/proc/sys/kernel/core_pattern")
    done = cluster.quell("run", "--", "sh", "-c", script)
    assert done.returncode != 0, done
    assert processes.read("/proc/sys/kernel/core_pattern") == before


def test_the_secrets_of_the_worker_are_out_of_reach(cluster):
    state = cluster.workers["w1"].state
    assert os.path.exists(os.path.join(state, "id"))
    assert cluster.quell("run", "--", "ls", "-A", state, check=0).stdout == b""
    worker = cluster.workers["w1"].process.pid
    assert cluster.quell("run", "--", "sh", "-c", f"cat /proc/{worker}/environ /proc/1/environ /proc/1/root/{state}/id").returncode != 0


def test_quelld_of_quell_up_is_hidden_from_its_tasks(tmp_path):
    state = tmp_path / "up"
    env = {k: v for k, v in os.environ.items() if not k.startswith("QUELL")} | {"QUELL_STATE": str(state)}
    up = subprocess.Popen([f"{BIN}/quell", "up", "--workers", "1", "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE)
    try:
        until(lambda: b"is up" in up.stdout.readline(), "quell up to be ready", 60)
        done = subprocess.run([f"{BIN}/quell", "run", "--", "sh", "-c", f"cat {state}/client.json; ls -A {state}; quell ps > /dev/null && echo fine"],
                              env=env, capture_output=True, timeout=60)
        assert done.stdout == b"fine\n", done
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(timeout=60)


@pytest.mark.parametrize("first", ["quelld", "worker"])
def test_any_quelld_of_this_machine_is_hidden_from_tasks(cluster, tmp_path, first):
    state = tmp_path / "elsewhere" / "state"
    fresh = Cluster(workers=1) if first == "quelld" else None  # a worker that starts after it; else the existing one
    other = subprocess.Popen([f"{BIN}/quelld", "--state", state, "--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0",
                              "--output-listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    look = f"ls -A {state}; cat {state}/admin.token {state}/client.json {state}/task-token.key; ls -A /run/quell"
    try:
        until((state / "client.json").exists, "the other quelld to be ready", 60)
        with fresh or contextlib.nullcontext(cluster) as c:
            done = c.quell("run", "--", "sh", "-c", look)
            assert done.stdout == b"", done
            # Also when it is stopped, and when it restarts in a new directory under the same path.
            other.terminate()
            other.wait(timeout=60)
            assert c.quell("run", "--", "sh", "-c", look).stdout == b""
            shutil.rmtree(state)
            other = subprocess.Popen(other.args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until((state / "client.json").exists, "the other quelld to be ready again", 60)
            assert c.quell("run", "--", "sh", "-c", look).stdout == b""
    finally:
        other.terminate()
        other.wait(timeout=60)


def test_a_mark_that_points_elsewhere_hides_nothing(cluster, tmp_path):
    marks = "/run/quell/states"
    os.makedirs(marks, exist_ok=True)
    theirs, plain = tmp_path / "theirs", tmp_path / "plain"
    for directory in (theirs, plain):
        directory.mkdir()
        (directory / "file").write_text("seen\n")
    (theirs / "quelld.lock").write_text("")
    os.chown(theirs, 65534, 65534)  # another user's directory: the program that marks it is not its owner
    for parent in list(tmp_path.parents)[:-2]:
        os.chmod(parent, os.stat(parent).st_mode | 0o5)
    links = [os.path.join(marks, f"test-{os.getpid()}-{i}") for i in range(2)]
    try:
        for link, directory in zip(links, (theirs, plain)):
            os.symlink(directory, link)
        assert cluster.quell("run", "--", "cat", theirs / "file", plain / "file", check=0).stdout == b"seen\nseen\n"
    finally:
        for link in links:
            os.unlink(link)


def test_ordinary_work_of_root_goes_on(cluster):
    work = ("cd $(mktemp -d) && mkdir -p p/DEBIAN && printf 'Package: x\\nVersion: 1\\nArchitecture: all\\nMaintainer: a\\nDescription: a\\n' > p/DEBIAN/control"
            " && dpkg-deb --build p x.deb > /dev/null && chown 1234:1234 p && tar cf t.tar p && rm -r p && tar xf t.tar && stat -c %u p"
            " && echo > /dev/null && head -c4 /dev/urandom > r && echo 5 > /proc/self/oom_score_adj && setpriv --reuid=65534 --clear-groups id -u && rm -r $PWD")
    assert cluster.quell("run", "--", "sh", "-c", work, check=0).stdout.split() == [b"1234", b"65534"]


def test_a_worker_in_a_task_runs_tasks(cluster, tmp_path):
    with Cluster(workers=0) as inner:
        join = inner.enrol("inner")
        m = marker()
        outer = cluster.start(f"{BIN}/quell-worker", "--join-file", join, "--state", str(tmp_path / "inner"), scope="nested")
        until(lambda: inner.worker("inner")["status"] == "ready", "the nested worker to be ready", 60)
        assert any("cannot be limited" in limit or "own" in limit for limit in inner.worker("inner")["containment_limits"])
        o = inner.start("bash", "-c", f"trap '' TERM; (setsid bash -c 'exec -a {m} sleep 1000' &); exec -a {m} sleep 1000", scope="in", grace_ms=200)
        until(lambda: len(processes.marked(m)) == 2, "the nested task to run")
        inner.wait_status(o["id"], "running")
        assert inner.cancel(scope="in")["report"]["proven"] is True and not processes.marked(m)
        cluster.cancel(scope="nested")
        cluster.wait_status(outer["id"], "cancelled")


def test_a_fork_bomb_is_held_at_its_limit(cluster):
    bomb = "import os,signal\nn=0\ntry:\n  while n<1000:\n    if os.fork()==0: signal.pause()\n    n+=1\nexcept OSError: print(n,flush=True)\nsignal.pause()"
    limits = cluster.worker("w1")["containment_limits"]
    if any("pids of a task cannot be limited" in limit for limit in limits):
        pytest.skip("this machine has no such controller, and the worker says so")
    o = cluster.start("python3", "-c", bomb, scope="bomb", grace_ms=0)
    until(lambda: cluster.quell("logs", o["id"]).stdout.strip(), "the bomb to meet its limit")
    assert 40 <= int(cluster.quell("logs", o["id"]).stdout) < 64
    assert cluster.cancel(scope="bomb")["report"]["proven"] is True


def test_one_setting_restores_what_root_may_do():
    with Cluster(workers=1, worker_flags=["--sandbox", "off"]) as c:
        status = said(c, "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status; ls -A " + c.workers["w1"].state)
        assert re.search(r"NoNewPrivs:\s+0", status) and re.search(r"Seccomp:\s+0", status) and "lock" in status
        assert int(re.search(r"CapEff:\s+(\w+)", status)[1], 16) & 1 << 21
        assert any("sandbox is off" in limit for limit in c.worker("w1")["containment_limits"])
        assert b"sandbox is off" in c.quell("doctor").stdout


def test_the_defaults_are_printed():
    text = subprocess.run([f"{BIN}/quell-worker", "--print-config"], capture_output=True, check=True).stdout.decode()
    assert "sandbox = 'on'" in text and "pids = 4096" in text and "'chown'" in text and re.search(r"memory = \d{6,}", text)
    for flags in (["--memory", "12"], ["--cpu", "x"], ["--pids", "-1"], ["--sandbox", "half"]):
        assert subprocess.run([f"{BIN}/quell-worker", "--print-config", *flags], capture_output=True).returncode == 2


def test_the_worker_s_user_is_enforced():
    with Cluster(workers=1, worker_flags=["--default-user", "nobody"]) as c:
        assert c.quell("run", "--", "id", "-un", check=0).stdout == b"nobody\n"
        o = c.wait_status(c.start("id", task_user="root")["id"], "failed")
        assert o["error"]["code"] == "start_failed" and "nobody" in o["error"]["message"]


@pytest.mark.parametrize("level", [x for x in levels() if "pidns" not in x])
def test_a_task_cannot_trace_its_keeper(level):
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        seize = "import ctypes,os;l=ctypes.CDLL(None,use_errno=True);print(l.ptrace(0x4206,os.getppid(),0,0x40))"
        assert c.quell("run", "--", "python3", "-c", seize, check=0).stdout == b"-1\n"


@pytest.mark.parametrize("level", [x for x in levels() if "pidns" not in x])
def test_a_task_that_killed_guardian_and_keeper_is_killed_and_not_called_proven(level):
    m = marker()
    # The orphan has left its cgroup's keeper and its session; then keeper and guardian are killed.
    script = (f"(setsid bash -c 'trap \"\" TERM; exec -a {m} sleep 1000' &); sleep 0.2; K=$PPID; "
              "G=$(awk '/^PPid/{print $2}' /proc/$K/status); kill -KILL $G $K; exec sleep 1000")
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        o = c.start("bash", "-c", script, scope="evil", grace_ms=0)
        done = c.wait_status(o["id"], "failed", seconds=60)
        assert done["error"]["code"] == "worker_lost"
        assert not done["stop"] or done["stop"]["proof"] in (None, "none"), done
        until(lambda: not processes.marked(m), "the orphan to be killed")
        until(lambda: c.worker("w1")["status"] == "ready" and c.worker("w1")["slots"] == c.slots, "the worker to be whole again", 60)
        c.quell("run", "--", "true", check=0)


@pytest.mark.parametrize("level", [x for x in levels() if "pidns" not in x])
def test_a_cancel_of_what_killed_its_guardian_is_unproven(level):
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        # On the stop signal it kills both, so that the sweep settles the cancel.
        script = ("G=$(awk '/^PPid/{print $2}' /proc/$PPID/status); trap \"kill -KILL $G $PPID\" TERM; echo up; while :; do sleep 0.1; done")
        o = c.start("bash", "-c", script, scope="evil", grace_ms=8000)
        until(lambda: b"up" in c.quell("logs", o["id"]).stdout, "the trap to be set")
        report = c.cancel(scope="evil")["report"]
        assert report["proven"] is False, report
        assert report["receipts"]["unconfirmed"] == 1 and report["proofs"]["none"] == 1


@pytest.mark.parametrize("level", [x for x in levels() if "pidns" not in x])
def test_what_killed_guardian_keeper_and_worker_is_not_proven_by_its_absence(level):
    m = marker()
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        worker = c.workers["w1"].process
        # An orphan in its own session (and, as root, cgroup) survives: no program is left that could find it. All are
        # stopped first, so that none sees the end of another.
        leave = ("for d in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs; do echo $BASHPID > $d; done 2>/dev/null; ")
        script = (f"(setsid bash -c '{leave} trap \"\" TERM; exec -a {m} sleep 1000' &); sleep 0.5; K=$PPID; "
                  f"G=$(awk '/^PPid/{{print $2}}' /proc/$K/status); trap \"kill -STOP {worker.pid} $G; kill -KILL {worker.pid} $G $K\" TERM; echo up; while :; do sleep 0.1; done")
        o = c.start("bash", "-c", script, scope="evil", grace_ms=60000)
        is_orphan = lambda pid: processes.read(f"/proc/{pid}/cmdline").startswith(m.encode())
        until(lambda: b"up" in c.quell("logs", o["id"]).stdout and any(map(is_orphan, processes.marked(m))), "the trap to be set and the orphan to be away")
        report = c.cancel(scope="evil", wait="fenced")
        worker.wait(timeout=60)
        try:
            c.add_worker("w1")
            done = c.wait_status(o["id"], "cancelled", seconds=60)
            assert done["stop"]["receipt"] == "unconfirmed" and done["stop"]["proof"] == "none", done["stop"]
            settled = c.api("GET", f"/v1/cancels/{report['id']}?wait=settled&wait_ms=60000").json["report"]
            assert settled["proven"] is False and settled["receipts"]["unconfirmed"] == 1, settled
            # Tasks that the next life lost by a plain crash are proven again.
            plain = c.start("sleep", "1000", scope="plain", grace_ms=0)
            c.wait_status(plain["id"], "running")
            c.workers["w1"].process.kill()
            c.workers["w1"].process.wait(timeout=60)
            stop = c.cancel(scope="plain", wait="fenced")
            c.add_worker("w1")
            again = c.api("GET", f"/v1/cancels/{stop['id']}?wait=settled&wait_ms=60000").json["report"]
            assert again["proven"] is True, again
        finally:
            for pid in processes.marked(m):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("level", [x for x in levels() if "pidns" in x])
def test_with_a_namespace_absence_proves_whoever_was_killed(level):
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        worker = c.workers["w1"].process
        guardian = next(p for p in processes.children_of(worker.pid) if "guardian" in processes.name_of(p))
        o = c.start("sleep", "1000", scope="held", grace_ms=0)
        c.wait_status(o["id"], "running")
        for pid in (worker.pid, guardian):
            os.kill(pid, signal.SIGKILL)
        worker.wait(timeout=60)
        stop = c.cancel(scope="held", wait="fenced")
        c.add_worker("w1")
        assert c.api("GET", f"/v1/cancels/{stop['id']}?wait=settled&wait_ms=60000").json["report"]["proven"] is True


def test_a_process_that_is_only_named_like_a_guardian_keeps_nobody_from_starting(tmp_path):
    with Cluster(workers=1) as c:
        worker = c.workers["w1"]
        guardian = next(p for p in processes.children_of(worker.process.pid) if "guardian" in processes.name_of(p))
        words = processes.read(f"/proc/{guardian}/cmdline").split(b"\0")[:-1]
        script = tmp_path / words[1].decode()  # a shell that waits, with the complete command line of a guardian
        script.write_text("read x")
        named = subprocess.Popen(["quell-guardian", script.name, "strongest"], executable="/bin/sh", cwd=tmp_path, stdin=subprocess.PIPE)
        worker.process.kill()
        worker.process.wait(timeout=60)
        try:
            c.add_worker("w1")
            until(lambda: c.quell("run", "--", "echo", "back").stdout == b"back\n", "the worker to run tasks again", 60)
        finally:
            named.stdin.close()
            named.wait(timeout=60)
