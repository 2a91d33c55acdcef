"""What the AI SDK's useChat sends to POST /v1/ui/chat in a conversation that quell keeps."""
import json

import pytest

from harness.turns import TurnCluster

SCRIPT = [{"text": "You said {{text}}."}]
SCOPE = "page/mia"


@pytest.fixture(scope="module")
def c():
    with TurnCluster(SCRIPT) as cluster:
        yield cluster


def said(role, text):
    return {"role": role, "parts": [{"type": "text", "text": text}]}


def kept(c, scope):
    """The texts of the conversation as it is read."""
    messages = c.messages(scope)
    gone = {m["turn"] for m in messages if m["discarded"]}
    return [m["text"] for m in messages if m["turn"] not in gone]


def post(c, *messages, **more):
    return c.api("POST", "/v1/ui/chat", {"id": "chat", "agent": "main", "scope": SCOPE, "messages": list(messages), **more})


def shown(answer):
    assert answer.status == 200, answer.body
    frames = [line[6:] for line in answer.body.decode().splitlines() if line.startswith("data: {")]
    return "".join(f["delta"] for f in map(json.loads, frames) if f["type"] == "text-delta")


def test_regenerate_replaces_the_newest_answer_and_no_other(c):
    first, second = said("user", "one"), said("user", "two")
    assert shown(post(c, first, trigger="submit-message")) == "You said one."
    assert shown(post(c, first, said("assistant", "You said one."), second, trigger="submit-message")) == "You said two."
    again = post(c, first, said("assistant", "You said one."), second, trigger="regenerate-message", messageId="m4")
    assert shown(again) == "You said two."
    assert kept(c, SCOPE) == ["one", "You said one.", "two", "You said two."]
    older = post(c, first, trigger="regenerate-message", messageId="m2")
    assert (older.status, older.json["code"]) == (409, "not_changeable"), older.body
    c.check_scope(SCOPE)
