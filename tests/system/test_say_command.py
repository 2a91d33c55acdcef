"""`quell say`, `quell approve` and `quell deny` with the real programs."""
import json
import os
import signal

import pytest

from harness import processes
from harness.cluster import marker
from harness.talk import APPROVAL, asked, chat, on_terminal, script, turns, world  # noqa: F401
from harness.turns import TurnCluster
from harness.waiting import until


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
    until(lambda: any(processes.ignores(p, signal.SIGTERM) for p in processes.marked(world.marker)), "the tool to ignore its signal")
    client.send_signal(sig)
    assert client.wait(timeout=60) == 130
    assert processes.marked(world.marker) == []
    turn, = turns(world, scope)
    assert turn["status"] == "cancelled" and turn["stop"]["cause"] == "cancel", turn


def test_a_second_ctrl_c_leaves_while_the_stop_goes_on():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1, settings=["defaults.grace=600s"]) as c:  # the stop goes on until it is tightened
        client = c.quell_background("say", "--scope", "say/twice", "stubborn")
        until(lambda: any(processes.ignores(p, signal.SIGTERM) for p in processes.marked(m)), "the tool to ignore its signal")
        client.send_signal(signal.SIGINT)
        until(lambda: turns(c, "say/twice")[0]["status"] == "cancelling", "the first to cancel")
        client.send_signal(signal.SIGINT)
        _, told = client.communicate(timeout=60)
        assert client.returncode == 130 and b"quell why" in told, told
        c.cancel(scope="say/twice", grace_ms=0)
        c.wait_status(turns(c, "say/twice")[0]["id"], "cancelled")
        assert processes.marked(m) == []


def test_a_stop_from_elsewhere_ends_say(world):
    client = world.quell_background("say", "--scope", "say/elsewhere", "forever")
    until(lambda: turns(world, "say/elsewhere"), "the turn")
    world.quell("cancel", "--scope", "say/elsewhere", check=0)
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 130


# ---- approve and deny -----------------------------------------------------------------------------------------------


def test_approve_and_deny_by_short_id(world):
    first = world.quell("say", "-d", "--scope", "ask/a", "danger", check=0).stdout.decode().strip()
    call = asked(world, "ask/a")
    table = world.quell("ps", "--status", "paused", "--scope", "ask/a", check=0).stdout.decode()
    assert call[-8:] in table and "exec rm -rf ./nothing" in table and "paused (approval)" in table, table
    why = world.quell("why", call[-8:], check=0).stdout.decode()
    assert f"quell approve {call[-8:]}" in why and "rule exec: rm *" in why, why
    second = world.quell("say", "-d", "--scope", "ask/a", "hello", check=0).stdout.decode().strip()
    until(lambda: b"waits for its turn" in world.quell("why", second, check=0).stdout, "the reason why it waits")
    done = world.quell("approve", call[-8:], "--reason", "fine")
    assert done.returncode == 0 and b"approved" in done.stdout, done
    assert "removed" in world.ended(first)["turn"]["text"] and world.ended(second)["status"] == "completed"
    assert world.quell("approve", call).returncode == 0, "the same word again is not an error"
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


def test_a_reader_that_goes_away_cancels_the_turn(world):
    for i, flags in enumerate(([], ["--json"])):
        reader, writer = os.pipe()
        client = world.quell_background(*flags, "say", "--scope", f"say/reader{i}", "forever", stdout=writer)
        os.close(writer)
        assert os.read(reader, 10)
        os.close(reader)
        assert client.wait(timeout=60) == 130
        assert turns(world, f"say/reader{i}")[0]["status"] == "cancelled"


def test_say_follows_a_turn_that_goes_on_after_a_restart():
    m = marker()
    with TurnCluster(script(m), APPROVAL, workers=1) as c:
        client = c.quell_background("say", "--scope", "crash/stream", "forever")
        until(lambda: turns(c, "crash/stream") and turns(c, "crash/stream")[0]["turn"]["text"], "the answer to begin")
        c.restart()
        turn = turns(c, "crash/stream")[0]["id"]
        anew = lambda: [e["type"] for e in c.events(turn, "turn_resumed", "text_delta")]
        until(lambda: "turn_resumed" in anew() and anew()[-2:] == ["text_delta"] * 2, "the new answer to begin")
        c.cancel(operation=turn)
        out, told = client.communicate(timeout=60)
        assert client.returncode == 130, (client.returncode, told)
        assert out.startswith(b"on and on") and b"\non and on" in out, out[-300:]
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
