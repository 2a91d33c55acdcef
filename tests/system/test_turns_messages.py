"""Messages: owners of streams, repeats, the queue of a scope, and a full disk while turns run."""
import concurrent.futures
import os
import subprocess

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster, Watching
from harness.waiting import until


def script(m):
    return [
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"when": {"user": "short"}, "steps": [{"text": "This takes a moment", "chunk": 4, "delay_ms": 40}]},
        {"when": {"user": "short", "round": 1}, "text": "never"},
        {"when": {"user": "held"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"while [ ! -e go ]; do sleep 0.05; done #{m}"}}]}]},
        {"when": {"user": "calls one"}, "steps": [{"delay_ms": 12000}, {"calls": [{"name": "list", "input": {"path": "."}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m)) as c:
        yield c, m


def test_a_stream_tells_the_whole_turn_in_order(world):
    c, _ = world
    stream = c.stream("chat", "short", id="m-1")
    events = stream.to_end()
    kinds = [k for k, _ in events]
    assert kinds[0] == "message_decided" and kinds.count("turn_start") == kinds.count("turn_complete") == 1, kinds
    assert kinds[-1] == "operation_completed" and kinds.index("turn_start") < kinds.index("text_delta") < kinds.index("turn_complete")
    pieces = [d["data"] for k, d in events if k == "text_delta"]
    assert [p["offset"] for p in pieces] == [sum(len(q["text"]) for q in pieces[:i]) for i in range(len(pieces))]
    whole = next(d["data"]["text"] for k, d in events if k == "turn_complete")
    assert "".join(p["text"] for p in pieces) == whole == "This takes a moment"
    said, answered = c.api("GET", "/v1/messages?scope=chat").json["messages"]
    assert said["usage"] is None and answered["usage"]["output_tokens"] > 0, answered
    assert answered["usage"] == next(d["data"]["usage"] for k, d in events if k == "turn_complete")
    c.check_scope("chat")


@pytest.mark.parametrize("what", ["endless", "runs"])
def test_who_streams_a_turn_owns_it(world, what):
    c, m = world
    stream = c.stream("chat", what)
    turn = stream.turn()
    if what == "runs":
        until(lambda: processes.marked(m), "the command to run")
    else:
        stream.wait("text_delta")
    stream.hang_up()
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["cause"] == "disconnect", done
    over = c.check_turn(turn)
    assert over["data"]["reason"] == "disconnect", over
    until(lambda: not processes.marked(m), "the command to be gone")
    c.next_message_is_taken("chat")
    c.check_scope("chat")


def test_a_queued_turn_whose_stream_is_closed_is_discarded(world):
    c, _ = world
    first = c.say("chat", "endless")
    stream = c.stream("chat", "hello")
    turn = stream.turn()
    assert c.operation(turn)["status"] == "pending" and c.operation(turn)["waiting_for"]["what"] == "turn"
    stream.hang_up()
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["receipt"] == "never_started", done
    assert [x["discarded"] for x in c.of_turn("chat", turn)] == [True]
    assert c.operation(first)["status"] == "running"
    c.cancel(scope="chat")
    c.check_scope("chat")


def test_nobody_else_stops_a_turn_by_hanging_up(world):
    c, _ = world
    stays = c.stream("chat/a", "endless", on_disconnect="continue")
    turn = stays.turn()
    stays.wait("text_delta")
    watcher = Watching(c, turn)
    watcher.wait("text_delta")
    stays.hang_up()
    watcher.hang_up()
    by_json = c.say("chat/b", "endless")
    again = c.stream("chat/b", "endless", id="x")
    queued = again.turn()
    repeat = c.stream("chat/b", "endless", id="x")  # a repeat owns nothing
    assert repeat.wait("message_decided")["duplicate"] and repeat.turn() == queued
    repeat.hang_up()
    before = len(c.events(turn, "text_delta"))
    until(lambda: len(c.events(turn, "text_delta")) > before + 20, "the turn to go on")
    c.wait_status(by_json, "running")
    assert {c.operation(t)["status"] for t in (turn, by_json)} == {"running"} and c.operation(queued)["status"] == "pending"
    again.hang_up()
    assert c.ended(queued)["status"] == "cancelled"
    assert c.operation(by_json)["status"] == "running"
    c.cancel(scope="chat")
    for scope in ("chat/a", "chat/b"):
        c.check_scope(scope)


def test_a_stream_that_the_controller_breaks_is_no_hang_up(world):
    c, _ = world
    waits = c.stream("chat", "hello there")
    waits.to_end()
    stream = c.stream("chat/a", "endless")
    turn = stream.turn()
    stream.wait("text_delta")
    c.kill_controller()
    stream.hang_up()
    c.start_controller()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    assert c.operation(turn)["status"] == "running" and c.operation(turn)["stop"] is None
    assert c.cancel(operation=turn)["status"] == "settled"
    c.check_scope("chat/a")


def test_a_message_said_twice_is_one_turn(world):
    c, _ = world
    first = c.post("chat", "hello", id="discord:1")
    assert first.status == 202 and not first.json["duplicate"]
    turn = first.json["turn"]["id"]
    for _ in range(2):
        again = c.post("chat", "hello", id="discord:1")
        assert again.status == 200 and again.json["duplicate"] and again.json["turn"]["id"] == turn, again.body
    assert again.json["message"] == first.json["message"] and again.json["seq"] == first.json["seq"]
    other = c.post("chat/other", "hello", id="discord:1")
    assert other.status == 202 and other.json["turn"]["id"] != turn
    c.restart()
    again = c.post("chat", "hello", id="discord:1")
    assert again.status == 200 and again.json["duplicate"] and again.json["turn"]["id"] == turn
    assert len([m for m in c.messages("chat") if m["role"] == "user"]) == 1


def test_two_clients_with_the_same_message_at_once_start_one_turn(world):
    c, _ = world
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i in range(15):
            answers = list(pool.map(lambda _: c.post("twice", "hello", id=f"m{i}"), range(8)))
            assert {a.status for a in answers} <= {200, 202}, [a.body for a in answers]
            assert len({a.json["turn"]["id"] for a in answers}) == 1, [a.json["turn"] for a in answers]
            assert [a.json["duplicate"] for a in answers].count(False) == 1
    assert len([m for m in c.messages("twice") if m["role"] == "user"]) == 15
    for m in c.messages("twice"):
        c.ended(m["turn"])
    c.check_scope("twice")


def test_messages_of_a_scope_are_answered_one_after_the_other(world):
    c, _ = world
    turns = [c.say("queue", f"held {i}") for i in range(4)]
    beside = [c.say(f"queue/{i}", "held") for i in range(4)]
    for turn in (turns[0], *beside):  # all at once
        c.call(turn, "exec", "running")
    shown = [c.operation(t)["status"] for t in turns]
    assert shown == ["running"] + ["pending"] * 3, shown
    position = c.post("queue", "held last")
    assert position.json["turn"]["position"] == 4 and position.json["turn"]["status"] == "pending", position.json
    turns.append(position.json["turn"]["id"])
    gone = turns.pop(2)
    answer = c.api("POST", f"/v1/operations/{gone}/cancel", {"wait": "settled"})
    assert answer.json["report"]["receipts"]["never_started"] == 1, answer.body
    open(os.path.join(c.workspace, "go"), "w").close()
    spans = [(c.ended(t)["started_at"], c.ended(t)["ended_at"]) for t in turns]
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
    others = [(c.ended(t)["started_at"], c.ended(t)["ended_at"]) for t in beside]
    assert max(s for s, _ in others) < min(e for _, e in others), others  # all at once
    assert max(s for s, _ in others) < spans[0][1]
    assert [m["discarded"] for m in c.of_turn("queue", gone)] == [True]
    assert c.operation(gone)["status"] == "cancelled"
    c.check_scope("queue")


def test_a_cancel_of_the_scope_takes_the_queue_too(world):
    c, _ = world
    turns = [c.say("queue", "endless") for _ in range(5)]
    c.wait_event(turns[0], "text_delta")
    done = c.cancel(scope="queue")
    assert done["status"] == "settled" and done["report"]["receipts"]["never_started"] == 4, done
    assert [c.ended(t)["status"] for t in turns] == ["cancelled"] * 5
    assert [m["discarded"] for t in turns[1:] for m in c.of_turn("queue", t)] == [True] * 4
    last = c.next_message_is_taken("queue")
    assert c.operation(last)["turn"]["text"] == "You said hello."
    c.check_scope("queue")


def test_the_queue_survives_a_kill(world):
    c, _ = world
    running = c.say("queue", "endless")
    c.wait_event(running, "text_delta")
    waiting = [c.say("queue", f"hello {i}") for i in range(3)]
    c.restart()
    until(lambda: c.events(running, "turn_resumed"), "the turn that ran to go on")
    assert {c.operation(t)["status"] for t in waiting} == {"pending"}
    c.cancel(operation=running)
    for i, turn in enumerate(waiting):
        assert c.ended(turn)["turn"]["text"] == f"You said hello {i}."
    c.check_scope("queue")


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield str(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_turn_on_a_full_disk_ends_with_a_clear_error_and_can_be_cancelled(small_disk):
    m = marker()
    c = TurnCluster(script(m), workers=0)
    c.state = os.path.join(small_disk, "state")
    with c:
        c.add_worker("w1")
        runs = c.say("full/runs", "runs")
        until(lambda: processes.marked(m), "the command to run")
        calls = c.say("full/calls", "calls one")
        filler = os.path.join(small_disk, "filler")
        with open(filler, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 65536)
            except OSError:
                pass
        refused = until(lambda: (lambda a: a if a.status == 503 else None)(c.post("full/new", "hello")), "new messages to be refused")
        assert refused.json["code"] == "storage_unavailable" and "space" in refused.json["detail"]
        done = c.ended(calls)
        assert done["status"] == "failed" and "almost full" in done["error"]["message"], done
        stopped = c.cancel(operation=runs)
        assert stopped["status"] == "settled" and not processes.marked(m), stopped
        os.unlink(filler)
        until(lambda: c.post("full/after", "hello").status == 202, "messages to be taken again")
        c.restart()
        assert c.operation(runs)["status"] == "cancelled" and [r["cancelled"] for r in c.results("full/runs", runs)] == [True]
        for scope in ("full/calls", "full/runs"):
            c.next_message_is_taken(scope)
            c.check_scope(scope)
