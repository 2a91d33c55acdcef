"""`quell mcp` and other people's clients: the official SDK (npm), and the MCP client of quell's own turns, which hosts it as a task."""
import json
import os
import re
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, Cluster, marker
from harness.mcp_client import STAY, stopped_text, text
from harness.peers import Program, installed
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster
from harness.waiting import until

SDK = "@modelcontextprotocol/sdk@1.32.2"
SCRIPT = os.path.join(os.path.dirname(__file__), "harness", "mcp_sdk_client.mjs")
DOCS = os.path.join(os.path.dirname(__file__), "../../docs")
CONFIG = """
[[models]]
name = "recorded"
provider = "openai"
model = "any"
base_url = "{model}"
[[agents]]
name = "swarm"
model = "recorded"
workspace = "WORKSPACE"
tools = ["mcp:swarm"]
[[mcp]]
name = "swarm"
command = {command}
"""


class OfficialClient(Program):
    def __init__(self, cluster, scope):
        home = installed("mcp-sdk-1.32.2", [SDK])
        super().__init__("env", f"QUELL_URL={cluster.url}", f"QUELL_TOKEN={cluster.token}", "node", SCRIPT, home, f"{BIN}/quell", scope)

    def step(self, name):
        return json.loads(self.line(f'{{"step":"{name}"'))


def test_the_official_client_uses_every_tool_and_hears_the_stop():
    installed("mcp-sdk-1.32.2", [SDK])
    with Cluster(workers=1) as c, OfficialClient(c, "mcp/official") as sdk:
        assert sdk.step("connected")["server"]["name"] == "quell"
        assert len(sdk.step("tools")["tools"]) == 6
        ran = sdk.step("ran")["result"]
        assert ran["structuredContent"]["status"] == "completed" and not ran["isError"]
        assert sdk.step("output")["result"]["structuredContent"]["text"] == "from the sdk\n"
        assert sdk.step("wrong")["result"]["isError"] is True
        given_up = until(lambda: [o for o in c.operations(status="running") if o["title"] == "given up"], "the second command to run")[0]
        sdk.say("abort")
        sdk.step("aborted")
        stop = c.wait_status(given_up["id"], "cancelled")["stop"]
        assert "the user pressed escape" in stop["reason"], stop
        sdk.say("wait")
        sdk.step("waiting")
        until(lambda: [o for o in c.operations(status="running") if o["title"] == "waits"], "the third command to run")
        c.cancel(scope="mcp/official", reason="enough")
        result = sdk.step("stopped")["result"]
        assert result["isError"] is True and text(result) == stopped_text("enough")
        sdk.step("closed")  # the server has ended by itself


@pytest.fixture
def model():
    m = RecordingModel()
    try:
        yield m
    finally:
        m.close()


def hosted(model, *command):
    return TurnCluster([{"text": "hi"}], CONFIG.format(model=model.url, command=json.dumps(["quell", "mcp", *command])))


def result_of(c, turn):
    return c.results("chat", turn)[0]["result"]["result"]


def test_a_turn_of_quells_own_runs_work_through_a_hosted_server(model):
    mark = marker()
    with hosted(model, "--scope", "quell/mcp/swarm/work") as c:
        model.plan["run it"] = [[("mcp__swarm__quell_run", {"command": ["sh", "-c", "echo hello"], "wait_ms": 30000})]]
        turn = c.say("chat", "run it", agent="swarm")
        assert c.ended(turn)["status"] == "completed"
        answer = result_of(c, turn)
        assert answer["structuredContent"]["status"] == "completed" and answer["structuredContent"]["scope"] == "quell/mcp/swarm/work"
        server = next(o for o in c.operations(scope="quell/mcp/swarm", kind="task", status="running"))
        own = c.operation(answer["structuredContent"]["parent"])
        assert own["kind"] == "external" and own["parent"] == server["id"]

        # The stop of the turn reaches the command that its call waits for, and no other one.
        model.plan["stay"] = [[("mcp__swarm__quell_run", {"command": ["bash", "-c", f": {mark}; {STAY}"], "wait_ms": 55000})]]
        turn = c.say("chat", "stay", agent="swarm")
        until(lambda: processes.marked(mark), "the command to run")
        c.cancel(operation=turn, reason="stop it")
        until(lambda: not processes.marked(mark), "the command to be gone")
        assert c.operation(own["id"])["status"] == "running" and c.operation(server["id"])["status"] == "running"
        c.check_scope("chat")

        # The server's own scope: everything below it stops.
        c.cancel(scope="quell/mcp/swarm")
        assert not c.operations(below=server["id"], status="live")


def test_a_hosted_server_keeps_to_the_scope_of_its_task(model):
    with hosted(model, "--scope", "team/elsewhere") as c:
        turn = c.say("chat", "hello", agent="swarm")
        assert c.ended(turn, seconds=60)["status"] == "completed"
        assert not c.operations(scope="team/elsewhere")
        tried = until(lambda: c.operations(scope="quell/mcp/swarm", status="failed"), "the server to have ended")[0]
        said = c.output(tried["id"], "stderr")
        assert b"scope" in said and tried["exit"] == {"code": 2 if b"bad_scope" in said else 1}, (said, tried["exit"])


# ---- the examples of docs/mcp-server.md ------------------------------------------------------------------------------
def blocks(language):
    with open(os.path.join(DOCS, "mcp-server.md")) as f:
        return re.findall(rf"```{language}\n(.*?)```", f.read(), re.S)


def test_what_the_documentation_shows_works(tmp_path):
    with Cluster(workers=1) as c:
        token, by_hand = blocks("sh")
        made = subprocess.run(["bash", "-c", token], env=c.environment(), capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        done = subprocess.run(["bash", "-c", by_hand], env=c.environment(), capture_output=True, text=True, timeout=60)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [a["id"] for a in answers] == [1, 2] and answers[1]["result"]["structuredContent"]["operations"] == [], done.stderr

        # A client that reads the configuration as printed, with the token that was just made.
        server = json.loads(blocks("json")[0])["mcpServers"]["quell"]
        secret = next(word for word in made.stdout.split() if word.startswith("qk_"))
        (tmp_path / "token").write_text(secret)
        environment = {k: v for k, v in c.environment().items() if not k.startswith("QUELL")}
        environment.update(dict(server["env"], QUELL_URL=c.url, QUELL_TOKEN_FILE=str(tmp_path / "token")))
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "quell_run", "arguments": {"command": ["true"]}}}
        done = subprocess.run([server["command"], *server["args"]], env=environment, input=json.dumps(asked) + "\n", capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["result"]["structuredContent"]["scope"] == "agents/alice", done.stdout
