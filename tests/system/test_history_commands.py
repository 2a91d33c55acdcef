"""Changes of a conversation by command: `quell history`, and /retry, /compact, /fork and /clear in `quell chat`."""
import json

import pytest

from harness.talk import chat
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"when": {"user": "forever"}, "steps": [{"endless": "on and on ", "delay_ms": 20}]}, {"text": "This is an answer."}]
ANSWERED = ("assistant", "This is an answer.")


@pytest.fixture(scope="module")
def c():
    with TurnCluster(SCRIPT, workers=0) as cluster:
        yield cluster


def talked(c, scope, *texts):
    for text in texts:
        assert c.ended(c.say(scope, text))["status"] == "completed"


def read(c, scope):
    """(role, text) of what is still read, without summaries and clears."""
    return [(m["role"], m["text"]) for m in c.messages(scope) if m["role"] != "summary" and not m["discarded"]]


def summaries(c, scope):
    return [m for m in c.messages(scope) if m["role"] == "summary"]


def printed(c, *arguments, code=0):
    done = c.quell("history", *arguments, check=code)
    return (done.stdout + done.stderr).decode()


def test_the_commands_change_the_conversation_and_say_what_they_did(c):
    scope = "commands/all"
    talked(c, scope, "one", "two", "three")
    shown = printed(c, "show", scope)
    assert [line.split()[-1] for line in shown.splitlines() if " user " in line] == ["one", "two", "three"], shown
    rows = {m["text"]: m["message"] for m in json.loads(c.quell("history", "show", scope, "--json", check=0).stdout)["messages"] if m["role"] == "user"}

    assert "2 messages gone" in printed(c, "delete", scope, rows["one"][-8:])
    assert [text for role, text in read(c, scope) if role == "user"] == ["two", "three"]

    assert "2 messages gone" in printed(c, "edit", scope, rows["three"], "three", "again")
    assert [text for role, text in read(c, scope) if role == "user"] == ["two", "three again"]

    assert "asked again: turn" in printed(c, "retry", scope)
    until(lambda: read(c, scope)[-2:] == [("user", "three again"), ("assistant", "This is an answer.")], "the answer to the edited message")
    until(lambda: not c.operations(scope=scope, status="live"), "the end of its turn")

    assert "4 messages copied to scope commands/copy" in printed(c, "fork", scope, "commands/copy")
    assert read(c, "commands/copy") == [("user", "two"), ANSWERED, ("user", "three again"), ANSWERED]
    assert c.quell("history", "fork", scope, "commands/copy").returncode != 0, "it has a conversation of its own"

    assert "messages gave way to a summary" in printed(c, "compact", scope)
    assert len(summaries(c, scope)) == 1 and not summaries(c, "commands/copy")

    newest = c.messages(scope)[-1]["seq"]
    talked(c, scope, "four")
    assert c.quell("history", "clear", scope, "--expect", str(newest)).returncode != 0, "somebody has written meanwhile"
    assert "nothing of before is read any more" in printed(c, "clear", scope, "--expect", str(c.messages(scope)[-1]["seq"]))
    assert "(cleared)" in printed(c, "show", scope)


def test_a_wrong_message_and_an_empty_scope_are_errors(c):
    talked(c, "commands/wrong", "one")
    assert c.quell("history", "delete", "commands/wrong", "ffffffff").returncode != 0
    assert c.quell("history", "retry", "commands/nobody").returncode != 0
    assert " user " not in printed(c, "show", "commands/nobody")
    assert read(c, "commands/wrong") == [("user", "one"), ("assistant", "This is an answer.")]


def test_in_the_chat_the_same_changes_are_made_with_a_slash(c):
    scope = "commands/chat"
    with chat(c, scope) as t:
        t.prompt()
        for text in ("one", "two"):
            t.enter(text)
            t.see("› " + text)
            until(lambda: read(c, scope)[-2:] == [("user", text), ("assistant", "This is an answer.")], f"the answer to {text}")
            t.prompt()
        until(lambda: not c.operations(scope=scope, status="live"), "the end of both turns")
        first = c.operations(scope=scope, kind="turn")
        t.enter("/retry")
        until(lambda: len(c.operations(scope=scope, kind="turn")) == len(first) + 1, "a third turn")
        until(lambda: not c.operations(scope=scope, kind="turn", status="live"), "its end")
        assert [text for role, text in read(c, scope) if role == "user"] == ["one", "two"]
        t.prompt()
        t.enter("/fork commands/chat-copy")
        t.see("4 messages copied")
        assert read(c, "commands/chat-copy") == [("user", "one"), ANSWERED, ("user", "two"), ANSWERED]
        t.enter("/compact")
        t.see("a summary is being written")
        until(lambda: len(summaries(c, scope)) == 1, "the summary")
        until(lambda: not c.operations(scope=scope, status="live"), "its call to end")
        t.enter("/clear")
        t.see("nothing of before is read any more")
        t.enter("/fork")
        t.see("where to? /fork NAME")
        t.enter("/clear now")
        t.see("/clear takes no more words")
        assert len(summaries(c, scope)) == 2, "a summary and a clear"
        t.type("\x04")
        assert t.end() == 0


def test_a_change_while_a_turn_runs_is_refused_and_changes_nothing(c):
    scope = "commands/busy"
    with chat(c, scope) as t:
        t.prompt()
        t.enter("forever")
        t.see("on and on")
        for i, command in enumerate(("/clear", "/compact", "/retry", "/fork commands/busy-copy")):
            t.enter(command)
            until(lambda: " ".join(t.text().split()).count("runs or waits") > i, f"the refusal of {command}")
        assert not c.messages("commands/busy-copy") and not summaries(c, scope)
        assert len(c.operations(scope=scope, kind="turn")) == 1
        c.cancel(scope=scope)
        t.type("\x04")
        t.end()
