"""What models do besides answering, in all three dialects, through the real programs: they think, wait, refuse, break off, and are
replaced; and a stop comes in each of these."""
import glob
import json
import os
from datetime import datetime, timezone

import pytest

from harness.model_player import Player, model
from harness.turns import TurnCluster
from harness.waiting import until

DIALECTS = {"openai": 'provider = "openai"', "anthropic": 'provider = "anthropic"\nthinking = 2000',
            "responses": 'provider = "openai"\napi = "responses"\neffort = "low"'}
OTHER = {"openai": "anthropic", "anthropic": "responses", "responses": "openai"}
every = pytest.mark.parametrize("dialect", DIALECTS)
SMALLER = ("anthropic", "responses")  # of fallback models; the first one is always OpenAI's
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": False}
#: How models are to answer: each setting in at least one dialect.
SET = {"openai": f'provider = "openai"\ntop_p = 0.5\ntool_choice = "any"\neffort = "low"\nresponse_schema = \'{json.dumps(SCHEMA)}\'',
       "anthropic": f'provider = "anthropic"\ntool_choice = "exec"\neffort = "low"\nresponse_schema = \'{json.dumps(SCHEMA)}\'',
       "responses": 'provider = "openai"\napi = "responses"\ntop_p = 0.5\ntool_choice = "exec"\nresponse_format = "json"'}


@pytest.fixture(scope="module")
def world():
    player = Player()
    try:
        priced = 'price = { input = 2, output = 10, cached = 0.5 }\nheaders = { X-Gateway = "gateway-secret" }'
        config = "".join(model(name, kind, player.url, priced) for name, kind in DIALECTS.items())
        config += model("falls", DIALECTS["openai"], player.url, 'retries = 0\nfallback = ["anthropic"]')
        config += "".join(model(f"broke-{name}", kind, player.url, f'fallback = ["{OTHER[name]}"]') for name, kind in DIALECTS.items())
        config += "".join(model(f"small-{name}", kind.replace("2000", "1024"), player.url, "context = 6000\nmax_tokens = 1500") for name, kind in DIALECTS.items())
        config += model("patient", DIALECTS["openai"], player.url, 'idle_timeout = "5s"\nfirst_event_timeout = "5s"')
        config += "".join(model(f"less-{name}", DIALECTS["openai"], player.url, f'retries = 0\nfallback = ["small-{name}"]') for name in SMALLER)
        config += "".join(model(f"set-{name}", kind, player.url, "temperature = 0.25") +
                          f'[[agents]]\nname = "own-{name}"\nmodel = "set-{name}"\nworkspace = "WORKSPACE"\ntools = ["exec"]\n'
                          'temperature = 0.75\ntool_choice = "auto"\n' for name, kind in SET.items())
        with TurnCluster([{"text": "You said {{text}}."}], config) as c:
            yield c, player
    finally:
        player.close()


def hung_up(player):
    """How many were, once nothing of an earlier test is open."""
    until(lambda: player.open == 0, "earlier requests to be over")
    return player.hung_up


def said(c, turn):
    return "".join(e["data"]["text"] for e in c.events(turn, "text_delta"))


@every
def test_thinking_is_told_apart_from_the_answer_and_goes_back_sealed_with_the_results(world, dialect):
    c, player = world
    scope, text = f"think-{dialect}", f"think with a tool {dialect}"
    turn = c.say(scope, text, agent=dialect)
    over = c.ended(turn)
    assert over["status"] == "completed" and over["turn"]["text"] == "I look. \n\nAll right.", over
    thoughts = [e["data"] for e in c.events(turn, "thinking_delta")]
    assert "".join(t["text"] for t in thoughts) == "Let me see. Yes." * 2, thoughts
    assert [t["offset"] for t in thoughts] == [sum(len(u["text"]) for u in thoughts[:i]) for i in range(len(thoughts))]
    assert said(c, turn) == over["turn"]["text"] and "Let me see" not in str(c.of_turn(scope, turn))
    first, second = player.of(text)
    if dialect == "anthropic":
        assert first["body"]["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        assert second["body"]["messages"][-2]["content"][0] == {"type": "thinking", "thinking": "Let me see. Yes.", "signature": "sealed=="}
    if dialect == "responses":
        assert first["body"]["reasoning"]["effort"] == "low"
        assert [i["encrypted_content"] for i in second["body"]["input"] if i.get("type") == "reasoning"] == ["sealed=="]
    # OpenAI's clients get it beside the answer, whole and streamed.
    whole = c.api("POST", "/openai/v1/chat/completions", {"model": dialect, "messages": [{"role": "user", "content": text}]})
    message = whole.json["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (over["turn"]["text"], "Let me see. Yes." * 2), message
    streamed = c.api("POST", "/openai/v1/chat/completions", {"model": dialect, "stream": True, "messages": [{"role": "user", "content": text}]})
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in streamed.body.decode().splitlines() if line.startswith("data: {")]
    assert "".join(d.get("reasoning_content", "") for d in deltas) == "Let me see. Yes." * 2, deltas
    assert "".join(d.get("content", "") for d in deltas) == over["turn"]["text"], deltas
    # The next turn begins anew.
    turn = c.say(scope, f"hello {dialect}", agent=dialect)
    assert c.ended(turn)["status"] == "completed"
    assert "sealed==" not in str(player.of(f"hello {dialect}")[0]["body"])
    c.check_scope(scope)


@every
def test_cached_tokens_and_their_price_are_shown(world, dialect):
    c, player = world
    turn = c.say(f"cost-{dialect}", f"cost {dialect}", agent=dialect)
    usage = c.ended(turn)["turn"]["usage"]
    assert usage["input_tokens"] == 1000 and usage["cached_input_tokens"] == 400 and usage["output_tokens"] == 100, usage
    assert usage["cost"] == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6) and "estimated" not in usage, usage
    assert c.events(turn, "turn_complete")[0]["data"]["usage"] == usage
    [used] = c.events(turn, "model_usage")
    assert used["data"]["model"] == dialect and used["data"]["usage"] == usage
    [request] = player.of(f"cost {dialect}")
    marks = str(request["body"]).count("'cache_control'")
    assert marks == (3 if dialect == "anthropic" else 0), request["body"]


def forced(dialect, body):
    """The tool that the model must call; "any" = some tool; None = it may choose."""
    choice = body.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return {"required": "any", None: None}[choice]
    return choice["function"]["name"] if dialect == "openai" else choice["name"]


@every
def test_a_provider_is_sent_the_settings_of_its_model_and_the_agents_before_them(world, dialect):
    c, player = world
    text = f"use a tool, set {dialect}"
    assert c.ended(c.say(f"set-{dialect}", text, agent=f"set-{dialect}"))["status"] == "completed"
    first, second = (r["body"] for r in player.of(text))
    for body in (first, second):
        assert body["temperature"] == 0.25 and body.get("top_p") == (None if dialect == "anthropic" else 0.5), body
    if dialect == "openai":
        assert first["reasoning_effort"] == "low" and first["response_format"]["json_schema"]["schema"] == SCHEMA, first
    elif dialect == "anthropic":
        assert first["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}, first
    else:
        assert first["text"]["format"] == {"type": "json_object"}, first
    # A tool is forced once for each message, or the model could never answer.
    assert forced(dialect, first) == ("any" if dialect == "openai" else "exec") and forced(dialect, second) is None, (first, second)
    text = f"plain, my way {dialect}"
    assert c.ended(c.say(f"own-{dialect}", text, agent=f"own-{dialect}"))["status"] == "completed"
    [request] = player.of(text)
    choice = request["body"]["tool_choice"]
    assert request["body"]["temperature"] == 0.75 and choice == ({"type": "auto"} if dialect == "anthropic" else "auto"), request["body"]


@every
def test_the_reason_why_an_answer_ended_is_shown(world, dialect):
    c, _ = world
    for text, reason in (("plain", "end"), ("length", "length"), ("filter", "refusal" if dialect == "anthropic" else "content_filter")):
        turn = c.say(f"reason-{dialect}", f"{text} {dialect}", agent=dialect)
        over = c.ended(turn)
        assert over["status"] == "completed" and over["turn"]["stop_reason"] == reason, over
        assert c.events(turn, "turn_complete")[0]["data"]["stop_reason"] == reason


def test_the_cli_says_that_an_answer_is_cut(world):
    c, _ = world

    def say(text):
        done = c.quell("say", "--scope", "cli", "--agent", "openai", text)
        return done.returncode, done.stdout.decode().strip(), done.stderr.decode()

    code, out, err = say("length cli")
    assert code == 0 and out == "All right." and "limit of one answer" in err, (code, out, err)
    assert say("plain cli") == (0, "All right.", "")
    code, out, err = say("too long cli")
    assert code != 0 and out == "" and "context_overflow" in err, (code, out, err)
    code, out, err = say("cut cli")
    assert code != 0 and out == "Half of the answer" and "(model_cut)" in err, (code, out, err)


@every
def test_a_conversation_longer_than_the_context_goes_on_and_keeps_its_beginning(world, dialect):
    c, player = world
    scope, agent = f"long-{dialect}", f"small-{dialect}"
    assert c.ended(c.say(scope, "My sister is called Ada.", agent=agent))["status"] == "completed"
    for i in range(12):
        turn = c.say(scope, f"message {i} {dialect} " + "word " * 500, agent=agent)
        assert c.ended(turn)["status"] == "completed", c.ended(turn)
    last = f"what is she called {dialect}"
    assert c.ended(c.say(scope, last, agent=agent))["status"] == "completed"
    [request] = player.of(last)
    body = str(request["body"])
    assert len(body) < 4500 * 4 and "My sister is called Ada." in body and "Summary of the conversation so far" in body and "message 11" in body, body[:2000]
    kept = [m for m in c.messages(scope) if m["role"] != "summary"]
    assert len(kept) == 28 and kept[0]["text"] == "My sister is called Ada.", kept[:2]  # nothing of it is gone from the store


@every
def test_an_overflow_is_answered_with_less_once_and_ends_the_turn_but_not_the_scope(world, dialect):
    c, player = world
    scope = f"overflow-{dialect}"
    for i in range(3):
        assert c.ended(c.say(scope, f"filler {i} {dialect} " + "word " * 800, agent=dialect))["status"] == "completed"
    text = f"too long once {dialect}"
    turn = c.say(scope, text, agent=dialect)
    assert c.ended(turn)["status"] == "completed"
    first, second = player.of(text)
    assert len(str(second["body"])) < 0.75 * len(str(first["body"]))
    [retry] = c.events(turn, "model_retry")
    assert retry["data"]["code"] == "context_overflow" and retry["data"]["wait_ms"] == 0, retry
    turn = c.say(scope, f"too long {dialect}", agent=dialect)
    over = c.ended(turn)
    assert over["status"] == "failed" and over["error"]["code"] == "context_overflow", over
    assert len(player.of(f"too long {dialect}")) == 2
    assert c.ended(c.say(scope, f"and now {dialect}", agent=dialect))["status"] == "completed"


@every
def test_a_stream_cut_before_a_word_is_asked_again_and_later_the_turn_fails_with_the_text_kept(world, dialect):
    c, player = world
    scope = f"cut-{dialect}"
    turn = c.say(scope, f"think, cut early {dialect}", agent=dialect)
    assert c.ended(turn)["turn"]["text"] == "All right."
    [retry] = c.events(turn, "model_retry")
    assert retry["data"]["code"] == "model_cut" and retry["data"]["model"] == dialect and retry["data"]["attempt"] == 2, retry
    assert retry["data"]["wait_ms"] > 0 and retry["data"]["reason"]

    turn = c.say(scope, f"cut {dialect}", agent=dialect)
    over = c.ended(turn)
    assert over["status"] == "failed" and over["error"]["code"] == "model_cut", over
    assert len(player.of(f"cut {dialect}")) == 1
    [call] = c.below(turn, kind="model_call")
    assert call["error"]["code"] == "model_cut", call
    user, answer = c.of_turn(scope, turn)
    assert answer["interrupted"] and answer["text"] == "Half of the answer"
    usage = over["turn"]["usage"]
    assert usage["estimated"] and usage["output_tokens"] >= 4 and usage["cost"] > 0, usage
    # The next request says so.
    turn = c.say(scope, f"afterwards {dialect}", agent=dialect)
    assert c.ended(turn)["status"] == "completed"
    assert "cut off" in str(player.of(f"afterwards {dialect}")[0]["body"])
    c.check_scope(scope)


def test_an_overloaded_model_is_replaced_and_the_watchers_hear_of_it(world):
    c, player = world
    turn = c.say("falls", "first is busy", agent="falls")
    assert c.ended(turn)["turn"]["text"] == "All right."
    [change] = c.events(turn, "model_fallback")
    assert change["data"]["from"] == "falls" and change["data"]["to"] == "anthropic" and change["data"]["code"] == "model_overloaded"
    assert [r["dialect"] for r in player.of("first is busy")] == ["openai", "anthropic"]
    # Nobody can answer: the last one's error is the turn's.
    turn = c.say("falls", "too long for everybody", agent="falls")
    assert c.ended(turn)["error"]["code"] == "context_overflow" and not c.events(turn, "model_fallback")
    c.check_scope("falls")


@pytest.mark.parametrize("dialect", SMALLER)
def test_a_fallback_model_with_a_smaller_context_gets_what_fits_into_it(world, dialect):
    c, player = world
    scope = f"less-{dialect}"
    assert c.ended(c.say(scope, "My brother is called Max.", agent="openai"))["status"] == "completed"
    for i in range(12):
        assert c.ended(c.say(scope, f"less {i} {dialect} " + "word " * 500, agent="openai"))["status"] == "completed"
    text = f"first is busy, less {dialect}"
    turn = c.say(scope, text, agent=scope)
    over = c.ended(turn)
    assert over["status"] == "completed" and over["turn"]["text"] == "All right.", over
    [change] = c.events(turn, "model_fallback")
    assert (change["data"]["from"], change["data"]["to"], change["data"]["code"]) == (scope, f"small-{dialect}", "model_overloaded"), change
    large, small = player.of(text)
    assert (large["dialect"], small["dialect"]) == ("openai", dialect)
    body = str(small["body"])
    assert len(str(large["body"])) > 6000 * 4 > 4500 * 4 > len(body), (len(str(large["body"])), len(body))
    assert "My brother is called Max." in body and "Summary of the conversation so far" in body, body[:2000]
    [compacted] = c.events(turn, "history_compacted")
    assert c.operation(compacted["data"]["operation"])["status"] == "completed"
    assert c.ended(c.say(scope, f"and then {dialect}", agent="openai"))["status"] == "completed"
    c.check_scope(scope)


@every
def test_a_model_whose_account_cannot_pay_is_replaced_at_once(world, dialect):
    c, player = world
    scope, text = f"broke-{dialect}", f"unpaid {dialect}"
    turn = c.say(scope, text, agent=f"broke-{dialect}")
    assert c.ended(turn)["turn"]["text"] == "All right."
    [change] = c.events(turn, "model_fallback")
    assert (change["data"]["to"], change["data"]["code"]) == (OTHER[dialect], "model_unpaid") and "cannot pay" in change["data"]["reason"], change
    assert [r["dialect"] for r in player.of(text)] == [dialect, OTHER[dialect]] and not c.events(turn, "model_retry")
    alone = c.say(scope, text, agent=dialect)  # nobody else can answer
    over = c.ended(alone)
    assert over["status"] == "failed" and over["error"]["code"] == "model_unpaid" and "cannot pay" in over["error"]["message"], over
    assert [o["error"]["code"] for o in c.below(alone, kind="model_call")] == ["model_unpaid"]
    printed = c.quell("say", "--scope", scope, "--agent", dialect, text)
    assert printed.returncode != 0 and b"(model_unpaid)" in printed.stderr, printed.stderr
    c.check_scope(scope)


def test_a_retry_is_an_event_with_its_reason_and_wait(world):
    c, _ = world
    turn = c.say("busy", "busy once", agent="openai")
    assert c.ended(turn)["status"] == "completed"
    [retry] = c.events(turn, "model_retry")
    assert retry["data"]["code"] == "model_overloaded" and "slow down" in retry["data"]["reason"], retry


def test_a_stop_during_the_wait_before_a_retry_ends_it_there(world):
    c, player = world
    turn = c.say("retry-stop", "busy later", agent="openai")
    retry = c.wait_event(turn, "model_retry")[0]
    assert retry["data"]["wait_ms"] == 30000 and c.operation(turn)["turn"]["model_wait"] == "retry"
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"] and done["report"]["settled_ms"] < 10000, done
    assert len(player.of("busy later")) == 1 and len(c.events(turn, "model_retry")) == 1
    c.check_scope("retry-stop")


def test_a_stop_in_a_fallback_hangs_up_there(world):
    c, player = world
    before = hung_up(player)
    turn = c.say("fallback-stop", "first is busy, then silent", agent="falls")
    c.wait_event(turn, "model_fallback")
    until(lambda: len(player.of("first is busy, then silent")) == 2, "the second model to be asked")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proofs"]["connection_closed"] == 1, done
    until(lambda: player.hung_up == before + 1, "the second model to see the hang-up")
    c.check_scope("fallback-stop")


def test_a_call_that_kill_9_cuts_in_a_fallback_is_asked_again_from_its_first_model_and_charged_once(world):
    c, player = world
    text = "first is busy, then silent until a kill"
    turn = c.say("falls-cut", text, agent="falls")
    c.wait_event(turn, "model_fallback")
    until(lambda: len(player.of(text)) == 2, "the fallback model to be asked")
    c.restart()
    c.wait_event(turn, "turn_resumed")
    until(lambda: len(player.of(text)) == 4, "both to be asked again")
    assert [r["dialect"] for r in player.of(text)] == ["openai", "anthropic"] * 2
    cut, = [o for o in c.below(turn, kind="model_call") if o["status"] == "failed"]
    assert cut["error"]["code"] == "interrupted" and cut["result"]["usage"]["estimated"] is True, cut
    assert c.cancel(operation=turn)["report"]["proven"]
    # Each call counts once, however many models it asked.
    calls = [o["result"]["usage"] for o in c.below(turn, kind="model_call")]
    total = c.api("GET", "/v1/cost?by=scope&scope=falls-cut").json["total"]
    assert (len(calls), total["model_calls"], total["estimated_calls"]) == (2, 2, 2), (calls, total)
    assert total["input_tokens"] == sum(u["input_tokens"] for u in calls) and min(u["input_tokens"] for u in calls) > 0, (calls, total)
    c.check_scope("falls-cut")


@every
def test_a_stop_while_the_model_thinks_hangs_up_and_what_it_used_is_estimated(world, dialect):
    c, player = world
    before = hung_up(player)
    turn = c.say(f"stop-{dialect}", f"think and hold {dialect}", agent=dialect)
    c.wait_event(turn, "text_delta")
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    until(lambda: player.hung_up == before + 1, "the model to see the hang-up")
    [used] = c.events(turn, "model_usage")
    usage = used["data"]["usage"]
    assert usage["estimated"] and usage["output_tokens"] >= 6 and usage["cost"] > 0, usage
    assert c.operation(turn)["turn"]["usage"] == usage
    c.check_scope(f"stop-{dialect}")


def test_comments_of_a_stream_count_as_life(world):
    c, player = world
    player.released.clear()
    turn = c.say("comments", "comments, then wait", agent="patient")
    until(lambda: player.of("comments, then wait"), "the request")
    # Longer than both limits, by quell's own clock.
    until(lambda: c.api("GET", f"/v1/operations/{turn}").json["status"] != "running" or elapsed(c, turn) > 8, "8 s of comments")
    player.released.set()
    assert c.ended(turn)["turn"]["text"] == "Slowly. All right."


def elapsed(c, turn):
    started = datetime.fromisoformat(c.operation(turn)["started_at"].replace("Z", "+00:00"))
    return (datetime.now(timezone.utc) - started).total_seconds()


def test_extra_headers_are_sent_and_shown_nowhere(world):
    c, player = world
    turn = c.say("headers", "headers please", agent="openai")
    assert c.ended(turn)["status"] == "completed"
    assert player.of("headers please")[0]["headers"]["x-gateway"] == "gateway-secret"
    config = c.api("GET", "/v1/config").body
    config = config.decode() if isinstance(config, bytes) else str(config)
    assert "X-Gateway" in config and "gateway-secret" not in config, config
    for log in glob.glob(os.path.join(c.directory, "*.log")):
        with open(log, encoding="utf-8", errors="replace") as f:
            assert "gateway-secret" not in f.read(), log
