"""Turns go on after a restart of quelld, killed or stopped, at each of their steps: finished calls keep their results, the model
is asked again, tasks and sub-agents are adopted, a stop beats all of that, and nobody goes on more than three times."""
import itertools
import json
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.odd_cluster import OddCluster
from harness.recording_model import RecordingModel
from harness.resuming import ends, BRIEF, ONCE, ASKED, waits, Resuming
from harness.turns import Watching
from harness.waiting import until


@pytest.fixture
def world():
    m = marker()
    with Resuming(m, BRIEF + ONCE + ASKED) as c:
        yield c, m


@ends
def test_a_model_that_had_not_answered_is_asked_again(world, sig):
    c, _ = world
    turn = c.say("go", "silent")
    call, = until(lambda: c.below(turn, kind="model_call", status="running"), "the model to be asked")
    queued = c.say("go", "hello")
    c.again(sig)
    c.completed(turn, "go", "Not silent any more.")
    assert c.resumed(turn) == [0]
    assert c.operation(call["id"])["error"]["code"] == "interrupted"
    assert [o["status"] for o in sorted(c.below(turn, kind="model_call"), key=lambda o: o["seq"])] == ["failed", "completed"]
    c.completed(queued, "go", "You said hello.")
    assert c.resumed(queued) == [] and len(c.events(turn, "turn_start")) == 1


@ends
def test_a_text_that_was_shown_is_replaced(world, sig):
    c, _ = world
    turn = c.say("go", "streams")
    c.wait_event(turn, "text_delta")
    watching = Watching(c, turn)
    watching.wait("text_delta")
    last = c.events(turn)[-1]["id"]
    c.again(sig)
    c.completed(turn, "go", "A whole answer.")
    assert c.resumed(turn) == [0]
    # A stream that continues behind the last event learns of it.
    later = Watching(c, turn, last)
    assert later.wait("turn_resumed")["data"]["offset"] == 0
    assert later.wait("turn_complete")["data"]["text"] == "A whole answer."


@ends
def test_stored_answers_and_results_stay(world, sig):
    c, _ = world
    turn = c.say("go", "second")
    until(lambda: "Half a" in c.shown(turn), "the second answer to begin")
    results = c.results("go", turn)
    c.again(sig)
    done = c.completed(turn, "go", "First.\n\nSecond.")
    assert c.resumed(turn) == [len("First.")]
    assert c.results("go", turn) == results and len(c.below(turn, kind="task")) == 1
    assert done["turn"]["tool_calls"] == 1


@ends
def test_a_running_command_is_adopted(world, sig):
    c, _ = world
    turn = c.say("go", "runs")
    until(lambda: c.runs("runs"), "the command to run")
    task, = c.below(turn, kind="task")
    c.again(sig)
    until(lambda: c.resumed(turn), "the turn to go on")
    until(lambda: c.operation(turn)["turn"]["current_tool"] == "exec", "its call to go on")
    assert c.operation(turn)["result"] is None
    c.go("runs")
    assert c.ended(turn)["status"] == "completed"
    assert c.operation(task["id"])["status"] == "completed" and [o["id"] for o in c.below(turn, kind="task")] == [task["id"]]
    result, = c.results("go", turn)
    assert result["ok"] and "went on" in str(result["result"]) and c.runs("runs") == 1, result
    c.check_scope("go")


@ends
def test_a_command_that_ended_meanwhile_has_its_result(world, sig):
    c, m = world
    turn = c.say("go", "ends")
    until(lambda: c.runs("ends"), "the command to run")
    c.kill_controller(sig)
    c.go("ends")
    until(lambda: not processes.marked(m), "the command to end")
    c.start_controller()
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("go", turn)
    assert result["ok"] and "went on" in str(result["result"]), result
    c.check_scope("go")


@ends
def test_calls_that_had_not_begun_begin_and_those_that_ended_are_not_repeated(world, sig):
    c, _ = world
    turn = c.say("go", "many")
    until(lambda: c.runs("one") or c.runs("two"), "one command to run")
    until(lambda: len(c.events(turn, "tool_result")) == 1, "the listing to be done")
    c.again(sig)
    for name in ("one", "two"):
        c.go(name)
    assert c.ended(turn)["status"] == "completed"
    assert [r["ok"] for r in c.results("go", turn)] == [True] * 3
    assert (c.runs("one"), c.runs("two")) == (1, 1)
    assert len(c.below(turn, kind="tool_call")) == 3 and len(c.below(turn, kind="task")) == 3
    c.check_scope("go")


@ends
def test_a_sub_agent_goes_on_with_its_command(world, sig):
    c, _ = world
    turn = c.say("go", "below")
    until(lambda: c.runs("inner"), "the command of the sub-agent to run")
    agent, = c.below(turn, kind="sub_agent")
    for _ in range(2):
        c.again(sig)
        until(lambda: c.call(agent["id"], "exec", "running"), "its call to go on")
    c.go("inner")
    done = c.ended(turn)
    assert done["status"] == "completed" and "went on" in done["turn"]["text"], done
    assert [o["id"] for o in c.below(turn, kind="sub_agent")] == [agent["id"]] and c.runs("inner") == 1
    assert c.operation(agent["id"])["status"] == "completed"
    c.check_scope("go")


@ends
def test_the_text_of_a_sub_agent_is_replaced_too(world, sig):
    c, _ = world
    turn = c.say("go", "talks")
    agent, = until(lambda: c.below(turn, kind="sub_agent"), "the sub-agent")
    until(lambda: "Half a" in c.shown(agent["id"]), "it to speak")
    c.again(sig)
    assert c.ended(turn)["status"] == "completed"
    assert c.resumed(agent["id"]) == [0] == c.resumed(turn)
    assert c.shown(agent["id"]) == "The sub-agent speaks."
    assert "The sub-agent speaks." in str(c.results("go", turn)[0])
    c.check_scope("go")


@ends
def test_what_a_stopped_command_had_printed_is_read_again_by_a_turn_and_a_sub_agent(world, sig):
    c, _ = world
    turns = {text: c.say("go/" + text, text) for text in ("prints", "through")}
    for turn in turns.values():
        call = c.call(turn, "exec", "running")
        printed = lambda: [t for t in c.below(call["id"], kind="task") if b"42printed" in c.api("GET", f"/v1/operations/{t['id']}/output?stream=stdout").body]
        until(printed, "the command to print")
        assert c.cancel(operation=call["id"])["status"] == "settled"
        until(lambda: len(c.below(call["parent"], kind="model_call", status="live")) == 1, "the model to read the result")
    c.again(sig)
    for text, turn in turns.items():
        done = c.ended(turn)
        assert done["status"] == "completed" and "42printed" in done["turn"]["text"] and "cancelled" in done["turn"]["text"], done
        c.check_scope("go/" + text)


def test_an_approval_in_a_sub_agent_waits_on_over_any_number_of_restarts(world):
    c, _ = world
    turn = c.say("go", "humans")
    waits_for_one = lambda: [o["id"] for o in c.below(turn, status="paused")]
    call, = until(waits_for_one, "a human to be asked")
    for sig in [signal.SIGKILL, signal.SIGTERM] * 3:
        c.again(sig)
        assert waits_for_one() == [call]
        until(lambda: c.operation(turn)["turn"]["tool_calls"] == 1, "the turn to stand again")
        agent, = c.below(turn, kind="sub_agent")
        assert agent["status"] == "running" and c.resumed(turn) == [] == c.resumed(agent["id"])
    assert c.api("POST", f"/v1/operations/{call}/approve", {}).status == 200
    done = c.ended(turn)
    assert done["status"] == "completed" and "removed" in done["turn"]["text"], done
    assert len(c.events(turn, "approval_required")) == 1 and len(c.below(turn, kind="task")) == 1
    c.check_scope("go")


def test_the_fourth_restart_ends_a_turn(world):
    c, m = world
    turns = {text: c.say("go/" + text, text) for text in ("silent", "runs", "below", "streams")}
    until(lambda: c.runs("runs") and c.runs("inner") and c.shown(turns["streams"]), "all of them to be under way")
    until(lambda: c.below(turns["silent"], kind="model_call", status="running"), "the silent model to be asked")
    for n in range(1, 4):
        c.restart()
        for turn in turns.values():
            until(lambda: len(c.resumed(turn)) == n, f"resume {n}")
            assert c.operation(turn)["status"] == "running"
    until(lambda: c.events(turns["streams"], "text_delta", "turn_resumed")[-1]["type"] == "text_delta", "some text")
    c.restart()
    for text, turn in turns.items():
        done = c.ended(turn)
        assert done["status"] == "failed" and done["error"]["code"] == "interrupted" and done["stop"] is None, done
        assert c.check_turn(turn)["data"]["reason"] == "interrupted" and len(c.resumed(turn)) == 3
        c.check_scope("go/" + text)
    until(lambda: not processes.marked(m), "no process to be left")
    until(lambda: len(c.of_turn("go/streams", turns["streams"])) == 2, "the text to be kept")
    answer = c.of_turn("go/streams", turns["streams"])[1]
    assert answer["interrupted"] and answer["text"].startswith(c.shown(turns["streams"])), answer
    c.next_message_is_taken("go/silent")


@ends
@pytest.mark.parametrize("target", ["turn", "scope"])
def test_a_stop_just_before_the_end_beats_the_resume(world, target, sig):
    c, m = world
    turns = {text: c.say("go/" + text, text) for text in ("streams", "stubborn", "below", "humans")}
    until(lambda: c.runs("inner") and len(processes.marked(m)) >= 2 and c.shown(turns["streams"]), "all of them to be under way")
    until(lambda: c.below(turns["humans"], status="paused"), "a human to be asked")
    orders = [{"operation": t} for t in turns.values()] if target == "turn" else [{"scope": "go"}]
    cancels = [c.api("POST", "/v1/cancels", {**o, "grace_ms": 0, "wait": "fenced", "by": {"id": "mia", "name": "Mia"}}).json["id"] for o in orders]
    made = {text: len(c.below(t)) for text, t in turns.items()}
    c.again(sig)
    for text, turn in turns.items():
        done = c.ended(turn)
        assert done["status"] == "cancelled" and c.resumed(turn) == [], (text, done)
        assert len(c.below(turn)) == made[text], "nothing is begun below it"
        assert c.check_turn(turn)["data"]["reason"] == "user"
        assert all(r["cancelled"] for r in c.results("go/" + text, turn))
    for cancel in cancels:
        over = until(lambda: (lambda x: x if x["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{cancel}?wait=settled&wait_ms=60000").json), "the cancel")
        assert over["report"]["unproven_total"] == 0, over
    until(lambda: not processes.marked(m), "no process to be left")
    for text in turns:
        c.next_message_is_taken("go/" + text)


def test_a_stop_just_after_the_restart_ends_all_of_it(world):
    c, m = world
    turns = {text: c.say("go/" + text, text) for text in ("streams", "runs", "below", "humans")}
    until(lambda: c.runs("inner") and c.runs("runs") and c.shown(turns["streams"]), "all of them to be under way")
    until(lambda: c.below(turns["humans"], status="paused"), "a human to be asked")
    c.restart()
    done = c.cancel(scope="go")
    assert done["status"] == "settled" and done["report"]["proven"], done
    for text, turn in turns.items():
        assert c.ended(turn)["status"] == "cancelled", c.operation(turn)
        assert all(r["cancelled"] for r in c.results("go/" + text, turn))
        c.check_scope("go/" + text)
    until(lambda: not processes.marked(m), "no process to be left")


def test_limits_and_budgets_go_on(world):
    c, _ = world
    brief = c.say("go/brief", "silent", agent="brief")
    once = c.say("go/once", "silent", agent="once")
    until(lambda: len(c.operations(scope="go", kind="model_call", status="running")) == 2, "the models to be asked")
    deadline = c.operation(brief)["deadline_at"]
    c.restart()
    until(lambda: c.resumed(brief) or c.operation(brief)["status"] == "failed", "the turn to go on")
    assert c.operation(brief)["deadline_at"] == deadline
    over = c.ended(brief)
    assert over["error"]["code"] == "timeout" and over["stop"]["cause"] == "timeout", over
    # The call that the restart cut is not one more.
    c.again()
    c.completed(once, "go/once", "Not silent any more.")


def test_a_watcher_of_the_whole_scope_sees_it_once(world):
    c, _ = world
    turn = c.say("go", "runs")
    until(lambda: c.runs("runs"), "the command to run")
    for count in (1, 2, 3):
        c.restart()
        until(lambda: len(c.resumed(turn)) == count and c.call(turn, "exec", "running"), "the call to go on")
    c.go("runs")
    assert c.ended(turn)["status"] == "completed"
    assert len(c.events(turn, "tool_start")) == 1 == len(c.events(turn, "tool_result")) and len(c.resumed(turn)) == 3
    c.check_scope("go")


def test_usage_goes_on_and_nothing_is_counted_twice(world):
    c, _ = world
    turn = c.say("go", "counts")
    until(lambda: len([o for o in c.below(turn, kind="model_call") if o["status"] == "running"]) == 1 and len(c.below(turn, kind="sub_agent", status="completed")) == 1,
          "the second question")
    used = lambda: {k: v for k, v in c.operation(turn)["turn"]["usage"].items() if k in ("input_tokens", "output_tokens")}
    until(lambda: used() == {"input_tokens": 105, "output_tokens": 11}, "the sum of all that was asked")
    c.kill_controller()
    c.start_controller()
    first, = [c.operation(o["id"])["result"]["usage"]["input_tokens"] for o in c.below(turn, kind="model_call", status="failed")]
    assert used() == {"input_tokens": 105 + first, "output_tokens": 11}, c.operation(turn)
    until(lambda: c.resumed(turn), "the turn to go on")
    assert used() == {"input_tokens": 105 + first, "output_tokens": 11}, c.operation(turn)
    c.again(signal.SIGTERM)
    c.completed(turn, "go", "Counted.")
    cut = [c.operation(o["id"])["result"]["usage"] for o in c.below(turn, kind="model_call", status="failed")]
    assert len(cut) == 2 and all(u["estimated"] and u["input_tokens"] > 0 and u["output_tokens"] == 0 for u in cut), cut
    assert used() == {"input_tokens": 305 + sum(u["input_tokens"] for u in cut), "output_tokens": 31}, c.operation(turn)
    assert c.operation(turn)["turn"]["tool_calls"] == 1


@ends
def test_a_command_in_the_background_lives_on_and_is_not_begun_again(world, sig):
    c, _ = world
    turn = c.say("go", "later")
    until(lambda: c.runs("later") and c.shown(turn), "the command to run, and the model to speak")
    task, = c.below(turn, kind="task")
    c.again(sig)
    c.completed(turn, "go", "It runs.")
    assert [o["id"] for o in c.below(turn, kind="task")] == [task["id"]]
    c.wait_status(task["id"], "running")  # its worker says so when it is back
    c.go("later")
    assert c.wait_status(task["id"], "completed") and c.runs("later") == 1


def test_a_stop_while_the_turn_waits_for_its_tools_on_its_way_back():
    m = marker()
    with OddCluster("silent later") as c:
        turn = c.ask("go", [("exec", {"command": f"while :; do sleep 1; done #{m}"})])
        c.call(turn, "exec", "running")
        until(lambda: processes.marked(m), "the command to run")
        used = c.operation(turn)["turn"]["usage"]
        c.restart()
        until(lambda: len(c.seen("start")) == 2, "its tools to be asked for")
        assert c.operation(turn)["turn"]["usage"] == used and used["input_tokens"] > 0, used
        assert c.operation(turn)["status"] == "running" and not c.events(turn, "turn_resumed")
        done = c.cancel(operation=turn)
        assert done["status"] == "settled" and done["report"]["proven"], done
        assert not c.events(turn, "turn_resumed") and not processes.marked(m)
        assert c.ended(turn)["status"] == "cancelled" and c.check_turn(turn)["data"]["reason"] == "user"
        assert [r["cancelled"] for r in c.results("odd", turn)] == [True]
        c.check_scope("odd")


@ends
def test_a_turn_whose_own_rounds_were_summarised_goes_on_with_the_summary(sig):
    m = marker()
    small = ('[[models]]\nname = "small"\nprovider = "openai"\nmodel = "any"\nbase_url = "URL"\ncontext = 8000\nmax_tokens = 1500\n'
             '[[agents]]\nname = "small"\nmodel = "small"\nworkspace = "WORKSPACE"\ntools = ["exec"]\n')
    model = RecordingModel()
    rounds = itertools.count(1)

    def answer(messages):
        if any("Write a summary" in str(x["content"]) for x in messages if x["role"] == "system"):
            return "Words were said."
        if any("went on" in str(x["content"]) for x in messages if x["role"] == "tool"):
            return "All done."
        n = next(rounds)
        return [("exec", {"command": f"echo {n} # " + "word " * 700} if n < 14 else waits(m, "inside")["input"])]

    model.answer = answer
    try:
        with Resuming(m, small.replace("URL", model.url)) as c:
            turn = c.say("go", "list", agent="small")
            until(lambda: c.runs("inside"), "the last of fourteen commands to run", 180)
            summaries = [x for x in c.messages("go") if x["role"] == "summary"]
            assert summaries, "its own rounds are summarised"
            asked = len(model.requests)
            c.again(sig)
            until(lambda: c.resumed(turn), "the turn to go on")
            c.go("inside")
            assert c.ended(turn)["status"] == "completed", c.operation(turn)
            request, = model.requests[asked:]
            body = json.dumps(request["messages"])
            assert "Words were said." in body and "went on" in body and len(body) < 8000 * 4, body[:2000]
            assert c.operation(turn)["turn"]["tool_calls"] == 14 == len(c.results("go", turn))
            c.check_scope("go")
    finally:
        model.close()


@pytest.mark.parametrize("target", ["the call", "the sub-agent"])
def test_a_stop_of_a_part_while_the_turn_waits_for_its_tools_on_its_way_back(target):
    m = marker()
    loop = ("exec", {"command": f"while :; do sleep 1; done #{m}"})
    boss = '[[agents]]\nname = "boss"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:odd", "exec", "spawn_agent"]\n'
    with OddCluster("silent later", more=boss) as c:
        c.model.plan["inner"] = [[loop]]
        c.model.plan["go"] = [[loop] if target == "the call" else [("spawn_agent", {"task": "inner"})]]
        turn = c.say("odd", "go", agent="boss")
        agent = None if target == "the call" else until(lambda: c.below(turn, kind="sub_agent"), "the sub-agent")[0]["id"]
        call = c.call(agent or turn, "exec", "running")["id"]
        until(lambda: processes.marked(m), "the command to run")
        c.restart()
        until(lambda: len(c.seen("start")) == 2, "its tools to be asked for")
        done = c.cancel(operation=agent or call)
        assert done["status"] == "settled" and done["report"]["proven"], done
        assert not c.events(turn, "turn_resumed") and not processes.marked(m)
        assert c.operation(agent or call)["status"] == "cancelled" and c.operation(call)["status"] == "cancelled"
        assert c.operation(turn)["status"] == "running"
        if target == "the call":
            assert c.ended(turn, 60)["status"] == "completed", "it goes on without"
        else:
            c.cancel(operation=turn)
        c.check_scope("odd")
