"""Agents of quell as agents of A2A 1.0: by the public SDK (npm) over both bindings, and by exact messages. CANCELED comes with the proof only."""
import concurrent.futures
import json
import os
import urllib.parse

import pytest

from harness import processes
from harness.cluster import marker
from harness.peers import Program, installed
from harness.turns import TurnCluster
from harness.waiting import until

PACKAGES = ["@a2a-js/sdk@1.3.0"]
HOME = "a2a-1.3.0"
CLIENT = os.path.join(os.path.dirname(__file__), "harness", "a2a_client.mjs")
VERSION = {"A2A-Version": "1.0"}
BINDINGS = ("JSONRPC", "HTTP+JSON")
LIVE = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED")
STAY = "while :; do sleep 1000; done #"


def script(m):
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "never begins"}, "steps": [{"delay_ms": 600000}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"setsid bash -c '{STAY}{m}' & {STAY}{m}"}}]}]},
        {"text": "You said {{text}}."},
    ]


class Sdk(Program):
    def __init__(self, cluster):
        super().__init__("node", CLIENT, installed(HOME, PACKAGES), cluster.url, cluster.token)
        self.line('{"step":"ready"')

    def run(self, command, **fields):
        self.say(json.dumps({"run": command, **fields}))

    def steps(self, step, name):
        return [s for s in (json.loads(line) for line in self.all(f'{{"step":"{step}"')) if s["name"] == name]

    def step(self, step, name, seconds=60):
        return until(lambda: (self.steps(step, name) or [None])[0], f"the step {step} of {name}; there are {self.lines[-8:]}", seconds)

    def updates(self, name):
        return [s["event"] for s in self.steps("event", name)]


@pytest.fixture
def world():
    m = marker()
    # The lease: a command outlives a restart, however long that takes.
    with TurnCluster(script(m), settings=["workers.lease=60s"]) as c:
        yield c, m


def message(text, id="m1", **more):
    return {"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}], **more}}


def send(c, text, id="m1", now=True, token=None, agent="main", **more):
    body = {**message(text, id, **more), "configuration": {"returnImmediately": now}}
    return c.api("POST", f"/a2a/{agent}/message:send", body, headers=VERSION, token=token)


def rpc(c, method, params, token=None, headers=VERSION):
    return c.api("POST", "/a2a/main", {"jsonrpc": "2.0", "id": "r", "method": method, "params": params}, headers=headers, token=token).json


def get(c, task, token=None):
    return c.api("GET", f"/a2a/main/tasks/{task}", headers=VERSION, token=token)


def state(c, task):
    return get(c, task).json["status"]["state"]


def over(c, task, seconds=60):
    return until(lambda: get(c, task).json if state(c, task) not in LIVE else None, f"the task {task} to be over", seconds)


def reason(answer):
    return answer.json["error"]["details"][0]["reason"]


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_public_sdk_sends_streams_reads_and_lists(world, binding):
    c, _ = world
    with Sdk(c) as sdk:
        sdk.run("send", name="a", binding=binding, id="1", text="hello")
        done = sdk.step("sent", "a")["result"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED", done
        assert done["artifacts"][0]["parts"][0]["text"] == "You said hello."
        assert c.operation(done["id"])["scope"] == "a2a/" + done["contextId"]
        sdk.run("stream", name="b", binding=binding, id="2", text="again", context=done["contextId"])
        sdk.step("over", "b")
        updates = sdk.updates("b")
        assert updates[0]["task"]["contextId"] == done["contextId"], updates
        # A turn that was quick is in the first frame already, with what it has said so far.
        text = "".join(a["parts"][0]["text"] for a in updates[0]["task"].get("artifacts", []))
        for one in (u["artifactUpdate"] for u in updates if "artifactUpdate" in u):
            text = (text if one.get("append") else "") + one["artifact"]["parts"][0]["text"]
        assert text == "You said again.", updates
        last = updates[-1].get("statusUpdate") or updates[-1]["task"]
        assert last["status"]["state"] == "TASK_STATE_COMPLETED", updates
        sdk.run("get", name="c", binding=binding, task=done["id"])
        assert sdk.step("task", "c")["result"]["id"] == done["id"]
        sdk.run("list", name="d", binding=binding, contextId=done["contextId"], pageSize=1)
        page = sdk.step("list", "d")
        assert [t["id"] for t in page["tasks"]] == [updates[0]["task"]["id"]] and page["next"], page
        sdk.run("list", name="e", binding=binding, contextId=done["contextId"], pageToken=page["next"], includeArtifacts=True)
        assert [t["artifacts"][0]["parts"][0]["text"] for t in sdk.step("list", "e")["tasks"]] == ["You said hello."]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_cancel_by_the_public_sdk_is_canceled_with_the_proof(world, binding):
    c, m = world
    with Sdk(c) as sdk:
        sdk.run("stream", name="s", binding=binding, id="1", text="runs")
        task = until(lambda: sdk.updates("s"), "the stream to begin")[0]["task"]["id"]
        until(lambda: len(processes.marked(m)) >= 2, "the tree of the command to run")
        sdk.run("cancel", name="c", binding=binding, task=task)
        answer = sdk.step("cancelled", "c")["result"]
        assert answer["status"]["state"] in ("TASK_STATE_WORKING", "TASK_STATE_CANCELED"), answer
        sdk.step("over", "s")
        states = [u["statusUpdate"]["status"]["state"] for u in sdk.updates("s") if "statusUpdate" in u]
        assert states[-1] == "TASK_STATE_CANCELED" and set(states[:-1]) <= {"TASK_STATE_WORKING"}, states
        assert not processes.marked(m), "CANCELED while its processes live"
        stop = sdk.updates("s")[-1]["statusUpdate"]["metadata"]["quell"]["stop"]
        cancel = c.api("GET", f"/v1/cancels/{stop['cancel']}?wait=settled&wait_ms=60000").json
        assert stop["proven"] and cancel["status"] == "settled" and cancel["report"]["proven"] and cancel["via"]["channel"] == "a2a", cancel
        c.check_turn(task)
        sdk.run("cancel", name="again", binding=binding, task=task)
        assert "over" in sdk.step("failed", "again")["message"]


def with_work_outside(c, grace_ms=0):
    """A running task, and below it work of another runtime that only its owner can end."""
    task = send(c, "never begins").json["task"]
    c.wait_status(task["id"], "running")
    outside = c.api("POST", "/v1/operations", {"kind": "external", "parent": task["id"], "name": "far", "grace_ms": grace_ms})
    assert outside.status == 201, outside.body
    return task["id"], outside.json["id"]


def test_working_until_the_proof_and_then_canceled(world):
    c, _ = world
    task, outside = with_work_outside(c, grace_ms=60000)
    answer = c.api("POST", f"/a2a/main/tasks/{task}:cancel", {"metadata": {"reason": "wrong branch"}}, headers=VERSION)
    assert answer.status == 200 and answer.json["status"]["state"] == "TASK_STATE_WORKING", answer.body
    assert "wrong branch" in answer.json["status"]["message"]["parts"][0]["text"]
    again = rpc(c, "CancelTask", {"id": task})["result"]
    assert again["status"]["state"] == "TASK_STATE_WORKING", again
    assert len(c.api("GET", f"/v1/cancels?operation={task}").json["cancels"]) == 1
    assert state(c, task) == "TASK_STATE_WORKING"
    assert c.api("POST", f"/v1/operations/{outside}/stopped", {}).status == 200
    done = over(c, task)
    assert done["status"]["state"] == "TASK_STATE_CANCELED" and done["metadata"]["quell"]["stop"]["proven"], done


def test_an_end_without_proof_is_failed_and_never_canceled(world):
    c, _ = world
    task, _ = with_work_outside(c)
    assert c.api("POST", f"/a2a/main/tasks/{task}:cancel", {}, headers=VERSION).status == 200
    seen = set()

    def ended():
        seen.add(state(c, task))
        return not seen <= set(LIVE)
    until(ended, "the silent owner's bound to run out", 90)
    assert seen <= {"TASK_STATE_WORKING", "TASK_STATE_FAILED"}, seen
    done = get(c, task).json
    assert "outcome unknown" in done["status"]["message"]["parts"][0]["text"], done
    assert done["metadata"]["quell"]["stop"]["unconfirmed"] == 1 and not done["metadata"]["quell"]["stop"]["proven"], done


def test_a_task_that_waits_for_its_turn_is_cancelled_without_having_begun(world):
    c, _ = world
    first = send(c, "never begins", contextId="room").json["task"]["id"]
    second = send(c, "hello", id="m2", contextId="room").json["task"]["id"]
    assert state(c, second) == "TASK_STATE_SUBMITTED"
    assert c.api("POST", f"/a2a/main/tasks/{second}:cancel", {}, headers=VERSION).status == 200
    assert over(c, second)["status"]["state"] == "TASK_STATE_CANCELED"
    assert c.operation(second)["stop"]["receipt"] == "never_started" and not c.below(second, kind="model_call")
    until(lambda: state(c, first) == "TASK_STATE_WORKING", "the first one to work")  # it has begun, or is about to


def test_a_stream_ends_at_a_restart_and_a_new_one_goes_on(world):
    c, m = world
    with Sdk(c) as sdk:
        sdk.run("stream", name="s", binding="JSONRPC", id="1", text="runs")
        task = until(lambda: sdk.updates("s"), "the stream to begin")[0]["task"]["id"]
        until(lambda: processes.marked(m), "the command to run")
        c.restart()
        assert state(c, task) == "TASK_STATE_WORKING" and processes.marked(m)
        sdk.run("subscribe", name="again", binding="HTTP+JSON", task=task)
        until(lambda: sdk.updates("again"), "the stream to begin")
        sdk.run("cancel", name="c", binding="HTTP+JSON", task=task)
        sdk.step("over", "again")
        assert sdk.updates("again")[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED" and not processes.marked(m)


def test_a_cancel_of_the_whole_scope_is_told_as_well(world):
    c, m = world
    task = send(c, "runs", contextId="team/web/mia").json["task"]
    assert task["contextId"] == "team/web/mia" and c.operation(task["id"])["scope"] == "team/web/mia"
    until(lambda: processes.marked(m), "the command to run")
    c.cancel(scope="team/web")
    assert over(c, task["id"])["status"]["state"] == "TASK_STATE_CANCELED"
    assert not processes.marked(m)


@pytest.mark.parametrize("how", ("stream", "whole"))
def test_a_client_that_disconnects_stops_nothing(world, how):
    c, _ = world
    connection = c.connection(30)
    path, body = f"/a2a/main/message:{'stream' if how == 'stream' else 'send'}", json.dumps(message("endless"))
    connection.request("POST", path, body, {"Authorization": "Bearer " + c.token, "Content-Type": "application/a2a+json", **VERSION})
    turn = until(lambda: c.operations(kind="turn", status="running"), "the turn to run")[0]["id"]
    c.wait_event(turn, "text_delta")
    connection.close()
    with Sdk(c) as sdk:
        sdk.run("subscribe", name="s", binding="JSONRPC", task=turn)
        until(lambda: len(sdk.updates("s")) > 5, "the task to go on without its client")
        assert c.operation(turn)["stop"] is None
        sdk.run("cancel", name="c", binding="JSONRPC", task=turn)
        sdk.step("over", "s")
        assert sdk.updates("s")[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
        sdk.run("subscribe", name="late", binding="JSONRPC", task=turn)
        sdk.step("failed", "late")


def test_a_repeated_message_is_the_same_task_also_after_a_restart(world):
    c, _ = world
    first = send(c, "hello", now=False).json["task"]
    for n in range(2):
        again = send(c, "hello", now=False).json["task"]
        assert (again["id"], again["contextId"]) == (first["id"], first["contextId"]), n
        c.restart()
    assert len(c.operations(kind="turn")) == 1
    assert send(c, "hello", id="m2", now=False).json["task"]["id"] != first["id"]


def test_a_stop_word_in_a_conversation_is_answered_by_a_message(world):
    c, _ = world
    task = send(c, "never begins", contextId="room").json["task"]
    c.wait_status(task["id"], "running")
    answer = send(c, "stop", id="m2", contextId="room").json
    assert "Stopping 1 operation" in answer["message"]["parts"][0]["text"] or "Stopping 2 operations" in answer["message"]["parts"][0]["text"], answer
    assert over(c, task["id"])["status"]["state"] == "TASK_STATE_CANCELED"


def test_a_stop_word_to_a_task_that_works_stops_it(world):
    c, _ = world
    task = send(c, "never begins", contextId="room").json["task"]
    c.wait_status(task["id"], "running")
    stop = send(c, "stop", id="m2", taskId=task["id"])
    assert stop.status == 200 and "Stopping" in stop.json["message"]["parts"][0]["text"], stop.body
    assert over(c, task["id"])["status"]["state"] == "TASK_STATE_CANCELED"
    late = send(c, "stop", id="m3", taskId=task["id"])  # nothing is active there any more
    assert late.status == 400 and reason(late) == "UNSUPPORTED_OPERATION", late.body
    # A repeat of the stop is the same stop.
    assert send(c, "stop", id="m2", taskId=task["id"]).json["message"]["metadata"] == stop.json["message"]["metadata"]


def test_a_foreign_scope_is_invisible(world):
    c, _ = world
    a = c.api("POST", "/v1/tokens", {"name": "a", "role": "chat", "scope": "guild/a"}).json["token"]
    b = c.api("POST", "/v1/tokens", {"name": "b", "role": "chat", "scope": "guild/b"}).json["token"]
    observer = c.api("POST", "/v1/tokens", {"name": "o", "role": "observer", "scope": "guild/a"}).json["token"]
    task = send(c, "never begins", token=a).json["task"]
    assert c.operation(task["id"])["scope"].startswith("guild/a/a2a/")
    for call in (lambda: get(c, task["id"], token=b), lambda: c.api("POST", f"/a2a/main/tasks/{task['id']}:cancel", {}, headers=VERSION, token=b),
                 lambda: get(c, "nothing"), lambda: c.api("GET", f"/a2a/main/tasks/{task['id']}:subscribe", headers=VERSION, token=b)):
        answer = call()
        assert answer.status == 404 and reason(answer) == "TASK_NOT_FOUND", answer.body
    assert rpc(c, "GetTask", {"id": task["id"]}, token=b)["error"]["code"] == -32001
    assert c.api("GET", "/a2a/main/tasks", headers=VERSION, token=b).json["tasks"] == []
    assert send(c, "hello", id="m9", contextId="guild/a/x", token=b).status == 403
    assert send(c, "hello", id="m9", token=observer).status == 403
    assert get(c, task["id"], token=observer).status == 200
    assert c.api("POST", f"/a2a/main/tasks/{task['id']}:cancel", {}, headers=VERSION, token=observer).status == 403
    assert c.operation(task["id"])["stop"] is None
    # The same messageId of another token is another message.
    assert send(c, "hello", token=b, now=False).json["task"]["id"] != task["id"]


def test_errors_in_both_bindings(world):
    c, _ = world
    assert c.api("GET", "/a2a/main/.well-known/agent-card.json", token="qk_wrong").status == 401
    card = c.api("GET", "/a2a/main/.well-known/agent-card.json").json
    assert [i["protocolBinding"] for i in card["supportedInterfaces"]] == list(BINDINGS), card
    assert {i["url"] for i in card["supportedInterfaces"]} == {c.url + "/a2a/main"}, card
    assert c.api("GET", "/a2a/nobody/.well-known/agent-card.json").status == 404
    for headers, code in ((None, -32009), ({"A2A-Version": "0.3"}, -32009), (VERSION, -32001)):
        assert rpc(c, "GetTask", {"id": "x"}, headers=headers)["error"]["code"] == code
    assert reason(c.api("GET", "/a2a/main/tasks")) == "VERSION_NOT_SUPPORTED"
    assert rpc(c, "message/send", {})["error"]["code"] == -32601
    assert rpc(c, "SendMessage", {})["error"]["code"] == -32602
    assert rpc(c, "CreateTaskPushNotificationConfig", {})["error"]["code"] == -32602
    assert rpc(c, "GetExtendedAgentCard", {})["error"]["code"] == -32004
    bad = c.api("POST", "/a2a/main", raw=b"{", headers={"Content-Type": "application/json", **VERSION})
    assert bad.status == 200 and bad.json["error"]["code"] == -32700 and bad.json["id"] is None, bad.body
    assert c.api("POST", "/a2a/main", [1], headers=VERSION).json["error"]["code"] in (-32600, -32602)
    done = send(c, "hello", now=False).json["task"]
    more = send(c, "more", id="m2", taskId=done["id"])
    assert more.status == 400 and reason(more) == "UNSUPPORTED_OPERATION", more.body
    file = c.api("POST", "/a2a/main/message:send", message("x", "m3") | {"message": {**message("x", "m3")["message"], "parts": [{"raw": "aGk="}]}}, headers=VERSION)
    assert file.status == 400 and reason(file) == "CONTENT_TYPE_NOT_SUPPORTED", file.body
    cancel = c.api("POST", f"/a2a/main/tasks/{done['id']}:cancel", {}, headers=VERSION)
    assert cancel.status == 400 and reason(cancel) == "TASK_NOT_CANCELABLE", cancel.body
    assert c.api("POST", f"/a2a/main/tasks/{done['id']}:nothing", {}, headers=VERSION).status == 404
    for query in ("pageSize=0", "pageSize=101", "pageToken=x", "status=x", "unknown=1", "contextId=" + urllib.parse.quote("a b")):
        assert c.api("GET", "/a2a/main/tasks?" + query, headers=VERSION).status == 400, query
    assert c.api("GET", "/a2a/main/tasks?status=TASK_STATE_CANCELED", headers=VERSION).json["tasks"] == []
    assert len(c.operations(kind="turn")) == 1


def test_a_list_goes_on_behind_a_thousand_tasks_of_conversations_below(world):
    c, _ = world
    task = send(c, "hello", contextId="/list").json["task"]["id"]
    over(c, task)

    def post(n):
        return c.post(f"list/{n % 2}", "never begins", author={"id": f"p{n}", "name": "P"}).status
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, range(1010))) == {202}
    found, token = [], ""
    while True:
        page = c.api("GET", f"/a2a/main/tasks?contextId=%2Flist&pageToken={token}", headers=VERSION).json
        found += [t["id"] for t in page["tasks"]]
        token = page["nextPageToken"]
        if not token:
            break
    assert found == [task]
    c.cancel(scope="list")
