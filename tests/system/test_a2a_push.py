"""Push notifications of A2A: each state of a task reaches its receiver at least once, over outages of both sides, and no address that is not public."""
import json
import os
import threading

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until
from harness.web_service import WebService

VERSION = {"A2A-Version": "1.0"}
OVER = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED")


class Receiver(WebService):
    def __init__(self):
        self.taken, self.status, self.guard = [], 200, threading.Lock()
        self.mark = None
        self.goes_on = threading.Event()  # until then /hook/old does not answer
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def respond(self, path, headers, body):
        with self.guard:
            status = 410 if path.endswith("/old") else self.status
            alive = bool(self.mark and processes.marked(self.mark))  # at the very moment
            self.taken.append({"path": path, "headers": dict(headers), "body": body, "status": status, "alive": alive})
        if path.endswith("/old"):
            self.goes_on.wait(14)  # less than quelld waits
        return status, {}, {}

    def states(self, status=200):
        with self.guard:
            return [(t["body"].get("task") or t["body"]["statusUpdate"])["status"]["state"] for t in self.taken if t["status"] == status]


def script(m):
    return [{"when": {"user": "never begins"}, "steps": [{"delay_ms": 600000}]},
            {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"trap '' TERM; while :; do sleep 1000; done #{m}"}}]}]},
            {"text": "You said {{text}}."}]


@pytest.fixture
def world():
    m, receiver = marker(), Receiver()
    try:
        with TurnCluster(script(m), f'[http]\npush_origins = ["http://127.0.0.1:{receiver.port}"]\n') as c:
            receiver.mark = m
            yield c, receiver, m
    finally:
        receiver.stop()


def send(c, text, id="m1", token=None, **configuration):
    body = {"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}, "configuration": {"returnImmediately": True, **configuration}}
    answer = c.api("POST", "/a2a/main/message:send", body, headers=VERSION, token=token)
    assert answer.status == 200, answer.body
    return answer.json["task"]["id"]


def rpc(c, method, token=None, **params):
    return c.api("POST", "/a2a/main", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=VERSION, token=token).json


def configs(c, task, token=None):
    return rpc(c, "ListTaskPushNotificationConfigs", token, taskId=task)["result"]["configs"]


def files(c):
    folder = os.path.join(c.state, "a2a-push")
    return [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".json")] if os.path.isdir(folder) else []


def test_each_state_is_told_with_the_callers_words_and_canceled_with_the_proof(world):
    c, receiver, m = world
    task = send(c, "runs", taskPushNotificationConfig={"url": receiver.url, "token": "tok-1", "authentication": {"scheme": "Bearer", "credentials": "cred-1"}})
    until(lambda: processes.marked(m), "the command to run")
    until(lambda: "TASK_STATE_WORKING" in receiver.states(), "WORKING to be told")
    one = receiver.taken[0]
    assert one["headers"]["X-A2A-Notification-Token"] == "tok-1" and one["headers"]["Authorization"] == "Bearer cred-1", one
    assert one["headers"]["Content-Type"] == "application/a2a+json"
    assert [os.stat(f).st_mode & 0o777 for f in files(c)] == [0o600]
    c.api("POST", f"/a2a/main/tasks/{task}:cancel", {}, headers=VERSION)
    until(lambda: receiver.states()[-1] in OVER, "the end to be told")
    assert receiver.states()[-1] == "TASK_STATE_CANCELED" and not processes.marked(m), receiver.states()
    assert set(receiver.states()[:-1]) <= {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    assert receiver.taken[-1]["body"]["task"]["id"] == task and not receiver.taken[-1]["alive"], "CANCELED while a process lives"
    until(lambda: not configs(c, task) and not files(c), "the config to be gone")
    log = processes.read(os.path.join(c.directory, "quelld.log")).decode()
    assert "tok-1" not in log and "cred-1" not in log


def test_a_receiver_that_was_away_and_a_restart_lose_no_end(world):
    c, receiver, _ = world
    receiver.status = 503
    task = send(c, "never begins")
    made = rpc(c, "CreateTaskPushNotificationConfig", taskId=task, url=receiver.url, id="mine")["result"]
    assert (made["id"], made["taskId"], made["url"]) == ("mine", task, receiver.url), made
    until(lambda: receiver.states(503), "the first try")
    c.kill_controller()
    c.start_controller()
    assert [one["id"] for one in configs(c, task)] == ["mine"]
    c.cancel(operation=task)
    receiver.status = 200
    until(lambda: receiver.states() and receiver.states()[-1] in OVER, "the end to be told", 60)
    assert receiver.states()[-1] == "TASK_STATE_CANCELED"
    until(lambda: not files(c), "the config to be gone")


def test_configs_belong_to_their_token_and_are_limited(world):
    c, receiver, _ = world
    task = send(c, "never begins")
    other = c.api("POST", "/v1/tokens", {"name": "o", "role": "operator"}).json["token"]
    observer = c.api("POST", "/v1/tokens", {"name": "w", "role": "observer"}).json["token"]
    receiver.status = 503
    path = f"/a2a/main/tasks/{task}/pushNotificationConfigs"
    assert c.api("POST", path, {"url": receiver.url, "id": "a"}, headers=VERSION).json["id"] == "a"
    assert c.api("GET", path + "/a", headers=VERSION).json["url"] == receiver.url
    assert [one["id"] for one in c.api("GET", path, headers=VERSION).json["configs"]] == ["a"]
    assert configs(c, task, other) == [] and c.api("GET", path + "/a", headers=VERSION, token=other).status == 404
    assert c.api("DELETE", path + "/a", headers=VERSION, token=other).status == 200 and configs(c, task)
    assert c.api("POST", path, {"url": receiver.url}, headers=VERSION, token=observer).status == 403
    for number in range(9):
        assert c.api("POST", path, {"url": receiver.url, "id": f"n{number}"}, headers=VERSION).status == 200
    assert c.api("POST", path, {"url": receiver.url}, headers=VERSION).status == 400
    assert c.api("POST", path, {"url": receiver.url + "2", "id": "a"}, headers=VERSION).status == 200, "the same id is replaced"
    for _ in range(2):
        assert c.api("DELETE", path + "/a", headers=VERSION).status == 200
    assert len(configs(c, task)) == 9 == len(files(c))
    for wrong in ({}, {"url": "ftp://x"}, {"url": receiver.url, "token": "a b"}, {"url": 5}, {"url": receiver.url, "id": "../x"}):
        assert c.api("POST", path, wrong, headers=VERSION).status == 400, wrong
    done = send(c, "hello", id="m2")
    c.ended(done)
    assert rpc(c, "CreateTaskPushNotificationConfig", taskId=done, url=receiver.url)["error"]["code"] == -32004


def test_a_deleted_config_is_not_notified(world):
    c, receiver, _ = world
    task = send(c, "never begins", taskPushNotificationConfig={"url": receiver.url})
    until(lambda: "TASK_STATE_WORKING" in receiver.states(), "the last state before its end")
    [one] = configs(c, task)
    assert rpc(c, "DeleteTaskPushNotificationConfig", taskId=task, id=one["id"])["result"] == {}
    before = len(receiver.taken)
    second = send(c, "hello", id="m2", taskPushNotificationConfig={"url": receiver.url})
    c.cancel(operation=task)
    until(lambda: [t for t in receiver.taken if t["body"].get("task", {}).get("id") == second], "the other task's end")
    assert all(second in json.dumps(t["body"]) for t in receiver.taken[before:])


def test_the_answer_of_an_address_that_was_replaced_is_not_about_the_one_after_it(world):
    c, receiver, _ = world
    task = send(c, "never begins")
    taken_at = lambda end: [t["body"] for t in receiver.taken if t["path"].endswith(end)]
    assert rpc(c, "CreateTaskPushNotificationConfig", taskId=task, url=receiver.url + "/old", id="mine")["result"]
    until(lambda: taken_at("/old"), "the first address to be notified")
    assert rpc(c, "CreateTaskPushNotificationConfig", taskId=task, url=receiver.url + "/new", id="mine")["result"]
    until(lambda: taken_at("/new"), "the second address to be notified")
    receiver.goes_on.set()  # 410: it is gone
    assert rpc(c, "CreateTaskPushNotificationConfig", taskId=task, url=receiver.url + "/beside", id="beside")["result"]
    until(lambda: taken_at("/beside"), "a later delivery")
    assert sorted(one["id"] for one in configs(c, task)) == ["beside", "mine"]
    c.cancel(operation=task)
    until(lambda: any("task" in body for body in taken_at("/new")), "the end to be told")
    until(lambda: not files(c), "the configs to be gone")


@pytest.mark.parametrize("host", ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"))
def test_no_address_that_is_not_public_is_notified(host):
    receiver = Receiver()
    try:
        with TurnCluster(script("x")) as c:
            task = send(c, "hello", taskPushNotificationConfig={"url": f"http://{host}:{receiver.port}/hook"})
            c.ended(task)
            log = os.path.join(c.directory, "quelld.log")
            until(lambda: b"push notification receiver" in processes.read(log), "the failure to be logged")
            assert not receiver.taken and configs(c, task)
    finally:
        receiver.stop()
