"""`quell chat` with the real programs; the conversation on a real terminal."""
import os
import signal
import stat

import pytest

from harness import processes
from harness.cluster import marker
from harness.talk import asked, chat, script, turns, world  # noqa: F401
from harness.turns import TurnCluster
from harness.waiting import TimedOut, until
from test_stop_words import UNNOTICED, frozen


def test_a_conversation_on_a_terminal(world):
    with chat(world, "chat/talk") as t:
        t.see("scope chat/talk")
        t.prompt()
        t.enter("hello")
        t.see("› hello", "You said hello.")
        t.prompt()
        t.enter("tools")
        t.see("exec echo hello", "list .", "Done:")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0
        text = t.text()
        assert text.count("You said hello.") == 1 and text.count("› hello") == 1 and text.count("› tools") == 1, text
        assert text.count("Working:") == 1, text
    with chat(world, "chat/talk") as t:
        t.see("hello", "You said hello.", "exec echo hello", "scope chat/talk")
        t.prompt()
        t.enter("/help")
        t.see("stop also what is queued behind it")
        t.enter("/history")
        until(lambda: t.text().count("You said hello.") == 2, "the conversation again")
        t.enter("/nonsense")
        t.see("/nonsense is not a command")
        assert len(turns(world, "chat/talk")) == 2, "commands are not sent"
        t.prompt()
        t.type("\x03")
        assert t.end() == 0


def test_long_answers_are_broken_at_words_and_stand_there_once(world):
    with chat(world, "chat/long") as t:
        t.prompt()
        t.enter("paragraph")
        until(lambda: t.text().count("word") == 100, "a hundred words, each once")
        t.prompt()
        assert all(line.split() == ["word"] * len(line.split()) for line in t.lines() if line.startswith("word"))
        t.enter("escape")
        t.see("?[2Jgone??", "漢字 end")
        t.prompt()
        assert "paragraph" in t.text(), "an escape of the model clears nothing"


def test_editing_and_history(world):
    with chat(world, "chat/edit") as t:
        t.prompt()
        t.type("helo")
        t.see("› helo")
        t.type("\x1b[Dl\x1b[F w")
        t.see("› hello w")
        t.type("\x17there\r")
        t.see("You said hello there.")
        t.prompt()
        t.type("\x1b[A")
        until(lambda: t.last() == "› hello there", "the line before, from the history")
        t.type("\x03")
        try:
            t.prompt(seconds=20)
        except TimedOut:  # the Ctrl-C came before the client had learned of the turn's end, and stopped the turn
            t.type("\x03")
            t.prompt()
        t.type("x" * 250)
        t.see("x" * 90)
        t.type("\x15")
        t.prompt()
        t.type("grüße 漢字\r")
        t.see("You said grüße 漢字.")
        t.prompt()
        t.enter("/quit")
        assert t.end() == 0
    kept = os.path.join(world.directory, "person", "chat_history")
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    with open(kept) as f:
        assert f.read().splitlines()[-3:] == ["hello there", "grüße 漢字", "/quit"]


@pytest.mark.parametrize("how", ["stop\r", "/stop\r", "\x03"])
def test_stop_in_the_middle_of_an_answer(world, how):
    scope = f"chat/stop{len(how)}{ord(how[0])}"
    with chat(world, scope) as t:
        t.prompt()
        t.enter("forever")
        t.see("on and on")
        t.type(how)
        t.see("stopped; 2 operations", "all proven")
        t.prompt()
        turn, = turns(world, scope)
        assert turn["status"] == "cancelled"
        t.enter("hello")
        t.see("You said hello.")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


def test_stop_kills_a_tool_that_ignores_its_signal_and_the_prompt_is_there_meanwhile(world):
    with chat(world, "chat/stubborn") as t:
        t.prompt()
        t.enter("stubborn")
        t.see("exec trap")
        until(lambda: len(processes.marked(world.marker)) >= 1, "the tool to run")
        t.enter("stop")
        t.see("stopping")
        t.enter("hello")
        t.see('"stubborn" stopped: exec', "all proven", "You said hello.")
        t.prompt()
        assert processes.marked(world.marker) == []
        t.type("\x04")  # Ctrl-C would stop a turn whose end the client has not read yet, and stay
        assert t.end() == 0


def test_nothing_is_called_stopped_before_its_proof_and_nothing_that_another_client_stopped():
    m = marker()
    with TurnCluster(script(m), settings=UNNOTICED, workers=1) as c:
        with chat(c, "chat/frozen") as t:
            for stop, words in (lambda: c.cancel(scope="chat/frozen", wait="fenced"), ["cancelled: exec (cancel)"]), (lambda: t.enter("stop"), ["stopped: exec", "all proven"]):
                t.prompt()
                t.enter("stubborn")
                until(lambda: processes.marked(m), "the tool to run")
                with frozen(c):
                    stop()
                    t.see("stopping")
                    assert processes.marked(m) and "stopped" not in t.text(), t.text()
                t.see(*words)
                assert not processes.marked(m)
            t.prompt()
            t.type("\x04")
            assert t.end() == 0


def test_what_is_typed_while_a_turn_runs_is_queued_and_stays_when_that_is_stopped(world):
    with chat(world, "chat/queue") as t:
        t.prompt()
        t.enter("forever")
        t.see("on and on")
        t.enter("hello")
        t.see("queued 1: hello")
        t.enter("again")
        t.see("queued 1: hello", "queued 2: again")
        t.type("\x03")
        t.see("You said hello.", "You said again.")
        t.prompt()
        until(lambda: "queued" not in t.text(), "the lines of the queue to be gone")
        until(lambda: [o["status"] for o in turns(world, "chat/queue")] == ["cancelled", "completed", "completed"], "the last turn to end")
        t.enter("forever")
        until(lambda: [o["status"] for o in turns(world, "chat/queue")][3:] == ["running"], "the turn to run")
        t.enter("never")
        until(lambda: len(turns(world, "chat/queue")) == 5, "the message to be taken")
        t.enter("/stop all")
        until(lambda: [o["status"] for o in turns(world, "chat/queue")][3:] == ["cancelled", "cancelled"], "both to be stopped")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


def test_questions_are_answered_inline(world):
    with chat(world, "chat/ask") as t:
        t.prompt()
        t.enter("danger")
        t.see("quell approve", "quell deny", "rule exec: rm *")
        t.prompt("run exec rm -rf ./nothing && echo removed? y/n ›")
        t.enter("y")
        t.see("approved by", "removed")
        t.prompt()
        t.enter("danger")
        t.prompt("run exec rm -rf ./nothing && echo removed? y/n ›")
        t.enter("n not now")
        t.see("denied by", "not now")
        t.prompt()
        t.enter("danger")
        t.prompt("run exec rm -rf ./nothing && echo removed? y/n ›")
        world.quell("approve", asked(world, "chat/ask"), check=0)
        t.prompt()
        t.enter("danger")
        t.prompt("run exec rm -rf ./nothing && echo removed? y/n ›")
        t.enter("stop")
        t.see("stopped")
        t.prompt()
        t.enter("y")
        t.see("You said y.")
        t.type("\x04")
        assert t.end() == 0


def test_tools_of_a_sub_agent_are_shown_below_it(world):
    with chat(world, "chat/below") as t:
        t.prompt()
        t.enter("delegate")
        t.see("  spawn_agent tools please", "    exec echo hello", "Done:")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


@pytest.mark.parametrize("how", ["\x04", "/quit\r", signal.SIGTERM, None])
def test_leaving_stops_what_runs_and_waits_for_it(world, how):
    scope = f"chat/leave{str(how)[-3:].strip()}".replace("\r", "").replace("\x04", "d")
    with chat(world, scope) as t:
        t.prompt()
        t.enter("stubborn")
        until(lambda: len(processes.marked(world.marker)) >= 1, "the tool to run")
        if how is None:
            t.hang_up()
        elif isinstance(how, str):
            t.type(how)
        else:
            os.kill(t.pid, how)
        assert t.end() == (1 if how is None else 0), "without a terminal its last words cannot be written"
        turn, = turns(world, scope)
        assert turn["status"] == "cancelled" and processes.marked(world.marker) == []


def test_another_size_of_the_terminal(world):
    with chat(world, "chat/size") as t:
        t.prompt()
        t.enter("forever")
        t.see("on and on")
        t.resize(60, 20)
        os.kill(t.pid, signal.SIGWINCH)
        t.type("\x03")
        t.see("stopped")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


def test_a_conversation_goes_on_after_a_pause_of_the_program(world):
    with chat(world, "chat/pause") as t:
        t.prompt()
        t.type("hel")
        t.see("› hel")
        os.kill(t.pid, signal.SIGSTOP)
        until(lambda: processes.state_of(t.pid) == "T", "the program to be stopped")
        t.type("lo")
        os.kill(t.pid, signal.SIGCONT)
        t.enter("")
        t.see("You said hello.")
        t.prompt()
        t.type("\x04")
        assert t.end() == 0


def test_piped_lines_are_answered_one_after_the_other(world):
    done = world.quell("chat", "--scope", "chat/pipe", stdin=b"one\n\ntools\nlast line")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "You said one." and lines[-1] == "You said last line." and lines[1] == "Working:"
    told = done.stderr.decode()
    assert "exec echo hello" in told and "\x1b" not in told and "\r" not in told, told
    assert [o["title"] for o in turns(world, "chat/pipe")] == ["one", "tools", "last line"]
    assert world.quell("chat", "--scope", "chat/pipe", stdin=b"broken\nhello\n").returncode == 1
    assert world.quell("chat", "--scope", "chat/pipe", stdin=b"").returncode == 0


# ---- the controller dies ----------------------------------------------------------------------------------------------
