"""Bad input and bad environments: a clear error (what, where, what to do), and nothing lost or half done."""
import json
import os
import signal
import socket
import sqlite3
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, Cluster, end, free_ports, marker
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1) as c:
        yield c


def problem(answer, status, code):
    assert answer.status == status, (answer.status, answer.body)
    p = answer.json
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert p["code"] == code and p["status"] == status and p["type"] == f"urn:quell:error:{code}", p
    assert len(p["detail"]) > 10 and p["request"] and "errors" in p and "cancel" in p
    return p


TASK = {"kind": "task", "task": {"command": ["true"]}}


@pytest.mark.parametrize("raw,status,code", [
    (b"{", 400, "bad_json"),
    (b'{"kind": "task", "title": "\xff\xfe"}', 400, "bad_json"),
    (b'{"kind": "task", "task": {"command": ["true"]}, "colour": 1}', 422, "unknown_field"),
    (b'{"kind": "task", "task": {"command": []}}', 422, "invalid_field"),
    (b'{"kind": "task", "task": {"command": [""]}}', 422, "invalid_field"),
    (b'{"kind": "task", "task": {"command": ["true"], "colour": 1}}', 422, "unknown_field"),
    (b'{"kind": "task"}', 422, "invalid_field"),
    (b'{"kind": "teapot", "task": {"command": ["true"]}}', 422, "invalid_field"),
    (b'{"kind": "task", "scope": "a//b", "task": {"command": ["true"]}}', 422, "bad_scope"),
    (b'{"kind": "task", "scope": "", "task": {"command": ["true"]}}', 422, "bad_scope"),
    (b'{"kind": "task", "scope": "a/*", "task": {"command": ["true"]}}', 422, "bad_scope"),
    (b'{"kind": "task", "scope": "../etc", "task": {"command": ["true"]}}', 422, "bad_scope"),
    (b'{"kind": "task", "id": "no-id", "task": {"command": ["true"]}}', 422, "bad_id"),
    (b'{"kind": "task", "task": {"command": ["true"], "worker": "nobody"}}', 422, "no_such_worker"),
    (b'{"kind": "task", "grace_ms": -1, "task": {"command": ["true"]}}', 422, "invalid_field"),
    (b'{"kind": "task", "grace_ms": "2s", "task": {"command": ["true"]}}', 422, "invalid_field"),
])
def test_bad_creates(cluster, raw, status, code):
    before = len(cluster.operations())
    p = problem(cluster.api("POST", "/v1/operations", raw=raw, headers={"Content-Type": "application/json"}), status, code)
    if code in ("unknown_field", "invalid_field"):
        assert p["errors"] and all(e["pointer"].startswith("/") and e["message"] for e in p["errors"]), p
    assert len(cluster.operations()) == before


def test_a_cancel_that_names_two_targets_in_one_field_stops_neither(cluster):
    first, second = (cluster.start("sleep", "1000", scope="doubled") for _ in range(2))
    raw = '{"operation": "%s", "operation": "%s"}' % (first["id"], second["id"])
    p = problem(cluster.api("POST", "/v1/cancels", raw=raw.encode(), headers={"Content-Type": "application/json"}), 400, "bad_json")
    assert [e["pointer"] for e in p["errors"]] == ["/operation"], p
    for task in (first, second):
        assert cluster.operation(task["id"])["status"] in ("pending", "running")
    assert not cluster.api("GET", "/v1/cancels?scope=doubled").json["cancels"]
    cluster.cancel(scope="doubled")
    cluster.cancel(scope="doubled")


def test_a_body_must_be_an_object(cluster):
    problem(cluster.api("POST", "/v1/operations", raw=b"[1,2]", headers={"Content-Type": "application/json"}), 422, "invalid_field")


@pytest.mark.parametrize("body,code", [
    ({}, "no_target"),
    ({"scope": "a", "operation": "01a1f869-3df9-7303-8207-dde70bee07dd"}, "no_target"),
    ({"scope": ""}, "bad_scope"),
    ({"scope": "a", "grace": 1}, "unknown_field"),
    ({"operation": "xyz"}, "bad_id"),
    ({"scope": "a", "wait": "never"}, "invalid_field"),
    ({"everything": False}, "no_target"),
])
def test_bad_cancels(cluster, body, code):
    problem(cluster.api("POST", "/v1/cancels", body), 422, code)


def test_sizes(cluster):
    problem(cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["echo", "x" * (10 << 20)]}}), 413, "too_large")
    problem(cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["echo", "x" * (200 << 10)]}}), 422, "invalid_field")
    problem(cluster.api("POST", "/v1/operations", dict(TASK, title="t" * 201)), 422, "invalid_field")
    problem(cluster.api("POST", "/v1/operations", dict(TASK, labels={str(i): "v" for i in range(65)})), 422, "invalid_field")


def test_routes_methods_ids_and_media(cluster):
    problem(cluster.api("GET", "/v1/nothing"), 404, "not_found")
    problem(cluster.api("PUT", "/v1/operations"), 405, "method_not_allowed")
    problem(cluster.api("POST", "/v1/operations", raw=b"x=1", headers={"Content-Type": "text/plain"}), 415, "unsupported_media_type")
    op = cluster.start("true", scope="bad/ids")
    cancel = cluster.cancel(scope="bad/ids")
    problem(cluster.api("GET", f"/v1/cancels/{op['id']}"), 404, "cancel_not_found")
    problem(cluster.api("GET", f"/v1/operations/{cancel['id']}"), 404, "operation_not_found")
    problem(cluster.api("GET", "/v1/workers/nobody"), 404, "worker_not_found")
    problem(cluster.api("GET", "/v1/operations?colour=1"), 422, "unknown_field")
    problem(cluster.api("GET", "/v1/operations?limit=0"), 422, "invalid_field")


def test_tokens_and_roles(cluster):
    problem(cluster.api("GET", "/v1/operations", token="qk_wrong"), 401, "unauthenticated")
    problem(cluster.api("GET", "/v1/operations", headers={"Authorization": None}), 401, "unauthenticated")
    assert cluster.api("GET", "/healthz", headers={"Authorization": None}).status == 200
    made = cluster.api("POST", "/v1/tokens", {"name": "watcher", "role": "observer", "scope": "team/a", "expires_at": None})
    assert made.status == 201, made.body
    watcher = made.json["token"]
    problem(cluster.api("POST", "/v1/operations", TASK, token=watcher), 403, "forbidden")
    problem(cluster.api("POST", "/v1/cancels", {"scope": "team/a"}, token=watcher), 403, "forbidden")
    made = cluster.api("POST", "/v1/tokens", {"name": "op", "role": "operator", "scope": "team/a", "expires_at": None}).json
    inside = cluster.api("POST", "/v1/operations", dict(TASK, scope="team/a/x"), token=made["token"])
    assert inside.status == 201
    problem(cluster.api("POST", "/v1/operations", dict(TASK, scope="team/ab"), token=made["token"]), 403, "scope_forbidden")
    problem(cluster.api("POST", "/v1/cancels", {"scope": "team"}, token=made["token"]), 403, "scope_forbidden")
    outside = cluster.start("true", scope="team/ab")
    problem(cluster.api("GET", f"/v1/operations/{outside['id']}", token=made["token"]), 404, "operation_not_found")
    problem(cluster.api("POST", f"/v1/operations/{outside['id']}/cancel", token=made["token"]), 404, "operation_not_found")
    assert [o["scope"] for o in cluster.api("GET", "/v1/operations", token=watcher).json["operations"]] == ["team/a/x"]
    assert cluster.api("DELETE", f"/v1/tokens/{made['id']}").status in (200, 204)
    problem(cluster.api("GET", "/v1/operations", token=made["token"]), 401, "unauthenticated")


def test_a_tasks_token_sees_and_cancels_below_itself_only(cluster):
    op = cluster.start("bash", "-c", "echo $QUELL_TOKEN; echo $QUELL_URL; sleep 1000", scope="own/token")
    stranger = cluster.start("sleep", "1000", scope="own/token")
    text = until(lambda: (lambda b: b if b.count(b"\n") == 2 else None)(cluster.api("GET", f"/v1/operations/{op['id']}/output").body), "the token")
    token = text.split()[0].decode()
    child = cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["sleep", "1000"]}}, token=token)
    assert child.status == 201 and child.json["parent"] == op["id"] and child.json["scope"] == "own/token"
    problem(cluster.api("GET", f"/v1/operations/{stranger['id']}", token=token), 404, "operation_not_found")
    problem(cluster.api("POST", f"/v1/operations/{stranger['id']}/cancel", token=token), 404, "operation_not_found")
    assert {o["id"] for o in cluster.api("GET", "/v1/operations", token=token).json["operations"]} == {op["id"], child.json["id"]}
    assert cluster.api("POST", f"/v1/operations/{child.json['id']}/cancel", {"wait": "settled"}, token=token).status in (200, 202)
    cluster.wait_status(child.json["id"], "cancelled")
    problem(cluster.api("POST", "/v1/cancels", {"everything": True}, token=token), 403, "forbidden")
    cluster.cancel(scope="own/token")
    problem(cluster.api("GET", f"/v1/operations/{op['id']}", token=token), 401, "unauthenticated")


def test_an_unknown_key_is_refused_and_harms_nothing(cluster):
    other = Cluster(workers=0)
    try:
        other.start_controller()
        other.enrol("stranger")
        # The stranger's line has the other controller's key; at our address, the handshake fails on both sides.
        forged = subprocess.run([f"{BIN}/quell-worker", "keygen", "--state", os.path.join(other.directory, "kg")], capture_output=True)
        assert forged.returncode == 0, forged.stderr
    finally:
        other.close()
    op = cluster.start("true")
    cluster.wait_status(op["id"], "completed")


def run_quelld(*flags, env=None):
    return subprocess.run([f"{BIN}/quelld", *flags], capture_output=True, timeout=60, env=env)


def test_a_second_controller_on_the_same_state_is_refused(cluster):
    done = run_quelld("--state", cluster.state, "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and str(cluster.controller.pid).encode() in done.stderr, done.stderr


def test_a_port_in_use_names_the_key_and_the_port(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        ports = free_ports(2)
        common = ["--state", str(tmp_path / "s")]
        done = run_quelld(*common, "--listen", f"127.0.0.1:{port}", "--workers-listen", f"127.0.0.1:{ports[0]}", "--output-listen",
                          f"127.0.0.1:{ports[1]}")
        assert done.returncode == 1 and b"http.listen" in done.stderr and str(port).encode() in done.stderr, done.stderr
        done = run_quelld(*common, "--listen", "127.0.0.1:0", "--workers-listen", f"127.0.0.1:{port}", "--output-listen", f"127.0.0.1:{ports[1]}")
        assert done.returncode == 1 and b"workers.listen" in done.stderr, done.stderr


def test_configuration_errors_exit_2_and_name_the_nearest_key(tmp_path):
    config = tmp_path / "q.toml"
    config.write_text("[http]\nlissen = 'x'\n")
    done = run_quelld("--config", str(config))
    assert done.returncode == 2 and b"http.listen" in done.stderr
    assert run_quelld("--colour").returncode == 2
    assert run_quelld("--set", "workers.lease=100ms", "--state", str(tmp_path)).returncode == 2
    done = run_quelld("--listen", "0.0.0.0:0", "--state", str(tmp_path))
    assert done.returncode == 2 and b"tls" in done.stderr.lower()
    printed = run_quelld("--print-config")
    config.write_bytes(printed.stdout)
    assert run_quelld("--config", str(config), "--check-config").returncode == 0


def test_a_locked_and_a_broken_database(tmp_path):
    state = tmp_path / "s"
    flags = ["--state", str(state), "--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0", "--output-listen", "127.0.0.1:0"]
    first = subprocess.Popen([f"{BIN}/quelld", *flags], stderr=subprocess.DEVNULL)
    until(lambda: (state / "client.json").exists(), "the first start")
    first.send_signal(signal.SIGTERM)
    end(first)
    database = next(state.glob("*.db"))
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    done = run_quelld(*flags)
    assert done.returncode == 1 and b"locked" in done.stderr, done.stderr
    lock.execute("ROLLBACK")
    lock.close()
    for extra in state.glob("*.db-*"):
        extra.unlink()
    data = bytearray(database.read_bytes())
    data[:64] = b"not a database at all, sorry" + bytes(36)
    database.write_bytes(data)
    done = run_quelld(*flags)
    assert done.returncode == 1 and str(state).encode() in done.stderr and b"backup" in done.stderr.lower(), done.stderr


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), reason="needs a user without rights")
def test_a_read_only_state_directory(tmp_path):
    state = tmp_path / "ro"
    state.mkdir()
    state.chmod(0o555)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(drop + [f"{BIN}/quelld", "--state", str(state), "--listen", "127.0.0.1:0"], capture_output=True, timeout=60)
    assert done.returncode == 1 and str(state).encode() in done.stderr, done.stderr
