"""A day's bytes of a token, an author and a scope: every door that brings bytes counts, a restart forgets nothing, and no cancel is ever refused."""
import base64
import hashlib
import hmac
import json
import os
import signal
import time

import pytest

from harness.cluster import Cluster
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"text": "You said {{text}}."}]
SECRET = base64.b64encode(b"a secret of twenty-four b").decode()


def token(c, role="operator", scope=None):
    return c.api("POST", "/v1/tokens", {"name": "bytes", "role": role, "scope": scope}).json["token"]


def create(c, scope, owner=None, by=None, padding=4000):
    labels = {f"l{i}": "x" * 100 for i in range(padding // 110)}
    return c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": scope, "labels": labels, "owner": owner and {"id": owner, "name": owner}}, token=by)


def spend(c, *what, **more):
    """Brings bytes until there is no room; returns the refusal."""
    def once():
        answer = create(c, *what, **more)
        assert answer.status in (201, 429), answer.body
        return answer if answer.status == 429 else None
    return until(once, "the day's bytes to be spent")


def says(refused, setting):
    assert refused.status == 429 and refused.json["code"] == "rate_limited", refused.body
    assert setting in refused.json["detail"] and " 65536 bytes" in refused.json["detail"], refused.json["detail"]
    assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
    assert f"in {refused.headers['Retry-After']} s, at 20" in refused.json["detail"], refused.json["detail"]


def test_an_author_behind_a_shared_token_has_a_day_of_its_own():
    with Cluster(workers=0, settings=["limits.bytes_per_day_per_author=64KiB"]) as c:
        bot, other = token(c), token(c)
        says(spend(c, "team", "mia", bot), "limits.bytes_per_day_per_author")
        assert create(c, "team", "ben", bot).status == 201
        assert create(c, "team", "mia", other).status == 201, "what another token brings in her name is not hers"
        before = len(c.operations(scope="team", status="running"))
        assert create(c, "team", "mia", bot).status == 429
        assert len(c.operations(scope="team", status="running")) == before, "what was refused was not done"
        assert c.api("POST", "/v1/cancels", {"owner": "mia", "scope": "team"}, token=bot).status in (200, 202)


@pytest.fixture
def spent():
    c = TurnCluster(SCRIPT, '[[incoming]]\nname = "pager"\nsecret_file = "WORKSPACE/secret"\nscope = "webhook/full"\n', workers=0,
                    settings=["limits.bytes_per_day_per_scope=64KiB"])
    with open(os.path.join(c.workspace, "secret"), "w") as f:
        f.write("whsec_" + SECRET + "\n")
    with c:
        yield c


def test_every_door_into_a_scope_counts_and_is_closed_when_it_is_full(spent):
    c = spent
    inside = token(c, "admin", "full")
    live = create(c, "full/live", by=inside).json["id"]
    says(spend(c, "full/a/b", by=inside), "limits.bytes_per_day_per_scope")
    said = {"author": {"id": "mia", "name": "Mia"}}
    ui = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello" * 1000}]}
    png = b"\x89PNG\r\n\x1a\n" + b"p" * 5000
    sdk = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello" * 1000}], "contextId": "room"}}
    doors = {
        "messages": lambda: c.api("POST", "/v1/messages", {"scope": "full/x", "text": "hello" * 1000, **said}, token=inside),
        "OpenAI": lambda: c.api("POST", "/openai/v1/chat/completions", {"model": "main", "messages": [{"role": "user", "content": "hello" * 1000}]},
                                token=inside, headers={"X-Quell-Scope": "full/x"}),
        "AI SDK": lambda: c.api("POST", "/v1/ui/chat", {"id": "chat", "agent": "main", "scope": "full/x", "messages": [ui]}, token=inside),
        "A2A": lambda: c.api("POST", "/a2a/main/message:send", sdk, headers={"A2A-Version": "1.0"}, token=inside),
        "A2A over JSON-RPC": lambda: c.api("POST", "/a2a/main", {"jsonrpc": "2.0", "id": "r", "method": "SendMessage", "params": sdk},
                                           headers={"A2A-Version": "1.0"}, token=inside),
        "blobs": lambda: c.api("POST", "/v1/blobs?scope=full", raw=png, headers={"Content-Type": "image/png"}, token=inside),
        "a child": lambda: c.api("POST", "/v1/operations", {"kind": "external", "name": "x" * 100, "parent": live, "labels": {f"l{i}": "x" * 100 for i in range(40)}},
                                 token=inside),
        "the owner of the machine": lambda: create(c, "full/x"),
    }
    for name, door in doors.items():
        answer = door()
        assert b"limits.bytes_per_day_per_scope" in answer.body, (name, answer.status, answer.body)
        assert answer.status == 429 or name == "A2A over JSON-RPC", (name, answer.status, answer.body)
    assert c.messages("full/x") == []
    assert create(c, "beside", padding=100).status == 201
    # A stop passes every door, and so does the end of work.
    stop = c.api("POST", "/v1/messages", {"scope": "full/live", "text": "stop", **said}, token=inside)
    assert stop.status == 200 and stop.json["decision"] == "cancel", stop.body
    done = c.api("POST", f"/v1/operations/{live}/complete", {"result": "r" * 5000}, token=inside)
    assert done.status == 200, done.body
    assert c.api("POST", "/v1/cancels", {"scope": "full", "reason": "r" * 400}, token=inside).status in (200, 202)


def deliver(c, id, text):
    now = str(int(time.time()))
    body = json.dumps({"text": text, "author": {"id": "u1", "name": "Uma"}, "scope": "webhook/full/room"})
    mark = hmac.new(base64.b64decode(SECRET), f"{id}.{now}.{body}".encode(), hashlib.sha256).digest()
    return c.api("POST", "/v1/chat/webhook/pager", raw=body, headers={
        "Authorization": None, "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": now,
        "webhook-signature": "v1," + base64.b64encode(mark).decode()})


def test_messages_of_a_chat_service_count_for_their_author_and_a_stop_does_not(spent):
    c = spent
    assert deliver(c, "first", "hello").status == 202
    refused = until(lambda: (lambda a: a if a.status == 429 else None)(deliver(c, os.urandom(8).hex(), "x" * 20_000)), "the scope to be full")
    assert "limits.bytes_per_day_per_scope" in refused.json["detail"], refused.body
    assert deliver(c, "again", "x" * 20_000).status == 429
    create(c, "webhook/full/room", padding=100)
    stop = deliver(c, "stop", "stop")
    assert stop.status == 200 and stop.json["decision"] in ("cancel", "ignored", "turn"), stop.body


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_gives_nobody_a_new_day(end):
    with Cluster(workers=0, settings=["limits.bytes_per_day=64KiB", "limits.bytes_per_day_per_author=32KiB"]) as c:
        bot = token(c)
        spend(c, "team", "mia", bot)
        spend(c, "team", "ben", bot)
        assert "limits.bytes_per_day," in spend(c, "team", "eve", bot).json["detail"]
        if end == signal.SIGKILL:  # a crash forgets what is not yet in the file
            def is_kept():
                try:
                    with open(os.path.join(c.state, "bytes.json")) as f:
                        kept = json.load(f)
                    mia = [used for name, used in kept["authors"].items() if name.endswith("\nmia")]
                    return sum(kept["tokens"].values()) > 61_600 and sum(mia) > 29_000
                except FileNotFoundError:
                    return False
            until(is_kept, "the file to have what was brought")
        c.kill_controller(end)
        c.start_controller()
        refused = create(c, "team", "eve", bot)
        assert refused.status == 429 and "limits.bytes_per_day," in refused.json["detail"], refused.body
        assert create(c, "team", "mia", bot).status == 429
        assert create(c, "team", "mia", token(c)).status == 201
        assert oct(os.stat(os.path.join(c.state, "bytes.json")).st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("setting", ["limits.bytes_per_day", "limits.bytes_per_day_per_author", "limits.bytes_per_day_per_scope"])
def test_messages_that_are_copied_count_where_they_are_copied_to(setting):
    """A fork's own request has a hundred bytes, and so has that of a question that is asked again."""
    with TurnCluster([{"text": "Yes."}], workers=0, settings=[setting + "=64KiB"]) as c:
        bot = token(c)
        for i in range(2):
            asked = c.post("team/a", f"{i} " + "x" * 12_000, token=bot)
            assert asked.status == 202 and c.ended(asked.json["turn"]["id"])["status"] == "completed", asked.body

        def change(**fields):
            return c.api("POST", "/v1/history", {"scope": "team/a", **fields}, token=bot)

        copied = []
        for i in range(4):
            answer = change(action="fork", to=f"team/f{i}")
            if answer.status != 200:
                break
            copied.append(f"team/f{i}")
            assert len(c.messages(f"team/f{i}")) == 4
        says(answer, setting)
        # With 24 KB of messages before it (an author's share has its own alone), each copy has 24 KB.
        assert len(copied) == (3 if setting.endswith("author") else 2), copied
        assert c.messages(f"team/f{len(copied)}") == [], "what was refused was not done"
        assert c.api("POST", "/v1/cancels", {"scope": "team"}, token=bot).status in (200, 202)


def test_a_question_that_is_asked_again_counts_its_copy():
    with TurnCluster([{"text": "Yes."}], workers=0, settings=["limits.bytes_per_day_per_scope=64KiB"]) as c:
        assert c.ended(c.say("team/a", "x" * 20_000))["status"] == "completed"
        for _ in range(4):
            answer = c.api("POST", "/v1/history", {"scope": "team/a", "action": "regenerate"})
            if answer.status == 429:
                break
            assert answer.status == 202, answer.body
            assert c.ended(answer.json["operation"])["status"] == "completed"
        says(answer, "limits.bytes_per_day_per_scope")
