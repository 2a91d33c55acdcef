"""The audit: one event with author, token and target for each cancel, decision, token, worker and resolve, for unscoped admins only."""
import json

import pytest

from harness.cluster import Cluster
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true"}}]}]},
    {"when": {"result": ""}, "text": "Done."},
    {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]},
    {"text": "You said {{text}}."},
]
STAY = "while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config='[[approval]]\ntool = "exec"\n') as c:
        yield c


def audits(c, token=None, after="0"):
    found = []
    while after:
        page = c.api("GET", f"/v1/events?types=audit&after={after}&limit=1000", token=token).json
        found += page["events"]
        after = page["next_cursor"]
    return found


def told(c, action, target):
    """The one audit event of this action on this target, as soon as it exists."""
    def look():
        found = [e for e in audits(c) if e["data"]["action"] == action and e["data"]["target"] == target]
        assert len(found) < 2, found
        return found
    return until(look, f"an audit of {action} {target}")[0]


def test_a_cancel_names_its_human_its_channel_and_its_token(cluster):
    c = cluster
    made = c.api("POST", "/v1/tokens", {"name": "slack-bot", "role": "chat", "scope": "audit"}).json
    bot = made["token"]
    done = c.api("POST", "/v1/cancels", {"scope": "audit/x", "reason": "enough", "by": {"id": "mia", "name": "Mia"}}, token=bot,
                 headers={"Quell-Channel": "slack"}).json
    event = told(c, "cancel", "scope audit/x")
    assert event["data"] == {"action": "cancel", "target": "scope audit/x", "by": {"id": "mia", "name": "Mia"},
                             "via": {"channel": "slack", "token": "slack-bot", "token_id": made["id"]}, "reason": "enough"}
    assert event["cancel"] == done["id"] and event["at"] >= done["created_at"]


def test_every_way_to_cancel_is_audited(cluster):
    c = cluster
    task = c.start("bash", "-c", STAY, scope="audit/ways")
    c.wait_status(task["id"], "running")
    c.api("POST", "/v1/cancels", {"scope": "audit/ways", "dry_run": True})
    assert not [e for e in audits(c) if e["data"]["target"] == "scope audit/ways"], "a dry run stops nothing"
    c.quell("cancel", task["id"], check=0)
    assert told(c, "cancel", f"operation {task['id']}")["data"]["via"]["channel"] == "cli"
    c.cancel(owner="somebody", scope="audit/ways")
    told(c, "cancel", "owner somebody in audit/ways")
    c.cancel(everything=True)
    told(c, "cancel", "everything")
    turn = c.say("audit/turn", "endless")
    c.wait_status(turn, "running")
    assert c.api("POST", f"/api/turns/{turn}/abort").status == 200
    told(c, "cancel", f"operation {turn}")


def test_a_second_cancel_that_joins_is_audited_too(cluster):
    c = cluster
    task = c.start("bash", "-c", "trap '' TERM; echo up; " + STAY, scope="audit/twice", grace_ms=600000)
    until(lambda: c.api("GET", f"/v1/operations/{task['id']}/output").body == b"up\n", "the task to ignore TERM")
    first = c.cancel(scope="audit/twice", wait="signalled", reason="first")
    second = c.cancel(scope="audit/twice", wait="fenced", reason="second", grace_ms=0)
    assert second["outcome"] == "joined" and second["id"] == first["id"]
    both = until(lambda: (lambda found: found if len(found) == 2 else None)(
        [e["data"]["reason"] for e in audits(c) if e["data"]["target"] == "scope audit/twice"]), "both")
    assert both == ["first", "second"]
    c.wait_status(task["id"], "cancelled")


def test_decisions_about_calls(cluster):
    c = cluster
    for word in ("approve", "deny"):
        turn = c.say("audit/asks", "asks")
        call = c.call(turn, "exec", "paused")
        for _ in range(2):  # a repeat decides nothing
            assert c.api("POST", f"/v1/operations/{call['id']}/{word}", {"by": {"id": "ann", "name": "Ann"}}).status == 200
        data = told(c, word, f"operation {call['id']}")["data"]
        assert data["by"] == {"id": "ann", "name": "Ann"} and data["via"]["token"] == "admin"
        c.ended(turn)


def test_tokens_workers_and_resolves(cluster):
    c = cluster
    made = c.api("POST", "/v1/tokens", {"name": "audited", "role": "observer"}).json
    assert c.api("DELETE", f"/v1/tokens/{made['id']}").status == 204
    for action in ("token_create", "token_revoke"):
        told(c, action, f"token {made['id']} audited")  # by id: another token may have the same name
    assert made["token"] not in json.dumps(audits(c))
    c.enrol("w8")
    for path, body in (("drain", {"reason": "kernel"}), ("resume", {})):
        assert c.api("POST", f"/v1/workers/w8/{path}", body).status == 200
    assert c.api("POST", "/v1/workers/w8/resolve", {"declare": "dead", "reason": "never there"}).status == 200
    assert c.api("DELETE", "/v1/workers/w8").status == 200
    for action in ("worker_add", "worker_drain", "worker_resume", "resolve", "worker_remove"):
        told(c, action, "worker w8")
    assert told(c, "resolve", "worker w8")["data"]["reason"] == "never there"


def test_a_resolve_of_one_operation_says_why(cluster):
    with Cluster(workers=1, settings=["workers.lease=60s"]) as c:
        task = c.start("bash", "-c", STAY, scope="dead")
        c.wait_status(task["id"], "running")
        c.workers["w1"].process.kill()
        until(lambda: c.worker("w1")["status"] != "ready", "the worker to be missed")
        c.cancel(scope="dead", wait="fenced")
        assert c.api("POST", f"/v1/operations/{task['id']}/resolve", {"declare": "dead", "reason": "the host burnt"}).status == 200
        event = told(c, "resolve", f"operation {task['id']}")
        assert event["data"]["reason"] == "the host burnt" and event["operation"] == task["id"]


def test_only_an_admin_without_scope_sees_audits(cluster):
    c = cluster
    c.cancel(scope="audit/seen")
    told(c, "cancel", "scope audit/seen")
    for role, scope in (("observer", None), ("operator", None), ("chat", "audit"), ("admin", "audit")):
        secret = c.api("POST", "/v1/tokens", {"name": f"{role}-{scope}", "role": role, "scope": scope}).json["token"]
        asked = c.api("GET", "/v1/events?types=audit&after=0", token=secret)
        assert asked.status == 403 and asked.json["code"] == "forbidden", (role, scope)
        kinds = {e["type"] for e in c.api("GET", "/v1/events?after=0&limit=1000", token=secret).json["events"]}
        assert "audit" not in kinds, (role, scope)


def test_the_command_line_shows_audits(cluster):
    c = cluster
    c.cancel(scope="audit/cli", reason="shown")
    told(c, "cancel", "scope audit/cli")
    shown = c.quell("events", "--types", "audit", "--json", check=0).stdout.decode()
    assert any(json.loads(line)["data"]["target"] == "scope audit/cli" for line in shown.splitlines()), shown
    read = c.quell("events", "--types", "audit", check=0).stdout.decode()
    assert "admin: cancel scope audit/cli (api, admin bootstrap): shown" in read, read


def test_audits_outlive_a_crash(cluster):
    with Cluster(workers=0) as c:
        c.cancel(scope="crash/a", wait="fenced", reason="before")
        c.kill_controller()
        c.start_controller()
        assert told(c, "cancel", "scope crash/a")["data"]["reason"] == "before"
