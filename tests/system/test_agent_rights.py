"""Nobody gets an agent that was not given: by name in a message, through spawn_agent, or in a webhook's body."""
import os

import pytest

from harness.turns import TurnCluster

# `main` serves all; `ops` is for scope ops alone, and has what the others have not.
AGENT = 'tools = ["read", "list", "spawn_agent"]'
CONFIG = """
[[agents]]
name = "lead"
model = "script"
workspace = "WORKSPACE"
scopes = ["lead"]
tools = ["read", "spawn_agent"]
may_spawn = ["ops"]
[[agents]]
name = "ops"
model = "script"
workspace = "WORKSPACE"
scopes = ["ops"]
[[agents]]
name = "program"
command = ["sh", "-c", "touch WORKSPACE/program-ran"]
scopes = []
[[agents]]
name = "twin"
model = "script"
workspace = "WORKSPACE"
scopes = []
tools = ["read", "list", "spawn_agent"]
may_spawn = ["ops"]
"""


def spawn(task, agent, **more):
    return {"calls": [{"name": "spawn_agent", "input": {"task": task, "agent": agent, **more}}]}


SCRIPT = [
    {"when": {"user": "reach ops"}, "steps": [spawn("dig", "ops")]},
    {"when": {"user": "reach program"}, "steps": [spawn("dig", "program")]},
    {"when": {"user": "reach twin"}, "steps": [spawn("reach ops", "twin")]},
    {"when": {"user": "dig"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "touch dug"}}]}]},
    {"when": {"result": ""}, "text": "Done: {{results}}"},
    {"text": "You said {{text}}."},
]


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, CONFIG, agent=AGENT) as c:
        c.chat = c.api("POST", "/v1/tokens", {"name": "chat", "role": "chat", "scope": "chat"}).json["token"]
        yield c


def dug(c):
    return os.path.exists(os.path.join(c.workspace, "dug"))


@pytest.fixture(autouse=True)
def clean(cluster):
    for name in ("dug", "program-ran"):
        if os.path.exists(os.path.join(cluster.workspace, name)):
            os.unlink(os.path.join(cluster.workspace, name))


@pytest.mark.parametrize("scope, agent", [("chat/1", "ops"), ("chat/1", "lead"), ("chat/1", "program"), ("chat/1", "twin"), ("ops2", "ops")])
@pytest.mark.parametrize("text", ["dig", "stop the dig"])
def test_a_message_names_only_an_agent_that_serves_its_scope(cluster, scope, agent, text):
    c = cluster
    for token in (c.chat, None) if scope.startswith("chat") else (None,):  # not even the bootstrap token: the scope counts
        answer = c.post(scope, text, token=token, agent=agent)
        assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "/agent", answer.body
        assert f"agent {agent} does not serve scope {scope}" in answer.json["detail"], answer.body
    assert not c.operations(scope=scope)
    assert not dug(c)


def test_an_agent_that_serves_the_scope_is_reached_by_name(cluster):
    c = cluster
    turn = c.say("ops/7", "dig", agent="ops")
    c.ended(turn)
    assert dug(c), c.results("ops/7", turn)


@pytest.mark.parametrize("text, why", [("reach ops", "has the tool"), ("reach program", "runs a program")])
def test_a_sub_agent_never_has_more_than_its_parent(cluster, text, why):
    c = cluster
    turn = c.post("chat/2", text, token=c.chat).json["turn"]["id"]
    c.ended(turn)
    result, = c.results("chat/2", turn)
    assert not result["ok"] and why in str(result["result"]) and "may_spawn" in str(result["result"]), result
    assert not dug(c) and not os.path.exists(os.path.join(c.workspace, "program-ran"))
    assert not [o for o in c.below(turn) if o["kind"] in ("sub_agent", "task")]


def test_another_agents_list_is_no_way_around(cluster):
    c = cluster
    turn = c.post("chat/3", "reach twin", token=c.chat).json["turn"]["id"]
    c.ended(turn)
    assert [o["name"] for o in c.below(turn, kind="sub_agent")] == ["twin"], c.below(turn)
    assert not dug(c), c.results("chat/3", turn)


def test_what_the_configuration_lists_may_be_spawned(cluster):
    c = cluster
    turn = c.say("lead/1", "reach ops", agent="lead")
    assert c.ended(turn)
    assert [o["name"] for o in c.below(turn, kind="sub_agent")] == ["ops"]
    assert dug(c), c.results("lead/1", turn)
