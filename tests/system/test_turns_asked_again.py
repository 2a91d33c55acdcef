"""Regenerate repeats what the message chose: agent, model, tools, labels, timeout and budget, also after an edit and a restart."""
import pytest

from test_turns_history import change
from test_turns_message_choice import Choosing

CHOICE = {"model": "other", "tools": ["list"], "labels": {"team": "a"}, "timeout_ms": 50_000, "budget": {"max_tokens": 50_000_000}}


@pytest.fixture(scope="module")
def c():
    with Choosing() as cluster:
        yield cluster


def chosen(operation):
    turn = operation["turn"]
    return operation["name"], turn["model"], turn["choice"], operation["labels"], operation["timeout_ms"], turn["budget"]["max_tokens"]


def asked(c, scope):
    """The person's message that is read."""
    return [m for m in c.messages(scope) if m["role"] == "user" and not m["discarded"]][-1]


def again(c, scope):
    return c.ended(change(c, scope, "regenerate", 202)["operation"])


def test_to_ask_again_repeats_the_choice_also_after_edits_and_a_restart(c):
    scope = "again/choice"
    first = c.ended(c.say(scope, "hello", agent="main", **CHOICE))
    expected = chosen(first)
    assert expected == ("main", "other", {"model": "other", "tools": ["list"]}, {"team": "a"}, 50_000, 50_000_000), first
    assert chosen(again(c, scope)) == expected
    change(c, scope, "edit", id=asked(c, scope)["message"], text="hello once more")
    assert chosen(again(c, scope)) == expected
    for text in ("hello twice", "hello thrice"):
        change(c, scope, "edit", id=asked(c, scope)["message"], text=text)
    c.restart()
    assert chosen(again(c, scope)) == expected
    assert asked(c, scope)["text"] == "hello thrice"
    c.check_scope(scope)


def test_an_edited_message_is_answered_by_the_agent_that_it_had_named_and_with_no_tools_if_it_wanted_none(c):
    scope = "again/agent"
    assert c.ended(c.say(scope, "hello", agent="takes", tools=[]))["name"] == "takes"
    change(c, scope, "edit", id=asked(c, scope)["message"], text="list")
    done = again(c, scope)
    assert done["name"] == "takes" and done["turn"]["choice"] == {"tools": []}, done
