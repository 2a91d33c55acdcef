"""The audit is stored apart from the events, dropped by age, chained by hashes, and can be copied as a stream that only grows."""
import hashlib
import http.client
import json
import os
import sqlite3
import time
import urllib.parse

import pytest

from harness.cluster import Cluster
from harness.waiting import until


def lines(c, after=0, follow=False, token=None):
    """Entries as they arrive, without an end if `follow`."""
    url = urllib.parse.urlsplit(c.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=90)
    connection.request("GET", f"/v1/audit?after={after}" + ("&follow=true" if follow else ""),
                       headers={"Authorization": "Bearer " + (token or c.token), "Accept": "application/x-ndjson"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Content-Type") == "application/x-ndjson", answer.read()
    for line in answer:
        yield json.loads(line)


def rows(c):
    with sqlite3.connect(f"file:{c.state}/quell.db?mode=ro", uri=True) as db:
        return db.execute("SELECT n, at, data, previous, hash FROM audit ORDER BY n").fetchall()


def check_chain(found):
    """A copy alone can be checked: each hash is that of the row's contents."""
    for i, (n, at, data, previous, hash) in enumerate(found):
        assert hashlib.sha256(f"{previous}\n{n}\n{at}\n{data}".encode()).hexdigest() == hash, n
        if i:
            assert n == found[i - 1][0] + 1 and previous == found[i - 1][4], n


def test_the_audit_outlives_other_peoples_events_and_restarts():
    with Cluster(workers=0, settings=["store.keep_events=20"]) as c:
        c.api("POST", "/v1/tokens", {"name": "first", "role": "observer"})
        for i in range(100):
            c.cancel(scope=f"noise/{i}", wait="fenced", reason=f"reason {i}")
        c.kill_controller()
        c.start_controller()
        c.api("POST", "/v1/tokens", {"name": "last", "role": "observer"})
        found = until(lambda: (lambda all: all if len(all) == 102 else None)(list(lines(c))), "102 entries")
        assert [e["n"] for e in found] == list(range(1, 103)) and found[0]["previous"] == "0" * 64
        assert found[0]["data"]["action"] == "token_create" and found[-1]["data"]["action"] == "token_create"
        assert [e["data"]["reason"] for e in found[1:101]] == [f"reason {i}" for i in range(100)] and all(e["cancel"] for e in found[1:101])
        kept = c.api("GET", "/v1/events?after=0&types=audit&limit=1000")
        assert kept.status == 410 or len(kept.json["events"]) < 60  # the events were dropped by number
        check_chain(rows(c))
        assert [(e["n"], e["previous"], e["hash"]) for e in found] == [(r[0], r[3], r[4]) for r in rows(c)]
        pages, cursor = [], None
        while True:
            page = c.api("GET", "/v1/audit?limit=40" + (f"&cursor={cursor}" if cursor else "")).json
            pages += page["audit"]
            cursor = page["next_cursor"]
            if not cursor:
                break
        assert pages == found


def test_a_copy_goes_on_where_it_ended():
    with Cluster(workers=0) as c:
        c.cancel(scope="a", wait="fenced")
        copy = list(lines(c))
        assert [e["n"] for e in copy] == [1]
        stream = lines(c, after=1, follow=True)
        c.cancel(scope="b", wait="fenced")
        c.cancel(scope="c", wait="fenced")
        copy += [next(stream), next(stream)]
        assert [e["data"]["target"] for e in copy] == ["scope a", "scope b", "scope c"]
        assert copy[1]["previous"] == copy[0]["hash"] and copy[2]["previous"] == copy[1]["hash"]


def test_a_changed_entry_is_seen():
    with Cluster(workers=0) as c:
        for scope in ("a", "b", "c"):
            c.cancel(scope=scope, wait="fenced")
        c.kill_controller()
        check_chain(rows(c))
        with sqlite3.connect(f"{c.state}/quell.db") as db:
            db.execute("UPDATE audit SET data = replace(data, 'scope b', 'scope x') WHERE n = 2")
        with pytest.raises(AssertionError):
            check_chain(rows(c))
        c.start_controller()


def test_entries_are_kept_by_time():
    with Cluster(workers=0, settings=["store.keep_audit=2s"]) as c:
        for i in range(5):
            c.cancel(scope=f"old/{i}", wait="fenced")
        began = time.monotonic()
        until(lambda: time.monotonic() - began > 2.2, "the entries to be older than is kept", 30)
        c.cancel(scope="new", wait="fenced")
        found = list(lines(c))
        assert [e["data"]["target"] for e in found] == ["scope new"] and found[0]["n"] == 6, found
        check_chain(rows(c))


def test_the_audit_is_for_admins_of_the_whole_cluster():
    with Cluster(workers=0) as c:
        for role, scope in (("observer", None), ("chat", None), ("operator", None), ("admin", "team")):
            token = c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": scope}).json["token"]
            assert c.api("GET", "/v1/audit", token=token).status == 403, role
        assert c.api("GET", "/v1/audit", headers={"Authorization": None}).status == 401
        for query in ("limit=0", "after=x", "follow=true", "more=1"):
            assert c.api("GET", "/v1/audit?" + query).status in (400, 422), query


def test_tokens_are_told_by_their_ids():
    with Cluster(workers=0) as c:
        made = [c.api("POST", "/v1/tokens", {"name": "admin", "role": "admin"}).json for _ in range(2)]
        c.api("DELETE", f"/v1/tokens/{made[1]['id']}", token=made[0]["token"])
        created, revoked = (["token " + t["id"] + " admin" for t in made], "token " + made[1]["id"] + " admin")
        found = list(lines(c))  # the answered requests are in it
        assert [e["data"]["target"] for e in found] == [*created, revoked]
