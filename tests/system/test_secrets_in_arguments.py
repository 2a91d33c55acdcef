"""No secret stays in a program's arguments, where others on the machine can read it."""
import os
import select
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, Cluster
from harness.waiting import until


def arguments(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return f.read().decode()


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        yield c


def join_line(c, name):
    return c.api("POST", "/v1/workers", {"name": name}).json["join"]


def joined(c, name):
    return until(lambda: c.worker(name)["status"] == "ready", f"worker {name} to be ready", 60)


@pytest.mark.parametrize("form", ["two", "one"])
def test_a_join_line_does_not_stay_in_the_arguments(cluster, form, tmp_path):
    c, name = cluster, "shown-" + form
    line = join_line(c, name)
    flags = ["--join", line] if form == "two" else ["--join=" + line]
    worker = subprocess.Popen([f"{BIN}/quell-worker", *flags, "--state", str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        joined(c, name)
        for pid in [worker.pid, *processes.children_of(worker.pid)]:
            assert line[8:] not in arguments(pid), arguments(pid)
        assert "qwj" in arguments(worker.pid) and str(tmp_path) in arguments(worker.pid)
    finally:
        worker.terminate()
        assert worker.wait(60) == 0


def test_a_join_line_comes_from_standard_input(cluster, tmp_path):
    c = cluster
    line = join_line(c, "silent")
    worker = subprocess.Popen([f"{BIN}/quell-worker", "--join-file", "-", "--state", str(tmp_path)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        worker.stdin.write(b"quell-worker --join " + line.encode() + b"\n")
        worker.stdin.close()
        joined(c, "silent")
        assert line[8:] not in arguments(worker.pid)
    finally:
        worker.terminate()
        assert worker.wait(60) == 0


@pytest.mark.parametrize("text", [b"", b"nothing here\n"])
def test_standard_input_without_a_line_is_refused(text, tmp_path):
    done = subprocess.run([f"{BIN}/quell-worker", "--join-file", "-", "--state", str(tmp_path)], input=text, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"quell-worker:" in done.stderr, done


@pytest.mark.parametrize("flags", [lambda t: ["--token", t], lambda t: ["--token=" + t]])
def test_a_token_does_not_stay_in_the_arguments(cluster, flags):
    c = cluster
    secret = c.api("POST", "/v1/tokens", {"name": "shown", "role": "observer"}).json["token"]
    environment = {k: v for k, v in c.environment().items() if k != "QUELL_TOKEN"}
    watching = subprocess.Popen([f"{BIN}/quell", *flags(secret), "events", "-f"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        until(lambda: secret not in arguments(watching.pid), "the token to be hidden")

        def is_shown():
            c.cancel(scope="idle", wait="fenced")  # it shows what comes once it is connected
            return select.select([watching.stdout], [], [], 0)[0]
        until(is_shown, "an event to be shown: the token works nevertheless")
        assert watching.stdout.readline()
        assert "events" in arguments(watching.pid)
    finally:
        watching.terminate()
        watching.wait(60)
