"""Small rules at the edges of the surface, one test each (docs/decisions/012 to 014)."""
import hashlib
import os
import signal
import subprocess
import time
import uuid

import pytest

from harness.cluster import BIN, Cluster, die_with_us, end
from harness.waiting import PATIENCE, until

STAY = "while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1) as c:
        yield c


def fresh_id():
    ms = int(time.time() * 1000)
    return str(uuid.UUID(int=(ms << 80) | (7 << 76) | ((uuid.uuid4().int & 0xFFF) << 64) | (2 << 62) | (uuid.uuid4().int & ((1 << 62) - 1))))


def test_a_drain_says_why_and_by_whom():
    with Cluster(workers=1) as c:
        o = c.start("bash", "-c", STAY, scope="drained", grace_ms=0)
        c.wait_status(o["id"], "running")
        assert c.api("POST", "/v1/workers/w1/drain", {"reason": "kernel update", "cancel": True}).status == 200
        ended = c.wait_status(o["id"], "cancelled")
        assert ended["stop"]["cause"] == "drain" and ended["stop"]["reason"] == "kernel update"
        assert ended["stop"]["by"]["id"] and ended["stop"]["cancel"] is None
        c.kill_controller()
        c.start_controller()
        assert c.operation(o["id"])["stop"] == ended["stop"]


def test_the_deadline_of_a_drain_says_it_too(cluster):
    o = cluster.start("bash", "-c", STAY, scope="drained", grace_ms=0)
    cluster.wait_status(o["id"], "running")
    assert cluster.api("POST", "/v1/workers/w1/drain", {"reason": "late shift", "deadline_ms": 100}).status == 200
    assert cluster.wait_status(o["id"], "cancelled")["stop"]["reason"] == "late shift"
    assert cluster.api("POST", "/v1/workers/w1/resume").status == 200


def test_a_cancel_of_finished_work_keeps_its_own_id(cluster):
    o = cluster.start("true", scope="finished")
    cluster.wait_status(o["id"], "completed")
    mine, body = fresh_id(), {"operation": o["id"], "reason": "too late"}
    first = cluster.api("POST", "/v1/cancels", dict(body, id=mine))
    assert first.status == 200 and first.json["outcome"] == "already_finished" and first.json["id"] == mine
    assert first.json["status"] == "settled" and first.json["report"]["operations"] == 0
    shown = cluster.api("GET", f"/v1/cancels/{mine}")
    assert shown.status == 200 and shown.json["outcome"] == "already_finished" and shown.json["reason"] == "too late"
    again = cluster.api("POST", "/v1/cancels", dict(body, id=mine))
    assert again.status == 200 and again.json["id"] == mine and again.json["outcome"] == "already_finished"
    assert again.json["seq"] == first.json["seq"] and again.json["report"] == shown.json["report"]
    assert cluster.api("POST", "/v1/cancels", dict(body, id=mine, reason="other")).status == 409
    assert cluster.operation(o["id"])["status"] == "completed"
    # Without an id nothing is recorded.
    assert cluster.api("POST", "/v1/cancels", body).json["id"] in (None, mine)


def test_an_id_names_one_object(cluster):
    o = cluster.start("bash", "-c", STAY, scope="ids", grace_ms=0)
    assert cluster.api("POST", "/v1/cancels", {"id": o["id"], "scope": "nobody/here"}).json["code"] == "id_conflict"
    assert cluster.api("POST", "/v1/cancels", {"id": o["id"], "operation": o["id"]}).status in (409, 422)
    assert cluster.operation(o["id"])["status"] in ("pending", "running")
    unknown = fresh_id()
    answer = cluster.api("POST", "/v1/cancels", {"id": unknown, "operation": unknown})
    assert answer.status == 422 and answer.json["code"] == "bad_id"
    done = cluster.cancel(scope="ids")
    answer = cluster.api("POST", "/v1/operations", {"id": done["id"], "kind": "task", "task": {"command": ["true"]}})
    assert answer.status == 409 and answer.json["code"] == "id_conflict" and "cancel" in answer.json["detail"]


def test_scopes_below_quell_are_reserved(cluster):
    for scope in ("quell", "quell/mcp/x"):
        answer = cluster.api("POST", "/v1/operations", {"kind": "task", "scope": scope, "task": {"command": ["true"]}})
        assert answer.status == 422 and answer.json["code"] == "bad_scope" and "reserved" in answer.body.decode()
    assert cluster.start("true", scope="quelle")["scope"] == "quelle"


def test_what_could_not_be_executed_never_started(cluster):
    o = cluster.wait_status(cluster.start("/no/such/program")["id"], "failed")
    assert o["started_at"] is None and o["exit"] == {"code": 127} and o["error"]["code"] == "start_failed"
    assert cluster.quell("run", "--", "/no/such/program").returncode == 127


def test_a_token_that_has_expired_already_is_refused(cluster):
    answer = cluster.api("POST", "/v1/tokens", {"name": "old", "role": "observer", "expires_at": "2020-01-01T00:00:00.000Z"})
    assert answer.status == 422 and "/expires_at" in answer.body.decode() and "past" in answer.body.decode()


def test_the_dead_by_instant_stands_still():
    with Cluster(workers=1, settings=[f"workers.lease={round(60 * PATIENCE)}s", "workers.heartbeat=500ms"]) as c:
        o = c.start("bash", "-c", STAY, scope="cut", grace_ms=0)
        c.wait_status(o["id"], "running")
        c.workers["w1"].process.send_signal(signal.SIGSTOP)
        until(lambda: c.operation(o["id"])["unreachable"], "the worker to be silent")
        seen = {(c.operation(o["id"])["unreachable"]["dead_by"], c.worker("w1")["unreachable"]["dead_by"]) for _ in range(100)}
        assert len(seen) == 1, seen
        c.workers["w1"].process.send_signal(signal.SIGCONT)


def test_an_env_file_may_export(cluster, tmp_path):
    file = tmp_path / "env"
    file.write_text("# a comment\nA=1\nexport B=2 3\n  export  C=4\n")
    assert cluster.quell("run", "--env-file", file, "--", "sh", "-c", "echo $A-$B-$C", check=0).stdout == b"1-2 3-4\n"
    file.write_text("exports C=3\n")
    refused = cluster.quell("run", "--env-file", file, "--", "true")
    assert refused.returncode == 125 and b"line 1" in refused.stderr


def test_a_bad_token_is_a_whole_sentence(cluster):
    done = cluster.quell("ps", env=dict(cluster.environment(), QUELL_TOKEN="qk_wrong"))
    assert done.returncode == 6
    text = done.stderr.decode().strip()
    assert ". Look at --token" in text, text


def test_up_says_where_it_is_also_into_a_pipe(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUELL")}
    up = subprocess.Popen([f"{BIN}/quell", "up", "--workers", "1", "--state", str(tmp_path / "s"), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, preexec_fn=die_with_us)
    said = b""
    os.set_blocking(up.stdout.fileno(), False)

    def hear():
        nonlocal said
        said += up.stdout.read() or b""
        return b"Ctrl-C stops it all" in said or up.poll() is not None

    try:
        until(hear, "quell up to say that it is up", 60)
        assert b"quell is up at http://127.0.0.1:" in said, said
    finally:
        up.send_signal(signal.SIGINT)
        end(up, 60)


def test_readyz_waits_for_the_ledger():
    with Cluster(workers=1) as c:
        c.start("bash", "-c", STAY, scope="x", grace_ms=0)
        c.kill_controller()
        c.start_controller(wait=False)

        def ready():
            try:
                return c.api("GET", "/readyz").status == 200
            except OSError:
                return False

        until(ready, "readyz")
        # From then on orders are accepted at once; the bound is far above a machine's pause.
        began = time.monotonic()
        assert c.api("POST", "/v1/cancels", {"scope": "nobody/here"}).status == 200
        assert time.monotonic() - began < 30
        c.cancel(scope="x")


def test_logs_since_goes_by_the_time_of_the_output():
    with Cluster(workers=1) as c:
        o = c.start("sh", "-c", "echo old; sleep 20; echo new; echo err >&2; sleep 1000", scope="logs", grace_ms=0)
        until(lambda: c.api("GET", f"/v1/operations/{o['id']}/output").body == b"old\nnew\n", "both lines", 60)
        seen = time.monotonic()

        def since():
            return f"{int((time.monotonic() - seen) * 1000) + 10000}ms"  # in the middle between the two lines

        assert c.quell("logs", o["id"], "--since", since(), check=0).stdout == b"new\n"
        assert c.quell("logs", o["id"], "--since", "1h", check=0).stdout == b"old\nnew\n"
        c.kill_controller()
        c.start_controller()
        assert c.quell("logs", o["id"], "--since", since(), check=0).stdout == b"new\n"
        c.cancel(scope="logs")
        assert c.quell("logs", o["id"], "--since", since(), check=0).stdout == b"new\n"
        assert c.quell("logs", o["id"], "--since", "0ms", check=0).stdout == b""


def test_input_survives_the_death_of_the_controller(tmp_path):
    """Input that the task has not read yet stays with the client when quelld is killed."""
    data = os.urandom(1 << 20)
    gate = tmp_path / "gate"
    with Cluster(workers=1, settings=["workers.lease=60s"]) as c:
        source = tmp_path / "data"
        source.write_bytes(data)
        with open(source, "rb") as stdin:
            client = c.quell_background("run", "-i", "--scope", "fed", "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; sha256sum", stdin=stdin)
            o = until(lambda: c.operations(scope="fed", status="running"), "the task to run")[0]
            worker_side = lambda: c.api("POST", f"/v1/operations/{o['id']}/input?offset=0", raw=b"").json.get("offset", 0)
            until(lambda: worker_side() > 0, "the pipe to be full")
            for _ in range(3):
                c.kill_controller()
                c.start_controller()
                until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
            gate.write_text("")
            out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err
        assert out.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_an_answer_to_input_says_what_the_task_was_handed(cluster):
    o = cluster.start("sh", "-c", "head -c 3; sleep 1000", scope="handed", task_stdin=True, grace_ms=0)
    cluster.wait_status(o["id"], "running")
    feed = lambda: cluster.api("POST", f"/v1/operations/{o['id']}/input?offset=0", raw=b"abc")
    # The same bytes again are the same: a worker can be between two connections, and take longer than the 5 s of an answer.
    until(lambda: (lambda a: a.status == 200 and a.json["offset"] == 3)(feed()), "the task to have been handed three bytes")
    # More than a pipe holds: the answer contains the accepted offset.
    answer = cluster.api("POST", f"/v1/operations/{o['id']}/input?offset=3", raw=b"x" * 200_000)
    assert answer.status == 200 and 3 <= answer.json["offset"] < 200_003
    cluster.cancel(scope="handed")
