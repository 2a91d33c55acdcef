"""The other commands of `quell` against a real cluster: their output and exit codes."""
import json
import os
import subprocess

import pytest

from harness import processes, trees
from harness.cluster import BIN, Cluster, marker
from harness.waiting import PATIENCE, until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=2) as c:
        yield c


def test_cancel_exit_codes(cluster):
    id = cluster.quell("run", "-d", "--scope", "x/codes", "--", "sleep", "1000", check=0).stdout.decode().strip()
    until(lambda: cluster.operation(id)["status"] == "running", "the task to run")
    done = cluster.quell("cancel", "--scope", "x/codes", check=0)
    assert b"settled" in done.stdout + done.stderr
    cluster.quell("cancel", "--scope", "x/codes", check=3)
    cluster.quell("cancel", id, check=0)
    cluster.quell("cancel", "01a1f869-3df9-7303-8207-dde70bee07dd", check=3)
    lives = cluster.quell("run", "-d", "--scope", "x/codes", "--", "sleep", "1000", check=0).stdout.decode().strip()
    refused = cluster.quell("cancel", lives, "deadbeef", check=3)
    assert b"nothing was cancelled: " in refused.stderr and not cluster.operation(lives)["stop"]
    cluster.quell("cancel", lives, check=0)
    cluster.quell("cancel", check=2)
    cluster.quell("cancel", "--everything", check=2)
    cluster.quell("cancel", "--scope", "a//b", check=2)
    cluster.quell("cancel", "--scope", "a", "--grace", "5", check=2)
    cluster.quell("ps", "--colour", check=2)
    cluster.quell("ps", check=6, env=dict(cluster.environment(), QUELL_TOKEN="qk_wrong"))
    cluster.quell("ps", check=5, env=dict(cluster.environment(), QUELL_URL="http://127.0.0.1:9"))
    cluster.quell("run", "--", "true", check=125, env=dict(cluster.environment(), QUELL_URL="http://127.0.0.1:9"))
    cluster.quell("show", "01a1f869-3df9-7303-8207-dde70bee07dd", check=3)


def test_not_proven_when_the_wait_runs_out_is_4(cluster):
    m = marker()
    id = cluster.quell("run", "-d", "--grace", "10m", "--", *trees.term_ignored(m), check=0).stdout.decode().strip()
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    done = cluster.quell("cancel", id, "--timeout", f"{round(8000 * PATIENCE)}ms", check=4)  # longer than a worker may pause before it applies it
    assert b"in_grace" in done.stdout + done.stderr or b"grace" in done.stdout + done.stderr
    why = cluster.quell("why", id, check=0).stdout.decode()
    assert "kill" in why
    assert json.loads(cluster.quell("--json", "cancels", "--open", check=0).stdout)["cancels"]
    cluster.quell("kill", id, check=0)
    assert processes.marked(m) == []


def test_the_tree_is_drawn(cluster):
    root = cluster.start("sleep", "1000", scope="x/tree", title="the root")
    child = cluster.start("sleep", "1000", parent=root["id"], title="the child")
    for one in (root, child):
        cluster.wait_status(one["id"], "running")
    text = cluster.quell("ps", "--tree", "--scope", "x/tree", env=dict(cluster.environment(), LC_ALL="C.UTF-8"), check=0).stdout.decode()
    assert "the root" in text and "the child" in text and "└" in text and root["id"][-8:] in text
    listed = json.loads(cluster.quell("ps", "--json", "--scope", "x/tree", check=0).stdout)
    assert {o["id"] for o in listed["operations"]} == {root["id"], child["id"]}
    assert cluster.quell("ps", "-q", "--scope", "x/tree", check=0).stdout.decode().split()
    shown = json.loads(cluster.quell("show", "--json", child["id"][-8:], check=0).stdout)
    assert shown["id"] == child["id"]
    dry = cluster.quell("cancel", "--scope", "x/tree", "--dry-run", check=0).stdout.decode()
    assert root["id"][-8:] in dry and child["id"][-8:] in dry
    assert cluster.operation(root["id"])["status"] == "running"
    _, seq = dry.rstrip().rsplit(" --up-to-seq ", 1)
    later = cluster.start("sleep", "1000", scope="x/tree")
    cluster.quell("cancel", "--scope", "x/tree", "--up-to-seq", seq, "-q", check=0)
    assert [cluster.operation(o["id"])["status"] for o in (root, child, later)] == ["cancelled", "cancelled", "running"]
    cluster.quell("cancel", "--scope", "x/tree", "-q", check=0)
    assert cluster.operation(later["id"])["status"] == "cancelled"


def test_logs(cluster):
    id = cluster.quell("run", "-d", "--", "bash", "-c", "seq 1 100; echo oops >&2", check=0).stdout.decode().strip()
    cluster.wait_status(id, "completed")
    for stream in ("stdout", "stderr"):
        cluster.output(id, stream)  # all of it: output has its own socket, and can arrive after the end
    assert cluster.quell("logs", id, "--stream", "stdout", check=0).stdout == b"".join(b"%d\n" % i for i in range(1, 101))
    assert cluster.quell("logs", id, "--stream", "stderr", check=0).stderr == b"oops\n"
    both = cluster.quell("logs", id, check=0)
    assert both.stdout.endswith(b"100\n") and both.stderr == b"oops\n"


def test_workers_drain_and_resume(cluster):
    names = [w["name"] for w in json.loads(cluster.quell("worker", "list", "--json", check=0).stdout)["workers"]]
    assert sorted(names) == ["w1", "w2"]
    cluster.quell("worker", "drain", "w2", check=0)
    assert cluster.worker("w2")["status"] == "draining"
    placed = {cluster.wait_status(cluster.start("true")["id"], "completed")["worker"] for _ in range(10)}
    assert placed == {"w1"}
    cluster.quell("worker", "resume", "w2", check=0)
    until(lambda: cluster.worker("w2")["status"] == "ready", "w2 to be ready again")
    added = cluster.quell("worker", "add", "w9", check=0)
    assert b"qwj1." in added.stdout and b"loopback" in added.stderr
    cluster.quell("worker", "add", "w9", check=1)
    cluster.quell("worker", "remove", "w9", check=0)
    cluster.quell("worker", "show", "w9", check=3)


def test_labels_choose_workers_and_say_why_nothing_starts(cluster):
    op = cluster.start("true", scope="x/labels", task_on={"gpu": "1"})
    waiting = until(lambda: cluster.operation(op["id"])["waiting_for"], "the reason")
    assert waiting["what"] == "worker" and "gpu=1" in waiting["detail"]
    assert "gpu=1" in cluster.quell("why", op["id"], check=0).stdout.decode()
    cluster.quell("cancel", op["id"], check=0)


def test_status_scopes_events_tokens_doctor(cluster):
    cluster.quell("status", check=0)
    op = cluster.start("sleep", "1000", scope="x/scopes")
    assert b"x/scopes" in cluster.quell("scopes", check=0).stdout
    cluster.quell("cancel", "--scope", "x/scopes", check=0)
    events = [json.loads(l) for l in cluster.quell("events", "--json", "--scope", "x/scopes", check=0).stdout.splitlines()]
    types = [e["type"] for e in events if e.get("operation") == op["id"]]
    assert types[0] == "operation_created" and types[-1] == "operation_cancelled"
    made = cluster.quell("token", "create", "bot", "--role", "chat", "--token-scope", "x", check=None)
    doctor = cluster.quell("doctor")
    text = (doctor.stdout + doctor.stderr).decode()
    assert "containment" in text and "environment" in text


@pytest.mark.parametrize("command, named", [
    (("events", "--types", "operation_exploded"), b"operation_exploded"),
    (("events", "-f", "--types", "operation_exploded"), b"operation_exploded"),
    (("worker", "add", "bad name"), b"name"),
    (("token", "create", "x" * 200, "--role", "chat"), b"name"),
])
def test_a_value_that_the_controller_refuses_is_a_usage_error(cluster, command, named):
    done = cluster.quell(*command, check=2)
    assert named in done.stderr and done.stdout == b"", done


def test_the_programs_of_speech_print_their_help():
    for program in ("quell-ear", "quell-mouth"):
        if os.path.exists(f"{BIN}/{program}"):  # quell-ear needs pocketsphinx
            for arguments in (["--help"], ["--url", "http://127.0.0.1:9", "-h"]):
                done = subprocess.run([f"{BIN}/{program}", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
                assert done.returncode == 0 and b"--key-file FILE" in done.stdout and not done.stderr, done


def test_help_and_completion(cluster):
    for command in ("up", "status", "run", "ps", "show", "logs", "wait", "cancel", "cancels", "why", "resolve", "scopes", "worker", "events", "token",
                    "doctor", "completion"):
        assert len(cluster.quell(command, "--help", check=0).stdout) > 100, command
    for shell in ("bash", "zsh", "fish"):
        assert b"quell" in cluster.quell("completion", shell, check=0).stdout
    assert b"stale_start" in cluster.quell("help", "errors", check=0).stdout


@pytest.mark.parametrize("to", ["> /dev/full", ">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_output_that_cannot_be_written_is_an_error_and_goes_nowhere_else(cluster, to):
    """The first sockets of a program would get the descriptors 0 to 2, and its output would wait for one of them."""
    done = subprocess.run(["bash", "-c", "quell run -- echo hi " + to], env=cluster.environment(), capture_output=True, timeout=60)
    assert done.returncode == 125 and done.stdout == b"", done
    assert (b"standard output cannot be written" in done.stderr) == ("2>" not in to), done
    done = subprocess.run(["bash", "-c", "quell run -- sh -c 'echo hi; exit 3' " + to], env=cluster.environment(), capture_output=True, timeout=60)
    assert done.returncode in (3, 125), done


def test_a_cluster_with_closed_standard_streams_works():
    closed = ["bash", "-c", 'exec "$0" "$@" <&- >&- 2>&-']
    with Cluster(workers=0) as c:
        c.kill_controller()
        c.start_controller(prefix=closed)
        c.add_worker("w1", prefix=closed)
        assert c.quell("run", "--", "echo", "hi", check=0).stdout == b"hi\n"
