"""A token of one scope neither sees, touches nor names anything outside of it, however the scope is written; tokens expire, are revoked, and are stored hashed."""
import datetime
import json
import os
import socket
import time
import urllib.parse
import uuid

import pytest

from harness import processes
from harness.cluster import Cluster
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]}, {"text": "You said {{text}}."}]
SECRET = "the-secret-of-others"
STAY = "while :; do sleep 1000; done"

# Spellings by which a holder of a token for `slack` might try to write outside of it, or above it.
ESCAPES = [
    "slack/../discord", "slack/%2e%2e/discord", "slack/..%2fdiscord", "slack%2f..%2fdiscord", "slack/./../discord", "..", ".", "slack/..", "slack/.",
    "slack//discord", "slack//", "/slack", "slack/", "//", "/", "", " slack", "slack ", "sl\u0430ck", "\uff53lack", "slack\u2044x", "slack\u2215x",
    "slack\uff0fx", "slack\\..\\discord", "slack\x00/discord", "slack\n", "slack/*", "*", "slack*", "slack?", "slack;discord", "slack,discord",
    "slack/" + "a" * 129, "/".join(["slack"] + ["a"] * 16), "slack/" + "/".join(["a" * 100] * 6), "sla\u0301ck", "slack\u200b", "\ufeffslack",
    "SLACK", "Slack", "slacks", "slack-evil", "slac", "slack.evil/x", "discord", "discord/slack", "discord/guild", "quell", "quell/mcp",
]


@pytest.fixture(scope="module")
def world():
    """Operations of `slack` and of others, and a token for each role in `slack`."""
    with TurnCluster(SCRIPT) as c:
        for scope in ("slack/team", "discord/guild", "SLACK", "slack-evil"):
            task = c.start("bash", "-c", STAY, scope=scope, title=SECRET if scope != "slack/team" else "mine", labels={"where": scope})
            c.wait_status(task["id"], "running")
        c.wait_event(c.say("discord/guild/chat", "endless"), "text_delta")  # the files of its project have been read
        c.ended(c.say("slack/chat", "hello"))
        hidden = c.cancel(scope="discord/idle", reason=SECRET)
        c.tokens = {role: c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": "slack"}).json["token"]
                    for role in ("observer", "chat", "operator", "admin")}
        c.others = [o for o in c.operations() if not (o["scope"] + "/").startswith("slack/")]
        c.hidden_cancel = hidden
        yield c


def untouched(c):
    for o in c.others:
        assert c.operation(o["id"])["status"] == o["status"] or o["kind"] != "task" and c.operation(o["id"])["status"] == "running", o


@pytest.mark.parametrize("parameter", ["/v1/operations?scope", "/v1/events?scope", "/v1/cancels?scope", "/v1/scopes?prefix", "/v1/messages?scope"])
def test_no_spelling_of_a_scope_in_a_query_reads_anything_else(world, parameter):
    c = world
    for escape in ESCAPES:
        for text in {urllib.parse.quote(escape, safe=""), urllib.parse.quote(escape, safe="/%"), urllib.parse.quote(urllib.parse.quote(escape, safe=""), safe="")}:
            answer = c.api("GET", f"{parameter}={text}", token=c.tokens["operator"])
            assert answer.status in (400, 403, 422), (parameter, text, answer.status, answer.body[:300])
            assert answer.json["code"] in ("bad_scope", "scope_forbidden", "bad_request", "invalid_field"), answer.body
            assert SECRET not in answer.body.decode(errors="replace")


def test_no_spelling_of_a_scope_in_a_body_does_anything_elsewhere(world):
    c = world
    before = c.api("GET", "/v1/cancels?limit=1000").json["cancels"]
    for escape in ESCAPES:
        tries = [
            ("POST", "/v1/cancels", {"scope": escape}), ("POST", "/v1/cancels", {"scope": escape, "dry_run": True}),
            ("POST", "/v1/cancels", {"owner": "admin", "scope": escape}),
            ("POST", "/v1/operations", {"kind": "task", "scope": escape, "task": {"command": ["true"]}}),
            ("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": escape}),
            ("POST", "/v1/messages", {"scope": escape, "text": "stop", "author": {"id": "eve"}}),
            ("POST", "/v1/tokens", {"name": "wider", "role": "admin", "scope": escape}),
        ]
        for method, path, body in tries:
            role = "admin" if path == "/v1/tokens" else "operator"
            answer = c.api(method, path, body, token=c.tokens[role])
            assert answer.status in (400, 403, 422), (path, body, answer.status, answer.body[:300])
            assert SECRET not in answer.body.decode(errors="replace")
    assert c.api("GET", "/v1/cancels?limit=1000").json["cancels"] == before
    untouched(c)


def test_what_lies_elsewhere_does_not_exist(world):
    c = world
    for role, secret in c.tokens.items():
        for o in c.others:
            id = o["id"]
            for method, path, body in [("GET", f"/v1/operations/{id}", None), ("GET", f"/v1/operations/{id}/output", None),
                                       ("GET", f"/v1/operations/{id}/events?after=0", None), ("GET", f"/v1/operations?below={id}", None),
                                       ("GET", f"/v1/events?operation={id}&after=0", None), ("GET", f"/v1/cancels?operation={id}", None),
                                       ("POST", f"/v1/operations/{id}/cancel", {}), ("POST", "/v1/cancels", {"operation": id}),
                                       ("POST", f"/v1/operations/{id}/approve", {}), ("POST", f"/v1/operations/{id}/resolve", {"declare": "dead", "reason": "x"}),
                                       ("POST", f"/v1/operations/{id}/resize", {"rows": 1, "columns": 1}), ("POST", f"/api/turns/{id}/abort", None)]:
                answer = c.api(method, path, body, token=secret)
                assert answer.status in (403, 404), (role, method, path, answer.status, answer.body[:300])
                assert answer.status == 404 or answer.json["code"] == "forbidden", (role, path, answer.body)
                assert SECRET not in answer.body.decode(errors="replace")
        hidden = c.api("GET", f"/v1/cancels/{c.hidden_cancel['id']}", token=secret)
        assert hidden.status == 404 and hidden.json["code"] == "cancel_not_found"
        assert c.api("GET", f"/v1/operations?cancel={c.hidden_cancel['id']}", token=secret).status == 404
    untouched(c)


def test_no_list_and_no_stream_shows_it(world):
    c = world
    for role, secret in c.tokens.items():
        for path in ("/v1/operations?limit=1000", "/v1/events?after=0&limit=1000", "/v1/cancels?limit=1000", "/v1/scopes?limit=1000", "/api/turns/active",
                     "/v1/operations?label=where%3Ddiscord/guild", "/v1/operations?kind=turn", "/v1/operations?owner=admin", "/v1/operations?order=asc"):
            answer = c.api("GET", path, token=secret)
            text = answer.body.decode()
            assert answer.status == 200, (role, path, text)
            assert SECRET not in text and "discord" not in text and "slack-evil" not in text and '"SLACK"' not in text, (role, path, text[:500])
    own = c.api("GET", "/v1/operations?limit=1000", token=c.tokens["observer"]).json["operations"]
    assert {o["scope"] for o in own} >= {"slack/team", "slack/chat"}


def test_the_status_counts_only_what_lives_in_the_scope(world):
    c = world
    own = len(c.operations(scope="slack", status="live"))
    assert own > 0 and sum(c.api("GET", "/v1/status").json["operations"].values()) > own
    for role, secret in c.tokens.items():
        status = c.api("GET", "/v1/status", token=secret).json
        assert status["operations"] == {"live": own, "cancelling": 0}, (role, status)
        assert status["cancels_open"] is None and status["oldest_open_cancel_ms"] is None, (role, status)
    shown = c.quell("status", env={**c.environment(), "QUELL_TOKEN": c.tokens["observer"]}).stdout.decode()
    assert f"operations  {own} live" in shown and "cancels     not for this token to see" in shown, shown


def stream(c, path, token):
    url = urllib.parse.urlsplit(c.url)
    s = socket.create_connection((url.hostname, url.port), timeout=30)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n".encode())
    text = b""
    while b"retry: 1000" not in text:
        text += s.recv(4096)
    s.setblocking(False)
    return s


def heard(s):
    try:
        return s.recv(1 << 20)
    except BlockingIOError:
        return b""


@pytest.mark.parametrize("path", ["/v1/signals?session=shared", "/v1/events", "/v1/events?types=cancel_fenced,cancel_settled,operation_cancelled"])
def test_a_stream_of_one_scope_is_silent_about_another(world, path):
    """Two runtimes give their sessions the same name; two watchers ask for the same types."""
    c = world
    def external(scope):
        body = {"kind": "external", "name": "x", "scope": scope, "external": {"lease_ms": 60000, "session": "shared", "start": "now"}}
        return c.api("POST", "/v1/operations", body).json["id"]
    mine, others = external("slack/ext"), external("discord/ext")
    narrow, wide = stream(c, path, c.tokens["operator"]), stream(c, path, c.token)
    c.cancel(operation=others, wait="fenced", reason=SECRET)
    c.cancel(operation=mine, wait="fenced")
    texts = {"narrow": b"", "wide": b""}
    def both():
        texts["narrow"] += heard(narrow)
        texts["wide"] += heard(wide)
        return mine.encode() in texts["narrow"] and mine.encode() in texts["wide"] and others.encode() in texts["wide"]
    until(both, "each to hear of what is theirs")
    assert others.encode() not in texts["narrow"] and SECRET.encode() not in texts["narrow"]
    for id in (mine, others):
        c.api("POST", f"/v1/operations/{id}/stopped", {})
    narrow.close(), wide.close()


def test_everything_is_everything_inside_the_scope(world):
    c = world
    shown = c.api("POST", "/v1/cancels", {"everything": True, "dry_run": True}, token=c.tokens["operator"]).json
    assert {o["scope"] for o in shown["would_stop"]["operations"]} == {"slack/team"}
    shown = c.api("POST", "/v1/cancels", {"owner": "admin", "dry_run": True}, token=c.tokens["operator"]).json
    assert {o["scope"] for o in shown["would_stop"]["operations"]} == {"slack/team"}


def test_an_admin_of_a_scope_handles_tokens_below_it_and_nothing_of_the_cluster(world):
    c = world
    secret = c.tokens["admin"]
    assert c.api("POST", "/v1/tokens", {"name": "below", "role": "chat", "scope": "slack/team"}, token=secret).status == 201
    assert c.api("POST", "/v1/tokens", {"name": "same", "role": "admin"}, token=secret).json["scope"] == "slack"
    everyone = c.api("GET", "/v1/tokens").json["tokens"]
    c.api("POST", "/v1/tokens", {"name": "elsewhere", "role": "chat", "scope": "discord"})
    seen = c.api("GET", "/v1/tokens", token=secret).json["tokens"]
    assert {t["scope"] for t in seen} == {"slack", "slack/team"} and len(seen) == len(everyone)
    [other] = [t for t in c.api("GET", "/v1/tokens").json["tokens"] if t["name"] == "elsewhere"]
    assert c.api("DELETE", f"/v1/tokens/{other['id']}", token=secret).status == 404
    for method, path, body in (("POST", "/v1/workers", {"name": "w9"}), ("POST", "/v1/workers/w1/drain", {}), ("DELETE", "/v1/workers/w1", None),
                               ("POST", "/v1/workers/w1/resolve", {"declare": "dead", "reason": "x"})):
        assert c.api(method, path, body, token=secret).status == 403, path


def fresh_id(seconds_ago=0):
    """A UUIDv7 of that instant."""
    digits = f"{int((time.time() - seconds_ago) * 1000):012x}7{uuid.uuid4().hex[13:]}"
    return str(uuid.UUID(digits))


def test_a_token_that_is_made_again_by_its_id_is_the_same_with_a_fresh_secret(world):
    c = world
    body = {"id": fresh_id(), "name": "asked twice", "role": "observer", "scope": "slack/team", "expires_at": "2100-01-01T00:00:00Z"}
    first, second = (c.api("POST", "/v1/tokens", body) for _ in range(2))
    assert (first.status, second.status) == (201, 201), second.body
    assert first.json["id"] == second.json["id"] == body["id"] and first.json["created_at"] == second.json["created_at"]
    assert c.api("GET", "/v1/operations?scope=slack/team", token=first.json["token"]).status == 401, "its answer was lost, so nobody has it"
    conflict = lambda change, token=None: (lambda answer: (answer.status, answer.json["code"]))(c.api("POST", "/v1/tokens", {**body, **change}, token=token)) == (409, "id_conflict")
    for change in ({"name": "other"}, {"role": "admin"}, {"scope": "slack"}, {"expires_at": None}, {"owner": {"id": "eve"}}):
        assert conflict(change), change
    elsewhere = {**body, "id": fresh_id(), "scope": "discord"}
    assert c.api("POST", "/v1/tokens", elsewhere).status == 201
    assert conflict({"id": elsewhere["id"]}, c.tokens["admin"]), "it is not theirs to make again"
    assert c.api("GET", "/v1/operations?scope=slack/team", token=second.json["token"]).status == 200
    assert conflict({}), "whoever uses it keeps it"
    for wrong, status in ((fresh_id(13 * 3600), 422), ("x", 422)):
        assert c.api("POST", "/v1/tokens", {**body, "id": wrong}).status == status, wrong
    for id in (body["id"], elsewhere["id"]):
        assert [t["id"] for t in c.api("GET", "/v1/tokens?limit=1000").json["tokens"]].count(id) == 1
        assert c.api("DELETE", f"/v1/tokens/{id}").status == 204


@pytest.mark.parametrize("path", ["/v1//operations", "/v1/operations/", "//v1/operations", "/v1/./operations", "/v1/x/../operations", "/V1/operations",
                                  "/v1/%6Fperations", "/v1/operations%2f", "/v1/cancels/%2e%2e/operations", "/v1/operations/%00"])
def test_a_path_has_one_spelling(world, path):
    answer = world.api("GET", path)
    assert answer.status in (400, 404, 422), (path, answer.status)


def test_a_tokens_secret_is_nowhere_on_disk_or_in_logs():
    with Cluster(workers=0, settings=["log.level=debug"]) as c:
        made = c.api("POST", "/v1/tokens", {"name": "quiet", "role": "operator"}).json
        assert c.api("GET", "/v1/status", token=made["token"]).status == 200
        assert c.api("GET", "/v1/status", token=made["token"] + "x").status == 401
        c.kill_controller()
        for folder, _, files in os.walk(c.directory):
            for name in files:
                assert made["token"].encode() not in processes.read(os.path.join(folder, name)), name
        c.start_controller()
        assert c.api("GET", "/v1/status", token=made["token"]).status == 200


def test_revoked_is_revoked_and_used_is_remembered_over_a_crash():
    with Cluster(workers=0) as c:
        gone, kept = (c.api("POST", "/v1/tokens", {"name": n, "role": "observer"}).json for n in ("gone", "kept"))
        for t in (gone, kept):
            assert c.api("GET", "/v1/status", token=t["token"]).status == 200
        [used] = [t["last_used_at"] for t in c.api("GET", "/v1/tokens").json["tokens"] if t["name"] == "kept"]
        assert used
        assert c.api("DELETE", f"/v1/tokens/{gone['id']}").status == 204
        assert c.api("GET", "/v1/status", token=gone["token"]).status == 401
        c.kill_controller()
        c.start_controller()
        assert c.api("GET", "/v1/status", token=gone["token"]).status == 401
        [token] = c.api("GET", "/v1/tokens").json["tokens"]
        assert token["name"] == "kept" and token["last_used_at"] == used


def test_an_expired_token_says_so_in_words(world):
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    made = world.api("POST", "/v1/tokens", {"name": "short-lived", "role": "observer", "expires_at": soon}).json
    refused = until(lambda: (lambda a: a if a.status == 401 else None)(world.api("GET", "/v1/status", token=made["token"])), "the token to expire")
    assert refused.json["code"] == "unauthenticated" and f"'short-lived' expired at {soon}" in refused.json["detail"]
    assert json.loads(world.quell("status", "--json", env={**world.environment(), "QUELL_TOKEN": made["token"]}, check=6).stderr)["code"] == "unauthenticated"
