"""Models whose answers are unusual: counts of tokens beyond any sum, contents that are lists of parts, and inputs that no parser likes."""
import pytest

from harness.recorded_cluster import RecordedCluster

AGENT = '[[agents]]\nname = "rec"\nmodel = "recorded"\nworkspace = "WORKSPACE"\n'
MOST = 1 << 62  # protocol/conversation.hpp: most_used is one less


@pytest.fixture
def world():
    with RecordedCluster(AGENT) as c:
        yield c


def test_counts_beyond_any_sum_break_no_list_of_costs(world):
    c = world
    big = {"prompt_tokens": 2**64 - 1, "completion_tokens": 2**63, "prompt_tokens_details": {"cached_tokens": 2**64 - 1}}
    c.model.plan["big"] = [{"content": "done", "usage": big}]
    for n in range(3):
        turn = c.say(f"v/{n}", "big", agent="rec")
        done = c.ended(turn)
        assert done["status"] == "completed", done
        assert 0 < done["turn"]["usage"]["input_tokens"] < MOST and 0 < done["turn"]["usage"]["output_tokens"] < MOST
    before = c.api("GET", "/v1/cost?by=scope").json
    for by in ("scope", "author", "day", "agent", "model"):
        answer = c.api("GET", f"/v1/cost?by={by}")
        assert answer.status == 200, answer.body
        for row in answer.json["cost"] + [answer.json["total"]]:
            assert 0 < row["input_tokens"] <= MOST and 0 < row["output_tokens"] <= MOST, row
    assert before["total"]["input_tokens"] > max(r["input_tokens"] for r in before["cost"])
    assert c.api("GET", "/metrics").status == 200
    c.restart()
    assert c.api("GET", "/v1/cost?by=scope").json["total"] == before["total"]
    c.next_message_is_taken("v/0")


def test_a_content_of_parts_is_the_answer(world):
    c = world
    c.model.plan["parts"] = [{"content": [{"type": "text", "text": "Hello "}, {"type": "text", "text": "there"}]}]
    turn = c.say("v/parts", "parts", agent="rec")
    assert c.ended(turn)["turn"]["text"] == "Hello there"
    assert [m["text"] for m in c.of_turn("v/parts", turn)] == ["parts", "Hello there"]
    c.check_scope("v/parts")


@pytest.mark.parametrize("tool", ["exec", "write", "no_such_tool"])
def test_an_input_that_nests_without_end_ends_its_call_and_nothing_else(world, tool):
    c = world
    levels = 60_000  # a value of so many levels overflows the stack of whoever copies or writes it
    c.model.plan["deep"] = [[(tool, '{"command":' + "[" * levels + "]" * levels + "}")]]
    pid = c.controller.pid
    turn = c.say(f"v/{tool}", "deep", agent="rec")
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    assert [r["ok"] for r in c.results(f"v/{tool}", turn)] == [False]
    assert c.controller.poll() is None and c.controller.pid == pid
    c.restart()
    c.next_message_is_taken(f"v/{tool}", agent="rec")
    c.check_scope(f"v/{tool}")


def test_a_byte_order_mark_before_an_input_breaks_no_list_of_messages(world):
    c = world
    c.model.plan["mark"] = [[("exec", '\ufeff{"command": "echo marked"}')]]
    turn = c.say("v/mark", "mark", agent="rec")
    assert c.ended(turn)["status"] == "completed"
    [call] = [m["tool_calls"] for m in c.of_turn("v/mark", turn) if m["tool_calls"]][0]
    assert call["input"] == {"command": "echo marked"}, call
    assert c.events(turn, "tool_start")[0]["data"]["input"] == call["input"]
    c.check_scope("v/mark")
