"""The OpenAPI document and the running quelld agree: each route and each error that can be caused, through real answers."""
import http.client
import json
import os
import signal
import subprocess
import time
import urllib.parse
import uuid

import pytest

from harness.cluster import BIN
from harness.oauth_mcp import OauthMcp, browse
from harness.openapi import checked
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]},
    {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true"}}]}]},
    {"when": {"result": ""}, "text": "Done."},
    {"text": "You said {{text}}."},
]
ASKS = '[[approval]]\ntool = "exec"\n[[mcp]]\nname = "web"\nurl = "http://127.0.0.1:9/mcp"\n[[mcp]]\nname = "run"\ncommand = ["true"]\n'
STAY = "while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def world():
    with OauthMcp() as locked, TurnCluster(SCRIPT, config=ASKS + f'[[mcp]]\nname = "locked"\nurl = "{locked.url}"\n') as c:
        yield c, checked(c)


def uuid7():
    ms = int(time.time() * 1000)
    return str(uuid.UUID(int=(ms << 80) | (7 << 76) | (uuid.uuid4().int & ((1 << 76) - 1)) & ~(3 << 62) | (2 << 62)))


def work(c):
    """Creates a task, a turn that streams, one that waits for a human, and cancels of each kind."""
    task = c.start("bash", "-c", "echo hello; " + STAY, scope="doc/work", title="stays", labels={"pr": "1"}, task_stdin=True)
    c.wait_status(task["id"], "running")
    until(lambda: c.api("GET", f"/v1/operations/{task['id']}/output").body == b"hello\n", "its output")
    child = c.start("true", scope="doc/work", parent=task["id"], task_worker="w1")
    c.wait_status(child["id"], "completed")
    return task, child


def test_operations_and_cancels(world):
    c, _ = world
    task, _ = work(c)
    id = task["id"]
    pty = c.start("bash", "-c", STAY, scope="doc/pty", task_pty=True)
    c.wait_status(pty["id"], "running")
    for path in (f"/v1/operations/{id}", "/v1/operations?scope=doc&status=live&label=pr=1", f"/v1/operations?below={id}&order=asc&limit=1",
                 f"/v1/operations/{id}/output?stream=stderr", f"/v1/operations/{id}/events?after=0", "/v1/events?after=0&limit=1000",
                 f"/v1/events?operation={id}&after=0", "/v1/scopes", "/v1/scopes?prefix=doc&live=true", "/v1/status", "/v1/config", "/v1/cancels", "/v1/mcp"):
        assert c.api("GET", path).status == 200, path
    assert c.api("POST", f"/v1/operations/{id}/input?offset=0", raw=b"x\n", headers={"Content-Type": "application/octet-stream"}).status == 200
    assert c.api("POST", f"/v1/operations/{pty['id']}/resize", {"rows": 40, "columns": 100}).status == 204
    assert c.api("POST", "/v1/cancels", {"scope": "doc/work", "dry_run": True}).json["would_stop"]["operations"]
    assert c.api("POST", f"/v1/operations/{pty['id']}/cancel", {"reason": "done", "wait": "settled"}).status == 200
    done = c.api("POST", "/v1/cancels", {"scope": "doc/work", "reason": "enough", "by": {"id": "mia", "name": "Mia"}, "grace_ms": 0, "wait": "settled"}).json
    assert done["status"] == "settled"
    for path in (f"/v1/cancels/{done['id']}?wait=settled&wait_ms=0", "/v1/cancels?status=settled&scope=doc", f"/v1/operations?cancel={done['id']}",
                 f"/v1/operations/{id}?wait=ended&wait_ms=0", "/healthz", "/readyz", "/metrics"):
        assert c.api("GET", path).status == 200, path
    for target in ({"owner": "nobody"}, {"everything": True}, {"scope": "doc/idle"}):
        assert c.api("POST", "/v1/cancels", target).status in (200, 202)
    assert c.api("POST", "/v1/cancels", {"operation": uuid7()}).status == 202


def test_events_of_every_kind_that_came(world):
    c, document = world
    after, types = "0", set()
    while after:
        page = c.api("GET", f"/v1/events?after={after}&limit=1000").json
        for event in page["events"]:
            document.check_event(event)
            types.add(event["type"])
        after = page["next_cursor"]
    assert {"operation_created", "operation_cancelled", "cancel_settled", "audit"} <= types, types


def test_turns_messages_and_their_aliases(world):
    c, _ = world
    turn = c.say("doc/chat", "endless", id="m-1")
    assert c.post("doc/chat", "endless", id="m-1").json["duplicate"] is True
    assert c.post("doc/chat", "", id="m-2").json["decision"] == "ignored"
    assert [t["turnId"] for t in c.api("GET", "/api/turns/active").json["turns"]] == [turn]
    assert c.api("POST", f"/api/turns/{turn}/abort").status == 200
    c.ended(turn)
    assert c.api("POST", f"/api/turns/{uuid7()}/abort").status == 404
    for decision in ("approve", "deny"):
        turn = c.say("doc/asks", "asks")
        call = c.call(turn, "exec", "paused")
        assert c.api("POST", f"/v1/operations/{call['id']}/{decision}", {"reason": "looked at it", "by": {"id": "mia", "name": "Mia"}}).status == 200
        assert c.api("POST", f"/v1/operations/{call['id']}/{decision}", {}).status == 200
        c.ended(turn)
    turn = c.say("doc/asks", "asks")
    approved = {"always": {"for_ms": 60_000}, "by": {"id": "mia", "name": "Mia"}}
    assert c.api("POST", f"/v1/operations/{c.call(turn, 'exec', 'paused')['id']}/approve", approved).status == 200
    c.ended(turn)
    [stands] = c.api("GET", "/v1/approvals/rules?limit=1").json["rules"]
    assert stands["scope"] == "doc/asks" and stands["tool"] == "exec", stands
    assert c.api("DELETE", f"/v1/approvals/rules/{stands['id']}").status == 204
    assert c.api("DELETE", f"/v1/approvals/rules/{stands['id']}").status == 404
    assert c.api("GET", "/v1/messages?scope=doc/asks&limit=2").json["next_cursor"]
    assert c.operation(turn)["turn"]["agent"] == "main"
    assert c.api("POST", "/v1/history", {"scope": "doc/asks", "action": "fork", "to": "doc/copy"}).status == 200
    assert c.api("POST", "/v1/history", {"scope": "doc/copy", "action": "clear"}).status == 200
    assert c.api("GET", "/v1/messages?scope=doc/copy").json["messages"][-1]["role"] == "summary"


def test_uploaded_files(world):
    c, _ = world
    picture = dict(raw=b"\x89PNG\r\n\x1a\n and so on", headers={"Content-Type": "image/png"})
    made = c.api("POST", "/v1/blobs?scope=doc/files&name=a.png", **picture)
    assert made.status == 201 and c.api("POST", "/v1/blobs?scope=doc/files&name=a.png", **picture).status == 200
    assert c.api("GET", f"/v1/blobs/{made.json['id']}").body == picture["raw"]
    c.ended(c.say("doc/files", "", attachments=[{"blob": made.json["id"], "name": "b.png"}]))
    [attached] = c.api("GET", "/v1/messages?scope=doc/files").json["messages"][0]["attachments"]
    assert attached == {"blob": made.json["id"], "name": "b.png", "type": "image/png", "bytes": len(picture["raw"])}


def test_turns_in_the_shapes_of_others(world):
    c, document = world
    said = {"model": "main", "messages": [{"role": "user", "content": "hello"}]}
    assert c.api("POST", "/openai/v1/chat/completions", said).json["choices"][0]["message"]["content"] == "You said hello."
    assert c.api("POST", "/openai/v1/chat/completions", {**said, "stream": True}).body.endswith(b"data: [DONE]\n\n")
    assert c.api("POST", "/openai/v1/chat/completions", {**said, "model": "nobody"}).status == 404
    assert "main" in [m["id"] for m in c.api("GET", "/openai/v1/models").json["data"]]
    a2a = {"A2A-Version": "1.0"}
    message = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    assert c.api("GET", "/a2a/main/.well-known/agent-card.json").json["name"] == "main"
    task = c.api("POST", "/a2a/main/message:send", message, headers=a2a).json["task"]
    assert c.api("POST", "/a2a/main/message:stream", message, headers=a2a).status == 200
    assert c.api("GET", f"/a2a/main/tasks/{task['id']}", headers=a2a).json["id"] == task["id"]
    assert c.api("GET", "/a2a/main/tasks?pageSize=1", headers=a2a).json["tasks"]
    assert c.api("POST", "/a2a/main", {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task["id"]}}, headers=a2a).json["result"]
    assert c.api("POST", f"/a2a/main/tasks/{task['id']}:cancel", {}, headers=a2a).status == 400
    endless = {"message": {**message["message"], "messageId": "m2", "parts": [{"text": "endless"}]}, "configuration": {"returnImmediately": True}}
    running = c.api("POST", "/a2a/main/message:send", endless, headers=a2a).json["task"]
    push = f"/a2a/main/tasks/{running['id']}/pushNotificationConfigs"
    assert c.api("POST", push, {"url": "https://hooks.invalid/x", "id": "one"}, headers=a2a).json["id"] == "one"
    assert c.api("GET", push, headers=a2a).json["configs"] and c.api("GET", push + "/one", headers=a2a).json["url"]
    assert c.api("DELETE", push + "/one", headers=a2a).status == 200
    assert c.api("POST", f"/a2a/main/tasks/{running['id']}:cancel", {}, headers=a2a).status == 200
    page = {"agent": "main", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}
    answer = c.api("POST", "/v1/ui/chat", page)
    assert answer.status == 200 and b'"finish"' in answer.body and answer.body.endswith(b"data: [DONE]\n\n"), answer.body
    assert c.api("GET", "/v1/ui/chat/a%20chat/stream").status == 204
    assert c.api("POST", "/v1/ui/chat", {**page, "model": "main"}).json["code"] == "unknown_field"


def test_workers_and_tokens(world):
    c, _ = world
    assert c.api("POST", "/v1/workers", {"name": "w9", "key": None, "labels": {"os": "linux"}}).status == 201
    for method, path, body in (("GET", "/v1/workers", None), ("GET", "/v1/workers/w1", None), ("POST", "/v1/workers/w9/drain", {"reason": "kernel"}),
                               ("POST", "/v1/workers/w9/resume", None), ("POST", "/v1/workers/w9/resolve", {"declare": "dead", "reason": "never there"}),
                               ("DELETE", "/v1/workers/w9", None)):
        assert c.api(method, path, body).status == 200, path
    made = c.api("POST", "/v1/tokens", {"name": "doc", "role": "chat", "scope": "doc", "owner": {"id": "bot", "name": "Bot"}}).json
    assert c.api("GET", "/v1/tokens").json["tokens"]
    assert c.api("GET", "/v1/audit").json["audit"]
    assert c.api("DELETE", f"/v1/tokens/{made['id']}").status == 204


def test_external_operations(world):
    c, document = world
    external = {"lease_ms": 60000, "session": "doc-runtime", "start": "now"}
    def created(**fields):
        answer = c.api("POST", "/v1/operations", {"kind": "external", "name": "callLLM", "scope": "doc/ext", "external": external, **fields})
        assert answer.status == 201, answer.body
        return answer.json["id"]
    later = created(external={**external, "start": "later"})
    assert c.api("POST", f"/v1/operations/{later}/start").status == 200
    assert c.api("POST", f"/v1/operations/{later}/heartbeat").json["cancel"] is None
    assert c.api("GET", f"/v1/operations/{later}/signal?wait_ms=0").status == 204
    assert c.api("POST", f"/v1/operations/{later}/complete", {"result": {"tokens": 7}}).json["status"] == "completed"
    assert c.api("POST", f"/v1/operations/{created()}/fail", {"code": "error", "message": "no luck"}).json["status"] == "failed"
    told = created()
    c.cancel(operation=told, wait="fenced", grace_ms=60000)
    assert c.api("GET", f"/v1/operations/{told}/signal?wait_ms=60000").json["operation"] == told
    assert c.api("POST", f"/v1/operations/{told}/heartbeat").json["cancel"]
    assert c.api("POST", "/v1/operations/heartbeat", {"ids": [told]}).json["cancels"]
    assert c.api("POST", f"/v1/operations/{told}/stopped", {}).json["status"] == "cancelled"
    item = {"kind": "external", "name": "x", "scope": "doc/ext", "external": external}
    many = c.api("POST", "/v1/operations/batch", {"operations": [item, {**item, "parent": uuid7()}]})
    assert many.status == 200 and [r["status"] for r in many.json["results"]][0] == 201 and many.json["results"][1]["status"] >= 400, many.body
    ends = [{"id": many.json["results"][0]["operation"]["id"], "complete": {"result": 1}}, {"id": uuid7(), "stopped": {}}]
    assert [r["status"] for r in c.api("POST", "/v1/operations/end", {"items": ends}).json["results"]] == [200, 404]
    url = urllib.parse.urlsplit(c.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request("GET", "/v1/signals?session=doc-runtime", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
    document.seen[("GET", "/v1/signals")] = {200}
    connection.close()


def test_an_admins_word_on_what_is_lost(world):
    c, _ = world
    worker = c.add_worker("w7")
    task = c.start("bash", "-c", STAY, scope="doc/lost", task_worker="w7", task_lease_ms=600000)
    c.wait_status(task["id"], "running")
    os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    c.cancel(scope="doc/lost", wait="fenced")
    until(lambda: c.api("POST", f"/v1/operations/{task['id']}/resolve", {"declare": "dead", "reason": "the host burnt"}).status == 200,
          "the worker to be missed and its task to be declared dead")


def test_logins_at_mcp_servers(world):
    c, _ = world
    begun = c.api("POST", "/v1/mcp/locked/login", {"redirect_uri": "http://127.0.0.1:9/callback"}).json
    back = urllib.parse.parse_qs(browse(begun["authorization_url"]).partition("?")[2])
    answer = {name: back[name][0] for name in ("state", "code", "iss")}
    assert answer["state"] == begun["state"]
    assert c.api("POST", "/v1/mcp/locked/login/finish", answer).json["login"]["logged_in"]
    assert not c.api("DELETE", "/v1/mcp/locked/login").json["login"]["logged_in"]
    assert {s["name"]: s["login"] is None for s in c.api("GET", "/v1/mcp").json["servers"]} == {"locked": False, "run": True, "web": False}


def test_the_document_is_served_as_it_is(world):
    c, document = world
    assert c.api("GET", "/v1/openapi.json", headers={"Authorization": None}).json == document.json


def test_errors(world):
    c, document = world
    task = c.start("bash", "-c", STAY, scope="doc/errors", task_worker="w1")  # not on the worker that was lost above
    ended = c.start("true", scope="doc/errors", task_worker="w1")
    c.wait_status(ended["id"], "completed")
    c.wait_status(task["id"], "running")
    observer = c.api("POST", "/v1/tokens", {"name": "o", "role": "observer", "scope": "doc"}).json["token"]
    unknown, own = uuid7(), uuid7()
    create = {"kind": "task", "task": {"command": ["true"]}}
    assert c.api("POST", "/v1/operations", {**create, "id": own}).status == 201
    wrong = [
        ("bad_json", "POST", "/v1/cancels", dict(raw=b"{", headers={"Content-Type": "application/json"})),
        ("bad_request", "GET", "/v1/operations?scope=%zz", {}),
        ("unauthenticated", "GET", "/v1/status", dict(token="qk_wrong")),
        ("forbidden", "POST", "/v1/cancels", dict(body={"scope": "doc"}, token=observer)),
        ("scope_forbidden", "GET", "/v1/operations?scope=other", dict(token=observer)),
        ("operation_not_found", "GET", f"/v1/operations/{unknown}", {}),
        ("cancel_not_found", "GET", f"/v1/cancels/{unknown}", {}),
        ("worker_not_found", "GET", "/v1/workers/none", {}),
        ("token_not_found", "DELETE", f"/v1/tokens/{unknown}", {}),
        ("mcp_server_not_found", "POST", "/v1/mcp/none/login", dict(body={"redirect_uri": "http://127.0.0.1:9/callback"})),
        ("login_not_found", "POST", "/v1/mcp/web/login/finish", dict(body={"state": "x"})),
        ("login_failed", "POST", "/v1/mcp/web/login", dict(body={"redirect_uri": "http://127.0.0.1:9/callback"})),
        ("blob_not_found", "GET", f"/v1/blobs/{unknown}", {}),
        ("message_not_found", "POST", "/v1/history", dict(body={"scope": "doc/none", "action": "clear"})),
        ("not_found", "GET", "/v1/nothing", {}),
        ("method_not_allowed", "DELETE", "/v1/operations", {}),
        ("too_large", "POST", "/v1/operations", dict(raw=b" " * 1_100_000, headers={"Content-Type": "application/json"})),
        ("unsupported_media_type", "POST", "/v1/cancels", dict(raw=b"{}", headers={"Content-Type": "text/plain"})),
        ("invalid_field", "POST", "/v1/operations", dict(body={"kind": "turn"})),
        ("unknown_field", "POST", "/v1/operations", dict(body={**create, "scop": "x"})),
        ("bad_scope", "POST", "/v1/cancels", dict(body={"scope": "a//b"})),
        ("bad_id", "GET", "/v1/operations/42", {}),
        ("no_target", "POST", "/v1/cancels", dict(body={})),
        ("scope_outside_parent", "POST", "/v1/operations", dict(body={**create, "parent": task["id"], "scope": "elsewhere"})),
        ("no_such_worker", "POST", "/v1/operations", dict(body={"kind": "task", "task": {"command": ["true"], "worker": "none"}})),
        ("id_conflict", "POST", "/v1/operations", dict(body={"kind": "task", "id": own, "task": {"command": ["false"]}})),
        ("parent_ended", "POST", "/v1/operations", dict(body={**create, "parent": ended["id"]})),
        ("not_paused", "POST", f"/v1/operations/{task['id']}/approve", dict(body={})),
        ("worker_busy", "DELETE", "/v1/workers/w1", {}),
        ("already_terminal", "POST", f"/v1/operations/{ended['id']}/resolve", dict(body={"declare": "dead", "reason": "x"})),
        ("not_cancelling", "POST", f"/v1/operations/{task['id']}/resolve", dict(body={"declare": "dead", "reason": "x"})),
        ("stale_start", "POST", "/v1/operations", dict(body={**create, "scope": "doc/errors", "as_of_seq": 1})),
    ]
    c.cancel(scope="doc/errors/none")
    for code, method, path, options in wrong:
        if code == "stale_start":
            c.cancel(scope="doc/errors", grace_ms=0)
        answer = c.api(method, path, **options)
        assert answer.status >= 400 and answer.json["code"] == code, (code, method, path, answer.status, answer.body)
    assert {code for code, *_ in wrong} <= document.codes


def test_codes_and_their_help_are_the_same_list(world):
    c, document = world
    help = subprocess.run([f"{BIN}/quell", "help", "errors"], capture_output=True, text=True, check=True).stdout
    missing = [code for code in document.json["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] if code not in help]
    assert not missing, missing


def test_streams_send_events_of_the_documented_shape(world):
    c, document = world
    o = c.start("true", scope="doc/stream", task_worker="w1")
    c.wait_status(o["id"], "completed")
    url = urllib.parse.urlsplit(c.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request("GET", f"/v1/operations/{o['id']}/events?after=0", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream"})
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    types = []
    while "operation_completed" not in types:
        line = answer.readline().decode()
        if line.startswith("data: "):
            event = json.loads(line[6:])
            document.check_event(event)
            types.append(event["type"])
    connection.close()


def test_sessions_and_the_live_tree(world):
    c, _ = world
    task, child = work(c)
    for path in ("/v1/tree", "/v1/tree?by=parent&scope=doc&limit=1", "/v1/tree?scope=doc/work", f"/v1/tree?parent={task['id']}"):
        assert c.api("GET", path).status == 200, path
    assert c.api("GET", f"/v1/tree?parent={child['id']}").json["operations"] == [], "it has ended"
    assert c.api("POST", "/v1/sessions/links", {}).status == 201
    page = {"Authorization": None, "Origin": c.url}
    made = c.api("POST", "/v1/sessions", {"token": c.token}, headers=page)
    assert made.status == 201
    page["Cookie"] = made.headers["Set-Cookie"].split(";")[0]
    assert c.api("GET", "/v1/sessions/current", headers=page).json["id"] == made.json["id"]
    assert c.api("DELETE", "/v1/sessions/current", headers={**page, "Origin": None}).status == 403
    assert c.api("DELETE", "/v1/sessions/current", headers=page).status == 204
    assert c.api("GET", "/v1/status", headers=page).status == 401
    c.cancel(operation=task["id"])
    for by in ("scope", "author", "day", "agent", "model"):
        assert c.api("GET", f"/v1/cost?by={by}").status == 200
    assert c.api("POST", "/v1/config/reload", {}).json == {"changed": []}


def test_nothing_in_the_document_went_unseen(world):
    """The last test of this file: every route was answered with success above. A new route needs a line here."""
    c, document = world
    succeeded = {route for route, statuses in document.seen.items() if any(s < 300 for s in statuses)}
    # Routes for chat services have the answers that the services require; the tests of each service check them.
    unseen = sorted((m, p) for m, p in document.operations() - succeeded if not p.startswith("/v1/chat/"))
    assert not unseen, "no test above got a good answer from these routes: drive them here"
