"""Conversations that are longer than the model's context, and changes of a conversation: a summary takes the place of the older part,
can be stopped and killed at any point, and nothing is lost with it; a change comes only where no turn runs."""
import sqlite3
import uuid

import pytest

from harness.model_player import DIALECTS, Player
from harness.turns import TurnCluster
from harness.waiting import until

every = pytest.mark.parametrize("dialect", DIALECTS)
SUMMARY = "Summary of the conversation so far"


def model(name, kind, url, more=""):
    return (f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m-{name}"\nbase_url = "{url}"\nretries = 0\n{more}\n'
            f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["exec"]\nscopes = ["{name}"]\ninstructions = "Be brief."\n')


@pytest.fixture
def world():
    player = Player()
    try:
        config = "".join(model(name, kind, player.url, "context = 8000\nmax_tokens = 1500") for name, kind in DIALECTS.items())
        with TurnCluster([{"text": "You said {{text}}."}], config, agent='scopes = ["scripted"]') as c:
            yield c, player
    finally:
        player.close()


def fresh_id():
    """A UUIDv7, as stored."""
    b = bytearray(uuid.uuid4().bytes)
    b[6] = b[6] & 0x0F | 0x70
    return bytes(b)


def change(c, scope, action, status=(200, 202), **fields):
    answer = c.api("POST", "/v1/history", {"scope": scope, "action": action, **fields})
    assert answer.status in (status if isinstance(status, tuple) else (status,)), answer.body
    return answer.json


def said(c, scope, text, **fields):
    turn = c.say(scope, text, **fields)
    over = c.ended(turn)
    assert over["status"] == "completed", over
    return turn


def fill(c, scope, count, begin=0, size=500):
    for i in range(begin, begin + count):
        said(c, scope, f"message {i} " + "word " * size)


def summaries(c, scope):
    return [m for m in c.messages(scope) if m["role"] == "summary"]


def sent(player, text):
    return str(player.of(text)[-1]["body"])


@every
def test_a_summary_takes_the_place_of_the_older_part_and_keeps_the_first_fact(world, dialect):
    c, player = world
    scope = f"{dialect}/long"
    said(c, scope, "My sister is called Ada.")
    cancelled = c.say(scope, "hold: delete the old backups")
    c.wait_event(cancelled, "text_delta")
    assert c.cancel(operation=cancelled)["status"] == "settled"
    fill(c, scope, 14)
    said(c, scope, "what is she called")
    body = sent(player, "what is she called")
    assert SUMMARY in body and "My sister is called Ada." in body and "- hold: delete the old backups" in body, body[:3000]
    assert "left out" not in body and len(body) < 8000 * 4
    rows = summaries(c, scope)
    assert rows and rows[-1]["summary"]["messages"] > 4 and not rows[-1]["summary"]["clear"], rows
    assert len([m for m in c.messages(scope) if m["role"] == "user"]) == 17  # the rows stay
    # The summary is a call like any other: an operation of its turn with its tokens, which count for the turn.
    all_calls = c.operations(scope=scope, kind="model_call")
    [call, *_] = [o for o in all_calls if o["title"] == "summary of the conversation"]
    own = c.operation(call["parent"])
    assert call["status"] == "completed" and own["kind"] == "turn" and own["turn"]["usage"]["input_tokens"] == 2000, (call, own)
    told = c.events(own["id"], "history_compacted")
    assert [e["data"]["operation"] for e in told] == [call["id"]], told
    c.check_scope(scope)
    # After a restart the summary is read again, and nothing is summarised anew.
    before = len(player.summaries())
    c.restart()
    said(c, scope, "and again")
    assert "My sister is called Ada." in sent(player, "and again") and len(player.summaries()) == before


@every
def test_a_conversation_of_10000_messages_is_answered_by_a_model_of_8k(world, dialect):
    c, player = world
    scope = f"{dialect}/huge"
    said(c, scope, "My sister is called Ada.")
    c.kill_controller()
    database = sqlite3.connect(c.state + "/quell.db")
    [row] = database.execute("SELECT max(seq) FROM message").fetchall()
    now = database.execute("SELECT max(at) FROM message").fetchone()[0]
    with database:
        for i in range(5000):
            turn = fresh_id()
            for role, text in ((0, f"question {i} " + "word " * 20), (1, f"answer {i} " + "word " * 20)):
                seq = row[0] + 1 + 2 * i + role
                database.execute("INSERT INTO message (seq, id, scope, role, at, turn, aside, author, author_name, interrupted, discarded, text)"
                                 " VALUES (?,?,?,?,?,?,0,?,?,0,0,?)",
                                 (seq, fresh_id(), scope + "/", role, now, turn, "mia" if role == 0 else None, "Mia" if role == 0 else None, text))
        database.execute("UPDATE meta SET value = value + 20000 WHERE key LIKE '%seq%'")
    database.close()
    c.start_controller()
    for text in ("what is she called", "and what else"):
        said(c, scope, text)
        body = sent(player, text)
        assert "My sister is called Ada." in body and SUMMARY in body and len(body) < 8000 * 4, body[:2000]
    assert len(player.summaries()) == 1
    [one] = summaries(c, scope)
    assert one["summary"]["messages"] > 1500 and one["summary"]["unread"] > 0, one["summary"]


@every
def test_450_messages_that_wait_behind_a_turn_are_kept_and_answered_with_what_was_said_before(world, dialect):
    c, player = world
    scope = f"{dialect}/queue"
    said(c, scope, "My sister is called Ada.")
    running = c.say(scope, "wait a little")
    c.wait_event(running, "text_delta")
    turns = [c.say(scope, f"queued {i}.") for i in range(450)]
    player.released.set()
    assert c.ended(turns[4])["status"] == "completed"
    assert c.cancel(scope=scope)["status"] == "settled"  # the others need not be awaited
    ends = {o["id"]: o["status"] for o in c.operations(scope=scope, kind="turn", status="ended")}
    assert all(t in ends for t in turns) and [ends[t] for t in turns[:5]] == ["completed"] * 5, ends
    asked = [player.of(f"queued {i}.") for i in range(450)]
    assert all(len(a) <= 1 for a in asked) and all(asked[:5])
    bodies = [str(a[0]["body"]) for a in asked if a]
    assert all("My sister is called Ada." in b and "left out" not in b for b in bodies)
    assert all(f"queued {i - 1}." in b for i, b in enumerate(bodies) if i), "without the message before it"


@every
def test_a_stop_in_the_summary_ends_the_turn_and_leaves_no_summary(world, dialect):
    c, player = world
    scope = f"{dialect}/stopped"
    said(c, scope, "a held summary. My cat is called Tom.")
    fill(c, scope, 4)
    before = player.hung_up
    turn = None
    for i in range(20):  # until one of them needs the summary
        turn = c.say(scope, f"more {i} " + "word " * 500)
        until(lambda: c.operation(turn)["status"] not in ("pending", "running") or player.summaries(), "the turn or its summary")
        if player.summaries():
            break
    call = until(lambda: [o for o in c.below(turn, kind="model_call") if o["title"] == "summary of the conversation" and o["status"] == "running"],
                 "the summary to run")[0]
    report = c.cancel(operation=turn)
    assert report["status"] == "settled" and report["report"]["proven"], report
    assert c.operation(turn)["status"] == "cancelled" and c.operation(call["id"])["status"] == "cancelled"
    assert c.operation(call["id"])["stop"]["proof"] == "connection_closed", c.operation(call["id"])
    until(lambda: player.hung_up > before, "the model's connection to be closed")
    assert not summaries(c, scope)
    player.released.set()
    said(c, scope, "what is he called")
    body = sent(player, "what is he called")
    assert "My cat is called Tom." in body and SUMMARY in body, body[:2000]
    c.check_scope(scope)


def test_a_killed_controller_in_the_summary_loses_nothing(world):
    c, player = world
    scope = "openai/killed"
    said(c, scope, "a held summary. My cat is called Tom.")
    fill(c, scope, 4)
    turn = None
    for i in range(20):
        turn = c.say(scope, f"more {i} " + "word " * 500)
        until(lambda: c.operation(turn)["status"] not in ("pending", "running") or player.summaries(), "the turn or its summary")
        if player.summaries():
            break
    until(lambda: [o for o in c.below(turn, kind="model_call") if o["title"] == "summary of the conversation"], "the summary")
    assert not summaries(c, scope)
    player.released.set()  # of later ones: this one is cut with its controller
    c.restart()
    c.ended(turn)
    said(c, scope, "what is he called")
    assert "My cat is called Tom." in sent(player, "what is he called")
    assert c.operations(scope=scope, status="live") == []
    c.check_scope(scope)


def test_a_summary_that_fails_leaves_the_oldest_out_with_a_note(world):
    c, player = world
    scope = "openai/failing"
    said(c, scope, "a failing summary is wanted")
    fill(c, scope, 14)
    said(c, scope, "now")
    body = sent(player, "now")
    assert "left out to make room" in body and SUMMARY not in body, body[:2000]
    assert player.summaries() and not summaries(c, scope)
    failed = [o for o in c.operations(scope=scope, kind="model_call") if o["title"] == "summary of the conversation"]
    assert {o["status"] for o in failed} == {"failed"} and failed[0]["error"]["code"] == "model_refused", failed[0]


def test_an_overflow_is_answered_by_a_summary_once(world):
    c, player = world
    scope = "openai/overflow"
    said(c, scope, "My sister is called Ada.")
    fill(c, scope, 5)
    turn = said(c, scope, "too long once")
    first, second = player.of("too long once")
    assert SUMMARY not in str(first["body"]) and SUMMARY in str(second["body"]) and "Ada" in str(second["body"]), second["body"]
    [retry] = c.events(turn, "model_retry")
    assert retry["data"]["code"] == "context_overflow", retry
    turn = c.say(scope, "too long")
    assert c.ended(turn)["error"]["code"] == "context_overflow"
    assert len(player.of("too long")) <= 2
    said(c, scope, "and now")


# ---- changes ----------------------------------------------------------------------------------------------------------
def test_clear_begins_afresh_and_keeps_the_rows(world):
    c, player = world
    scope = "openai/clear"
    said(c, scope, "My sister is called Ada.")
    last = c.messages(scope)[-1]
    refused = change(c, scope, "clear", 409, expect=last["seq"] - 1)
    assert refused["code"] == "history_changed" and last["message"] in refused["detail"], refused
    done = change(c, scope, "clear", expect=last["message"])
    assert done["operation"] is None and done["seq"] > last["seq"], done
    said(c, scope, "who is she")
    assert "Ada" not in sent(player, "who is she")
    rows = c.messages(scope)
    assert rows[0]["text"] == "My sister is called Ada." and rows[2]["role"] == "summary" and rows[2]["summary"]["clear"], rows
    c.check_scope(scope)


def test_no_change_while_a_turn_runs_or_waits(world):
    c, player = world
    scope = "openai/busy"
    said(c, scope, "hello")
    turn = c.say(scope, "hold on")
    c.wait_event(turn, "text_delta")
    for action, more in (("clear", {}), ("compact", {}), ("regenerate", {}), ("fork", {"to": "openai/other"}),
                         ("delete", {"id": c.messages(scope)[0]["message"]})):
        assert change(c, scope, action, 409, **more)["code"] == "turn_running", action
    assert change(c, "openai/elsewhere", "fork", 404, to=scope + "/x")["code"] == "message_not_found"
    c.cancel(operation=turn)
    change(c, scope, "clear")
    c.check_scope(scope)


def test_edit_delete_and_regenerate(world):
    c, player = world
    scope = "openai/edit"
    said(c, scope, "first")
    said(c, scope, "second")
    said(c, scope, "third")
    rows = {m["text"]: m for m in c.messages(scope) if m["role"] == "user"}
    change(c, scope, "delete", id=rows["first"]["message"])
    done = change(c, scope, "edit", id=rows["second"]["message"], text="second, edited")
    assert done["messages"] == 4 and done["message"], done
    assert change(c, scope, "edit", 404, id=rows["third"]["message"], text="x")["code"] == "message_not_found"
    again = change(c, scope, "regenerate", 202)
    assert c.ended(again["operation"])["status"] == "completed"
    messages = player.of("second, edited")[-1]["body"]["messages"]
    assert [m["content"] for m in messages if m["role"] != "system"] == ["second, edited"], messages
    said(c, scope, "and now")
    texts = [m["content"] for m in player.of("and now")[-1]["body"]["messages"] if m["role"] != "system"]
    assert texts == ["second, edited", "All right.", "and now"], texts
    # Asking again replaces the answer: the old one is not read any more.
    newest = c.messages(scope)[-1]["seq"]
    again = change(c, scope, "regenerate", 202, expect=newest)
    assert c.ended(again["operation"])["status"] == "completed"
    # Whoever has not heard of it and repeats it with the same `expect` pays for no second answer.
    asked = len(player.of("and now"))
    assert change(c, scope, "regenerate", 409, expect=newest)["code"] == "history_changed"
    assert len(player.of("and now")) == asked
    texts = [m["content"] for m in player.of("and now")[-1]["body"]["messages"] if m["role"] != "system"]
    assert texts == ["second, edited", "All right.", "and now"], texts
    c.check_scope(scope)
    c.restart()
    said(c, scope, "at last")
    texts = [m["content"] for m in player.of("at last")[-1]["body"]["messages"] if m["role"] != "system"]
    assert texts == ["second, edited", "All right.", "and now", "All right.", "at last"], texts


def test_a_stop_between_the_messages_that_go_stays_and_is_not_counted(world):
    c, player = world
    scope = "openai/stop"
    said(c, scope, "first")
    running = c.say(scope, "hold on")
    c.wait_event(running, "text_delta")
    assert c.post(scope, "stop").json["decision"] == "cancel"
    c.ended(running)
    said(c, scope, "second")
    rows = {m["text"]: m for m in c.messages(scope)}
    going = [m for m in c.messages(scope) if m["turn"] and m["seq"] >= rows["hold on"]["seq"]]
    done = change(c, scope, "edit", id=rows["hold on"]["message"], text="hold on, edited")
    assert done["messages"] == len(going), (done, going)
    assert not next(m for m in c.messages(scope) if m["text"] == "stop")["discarded"]
    c.check_scope(scope)


def test_compact_now_is_an_operation_that_can_be_stopped(world):
    c, player = world
    scope = "openai/compact"
    said(c, scope, "a held summary. My cat is called Tom.")
    fill(c, scope, 3, size=50)
    newest = c.messages(scope)[-1]["seq"]
    begun = change(c, scope, "compact", 202)
    assert begun["seq"] == newest, begun  # the next `expect`, if no summary comes
    call = until(lambda: [o for o in c.operations(scope=scope, status="live") if o["id"] == begun["operation"]], "the summary to run")[0]
    assert call["kind"] == "model_call" and call["parent"] is None
    until(player.summaries, "the model to be asked")
    queued = c.say(scope, "meanwhile")  # waits behind it
    assert c.operation(queued)["status"] == "pending"
    assert change(c, scope, "clear", 409)["code"] == "turn_running"
    report = c.cancel(operation=begun["operation"])
    assert report["status"] == "settled" and report["report"]["proven"], report
    assert c.ended(queued)["status"] == "completed"
    assert not summaries(c, scope)
    player.released.set()
    begun = change(c, scope, "compact", 202)
    assert c.wait_status(begun["operation"], "completed", "failed", "cancelled")["status"] == "completed"
    said(c, scope, "what is he called")
    body = sent(player, "what is he called")
    assert SUMMARY in body and "My cat is called Tom." in body and "message 0" not in body, body
    c.check_scope(scope)


def test_a_fork_goes_its_own_way(world):
    c, player = world
    scope, other = "openai/one", "openai/two"
    said(c, scope, "My sister is called Ada.")
    said(c, scope, "use a tool")
    cancelled = c.say(scope, "hold: delete the old backups")
    c.wait_event(cancelled, "text_delta")
    c.cancel(operation=cancelled)
    done = change(c, scope, "fork", to=other)
    assert done["messages"] == len([m for m in c.messages(scope)]) and done["to"] == other, done
    assert change(c, scope, "fork", 409, to=other)["code"] == "history_in_use"
    said(c, other, "who is she")
    body = sent(player, "who is she")
    assert "Ada" in body and "from the tool" in body and "was cancelled by the user" in body, body
    first = c.messages(other)[0]["message"]
    change(c, other, "delete", id=first)
    said(c, other, "who")
    assert "Ada" not in sent(player, "who")
    said(c, scope, "who then")
    assert "Ada" in sent(player, "who then") and "who is she" not in sent(player, "who then")
    c.check_scope(scope)


def test_rights_bodies_and_the_audit(world):
    c, player = world
    scope = "openai/rights"
    said(c, scope, "hello")
    token = lambda role, within: c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": within}).json["token"]
    inside, observer = token("chat", "openai/rights"), token("observer", "openai")
    post = lambda token, **body: c.api("POST", "/v1/history", body, token=token)
    assert post(observer, scope=scope, action="clear").status == 403
    assert post(inside, scope="openai/other", action="clear").json["code"] == "scope_forbidden"
    assert post(inside, scope=scope, action="fork", to="openai/other").json["code"] == "scope_forbidden"
    for body in ({"scope": scope}, {"scope": scope, "action": "burn"}, {"scope": scope, "action": "edit", "id": c.messages(scope)[0]["message"]},
                 {"scope": scope, "action": "clear", "id": c.messages(scope)[0]["message"]}, {"scope": scope, "action": "fork"},
                 {"scope": scope, "action": "clear", "expect": {}}, {"scope": "quell/x", "action": "clear"}):
        assert c.api("POST", "/v1/history", body).status == 422, body
    assert c.post(scope, "mine", id="quell:summary").status == 422
    assert post(inside, scope=scope, action="clear").status == 200
    entries = [e["data"] for e in c.api("GET", "/v1/audit?limit=1000").json["audit"]]
    [entry] = [e for e in entries if e["action"] == "history_clear"]
    assert entry["target"] == f"scope {scope}", entry
