"""The view of a scoped token of others' cancels and ids, the parameters of lists, and the lifetime of a stream's token."""
import http.client
import os
import re
import socket
import subprocess
import time
import urllib.parse
import uuid

import pytest

from harness.cluster import BIN, Cluster
from harness.turns import TurnCluster
from harness.waiting import until

STAY = "while :; do sleep 1000; done"
SECRET = "the-reason-of-others"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster([{"text": "You said {{text}}."}]) as c:
        c.tokens = {f"{scope}/{role}": c.api("POST", "/v1/tokens", {"name": f"{scope}-{role}", "role": role, "scope": scope}).json["token"]
                    for scope in ("mine", "theirs") for role in ("observer", "chat", "operator", "admin")}
        yield c


def start(c, scope, *command):
    return c.start(*(command or ("sh", "-c", STAY)), scope=scope)["id"]


def fresh_id():
    raw = (int(time.time() * 1000) << 80) | (7 << 76) | (2 << 62) | uuid.uuid4().int & ((1 << 62) - 1)
    return str(uuid.UUID(int=raw))


def pages(c, path, token=None):
    """All entries of a list, page by page, and the number of pages."""
    found, cursor, count = [], None, 0
    while True:
        page = c.api("GET", path + (f"&cursor={cursor}" if cursor else ""), token=token).json
        found += next(v for v in page.values() if isinstance(v, list))
        count += 1
        cursor = page["next_cursor"]
        if not cursor:
            return found, count


# ---- cancels of owners and of everything --------------------------------------------------------------------------
@pytest.mark.parametrize("target", [{"owner": "somebody"}, {"everything": True}])
def test_a_token_of_a_scope_sees_no_cancel_that_reaches_beyond_it(cluster, target):
    c = cluster
    runs = {scope: c.api("POST", "/v1/operations", {"kind": "task", "scope": scope, "task": {"command": ["sh", "-c", STAY]},
                                                    "owner": {"id": "somebody", "name": "Somebody"}}).json["id"] for scope in ("mine/a", "theirs/a")}
    for id in runs.values():
        c.wait_status(id, "running")
    wide = c.api("POST", "/v1/cancels", {**target, "reason": SECRET, "wait": "settled", "wait_ms": 60000}).json
    assert wide["report"]["operations"] >= 2, wide
    narrow = c.api("POST", "/v1/cancels", target, token=c.tokens["theirs/operator"]).json
    own = c.api("POST", "/v1/cancels", target, token=c.tokens["mine/operator"]).json
    for role in ("observer", "chat", "operator", "admin"):
        token = c.tokens[f"mine/{role}"]
        for path in ("/v1/cancels?limit=1000", "/v1/cancels?status=settled", "/v1/cancels?status=open", "/v1/cancels?owner=admin", "/v1/cancels?scope=mine",
                     "/v1/cancels?order=asc&limit=1000", f"/v1/cancels?operation={runs['mine/a']}"):
            answer = c.api("GET", path, token=token)
            listed = {x["id"] for x in answer.json["cancels"]}
            assert not listed & {wide["id"], narrow["id"]}, (role, path)
            assert SECRET not in answer.body.decode() and "theirs" not in answer.body.decode(), (role, path)
        assert own["id"] in {x["id"] for x in c.api("GET", "/v1/cancels?limit=1000", token=token).json["cancels"]}, role
        for hidden in (wide, narrow):
            for path in (f"/v1/cancels/{hidden['id']}", f"/v1/operations?cancel={hidden['id']}"):
                assert c.api("GET", path, token=token).status == 404, (role, path)
        events, _ = pages(c, "/v1/events?after=0&limit=1000&types=cancel_fenced,cancel_signalled,cancel_progress,cancel_settled", token)
        assert not {e["cancel"] for e in events} & {wide["id"], narrow["id"]}, role
    everywhere = {x["id"] for x in c.api("GET", "/v1/cancels?limit=1000").json["cancels"]}
    assert everywhere >= {wide["id"], narrow["id"], own["id"]}


# ---- the contents of a dry run ------------------------------------------------------------------------------------
def test_a_dry_run_tells_nothing_of_what_others_have(cluster):
    c = cluster
    theirs = start(c, "theirs/dry")
    c.wait_status(theirs, "running")
    ended = start(c, "theirs/dry", "true")
    c.wait_status(ended, "completed")
    token = c.tokens["mine/operator"]

    def dry(id):
        answer = c.api("POST", "/v1/cancels", {"operation": id, "dry_run": True}, token=token)
        return answer.status, {k: v for k, v in answer.json.items() if k not in ("target", "detail", "request", "instance")}
    assert dry(theirs) == dry(ended) == dry(fresh_id()), (dry(theirs), dry(ended), dry(fresh_id()))
    assert dry(theirs)[0] == 200 and dry(theirs)[1]["outcome"] == "unknown_id"
    assert c.operation(theirs)["status"] == "running"
    c.cancel(scope="theirs/dry", wait="settled")
    assert dry(theirs) == dry(fresh_id())
    paths = [c.api("POST", f"/v1/operations/{id}/cancel", {"dry_run": True}, token=token).status for id in (theirs, fresh_id())]
    assert paths == [404, 404]


# ---- reports of repeated cancels ------------------------------------------------------------------------------------
def test_a_repeated_cancel_without_an_id_answers_about_itself(cluster):
    c = cluster
    mine, other = (start(c, scope) for scope in ("mine/repeat", "theirs/repeat"))
    for id in (mine, other):
        c.wait_status(id, "running")
    wide = c.api("POST", "/v1/cancels", {"everything": True, "reason": SECRET, "wait": "settled", "wait_ms": 60000}).json
    assert wide["report"]["operations"] >= 2
    for path, body in ((f"/v1/operations/{mine}/cancel", {"reason": "again"}), ("/v1/cancels", {"operation": mine, "reason": "again"})):
        for token in (c.tokens["mine/operator"], None):
            answer = c.api("POST", path, body, token=token)
            told = answer.json
            assert answer.status == 200 and told["outcome"] == "already_finished", answer.body
            assert told["target"] == {"operation": mine} and told["reason"] == "again", told
            assert told["id"] is None and told["seq"] is None and told["report"]["operations"] == 0 and told["report"]["proven"], told
            assert SECRET not in answer.body.decode()


# ---- lists ----------------------------------------------------------------------------------------------------------
def test_lists_of_workers_and_tokens_come_in_pages(cluster):
    c = cluster
    names = sorted(["w1"] + [f"page-{i}" for i in range(5)])
    for name in names:
        if name != "w1":
            assert c.api("POST", "/v1/workers", {"name": name}).status == 201
    for order, expected in (("", names), ("&order=asc", names), ("&order=desc", names[::-1])):
        found, count = pages(c, f"/v1/workers?limit=2{order}")
        assert [w["name"] for w in found] == expected and count == 3, (order, found)
    first = c.api("GET", "/v1/workers?limit=2").json["next_cursor"]
    assert c.api("DELETE", "/v1/workers/page-1").status == 200  # a page that begins after a removed entry
    assert [w["name"] for w in c.api("GET", f"/v1/workers?limit=1000&cursor={first}").json["workers"]] == [n for n in names if n > "page-1"]
    tokens, count = pages(c, "/v1/tokens?limit=3")
    assert count == 3 and len({t["id"] for t in tokens}) == 8 and [t["id"] for t in tokens] == sorted((t["id"] for t in tokens), reverse=True)
    assert pages(c, "/v1/tokens?limit=3&order=asc")[0] == tokens[::-1]
    scoped, _ = pages(c, "/v1/tokens?limit=1", c.tokens["mine/admin"])
    assert {t["scope"] for t in scoped} == {"mine"} and len(scoped) == 4
    for path in ("/v1/workers", "/v1/tokens"):
        for wrong in ("limit=0", "limit=1001", "limit=x", "cursor=nonsense", "order=up", "more=1", f"cursor={first}x"):
            assert c.api("GET", f"{path}?{wrong}").status in (400, 422), (path, wrong)
    assert c.api("GET", f"/v1/tokens?cursor={first}").status in (400, 422)  # of another list
    assert c.api("GET", f"/v1/workers?order=desc&cursor={first}").status in (400, 422)


@pytest.mark.parametrize("scope", ["a//b", "/a", "a/", "", "a/../b", "a\x00b"])
def test_messages_of_what_is_no_scope(cluster, scope):
    answer = cluster.api("GET", "/v1/messages?scope=" + urllib.parse.quote(scope, safe="/"))
    assert answer.status in (400, 422), answer.body
    assert answer.json["code"] == ("bad_request" if "\x00" in scope else "bad_scope"), answer.body


def test_messages_need_one_scope(cluster):
    for query in ("", "?scope=a&scope=b"):
        answer = cluster.api("GET", "/v1/messages" + query)
        assert answer.status == 422 and answer.json["code"] == "invalid_field", answer.body


def test_who_may_not_see_the_audit_is_told_so(cluster):
    c = cluster
    for name, token in c.tokens.items():
        for path in ("/v1/events?after=0&types=audit", "/v1/events?after=0&types=audit,operation_created", "/v1/events?types=operation_created&types=audit"):
            answer = c.api("GET", path, token=token)
            assert answer.status == 403 and answer.json["code"] == "forbidden", (name, path, answer.body)
    assert c.api("GET", "/v1/events?after=0&types=audit").json["events"]


# ---- streams and their tokens -------------------------------------------------------------------------------------
def opened(c, path, token, accept="text/event-stream"):
    url = urllib.parse.urlsplit(c.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    connection.request("GET", path, headers={"Authorization": "Bearer " + token, "Accept": accept})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    return answer


def broken_off(answer):
    """Reads to the end, which must come by itself and must not look like a complete answer."""
    try:
        while answer.read1(1 << 16):
            pass
    except (http.client.IncompleteRead, ConnectionResetError):
        return True
    return False


def test_a_dead_tasks_token_loses_its_streams(cluster):
    c = cluster
    told = os.path.join(c.workspace, "token")
    task = start(c, "mine/token", "sh", "-c", f"echo $QUELL_TOKEN > {told}.new; mv {told}.new {told}; {STAY}")
    until(lambda: os.path.exists(told), "the token to be told")
    with open(told) as f:
        token = f.read().strip()
    child = c.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["sh", "-c", STAY]}, "on_parent_end": "cancel"}, token=token).json["id"]
    c.wait_status(child, "running")
    streams = [opened(c, "/v1/events", token), opened(c, f"/v1/operations/{child}/output?follow=true", token, "application/octet-stream"),
               opened(c, f"/v1/operations/{task}/events", token)]
    assert c.api("POST", f"/v1/operations/{task}/cancel", {"wait": "settled", "wait_ms": 60000}).status in (200, 202)
    c.wait_status(task, "cancelled")
    for answer in streams:
        broken_off(answer)  # each ends by itself: cut, or complete if its work was over first
    assert c.api("GET", "/v1/events", token=token).status == 401


def test_a_revoked_tokens_silent_streams_end_too(cluster):
    c = cluster
    made = c.api("POST", "/v1/tokens", {"name": "short", "role": "observer", "scope": "mine"}).json
    task = start(c, "mine/silent")
    c.wait_status(task, "running")
    silent = opened(c, f"/v1/operations/{task}/output?follow=true", made["token"], "application/octet-stream")
    assert c.api("DELETE", f"/v1/tokens/{made['id']}").status == 204
    assert broken_off(silent)
    c.cancel(operation=task, wait="settled")


# ---- request heads --------------------------------------------------------------------------------------------------
def raw(c, head, body=b""):
    url = urllib.parse.urlsplit(c.url)
    with socket.create_connection((url.hostname, url.port), timeout=30) as s:
        s.sendall(head.replace("TOKEN", c.token).replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        got = b""
        while True:
            more = s.recv(65536)
            if not more:
                return got
            got += more


SMUGGLED = b"POST /v1/cancels HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("head", [
    "Host: localhost\nTransfer-Encoding: gzip", "Host: localhost\nTransfer-Encoding: gzip, chunked", "Host: localhost\nTransfer-Encoding: identity",
    "Host: localhost\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked", "Host: localhost\nTransfer-Encoding: xchunked",
    "Host: localhost\nTransfer-Encoding: chunked\nContent-Length: 5", "Host: localhost\nContent-Length: 3\nContent-Length: 5",
    "Host: localhost\nHost: localhost", "Host: localhost\nHost: evil.example",
])
def test_a_head_that_can_be_read_in_two_ways_is_refused(cluster, head):
    got = raw(cluster, f"POST /v1/cancels HTTP/1.1\n{head}\nAuthorization: Bearer TOKEN\nContent-Type: application/json", SMUGGLED)
    assert got.startswith(b"HTTP/1.1 400 "), got
    assert len(re.findall(rb"HTTP/1\.1 \d{3} ", got)) == 1, got  # the following bytes are not parsed as another request
    assert b'"bad_request"' in got, got


def test_a_chunked_body_is_taken(cluster):
    got = raw(cluster, "POST /v1/cancels HTTP/1.1\nHost: localhost\nConnection: close\nTransfer-Encoding: Chunked\nAuthorization: Bearer TOKEN\nContent-Type: application/json",
              b'15\r\n{"scope":"mine/none"}\r\n0\r\n\r\n')
    assert got.startswith(b"HTTP/1.1 200 "), got


# ---- configuration ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, like", [("QUELLD_HTTP_LISTN", "QUELLD_HTTP_LISTEN"), ("QUELLD_STORE_KEEP_EVENT", "QUELLD_STORE_KEEP_EVENTS"),
                                        ("QUELLD_LISTEN", "QUELLD_")])
def test_a_misspelt_variable_is_refused(name, like):
    done = subprocess.run([f"{BIN}/quelld", "--check-config"], capture_output=True, text=True, timeout=60, env={**os.environ, name: "1"})
    assert done.returncode == 2 and name in done.stderr and like in done.stderr, done


def test_a_variable_that_the_configuration_names_is_not_misspelt(tmp_path):
    config = tmp_path / "quelld.toml"
    config.write_text('[[models]]\nname = "m"\nprovider = "openai"\nmodel = "x"\nkey_env = "QUELLD_MY_KEY"\n')
    done = subprocess.run([f"{BIN}/quelld", "--check-config", "--config", config], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "QUELLD_MY_KEY": "sk", "QUELLD_LOG_LEVEL": "warn"})
    assert done.returncode == 0, done


def test_a_state_directory_that_was_open_is_closed(tmp_path):
    with Cluster(workers=0) as c:
        c.kill_controller()
        os.chmod(c.state, 0o755)
        c.start_controller()
        assert os.stat(c.state).st_mode & 0o777 == 0o700
