"""Ends of `quell mcp`: its scope is stopped, its client disconnects, it is killed or sleeps; it also runs inside a task, and beside a controller that
stops and restarts."""
import json
import signal

import pytest

from harness import processes
from harness.cluster import Cluster, marker
from harness.mcp_client import AGAIN, STAY, McpServer, mcp, scope_of, stopped_text, text, world  # noqa: F401
from harness.waiting import until


def ended(c, id, seconds=60):
    return c.wait_status(id, "completed", "failed", "cancelled", seconds=seconds)


def before_it_leaves(m):
    """The result of another call; None if the two seconds are over in which a stopped server answers."""
    try:
        id = m.begin("quell_list")
    except OSError:
        return None
    until(lambda: m.answers_to(id) or m.process.poll() is not None, "an answer, or its end")
    return next((x["result"] for x in m.answers_to(id)), None)


def first_refusal(m):
    """The first result that is an error; None if the server left without another call in those two seconds."""
    refused = []

    def look():
        result = before_it_leaves(m)
        refused.extend([result] if result and result["isError"] else [])
        return refused or m.process.poll() is not None
    until(look, "the end to be heard")
    return refused[0] if refused else None


# ---- it is stopped -------------------------------------------------------------------------------------------------
def test_a_cancel_of_the_scope_answers_open_calls_and_ends_the_server(world, mcp):
    mark = marker()
    run = mcp.begin("quell_run", command=["bash", "-c", f": {mark}; {STAY}"], wait_ms=55000)
    until(lambda: processes.marked(mark), "the command to run")
    other = mcp.run("sh", "-c", STAY)["id"]
    wait = mcp.begin("quell_wait", id=other)
    mcp.answer(mcp.begin("quell_list"))  # so that the wait has been read
    own = mcp.own()["id"]
    cancelled = world.cancel(scope=mcp.own()["scope"], reason="the user says no")
    for id in (run, wait):
        result = mcp.answer(id)
        assert result["isError"] is True and text(result) == stopped_text("the user says no")
    later = before_it_leaves(mcp)
    assert later is None or (later["isError"] is True and text(later) == stopped_text("the user says no"))
    assert mcp.exit_code() == 0
    assert not processes.marked(mark) and cancelled["report"]["proven"] is True and cancelled["report"]["operations"] == 3
    stop = ended(world, own)["stop"]
    assert (stop["receipt"], stop["proof"]) == ("cooperative", "reported")


def test_a_burst_of_starts_and_a_cancel_of_the_scope_leave_nothing(world, request):
    for round in range(5):
        scope, mark = f"{scope_of(request)}/{round}", marker()
        with McpServer(world, "--scope", scope) as m:
            own = m.own()["id"]
            calls = [m.begin("quell_run", command=["bash", "-c", f": {mark}; {STAY}"]) for _ in range(40)]
            until(lambda: len(m.messages) > 5 * round, "some to be answered")
            done = world.cancel(scope=scope, reason="all of it")
            assert done["report"]["proven"] is True
            for id in calls:
                result = m.answer(id)
                assert result["isError"] is False or text(result) == stopped_text("all of it"), text(result)
            assert m.exit_code() == 0
        assert not processes.marked(mark) and not world.operations(below=own, status="live")


def test_a_cancel_without_a_reason_says_so(world, mcp):
    world.cancel(operation=mcp.own()["id"])
    said = first_refusal(mcp)
    assert said is None or text(said) == stopped_text("no reason given")
    assert mcp.exit_code() == 0


def test_a_cancelled_request_stops_its_command_and_is_not_answered(world, mcp):
    mark = marker()
    id = mcp.begin("quell_run", command=["bash", "-c", f": {mark}; {STAY}"], wait_ms=55000)
    until(lambda: processes.marked(mark), "the command to run")
    started = world.operations(parent=mcp.own()["id"])[0]["id"]
    mcp.tell("notifications/cancelled", {"requestId": str(id), "reason": "another type of id"})
    assert mcp.run("true", wait_ms=30000) and world.wait_status(started, "running")
    mcp.tell("notifications/cancelled", {"requestId": id, "reason": "the user pressed escape"})
    stop = ended(world, started)["stop"]
    assert "the user pressed escape" in stop["reason"] and stop["cause"] == "cancel"
    until(lambda: not processes.marked(mark), "the command to be gone")
    mcp.tell("notifications/cancelled", {"requestId": id})
    assert mcp.call("quell_list")["isError"] is False and not mcp.answers_to(id)


def test_a_request_that_is_cancelled_at_once_leaves_nothing_running(world, mcp):
    marks = [marker() for _ in range(10)]
    for mark in marks:
        id = mcp.begin("quell_run", command=["bash", "-c", f": {mark}; {STAY}"], wait_ms=55000)
        mcp.tell("notifications/cancelled", {"requestId": id})
    mcp.do("quell_list")
    until(lambda: not world.operations(parent=mcp.own()["id"], status="live") and not any(map(processes.marked, marks)), "nothing of it to run")


def test_the_operation_above_ends_and_takes_the_server_along(world):
    above = world.api("POST", "/v1/operations", {"kind": "external", "scope": "mcp/above"}).json["id"]
    with McpServer(world, "--parent", above) as m:
        assert m.own()["parent"] == above and m.own()["scope"] == "mcp/above"
        started = m.run("sh", "-c", STAY)["id"]
        assert world.api("POST", f"/v1/operations/{above}/complete", {}).status == 200
        said = first_refusal(m)
        assert said is None or (AGAIN in text(said) and "Cancelled by user" not in text(said)), said
        assert m.exit_code() == 0
        assert ended(world, started)["stop"]["cause"] == "parent_ended"


# ---- its client disconnects, or it gets a signal -------------------------------------------------------------------
@pytest.mark.parametrize("way", ["end of input", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_that_goes_takes_its_work_along(world, way):
    mark = marker()
    with McpServer(world, "--scope", "mcp/goes") as m:
        own = m.own()["id"]
        id = m.run("bash", "-c", f": {mark}; {STAY}")["id"]
        until(lambda: processes.marked(mark), "the command to run")
        m.close_input() if way == "end of input" else m.process.send_signal(way)
        assert m.exit_code() == 0
    assert ended(world, own)["status"] == "completed"
    assert ended(world, id)["stop"]["cause"] == "parent_ended"
    until(lambda: not processes.marked(mark), "the command to be gone")


def test_calls_that_were_written_before_the_end_of_input_are_answered(world):
    with McpServer(world, "--scope", "mcp/piped") as m:
        run = m.begin("quell_run", command=["sh", "-c", STAY], wait_ms=55000)
        listed = m.begin("quell_list")
        m.close_input()
        assert m.exit_code() == 0
        until(lambda: m.answers_to(run) and m.answers_to(listed), "both answers")


def test_a_killed_server_loses_its_lease_and_its_work(world):
    mark = marker()
    with McpServer(world, "--scope", "mcp/killed", "--lease", "12s") as m:
        own = m.own()["id"]
        id = m.run("bash", "-c", f": {mark}; {STAY}")["id"]
        until(lambda: processes.marked(mark), "the command to run")
        m.process.kill()
    assert ended(world, own)["error"]["code"] == "heartbeat_lost"
    assert ended(world, id)["status"] == "cancelled"
    until(lambda: not processes.marked(mark), "the command to be gone")


def test_a_server_that_slept_too_long_says_what_happened(world):
    with McpServer(world, "--scope", "mcp/slept", "--lease", "12s") as m:
        own = m.own()["id"]
        m.process.send_signal(signal.SIGSTOP)
        try:
            assert ended(world, own)["error"]["code"] == "heartbeat_lost"
        finally:
            m.process.send_signal(signal.SIGCONT)
        until(lambda: m.call("quell_list")["isError"], "the end to be noticed")
        said = text(m.call("quell_run", command=["true"]))
        assert "has ended" in said and "restart the MCP server" in said and "cancelled" in said, said
        assert m.process.poll() is None


# ---- its scope and its parent ---------------------------------------------------------------------------------------
def test_a_scope_is_required_where_there_is_no_parent(world):
    done = world.quell("mcp", env=world.environment(QUELL_SCOPE="team"), check=2)
    assert b"--scope" in done.stderr and done.stdout == b""


def test_a_refused_registration_ends_it_with_the_reason(world):
    token = world.api("POST", "/v1/tokens", {"name": "narrow", "role": "operator", "scope": "slack"}).json["token"]
    done = world.quell("mcp", "--scope", "discord", env=dict(world.environment(), QUELL_TOKEN=token), check=6)
    assert b"outside the token's scope" in done.stderr and done.stdout == b""
    world.quell("mcp", "--scope", "a//b", check=2)
    world.quell("mcp", "--scope", "a", "--lease", "10ms", check=2)


AGENT = """
import json, os, subprocess, sys
m = subprocess.Popen(["quell", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def call(number, name, **arguments):
    m.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}).encode() + b"\\n")
    m.stdin.flush()
    return json.loads(m.stdout.readline())["result"]
done = call(1, "quell_run", command=["sh", "-c", "echo $QUELL_SCOPE"], wait_ms=30000)
print(json.dumps(done), flush=True)
out = call(2, "quell_output", id=done["structuredContent"]["id"])
while not out["structuredContent"]["end"]:  # output has its own socket, and can arrive after the end
    out = call(2, "quell_output", id=done["structuredContent"]["id"])
print(json.dumps(out), flush=True)
print(json.dumps(call(3, "quell_show", id=os.environ["QUELL_OPERATION"])), flush=True)
call(4, "quell_run", command=["sh", "-c", "while :; do sleep 1000; done"])
print(json.dumps(call(5, "quell_cancel", all_mine=True)), flush=True)
call(6, "quell_run", command=["sh", "-c", "while :; do sleep 1000; done"])
print("waiting", flush=True)
print(json.dumps(call(7, "quell_run", command=["sh", "-c", "while :; do sleep 1000; done"], wait_ms=55000)), flush=True)
"""


def test_in_a_task_it_works_with_the_tasks_own_rights(world):
    task = world.start("/usr/bin/python3", "-c", AGENT, scope="mcp/inside", grace_ms=5000, task_env={"PATH": world.environment()["PATH"]})
    until(lambda: b"\nwaiting\n" in world.api("GET", f"/v1/operations/{task['id']}/output").body or world.operation(task["id"])["status"] in ("completed", "failed", "cancelled"),
          "the agent to have used its tools")
    lines = world.api("GET", f"/v1/operations/{task['id']}/output").body.decode().splitlines()
    assert len(lines) == 5, (lines, world.api("GET", f"/v1/operations/{task['id']}/output?stream=stderr").body)
    ran, printed, above, all_mine = [json.loads(line) for line in lines[:4]]
    assert ran["isError"] is False and ran["structuredContent"]["status"] == "completed"
    own = world.operation(ran["structuredContent"]["parent"])
    assert own["kind"] == "external" and own["parent"] == task["id"] and own["scope"] == "mcp/inside"
    assert printed["structuredContent"]["text"] == "mcp/inside\n"
    assert above["isError"] is True and "no operation" in text(above)
    assert "Stopped, proven: 1 operation." in text(all_mine)
    until(lambda: len(world.operations(parent=own["id"], status="running")) == 2, "both commands to run")
    # The task's end ends the server, too.
    cancelled = world.cancel(operation=task["id"], reason="enough of this")
    assert cancelled["report"]["proven"] is True and cancelled["report"]["operations"] == 4
    assert not world.operations(below=task["id"], status="live")


def test_a_task_token_creates_nothing_below_others(world):
    other = world.start("sh", "-c", STAY, scope="mcp/others")
    task = world.start("sh", "-c", f"quell run --parent {other['id']} -- true; echo code $?", scope="mcp/others",
                       task_env={"PATH": world.environment()["PATH"]})
    assert ended(world, task["id"])["status"] == "completed"
    assert world.output(task["id"]) == b"code 125\n" and not world.operations(parent=other["id"])
    world.cancel(operation=other["id"])


# ---- the controller stops and restarts -----------------------------------------------------------------------------
def test_a_lost_controller_is_said_and_waited_for():
    with Cluster(workers=1) as c, McpServer(c, "--scope", "mcp/lost") as m:
        own = m.own()["id"]
        started = m.run("sh", "-c", STAY)["id"]
        waiting = m.begin("quell_wait", id=started, wait_ms=55000)
        c.wait_status(started, "running")
        c.kill_controller()
        result = m.call("quell_show", id=started)
        assert result["isError"] is True and "does not answer" in text(result)
        c.start_controller()
        until(lambda: m.call("quell_show", id=started)["isError"] is False, "contact to come back")
        assert c.operation(own)["status"] == "running" and not m.answers_to(waiting)
        assert m.run("true", wait_ms=30000)["status"] == "completed"
        c.cancel(scope="mcp/lost", reason="after the restart")
        assert text(m.answer(waiting)) == stopped_text("after the restart")
        assert m.exit_code() == 0


def test_a_server_that_begins_before_the_controller_says_so_and_goes_on():
    with Cluster(workers=1) as c:
        c.kill_controller(signal.SIGTERM)
        with McpServer(c, "--scope", "mcp/early") as m:
            assert len(m.answer(m.ask("tools/list"))["tools"]) == 6
            result = m.call("quell_run", command=["true"])
            assert result["isError"] is True and "does not answer" in text(result)
            c.start_controller()
            until(lambda: m.call("quell_list")["isError"] is False, "the controller to be found")
            until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
            assert m.run("true", wait_ms=30000)["status"] == "completed"


def test_the_goodbye_of_a_server_without_a_controller_ends_too():
    with Cluster(workers=1) as c, McpServer(c, "--scope", "mcp/alone") as m:
        m.own()
        c.kill_controller()
        m.close_input()
        assert m.exit_code() == 5
        c.start_controller()
