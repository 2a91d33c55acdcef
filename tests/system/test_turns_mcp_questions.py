"""Questions of an MCP server to a human while it works on a call (elicitation), over stdio and HTTP, in versions with a handshake and without:
the call is paused, people see the question and answer it, and the call continues. A stop meanwhile answers nothing."""
import json
import os
import signal
import sys

import pytest

from harness import processes
from harness.asking_mcp import AskingWeb
from harness.odd_cluster import OddCluster
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster
from harness.waiting import until

ASKING = __file__.replace("test_turns_mcp_questions.py", "harness/asking_mcp.py")
VIEWS = ["stdio", "http", "http, one stream", "stateless"]


def tool(name, **input):
    return (f"mcp__odd__{name}", input)


class StdioAsking(OddCluster):
    def __init__(self, **options):
        super().__init__("", [sys.executable, ASKING, "WORKSPACE"], **options)


class WebAsking(TurnCluster):
    def __init__(self, web, more="", **options):
        self.web, self.model = web, RecordingModel()
        config = (f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                  f'[[agents]]\nname = "peer"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:odd"]\n'
                  f'[[mcp]]\nname = "odd"\nurl = "{web.url}"\n' + more)
        try:
            super().__init__([{"text": "hi"}], config, **options)
        except BaseException:
            self.model.close()
            web.close()
            raise

    ask = OddCluster.ask

    def close(self):
        super().close()
        self.web.close()
        self.model.close()

    def seen(self, start):
        return [line for line in list(self.web.lines) if line.startswith(start)]


def asking(kind, **options):
    if kind == "stdio":
        return StdioAsking(**options)
    return WebAsking(AskingWeb("2026-07-28" if kind == "stateless" else "2025-11-25", kind == "http, one stream"), **options)


def open_question(c, turn, before=None):
    """The paused call and its question, as soon as that differs from `before`."""
    def look():
        for o in c.below(turn, status="paused"):
            if o["tool"]["question"]["id"] != before:
                return o, o["tool"]["question"]
        return None
    return until(look, "a call to ask something")


def word(c, call, what, question=None, **body):
    return c.api("POST", f"/v1/operations/{call['id']}/{what}", {**({"question": question["id"]} if question else {}), **body})


def told(result):
    return json.loads(result["result"]["result"]["content"][0]["text"])


def answers(c):
    return len(c.seen("answer"))


@pytest.mark.parametrize("kind", VIEWS)
def test_a_question_is_shown_answered_and_the_call_goes_on(kind):
    with asking(kind) as c:
        turn = c.ask("go", [tool("deploy")])
        call, question = open_question(c, turn)
        assert call["waiting_for"]["what"] == "answer" and call["result"] is None and call["started_at"], call
        assert question["server"] == "odd" and question["message"] == "Where to?", question
        assert question["form"]["properties"]["replicas"]["default"] == 2
        assert c.operation(turn)["status"] == "running"
        assert json.loads(c.seen("capabilities")[-1].partition(" ")[2]) == {"elicitation": {"form": {}}}
        asked, = c.events(turn, "approval_required")
        assert asked["data"]["question"] == question and asked["data"]["operation"] == call["id"], asked
        # Invalid values are refused with a reason, and the question stays open.
        for values, pointer, text in (({}, "/values/environment", "required"), ({"environment": "moon"}, "/values/environment", "staging"),
                                      ({"environment": "staging", "replicas": 10}, "/values/replicas", "at most 9"),
                                      ({"environment": "staging", "colour": 1}, "/values/colour", "not a field")):
            no = word(c, call, "approve", question, values=values)
            assert (no.status, no.json["code"]) == (422, "invalid_values"), no.body
            assert no.json["errors"][0]["pointer"] == pointer and text in no.json["detail"], no.json
        # An answer must name the question that was shown.
        unnamed = word(c, call, "approve")
        assert unnamed.status == 409 and question["id"] in unnamed.json["detail"], unnamed.body
        assert word(c, call, "approve", {"id": turn}).status == 409
        assert word(c, call, "approve", values={"environment": "staging"}).status == 422
        assert open_question(c, turn)[1] == question and answers(c) == 0
        yes = word(c, call, "approve", question, values={"environment": "staging"}, by={"id": "ann", "name": "Ann"})
        assert yes.status == 200, yes.body
        assert c.ended(turn)["status"] == "completed"
        result, = c.results("odd", turn)
        assert told(result) == [{"action": "accept", "content": {"environment": "staging", "replicas": 2, "notify": True}}], result
        settled, = c.events(turn, "approval_resolved")
        assert settled["data"]["decision"] == "approved" and settled["data"]["question"] == question["id"], settled
        assert "staging" not in json.dumps(settled), "the values are kept nowhere"
        assert len(c.events(turn, "operation_paused")) == 1 == len(c.events(turn, "operation_resumed"))
        # The same answer again succeeds without effect; another one is too late.
        assert word(c, call, "approve", question, values={"environment": "staging"}).status == 200
        assert word(c, call, "deny", question).status == 409
        assert answers(c) == 1
        c.check_scope("odd")


@pytest.mark.parametrize("kind", VIEWS)
def test_two_questions_of_one_call_are_asked_one_after_the_other(kind):
    with asking(kind) as c:
        for name in ("twice", "both"):
            turn = c.ask(name, [tool(name)])
            call, first = open_question(c, turn)
            assert word(c, call, "approve", first, values={"environment": "production", "notify": False}).status == 200
            call, second = open_question(c, turn, first["id"])
            assert second["message"] == "Really?"
            # A repeat of the answer to the first question does not answer the second.
            assert word(c, call, "approve", first, values={"environment": "production"}).status == 200
            assert open_question(c, turn)[1] == second
            assert word(c, call, "deny", second).status == 200
            assert c.ended(turn)["status"] == "completed"
            result = c.results("odd", turn)[0]
            assert told(result) == [{"action": "accept", "content": {"environment": "production", "replicas": 2, "notify": False}},
                                    {"action": "decline"}], result
        c.check_scope("odd")


@pytest.mark.parametrize("kind", ["stdio", "stateless"])
def test_a_question_is_declined_or_dismissed(kind):
    with asking(kind) as c:
        for body, action in (({}, "decline"), ({"dismiss": True}, "cancel")):
            turn = c.ask(action, [tool("deploy")])
            call, question = open_question(c, turn)
            no = word(c, call, "deny", question, reason="not today", **body)
            assert no.status == 200 and no.json["status"] != "failed", no.body
            assert c.ended(turn)["status"] == "completed"
            assert told(c.results("odd", turn)[0]) == [{"action": action}]
        turn = c.ask("address", [tool("address")])
        assert c.ended(turn)["status"] == "completed"
        assert "forms only" in json.dumps(c.results("odd", turn)[0]), "a mode that is not declared is not asked"


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("target", ["call", "turn"])
def test_a_stop_meanwhile_answers_nothing(kind, target):
    with asking(kind) as c:
        turn = c.ask("stop", [tool("deploy")])
        call, question = open_question(c, turn)
        done = c.cancel(operation=call["id"] if target == "call" else turn)
        # The server's work until then has an unknown outcome.
        assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1 and not done["report"]["proven"], done
        ended = c.operation(call["id"])
        assert (ended["status"], ended["stop"]["proof"]) == ("cancelled", "none"), ended
        late = word(c, call, "approve", question, values={"environment": "staging"})
        assert late.status == 409 and late.json["code"] == "not_paused", late.body
        assert c.ended(turn)["status"] == ("completed" if target == "call" else "cancelled")
        result, = c.results("odd", turn)
        assert result["cancelled"] and result["result"]["error"]["message"] == "Tool call cancelled by user.", result
        settled, = c.events(turn, "approval_resolved")
        assert settled["data"]["decision"] == "cancelled" and settled["data"]["question"] == question["id"], settled
        if kind != "stateless":  # else the call is not with the server any more
            until(lambda: len(c.seen("cancelled")) == 1, "the server to hear of the cancel")
        late = until(lambda: c.operation(call["id"])["late"], "what became of the cancel") if kind == "stateless" else None
        assert late in (None, {"server": "done"})
        assert answers(c) == 0
        c.check_scope("odd")


@pytest.mark.parametrize("kind", ["stdio", "http", "stateless"])
def test_a_controller_that_dies_meanwhile_ends_the_call_as_unknown_and_never_repeats_it(kind):
    with asking(kind) as c:
        turn = c.ask("die", [tool("twice")])
        call, first = open_question(c, turn)
        assert word(c, call, "approve", first, values={"environment": "staging"}).status == 200
        call, question = open_question(c, turn, first["id"])
        calls = len(c.seen("call"))
        c.restart()
        assert c.ended(turn)["status"] == "completed", "the turn goes on without the call"
        ended = c.operation(call["id"])
        assert ended["status"] == "failed" and ended["error"]["code"] == "interrupted" and ended["result"] is None, ended
        assert "question" not in ended["tool"]
        result, = c.results("odd", turn)
        assert "unknown" in result["result"]["error"]["message"] and not result["cancelled"], result
        assert word(c, call, "approve", question, values={}).status == 409
        assert [e["data"]["decision"] for e in c.events(turn, "approval_resolved")] == ["approved", "cancelled"]
        assert not c.api("GET", "/v1/operations?status=paused").json["operations"]
        c.restart()
        c.next_message_is_taken("odd")
        assert len(c.seen("call")) == calls and answers(c) == 1
        c.check_scope("odd")


def test_the_time_of_a_human_is_not_the_tools_but_the_turns():
    more = '[tools.timeouts]\n"mcp:odd" = "5s"\n[[agents]]\nname = "hasty"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:odd"]\nbudget = { timeout = "15s" }\n'
    with asking("stdio", more=more) as c:
        assert c.ended(c.ask("before"))["status"] == "completed"  # its server runs
        c.model.plan["slow"] = [[tool("deploy")]]
        turn = c.say("odd", "slow", agent="hasty")
        call, question = open_question(c, turn)
        ended = c.ended(turn)
        assert (ended["status"], ended["error"]["code"]) == ("failed", "timeout"), ended
        assert c.operation(call["id"])["stop"]["cause"] == "parent_ended", "not by its own limit of 5 s"
        assert not c.events(turn, "tool_timeout") and answers(c) == 0
        assert word(c, call, "approve", question, values={"environment": "staging"}).status == 409
        until(lambda: c.seen("cancelled"), "the server to hear of the end")
        c.check_scope("odd")


def test_a_server_that_dies_takes_its_question_along():
    with asking("stdio") as c:
        turn = c.ask("die", [tool("deploy")])
        call, question = open_question(c, turn)
        server, = [p for p in processes.marked(ASKING) if c.workspace.encode() in processes.read(f"/proc/{p}/cmdline")]
        os.kill(server, signal.SIGKILL)
        assert c.ended(turn)["status"] == "completed"
        assert c.results("odd", turn)[0]["result"]["error"]["code"] == "outcome_unknown"
        assert word(c, call, "approve", question, values={"environment": "staging"}).status == 409
        assert [e["data"]["decision"] for e in c.events(turn, "approval_resolved")] == ["cancelled"]
        c.check_scope("odd")


def test_of_two_open_calls_on_one_stream_nobody_is_asked():
    with asking("stdio") as c:
        turn = c.ask("first", [tool("deploy")])
        open_question(c, turn)
        other = c.ask("second", [tool("deploy")], scope="other")
        assert c.ended(other)["status"] == "completed"
        assert "which call asks" in json.dumps(c.results("other", other)[0])
        assert len(c.api("GET", "/v1/operations?status=paused").json["operations"]) == 1
        c.cancel(scope="odd")


def test_who_may_answer_is_who_may_approve_and_an_approved_call_may_still_ask():
    with asking("stdio", more='[[approval]]\ntool = "mcp__odd__deploy"\n') as c:
        observer = c.api("POST", "/v1/tokens", {"name": "eyes", "role": "observer", "scope": None}).json["token"]
        turn = c.ask("go", [tool("deploy")])
        call, = until(lambda: c.below(turn, status="paused"), "the call to wait for approval")
        assert call["waiting_for"]["what"] == "approval" and "question" not in call["tool"]
        assert not c.seen("call")
        assert word(c, call, "approve").status == 200
        call, question = open_question(c, turn)
        # The click that approved the call, repeated, does not answer its question.
        assert word(c, call, "approve").status == 200 and answers(c) == 0
        body = {"question": question["id"], "values": {"environment": "staging"}}
        assert c.api("POST", f"/v1/operations/{call['id']}/approve", body, token=observer).status == 403
        assert c.api("POST", f"/v1/operations/{call['id']}/approve", body).status == 200
        assert c.ended(turn)["status"] == "completed"
        # What was decided about a question is told apart from the approval of its call.
        turn = c.ask("again", [tool("deploy")])
        call, = until(lambda: c.below(turn, status="paused"), "the call to wait for approval")
        assert word(c, call, "approve").status == 200
        call, question = open_question(c, turn)
        assert word(c, call, "deny", question).status == 200
        assert c.ended(turn)["status"] == "completed"
        assert word(c, call, "deny", question).status == 200, "a repeat"
        assert word(c, call, "approve", question, values={"environment": "staging"}).status == 409
        assert word(c, call, "approve").status == 200, "a repeat"
        assert word(c, call, "deny").status == 409
        c.check_scope("odd")


def test_quell_shows_the_question_and_answers_it():
    with asking("stdio") as c:
        turn = c.ask("go", [tool("deploy")])
        call, question = open_question(c, turn)
        shown = c.quell("show", call["id"], check=0).stdout.decode()
        assert "odd asks: Where to?" in shown and "environment" in shown and "(required)" in shown and "default 2" in shown, shown
        which = question["id"][-8:]
        blind = c.quell("approve", call["id"])
        assert blind.returncode != 0 and f"--question {which}".encode() in blind.stderr, blind.stderr
        wrong = c.quell("approve", call["id"], "--question", which, "--set", "environment=moon")
        assert wrong.returncode != 0 and b"staging" in wrong.stderr, wrong.stderr
        c.quell("approve", call["id"], "--question", which, "--set", "environment=staging", "--set", "replicas=3", check=0)
        assert c.ended(turn)["status"] == "completed"
        assert told(c.results("odd", turn)[0])[0]["content"] == {"environment": "staging", "replicas": 3, "notify": True}
