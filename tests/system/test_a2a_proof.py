"""Never CANCELED while anything of the task can still run: detached commands, stops of a scope, ends of quelld at any instant."""
import json
import threading

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until
from test_a2a import LIVE, VERSION, get, message, over, rpc, send, state

STAY = "while :; do sleep 1000; done #"


def exec_call(command, **more):
    return {"calls": [{"name": "exec", "input": {"command": command, **more}}]}


@pytest.fixture
def world():
    m = marker()
    script = [
        {"when": {"result": ""}, "steps": [{"delay_ms": 600000}]},
        {"when": {"user": "leaves"}, "steps": [exec_call(f"{STAY}{m}", background=True)]},
        {"when": {"user": "runs"}, "steps": [exec_call(f"trap '' TERM; setsid bash -c '{STAY}{m}' & {STAY}{m}")]},
        {"text": "You said {{text}}."},
    ]
    with TurnCluster(script) as c:
        yield c, m


def states_everywhere(c, task):
    """The state of the task by each way to read it."""
    listed = [t for t in c.api("GET", "/a2a/main/tasks", headers=VERSION).json["tasks"] if t["id"] == task]
    by_rpc = [t for t in rpc(c, "ListTasks", {"pageSize": 100})["result"]["tasks"] if t["id"] == task]
    return {state(c, task), rpc(c, "GetTask", {"id": task})["result"]["status"]["state"],
            *(t["status"]["state"] for t in listed + by_rpc)}


def with_command_left(c, m):
    task = send(c, "leaves", contextId="room").json["task"]["id"]
    until(lambda: processes.marked(m), "the command in the background")
    room = c.operation(task)["scope"]
    left, = until(lambda: c.operations(scope=room, kind="task", status="running"), "its task")
    return task, left["id"]


def test_a_command_that_outlives_the_stop_of_its_task_is_told(world):
    c, m = world
    task, left = with_command_left(c, m)
    assert rpc(c, "CancelTask", {"id": task})["result"]["status"]["state"] in (*LIVE, "TASK_STATE_FAILED")
    done = over(c, task)
    assert processes.marked(m), "the stop of a turn passes a detached command by"
    assert done["status"]["state"] == "TASK_STATE_FAILED" and done["metadata"]["quell"]["stop"]["detached"] == 1, done
    assert "outcome unknown: 1 operation detached" in done["status"]["message"]["parts"][0]["text"], done
    # The end of a task is final, whatever becomes of the command.
    c.cancel(operation=left)
    assert not processes.marked(m) and states_everywhere(c, task) == {"TASK_STATE_FAILED"}


def test_a_stop_of_the_scope_takes_the_command_as_well(world):
    c, m = world
    task, _ = with_command_left(c, m)
    answer = send(c, "stop", id="m2", contextId="room").json
    assert "Stopping" in answer["message"]["parts"][0]["text"], answer
    assert over(c, task)["status"]["state"] == "TASK_STATE_CANCELED"
    assert not processes.marked(m) and states_everywhere(c, task) == {"TASK_STATE_CANCELED"}


def test_no_reader_sees_canceled_before_the_processes_are_gone(world):
    """Readers of every binding, in a crowd, while quelld is killed during the stop of a tree that ignores its signal."""
    c, m = world
    for i in range(3):
        task = send(c, "runs", id=f"r{i}").json["task"]["id"]
        until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
        rpc(c, "CancelTask", {"id": task})
        if i == 1:
            c.wait_status(task, "cancelling", "cancelled")
        if i > 0:
            c.restart()
        seen = set()

        def ended():
            alive = len(processes.marked(m)) > 0
            states = states_everywhere(c, task)
            seen.update(states)
            assert not (states & {"TASK_STATE_CANCELED"} and processes.marked(m)), (alive, states)
            return states == {"TASK_STATE_CANCELED"} or states == {"TASK_STATE_FAILED"}
        until(ended, "the task to be over", 60)
        assert state(c, task) == "TASK_STATE_CANCELED", get(c, task).json
        assert seen <= {"TASK_STATE_WORKING", "TASK_STATE_CANCELED"}, seen
        assert not processes.marked(m)


def test_a_crowd_of_the_same_message_and_of_cancels_is_one_task(world):
    c, m = world
    found, refused = [], []

    def once():
        found.append(send(c, "runs", contextId="crowd").json["task"]["id"])
    crowd = [threading.Thread(target=once) for _ in range(12)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len(found) == 12 and len(set(found)) == 1, found
    task = found[0]
    until(lambda: processes.marked(m), "the tree to run")

    def stop():
        answer = c.api("POST", f"/a2a/main/tasks/{task}:cancel", {}, headers=VERSION)
        refused.append((answer.status, answer.json.get("status", {}).get("state"), bool(processes.marked(m))))
    crowd = [threading.Thread(target=stop) for _ in range(12)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert all(status in (200, 400) for status, _, _ in refused), refused
    assert not [r for r in refused if r[1] == "TASK_STATE_CANCELED" and r[2]], refused
    assert over(c, task)["status"]["state"] == "TASK_STATE_CANCELED" and not processes.marked(m)
    assert len(c.api("GET", f"/v1/cancels?operation={task}").json["cancels"]) == 1


@pytest.mark.parametrize("body", (
    {"message": None}, {"message": []}, {"message": {"messageId": 1}}, {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [None]}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": 1}]}}, {"message": {"messageId": "a", "role": 5, "parts": {}}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [[]]}}, {"message": {"messageId": "a", "role": "ROLE_USER", "parts": ["x"]}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": "../../x"}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": "//"}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "x"}]}, "configuration": {"returnImmediately": "yes"}},
    {"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "x"}]}, "configuration": []},
), ids=json.dumps)
def test_what_is_no_message_is_refused_in_the_words_of_a2a(hostile, body):
    answer = hostile.api("POST", "/a2a/main/message:send", body, headers=VERSION)
    if body.get("configuration") == []:
        assert answer.status in (200, 400), answer.body
        return
    assert answer.status == 400 and answer.json["error"]["status"] == "INVALID_ARGUMENT", answer.body
    assert rpc(hostile, "SendMessage", body)["error"]["code"] == -32602


@pytest.fixture(scope="module")
def hostile():
    with TurnCluster([{"text": "ok"}]) as c:
        yield c


def test_bodies_of_other_shapes_never_break_the_gateway(hostile):
    c = hostile
    for params in (None, [], "x", 7, {"id": None}, {"id": 5}, {"id": "x" * 5000}, {"id": {"a": 1}}, {"pageSize": -1}, {"pageSize": 1.5},
                   {"pageToken": 7}, {"pageToken": "99999999999999999999-1"}, {"status": 3}, {"contextId": ["a"]}, {"includeArtifacts": "maybe"},
                   {"statusTimestampAfter": "yesterday"}, {"metadata": {"reason": 7}, "id": "x"}):
        for method in ("GetTask", "CancelTask", "ListTasks", "SubscribeToTask", "SendMessage", "SendStreamingMessage"):
            answer = c.api("POST", "/a2a/main", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=VERSION)
            assert answer.status == 200 and ("error" in answer.json or method == "ListTasks"), (method, params, answer.body)
            assert answer.json.get("error", {}).get("code") != -32603, (method, params, answer.body)
    for request in ({}, {"jsonrpc": "1.0", "id": 1, "method": "GetTask"}, {"jsonrpc": "2.0", "method": "GetTask"},
                    {"jsonrpc": "2.0", "id": None, "method": "GetTask"}, {"jsonrpc": "2.0", "id": "x" * 300, "method": "GetTask"},
                    {"jsonrpc": "2.0", "id": [1], "method": "GetTask"}, {"jsonrpc": "2.0", "id": 1, "method": 7}, [], 5, None, "x"):
        answer = c.api("POST", "/a2a/main", request, headers=VERSION)
        assert answer.status == 200 and answer.json["error"]["code"] in (-32600, -32601, -32602, -32700), (request, answer.body)
    for verb in (":cancel", ":subscribe", ":", ":cancel:cancel", "%00:cancel", "%2e%2e:cancel"):
        assert c.api("POST", f"/a2a/main/tasks/x{verb}", {}, headers=VERSION).status in (400, 404), verb
    for raw in (b"[]", b"5", b"null", b'"x"'):
        answer = c.api("POST", "/a2a/main/tasks/x:cancel", raw=raw, headers={"Content-Type": "application/json", **VERSION})
        assert 400 <= answer.status < 500, (raw, answer.body)
    assert c.api("POST", "/a2a/main/message:send", message("still here"), headers=VERSION).status == 200
