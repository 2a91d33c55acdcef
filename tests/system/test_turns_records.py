"""Records and events of turns match what happened: error codes, offsets, usage, the running tool, the ends of sub-agents, deadlines."""
import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

STUBBORN = "trap '' TERM; while :; do sleep 1000; done #"
LATER = 60
GONE = {"error": "Turn not found or already completed"}


def sleeper(seconds):
    return {"name": "spawn_agent", "input": {"agent": "sleeper", "task": str(seconds)}}


def shell(line, **more):
    return {"name": "exec", "input": {"command": line, **more}}


def listing(path="."):
    return {"name": "list", "input": {"path": path}}


CONFIG = """
[[agents]]
name = "sleeper"
command = ["sh", "-c", "sleep $1; echo woke", "sh", "{prompt}"]
workspace = "WORKSPACE"
[[agents]]
name = "brief"
model = "script"
workspace = "WORKSPACE"
budget = { timeout = "60s", model_calls = 7, width = 3, depth = 2 }
[[agents]]
name = "hasty"
model = "script"
workspace = "WORKSPACE"
budget = { timeout = "5s" }
[[agents]]
name = "short"
model = "script"
budget = { model_calls = 1 }
[[models]]
name = "priced"
provider = "scripted"
base_url = "WORKSPACE/../script.json"
price = { input = 1, output = 2 }
[[agents]]
name = "counted"
model = "priced"
budget = { max_tokens = 1000, max_cost = 0.001, model_calls = 9, width = 3 }
[[approval]]
tool = "exec"
match = "rm *"
"""


def script(m):
    usage = {"input": 10, "output": 3, "cached": 2}
    return [
        {"when": {"user": "rounds", "round": 1}, "steps": [{"text": "Erst: ä", "chunk": 2, "delay_ms": 1}, {"calls": [listing()]}], "usage": usage},
        {"when": {"user": "rounds", "round": 2}, "steps": [{"text": "Second.", "chunk": 3, "delay_ms": 1}], "usage": usage},
        {"when": {"user": "ask me", "round": 1}, "steps": [{"text": "Before ä."}, {"calls": [shell("rm -f nothing"), listing()]}], "usage": usage},
        {"when": {"user": "ask me", "round": 2}, "text": "After.", "usage": usage},
        {"when": {"user": "many calls", "round": 1}, "steps": [{"calls": [listing(f"d{i}") for i in range(65)]}]},
        {"when": {"user": "side by side", "round": 1}, "steps": [{"calls": [sleeper(1000), sleeper(0)]}]},
        {"when": {"user": "key"}, "steps": [{"error": {"code": "model_refused", "message": "no such key"}}]},
        {"when": {"user": "no file", "round": 1}, "steps": [{"calls": [{"name": "read", "input": {"path": "nowhere"}}]}]},
        {"when": {"user": "spent", "round": 1}, "steps": [{"calls": [listing()]}], "usage": usage},
        {"when": {"user": "spent", "round": 2}, "steps": [{"hang": True}]},
        {"when": {"user": "stubborn", "round": 1}, "steps": [{"calls": [shell(STUBBORN + m, _meta={"timeout": 300})]}]},
        {"when": {"user": "deadline", "round": 1}, "steps": [{"calls": [shell("echo $QUELL_DEADLINE")]}]},
        {"when": {"user": "hasty", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"agent": "hasty", "task": "never end"}}]}]},
        {"when": {"user": "never end"}, "steps": [{"text": "Halfway."}, {"hang": True}]},
        {"when": {"user": "helper", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "two lists"}}]}]},
        {"when": {"user": "two lists", "round": 1}, "steps": [{"calls": [listing(), listing("./")]}]},
        {"when": {"user": "status", "round": 1}, "steps": [{"calls": [{"name": "session_status", "input": {}}]}]},
        *({"when": {"user": "look again", "round": n}, "usage": {"input": 10, "output": 3},
           "steps": [{"delay_ms": LATER}, {"calls": [{"name": "session_status", "input": {}}]}]} for n in (1, 2)),
        {"when": {"user": "delegate", "round": 1}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "look around"}}]}], "usage": {"input": 10, "output": 3}},
        {"when": {"user": "look around", "round": 1}, "steps": [{"calls": [{"name": "session_status", "input": {}}]}], "usage": {"input": 10, "output": 3}},
        {"when": {"user": "too often", "round": 1}, "steps": [{"calls": [listing()]}]},
        {"when": {"result": ""}, "text": "Done."},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture(scope="module")
def c():
    with TurnCluster(script(marker()), CONFIG, settings=["defaults.grace=3s"]) as cluster:
        yield cluster


def told_text(c, turn):
    """The pieces of the turn's text, whose offsets must fit."""
    text = ""
    for e in c.events(turn, "text_delta"):
        if e["operation"] == turn:
            assert e["data"]["offset"] == len(text), (e, text)
            text += e["data"]["text"]
    return text


def complete(c, turn):
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    return c.events(turn, "turn_complete")[0]["data"]


def test_two_answers_of_one_turn_are_not_glued_together(c):
    turn = c.say("records/rounds", "rounds")
    over = complete(c, turn)
    assert over["text"] == "Erst: ä\n\nSecond." == told_text(c, turn) == c.operation(turn)["turn"]["text"], over
    assert [m["text"] for m in c.of_turn("records/rounds", turn) if m["role"] == "assistant"] == ["Erst: ä", "Second."]
    assert over["usage"] == {"input_tokens": 20, "output_tokens": 6, "cached_input_tokens": 4} == c.operation(turn)["turn"]["usage"], over


def test_text_offsets_usage_and_counts_go_on_after_a_restart(c):
    turn = c.say("records/restart", "ask me")
    call = c.call(turn, "exec", "paused")
    until(lambda: len(c.events(turn, "tool_result")) == 1, "the other call to be done")
    c.restart()
    until(lambda: c.operation(turn)["turn"]["text"], "the turn to be picked up")
    shown = c.operation(turn)["turn"]
    assert shown["text"] == "Before ä." and shown["usage"]["input_tokens"] == 10 and shown["tool_calls"] == 2, shown
    until(lambda: c.api("POST", f"/v1/operations/{call['id']}/approve", {}).status == 200, "the approval to be taken")
    over = complete(c, turn)
    assert over["text"] == "Before ä.\n\nAfter." == told_text(c, turn), over
    assert over["usage"] == {"input_tokens": 20, "output_tokens": 6, "cached_input_tokens": 4}, over
    assert c.operation(turn)["result"]["tool_calls"] == 2


def test_sixty_five_calls_of_one_answer_all_run(c):
    turn = c.say("records/many", "many calls")
    assert c.ended(turn, seconds=60)["status"] == "completed", c.operation(turn)
    assert len(c.results("records/many", turn)) == 65


def test_the_tool_that_runs_is_shown_until_it_has_ended(c):
    turn = c.say("records/side", "side by side")
    until(lambda: len(c.events(turn, "tool_result")) == 1, "one of two to be done")
    shown = [t for t in c.api("GET", "/api/turns/active").json["turns"] if t["turnId"] == turn]
    assert [t["currentTool"] for t in shown] == ["spawn_agent"], shown
    assert c.operation(turn)["turn"]["current_tool"] == "spawn_agent"
    c.cancel(operation=turn)
    assert c.operation(turn)["turn"]["current_tool"] is None


def test_an_error_has_the_code_of_what_went_wrong(c):
    turn = c.say("records/error", "key")
    over = c.ended(turn)
    assert over["error"]["code"] == "model_refused" and "no such key" in over["error"]["message"], over
    asked, = c.below(turn, kind="model_call")
    assert asked["error"]["code"] == "model_refused", asked
    turn = c.say("records/error", "no file")
    complete(c, turn)
    call = c.call(turn, "read", "failed")
    assert call["error"]["code"] == "not_found" and "nowhere" in call["error"]["message"], call
    turn = c.say("records/error2", "too often", agent="short")
    assert c.ended(turn)["error"]["code"] == "budget"


def test_usage_is_shown_while_the_turn_runs(c):
    turn = c.say("records/spent", "spent")
    until(lambda: len(c.below(turn, kind="model_call")) == 2, "the model to be asked again")
    assert c.operation(turn)["turn"]["usage"] == {"input_tokens": 10, "output_tokens": 3, "cached_input_tokens": 2}
    c.cancel(operation=turn)
    # The input of the call that the stop cut counts, too, if it had been sent.
    usage = c.operation(turn)["turn"]["usage"]
    assert usage["input_tokens"] >= 10 and usage["output_tokens"] == 3, usage


def test_an_abort_of_a_completed_turn_is_not_found_though_a_process_of_it_still_dies(c):
    turn = c.say("records/stubborn", "stubborn")
    c.wait_event(turn, "turn_complete")
    answer = c.api("POST", f"/api/turns/{turn}/abort")
    assert answer.status == 404 and answer.json == GONE, answer.body
    assert turn not in {t["turnId"] for t in c.api("GET", "/api/turns/active").json["turns"]}
    assert c.ended(turn)["status"] == "completed"
    assert c.api("POST", f"/api/turns/{turn}/abort").status == 404


def test_a_task_below_a_turn_with_a_deadline_knows_it(c):
    turn = c.say("records/deadline", "deadline", agent="brief")
    complete(c, turn)
    result, = c.results("records/deadline", turn)
    assert result["result"]["result"]["stdout"].strip() == c.operation(turn)["deadline_at"], (result, c.operation(turn))


def test_the_end_of_a_sub_agent_reaches_its_parent_as_it_was(c):
    turn = c.say("records/hasty", "hasty")
    complete(c, turn)
    late, = c.results("records/hasty", turn)
    error = late["result"]["error"]
    assert error["code"] == "timeout" and "[TIMEOUT]" in error["message"] and "Halfway." in error["message"], late
    assert c.call(turn, "spawn_agent")["error"]["code"] == "timeout"
    turn = c.say("records/helper", "helper")
    complete(c, turn)
    done, = c.results("records/helper", turn)
    assert done["result"]["result"]["tool_calls"] == 2, done


def test_session_status_says_what_is_left_of_each_budget(c):
    turn = c.say("records/status", "status", agent="brief")
    complete(c, turn)
    status = c.results("records/status", turn)[0]["result"]["result"]
    budget = status["budget"]
    assert budget["model_calls"] == {"limit": 7, "used": 1, "left": 6}, status
    assert budget["sub_agents_at_once"] == {"limit": 3, "used": 0, "left": 3} and budget["sub_agent_levels"] == {"left": 2}, status
    assert budget["time_ms"]["limit"] == 60000 and 0 < budget["time_ms"]["left"] <= 60000 - status["elapsed_ms"], status
    turn = c.say("records/status", "status")
    complete(c, turn)
    assert c.results("records/status", turn)[0]["result"]["result"]["budget"]["time_ms"]["left"] is None


def statuses(c, turn):
    return [call["result"] for call in (c.operation(o["id"]) for o in reversed(c.below(turn, kind="tool_call"))) if call["name"] == "session_status"]


def test_session_status_counts_the_time_that_passes_and_what_is_spent(c):
    turn = c.say("records/counted", "look again", agent="counted")
    complete(c, turn)
    first, second = (r["result"]["result"] for r in c.results("records/counted", turn))
    tolerance = 5  # times are cut to whole milliseconds
    assert first["elapsed_ms"] >= LATER - tolerance, first
    assert second["elapsed_ms"] >= first["elapsed_ms"] + LATER - tolerance, (first, second)
    for n, status in enumerate((first, second), 1):
        budget, cost = status["budget"], status["budget"]["cost"]
        assert budget["model_calls"] == {"limit": 9, "used": n, "left": 9 - n}, status
        assert budget["tokens"] == {"limit": 1000, "used": 13 * n, "left": 1000 - 13 * n}, status
        assert cost["limit"] == 0.001 and cost["used"] == pytest.approx(16e-6 * n) and cost["left"] == pytest.approx(0.001 - 16e-6 * n), status
    earlier = second["calls"][0]
    assert earlier["state"] == "answered" and 0 <= earlier["elapsed_ms"] <= second["elapsed_ms"], second


def test_session_status_of_a_sub_agent_counts_the_whole_turn(c):
    turn = c.say("records/whole", "delegate", agent="counted")
    complete(c, turn)
    status, = statuses(c, turn)
    status = status["result"] if "result" in status else status
    budget = status["budget"]
    at_once = budget["sub_agents_of_the_turn_at_once"]
    assert at_once["used"] == 1 and at_once["left"] == at_once["limit"] - 1, status
    assert budget["sub_agents_at_once"]["used"] == 0, status
    assert budget["tokens"] == {"limit": 1000, "used": 26, "left": 974}, status
    assert budget["model_calls"]["used"] == 2, status
