"""`quell say`, `quell chat`, `quell approve` and `quell deny` with the real programs; the conversation on a real terminal."""
import json
import os
import signal
import stat

import pytest

from harness import processes
from harness.cluster import BIN, marker
from harness.terminal import Terminal
from harness.turns import TurnCluster
from harness.waiting import until

APPROVAL = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'
SHORT = '[[agents]]\nname = "hasty"\nmodel = "script"\nbudget = { timeout = "500ms" }\n'


def call(command):
    return {"calls": [{"name": "exec", "input": {"command": command}}]}


def script(m):
    return [
        {"when": {"user": "danger"}, "steps": [call("rm -rf ./nothing && echo removed")]},
        {"when": {"user": "tools"}, "steps": [{"text": "Working:"}, {"calls": [
            {"name": "exec", "input": {"command": "echo hello"}}, {"name": "list", "input": {"path": "."}}]}]},
        {"when": {"user": "stubborn"}, "steps": [call(f"trap '' TERM; echo {m}; sleep 1000 & sleep 1000")]},
        {"when": {"user": "delegate"}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "tools please"}}]}]},
        {"when": {"user": "broken"}, "steps": [{"error": {"code": "model_refused", "message": "no such model"}}]},
        {"when": {"user": "forever"}, "steps": [{"endless": "on and on ", "delay_ms": 20}]},
        {"when": {"user": "escape"}, "text": "\x1b[2Jgone?\x07 wide: 漢字 end"},
        {"when": {"user": "paragraph"}, "text": "word " * 100},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture(scope="module")
def world():
    m = marker()
    with TurnCluster(script(m), APPROVAL + SHORT, workers=1) as c:
        c.marker = m
        yield c


def on_terminal(c, *arguments, **more):
    return Terminal([f"{BIN}/quell", *arguments], c.environment(QUELL_STATE=os.path.join(c.directory, "person"), **more))


def chat(c, scope, *arguments):
    return on_terminal(c, "chat", "--scope", scope, *arguments)


def turns(c, scope):
    return sorted(c.operations(scope=scope, kind="turn"), key=lambda o: o["seq"])


# ---- say ------------------------------------------------------------------------------------------------------------

def test_say_prints_the_answer_and_nothing_else(world):
    done = world.quell("say", "--scope", "say/plain", "hello", "there")
    assert (done.stdout, done.stderr, done.returncode) == (b"You said hello there.\n", b"", 0)
    turn, = turns(world, "say/plain")
    assert turn["status"] == "completed"


def test_say_reads_standard_input(world):
    assert world.quell("say", "--scope", "say/stdin", "-", stdin=b"from a pipe\n").stdout == b"You said from a pipe.\n"
    assert world.quell("say", "--scope", "say/stdin", "-", stdin=b"").returncode == 125
    assert world.quell("say", "--scope", "say/stdin", "-", stdin=b"x" * 70000).returncode == 125
    assert len(turns(world, "say/stdin")) == 1, "what is refused here is not sent"


def test_say_on_a_terminal_tells_of_tools(world):
    with on_terminal(world, "say", "--scope", "say/tools", "tools") as t:
        assert t.end() == 0
        t.see("Working:", "exec echo hello", "list .", "ok", "Done:")


def test_say_json_is_one_event_a_line_and_the_turn_at_the_end(world):
    done = world.quell("--json", "say", "--scope", "say/json", "tools", check=0)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "message_decided" and lines[0]["data"]["decision"] == "turn"
    assert lines[-1]["type"] == "operation" and lines[-1]["operation"]["status"] == "completed"
    kinds = [line["type"] for line in lines]
    for kind in ("turn_start", "tool_start", "tool_result", "text_delta", "turn_complete"):
        assert kind in kinds, kinds
    assert done.stderr == b""


def test_say_without_waiting_prints_the_turn(world):
    turn = world.quell("say", "-d", "--scope", "say/leave", "hello", check=0).stdout.decode().strip()
    assert world.ended(turn)["status"] == "completed"
    assert world.quell("wait", turn[-8:]).returncode == 0
    shown = json.loads(world.quell("--json", "say", "--no-wait", "--scope", "say/leave", "hello", check=0).stdout)
    assert shown["decision"] == "turn" and world.ended(shown["turn"]["id"])


def test_say_ends_as_the_turn_ends(world):
    failed = world.quell("say", "--scope", "say/ends", "broken")
    assert failed.returncode == 1 and b"no such model" in failed.stderr, failed.stderr
    assert world.quell("say", "--scope", "say/ends", "--agent", "hasty", "forever").returncode == 124
    refused = world.quell("say", "--scope", "say/ends", "--agent", "nobody", "hi")
    assert refused.returncode == 125 and b"nobody" in refused.stderr
    assert world.quell("say", "--url", "http://127.0.0.1:1", "hi").returncode == 125
    turn = turns(world, "say/ends")[0]
    assert world.quell("wait", turn["id"]).returncode == 1


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_turn_and_waits_for_its_end(world, sig):
    scope = f"say/sig{int(sig)}"
    client = world.quell_background("say", "--scope", scope, "stubborn")
    until(lambda: len(processes.marked(world.marker)) >= 1, "the tool to run")
    client.send_signal(sig)
    assert client.wait(timeout=30) == 130
    assert processes.marked(world.marker) == []
    turn, = turns(world, scope)
    assert turn["status"] == "cancelled" and turn["stop"]["cause"] == "cancel", turn


def test_a_second_ctrl_c_leaves_while_the_stop_goes_on(world):
    client = world.quell_background("say", "--scope", "say/twice", "stubborn")
    until(lambda: len(processes.marked(world.marker)) >= 1, "the tool to run")
    client.send_signal(signal.SIGINT)
    until(lambda: turns(world, "say/twice")[0]["status"] == "cancelling", "the first to cancel")
    client.send_signal(signal.SIGINT)
    _, told = client.communicate(timeout=10)
    assert client.returncode == 130 and b"quell why" in told, told
    world.wait_status(turns(world, "say/twice")[0]["id"], "cancelled")
    assert processes.marked(world.marker) == []


def test_a_stop_from_elsewhere_ends_say(world):
    client = world.quell_background("say", "--scope", "say/elsewhere", "forever")
    until(lambda: turns(world, "say/elsewhere"), "the turn")
    world.quell("cancel", "--scope", "say/elsewhere", check=0)
    out, _ = client.communicate(timeout=30)
    assert client.returncode == 130


# ---- approve and deny -----------------------------------------------------------------------------------------------

def asked(c, scope):
    return until(lambda: c.operations(scope=scope, status="paused"), "a call to wait for a human")[0]["id"]


def test_approve_and_deny_by_short_id(world):
    first = world.quell("say", "-d", "--scope", "ask/a", "danger", check=0).stdout.decode().strip()
    call = asked(world, "ask/a")
    table = world.quell("ps", "--status", "paused", "--scope", "ask/a", check=0).stdout.decode()
    assert call[-8:] in table and "exec rm -rf ./nothing" in table and "paused (approval)" in table, table
    why = world.quell("why", call[-8:], check=0).stdout.decode()
    assert f"quell approve {call[-8:]}" in why and "rule exec: rm *" in why, why
    second = world.quell("say", "-d", "--scope", "ask/a", "hello", check=0).stdout.decode().strip()
    why = world.quell("why", second, check=0).stdout.decode()
    assert "waits for its turn" in why, why
    done = world.quell("approve", call[-8:], "--reason", "fine")
    assert done.returncode == 0 and b"approved" in done.stdout, done
    assert "removed" in world.ended(first)["turn"]["text"] and world.ended(second)["status"] == "completed"
    assert world.quell("approve", call).returncode == 0, "the same word again is no error"
    late = world.quell("deny", call)
    assert late.returncode == 1 and b"does not wait" in late.stderr, late.stderr
    assert world.quell("approve", "00000000").returncode == 3
    assert world.quell("approve", first).returncode == 1


def test_what_is_denied_is_told_to_the_model_with_its_reason(world):
    turn = world.quell("say", "-d", "--scope", "ask/d", "danger", check=0).stdout.decode().strip()
    world.quell("deny", asked(world, "ask/d")[-8:], "--reason", "not on a Friday", check=0)
    assert "not on a Friday" in world.ended(turn)["turn"]["text"]
    shown = world.quell("show", turn, check=0).stdout.decode()
    assert "not on a Friday" in shown and "main" in shown and "script" in shown, shown
    events = world.quell("events", "--scope", "ask/d", check=0).stdout.decode()
    assert "exec rm -rf ./nothing && echo removed  (rule exec: rm *)" in events and "denied by" in events, events


# ---- chat -----------------------------------------------------------------------------------------------------------

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
        t.see("/nonsense is no command")
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
        t.see('"stubborn" stopped: exec', "all proven", "You said hello.", seconds=30)
        t.prompt()
        assert processes.marked(world.marker) == []
        t.type("\x03")
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
        assert "queued" not in t.text()
        assert [o["status"] for o in turns(world, "chat/queue")] == ["cancelled", "completed", "completed"]
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


def test_a_reader_that_goes_away_cancels_the_turn(world):
    for i, flags in enumerate(([], ["--json"])):
        reader, writer = os.pipe()
        client = world.quell_background(*flags, "say", "--scope", f"say/reader{i}", "forever", stdout=writer)
        os.close(writer)
        assert os.read(reader, 10)
        os.close(reader)
        assert client.wait(timeout=30) == 130
        assert turns(world, f"say/reader{i}")[0]["status"] == "cancelled"


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

def test_say_reports_a_turn_that_a_restart_interrupted():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1) as c:
        client = c.quell_background("say", "--scope", "crash/stream", "forever")
        until(lambda: turns(c, "crash/stream") and turns(c, "crash/stream")[0]["turn"]["text"], "the answer to begin")
        c.restart()
        out, told = client.communicate(timeout=60)
        assert client.returncode == 125 and b"interrupted" in told, (client.returncode, told)
        assert out.startswith(b"on and on")
        assert c.quell("say", "--scope", "crash/stream", "hello").stdout == b"You said hello.\n"


def test_say_and_chat_outlive_a_restart_while_a_human_is_asked():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1) as c:
        client = c.quell_background("say", "--scope", "crash/say", "danger")
        with chat(c, "crash/chat") as t:
            t.prompt()
            t.enter("danger")
            t.prompt("run exec rm -rf ./nothing && echo removed? y/n ›")
            call = asked(c, "crash/say")
            c.kill_controller()
            t.see("no contact")
            c.start_controller()
            until(lambda: "no contact" not in t.text(), "contact to be back")
            t.enter("y")
            t.see("approved by", "Done:")
            t.prompt()
            c.quell("approve", call, check=0)
            out, told = client.communicate(timeout=60)
            assert client.returncode == 0 and b"removed" in out, (out, told)
            t.type("\x04")
            assert t.end() == 0


def test_a_stop_that_the_controller_does_not_hear_is_repeated():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1) as c:
        client = c.quell_background("say", "--scope", "crash/stop", "danger")
        asked(c, "crash/stop")
        c.kill_controller()
        client.send_signal(signal.SIGINT)
        c.start_controller()
        client.communicate(timeout=60)
        assert client.returncode == 130
        turn, = turns(c, "crash/stop")
        assert turn["status"] == "cancelled", turn


def test_say_gives_up_when_the_controller_stays_away_and_says_what_may_go_on():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1) as c:
        client = c.quell_background("say", "--scope", "crash/away", "--reconnect", "1s", "danger")
        asked(c, "crash/away")
        turn, = turns(c, "crash/away")
        c.kill_controller()
        _, told = client.communicate(timeout=60)
        assert client.returncode == 125 and f"turn {turn['id']} may go on".encode() in told, (client.returncode, told)
        c.start_controller()
        assert c.operation(turn["id"])["status"] == "running"
        c.cancel(operation=turn["id"])


def test_messages_that_come_as_turns_end_are_all_answered(world):
    for _ in range(60):
        world.stream("say/edge", "one").wait("turn_complete")
        world.post("say/edge", "two")
    until(lambda: not world.operations(scope="say/edge", kind="turn", status="live"), "every message to be answered")
    assert {o["status"] for o in turns(world, "say/edge")} == {"completed"}
