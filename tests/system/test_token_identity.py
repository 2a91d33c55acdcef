"""The identity of a token is its id. Names are chosen by the token's creator, and two tokens can have the same."""
import socket
import urllib.parse
import uuid

import pytest

from harness.cluster import Cluster
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, settings=["limits.requests_per_second=20"]) as c:
        yield c


def token(c, name, role="operator", scope=None):
    made = c.api("POST", "/v1/tokens", {"name": name, "role": role, "scope": scope, "expires_at": None})
    assert made.status == 201, made.body
    return made.json


def burst(c, secret):
    """The answers to a hundred requests that come at once: one after the other would be slower than the limit on a busy machine."""
    url = urllib.parse.urlsplit(c.url)
    request = f"GET /v1/status HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {secret}\r\n"
    with socket.create_connection((url.hostname, url.port), timeout=60) as s:
        s.sendall((f"{request}\r\n" * 99 + f"{request}Connection: close\r\n\r\n").encode())
        return b"".join(iter(lambda: s.recv(1 << 16), b""))


def new_id():
    import os
    import time
    raw = bytearray(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
    raw[6], raw[8] = raw[6] & 0x0F | 0x70, raw[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))


def test_a_cancel_and_the_audit_name_the_tokens_id(cluster):
    forged = token(cluster, "admin")
    done = cluster.api("POST", "/v1/cancels", {"scope": "who/forged"}, token=forged["token"]).json
    assert done["via"]["token"] == "admin" and done["via"]["token_id"] == forged["id"], done["via"]
    real = cluster.api("POST", "/v1/cancels", {"scope": "who/real"}).json
    assert real["via"]["token"] == "admin" and real["via"]["token_id"] == "bootstrap", real["via"]
    entries = cluster.api("GET", "/v1/audit?limit=1000").json["audit"]
    said = {e["data"]["target"]: e["data"]["via"] for e in entries if e["data"]["action"] == "cancel"}
    assert said["scope who/forged"]["token_id"] == forged["id"] and said["scope who/real"]["token_id"] == "bootstrap", said
    # A cancel that is read again shows the same.
    assert cluster.api("GET", f"/v1/cancels/{done['id']}").json["via"]["token_id"] == forged["id"]


def test_a_tombstone_is_seen_by_the_token_that_left_it_and_not_by_its_namesake(cluster):
    one, other = (token(cluster, "twin", scope="who") for _ in range(2))
    left = cluster.api("POST", "/v1/cancels", {"operation": new_id()}, token=one["token"])
    assert left.status == 202 and left.json["outcome"] == "unknown_id", left.body
    path = f"/v1/cancels/{left.json['id']}"
    assert cluster.api("GET", path, token=one["token"]).status == 200
    assert cluster.api("GET", path, token=other["token"]).status == 404
    assert left.json["id"] not in [x["id"] for x in cluster.api("GET", "/v1/cancels?limit=1000", token=other["token"]).json["cancels"]]


def test_namesakes_do_not_share_a_rate(cluster):
    one, other = (token(cluster, "rate", role="observer") for _ in range(2))
    until(lambda: b"HTTP/1.1 429 " in burst(cluster, one["token"]), "the first to be slowed down")
    assert cluster.api("GET", "/v1/status", token=other["token"]).status == 200


def test_a_day_has_so_many_bytes_of_each_token_and_cancels_are_none_of_them():
    with Cluster(workers=0, settings=["limits.bytes_per_day=64KiB"]) as c:
        one, other = (token(c, "bytes") for _ in range(2))

        def made(by, padding=4000):
            return c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": "bytes/full", "labels": {f"l{i}": "x" * 100 for i in range(padding // 110)}},
                         token=by["token"])

        assert made(one).status == 201
        refused = until(lambda: (lambda a: a if a.status == 429 else None)(made(one)), "the day's bytes to be spent")
        assert refused.json["code"] == "rate_limited" and "limits.bytes_per_day" in refused.json["detail"], refused.body
        assert int(refused.headers["Retry-After"]) > 0
        before = len(c.operations(scope="bytes/full", status="running")) + len(c.operations(scope="bytes/full", status="pending"))
        assert made(one).status == 429
        assert len(c.operations(scope="bytes/full", status="running")) + len(c.operations(scope="bytes/full", status="pending")) == before, "what was refused was not done"
        assert made(other).status == 201, "a namesake has bytes of its own"
        assert made(dict(token=c.token)).status == 201, "the bootstrap token has none of the limits"
        for _ in range(200):  # far more than a day's quota of bytes
            done = c.api("POST", "/v1/cancels", {"scope": "bytes/full", "reason": "r" * 400}, token=one["token"])
            assert done.status in (200, 202), done.body
        assert made(one).status == 429
        assert c.api("GET", "/v1/status", token=one["token"]).status == 200, "what has no body costs none"


def test_a_task_is_told_by_its_operation(cluster):
    o = cluster.start("bash", "-c", "quell run -d -- sleep 1000; quell cancel $QUELL_OPERATION --reason x; quell ps -q; exec sleep 1000", scope="who/task", grace_ms=0)
    child = until(lambda: [x for x in cluster.operations(parent=o["id"])], "the child")[0]
    cluster.cancel(scope="who/task")
    assert cluster.operation(child["id"])["status"] == "cancelled"
