"""Whatever the door, an agent is reached by name only where it serves the scope, and a refusal begins no turn. POST /v1/messages and spawn_agent: test_agent_rights.py."""
import base64
import hashlib
import hmac
import itertools
import json
import os
import subprocess
import time

import pytest

from harness.cluster import BIN
from harness.slack import FakeSlack
from harness.turns import TurnCluster
from harness.voice import ERROR, TEXT, VoiceCluster, ready_client
from harness.waiting import until
from test_chat_slack import SlackCluster

VERSION = {"A2A-Version": "1.0"}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
# `main` serves all scopes.
AGENTS = """
[[agents]]
name = "ops"
model = "script"
workspace = "WORKSPACE"
scopes = ["ops"]
[[agents]]
name = "spawned"
model = "script"
workspace = "WORKSPACE"
scopes = []
[[agents]]
name = "program"
command = ["sh", "-c", "touch WORKSPACE/program-ran"]
scopes = ["chat"]
[[place]]
scope = "chat/closed"
agents = ["main"]
[[place]]
scope = "chat/shut"
channels = ["open"]
[[agents]]
name = "chatty"
model = "script"
workspace = "WORKSPACE"
scopes = ["chat"]
"""
HOOK = '[[incoming]]\nname = "pager"\nsecret_file = "WORKSPACE/secret"\n'
SCRIPT = [{"when": {"user": "dig"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "touch dug"}}]}]},
          {"when": {"result": ""}, "text": "Done."}, {"text": "You said {{text}}."}]
HOOKS = itertools.count(1)
# All routes that take a POST and begin no turn. A route that is in neither list is a door that nobody has thought of here.
NO_DOORS = {"/v1/operations", "/v1/operations/batch", "/v1/operations/end", "/v1/operations/heartbeat", "/v1/cancels", "/v1/sessions", "/v1/sessions/links",
            "/v1/config/reload", "/v1/workers", "/v1/tokens", "/v1/blobs", "/api/turns/{id}/abort", "/v1/mcp/{name}/login", "/v1/mcp/{name}/login/finish",
            "/a2a/{agent}/tasks/{task}", "/a2a/{agent}/tasks/{task}/pushNotificationConfigs"}
NO_DOORS |= {f"/v1/operations/{{id}}/{x}" for x in ("cancel", "resolve", "input", "resize", "start", "complete", "fail", "stopped", "heartbeat", "approve", "deny")}
NO_DOORS |= {f"/v1/workers/{{name}}/{x}" for x in ("drain", "resume", "resolve")}
DOORS = {"/v1/messages", "/v1/ui/chat", "/openai/v1/chat/completions", "/a2a/{agent}", "/a2a/{agent}/message:send", "/a2a/{agent}/message:stream",
         "/v1/chat/{name}/{path}", "/v1/history"}


def with_secret(c):
    with open(os.path.join(c.workspace, "secret"), "w") as f:
        f.write(SECRET + "\n")
    return c


@pytest.fixture(scope="module")
def cluster():
    with with_secret(TurnCluster(SCRIPT, AGENTS + HOOK, workers=1)) as c:
        c.chat = c.api("POST", "/v1/tokens", {"name": "chat", "role": "chat", "scope": "chat"}).json["token"]
        yield c


@pytest.fixture
def no_turn(cluster):
    """Nothing that the test does begins a turn, or runs anything."""
    before = len(cluster.operations())
    yield
    assert len(cluster.operations()) == before, cluster.operations()[:before - len(cluster.operations())]
    assert not [x for x in ("dug", "program-ran") if os.path.exists(os.path.join(cluster.workspace, x))]


def test_every_door_is_known_here(cluster):
    paths = cluster.api("GET", "/v1/openapi.json").json["paths"]
    assert {path for path, methods in paths.items() if "post" in methods} == DOORS | NO_DOORS


def message(agent, scope, text):
    return "/v1/messages", {"scope": scope or "chat", "text": text, "agent": agent, "author": {"id": "mia"}}, {}


def completion(agent, scope, text, **more):
    return "/openai/v1/chat/completions", {"model": agent, "messages": [{"role": "user", "content": text}], **more}, {"X-Quell-Scope": scope} if scope else {}


def streamed(agent, scope, text):
    return completion(agent, scope, text, stream=True)


def page(agent, scope, text, **more):
    said = {"role": "user", "id": "u1", "parts": [{"type": "text", "text": text}]}
    return "/v1/ui/chat", {"id": "chat", "agent": agent, "messages": [said], **({"scope": scope} if scope else {}), **more}, {}


def regenerated(agent, scope, text):
    return page(agent, scope, text, trigger="regenerate-message", messageId="m1")


def a2a(agent, scope, text):
    # A contextId with a `/` is a scope in full.
    return {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}], **({"contextId": scope if "/" in scope else "/" + scope} if scope else {})}}


def a2a_send(agent, scope, text):
    return f"/a2a/{agent}/message:send", a2a(agent, scope, text), VERSION


def a2a_stream(agent, scope, text):
    return f"/a2a/{agent}/message:stream", a2a(agent, scope, text), VERSION


def a2a_rpc(agent, scope, text, method="SendMessage"):
    return f"/a2a/{agent}", {"jsonrpc": "2.0", "id": "r", "method": method, "params": a2a(agent, scope, text)}, VERSION


def a2a_rpc_stream(agent, scope, text):
    return a2a_rpc(agent, scope, text, "SendStreamingMessage")


HTTP = [message, completion, streamed, page, regenerated, a2a_send, a2a_stream, a2a_rpc, a2a_rpc_stream]


def ask(c, door, agent, scope, token, text="dig"):
    path, body, headers = door(agent, scope, text)
    return c.api("POST", path, body, headers=headers, token=token)


def is_refused(answer):
    """As a problem with the status for it, or as an error of A2A."""
    if answer.status == 200:  # JSON-RPC, whose streams bring JSON-RPC too
        return answer.body.startswith(b'{"jsonrpc"') and "error" in answer.json
    return answer.status in (400, 404, 422)


@pytest.mark.parametrize("door", HTTP, ids=lambda d: d.__name__)
@pytest.mark.parametrize("agent", ["ops", "spawned", "program", "nobody"])
@pytest.mark.parametrize("scope", ["chat/1", None], ids=["named", "fresh"])
def test_a_token_of_a_scope_reaches_nobody_else_there(cluster, no_turn, door, agent, scope):
    answer = ask(cluster, door, agent, scope, cluster.chat)
    assert is_refused(answer) and agent.encode() in answer.body, (answer.status, answer.body)


@pytest.mark.parametrize("door", HTTP, ids=lambda d: d.__name__)
@pytest.mark.parametrize("agent, scope", [("ops", "chat/2"), ("ops", "ops2"), ("chatty", "ops/2"), ("chatty", "chat/closed/2"), ("spawned", "ops/2"), ("program", "chat/2")])
def test_the_scope_decides_and_not_the_rights_of_the_token(cluster, no_turn, door, agent, scope):
    answer = ask(cluster, door, agent, scope, None)  # the bootstrap token
    assert is_refused(answer), (answer.status, answer.body)
    if door is message and agent in ("ops", "chatty"):
        assert answer.status == 422 and f"agent {agent} does not serve scope {scope}" in answer.json["detail"], answer.body


@pytest.mark.parametrize("door", [d for d in HTTP if d is not regenerated], ids=lambda d: d.__name__)
def test_each_door_reaches_an_agent_that_serves_its_scope(cluster, door):
    c, scope = cluster, f"chat/ok/{door.__name__}"
    answer = ask(c, door, "chatty", scope, c.chat, "hello")
    assert answer.status in (200, 202) and not is_refused(answer), answer.body
    turn, = until(lambda: c.operations(scope=scope, kind="turn"), "the turn")
    assert c.ended(turn["id"])["name"] == "chatty"


def test_lists_and_cards_show_only_who_can_be_reached(cluster, no_turn):
    c = cluster
    models = {one["id"] for one in c.api("GET", "/openai/v1/models", token=c.chat).json["data"]}
    assert models == {"main", "chatty"}, models
    for agent in ("ops", "spawned", "program"):
        for path in (".well-known/agent-card.json", "tasks"):
            assert c.api("GET", f"/a2a/{agent}/{path}", token=c.chat, headers=VERSION).status == 404, (agent, path)


def test_a_conversation_that_is_copied_elsewhere_is_answered_by_who_serves_that_place(cluster):
    c = cluster
    first = c.say("ops/fork", "hello", agent="ops")
    c.ended(first)
    assert c.api("POST", "/v1/history", {"scope": "ops/fork", "action": "fork", "to": "chat/fork"}).status == 200
    for token in (c.chat, None):
        again = c.api("POST", "/v1/history", {"scope": "chat/fork", "action": "regenerate"}, token=token)
        assert again.status == 202, again.body
        turn = c.ended(again.json["operation"])
        assert turn["status"] == "completed" and turn["name"] == "main", turn


# ---- programs and services ------------------------------------------------------------------------------------------
def run(c, *words, token=None, stdin=b""):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUELL_")} | {"QUELL_URL": c.url, "QUELL_TOKEN": token or c.token, "HOME": c.directory}
    return subprocess.run([f"{BIN}/quell", *words], input=stdin, capture_output=True, timeout=60, env=environment)


@pytest.mark.parametrize("agent", ["ops", "spawned", "program", "nobody"])
@pytest.mark.parametrize("words, code", [(["say", "--scope", "chat/3"], 125), (["say", "-d", "--scope", "chat/3"], 125), (["chat", "--scope", "chat/3"], 125)])
def test_quell_say_and_quell_chat(cluster, no_turn, words, code, agent):
    said = [] if words[0] == "chat" else ["dig"]
    for token in (cluster.chat, None):
        done = run(cluster, *words, "--agent", agent, *said, token=token, stdin=b"dig\n")
        assert done.returncode != 0 and agent.encode() in done.stderr and done.stdout == b"", done
        assert words[0] == "chat" or done.returncode == code, done


class Acp:
    """`quell acp`, spoken to by lines of JSON-RPC."""

    def __init__(self, c, *words, token=None):
        environment = {**os.environ, "QUELL_URL": c.url, "QUELL_TOKEN": token or c.token}
        self.process = subprocess.Popen([f"{BIN}/quell", "acp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        self.call("initialize", protocolVersion=1, clientCapabilities={})

    def call(self, method, **params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:  # ends with the program
            answer = json.loads(line)
            if answer.get("id") == method:
                return answer
        raise AssertionError(f"no answer to {method}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.read()
        assert self.process.wait(60) == 0


@pytest.mark.parametrize("agent", ["ops", "spawned", "program", "nobody"])
def test_quell_acp(cluster, no_turn, agent):
    with Acp(cluster, "--scope", "chat/4", "--agent", agent, token=cluster.chat) as editor:
        session = editor.call("session/new", cwd="/", mcpServers=[])["result"]
        assert {m["id"] for m in session["modes"]["availableModes"]} == {"auto", "main", "chatty"}, session
        done = editor.call("session/prompt", sessionId=session["sessionId"], prompt=[{"type": "text", "text": "dig"}])
        assert agent in done["error"]["message"], done
        chosen = editor.call("session/set_mode", sessionId=session["sessionId"], modeId=agent)
        assert agent in chosen["error"]["message"], chosen
    with Acp(cluster, "--scope", "chat/4", "--agent", agent) as editor:  # the bootstrap token sees ops, which does not serve this place
        session = editor.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
        done = editor.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "dig"}])
        assert agent in done["error"]["message"], done


def test_an_editor_is_told_where_nobody_speaks_to_agents(cluster, no_turn):
    with Acp(cluster, "--scope", "chat/shut", token=cluster.chat) as editor:
        session = editor.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
        done = editor.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "dig"}])
        assert "nobody speaks to agents" in done["error"]["message"] and done["error"]["data"]["code"] == "forbidden", done


def hook(c, body):
    text, at, id = json.dumps(body), str(int(time.time())), f"hook-{next(HOOKS)}"
    signature = hmac.new(base64.b64decode(SECRET[6:]), f"{id}.{at}.{text}".encode(), hashlib.sha256).digest()
    headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": "v1," + base64.b64encode(signature).decode(),
               "Content-Type": "application/json", "Authorization": None}
    return c.api("POST", "/v1/chat/webhook/pager", raw=text.encode(), headers=headers)


@pytest.mark.parametrize("agent", ["ops", "main", "spawned", ""])
def test_a_webhook_s_body_names_no_agent(cluster, no_turn, agent):
    answer = hook(cluster, {"text": "dig", "author": {"id": "a"}, "agent": agent})
    assert answer.status in (400, 422) and b"not the sender's to choose" in answer.body, answer.body


@pytest.mark.parametrize("agent, scope, why", [("ops", "webhook/pager", "does not serve scope webhook/pager"), ("spawned", "webhook", "does not serve scope webhook"),
                                               ("program", "webhook", "does not serve scope webhook"), ("nobody", "webhook", "is in no [[agents]]")])
def test_a_webhook_s_configuration_names_an_agent_that_serves_its_scope(tmp_path, agent, scope, why):
    (tmp_path / "secret").write_text(SECRET)
    file = tmp_path / "q.toml"
    file.write_text('[[models]]\nname = "script"\nprovider = "scripted"\n[[agents]]\nname = "main"\nmodel = "script"\n'
                    + (AGENTS + HOOK + f'scope = "{scope}"\nagent = "{agent}"\n').replace("WORKSPACE", str(tmp_path)))
    done = subprocess.run([f"{BIN}/quelld", "--config", str(file), "--check-config"], capture_output=True, timeout=60)
    assert done.returncode == 2 and why.encode() in done.stderr, done.stderr


def test_a_chat_service_where_no_agent_serves_says_so():
    with FakeSlack() as slack, SlackCluster(slack, agent='scopes = ["elsewhere"]') as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        ts = slack.say(c, "<@UBOT> hello")
        [told] = slack.see(lambda all: len(all) == 1, "the refusal", thread=ts)
        assert told["text"].startswith("⚠") and "no agent serves scope" in told["text"], told
        assert not c.operations()


@pytest.mark.parametrize("agent", ["ops", "spawned", "nobody"])
def test_a_voice_agent_speaks_only_where_it_serves(agent):
    with VoiceCluster(SCRIPT, voice=f'agent = "{agent}"', config=AGENTS.replace('workspace = "WORKSPACE"\n', "")) as c:
        client = c.client("chat/5")
        assert json.loads(client.wait(ERROR))["code"] == "no_brain"
        client.ended()
        assert not c.operations(kind="turn")
        if agent == "ops":
            heard = ready_client(c, "ops/5")
            heard.say("hello")
            heard.wait(TEXT, "You said hello")
            heard.close()
