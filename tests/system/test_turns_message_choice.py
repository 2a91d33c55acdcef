"""What a message chooses of its turn: a model, fewer tools, a parent; over a wait and a restart; and what steers cannot choose."""
import json
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

LONG = "while [ ! -e go-NAME ]; do sleep 0.05; done; echo went on #MARK"


def script(mark):
    work = lambda name: [{"calls": [{"name": "exec", "input": {"command": LONG.replace("NAME", name).replace("MARK", mark)}}]}]
    return [{"when": {"user": f"work {name}", "round": 1}, "steps": work(name)} for name in "abcdefg"] + [
        {"when": {"user": "list", "round": 1}, "steps": [{"calls": [{"name": "list", "input": {"path": "."}}]}]},
        {"when": {"user": "spawn", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "list", "agent": "free"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


class Choosing(TurnCluster):
    """Agent `main` has two models; `free` has rights of its own; nobody has the model `dear`."""

    def __init__(self):
        self.mark = marker()
        super().__init__(script(self.mark), agent='models = ["other"]\ntools = ["exec", "list", "read", "spawn_agent"]\nmay_spawn = ["free"]', config=(
            '[[models]]\nname = "other"\nprovider = "scripted"\nbase_url = "WORKSPACE/../other.json"\nprice = { input = 2, output = 10 }\n'
            '[[models]]\nname = "dear"\nprovider = "scripted"\nbase_url = "WORKSPACE/../other.json"\n'
            '[[agents]]\nname = "free"\nmodel = "script"\nworkspace = "WORKSPACE"\nscopes = ["free"]\n'
            '[[agents]]\nname = "hasty"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { timeout = "2s" }\n'
            '[[agents]]\nname = "takes"\nmodel = "script"\nworkspace = "WORKSPACE"\nduring_turn = "steer"\n'))
        with open(os.path.join(self.directory, "other.json"), "w") as f:
            json.dump({"answers": [{"text": "The other one.", "usage": {"input": 1_000_000, "output": 0, "cached": 0}}]}, f)

    def go(self, name):
        open(os.path.join(self.workspace, "go-" + name), "w").close()

    def working(self, scope, name, **fields):
        turn = self.say(scope, f"work {name}", **fields)
        until(lambda: self.below(turn, kind="task", status="running"), "its command to run")
        return turn


@pytest.fixture(scope="module")
def c():
    with Choosing() as cluster:
        yield cluster


def refused(answer, pointer, code="invalid_field", status=422):
    assert answer.status == status and answer.json["code"] == code, answer.body
    assert [e["pointer"] for e in answer.json["errors"]] == [pointer], answer.body


def test_another_model_of_the_agent_answers_at_its_own_price(c):
    turn = c.say("choose/model", "hello", model="other")
    done = c.ended(turn)
    assert done["turn"]["text"] == "The other one." and done["turn"]["model"] == "other", done
    assert done["turn"]["choice"] == {"model": "other"} and done["turn"]["usage"]["cost"] == 2, done
    assert {o["name"] for o in c.below(turn, kind="model_call")} == {"other"}
    assert c.ended(c.say("choose/model", "hello", model="script"))["turn"]["text"] == "You said hello."
    for model in ("dear", "nobody"):
        refused(c.post("choose/model", "hello", model=model), "/model")
    assert c.post("choose/model", "hello", model="").status == 422


def test_a_message_takes_tools_away_and_gives_none(c):
    done = c.ended(c.say("choose/tools", "list", tools=["list"]))
    assert done["status"] == "completed" and done["turn"]["choice"] == {"tools": ["list"]}, done
    for tools in (["read"], []):
        turn = c.say("choose/tools", "list", tools=tools)
        c.ended(turn)
        result, = c.results("choose/tools", turn)
        assert result["result"]["error"]["code"] == "unknown_tool", result
    refused(c.post("choose/tools", "list", tools=["list", "write"]), "/tools/1")
    refused(c.post("choose/tools", "list", tools=["nothing"]), "/tools/0")
    refused(c.post("choose/tools", "list", tools="list"), "/tools")
    # A stop is a stop, whatever stands beside it.
    turn = c.working("choose/stops", "g")
    stop = c.post("choose/stops", "stop", tools=["nothing"], model="nobody", parent="01a1f869-3df9-7303-8207-dde70bee07dd")
    assert stop.json["decision"] == "cancel" and c.ended(turn)["status"] == "cancelled", stop.body


def test_a_sub_agent_has_no_more_than_the_message_leaves(c):
    free = c.say("choose/spawn", "spawn")
    c.ended(free)
    assert c.results("choose/spawn", free)[0]["ok"], "may_spawn lets it have tools of its own"
    bound = c.say("choose/spawn", "spawn", tools=["spawn_agent"])
    c.ended(bound)
    assert not c.results("choose/spawn", bound)[0]["ok"] and not c.below(bound, kind="sub_agent")


def test_a_turn_hangs_below_its_parent_and_ends_with_it(c):
    parent = c.api("POST", "/v1/operations", {"kind": "external", "name": "job", "scope": "choose"}).json["id"]
    turn = c.working("choose/below", "a", parent=parent)
    shown = c.operation(turn)
    assert shown["parent"] == parent and shown["root"] == parent, shown
    waiting = c.say("choose/below", "hello", parent=parent)
    done = c.cancel(operation=parent, grace_ms=0, wait="signalled")
    assert done["status"] in ("signalled", "settled"), done
    assert c.ended(turn)["status"] == "cancelled" and c.ended(waiting)["status"] == "cancelled"
    late = c.post("choose/below", "hello", parent=parent)
    assert late.status == 409 and late.json["code"] == "stale_start", late.body
    c.next_message_is_taken("choose/below")


def test_a_parent_that_does_not_fit_is_refused(c):
    other = c.api("POST", "/v1/operations", {"kind": "external", "name": "job", "scope": "elsewhere"}).json["id"]
    refused(c.post("choose/refused", "hello", parent=other), "/scope", "scope_outside_parent", 422)
    unknown = c.post("choose/refused", "hello", parent="01a1f869-3df9-7303-8207-dde70bee07dd")
    assert unknown.status == 404, unknown.body
    token = c.api("POST", "/v1/tokens", {"name": "narrow", "role": "chat", "scope": "choose"}).json["token"]
    unseen = c.post("choose/refused", "hello", parent=other, token=token)
    assert unseen.status == 404, unseen.body
    assert c.cancel(operation=other, reason="private", grace_ms=0, wait="signalled")["status"] in ("signalled", "settled")
    for _ in range(2):  # while it is being stopped, and when it has ended
        unseen = c.post("choose/refused", "hello", parent=other, token=token)
        assert unseen.status == 404 and unseen.json["cancel"] is None and b"private" not in unseen.body, unseen.body
        c.api("POST", f"/v1/operations/{other}/stopped", {})
        c.ended(other)
    seen = c.post("elsewhere", "hello", parent=other)
    assert seen.status == 409 and seen.json["code"] == "stale_start" and seen.json["cancel"], seen.body
    over = c.say("elsewhere", "hello")
    c.ended(over)
    unseen = c.post("choose/refused", "hello", parent=over, token=token)
    assert (unseen.status, unseen.json["code"]) == (404, "operation_not_found"), unseen.body
    assert c.post("choose/refused", "hello", parent="x").status == 422
    turn = c.working("choose/refused", "b")
    task, = c.below(turn, kind="task")
    for above in (turn, task["id"]):
        refused(c.post("choose/refused", "hello", parent=above), "/parent")
    below = c.say("choose/refused/deeper", "hello", parent=turn)
    assert c.ended(below)["status"] == "completed" and c.operation(below)["parent"] == turn
    c.go("b")
    c.ended(turn)
    ended = c.post("choose/refused/deeper", "hello", parent=turn)
    assert ended.status == 409 and ended.json["code"] == "parent_ended", ended.body


def test_a_choice_outlives_the_queue_and_a_kill(c):
    parent = c.api("POST", "/v1/operations", {"kind": "external", "name": "job", "scope": "choose"}).json["id"]
    first = c.working("choose/kill", "c")
    asks = c.say("choose/kill", "hello", model="other", parent=parent)
    lists = c.say("choose/kill", "list", tools=["read"])
    c.restart()
    c.go("c")
    assert c.ended(first)["status"] == "completed"
    done = c.ended(asks)
    assert done["turn"]["text"] == "The other one." and done["parent"] == parent, done
    c.ended(lists)
    result, = c.results("choose/kill", lists)
    assert result["result"]["error"]["code"] == "unknown_tool", result
    # A turn that runs keeps it, too.
    turn = c.working("choose/kill", "d", tools=["exec"])
    c.restart()
    c.go("d")
    assert c.ended(turn)["status"] == "completed" and c.operation(turn)["turn"]["choice"] == {"tools": ["exec"]}
    late = c.post("choose/kill/deeper", "hello", parent=first)  # it ended in an earlier life
    assert late.status == 409 and late.json["code"] == "parent_ended", late.body
    c.check_scope("choose/kill")


def test_to_steer_asks_for_nothing_that_the_running_turn_cannot_give(c):
    parent = c.api("POST", "/v1/operations", {"kind": "external", "name": "job", "scope": "choose"}).json["id"]
    turn = c.working("choose/steer", "e")
    for field, value in (("agent", "takes"), ("labels", {"a": "b"}), ("timeout_ms", 1000), ("budget", {"max_tokens": 5}), ("model", "other"),
                         ("tools", ["list"]), ("parent", parent)):
        refused(c.post("choose/steer", "more", during_turn="steer", **{field: value}), "/" + field)
    assert c.post("choose/steer", "more", during_turn="steer", agent="main").json["during_turn"]["turn"] == turn
    # Somebody else's message waits for a turn of its own, which has them.
    other = c.post("choose/steer", "hello", during_turn="steer", labels={"a": "b"}, author={"id": "bob", "name": "Bob"})
    assert other.status == 202 and "during_turn" not in other.json, other.body
    c.go("e")
    assert c.ended(turn)["status"] == "completed" and c.ended(other.json["turn"]["id"])["labels"] == {"a": "b"}
    # Where steering is only the agent's default, the message waits.
    turn = c.working("choose/takes", "f", agent="takes")
    waits = c.post("choose/takes", "hello", agent="takes", labels={"a": "b"})
    assert waits.status == 202 and "during_turn" not in waits.json, waits.body
    c.go("f")
    assert c.ended(turn)["status"] == "completed" and c.ended(waits.json["turn"]["id"])["labels"] == {"a": "b"}
    # Nothing runs: nothing is refused.
    assert c.ended(c.say("choose/idle", "hello", during_turn="steer", labels={"a": "b"}))["labels"] == {"a": "b"}


def test_the_command_takes_model_tools_and_parent(c):
    said = c.quell("say", "--scope", "choose/cli", "--model", "other", "hello", check=0)
    assert b"The other one." in said.stdout, said.stdout
    parent = c.api("POST", "/v1/operations", {"kind": "external", "name": "job", "scope": "choose"}).json["id"]
    turn = c.quell("say", "-d", "--scope", "choose/cli", "--tools", "list,read", "--parent", parent, "hello", check=0).stdout.decode().strip()
    assert c.ended(turn)["turn"]["choice"] == {"tools": ["list", "read"]} and c.operation(turn)["parent"] == parent
    none = c.quell("say", "-d", "--scope", "choose/cli", "--tools", "none", "hello", check=0).stdout.decode().strip()
    assert c.ended(none)["turn"]["choice"] == {"tools": []}
    assert c.quell("say", "-d", "--scope", "choose/cli", "--model", "dear", "hello").returncode != 0


def test_a_longer_time_than_the_agent_has_is_not_given(c):
    turn = c.working("choose/time", "g", agent="hasty", timeout_ms=3_600_000)
    assert c.operation(turn)["timeout_ms"] == 2000
    end = c.ended(turn)
    assert end["status"] == "failed" and end["error"]["code"] == "timeout", end
    until(lambda: not processes.marked(c.mark), "no process of it to be left")
    c.check_scope("choose/time")
