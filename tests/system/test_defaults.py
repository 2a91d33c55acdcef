"""`[defaults] scope, timeout`: fields that a create omits."""
import subprocess

import pytest

from harness.cluster import BIN, Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, settings=["defaults.scope=team/inbox", "defaults.timeout=1500ms"]) as c:
        yield c


def test_the_scope_of_a_create_without_scope_and_parent(cluster):
    o = cluster.start("true")
    assert o["scope"] == "team/inbox"
    assert cluster.start("true", scope="team/other")["scope"] == "team/other"
    cluster.quell("run", "--timeout", "60s", "--title", "by flag", "--", "true", check=0)
    assert cluster.operations(scope="team/inbox", limit=1)[0]["title"] == "by flag"
    external = cluster.api("POST", "/v1/operations", {"kind": "external"}).json
    assert external["scope"] == "team/inbox"
    batch = cluster.api("POST", "/v1/operations/batch", {"operations": [{"kind": "external"}]}).json
    assert batch["results"][0]["operation"]["scope"] == "team/inbox"


def test_a_child_has_its_parents_scope(cluster):
    parent = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": "elsewhere", "timeout_ms": 0}).json
    assert cluster.start("true", parent=parent["id"])["scope"] == "elsewhere"
    done = cluster.quell("run", "--timeout", "60s", "--scope", "above", "--", "quell", "run", "--timeout", "60s", "--title", "inner", "--", "true")
    assert done.returncode == 0, done
    assert [o["scope"] for o in cluster.operations(scope="above") if o["title"] == "inner"] == ["above"]
    cluster.cancel(scope="elsewhere")


def test_a_token_of_another_scope_must_name_its_own(cluster):
    token = cluster.api("POST", "/v1/tokens", {"name": "other", "role": "operator", "scope": "other"}).json["token"]
    body = {"kind": "task", "task": {"command": ["true"]}}
    answer = cluster.api("POST", "/v1/operations", body, token=token)
    assert answer.status == 403 and answer.json["code"] == "scope_forbidden", answer.body
    assert cluster.api("POST", "/v1/operations", body | {"scope": "other/1"}, token=token).status == 201
    inbox = cluster.api("POST", "/v1/tokens", {"name": "inbox", "role": "operator", "scope": "team"}).json["token"]
    assert cluster.api("POST", "/v1/operations", body, token=inbox).json["scope"] == "team/inbox"


def test_the_timeout_of_a_create_that_says_nothing_of_it(cluster):
    o = cluster.start("sleep", "1000", scope="slow")
    assert o["timeout_ms"] == 1500
    done = cluster.wait_status(o["id"], "failed")
    assert done["error"]["code"] == "timeout" and done["stop"]["proof"], done
    assert cluster.quell("run", "--", "sleep", "1000").returncode == 124


def test_zero_and_a_longer_one_of_its_own_count(cluster):
    assert cluster.start("true", timeout_ms=0)["timeout_ms"] == 0
    o = cluster.start("sleep", "2", timeout_ms=600_000)
    assert o["timeout_ms"] == 600_000
    assert cluster.wait_status(o["id"], "completed", "failed")["status"] == "completed"


def test_both_are_printed_and_checked():
    out = subprocess.run([f"{BIN}/quelld", "--print-config"], capture_output=True, check=True).stdout.decode()
    assert 'scope = "default"' in out and 'timeout = "0"' in out.split("[defaults]")[1].split("[limits]")[0], out
    for bad in ("defaults.scope=a//b", "defaults.scope=", "defaults.scope=quell/x", "defaults.timeout=5"):
        done = subprocess.run([f"{BIN}/quelld", "--check-config", "--set", bad], capture_output=True)
        assert done.returncode == 2 and b"defaults." in done.stderr, (bad, done)
