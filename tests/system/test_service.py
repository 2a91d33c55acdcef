"""quelld and quell-worker as services: readiness notified to the service manager, units that systemd accepts, logs as JSON."""
import json
import os
import shutil
import signal
import socket
import subprocess
import uuid

import pytest

from harness import processes
from harness.cluster import BIN, Cluster
from harness.waiting import until

UNITS = os.path.join(os.path.dirname(__file__), "../../docs/systemd")


class Manager:
    """The socket on which systemd would listen."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.setblocking(False)

    def said(self):
        try:
            return self.socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return None

    def wait(self, what):
        said = until(self.said, what)
        self.socket_is_quiet()
        return said

    def socket_is_quiet(self):
        assert self.said() is None


def with_manager(name):
    return dict(os.environ, NOTIFY_SOCKET=name)


def test_quelld_tells_that_it_is_ready_when_it_serves_and_that_it_stops(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    with Cluster(workers=0) as c:
        c.kill_controller()
        c.start_controller(wait=False, env=with_manager(manager.name))
        said = manager.wait("quelld to be ready")
        assert said[0] == "READY=1" and said[1].startswith("STATUS=serves http://127.0.0.1:")
        assert c.api("GET", "/healthz").status == 200 and c.api("GET", "/v1/status").status == 200  # not ready too early
        c.kill_controller(signal.SIGTERM)
        assert manager.wait("quelld to say that it stops")[0] == "STOPPING=1"


def test_a_quelld_that_cannot_start_is_never_ready(tmp_path):
    manager = Manager("@quell-test-" + uuid.uuid4().hex)
    with Cluster(workers=0) as c:
        command = [f"{BIN}/quelld", "--state", c.state, "--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0", "--output-listen", "127.0.0.1:0"]
        done = subprocess.run(command, env=with_manager(manager.name), capture_output=True, timeout=60)  # the state is in use
        assert done.returncode == 1 and manager.said() is None


def test_a_worker_tells_that_it_is_ready_and_its_tasks_know_nothing_of_it(tmp_path):
    manager = Manager("@quell-test-" + uuid.uuid4().hex)
    with Cluster(workers=0) as c:
        c.add_worker("w1", prefix=["env", "NOTIFY_SOCKET=" + manager.name])
        assert manager.wait("the worker to be ready")[0] == "READY=1"
        o = c.start("env")
        c.wait_status(o["id"], "completed")
        assert b"NOTIFY_SOCKET" not in c.output(o["id"])


def test_logs_are_one_json_object_per_line_with_ids():
    with Cluster(workers=1, settings=["log.format=json", "log.level=debug"], worker_flags=["--log-format", "json", "--log-level", "debug"]) as c:
        problem = c.api("GET", "/v1/operations/01a1f869-3df9-7303-8207-dde70bee07dd").json
        o = c.start("bash", "-c", "while :; do sleep 1000; done", scope="logged")
        c.wait_status(o["id"], "running")
        c.cancel(scope="logged")
        def lines(name):
            return [json.loads(line) for line in processes.read(os.path.join(c.directory, name + ".log")).split(b"\n")[:-1]]
        refused = until(lambda: [x for x in lines("quelld") if x.get("request") == problem["request"]], "the refusal in the log")
        assert refused[0]["level"] == "debug" and "operation_not_found" in refused[0]["message"]
        for name in ("quelld", "w1"):
            for line in lines(name):
                assert {"time", "level", "message"} <= set(line) and line["time"].endswith("Z"), line
        assert any("is ready" in x["message"] for x in lines("quelld")) and any(x.get("worker") == "w1" for x in lines("w1"))
    # Errors that prevent the start have the same form.
    done = subprocess.run([f"{BIN}/quelld", "--state", "/proc/nowhere", "--set", "log.format=json"], capture_output=True, timeout=60)
    assert done.returncode == 1 and json.loads(done.stderr.splitlines()[-1])["level"] == "critical"


@pytest.mark.parametrize("program,flags", [("quelld", ["--set", "log.format=xml"]), ("quell-worker", ["--log-format", "xml"])])
def test_a_log_format_that_does_not_exist_is_a_usage_error(program, flags):
    done = subprocess.run([f"{BIN}/{program}", *flags], capture_output=True, timeout=60)
    assert done.returncode == 2 and b"json" in done.stderr


def unit(name, folder):
    """The unit as installed, with the paths of the programs of this build."""
    with open(os.path.join(UNITS, name)) as f:
        text = f.read().replace("/usr/local/bin/", os.path.realpath(BIN) + "/")
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


@pytest.mark.parametrize("name", ["quelld.service", "quell-worker.service"])
def test_systemd_takes_the_units(tmp_path, name):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed (Debian package systemd)")
    done = subprocess.run(["systemd-analyze", "verify", unit(name, tmp_path)], capture_output=True, text=True, timeout=60)
    said = [line for line in done.stderr.splitlines() if name in line and "Command 'man" not in line]
    assert not said, said
    with open(os.path.join(UNITS, name)) as f:
        text = f.read()
    assert "Type=notify" in text and "KillMode=mixed" in text


def test_the_controllers_unit_leaves_little_open(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed (Debian package systemd)")
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=25", unit("quelld.service", tmp_path)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
