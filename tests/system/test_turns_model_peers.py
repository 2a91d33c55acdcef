"""Whole turns with other people's model servers: aimock (npm) as OpenAI (both APIs) and Anthropic, slow, with tool calls, cut, busy, and
with its own record of our hang-up."""
import pytest

from harness.aimock import KINDS, PATHS, Aimock
from harness.turns import TurnCluster
from harness.waiting import until

both = pytest.mark.parametrize("provider", sorted(PATHS))
FIXTURES = [
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello there, wörld! " * 5}},
    {"match": {"userMessage": "slowly"}, "response": {"content": "Slowly, wörld! " * 120}},
    {"match": {"userMessage": "long"}, "response": {"content": "word by word " * 200}},
    {"match": {"userMessage": "late"}, "response": {"content": "too late"}, "latency": 60000},
    {"match": {"userMessage": "tools", "hasToolResult": True}, "response": {"content": "Both have run."}},
    {"match": {"userMessage": "tools"}, "response": {"content": "I look. ", "toolCalls": [
        {"name": "exec", "arguments": {"command": "echo from a tool; echo and a longer text, so that it comes in pieces >&2"}},
        {"name": "list", "arguments": {"path": "."}}]}},
    {"match": {"userMessage": "sleep"}, "response": {"toolCalls": [{"name": "exec", "arguments": {"command": "sleep 1000"}}]}},
    *({"match": {"userMessage": f"busy for {p}", "sequenceIndex": 0},
       "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}} for p in PATHS),
    {"match": {"userMessage": "busy"}, "response": {"content": "free again"}},
    {"match": {"userMessage": "cut"}, "response": {"content": "this will be cut in the middle " * 20}, "truncateAfterChunks": 6},
    {"match": {"userMessage": "refused"}, "response": {"error": {"message": "no such model here", "type": "invalid_request_error"}, "status": 400}},
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aimock")
    aimock = Aimock(folder, FIXTURES)
    try:
        key = folder / "key"
        key.write_text("a-key-of-no-value")
        config = "".join(f'[[models]]\nname = "{p}"\n{KINDS[p]}\nmodel = "gpt-4o"\nbase_url = "{aimock.url}"\nkey_file = "{key}"\n'
                         f'[[agents]]\nname = "{p}"\nmodel = "{p}"\nworkspace = "WORKSPACE"\n' for p in PATHS)
        with TurnCluster([{"text": "You said {{text}}."}], config) as c:
            yield c, aimock
    finally:
        aimock.close()


@both
def test_a_slow_answer_comes_in_pieces_and_is_stored_whole(world, provider):
    c, _ = world
    whole = "Slowly, wörld! " * 120  # six seconds: what comes while the disk is slow is one piece
    stream = c.stream(f"say-{provider}", "slowly", agent=provider)
    stream.wait("turn_complete")
    pieces = [d["data"] for k, d in stream.events if k == "text_delta"]
    assert len(pieces) > 5 and "".join(p["text"] for p in pieces) == whole
    assert [p["offset"] for p in pieces] == [sum(len(q["text"]) for q in pieces[:i]) for i in range(len(pieces))]
    user, answer = c.check_scope(f"say-{provider}")
    assert answer["text"] == whole and not answer["interrupted"]


@both
def test_a_turn_with_tools_goes_through(world, provider):
    c, _ = world
    turn = c.say(f"tools-{provider}", "tools", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    ran, listed = c.results(f"tools-{provider}", turn)
    assert ran["ok"] and ran["result"]["result"]["stdout"] == "from a tool\n" and listed["ok"], (ran, listed)
    assert c.of_turn(f"tools-{provider}", turn)[-1]["text"] == "Both have run."
    # The conversation continues after results of tools.
    turn = c.say(f"tools-{provider}", "hello", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    c.check_scope(f"tools-{provider}")


@both
def test_a_cancel_in_the_middle_of_a_stream_is_seen_by_the_server_and_the_text_is_kept(world, provider):
    c, aimock = world
    before = aimock.hung_up(provider)
    scope = f"cancel-{provider}"
    turn = c.say(scope, "long", agent=provider)
    until(lambda: len(c.events(turn, "text_delta")) >= 3, "three pieces of the answer")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proofs"]["connection_closed"] == 1, done
    until(lambda: aimock.hung_up(provider) == before + 1, "aimock to see the hang-up")
    user, answer = c.of_turn(scope, turn)
    assert answer["interrupted"] and answer["text"] and ("word by word " * 200).startswith(answer["text"]), answer
    assert answer["text"] == "".join(e["data"]["text"] for e in c.events(turn, "text_delta"))
    # The next turn mentions it to the model, and the model accepts that.
    turn = c.say(scope, "hello", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    c.check_scope(scope)


@both
def test_a_cancel_before_the_first_byte_is_seen_by_the_server_and_stores_nothing(world, provider):
    c, aimock = world
    before, seen = aimock.hung_up(provider), aimock.get("/__aimock/journal").count('"late"')
    turn = c.say(f"late-{provider}", "late", agent=provider)
    until(lambda: aimock.get("/__aimock/journal").count('"late"') > seen, "aimock to have the request")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled", done
    until(lambda: aimock.hung_up(provider) == before + 1, "aimock to see the hang-up")
    assert [m["role"] for m in c.of_turn(f"late-{provider}", turn)] == ["user"]
    c.check_scope(f"late-{provider}")


@both
def test_a_turn_cancelled_in_a_tool_can_be_followed_by_another(world, provider):
    c, _ = world
    scope = f"sleep-{provider}"
    turn = c.say(scope, "sleep", agent=provider)
    c.call(turn, "exec", "running")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    turn = c.say(scope, "hello", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    c.check_scope(scope)


@both
def test_a_busy_model_is_asked_again(world, provider):
    c, aimock = world
    turn = c.say(f"busy-{provider}", f"busy for {provider}", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    assert c.of_turn(f"busy-{provider}", turn)[-1]["text"] == "free again"
    assert len(c.below(turn, kind="model_call")) == 1
    assert f'path="{PATHS[provider]}",status="429"}} 1' in aimock.get("/metrics")
    c.check_scope(f"busy-{provider}")


@both
def test_a_cut_stream_fails_the_turn_in_words_and_what_came_is_kept_as_interrupted(world, provider):
    c, _ = world
    turn = c.say(f"cut-{provider}", "cut", agent=provider)
    over = c.ended(turn)
    assert over["status"] == "failed" and over["error"]["message"], over
    assert "end" in over["error"]["message"] or "lost" in over["error"]["message"], over["error"]
    user, answer = c.of_turn(f"cut-{provider}", turn)
    assert answer["interrupted"] and answer["text"].startswith("this "), answer
    assert c.events(turn, "turn_abort")[0]["data"]["reason"] == "error"
    turn = c.say(f"cut-{provider}", "hello", agent=provider)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    c.check_scope(f"cut-{provider}")


@both
def test_a_refusal_fails_the_turn_with_the_servers_words(world, provider):
    c, _ = world
    turn = c.say(f"refused-{provider}", "refused", agent=provider)
    over = c.ended(turn)
    assert over["status"] == "failed" and "no such model here" in over["error"]["message"], over
    assert "a-key-of-no-value" not in str(over)
    c.check_scope(f"refused-{provider}")
