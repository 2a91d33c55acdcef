"""A task's view of /proc and of the cgroups, what `worker.sandbox = off` gives back, builds of whole packages, and what `quell doctor` says of each level."""
import os
import shutil
import subprocess
import textwrap

import pytest

from harness.cluster import BIN, Cluster, levels, marker

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what root is kept from")
CORE_PATTERN = "/proc/sys/kernel/core_pattern"
# The limit of processes that holds for the task, from whichever hierarchy has it; "" or "max": none.
PIDS = ("at=$(awk -F: '$2==\"pids\"{print $3}' /proc/self/cgroup); if [ -n \"$at\" ]; then cat /sys/fs/cgroup/pids$at/pids.max; "
        "else cat /sys/fs/cgroup$(awk -F: '$1==0{print $3}' /proc/self/cgroup)/pids.max; fi")


def run(c, script):
    return c.quell("run", "--", "sh", "-c", script)


def proc_mounts(mountinfo):
    """(mount point, device) of each mount of a proc file system at or below /proc, covered ones included."""
    found = []
    for line in mountinfo.splitlines():
        fields, kind = line.split(" - ")[0].split(), line.split(" - ")[1].split()[0]
        if kind == "proc" and (fields[4] + "/").startswith("/proc/"):
            found.append((fields[4], fields[2]))
    return found


def own_mounts():
    with open("/proc/self/mountinfo") as f:
        return proc_mounts(f.read())


def count_at_proc(mounts):
    return [at for at, _ in mounts].count("/proc")


@pytest.mark.parametrize("level", levels())
def test_a_task_in_a_namespace_has_one_proc_and_none_below_it(level):
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        mounts = proc_mounts(c.quell("run", "--", "cat", "/proc/self/mountinfo", check=0).stdout.decode())
        sees_worker = run(c, f"test -e /proc/{c.workers['w1'].process.pid}/status").returncode == 0
        if "pidns" not in level:
            assert count_at_proc(mounts) == count_at_proc(own_mounts()) and sees_worker, mounts
            return
        assert count_at_proc(mounts) == 1 and not sees_worker, mounts
        assert len({device for _, device in mounts}) == 1, mounts  # what is below /proc is of the same one
        assert not {device for _, device in mounts} & {device for _, device in own_mounts()}, mounts


@pytest.mark.parametrize("sandbox", ["on", "off"])
def test_one_setting_gives_back_proc_the_cgroups_and_their_limits(sandbox):
    with Cluster(workers=1, worker_flags=["--sandbox", sandbox]) as c:
        cgroups = next(d for d in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.isdir(d))
        mine = f"{cgroups}/{marker('cgroup')}"
        makes_cgroups = f"mkdir {mine} && rmdir {mine}"
        may = subprocess.run(["sh", "-c", makes_cgroups], stderr=subprocess.DEVNULL).returncode == 0
        assert (run(c, makes_cgroups).returncode == 0) == (may and sandbox == "off")
        assert (run(c, f"test -w {CORE_PATTERN}").returncode == 0) == (os.access(CORE_PATTERN, os.W_OK) and sandbox == "off")
        if any("pidns" in level for level in levels()):
            # The old /proc is still below the task's own one: whoever takes that away sees the machine's processes.
            below = run(c, f"umount /proc && test -e /proc/{c.workers['w1'].process.pid}/status")
            assert (below.returncode == 0) == (sandbox == "off"), below
        limit = run(c, PIDS).stdout.decode().strip()
        if not any("The pids of a task cannot be limited" in one for one in c.worker("w1")["containment_limits"]):
            assert (limit in ("", "max")) == (sandbox == "off"), limit
    printed = subprocess.run([f"{BIN}/quell-worker", "--print-config", "--sandbox", sandbox], capture_output=True, check=True).stdout.decode()
    assert ("pids = 0\n" in printed and "memory = 0\n" in printed) == (sandbox == "off"), printed


def test_the_setting_takes_no_limit_that_was_set():
    with Cluster(workers=1, worker_flags=["--sandbox", "off", "--pids", "77"]) as c:
        if any("The pids of a task cannot be limited" in one for one in c.worker("w1")["containment_limits"]):
            pytest.skip("this machine has no such controller, and the worker says so")
        assert run(c, PIDS).stdout == b"77\n"


CONTROL = """
    Source: tiny
    Section: misc
    Priority: optional
    Maintainer: A Person <a@example.org>
    Standards-Version: 4.6.2
    Rules-Requires-Root: binary-targets

    Package: tiny
    Architecture: all
    Description: a program that says hello
     It says hello.
"""
CHANGELOG = """
    tiny (1.0) unstable; urgency=low

      * First.

     -- A Person <a@example.org>  Thu, 01 Jan 2026 00:00:00 +0000
"""
RULES = """
    #!/usr/bin/make -f
    build build-arch:
    \tsed 's/WHAT/hello/' hello.in > hello
    clean:
    \trm -rf hello debian/tiny debian/files
    binary binary-indep: build-arch
    \tmkdir -p debian/tiny/DEBIAN debian/tiny/usr/bin
    \tinstall -o root -g root -m 4755 hello debian/tiny/usr/bin/hello
    \tdpkg-gencontrol -ptiny -Pdebian/tiny
    \tdpkg-deb --build debian/tiny ..
    build-indep binary-arch:
"""


@pytest.mark.skipif(not all(map(shutil.which, ("dpkg-buildpackage", "fakeroot"))), reason="packages cannot be built here")
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_whole_package_is_built_in_a_task(user, tmp_path):
    source = tmp_path / "tiny"
    (source / "debian" / "source").mkdir(parents=True)
    for name, text in (("debian/control", CONTROL), ("debian/changelog", CHANGELOG), ("debian/rules", RULES), ("debian/source/format", "3.0 (native)\n"),
                       ("hello.in", "#!/bin/sh\necho WHAT\n")):
        (source / name).write_text(textwrap.dedent(text).lstrip("\n"))
    (source / "debian" / "rules").chmod(0o755)
    for parent in list(tmp_path.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o5)
    subprocess.run(["chown", "-R", user, tmp_path], check=True)
    with Cluster(workers=1, worker_flags=["--user", user]) as c:
        build = c.quell("run", "--user", user, "--cwd", source, "--", "dpkg-buildpackage", "--build=binary", "--no-sign", "-d", "-rfakeroot")
        assert build.returncode == 0, build
        package, = tmp_path.glob("tiny_1.0_*.deb")
        listed = subprocess.run(["dpkg-deb", "-c", package], capture_output=True, check=True).stdout.decode()
        assert [line for line in listed.splitlines() if line.startswith("-rwsr-xr-x root/root")], listed
        unpacked = c.quell("run", "--user", user, "--cwd", tmp_path, "--", "sh", "-c", f"dpkg-deb -x {package} out && out/usr/bin/hello")
        assert unpacked.stdout == b"hello\n", unpacked


@pytest.mark.parametrize("level", levels())
def test_doctor_says_what_a_level_cannot_do(level):
    with Cluster(workers=1, worker_flags=["--containment", level]) as c:
        all_told = c.quell("doctor").stdout.decode()
        told = " ".join(" ".join(line for line in all_told.splitlines() if "w1" in line).split())
        assert f"containment {level} " in told, all_told
        for limit in c.worker("w1")["containment_limits"]:
            assert " ".join(limit.split()) in told, limit
        o = c.start("sh", "-c", f"test -e /proc/{c.workers['w1'].process.pid}/status && echo sees; awk '/^PPid/{{print \"above\", $2}}' /proc/$PPID/status; cat /proc/self/cgroup")
        c.wait_status(o["id"], "completed")
        facts = c.quell("logs", o["id"]).stdout.decode()
        in_cgroup, in_namespace, reaches_guardian = f"/t-{o['id']}" in facts, "sees" not in facts, "above 0" not in facts
        assert (in_cgroup, in_namespace) == ("cgroup" in level, "pidns" in level), facts
        assert ("There is no cgroup" in told) == (in_namespace and not in_cgroup), told
        assert ("found by walking their tree" in told) == (not in_namespace and not in_cgroup), told
        assert ("its PID namespace holds it all the same" in told) == (in_namespace and in_cgroup), told
        assert ("kills that" in told or "kill its keeper" in told) == reaches_guardian, (facts, told)
        assert "Work handed to another daemon" in told and "sandbox is off" not in told
