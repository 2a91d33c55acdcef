"""What the AI SDK's useChat sends to POST /v1/ui/chat in a conversation that quell keeps."""
import json

import pytest

from harness.turns import TurnCluster

SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"text": "I ask first. "}, {"calls": [{"name": "ask_user", "input": {"question": "Which one?", "choices": ["red", "blue"]}}]}]},
    {"when": {"result": ""}, "text": "Then {{results}}."},
    {"text": "You said {{text}}."},
]
MIA = {"id": "mia", "name": "Mia"}
SCOPE = "page/mia"


@pytest.fixture(scope="module")
def c():
    closed = '[[place]]\nscope = "closed"\nchannels = ["open"]\n'
    with TurnCluster(SCRIPT, closed, agent='tools = ["ask_user"]', workers=0) as cluster:
        yield cluster


def said(role, text, **more):
    return {"role": role, "parts": [{"type": "text", "text": text}], **more}


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


def test_an_edited_message_replaces_the_one_of_its_id_with_everything_behind_it(c):
    scope = "page/edits"
    first, second = said("user", "one", id="u1"), said("user", "two", id="u2")
    for message in (first, second):
        assert shown(post(c, message, scope=scope, trigger="submit-message")).startswith("You said")
    edited = said("user", "uno", id="u1")
    assert shown(post(c, edited, scope=scope, trigger="submit-message", messageId="u1")) == "You said uno."
    assert kept(c, scope) == ["uno", "You said uno."]
    # One that quell does not know is a message like others.
    assert shown(post(c, said("user", "new", id="u9"), scope=scope, trigger="submit-message", messageId="u9")) == "You said new."
    # A summary or a clear took it away: that is not undone.
    assert c.api("POST", "/v1/history", {"scope": scope, "action": "clear"}).status == 200
    late = post(c, edited, scope=scope, trigger="submit-message", messageId="u1")
    assert (late.status, late.json["code"]) == (404, "message_not_found"), late.body
    c.check_scope(scope)


def test_while_something_waits_or_runs_an_edit_is_refused_and_a_stop_word_stops(c):
    scope = "page/busy"
    turn = c.say(scope, "choose", labels={"ui.message": "u1"})
    c.call(turn, "ask_user", "paused")
    busy = post(c, said("user", "choose well", id="u1"), scope=scope, trigger="submit-message", messageId="u1")
    assert (busy.status, busy.json["code"]) == (409, "turn_running"), busy.body
    stop = post(c, said("user", "stop", id="u1"), scope=scope, trigger="submit-message", messageId="u1")
    assert "Stopping" in shown(stop)
    assert c.ended(turn)["status"] == "cancelled"
    c.check_scope(scope)


def test_the_next_message_of_a_page_answers_what_the_agent_asks(c):
    scope = "page/asks"
    turn = c.say(scope, "choose")
    c.call(turn, "ask_user", "paused")
    other = c.post(scope, "me too", author={"id": "tom", "name": "Tom"}).json["turn"]["id"]
    answer = post(c, said("user", "Blue."), scope=scope, author=MIA)
    assert '"answer":"blue"' in shown(answer) and "I ask first" not in shown(answer) and answer.headers["X-Quell-Turn"] == turn, answer.headers
    assert c.ended(turn)["status"] == "completed" and c.ended(other)["status"] == "completed"
    turn = c.say(scope, "choose")
    c.call(turn, "ask_user", "paused")
    done = c.api("POST", "/openai/v1/chat/completions", {"model": "main", "messages": [{"role": "user", "content": "1"}], "user": "mia"},
                 headers={"X-Quell-Scope": scope})
    said_now = done.json["choices"][0]["message"]["content"]
    assert '"answer":"red"' in said_now and "I ask first" not in said_now, done.body
    assert c.operation(turn)["turn"]["text"].startswith("I ask first. ")
    c.check_scope(scope)


def test_a_chat_has_a_stream_while_its_turn_is_live_for_those_who_see_it(c):
    scope = "page/resumed"
    path = "/v1/ui/chat/a%20chat/stream"
    assert c.api("GET", path).status == 204
    turn = c.say(scope, "choose", labels={"ui.chat": "a chat"})
    c.call(turn, "ask_user", "paused")
    other = c.api("POST", "/v1/tokens", {"name": "other", "role": "chat", "scope": "elsewhere"}).json["token"]
    observer = c.api("POST", "/v1/tokens", {"name": "observer", "role": "observer"}).json["token"]
    assert c.api("GET", path, token=other).status == 204
    assert c.api("GET", path, token=observer).status == 403
    c.post(scope, "2")
    assert c.ended(turn)["status"] == "completed"
    assert c.api("GET", path).status == 204


def test_where_nobody_speaks_to_agents_a_client_is_told_so(c):
    completion = {"model": "main", "messages": [{"role": "user", "content": "hello"}]}
    named = lambda scope, body: c.api("POST", "/openai/v1/chat/completions", body, headers={"X-Quell-Scope": scope})
    assert shown(post(c, said("user", "hello"), scope="closed/open")) == "You said hello."
    for refused in (post(c, said("user", "hello"), scope="closed/x"), named("closed/x", completion), named("closed/x", {**completion, "stream": True})):
        assert refused.status == 403 and b"nobody speaks to agents in scope closed/x" in refused.body, refused.body
    # A word to stop is heard everywhere.
    assert shown(post(c, said("user", "stop"), scope="closed/x")) == "There is nothing to stop."
    completion["messages"][0]["content"] = "stop"
    assert named("closed/x", completion).json["choices"][0]["message"]["content"] == "There is nothing to stop."
    assert c.operations(scope="closed/x") == [] and c.messages("closed/x") == []
