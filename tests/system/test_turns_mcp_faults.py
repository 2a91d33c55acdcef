"""Misbehaving MCP servers in turns: they die, hang, print garbage, offer a thousand tools, answer 50 MB; and a controller that
dies beside them. The turn stays valid, reports the fault, and the next call has a server again."""
import os
import signal

from harness import processes
from harness.odd_cluster import OddCluster, said, tool, wrong
from harness.recording_model import WITH_EXEC
from harness.waiting import until


def test_a_server_that_dies_in_the_middle_fails_its_calls_and_the_next_one_has_another():
    with OddCluster("plain") as c:
        turn = c.ask("die", [tool("die", n=2), tool("hang")], [tool("work", n=1)])
        assert c.ended(turn)["status"] == "completed"
        died, hung, worked = c.results("odd", turn)
        assert "exited with status 3" in wrong(died) and "exited with status 3" in wrong(hung)
        assert worked["ok"] and "worked on" in said(worked), worked
        assert len(c.seen("start")) == 2 and len(c.servers()) == 1
        # Killed from outside, while idle and while working.
        calls = len(c.seen("call hang"))
        os.kill(c.servers()[0], signal.SIGKILL)
        until(lambda: len(c.hosted("completed", "failed", "cancelled")) == 2, "the end of the second server to be known")
        turn = c.ask("after the kill", [tool("hang")])
        until(lambda: len(c.seen("start")) == 3 and len(c.seen("call hang")) == calls + 1, "the call to be with a third server")
        os.kill(c.servers()[0], signal.SIGKILL)
        assert c.ended(turn)["status"] == "completed"
        assert "ended by signal KILL" in wrong(c.results("odd", turn)[0])
        assert "worked on" in said(c.asked("once more", [tool("work")])[0])
        c.check_scope("odd")


def test_a_server_that_answers_no_calls_times_out_and_a_cancel_does_not_wait():
    with OddCluster("deaf", more='[tools.timeouts]\n"mcp:odd" = "2400ms"\n') as c:
        late, = c.asked("slow", [tool("work")])
        assert "[TIMEOUT]" in wrong(late) and "2.4" in wrong(late)
        until(lambda: c.seen("cancelled"), "the server to hear of the timeout")
        turn = c.ask("cancel", [tool("wreck", _meta={"timeout": 0}), tool("wreck", _meta={"timeout": 0})])
        until(lambda: c.seen("call wreck"), "the first of two exclusive calls to be with the server")
        done = c.cancel(operation=turn, grace_ms=600_000)
        assert done["status"] == "settled" and done["report"]["settled_ms"] < 60_000, done
        assert (done["report"]["receipts"]["unconfirmed"], done["report"]["receipts"]["never_started"]) == (1, 1), done
        until(lambda: len(c.seen("cancelled")) == 2, "the server to hear of the cancel")
        assert [r["result"]["error"]["message"] for r in c.results("odd", turn)] == ["Tool call cancelled by user.", "Tool call was not started: cancelled by user."]
        # Its outcome is unknown while the server runs, and stays unknown when it has ended.
        call = c.call(turn, "mcp__odd__wreck", "cancelled")
        assert c.operation(call["id"])["late"] is None
        c.cancel(scope="quell/mcp/odd")
        until(lambda: c.operation(call["id"])["late"] == {"server": "ignored"}, "the late word of the server")
        c.check_scope("odd")


def test_what_a_server_says_of_a_cancelled_call_is_recorded():
    with OddCluster("plain") as c:
        assert c.ended(c.ask("hello"))["status"] == "completed"
        names = {word: next(n for n in c.model.tools_offered("hello") if n.startswith("mcp__odd__" + word)) for word in ("answers", "fails")}
        for word, late in (("answers", "too_late"), ("fails", "done")):
            turn = c.ask(word, [(names[word], {})])
            until(lambda: c.seen(f"call {word} late"), "the call to be with the server")
            done = c.cancel(operation=turn)
            assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1, done
            call = c.call(turn, names[word], "cancelled")
            until(lambda: c.operation(call["id"])["late"], "the late word of the server")
            assert c.operation(call["id"])["late"] == {"server": late}
            # It is recorded beside the end, and changes neither the end nor the conversation.
            call = c.operation(call["id"])
            assert (call["status"], call["stop"]["receipt"]) == ("cancelled", "unconfirmed"), call
            assert [r["cancelled"] for r in c.results("odd", turn)] == [True]
        c.check_scope("odd")


def test_a_controller_that_dies_leaves_no_server_behind_and_begins_another_on_demand():
    with OddCluster("plain") as c:
        turn = c.ask("hang", [tool("hang", _meta={"timeout": 0})])
        until(lambda: c.seen("call hang"), "the call to be with the server")
        old, = c.servers()
        c.restart()
        until(lambda: not processes.alive(old), "the old server to be stopped")
        assert c.ended(turn)["status"] == "completed", "the model hears that nobody knows what became of the call"
        result, = c.results("odd", turn)
        assert result["result"]["error"]["code"] == "interrupted" and result["result"]["outcome"] == "unknown", result
        stopped = until(lambda: c.hosted("cancelled"), "the old server's end to be known")
        assert stopped[0]["stop"]["cause"] == "superseded" and stopped[0]["stop"]["proof"], stopped
        new, = c.servers()  # the turn that went on needed its tools
        assert "worked on" in said(c.asked("work", [tool("work")])[0])
        assert c.servers() == [new] != [old]
        c.check_scope("odd")


def test_two_agents_at_once_begin_one_server():
    with OddCluster("plain") as c:
        turns = [c.ask(f"work {i}", [tool("work", n=i)], scope=f"many-{i}") for i in range(12)]
        for turn in turns:
            assert c.ended(turn)["status"] == "completed"
        assert all("worked on" in said(c.results(f"many-{i}", t)[0]) for i, t in enumerate(turns))
        assert len(c.seen("start")) == 1


def test_a_thousand_tools_are_bounded_and_said():
    with OddCluster("many") as c:
        assert c.ended(c.ask("hello"))["status"] == "completed"
        offered = c.model.tools_offered("hello")
        assert len(offered) == 128 and "exec" in offered and "mcp__odd__tool-0" in offered
        log = c.log_text()
        assert "128 are the most" in log and "Name the tools that it needs" in log, log[-3000:]
        assert "worked on" in said(c.asked("work", [tool("tool-5")])[0])


def test_odd_names_are_offered_in_a_form_that_models_take():
    with OddCluster("names") as c:
        assert c.ended(c.ask("hello"))["status"] == "completed"
        offered = c.model.tools_offered("hello")
        odd = [n for n in offered if n.startswith(("mcp__odd__w__rk_with_spaces", "mcp__odd__w_", "mcp__odd__xxxx"))]
        assert len(odd) == 2 and all(len(n) <= 64 and n.isascii() for n in odd), sorted(offered)
        for i, name in enumerate(odd):
            assert "worked on" in said(c.asked(f"use {i}", [(name, {})])[0])


def test_garbage_between_the_answers_is_skipped():
    with OddCluster("garbage") as c:
        for i in range(3):
            assert "worked on" in said(c.asked(f"work {i}", [tool("work"), tool("work")])[1])
        assert len(c.seen("start")) == 1
        log = c.log_text()
        assert "prints what is not JSON: Listening on nothing" in log, log[-3000:]
        c.check_scope("odd")


def test_a_version_that_nobody_knows_is_said():
    with OddCluster("old") as c:
        assert c.ended(c.ask("hello"))["status"] == "completed"
        assert set(c.model.tools_offered("hello")) == WITH_EXEC
        log = c.log_text()
        assert "1999-01-01" in log and "quell knows" in log, log[-3000:]


def test_a_result_of_50_mb_is_refused_in_words_and_the_server_stays_usable():
    with OddCluster("huge") as c:
        result, = c.asked("huge", [tool("work")])
        assert "more than 4 MiB" in wrong(result) and "ask it for less" in wrong(result), str(result)[:500]
        assert len(c.seen("start")) == 1
        c.check_scope("odd")


def test_a_server_that_prints_garbage_without_end_gets_a_few_lines_of_the_log_and_a_count():
    with OddCluster("flood") as c:
        for i in range(2):
            assert "worked on" in said(c.asked(f"work {i}", [tool("work")])[0])
        c.cancel(scope="quell/mcp/odd")
        about = until(lambda: [line for line in c.log_text().splitlines() if "MCP server odd was stopped" in line], "the server's end in the log")
        lines = [line for line in c.log_text().splitlines() if "prints what is not JSON" in line]
        assert 5 <= len(lines) <= 15, len(lines)
        left_out = int(about[0].split("(")[1].split()[0])
        assert left_out + len(lines) >= 60_000 - 5, (left_out, len(lines))
        c.check_scope("odd")
