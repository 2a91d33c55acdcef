"""exec as agents need it: what a command leaves running is killed and named, commands in the background, limits, and what a
stopped call has printed."""
import datetime
import json
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.recorded_cluster import RecordedCluster
from harness.recording_model import RecordingModel, said
from harness.waiting import until


class Model(RecordingModel):
    """A step of the plan can be a function of the request's messages."""

    def answer(self, messages):
        step = super().answer(messages)
        return step(messages) if callable(step) else step

    def asked(self, user):
        """The newest request that answers this message."""
        def look():
            found = [r for r in list(self.requests) if said([m for m in r["messages"] if m["role"] == "user"][-1]) == user]
            return found[-1]["messages"] if found else None
        return until(look, f"a request for {user}")


class World(RecordedCluster):
    def __init__(self, agent="", **options):
        agents = (f'[[agents]]\nname = "hand"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["exec", "spawn_agent"]\n{agent}\n'
                  f'[[agents]]\nname = "plain"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["exec"]\n')
        super().__init__(agents, Model(), **options)

    def ask(self, text, *steps, scope="room", agent="hand"):
        self.model.plan[text] = list(steps)
        return self.say(scope, text, agent=agent)

    def results_of(self, turn, scope="room"):
        return [r["result"] for r in self.results(scope, turn)]

    def done(self, text, *steps, scope="room", agent="hand"):
        """The results of the calls of a turn that completes."""
        turn = self.ask(text, *steps, scope=scope, agent=agent)
        assert self.ended(turn)["status"] == "completed", self.operation(turn)
        self.check_scope(scope)
        return self.results_of(turn, scope)

    def stops_its_call(self, text, scope):
        """A turn whose command is stopped when it has printed `so far`; the turn goes on without it and completes."""
        turn = self.ask(text, [shell("echo so far; sleep 1000")], scope=scope)
        task = until(lambda: self.below(turn, kind="task"), "the task")[0]
        until(lambda: self.so_far(task["id"]) == b"so far\n", "its output")
        self.cancel(operation=task["parent"])
        assert self.ended(turn)["status"] == "completed"

    def so_far(self, task, stream="stdout"):
        return self.api("GET", f"/v1/operations/{task}/output?stream={stream}").body

    def go(self, name):
        open(os.path.join(self.workspace, name), "w").close()

    def in_background(self, line, scope="room", text="begin", **more):
        result, = self.done(text, [shell(line, background=True, **more)], scope=scope)
        assert result["ok"], result
        return result["result"]["task"]


def shell(line, **more):
    return ("exec", {"command": line, **more})


def tool(name, task, **more):
    return (name, {"task": task, **more})


@pytest.fixture(scope="module")
def world():
    with World() as c:
        yield c


@pytest.fixture
def mark():
    return marker()


# ---- the leader's end ---------------------------------------------------------------------------------------------------
def test_what_a_command_leaves_running_is_killed_and_named(world, mark):
    is_asleep = 'for i in $(seq 200); do [ "$(cat /proc/$!/comm)" = sleep ] && break; sleep 0.05; done'
    result, = world.done("leave", [shell(f"sh -c 'sleep 1000; : {mark}' & sleep 1001 & {is_asleep}; echo begun")], scope="left")
    assert result["ok"] and result["result"]["exit_code"] == 0 and result["result"]["stdout"] == "begun\n", result
    note = result["result"]["note"]
    assert "processes that the command left running were killed" in note and "sleep 1001 (pid " in note and "background: true" in note, note
    assert not processes.marked(mark)


def test_a_command_that_leaves_nothing_has_no_note(world):
    result, = world.done("plain", [shell("true | true; echo done")], scope="nothing")
    assert result["ok"] and "note" not in result["result"], result


def test_a_stop_of_a_command_whose_leader_has_children_names_nothing(world, mark):
    turn = world.ask("hang", [shell(f"sleep 1000 & sh -c 'sleep 1000; : {mark}'")], scope="hang")
    until(lambda: processes.marked(mark), "the command to run")
    done = world.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert not processes.marked(mark)
    result, = world.results_of(turn, "hang")
    assert result["error"]["code"] == "cancelled_by_user" and "note" not in str(result), result


# ---- in the background --------------------------------------------------------------------------------------------------
def test_a_command_in_the_background_is_read_waited_for_and_killed(world, mark):
    scope = "handles"
    task = world.in_background(f"echo first; echo oopö >&2; sleep 1000; : {mark}", scope)
    until(lambda: world.so_far(task) == b"first\n" and world.so_far(task, "stderr") == "oopö\n".encode(), "its output")
    read, cut, err, wait = world.done("look", [
        tool("task_output", task), tool("task_output", task, stream="stderr", offset=0, max_bytes=4),
        tool("task_output", task, stream="stderr", offset=1), tool("task_wait", task, timeout_ms=200)], scope=scope)
    assert read["result"]["text"] == "first\n" and read["result"]["next_offset"] == 6 and read["result"]["running"], read
    assert cut["result"]["text"] == "oop" and cut["result"]["next_offset"] == 3, cut  # the next piece begins with the whole character
    assert err["result"]["text"] == "opö\n", err
    assert wait["ok"] and wait["result"]["running"] and wait["result"]["stdout"] == "first\n", wait
    assert processes.marked(mark)
    kill, again = world.done("kill", [tool("task_kill", task)], [tool("task_kill", task)], scope=scope)
    assert kill["ok"] and not kill["result"]["running"] and kill["result"]["status"] == "cancelled", kill
    assert again["ok"] and again["result"]["status"] == "cancelled", again
    assert not processes.marked(mark)
    assert world.operation(task)["stop"]["reason"] == "ended by the agent with task_kill"


def test_waiting_sees_the_end(world):
    task = world.in_background("sleep 0.3; echo last; exit 3", "waits")
    result, = world.done("wait", [tool("task_wait", task)], scope="waits")
    assert result["result"]["exit_code"] == 3 and result["result"]["stdout"] == "last\n" and not result["result"]["running"], result


def test_the_turns_own_stop_passes_it_by_and_lists_it(world, mark):
    scope = "passes"
    turn = world.ask("both", [shell(f"sleep 1000; : {mark}", background=True)], [shell("sleep 1000")], scope=scope)
    until(lambda: processes.marked(mark) and len(world.below(turn, kind="tool_call")) == 2, "the second call")
    done = world.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert processes.marked(mark), "it was to go on"
    abort = world.wait_event(turn, "turn_abort")[0]
    task = world.results_of(turn, scope)[0]["result"]["task"]
    assert abort["data"] == {"reason": "user", "still_running": [task]}, abort
    # The next turn is told, and so is the first one after its end.
    world.done("and now", scope=scope)
    assert f"Still running: {task} (sleep 1000; : {mark}, for " in world.model.asked("and now")[-1]["content"]
    world.cancel(operation=task)
    world.done("later", scope=scope)
    assert f"Ended since the last answer: {task} (sleep 1000; : {mark}: stopped)" in world.model.asked("later")[-1]["content"]
    world.done("much later", scope=scope)
    assert task not in world.model.asked("much later")[-1]["content"]


def test_a_stop_of_the_scope_ends_it(world, mark):
    task = world.in_background(f"sleep 1000; : {mark}", "stops/here")
    done = world.cancel(scope="stops")
    assert done["status"] == "settled" and done["report"]["proven"] and done["report"]["operations"] == 1, done
    assert world.operation(task)["status"] == "cancelled" and not processes.marked(mark)


def test_a_stop_by_message_ends_it(world, mark):
    task = world.in_background(f"sleep 1000; : {mark}", "said")
    answer = world.post("said", "stop")
    assert answer.json["decision"] == "cancel", answer.body
    world.wait_status(task, "cancelled")
    assert not processes.marked(mark)


def test_a_stop_while_the_agent_waits_for_a_command_ends_the_wait_alone(world, mark):
    scope = "awaits"
    task = world.in_background(f"sleep 1000; : {mark}", scope)
    until(lambda: processes.marked(mark), "the command to run")
    turn = world.ask("wait for it", [tool("task_wait", task, timeout_ms=60000)], scope=scope)
    world.call(turn, "task_wait", "running")
    done = world.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    waited, = world.results_of(turn, scope)
    assert waited["cancelled"] and world.operation(task)["status"] == "running", waited
    world.check_scope(scope)
    assert world.cancel(operation=task)["report"]["proven"] and not processes.marked(mark)


def test_a_stop_at_any_moment_leaves_either_a_handle_or_nothing(world):
    """The turn is stopped while it starts a command in the background: the result has the handle, or nothing was started."""
    for i in range(12):
        scope, m = f"moments/{i}", marker()
        turn = world.ask(f"moment {i}", [shell(f"sleep 1000; : {m}", background=True)], scope=scope)
        if i % 3:
            until(lambda: world.below(turn, kind="tool_call"), "the call")
        if i % 3 == 2:
            until(lambda: world.below(turn, kind="task"), "the task")
        done = world.cancel(operation=turn)
        assert done["status"] == "settled" and done["report"]["proven"], done
        tasks = [o for o in world.operations(scope=scope, kind="task", status="live")]
        handles = [r["result"]["task"] for r in world.results_of(turn, scope) if r.get("ok")]
        assert [t["id"] for t in tasks] == handles, (tasks, handles, world.results_of(turn, scope))
        world.check_scope(scope)
        if handles:
            world.cancel(operation=handles[0])
        assert not processes.marked(m)


def test_a_crash_at_any_moment_leaves_either_a_handle_or_nothing(world):
    """quelld is killed while it starts a command in the background: the conversation has the handle of what runs, and nothing else runs."""
    for moment in ("message", "tool_call", "task"):
        scope, m = f"crashes/{moment}", marker()
        turn = world.ask(f"crash at {moment}", [shell(f"sleep 1000; : {m}", background=True)], scope=scope)
        if moment != "message":
            until(lambda: world.below(turn, kind=moment), f"the {moment}")
        world.restart()
        until(lambda: world.worker("w1")["status"] == "ready", "the worker to be back")
        assert world.ended(turn)["status"] == "completed", world.operation(turn)
        tasks = [r["result"]["task"] for r in world.results_of(turn, scope) if r["ok"]]
        # A task that nobody has is stopped, and can still be on its way out.
        until(lambda: [o["id"] for o in world.operations(scope=scope, kind="task", status="live")] == tasks, f"{tasks} alone to live")
        world.check_scope(scope)
        for task in tasks:
            assert world.cancel(operation=task)["report"]["proven"]
        assert not processes.marked(m)


def test_foreign_and_unknown_ids_get_the_same_answer(world, mark):
    ours = world.in_background(f"sleep 1000; : {mark}", "mine")
    plain = world.start("sleep", "1000", scope="theirs")["id"]
    unknown = ours[:-1] + ("0" if ours[-1] != "0" else "1")
    calls = [[tool(name, id)] for id in (ours, plain, unknown, "nonsense") for name in ("task_output", "task_wait", "task_kill")]
    results = world.done("try", *calls, scope="theirs")
    said = {json.dumps(r).replace(id, "ID") for id, three in zip((ours, plain, unknown, "nonsense"), zip(*[iter(results)] * 3)) for r in three}
    assert len(said) == 1 and "unknown_task" in said.pop(), results
    assert processes.marked(mark) and world.operation(plain)["status"] == "running"
    world.cancel(operation=ours)
    world.cancel(operation=plain)


def test_a_sub_agent_names_only_its_own(world, mark):
    task = world.in_background(f"sleep 1000; : {mark}", "subs")
    world.model.plan["poke it"] = [[tool("task_kill", task)], lambda messages: messages[-1]["content"]]
    result, = world.done("delegate", [("spawn_agent", {"task": "poke it"})], scope="subs")
    assert "unknown_task" in json.dumps(result), result
    assert processes.marked(mark)
    world.cancel(operation=task)


def test_no_more_than_the_budget_in_one_scope():
    with World('budget = { background = 2 }') as c:
        ids = [c.in_background("sleep 1000", text=f"begin {i}") for i in range(2)]
        result, = c.done("one more", [shell("sleep 1000", background=True)])
        assert result["error"]["code"] == "too_many_background" and "(2)" in result["error"]["message"], result
        elsewhere = c.in_background("sleep 1000", scope="elsewhere")
        c.cancel(operation=ids[0])
        ids.append(c.in_background("sleep 1000", text="again"))
        for id in (*ids[1:], elsewhere):
            c.cancel(operation=id)


def test_it_outlives_a_restart_and_the_next_turn_is_told(mark):
    with World() as c:
        living = c.in_background(f"echo up; sleep 1000; : {mark}")
        ending = c.in_background("until test -e over; do sleep 0.05; done", text="short")  # it cannot end before its turn
        c.restart()
        c.go("over")
        c.wait_status(ending, "completed")
        c.done("after the restart")
        told = c.model.asked("after the restart")[-1]["content"]
        assert f"Still running: {living} (" in told and f"{ending} (until test -e over; do sleep 0.05; done: exit code 0)" in told, told
        assert processes.marked(mark)
        until(lambda: c.so_far(living) == b"up\n", "its output to have come")
        read, kill = c.done("end it", [tool("task_output", living)], [tool("task_kill", living)])
        assert read["result"]["text"] == "up\n" and kill["result"]["status"] == "cancelled", (read, kill)
        assert not processes.marked(mark)


# ---- limits, and what was printed ---------------------------------------------------------------------------------------
def test_a_call_that_times_out_tells_what_was_printed(world):
    result, = world.done("slow", [shell("echo step one; echo trouble >&2; sleep 1000", timeout_ms=10000)], scope="slow")
    assert "[TIMEOUT]" in result["error"]["message"], result
    # The stop does not wait for it, so it is not in the stored result; the model's next request has it, and so do later turns.
    content = world.model.asked("slow")[-1]["content"]
    assert "step one" in content and "trouble" in content, content
    world.done("later then", scope="slow")
    assert any("step one" in str(m["content"]) for m in world.model.asked("later then") if m["role"] == "tool")


def test_a_call_that_a_stop_cut_tells_later_turns_what_was_printed(world):
    turn = world.ask("cut", [shell("echo half of it; yes 0123456789 | head -c 100000; sleep 1000")], scope="cut")
    task = until(lambda: world.below(turn, kind="task"), "the task")[0]["id"]
    until(lambda: len(world.so_far(task)) > 100_000, "its output")
    assert world.cancel(operation=turn)["report"]["proven"]
    world.done("what came", scope="cut")
    told, = [json.loads(m["content"]) for m in world.model.asked("what came") if m["role"] == "tool"]
    assert told["cancelled"] and told["error"]["code"] == "cancelled_by_user", told
    printed = told["printed"]["stdout"]
    assert printed.startswith("half of it\n") and "bytes left out" in printed and told["printed"]["truncated"] and len(printed) < 5000, printed


def test_a_stop_of_the_call_alone_tells_the_same_turn(world):
    world.stops_its_call("one call", scope="one")
    last = json.loads(world.model.asked("one call")[-1]["content"])
    assert last["cancelled"] and last["printed"]["stdout"] == "so far\n", last


def test_a_copy_and_a_summary_of_the_conversation_know_what_a_stopped_call_had_printed(world):
    world.stops_its_call("print", scope="origin")
    world.done("next", scope="origin")
    copied = world.api("POST", "/v1/history", {"scope": "origin", "action": "fork", "to": "copied"})
    assert copied.status == 200, copied.body
    for scope in ("origin", "copied"):
        turn = world.ask(f"and in {scope}", scope=scope)  # a copy has the texts of its turns, and none of their rows
        assert world.ended(turn)["status"] == "completed", world.operation(turn)
        told, = [json.loads(m["content"]) for m in world.model.asked(f"and in {scope}") if m["role"] == "tool"]
        assert told["cancelled"] and told["printed"]["stdout"] == "so far\n", (scope, told)
    begun = world.api("POST", "/v1/history", {"scope": "origin", "action": "compact"})
    assert begun.status == 202, begun.body
    assert world.wait_status(begun.json["operation"], "completed", "failed")["status"] == "completed"
    assert [r for r in world.model.requests if "Write a summary" in str(r["messages"]) and "so far" in str(r["messages"])], "the summary's model reads it"


def test_the_agents_limit_of_exec_and_its_most():
    with World('exec_timeout = "1s"\nexec_timeout_max = "2s"') as c:
        by_default, more = c.done("long", [shell("sleep 1000")], [shell("sleep 1000", timeout_ms=0)])
        assert "within 1 seconds" in by_default["error"]["message"], by_default
        assert "within 2 seconds" in more["error"]["message"], more
        about = c.model.tools_offered("long")["exec"]["description"]
        assert "stopped after 1 s" in about and "More than 2 s" in about, about
        task = c.in_background("sleep 1000")
        assert c.wait_status(task, "failed")["error"]["code"] == "timeout"
        unlimited = c.ask("no limit", [shell("sleep 3; echo woke")], scope="plain", agent="plain")
        assert c.ended(unlimited)["status"] == "completed" and "woke" in str(c.results_of(unlimited, "plain"))


# ---- while it runs ------------------------------------------------------------------------------------------------------
def test_progress_after_five_seconds_and_live_output(world):
    world.model.plan["show me"] = [[shell("echo early; until [ -e go-on ]; do sleep 0.05; done; echo late; until [ -e end ]; do sleep 0.05; done")]]
    stream = world.stream("live", "show me", agent="hand")
    first = stream.wait("tool_output")
    assert first["data"]["text"] == "early\n" and first["data"]["stream"] == "stdout" and first["data"]["offset"] == 0, first
    told = stream.wait("tool_progress")["data"]
    assert told["elapsed_ms"] >= 5000 and told["stdout_bytes"] == 6 and told["last_line"] == "early", told
    world.go("go-on")
    until(lambda: [d for k, d in stream.read() if k == "tool_output" and "late" in d["data"]["text"]], "the second line")
    # A slow test can be told of the early line more than once.
    again = until(lambda: [d["data"] for k, d in stream.read() if k == "tool_progress" and d["data"]["last_line"] == "late"], "word of it five seconds later")[0]
    assert again["elapsed_ms"] >= 10000, again
    world.go("end")
    events = stream.to_end()
    assert "".join(d["data"]["text"] for k, d in events if k == "tool_output") == "early\nlate\n", events
    turn = [d for k, d in events if k == "turn_start"][0]["operation"]
    assert not world.events(turn, "tool_output"), "live output is not stored"
    elapsed = [e["data"]["elapsed_ms"] for e in world.events(turn, "tool_progress")]
    assert all(ms >= 5000 * (i + 1) for i, ms in enumerate(elapsed)), "one for each five seconds"


def test_live_output_shows_characters_whole_wherever_a_program_stops_writing(world):
    halves = "printf 'gr\\303'; until [ -e other-half ]; do sleep 0.05; done; printf '\\274n \\342\\202'; until [ -e no-half ]; do sleep 0.05; done"
    world.model.plan["halves"] = [[shell(halves)]]
    stream = world.stream("halves", "halves", agent="hand")
    assert stream.wait("tool_output")["data"]["text"] == "gr"
    world.go("other-half")
    shown = lambda: "".join(d["data"]["text"] for k, d in stream.read() if k == "tool_output")
    until(lambda: shown().endswith("n "), "the other half")
    world.go("no-half")
    stream.to_end()
    assert shown().startswith("grün ") and len(shown()) <= 7, shown()
    pieces = [d["data"] for k, d in stream.read() if k == "tool_output"]
    assert [(p["offset"], p["skipped_bytes"]) for p in pieces[:2]] == [(0, 0), (2, 0)], pieces


def test_live_output_is_skipped_for_who_does_not_read(world):
    """A command prints very much: the stream stays short, the turn is not held up."""
    world.model.plan["flood"] = [[shell("yes 0123456789012345678901234567890123456789 | head -c 20000000; sleep 1")]]
    stream = world.stream("flood", "flood", agent="hand")
    turn = stream.wait("turn_start")["operation"]
    assert world.ended(turn, 60)["status"] == "completed"
    shown = [d["data"] for k, d in stream.to_end() if k == "tool_output"]
    call, = world.below(turn, kind="tool_call")
    began, ended = (datetime.datetime.fromisoformat(call[at].replace("Z", "+00:00")) for at in ("started_at", "ended_at"))
    most = 40 + 5 * (ended - began).total_seconds()  # one for each 200 ms
    assert 0 < len(shown) <= most and all(len(d["text"]) <= 4096 for d in shown) and any(d["skipped_bytes"] > 100_000 for d in shown), len(shown)


def test_say_shows_what_a_command_prints(world):
    world.model.plan["tell"] = [[shell("echo seen while it runs; until [ -e shown ]; do sleep 0.05; done")]]
    path = os.path.join(world.directory, "shown.json")
    with open(path, "wb") as out:
        client = world.quell_background("say", "--scope", "cli", "--agent", "hand", "--json", "tell", stdout=out)
    shown = lambda: [x["data"]["text"] for x in map(json.loads, processes.read(path).splitlines()) if x.get("type") == "tool_output"]
    until(lambda: b"seen while it runs\\n" in processes.read(path), "the output to be shown")
    world.go("shown")
    assert client.wait(60) == 0, client.stderr.read()
    assert shown() == ["seen while it runs\n"], processes.read(path)
