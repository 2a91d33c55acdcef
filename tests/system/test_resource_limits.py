"""Programs that run out of descriptors, processes or memory: clear errors, starts that fail cleanly, cancels that work, and full recovery once there is room."""
import http.client
import json
import os
import resource
import signal
import subprocess
import tempfile
import urllib.parse

import pytest

from harness import processes, trees
from harness.cluster import BIN, Cluster, marker
from harness.faults import sanitizers
from harness.processes import descriptors, guardian_of
from harness.waiting import until

ENDED = ("completed", "failed", "cancelled")
SANITIZED = bool(sanitizers(f"{BIN}/quelld"))


class Kept:
    """A connection made before the limit was reached."""

    def __init__(self, cluster):
        url = urllib.parse.urlsplit(cluster.url)
        self.token, self.connection = cluster.token, http.client.HTTPConnection(url.hostname, url.port, timeout=90)
        assert self.ask("GET", "/v1/status").status == 200

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        response = self.connection.getresponse()
        response.data = response.read()
        return response


def limit_descriptors(pid, most):
    """Sets the limit; returns a function that lifts it."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, before[1]))
    return lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def sleeper(m):
    return ["bash", "-c", "while :; do sleep 1000; done", m]


@pytest.mark.skipif(any("libasan" in x for x in sanitizers(f"{BIN}/quelld")), reason="its check of types tries memory with a pipe")
def test_quelld_without_descriptors_takes_cancels_on_what_is_open_and_recovers():
    with Cluster(workers=1) as c:
        m = marker()
        tasks = [c.start(*sleeper(m), scope=f"few/{i}") for i in range(3)]
        for t in tasks:
            c.wait_status(t["id"], "running")
        kept, pid = Kept(c), c.controller.pid
        until(lambda: b"\nquell_http_connections 1\n" in kept.ask("GET", "/metrics").data, "the other connections to be closed, with their descriptors")
        lift = limit_descriptors(pid, descriptors(pid))
        waiting = [c.quell_background("status") for _ in range(3)]  # connections that cannot be accepted
        answer = kept.ask("POST", "/v1/cancels", {"scope": "few/0", "wait": "settled", "wait_ms": 60000})
        assert answer.status == 200 and json.loads(answer.data)["status"] == "settled", answer.data
        assert c.controller.poll() is None
        used = processes.cpu_seconds(pid)
        for i in range(1, 3):
            answer = kept.ask("POST", "/v1/cancels", {"scope": f"few/{i}", "wait": "settled", "wait_ms": 60000})
            assert answer.status == 200, answer.data
        assert processes.cpu_seconds(pid) - used < 5, "it spins on the connection that it cannot accept"
        until(lambda: b"cannot be accepted" in processes.read(os.path.join(c.directory, "quelld.log")), "the log to say so")
        assert processes.marked(m) == []
        lift()
        for client in waiting:
            assert client.wait(timeout=60) == 0, client.stderr.read()
        c.wait_status(c.start("echo", "well again", scope="few/after")["id"], "completed")


@pytest.mark.parametrize("program", ["worker", "guardian"])
def test_a_worker_without_descriptors_says_so_draws_no_work_and_stops_what_runs(program):
    with Cluster(workers=1, slots=64) as c:
        m = marker()
        for i in range(3):
            c.wait_status(c.start(*sleeper(m), scope=f"few/{i}")["id"], "running")
        worker = c.workers["w1"].process.pid
        pid = worker if program == "worker" else guardian_of(worker)
        before = (descriptors(worker), descriptors(guardian_of(worker)))
        lift = limit_descriptors(pid, descriptors(pid) + 2)
        more = [c.start(*sleeper(m), scope="few/more") for _ in range(8)]
        shown = until(lambda: (lambda w: w if w["trouble"] else None)(c.worker("w1")), "the worker to say that it can start nothing")
        assert shown["slots"] == 0 and shown["status"] == "ready", shown
        assert any(word in shown["trouble"]["why"] for word in ("open files", "descriptor")), shown["trouble"]
        until(lambda: "can start nothing now" in (c.operation(more[-1]["id"])["waiting_for"] or {}).get("detail", ""), "a task to say what it waits for")
        assert not [o for o in c.operations(scope="few") if o["status"] in ENDED], "what cannot be started waits"
        assert c.cancel(scope="few/0")["status"] == "settled", "a cancel needs no descriptor that is not there"
        assert c.worker("w1")["status"] == "ready"
        c.kill_controller()  # a new connection, for which no descriptor is free
        c.start_controller()
        lift()
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        for o in more:
            c.wait_status(o["id"], "running", seconds=90)  # the longest pause is a minute
        c.wait_status(c.start("true", scope="few/after")["id"], "completed")
        until(lambda: (lambda w: w["trouble"] is None and w["slots"] == 64)(c.worker("w1")), "the worker to say that it is well again")
        assert c.cancel(scope="few")["status"] == "settled"
        assert processes.marked(m) == []
        until(lambda: descriptors(worker) <= before[0] and descriptors(guardian_of(worker)) <= before[1], "the descriptors of failed starts to be closed")
        assert all(w["slots_used"] == 0 for w in c.api("GET", "/v1/workers").json["workers"])


def test_programs_that_cannot_begin_for_want_of_descriptors_say_so():
    with tempfile.TemporaryDirectory() as folder:
        starved = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
        done = subprocess.run([f"{BIN}/quelld", "--state", folder + "/state", "--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0",
                               "--output-listen", "127.0.0.1:0"], capture_output=True, preexec_fn=starved, timeout=60)
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert b"open files" in done.stderr.lower() or b"descriptor" in done.stderr.lower(), done.stderr
    with Cluster(workers=0) as c:
        join = c.enrol("starved")
        done = subprocess.run([f"{BIN}/quell-worker", "--join-file", join, "--state", c.directory + "/starved"], capture_output=True,
                              preexec_fn=starved, timeout=60)
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert b"open files" in done.stderr.lower() or b"descriptor" in done.stderr.lower(), done.stderr


class Group:
    """A cgroup (v1 or v2) with a limit; skips if none can be made."""

    def __init__(self, controller, setting):
        unified = processes.cgroup_mount()
        self.paths = [f"/sys/fs/cgroup/{controller}/quell-test-{os.getpid()}", f"{unified}/quell-limits-{os.getpid()}"]
        self.controller, self.setting, self.path = controller, setting, None

    def __enter__(self):
        for path, setting in zip(self.paths, self.setting):
            try:
                os.mkdir(path)
            except OSError:
                continue
            if os.path.exists(f"{path}/{setting}"):
                self.path, self.file = path, f"{path}/{setting}"
                return self
            os.rmdir(path)
        pytest.skip(f"no {self.controller} cgroup can be made here")

    def limit(self, value):
        with open(self.file, "w") as f:
            f.write(str(value))

    def take(self, *pids):
        for pid in pids:
            with open(f"{self.path}/cgroup.procs", "w") as f:
                f.write(str(pid))

    def count(self):
        return len(processes.read(f"{self.path}/cgroup.procs").split())

    def __exit__(self, *_):
        until(lambda: self.count() == 0, "the limited cgroup to be empty")
        os.rmdir(self.path)


def test_a_worker_without_processes_says_so_draws_no_work_and_stops_what_runs():
    # Without limits of its own a task stays in the group of its worker.
    with Group("pids", ("pids.max", "pids.max")) as group, Cluster(workers=1, slots=64, worker_flags=["--pids", "0", "--memory", "0"]) as c:
        m = marker()
        for i in range(2):
            c.wait_status(c.start(*sleeper(m), scope=f"few/{i}")["id"], "running")
        worker = c.workers["w1"].process.pid
        guardian = guardian_of(worker)
        group.take(worker, guardian)
        current = int(processes.read(group.path + "/pids.current"))
        bomb = c.start("bash", "-c", "trap '' TERM; f() { while :; do sleep 1000 & done; }; f 2>/dev/null & f 2>/dev/null; wait", m, scope="few/bomb", grace_ms=100)
        c.wait_status(bomb["id"], "running")
        group.limit(current + 40)
        until(lambda: int(processes.read(group.path + "/pids.current")) >= current + 38, "the bomb to reach the limit")
        assert c.cancel(scope="few/bomb")["status"] == "settled", "the bomb"
        group.limit(1)  # less than there are: what of the bomb is still to be reaped leaves no room either
        more = c.start(*sleeper(m), scope="few/more")
        shown = until(lambda: (lambda w: w if w["trouble"] else None)(c.worker("w1")), "the worker to say that it can start nothing")
        assert shown["slots"] == 0 and ("process" in shown["trouble"]["why"] or "fork" in shown["trouble"]["why"]), shown
        assert c.operation(more["id"])["status"] == "pending"
        assert c.cancel(scope="few/0")["status"] == "settled"
        group.limit("max")
        c.wait_status(more["id"], "running", seconds=90)
        c.wait_status(c.start("true", scope="few/after")["id"], "completed")
        assert c.worker("w1")["status"] == "ready" and guardian_of(worker) == guardian
        assert c.cancel(scope="few")["status"] == "settled"
        assert processes.marked(m) == []


def test_a_task_that_eats_all_memory_dies_alone():
    with Group("memory", ("memory.limit_in_bytes", "memory.max")) as group, Cluster(workers=1, worker_flags=["--pids", "0", "--memory", "0"]) as c:
        m = marker()
        worker = c.workers["w1"].process.pid
        guardian = guardian_of(worker)
        group.limit(384 << 20)
        group.take(worker, guardian)
        quiet = c.start(*sleeper(m), scope="eat/quiet")
        c.wait_status(quiet["id"], "running")
        eater = c.start(trees.PYTHON, "-c", "b = []\nwhile True: b.append(bytearray(b'x' * (8 << 20)))", m, scope="eat/all")
        ended = c.wait_status(eater["id"], "failed", seconds=60)
        assert ended["exit"] == {"signal": "KILL"}, ended
        assert c.workers["w1"].process.poll() is None and guardian_of(worker) == guardian
        assert c.operation(quiet["id"])["status"] == "running"
        assert c.cancel(scope="eat")["status"] == "settled"
        assert processes.marked(m) == []


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs all the address space there is")
@pytest.mark.parametrize("program", ["quelld", "worker"])
def test_a_program_that_gets_no_memory_ends_or_goes_on_and_loses_nothing(program):
    with Cluster(workers=1, slots=64, settings=["workers.lease=3s", "workers.heartbeat=200ms"]) as c:
        m = marker()
        tasks = [c.start(*trees.deaf(m), scope=f"mem/{i}", grace_ms=200) for i in range(3)]
        until(lambda: len(processes.marked(m + "-deaf")) == 3, "the tasks to run")
        pid = c.controller.pid if program == "quelld" else c.workers["w1"].process.pid
        accepted, cancelled = [t["id"] for t in tasks], None
        before = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (processes.address_space(pid) + (256 << 10), before[1]))
        try:
            for i in range(60):
                answer = c.api("POST", "/v1/operations", {"kind": "task", "scope": "mem/more", "grace_ms": 100, "title": "x" * 200,
                                                          "task": {"command": sleeper(m), "env": {"FILL": "y" * 60000}}}, timeout=20)
                assert answer.status in (201, 503), answer.body
                accepted += [answer.json["id"]] if answer.status == 201 else []
            cancelled = c.api("POST", "/v1/cancels", {"scope": "mem/0", "wait": "fenced"}, timeout=20).json["id"]
        except (OSError, http.client.HTTPException):
            pass
        process = c.controller if program == "quelld" else c.workers["w1"].process
        if process.poll() is None:
            try:
                resource.prlimit(pid, resource.RLIMIT_AS, before)
            except ProcessLookupError:
                pass  # it is ending
        until(lambda: c.controller.poll() is not None or c.healthy(), "quelld to have ended, or to answer")
        if process.poll() is None:
            print(program, "goes on")
        else:
            print(program, "ended with", process.poll())
        if c.controller.poll() is not None:
            c.start_controller()
        if c.workers["w1"].process.poll() is not None:
            until(lambda: not processes.marked(m), "the guardian to kill all tasks")
            c.add_worker("w1")
        rows = {o["id"]: o for o in c.operations()}
        assert set(accepted) <= set(rows)
        if cancelled:
            until(lambda: c.api("GET", f"/v1/cancels/{cancelled}").json["status"] == "settled", "the accepted cancel to settle")
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be ready")
        assert c.cancel(scope="mem", grace_ms=0, wait_ms=40000)["status"] == "settled"
        assert processes.marked(m) == []
        c.wait_status(c.start("true", scope="after")["id"], "completed")
