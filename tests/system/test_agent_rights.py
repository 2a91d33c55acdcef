"""Nobody reaches an agent without permission: by name in a message, through spawn_agent, or in a webhook's body."""
import os
import pwd
import subprocess

import pytest

from harness.cluster import BIN
from harness.odd_cluster import OddCluster, tool
from harness.turns import TurnCluster
from harness.waiting import until

# `main` serves all scopes; `ops` is for scope ops alone, and has tools that the others lack.
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
[[agents]]
name = "guest"
model = "script"
workspace = "WORKSPACE"
scopes = ["guest"]
user = "nobody"
[[agents]]
name = "daemon"
model = "script"
scopes = []
user = "daemon"
[[agents]]
name = "host"
model = "script"
workspace = "WORKSPACE"
scopes = ["host"]
may_spawn = ["daemon"]
"""


def spawn(task, agent, **more):
    return {"calls": [{"name": "spawn_agent", "input": {"task": task, "agent": agent, **more}}]}


SCRIPT = [
    {"when": {"user": "reach ops"}, "steps": [spawn("dig", "ops")]},
    {"when": {"user": "reach program"}, "steps": [spawn("dig", "program")]},
    {"when": {"user": "reach twin"}, "steps": [spawn("reach ops", "twin")]},
    {"when": {"user": "reach daemon"}, "steps": [spawn("who", "daemon")]},
    {"when": {"user": "reach anybody"}, "steps": [spawn("who", "host")]},
    {"when": {"user": "who"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "id -un; quell run -- id -un; quell run --user root -- id -un"}}]}]},
    {"when": {"user": "look"}, "steps": [{"calls": [{"name": "write", "input": {"path": "by-guest", "text": "x"}}]}]},
    {"when": {"user": "dig"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "touch dug"}}]}]},
    {"when": {"result": ""}, "text": "Done: {{results}}"},
    {"text": "You said {{text}}."},
]


@pytest.fixture(scope="module")
def cluster():
    flags = ["--user", "nobody", "--user", "daemon"] if os.geteuid() == 0 else []
    with TurnCluster(SCRIPT, CONFIG, agent=AGENT, worker_flags=flags) as c:
        os.chmod(c.directory, 0o755)
        os.chmod(c.workspace, 0o777)
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
    for token in (c.chat, None) if scope.startswith("chat") else (None,):  # applies to the bootstrap token, too: the scope decides
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


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as somebody else")


def ran_as(c, turn):
    """The users that the exec below this turn printed."""
    until(lambda: c.operation(turn)["ended_at"], "the end of the turn")
    exec_, = [o for o in c.below(turn, kind="task") if o["name"] == "sh"]
    return c.output(exec_["id"]).decode().split()


@needs_root
def test_an_agent_s_tasks_run_as_its_user_and_so_does_what_they_start(cluster):
    c = cluster
    # The third would be root: a task's token gives its children the task's own user.
    assert ran_as(c, c.say("guest/1", "who", agent="guest")) == ["nobody", "nobody"]
    assert ran_as(c, c.say("host/1", "who", agent="host")) == ["root", "root", "root"]


@needs_root
def test_its_file_tools_run_as_that_user(cluster):
    c = cluster
    turn = c.say("guest/2", "look", agent="guest")
    c.ended(turn)
    written = os.path.join(c.workspace, "by-guest")
    result, = c.results("guest/2", turn)
    assert result["ok"], str(result)
    assert pwd.getpwuid(os.stat(written).st_uid).pw_name == "nobody"
    os.unlink(written)


@needs_root
def test_a_sub_agent_has_no_other_user_than_its_parent(cluster):
    c = cluster
    turn = c.say("guest/3", "reach daemon", agent="guest")
    c.ended(turn)
    result, = c.results("guest/3", turn)
    assert not result["ok"] and "runs as user daemon" in str(result["result"]) and "may_spawn" in str(result["result"]), result
    assert not [o for o in c.below(turn) if o["kind"] in ("sub_agent", "task")]
    # An agent without a user gets the parent's, although the worker would run it as root.
    assert ran_as(c, c.say("guest/4", "reach anybody", agent="guest")) == ["nobody", "nobody"]


@needs_root
def test_a_user_that_is_listed_may_be_had(cluster):
    c = cluster
    assert ran_as(c, c.say("host/2", "reach daemon", agent="host")) == ["daemon", "daemon"]


@needs_root
def test_a_user_that_the_worker_does_not_permit_is_said():
    with TurnCluster(SCRIPT, agent='user = "mail"') as c:
        turn = c.say("s", "who")
        c.ended(turn)
        result, = c.results("s", turn)
        assert not result["ok"] and "mail" in str(result["result"]), result


@needs_root
def test_an_mcp_server_runs_as_its_user():
    with OddCluster("parent", more='user = "nobody"\n', worker_flags=["--user", "nobody"]) as c:
        os.chmod(c.directory, 0o755)
        os.chmod(c.workspace, 0o777)
        turn = c.ask("work", [tool("work")])
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        server, = c.operations(scope="quell/mcp/odd", status="live")
        assert server["task"]["user"] == "nobody"
        assert {os.stat(f"/proc/{p}").st_uid for p in c.servers()} == {pwd.getpwnam("nobody").pw_uid}


@pytest.mark.parametrize("config, why", [
    ('[[agents]]\nname = "a"\nmodel = "script"\nuser = "-x"\n', "must be the name of a user"),
    ('[[mcp]]\nname = "m"\nurl = "http://127.0.0.1:1/"\nuser = "nobody"\n', "is for a server with `command`")])
def test_a_user_that_cannot_be_is_refused_by_the_configuration(tmp_path, config, why):
    file = tmp_path / "quelld.toml"
    file.write_text('[[models]]\nname = "script"\nprovider = "scripted"\n' + config)
    done = subprocess.run([f"{BIN}/quelld", "--check-config", "--config", str(file)], capture_output=True)
    assert done.returncode == 2 and why in done.stderr.decode(), done
