"""`write` and `edit`: beside other calls, in the order of the calls for each file, without lost updates or leftovers."""
import fcntl
import os

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

CONFIG = ('[[agents]]\nname = "sleeper"\ncommand = ["sh", "-c", "sleep $1", "sh", "{prompt}"]\nworkspace = "WORKSPACE"\n'
          '[[agents]]\nname = "below"\nmodel = "script"\nworkspace = "WORKSPACE"\n')
LINES = [f"line {i}" for i in range(8)]


def edit(path, old, new):
    return {"name": "edit", "input": {"path": path, "old": old, "new": new}}


def write(path, text):
    return {"name": "write", "input": {"path": path, "text": text}}


def script():
    sleeper = {"name": "spawn_agent", "input": {"agent": "sleeper", "task": "1000"}}
    answers = [{"when": {"user": f"edit line {i}", "round": 1}, "steps": [{"calls": [edit("shared", f"line {i}\n", f"done {i}\n")]}]} for i in range(8)]
    answers += [{"when": {"user": who, "round": 1}, "steps": [{"calls": calls}]} for who, calls in (
        ("edit all", [edit("many", f"line {i}\n", f"done {i}\n") for i in range(8)]),
        ("write in order", [write("order", str(i)) for i in range(6)] + [write("./sub/../order", "last")]),
        ("beside", [sleeper, write("beside", "x"), edit("beside", "x", "y")]),
        ("exec waits", [write("made", "x\n"), {"name": "exec", "input": {"command": "cat made"}}]),
        ("read it", [{"name": "read", "input": {"path": "seen"}}]),
        ("edit it", [edit("seen", "two", "TWO")]),
        ("two edits", [edit("seen", "one", "ONE"), edit("./seen", "three", "THREE")]),
        ("through a link", [write("link", "new")]),
        ("blocked", [write("blocked/f", "1"), write("blocked/f", "2")]),
        ("write above and below", [write("both/f", "above"), {"name": "spawn_agent", "input": {"agent": "below", "task": "as a sub-agent"}}]),
        ("as a sub-agent", [write("./both/../both/f", "below")]),
        ("write last", [write("both/f", "last")]),
        ("elsewhere", [write("elsewhere", "x")]))]
    return answers + [{"when": {"result": ""}, "text": "Done."}, {"text": "You said {{text}}."}]


@pytest.fixture(scope="module")
def c():
    with TurnCluster(script(), CONFIG) as cluster:
        yield cluster


def put(c, name, text):
    with open(os.path.join(c.workspace, name), "w") as f:
        f.write(text)


def got(c, name):
    with open(os.path.join(c.workspace, name)) as f:
        return f.read()


def results(c, scope, text):
    turn = c.say(scope, text)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    return c.results(scope, turn)


def test_edits_of_one_file_from_many_turns_at_once_are_all_kept(c):
    put(c, "shared", "".join(line + "\n" for line in LINES))
    turns = [(f"files/many{i}", c.say(f"files/many{i}", f"edit line {i}")) for i in range(8)]
    for scope, turn in turns:
        c.ended(turn)
        assert [r["ok"] for r in c.results(scope, turn)] == [True], c.results(scope, turn)
    assert got(c, "shared") == "".join(f"done {i}\n" for i in range(8))


def test_edits_of_one_file_in_one_answer_are_all_kept(c):
    put(c, "many", "".join(line + "\n" for line in LINES))
    assert [r["ok"] for r in results(c, "files/all", "edit all")] == [True] * 8
    assert got(c, "many") == "".join(f"done {i}\n" for i in range(8))


def test_writes_of_one_file_come_in_the_order_of_the_calls_however_it_is_named(c):
    os.makedirs(os.path.join(c.workspace, "sub"), exist_ok=True)
    for i in range(3):
        assert [r["ok"] for r in results(c, f"files/order{i}", "write in order")] == [True] * 7
        assert got(c, "order") == "last"


def test_a_write_runs_beside_other_calls_and_exec_does_not(c):
    turn = c.say("files/beside", "beside")
    until(lambda: len(c.events(turn, "tool_result")) == 2, "both files to be written beside the sub-agent")
    assert c.call(turn, "spawn_agent", "running") and got(c, "beside") == "y"
    c.cancel(operation=turn)
    wrote, ran = results(c, "files/exec", "exec waits")
    assert wrote["ok"] and ran["result"]["result"]["stdout"] == "x\n", ran


def test_an_edit_of_what_changed_since_it_was_read_is_refused(c):
    put(c, "seen", "one\ntwo\nthree\n")
    assert results(c, "files/seen", "read it")[0]["ok"]
    put(c, "seen", "one\ntwo\nthree\nfour\n")
    refused, = results(c, "files/seen", "edit it")
    assert refused["result"]["error"]["code"] == "changed_since_read", refused
    assert got(c, "seen") == "one\ntwo\nthree\nfour\n"
    # The conversation knows of it after a restart, too.
    c.restart()
    refused, = results(c, "files/seen", "edit it")
    assert refused["result"]["error"]["code"] == "changed_since_read", refused
    # After another read it may be edited, more than once; a conversation that has not read it may edit it, too.
    assert results(c, "files/seen", "read it")[0]["ok"]
    assert [r["ok"] for r in results(c, "files/seen", "two edits")] == [True, True]
    assert [r["ok"] for r in results(c, "files/unread", "edit it")] == [True]
    assert got(c, "seen") == "ONE\nTWO\nTHREE\nfour\n"


def test_what_a_killed_writer_left_is_cleared_by_the_next_and_hinders_nobody(c):
    for name in (".quell-2.tmp", ".quell-0123456789abcdef.tmp"):
        put(c, name, "half")
    put(c, "kept.tmp", "mine")
    assert results(c, "files/left", "exec waits")[0]["ok"]
    left = sorted(n for n in os.listdir(c.workspace) if n.endswith(".tmp"))
    assert left == ["kept.tmp"], left


def test_a_write_through_a_link_replaces_what_the_link_means(c):
    os.makedirs(os.path.join(c.workspace, "real"), exist_ok=True)
    put(c, "real/f", "old")
    os.chmod(os.path.join(c.workspace, "real/f"), 0o640)
    os.symlink("real/f", os.path.join(c.workspace, "link"))
    assert results(c, "files/link", "through a link")[0]["ok"]
    assert os.path.islink(os.path.join(c.workspace, "link")) and got(c, "real/f") == "new"
    assert os.stat(os.path.join(c.workspace, "real/f")).st_mode & 0o777 == 0o640


def test_a_stop_ends_the_writer_that_runs_and_the_one_that_waits_for_it(c):
    folder = os.path.join(c.workspace, "blocked")
    os.makedirs(folder)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        turn = c.say("files/blocked", "blocked")
        until(lambda: len(c.below(turn, kind="task", status="running")) == 1, "the first writer to run")
        done = c.cancel(operation=turn)
        assert done["status"] == "settled" and done["report"]["proven"], done
    finally:
        os.close(lock)
    assert os.listdir(folder) == []
    assert [r["cancelled"] for r in c.results("files/blocked", turn)] == [True, True]
    # The file's queue is free again.
    assert [r["ok"] for r in results(c, "files/blocked2", "blocked")] == [True, True]
    assert got(c, "blocked/f") == "2"
    c.check_scope("files/blocked")


def test_a_turn_its_sub_agent_and_another_turn_write_one_file_in_the_order_of_their_calls(c):
    folder = os.path.join(c.workspace, "both")
    os.makedirs(folder)
    lock = os.open(folder, os.O_RDONLY)

    def called(turn, count):
        until(lambda: len([e for e in c.events(turn, "tool_start") if e["data"]["name"] == "write"]) == count, "the call of write")

    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever writes there waits
        turn = c.say("files/both", "write above and below")
        called(turn, 2)
        other = c.say("files/both2", "write last")
        called(other, 1)
        # What is called later, and for another file, is done meanwhile: a task of theirs would run by now.
        assert [r["ok"] for r in results(c, "files/elsewhere", "elsewhere")] == [True]
        assert len(c.below(turn, kind="task")) == 1 and not c.below(other, kind="task"), "one writer at a time"
    finally:
        os.close(lock)
    for one in (turn, other):
        assert c.ended(one)["status"] == "completed", c.operation(one)
    assert got(c, "both/f") == "last"
    order = [e["type"] for e in c.stored_events() if e["type"] in ("operation_started", "operation_completed")
             and e["operation"] in [o["id"] for x in (turn, other) for o in c.below(x, kind="task")]]
    assert order == ["operation_started", "operation_completed"] * 3, order
