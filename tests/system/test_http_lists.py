"""Lists: stable under inserts, in order, with every filter; idempotent creates and cancels; refused sizes."""
import json
import time
import urllib.parse
import uuid

import pytest

from harness.cluster import Cluster
from harness.waiting import until

NOWHERE = {"task_on": {"bench": "nobody-has-this"}}  # waits forever, costs no process


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1) as c:
        yield c


def page(c, path, **query):
    answer = c.api("GET", path + "?" + urllib.parse.urlencode(query, doseq=True))
    assert answer.status == 200, answer.body
    return answer.json


def all_pages(c, path, key, between=lambda: None, **query):
    found, cursor = [], None
    while True:
        one = page(c, path, **query, **({"cursor": cursor} if cursor else {}))
        assert len(one[key]) <= query["limit"]
        found += one[key]
        cursor = one["next_cursor"]
        if not cursor:
            return found
        between()


def uuid7():
    return str(uuid.UUID(int=(int(time.time() * 1000) << 80) | (7 << 76) | (uuid.uuid4().int & ((1 << 76) - 1) & ~(3 << 62)) | (2 << 62)))


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_listing_that_was_begun_is_not_shifted_by_inserts(cluster, order):
    c, scope = cluster, f"pages/{order}"
    before = [c.start("true", scope=scope, **NOWHERE)["id"] for _ in range(23)]
    added = []
    found = all_pages(c, "/v1/operations", "operations", lambda: added.append(c.start("true", scope=scope, **NOWHERE)["id"]),
                      scope=scope, limit=5, order=order)
    ids, seqs = [o["id"] for o in found], [o["seq"] for o in found]
    assert len(set(ids)) == len(ids) and seqs == sorted(seqs, reverse=order == "desc")
    if order == "desc":
        assert ids == before[::-1]  # later operations are before the first page
    else:
        assert ids[:23] == before and set(ids) <= set(before + added)
    c.cancel(scope=scope)


def test_pages_of_cancels_and_scopes_are_whole_and_in_order(cluster):
    c = cluster
    ids = [c.cancel(scope=f"many/s{i:02}", wait="fenced")["id"] for i in range(12)]
    for order in ("asc", "desc"):
        listed = [x["id"] for x in all_pages(c, "/v1/cancels", "cancels", scope="many", limit=5, order=order)]
        assert listed == (ids if order == "asc" else ids[::-1])
    scopes = [s["scope"] for s in all_pages(c, "/v1/scopes", "scopes", prefix="many", limit=5)]
    assert scopes == [f"many/s{i:02}" for i in range(12)]


def test_every_filter_of_operations(cluster):
    c = cluster
    top = c.start("sleep", "1000", scope="f/a", labels={"pr": "1", "os": "linux"}, owner={"id": "ann", "name": "Ann"}, name="sleepy")
    child = c.start("true", scope="f/a/b", parent=top["id"], labels={"pr": "2"})
    other = c.start("false", scope="f/c", labels={"pr": "1"})
    for o in (child, other):
        c.wait_status(o["id"], "completed", "failed")
    c.wait_status(top["id"], "running")
    at = [c.operation(o["id"])["created_at"] for o in (top, child, other)]
    T, C, O = top["id"], child["id"], other["id"]
    for query, wanted in [
        ({}, {T, C, O}), ({"scope": "f/a"}, {T, C}), ({"scope": ["f/a/b", "f/c"]}, {C, O}), ({"status": "live"}, {T}), ({"status": "ended"}, {C, O}),
        ({"status": ["running", "failed"]}, {T, O}), ({"status": "completed"}, {C}), ({"kind": "task"}, {T, C, O}), ({"kind": "turn"}, set()),
        ({"name": "sleepy"}, {T}), ({"owner": "ann"}, {T}), ({"label": "pr=1"}, {T, O}), ({"label": ["pr=1", "pr=2"]}, {T, C, O}),
        ({"label": ["pr=1", "os=linux"]}, {T}), ({"worker": "w1"}, {T, C, O}), ({"worker": "w2"}, set()), ({"parent": T}, {C}), ({"root": T}, {T, C}),
        ({"below": T}, {T, C}), ({"below": C}, {C}), ({"since": at[0]}, {T, C, O}), ({"since": "2999-01-01T00:00:00.000Z"}, set()),
        ({"until": "2000-01-01T00:00:00.000Z"}, set()), ({"since": "2000-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}, {T, C, O}),
        ({"error": "error"}, {O}), ({"error": ["error", "timeout"]}, {O}), ({"error": "timeout"}, set()), ({"error": "error", "status": "live"}, set()),
        ({"ended_since": "2000-01-01T00:00:00Z"}, {C, O}), ({"ended_until": "2999-01-01T00:00:00Z"}, {C, O}), ({"ended_since": "2999-01-01T00:00:00Z"}, set()),
        ({"ended_until": "2000-01-01T00:00:00Z"}, set()), ({"ended_since": "2000-01-01T00:00:00Z", "status": "live"}, set()),
    ]:
        got = {o["id"] for o in c.operations(**{"scope": "f", **query})}
        assert got == wanted, (query, got)
    between = {o["id"] for o in c.operations(scope="f", since=at[1], until=at[1])}
    assert between <= {T, C, O} and (at[1] in (at[0], at[2]) or between <= {C})
    done = c.cancel(scope="f/a")
    assert [o["id"] for o in c.operations(cancel=done["id"])] == [T]
    assert [x["id"] for x in page(c, "/v1/cancels", operation=T)["cancels"]] == [done["id"]]
    assert page(c, "/v1/cancels", scope="f", owner="admin")["cancels"] and not page(c, "/v1/cancels", scope="f", owner="ann")["cancels"]
    assert not page(c, "/v1/cancels", scope="f", status="open")["cancels"]


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "order=up", "cursor=nonsense", "since=yesterday", "ended_since=yesterday", "status=alive", "label=novalue",
                                   "kind=thing", "below=42", "limit=1&limit=2", "unheard=of"])
def test_a_filter_that_cannot_be_is_refused_by_name(cluster, query):
    answer = cluster.api("GET", "/v1/operations?" + query)
    assert answer.status == 422, answer.body
    assert answer.json["errors"][0]["pointer"] == "?" + query.split("=")[0]


def test_a_cursor_of_another_order_or_list_is_refused(cluster):
    c = cluster
    for i in range(3):
        c.start("true", scope="cursor", **NOWHERE)
    cursor = page(c, "/v1/operations", scope="cursor", limit=1)["next_cursor"]
    assert c.api("GET", f"/v1/operations?scope=cursor&limit=1&order=asc&cursor={cursor}").status == 422
    assert c.api("GET", f"/v1/scopes?cursor={cursor}").status == 422
    c.cancel(scope="cursor")


def test_a_create_and_a_cancel_may_be_repeated_by_id(cluster):
    c = cluster
    body = {"id": uuid7(), "kind": "task", "scope": "again", "task": {"command": ["sleep", "1000"]}}
    first, second = c.api("POST", "/v1/operations", body), c.api("POST", "/v1/operations", body)
    assert (first.status, second.status) == (201, 200) and first.json["id"] == second.json["id"] == body["id"]
    assert first.json["seq"] == second.json["seq"]
    conflict = c.api("POST", "/v1/operations", {**body, "title": "another"})
    assert conflict.status == 409 and conflict.json["code"] == "id_conflict"
    stop = {"id": uuid7(), "scope": "again", "wait": "settled", "reason": "once"}
    answers = [c.api("POST", "/v1/cancels", stop) for _ in range(3)]
    assert {a.json["id"] for a in answers} == {stop["id"]} and len({a.json["seq"] for a in answers}) == 1
    assert c.api("POST", "/v1/cancels", {**stop, "reason": "twice"}).json["code"] == "id_conflict"
    assert [x["id"] for x in page(c, "/v1/cancels", scope="again")["cancels"]] == [stop["id"]]


def test_events_come_in_pages_without_a_gap_or_a_repeat(cluster):
    c = cluster
    for _ in range(8):
        c.wait_status(c.start("true", scope="paged")["id"], "completed")
    whole = all_pages(c, "/v1/events", "events", scope="paged", limit=1000, after=0)
    few, after = [], 0
    while True:
        one = page(c, "/v1/events", scope="paged", limit=7, after=after)
        few += one["events"]
        if not one["next_cursor"]:
            break
        after = one["next_cursor"]
    assert [e["id"] for e in few] == [e["id"] for e in whole] and len(few) >= 24
    assert [int(e["id"]) for e in few] == sorted({int(e["id"]) for e in few})


def test_sizes_are_limited(cluster):
    c = cluster
    task = {"kind": "task", "task": {"command": ["true"]}}
    for body in ({**task, "title": "x" * 201}, {**task, "labels": {f"k{i}": "v" for i in range(65)}}, {**task, "labels": {"k" * 129: "v"}},
                 {"kind": "task", "task": {"command": ["x" * (128 * 1024 + 1)]}}):
        answer = c.api("POST", "/v1/operations", body)
        assert answer.status == 422 and answer.json["code"] == "invalid_field", answer.body[:200]
    assert c.api("POST", "/v1/cancels", {"scope": "x", "reason": "r" * 501}).status == 422
    assert c.api("POST", "/v1/operations", {**task, "title": "x" * 1_100_000}).status == 413
    assert c.api("GET", "/v1/operations?name=" + "x" * 40_000).status == 413
    assert c.api("GET", "/v1/operations?" + "&".join(["scope=x"] * 300)).status == 400


def test_small_lists_take_the_parameters_of_lists(cluster):
    for path, key in (("/v1/workers", "workers"), ("/v1/tokens", "tokens")):
        assert page(cluster, path, limit=1000, order="asc")["next_cursor"] is None
        assert isinstance(page(cluster, path)[key], list)


def test_the_oldest_events_that_are_gone_are_410_and_say_so():
    with Cluster(workers=1, settings=["store.keep_events=20"]) as c:
        def gone():
            c.start("true", scope="old")
            answer = c.api("GET", "/v1/events?after=1")
            return answer if answer.status == 410 else None
        answer = until(gone, "old events to be dropped", 60)
        assert answer.json["code"] == "events_expired" and int(answer.json["oldest"]) > 1, json.dumps(answer.json)
        stream = c.api("GET", "/v1/events?after=1", headers={"Accept": "text/event-stream"})
        assert stream.status == 410
