"""Compaction where something ends: quelld is killed during a summary and after it, a stop comes at any of its steps, the provider takes far
less than was configured. No fact, no cancelled request and no open question is lost with it."""
import pytest

from harness.model_player import DIALECTS, Player
from harness.turns import TurnCluster
from harness.waiting import until
from test_turns_history import SUMMARY, change, every, fill, model, said, sent, summaries

ASKED = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n'
TITLE = "summary of the conversation"


@pytest.fixture
def world():
    player = Player()
    try:
        config = ASKED + "".join(model(name, kind, player.url, "context = 8000\nmax_tokens = 1500").replace('["exec"]', '["exec", "spawn_agent"]')
                                 for name, kind in DIALECTS.items())
        config += model("wide", DIALECTS["openai"], player.url, "context = 200000\nmax_tokens = 1500")
        config += model("once", DIALECTS["openai"], player.url, "context = 8000\nmax_tokens = 1500") + "budget = { model_calls = 1 }\n"
        with TurnCluster([{"text": "You said {{text}}."}], config, agent='scopes = ["scripted"]') as c:
            yield c, player
    finally:
        player.close()


def summary_calls(c, turn, *statuses):
    return [o for o in c.below(turn, kind="model_call") if o["title"] == TITLE and (not statuses or o["status"] in statuses)]


def paused(c, turn):
    return until(lambda: [o for o in c.below(turn, kind="tool_call") if o["status"] == "paused"], "the last of thirty rounds to ask", 240)[0]


def whole(body):
    """The conversation of a request keeps its provider's rules: each call has its result, and no result is without its call."""
    calls, results = [], []
    for m in body.get("messages") or body["input"]:
        blocks = m["content"] if isinstance(m.get("content"), list) else [m]
        for b in blocks:
            kind = b.get("type")
            calls += [c["id"] for c in b.get("tool_calls") or []]
            if kind in ("tool_use", "function_call"):
                calls.append(b["id"] if kind == "tool_use" else b["call_id"])
            if kind in ("tool_result", "function_call_output"):
                results.append(b["tool_use_id"] if kind == "tool_result" else b["call_id"])
            elif b.get("role") == "tool":
                results.append(b["tool_call_id"])
    assert calls == results, (calls, results)
    return len(calls)


@every
def test_a_turn_that_outgrew_the_model_goes_on_after_a_kill_with_its_question_open(world, dialect):
    c, player = world
    scope = f"{dialect}/rounds"
    said(c, scope, "My sister is called Ada.")
    cancelled = c.say(scope, "hold: delete the old backups")
    c.wait_event(cancelled, "text_delta")
    c.cancel(operation=cancelled)
    text = "30 rounds, the last one is asked"
    turn = c.say(scope, text)
    call = paused(c, turn)
    rows = summaries(c, scope)
    written = len(player.summaries())
    assert rows and written == len(summary_calls(c, turn, "completed")), (rows, written)
    for r in player.of(text):
        whole(r["body"])
    used = c.operation(turn)["turn"]["usage"]["input_tokens"]
    assert used == 1000 * (30 + written), used
    c.restart()
    assert c.operation(call["id"])["status"] == "paused"
    assert c.api("POST", f"/v1/operations/{call['id']}/approve", {}).status == 200
    over = c.ended(turn)
    assert over["status"] == "completed" and over["turn"]["usage"]["input_tokens"] == 1000 * (31 + len(player.summaries())), over
    body = sent(player, text)
    assert len(player.of(text)) == 31 and len(player.summaries()) == written, len(player.of(text))
    assert whole(player.of(text)[-1]["body"]) < 25
    assert SUMMARY in body and "My sister is called Ada." in body and "- hold: delete the old backups" in body and "none-30" in body, body[:3000]
    c.check_scope(scope)
    said(c, scope, "what is she called")
    assert "My sister is called Ada." in sent(player, "what is she called")


def test_a_sub_agent_finds_its_own_summary_after_a_kill(world):
    c, player = world
    scope = "openai/below"
    said(c, scope, "My sister is called Ada.")
    task = "My brother is called Max. 30 rounds, the last one is asked"
    turn = c.say(scope, "pass on: " + task)
    call = paused(c, turn)
    agent = c.operation(call["parent"])
    assert agent["kind"] == "sub_agent"
    written = len(player.summaries())
    aside = c.messages(scope, sub_agent=agent["id"])
    assert [m["role"] for m in aside].count("summary") == written > 0 and not summaries(c, scope), aside
    c.restart()
    assert c.api("POST", f"/v1/operations/{call['id']}/approve", {}).status == 200
    assert c.ended(turn)["status"] == "completed"
    assert len(player.summaries()) == written and len(player.of(task)) == 31
    body = sent(player, task)
    assert SUMMARY in body and body.count("My brother is called Max.") >= 2 and whole(player.of(task)[-1]["body"]) < 25, body[:3000]
    said(c, scope, "and now")
    assert SUMMARY not in sent(player, "and now") and "My sister is called Ada." in sent(player, "and now")
    c.check_scope(scope)


def test_a_killed_controller_while_a_person_compacts_frees_the_scope(world):
    c, player = world
    scope = "openai/idle"
    said(c, scope, "a held summary. My cat is called Tom.")
    fill(c, scope, 3, size=50)
    begun = change(c, scope, "compact", 202)
    until(player.summaries, "the model to be asked")
    queued = c.say(scope, "meanwhile")
    c.restart()
    assert c.ended(queued)["status"] == "completed"
    over = c.wait_status(begun["operation"], "failed", "cancelled")
    assert over["status"] == "failed" and over["error"]["code"] == "interrupted", over
    assert not summaries(c, scope) and c.operations(scope=scope, status="live") == []
    player.released.set()
    begun = change(c, scope, "compact", 202)
    assert c.wait_status(begun["operation"], "completed", "failed", "cancelled")["status"] == "completed"
    c.restart()
    said(c, scope, "what is he called")
    assert SUMMARY in sent(player, "what is he called") and "My cat is called Tom." in sent(player, "what is he called")
    c.check_scope(scope)


def test_a_stop_at_any_step_of_a_compaction_is_proven_and_loses_nothing(world):
    c, player = world
    scope = "openai/steps"
    said(c, scope, "My cat is called Tom.")
    fill(c, scope, 4)

    def summary_runs(turn):
        return summary_calls(c, turn, "running")

    def is_asked(turn):
        return len(player.summaries()) > before

    def is_stored(turn):
        return c.events(turn, "history_compacted")

    met = 0
    for moment in (lambda turn: True, summary_runs, is_asked, is_stored, lambda turn: c.events(turn, "text_delta")):
        for i in range(12):  # until one of them needs a summary
            before = len(player.summaries())
            turn = c.say(scope, f"hold {i} " + "word " * 600)
            until(lambda: moment(turn) or c.events(turn, "text_delta"), "that step")
            report = c.cancel(operation=turn)
            assert report["status"] == "settled" and report["report"]["proven"], report
            assert c.operation(turn)["status"] == "cancelled"
            assert not summary_calls(c, turn, "running", "cancelling")
            if summary_calls(c, turn):
                met += 1
                break
    assert met >= 4  # a stop that comes at once can be there before every summary
    until(lambda: player.open == 0, "every connection to be closed")
    said(c, scope, "what is he called")
    body = sent(player, "what is he called")
    assert "My cat is called Tom." in body and "cancelled" in body, body[:3000]
    c.check_scope(scope)


def test_a_stop_in_the_summary_after_an_overflow(world):
    c, player = world
    scope = "openai/over"
    said(c, scope, "a held summary. My cat is called Tom.")
    fill(c, scope, 4, size=200)
    turn = c.say(scope, "too long once")
    until(lambda: summary_calls(c, turn, "running") and player.summaries(), "the summary to run")
    report = c.cancel(operation=turn)
    assert report["status"] == "settled" and report["report"]["proven"], report
    assert {o["status"] for o in c.below(turn, kind="model_call")} == {"cancelled"}
    until(lambda: player.open == 0, "every connection to be closed")
    assert not summaries(c, scope)
    player.released.set()
    said(c, scope, "what is he called")
    c.check_scope(scope)


def test_a_provider_that_takes_far_less_than_was_configured_ends_turns_never_the_scope(world):
    c, player = world
    scope = "wide/narrow"
    said(c, scope, "My sister is called Ada.")
    fill(c, scope, 40, size=400)  # about 80,000 bytes
    player.most_bytes = 8000
    ends = []
    while "completed" not in ends and len(ends) < 8:
        over = c.ended(c.say(scope, f"and now {len(ends)}"))
        ends.append(over["status"])
        assert over["status"] == "completed" or over["error"]["code"] == "context_overflow", over
        assert len(player.of(f"and now {len(ends) - 1}")) <= 2
    assert ends[-1] == "completed" and len(ends) <= 5, ends
    for i in range(6):  # and it stays so, with what was learned and behind it
        said(c, scope, f"later {i} " + "word " * 100)
    c.check_scope(scope)


def test_an_agent_of_one_model_call_answers_long_conversations_without_a_summary(world):
    c, player = world
    scope = "once/long"
    fill(c, scope, 14)
    said(c, scope, "now")
    assert "left out to make room" in sent(player, "now") and not player.summaries()
    c.check_scope(scope)


@every
def test_a_message_larger_than_the_model_ends_its_own_turn_alone(world, dialect):
    c, player = world
    scope = f"{dialect}/giant"
    player.most_bytes = 32_000  # the provider refuses what is longer, too
    said(c, scope, "My sister is called Ada.")
    over = c.ended(c.say(scope, "giant " + "word " * 12_000))
    assert over["status"] == "completed" or over["error"]["code"] == "context_overflow", over
    for i in range(3):
        said(c, scope, f"and now {i}")
    assert "Ada" in sent(player, "and now 2")
    c.check_scope(scope)
