"""What an agent asks its caller over A2A: the task is INPUT_REQUIRED, a message to it is the answer, once; a stop, a crash and strangers change
nothing about that."""
import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_a2a import BINDINGS, Sdk, get, over, reason, rpc, send, state

SCRIPT = [
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which one?", "choices": ["red", "blue"]}}]}]},
    {"when": {"user": "approve", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f nothing"}}]}]},
    {"when": {"result": ""}, "text": "Then {{results}}."},
    {"text": "You said {{text}}."},
]
ASKS = "TASK_STATE_INPUT_REQUIRED"


@pytest.fixture
def c():
    with TurnCluster(SCRIPT, '[[approval]]\ntool = "exec"\nmatch = "rm *"\n', agent='tools = ["exec", "ask_user"]') as cluster:
        yield cluster


def asking(c, id="m1", **more):
    task = send(c, "choose", id, **more).json["task"]
    until(lambda: state(c, task["id"]) == ASKS, "the task to ask")
    return get(c, task["id"], more.get("token")).json


def said(task):
    return task["artifacts"][0]["parts"][0]["text"]


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_public_sdk_is_asked_and_answers(c, binding):
    with Sdk(c) as sdk:
        sdk.run("send", name="q", binding=binding, id="1", text="choose")
        asked = sdk.step("sent", "q")["result"]  # a send that waits is told
        assert asked["status"]["state"] == ASKS, asked
        assert asked["status"]["message"]["parts"][0]["text"] == "Which one? (one of: red, blue)", asked
        sdk.run("subscribe", name="s", binding=binding, task=asked["id"])
        until(lambda: sdk.updates("s"), "the stream to begin")
        sdk.run("send", name="a", binding=binding, id="2", text="2", task=asked["id"], context=asked["contextId"])
        done = sdk.step("sent", "a")["result"]
        assert done["id"] == asked["id"] and done["status"]["state"] == "TASK_STATE_COMPLETED" and "blue" in said(done), done
        sdk.step("over", "s")
        states = [u["statusUpdate"]["status"]["state"] for u in sdk.updates("s") if "statusUpdate" in u]
        assert states == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"], states
        sdk.run("stream", name="t", binding=binding, id="3", text="choose")
        until(lambda: ASKS in [u["statusUpdate"]["status"]["state"] for u in sdk.updates("t") if "statusUpdate" in u], "the stream to ask")
        task = sdk.updates("t")[0]["task"]["id"]
        assert [t["id"] for t in c.api("GET", f"/a2a/main/tasks?status={ASKS}", headers={"A2A-Version": "1.0"}).json["tasks"]] == [task]
        sdk.run("cancel", name="c", binding=binding, task=task)
        sdk.step("over", "t")
        assert state(c, task) == "TASK_STATE_CANCELED"


def test_one_answer_counts_and_a_repeat_of_it_is_the_same_task(c):
    task = asking(c)
    first = send(c, "1", "a1", taskId=task["id"])
    assert first.status == 200 and first.json["task"]["id"] == task["id"], first.body
    assert "red" in said(over(c, task["id"]))
    again = send(c, "1", "a1", taskId=task["id"])
    assert again.status == 200 and again.json["task"]["id"] == task["id"], again.body
    late = send(c, "2", "a2", taskId=task["id"])
    assert late.status == 400 and reason(late) == "UNSUPPORTED_OPERATION", late.body
    assert len(c.operations(kind="turn", scope=task["metadata"]["quell"]["scope"])) == 2
    listed = c.api("GET", "/a2a/main/tasks", headers={"A2A-Version": "1.0"}).json
    assert [t["id"] for t in listed["tasks"]] == [task["id"]] and listed["nextPageToken"] == "", listed  # the answer is not a task
    c.check_scope(task["metadata"]["quell"]["scope"])


def test_only_who_asked_the_agent_answers_it(c):
    tokens = [c.api("POST", "/v1/tokens", {"name": name, "role": "chat"}).json["token"] for name in ("one", "other")]
    task = asking(c, token=tokens[0])
    stranger = send(c, "1", "x1", token=tokens[1], taskId=task["id"])
    assert stranger.status == 400 and reason(stranger) == "UNSUPPORTED_OPERATION", stranger.body
    wrong = send(c, "1", "x2", token=tokens[0], taskId=task["id"], contextId="elsewhere")
    assert wrong.status == 400, wrong.body
    assert state(c, task["id"]) == ASKS
    assert rpc(c, "SendMessage", {"message": {"messageId": "x3", "role": "ROLE_USER", "parts": [{"text": "1"}], "taskId": task["id"]}},
               token=tokens[0])["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_it_asks_on_after_a_crash_and_a_stop_word_ends_it(c):
    task = asking(c, contextId="talk")
    c.restart()
    until(lambda: state(c, task["id"]) == ASKS, "the task to ask again")
    stop = send(c, "stop", "s1", taskId=task["id"])
    assert "message" in stop.json and stop.json["message"]["metadata"]["quell"]["cancel"], stop.body
    assert over(c, task["id"])["status"]["state"] == "TASK_STATE_CANCELED"
    c.check_scope(task["metadata"]["quell"]["scope"])


def test_an_approval_is_no_question_to_the_caller(c):
    task = send(c, "approve").json["task"]["id"]
    call = c.call(task, "exec", "paused")
    assert state(c, task) == "TASK_STATE_WORKING"
    assert reason(send(c, "yes", "y1", taskId=task)) == "UNSUPPORTED_OPERATION"
    assert c.operation(call["id"])["status"] == "paused"
    c.cancel(operation=task)
