"""Remote agents over A2A as tools of quell's agents: a controlled one, with stops at every moment, and quelld killed beside it."""
import json
import os
import tempfile
import urllib.parse

import pytest

from harness import processes
from harness.a2a_agent import RemoteAgent
from harness.cluster import free_ports, marker
from harness.peers import Program, installed
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster
from harness.waiting import until

TOOL = "a2a__helper"


class AskingCluster(TurnCluster):
    """An agent `peer` that may use the remote agent `helper` at this url."""

    def __init__(self, url, token="remote-secret", **options):
        self.model, self.looks = RecordingModel(), 0
        self.key = tempfile.NamedTemporaryFile("w", suffix=".key")
        self.key.write(token + "\n")
        self.key.flush()
        config = (f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                  f'[[agents]]\nname = "peer"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["a2a:helper"]\n'
                  f'[[a2a]]\nname = "helper"\nurl = "{url}"\nkey_file = "{self.key.name}"\n')
        try:
            super().__init__([{"text": "hi"}], config, **options)
        except BaseException:
            self.model.close()
            self.key.close()
            raise

    def close(self):
        super().close()
        self.model.close()
        self.key.close()

    def ask(self, text, *calls, scope="far"):
        """A turn whose model makes these calls of the remote agent at once."""
        self.model.plan[text] = [[(TOOL, call) for call in calls]] if calls else []
        return self.say(scope, text, agent="peer")

    def asked(self, text, *calls, scope="far"):
        turn = self.ask(text, *calls, scope=scope)
        assert self.ended(turn)["status"] == "completed", self.operation(turn)
        return self.results(scope, turn)

    def until_offered(self):
        """A turn waits for the agent's card for 2 s only, then goes on without the tool."""
        def is_offered():
            self.looks += 1
            assert self.ended(self.ask(f"look {self.looks}", scope="look"))["status"] == "completed"
            return TOOL in self.model.tools_offered(f"look {self.looks}")
        until(is_offered, "the agent to be offered as a tool")

    def call(self, turn):
        call, = self.below(turn, kind="tool_call")
        return call

    def late(self, turn):
        call = self.call(turn)["id"]
        return until(lambda: self.operation(call)["late"], "the late outcome")["server"]

    def below(self, turn, **query):
        return [o for o in self.operations(**query) if o["parent"] == turn]


@pytest.fixture(params=(True, False), ids=("streams", "polled"))
def world(request):
    agent = RemoteAgent(request.param, *free_ports(1))  # it can be left and taken again
    try:
        with AskingCluster(agent.url) as c:
            c.until_offered()
            yield c, agent
    finally:
        agent.close()


def answer_of(result):
    assert result["ok"], result
    return result["result"]["result"]


def error_of(result):
    assert not result["ok"], result
    return result["result"]["error"]


def test_a_call_is_a_task_of_the_remote_agent(world):
    c, agent = world
    done, = c.asked("one", {"message": "quick please"})
    shown = answer_of(done)
    assert shown["state"] == "completed" and shown["text"].startswith("Answer to quick") and '"n":5' in shown["text"], shown
    assert shown["task"].startswith("task-1~") and shown["conversation"].startswith("context~"), shown
    turn, = c.operations(kind="turn", scope="far")
    call = c.call(turn["id"])
    sent, = agent.named("SendStreamingMessage" if agent.streaming else "SendMessage")
    assert sent["message"]["messageId"] == call["id"] and sent["message"]["role"] == "ROLE_USER", sent
    offered = c.model.tools_offered("one")[TOOL]
    assert "sums: adds numbers" in offered["description"] and len(offered["description"]) < 2000, offered
    assert "\u0007" not in offered["description"]
    assert any(e["data"].get("remote_task") == "task-1" for e in c.events(turn["id"], "tool_progress"))
    # A conversation goes on, and an answer without a task is an answer.
    again, words = c.asked("two", {"message": "quick more", "conversation": shown["conversation"]}, {"message": "message"})
    assert answer_of(again)["conversation"] == shown["conversation"] and answer_of(words)["text"] == "no task, only words"
    more, = [m for m in agent.sent() if "quick more" in json.dumps(m)]  # both calls of the answer run at once
    assert more["contextId"] == "context"


def test_a_scope_cannot_continue_the_conversation_of_another(world):
    c, agent = world
    mine = answer_of(c.asked("mine", {"message": "asks"}, scope="guild-a/1")[0])
    ids = {"conversation": mine["conversation"], "task": mine["task"]}
    for number, wrong in enumerate((ids, {"conversation": mine["conversation"]}, {"task": mine["task"]}, {"conversation": "context"}, {"task": "task-1"})):
        result, = c.asked(f"theirs {number}", {"message": "quick", **wrong}, scope="guild-b/1")
        assert "is not one that this remote agent gave in this conversation" in error_of(result)["message"], result
    below, = c.asked("below", {"message": "quick", **ids}, scope="guild-a/1/thread")
    assert "/conversation" in error_of(below)["message"], below
    assert len(agent.sent()) == 1, "a message with an id of another scope was sent"
    c.restart()
    c.until_offered()
    c.asked("answer", {"message": "quick", **ids}, scope="guild-a/1")
    first, second = agent.sent()
    assert "contextId" not in first and (second["contextId"], second["taskId"]) == ("context", "task-1"), second


def test_ends_that_are_no_success_are_told_to_the_model(world):
    c, agent = world
    asks, login, fails, rejects = c.asked("ends", *({"message": w} for w in ("asks", "login", "fails", "rejects")))
    assert answer_of(asks)["state"] == "input_required" and answer_of(asks)["asks"] == "because of asks", asks
    assert answer_of(asks)["task"].split("~")[0] in agent.tasks
    assert "AUTH_REQUIRED" in error_of(login)["message"] and "because of login" in error_of(login)["message"]
    assert "FAILED" in error_of(fails)["message"] and "REJECTED" in error_of(rejects)["message"]
    agent.wait_for_call("CancelTask")
    assert {agent.tasks[p["id"]]["word"] for p in agent.named("CancelTask")} == {"login"}


def test_what_the_model_writes_wrongly_is_not_sent(world):
    c, agent = world
    for number, wrong in enumerate(({}, {"message": ""}, {"message": 5}, {"message": "quick", "task": "x" * 300})):
        result, = c.asked(f"wrong {number}", wrong)
        error_of(result)
    assert not agent.tasks


@pytest.mark.parametrize("word, late", (("slow", "done"), ("late", "too_late"), ("breaks", "failed"), ("refuses", "refused")))
def test_a_cancel_tells_the_agent_and_its_true_answer_is_recorded(world, word, late):
    c, agent = world
    turn = c.ask("go", {"message": word})
    until(lambda: agent.tasks, "the task to begin")
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1, done
    agent.wait_for_call("CancelTask")
    assert c.late(turn) == late
    call = c.operation(c.call(turn)["id"])
    assert (call["status"], call["stop"]["receipt"]) == ("cancelled", "unconfirmed"), call


def test_a_cancel_before_the_task_has_a_name_waits_for_it(world):
    c, agent = world
    turn = c.ask("go", {"message": "mute"})
    agent.wait_for_call("SendStreamingMessage" if agent.streaming else "SendMessage")
    assert c.cancel(operation=turn)["status"] == "settled"
    assert not agent.tasks and not agent.named("CancelTask")
    agent.release("mute")
    agent.wait_for_call("CancelTask")
    assert c.late(turn) == "done" and len(agent.tasks) == 1


def test_a_timeout_stops_the_task(world):
    c, agent = world
    result, = c.asked("go", {"message": "slow", "_meta": {"timeout": 6000}})  # long enough to reach the agent on a machine that pauses
    assert "[TIMEOUT]" in error_of(result)["message"]
    agent.wait_for_call("CancelTask")
    until(lambda: [t["status"]["state"] for t in agent.tasks.values()] == ["TASK_STATE_CANCELED"], "the task to be stopped")


def test_a_cut_stream_is_followed_by_looks(world):
    c, agent = world
    turn = c.ask("go", {"message": "cut"})
    agent.wait_for_call("GetTask", 2)
    agent.release("cut")
    assert c.ended(turn)["status"] == "completed"
    assert answer_of(c.results("far", turn)[0])["text"].startswith("Answer to cut")
    assert len(agent.tasks) == 1


@pytest.mark.parametrize("word, ends_before", (("slow", False), ("slow", True)), ids=("goes on", "ended meanwhile"))
def test_a_task_is_asked_for_again_after_a_restart(world, word, ends_before):
    c, agent = world
    turn = c.ask("go", {"message": word})
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "the task's name to be stored")
    c.kill_controller()
    if ends_before:
        agent.release(word)
    c.start_controller()
    if not ends_before:
        agent.wait_for_call("GetTask")
        agent.release(word)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    assert answer_of(c.results("far", turn)[0])["text"].startswith("Answer to slow")
    assert len(agent.tasks) == 1, "the message was sent again"


def test_a_message_whose_task_has_no_name_yet_is_not_sent_again_after_a_restart(world):
    c, agent = world
    turn = c.ask("go", {"message": "mute"})
    agent.wait_for_call("SendStreamingMessage" if agent.streaming else "SendMessage")
    c.kill_controller()
    agent.release("mute")
    c.start_controller()
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    result, = c.results("far", turn)
    assert not result["ok"] and result["result"]["outcome"] == "unknown", result
    assert len(agent.sent()) == 1, "the message was sent again"


def test_an_agent_that_a_stop_could_not_reach_is_told_by_the_next_life(world):
    c, agent = world
    turn = c.ask("go", {"message": "slow"})
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
    agent.close()  # it cannot be told
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1, done
    c.kill_controller()
    assert not agent.named("CancelTask")
    agent.begin(agent.port)
    c.start_controller()
    agent.wait_for_call("CancelTask")
    until(lambda: [t["status"]["state"] for t in agent.tasks.values()] == ["TASK_STATE_CANCELED"], "the task to be stopped")
    assert c.late(turn) == "done"
    call = c.operation(c.call(turn)["id"])
    assert (call["status"], call["stop"]["receipt"]) == ("cancelled", "unconfirmed") and len(agent.sent()) == 1, call
    assert len(agent.named("CancelTask")) == 1


def test_the_true_end_of_a_task_that_was_given_up_is_recorded_by_the_next_life(world):
    c, agent = world
    agent.forgets = True
    result, = c.asked("go", {"message": "cut"})
    assert error_of(result)["code"] == "outcome_unknown", result
    turn, = (o["id"] for o in c.operations(kind="turn", scope="far"))
    before = c.operation(c.call(turn)["id"])
    c.restart()  # nobody knows yet: that is no outcome
    agent.wait_for_call("GetTask", 2)
    c.until_offered()
    assert c.operation(before["id"]) == before
    c.kill_controller()
    agent.forgets = False
    agent.release("cut")
    c.start_controller()
    assert c.late(turn) == "too_late"
    assert c.operation(before["id"]) == {**before, "late": {"server": "too_late"}}
    assert c.results("far", turn) == [result] and not agent.named("CancelTask") and len(agent.sent()) == 1


def test_an_agent_that_a_timeout_could_not_reach_is_told_by_the_next_life(world):
    c, agent = world
    turn = c.ask("go", {"message": "slow", "_meta": {"timeout": 15_000}})  # however long it takes until the agent is away
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
    agent.close()  # it cannot be told
    until(lambda: c.call(turn)["status"] == "failed", "the call to run out of its time")
    c.kill_controller()
    assert not agent.named("CancelTask")
    agent.begin(agent.port)
    c.start_controller()
    agent.wait_for_call("CancelTask")
    assert c.late(turn) == "done" and len(agent.sent()) == 1


def test_the_task_of_a_turn_that_goes_on_no_more_is_told_to_stop(world):
    c, agent = world
    turn = c.ask("go", {"message": "slow"})
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
    for _ in range(4):  # a turn goes on three times
        c.restart()
    assert c.ended(turn)["error"]["code"] == "interrupted"
    agent.wait_for_call("CancelTask")
    until(lambda: [t["status"]["state"] for t in agent.tasks.values()] == ["TASK_STATE_CANCELED"], "the task to be stopped")
    assert c.late(turn) == "done" and len(agent.sent()) == 1


def test_a_crash_right_behind_a_stop_proves_nothing_about_the_task(world):
    """Whether the call had ended or not when quelld was killed."""
    c, agent = world
    for n in range(4):
        turn = c.ask(f"go {n}", {"message": "slow"})
        until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
        c.cancel(wait="fenced", operation=turn)
        c.restart()
        assert c.ended(turn)["status"] == "cancelled"
        done = c.api("GET", "/v1/cancels?" + urllib.parse.urlencode({"operation": turn})).json["cancels"][0]
        assert done["report"]["receipts"]["unconfirmed"] == 1 and not done["report"]["proven"], done
        assert c.operation(c.call(turn)["id"])["stop"]["proof"] == "none"
        c.until_offered()


def test_a_stop_in_the_first_moment_of_the_next_life_reaches_the_task(world):
    c, agent = world
    turn = c.ask("go", {"message": "slow"})
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "its name to be stored")
    c.restart()
    assert c.cancel(operation=turn)["status"] == "settled"
    agent.wait_for_call("CancelTask")
    assert c.late(turn) == "done" and len(agent.tasks) == 1


def test_a_cancel_after_a_restart_reaches_the_task(world):
    c, agent = world
    turn = c.ask("go", {"message": "slow"})
    until(lambda: any("remote_task" in e["data"] for e in c.events(turn, "tool_progress")), "the task's name to be stored")
    c.kill_controller()
    asked = len(agent.named("GetTask"))  # a polled task was asked for before, too
    c.start_controller()
    agent.wait_for_call("GetTask", asked + 1)
    assert c.cancel(operation=turn)["status"] == "settled"
    agent.wait_for_call("CancelTask")
    assert c.late(turn) == "done" and len(agent.tasks) == 1


def test_an_agent_that_is_down_delays_no_turn_and_comes_back():
    port = free_ports(1)[0]
    agent = RemoteAgent(True, port)
    agent.close()
    with AskingCluster(agent.url) as c:
        shown = until(lambda: next((s for s in c.api("GET", "/v1/mcp").json["servers"] if s["trouble"]), None), "its trouble to be shown")
        assert (shown["name"], shown["kind"]) == ("a2a:helper", "agent") and "remote-secret" not in str(shown), shown
        done = c.ended(c.ask("without"))
        assert done["status"] == "completed"
        assert TOOL not in c.model.tools_offered("without")
        agent.begin(port)
        try:
            until(lambda: all(s["trouble"] is None for s in c.api("GET", "/v1/mcp").json["servers"]), "it to be found again", 60)
            c.until_offered()
            result, = c.asked("with", {"message": "quick"})
            assert answer_of(result)["state"] == "completed"
        finally:
            agent.close()
        assert "remote-secret" not in processes.read(os.path.join(c.directory, "quelld.log")).decode()


def test_a_card_that_points_elsewhere_gets_no_token():
    agent, other = RemoteAgent(True), RemoteAgent(True)
    agent.card_url = other.url
    try:
        with AskingCluster(agent.url) as c:
            shown = until(lambda: next((s for s in c.api("GET", "/v1/mcp").json["servers"] if s["trouble"]), None), "its trouble to be shown")
            assert "not on the server" in shown["trouble"], shown
            assert c.ended(c.ask("x"))["status"] == "completed" and not other.calls
    finally:
        agent.close()
        other.close()


def test_quell_stops_quell_with_the_proof_of_the_other():
    """Two clusters: the far one's task is CANCELED, so the near one's late outcome is `done`, when the far processes are gone."""
    m = marker()
    stay = f"while :; do sleep 1000; done #{m}"
    far_script = [{"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": stay}}]}]}, {"text": "You said {{text}}."}]
    with TurnCluster(far_script) as far:
        with AskingCluster(far.url + "/a2a/main", token=far.token) as near:
            near.until_offered()
            done, = near.asked("talk", {"message": "hello"})
            assert answer_of(done)["text"] == "You said hello.", done
            turn = near.ask("work", {"message": "runs"})
            until(lambda: processes.marked(m), "the far command to run")
            assert near.cancel(operation=turn)["status"] == "settled"
            assert near.late(turn) == "done"
            assert not processes.marked(m), "done was said while the far processes live"
            stopped, = (o for o in far.operations(kind="turn") if o["status"] == "cancelled")
            assert far.operation(stopped["id"])["stop"]["reason"], stopped


SDK_PACKAGES = ["@a2a-js/sdk@1.3.0", "express@5.1.0"]
SDK_AGENT = os.path.join(os.path.dirname(__file__), "harness", "a2a_sdk_agent.mjs")


@pytest.mark.parametrize("streams", ("true", "false"))
def test_an_agent_of_the_public_sdk_works_and_is_cancelled(streams):
    with Program("node", SDK_AGENT, installed("a2a-1.3.0-server", SDK_PACKAGES), streams) as sdk:
        url = json.loads(sdk.line('{"step":"ready"'))["url"]
        with AskingCluster(url) as c:
            c.until_offered()
            done, = c.asked("talk", {"message": "quick answer"})
            assert answer_of(done)["text"] == "By the SDK: quick answer" and answer_of(done)["state"] == "completed", done
            turn = c.ask("work", {"message": "stays"})
            until(lambda: len(sdk.all('{"step":"begun"')) == 2, "the second task to begin")
            c.wait_event(turn, "tool_progress")
            assert c.cancel(operation=turn)["status"] == "settled"
            assert c.late(turn) == "done"
            begun = [json.loads(line) for line in sdk.all('{"step":"begun"')]
            sdk.line('{"step":"cancel"')
            assert begun[1]["message"] == c.call(turn)["id"] and len(sdk.all('{"step":"cancel"')) == 1
