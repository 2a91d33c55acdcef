"""`types` of the events: the audit is for admins without a scope, however the type is written; and what is not a type is refused."""
import http.client
import json
import urllib.parse

import pytest

from harness.cluster import Cluster
from harness.waiting import until

ROLES = ("observer", "chat", "operator", "admin")


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        c.tokens = {f"{scope or 'all'}/{role}": c.api("POST", "/v1/tokens", {"name": f"{scope}-{role}", "role": role, "scope": scope}).json["token"]
                    for scope in (None, "mine") for role in ROLES if (scope, role) != (None, "admin")}
        c.work = c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": "mine"}).json["id"]
        yield c
        c.cancel(scope="mine", wait="fenced")


def paths(c, query):
    return [f"/v1/events?after=0&{query}", f"/v1/events?{query}", f"/v1/operations/{c.work}/events?after=0&{query}"]


def answers(c, query, token):
    """Of pages and of streams alike; a stream that begins is not read."""
    for path in paths(c, query):
        yield path, c.api("GET", path, token=token)
        yield path + " as a stream", head_of_stream(c, path, token)


class Head:
    def __init__(self, status, body):
        self.status, self.body = status, body

    @property
    def json(self):
        return json.loads(self.body)


def head_of_stream(c, path, token):
    url = urllib.parse.urlsplit(c.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": "Bearer " + (token or c.token), "Accept": "text/event-stream"})
        answer = connection.getresponse()
        return Head(answer.status, b"" if answer.status == 200 else answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("query", ["types=audit", "types=audit,operation_created", "types=operation_created,audit", "types=operation_created&types=audit", "types=audit&types=audit",
                                   "types=audit,audit", "types=%61udit", "types=operation_created%2Caudit", "ty%70es=audit", "scope=mine&types=audit"])
def test_the_audit_is_forbidden_to_all_others(cluster, query):
    for name, token in cluster.tokens.items():
        for path, answer in answers(cluster, query, token):
            assert answer.status == 403 and answer.json["code"] == "forbidden", (name, path, answer.body)
            assert "admins without a scope" in answer.json["detail"], answer.body


NO_TYPES = ["Audit", "AUDIT", "aud%C4%B1t", "%20audit", "audit%20", "audit%09", "+audit", "audit+", "audit%00", "audit%0A", "audit;operation_created", "audit%20,operation_created",
            "operation_created,%20audit", "nonsense", "operation_created,nonsense", "operation", "operation_*", "*", "output", "%2561udit"]


@pytest.mark.parametrize("types", NO_TYPES)
def test_what_is_not_a_type_is_said_and_opens_nothing(cluster, types):
    given = urllib.parse.unquote_plus(types)
    for name, token in [*cluster.tokens.items(), ("bootstrap", None)]:
        for path, answer in answers(cluster, "types=" + types, token):
            if "\0" in given:
                assert answer.status in (400, 422), (name, path, answer.body)
                continue
            assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "?types", (name, path, answer.body)
            message = answer.json["errors"][0]["message"]
            assert "is not an event type" in message or "output is served by" in message, message


def test_a_type_that_is_given_twice_counts_once(cluster):
    c = cluster
    once = c.api("GET", "/v1/events?after=0&limit=1000&types=audit").json["events"]
    for query in ("types=audit,audit", "types=audit&types=audit"):
        twice = c.api("GET", f"/v1/events?after=0&limit=1000&{query}").json["events"]
        assert [e["id"] for e in once] == [e["id"] for e in twice[:len(once)]] and len({e["id"] for e in twice}) == len(twice), query
        assert {e["type"] for e in twice} == {"audit"}


def test_without_types_each_sees_what_it_may(cluster):
    for name, token in [*cluster.tokens.items(), ("bootstrap", None)]:
        for path in ("/v1/events?after=0&limit=1000", f"/v1/operations/{cluster.work}/events?after=0&limit=1000"):
            seen = {e["type"] for e in cluster.api("GET", path, token=token).json["events"]}
            assert "operation_created" in seen and ("audit" in seen) == (name == "bootstrap" and path.startswith("/v1/events")), (name, path, seen)


@pytest.mark.parametrize("types", ["", "&types=operation_created", ",", "operation_created,", ",operation_created", "operation_created,,operation_completed", ",audit"])
def test_an_empty_word_is_not_a_type(cluster, types):
    for token in [*cluster.tokens.values(), None]:
        for path, answer in answers(cluster, "types=" + types, token):
            assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "?types", (path, answer.body)


def test_nobody_else_hears_the_audit_live(cluster):
    c = cluster
    url = urllib.parse.urlsplit(c.url)
    for name, token in c.tokens.items():
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        connection.request("GET", "/v1/events?after=0", headers={"Authorization": "Bearer " + token, "Accept": "text/event-stream"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        made = c.api("POST", "/v1/tokens", {"name": "audited", "role": "observer", "scope": "mine"})  # an entry of the audit
        last = c.api("POST", "/v1/operations", {"kind": "external", "name": "last", "scope": "mine"}).json["id"]
        heard = b""
        while last.encode() not in heard:
            piece = answer.read1(1 << 16)
            assert piece, (name, heard[-500:])
            heard += piece
        assert b"event: audit" not in heard and made.json["id"].encode() not in heard, (name, heard[-2000:])
        connection.close()
    seen = until(lambda: c.api("GET", "/v1/events?after=0&limit=1000&types=audit").json["events"], "the audit of the owner of the machine")
    assert [e for e in seen if e["data"]["action"].startswith("token")], [e["data"]["action"] for e in seen]
