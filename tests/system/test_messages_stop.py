"""Cancel words: their recognition, who may use them, their effect, the acknowledgement, and the work that continues."""

import concurrent.futures
import pytest
import signal

from harness import processes
from harness.cluster import marker
from harness.talk import on_terminal
from harness.turns import TurnCluster
from harness.waiting import until

ACKNOWLEDGES = {"when": {"system": "Interrupted:"}, "text": "Stopped, as you said."}


CONFIG = """
[chat]
bot_names = ["clanky"]
cancel_words = ["halt", "hör auf"]
[[place]]
scope = "chat/guild"
cancel_words = ["basta"]
bot_names = ["robby"]
[[place]]
scope = "chat/greek"
languages = ["el"]
cancel_words = ["στάσις"]
"""


def script(m):
    return [
        ACKNOWLEDGES,
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"when": {"user": "deaf"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "trap '' TERM; touch started; while :; do sleep 0.1; done #" + m}}]}]},
        {"when": {"user": "list"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "ls"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m), config=CONFIG) as c:
        yield c, m


def acknowledgement(c, message, seconds=60):
    """The last word on it: if the proof takes long, quell says first that it is stopping."""
    def look():
        told = c.stored_events(types="acknowledgement")
        return next((e for e in told if e["data"]["message"] == message and e["data"].get("state") != "stopping"), None)
    return until(look, f"the acknowledgement of {message}", seconds)["data"]


YES = ["stop", "STOP!!", "ok, nvm", "just stop it", "please cancel", "hey clanky stop", "forgetit", "Never mind.", "Halt!", "HÖR AUF", "ho\u0308r auf", "stop…", "🛑", "⏹️", "stop, clanky", "Stop. Stop.", "no, stop", "st\u200bop", "\u200fstop"]
NO = ["stop the music", "don't stop", "can you cancel my subscription", "stop worrying about it", "okstop", "cancelled", "continue", "st\u043ep", "stop " + "x " * 20000]


def test_the_words_that_stop_and_those_that_do_not(world):
    c, _ = world
    for i, text in enumerate(YES):
        scope = f"chat/yes-{i}"
        turn = c.say(scope, "endless")
        answer = c.post(scope, text)
        assert answer.status == 200 and answer.json["decision"] == "cancel" and answer.json["why"] == "cancel_word", (text, answer.body)
        assert answer.json["detected"]["cancel_word"] and answer.json["detected"]["standing"] == "text", answer.body
        assert answer.json["cancel"]["operations"] >= 1 and answer.json["acknowledgement"] == "pending" and answer.json["turn"] is None
        assert c.ended(turn)["status"] == "cancelled", text
    for i, text in enumerate(NO):
        scope = f"chat/no-{i}"
        turn = c.say(scope, "endless")
        c.wait_status(turn, "running")
        answer = c.post(scope, text)
        assert answer.status == 202 and answer.json["decision"] == "turn" and answer.json["why"] == "no_cancel_word", (text[:50], answer.body[:300])
        assert answer.json["turn"]["status"] == "pending" and answer.json["turn"]["position"] == 1 and answer.json["acknowledgement"] == "none"
        assert c.operation(turn)["status"] == "running"
    c.cancel(everything=True)


def test_words_of_a_language_stop_where_it_is_named_however_they_are_written(world):
    c, _ = world
    for i, text in enumerate(["σταμάτα", "ΣΤΑΜΑΤΑ", "σταμα\u0301τα τώρα", "όχι, στοπ;", "ΣΤΑΣΙΣ", "στάσισ", "\u2068στάσις\u2069", "stop"]):
        here, there = f"chat/greek/{i}", f"chat/elsewhere/{i}"
        turns = [c.say(scope, "endless") for scope in (here, there)]
        answer = c.post(here, text)
        assert answer.json["decision"] == "cancel", (text, answer.body)
        assert c.ended(turns[0])["status"] == "cancelled", text
        if text != "stop":
            assert c.post(there, text).json["decision"] == "turn", text
            assert c.operation(turns[1])["status"] in ("pending", "running")
        c.cancel(scope=there)


def test_a_place_has_words_of_its_own(world):
    c, _ = world
    here, elsewhere = c.say("chat/guild/general", "endless"), c.say("chat/other/general", "endless")
    assert c.post("chat/other/general", "basta").json["decision"] == "turn"
    assert c.post("chat/guild/general", "basta, robby").json["decision"] == "cancel"
    assert c.ended(here)["status"] == "cancelled" and c.wait_status(elsewhere, "running")
    again = c.say("chat/guild", "endless")
    assert c.post("chat/guild", "clanky, halt").json["decision"] == "cancel"  # the words of the whole cluster hold, too
    assert c.ended(again)["status"] == "cancelled"
    c.cancel(everything=True)


def test_a_stop_in_an_idle_scope_is_an_ordinary_message(world):
    c, _ = world
    answer = c.post("chat", "stop")
    assert answer.status == 202 and answer.json["decision"] == "turn" and answer.json["why"] == "nothing_active", answer.body
    assert answer.json["detected"] == {"cancel_word": "stop", "standing": "text"}
    assert c.ended(answer.json["turn"]["id"])["status"] == "completed"
    assert not c.api("GET", "/v1/cancels").json["cancels"]


def test_a_stop_takes_the_queue_with_it_and_what_is_said_afterwards_runs(world):
    c, m = world
    runs = c.say("chat", "runs")
    until(lambda: processes.marked(m), "the command to run")
    queued = [c.say("chat", f"question {i}") for i in range(2)]
    answer = c.post("chat", "ok, stop it please")
    after = c.say("chat", "hello again")
    assert answer.json["cancel"]["interrupted"] == ["exec", "2 queued messages"], answer.body
    assert answer.json["cancel"]["status"] == "fenced" and answer.json["cancel"]["outcome"] == "stopping"
    assert c.ended(runs)["status"] == "cancelled"
    for q in queued:
        done = c.ended(q)
        assert done["status"] == "cancelled" and done["stop"]["receipt"] == "never_started", done
    assert c.ended(after)["status"] == "completed"
    assert not processes.marked(m)
    word = acknowledgement(c, answer.json["message"])
    assert word == {"message": answer.json["message"], "cancel": answer.json["cancel"]["id"], "text": "Stopped, as you said.", "reaction": None}
    settled = c.api("GET", f"/v1/cancels/{answer.json['cancel']['id']}?wait=settled&wait_ms=60000").json
    assert settled["report"]["proven"] and settled["by"]["id"] == "mia" and settled["reason"] == "ok, stop it please", settled
    said = [(x["role"], x["text"]) for x in c.check_scope("chat") if x["turn"] is None]
    assert said == [("user", "ok, stop it please"), ("assistant", "Stopped, as you said.")], said
    late = c.api("POST", "/v1/operations", {"kind": "task", "scope": "chat", "task": {"command": ["true"]}, "as_of_seq": answer.json["cancel"] and c.operation(queued[0])["seq"]})
    assert late.status == 409 and late.json["code"] == "stale_start", late.body
    fresh = c.api("POST", "/v1/operations", {"kind": "task", "scope": "chat", "task": {"command": ["true"]}, "as_of_seq": answer.json["seq"]})
    assert fresh.status == 201, fresh.body


@pytest.mark.parametrize("fields, why, standing", [
    ({"author": {"id": "mia"}}, "cancel_word", "speaker_owns"),
    ({"author": {"id": "tom"}}, "no_standing", "none"),
    ({"author": {"id": "tom"}, "addressed": True}, "cancel_word", "addressed"),
    ({"author": {"id": "tom"}, "humans_present": 1}, "cancel_word", "only_human"),
    ({"author": {"id": "tom"}, "humans_present": 2, "addressed": False}, "no_standing", "none"),
    ({"author": {"id": "tom"}, "text": "hey clanky stop"}, "cancel_word", "addressed"),
    ({"author": {"id": "tom"}, "text": "hey clanky stop", "addressed": False}, "no_standing", "none"),
    ({"author": {"id": "mia"}, "final": False}, "not_final", None),
    ({"author": {"id": "mia"}, "confidence": 0.2}, "low_confidence", None),
    ({"author": {"id": "mia"}, "confidence": 0.9}, "cancel_word", "speaker_owns"),
])
def test_who_may_stop_by_voice(world, fields, why, standing):
    c, _ = world
    turn = c.say("voice/room", "endless")
    c.wait_status(turn, "running")
    said = dict(fields)
    answer = c.post("voice/room", said.pop("text", "stop"), modality="voice", **said)
    assert answer.json["why"] == why and answer.json["detected"]["standing"] == standing, answer.body
    assert answer.json["decision"] == {"cancel_word": "cancel", "no_standing": "turn"}.get(why, "ignored")
    if why == "cancel_word":
        assert c.ended(turn)["status"] == "cancelled"
    else:
        assert c.operation(turn)["status"] == "running"
        c.cancel(scope="voice")


def test_speaking_twice_makes_nobody_an_owner(world):
    c, _ = world
    running = c.say("voice/room", "endless")
    c.wait_status(running, "running")
    tom = {"author": {"id": "tom", "name": "Tom"}, "modality": "voice"}
    waits = c.post("voice/room", "and the weather?", **tom)
    assert waits.json["turn"]["status"] == "pending"
    for _ in range(3):
        refused = c.post("voice/room", "stop", **tom)
        assert (refused.json["decision"], refused.json["why"]) == ("turn", "no_standing"), refused.body
    assert c.operation(running)["status"] == "running"
    # His own message, which is being answered, is his.
    mine = c.post("voice/hall", "endless", **tom).json["turn"]["id"]
    c.wait_event(mine, "text_delta")
    stop = c.post("voice/hall", "stop", **tom)
    assert stop.json["decision"] == "cancel" and stop.json["detected"]["standing"] == "speaker_owns", stop.body
    c.cancel(everything=True)


def test_a_refused_stop_that_is_being_answered_gives_no_standing():
    m = marker()
    answers = [{"when": {"user": "stop"}, "steps": [{"endless": "what do you mean ", "chunk": 5, "delay_ms": 10}]}, *script(m)]
    with TurnCluster(answers) as c:
        tom = {"author": {"id": "tom", "name": "Tom"}, "modality": "voice"}
        task = c.start("sleep", "1000", scope="voice/room")
        c.wait_status(task["id"], "running")
        first = c.post("voice/room", "stop", **tom).json
        assert first["why"] == "no_standing"
        c.wait_event(first["turn"]["id"], "text_delta")
        for _ in range(2):
            again = c.post("voice/room", "stop", **tom).json
            assert (again["decision"], again["why"]) == ("turn", "no_standing"), again
        assert c.operation(task["id"])["status"] == "running"
        c.cancel(everything=True)


@pytest.mark.parametrize("text, why", [("stop", "nothing_active"), ("never mind", "nothing_active"), ("hello", "not_addressed")])
def test_what_does_not_address_the_bot_starts_nothing(world, text, why):
    c, _ = world
    answer = c.post("chat", text, addressed=False)
    assert (answer.status, answer.json["decision"], answer.json["why"]) == (200, "ignored", why), answer.body
    assert not c.operations(scope="chat") and not c.messages("chat")
    running = c.say("chat", "endless")
    assert c.post("chat", "stop", addressed=False).json["decision"] == "cancel", "what runs is stopped by anyone"
    assert c.ended(running)["status"] == "cancelled"


def test_an_empty_message_is_ignored(world):
    c, _ = world
    answer = c.post("chat", " \n ")
    assert answer.status == 200 and (answer.json["decision"], answer.json["why"]) == ("ignored", "empty")
    assert answer.json["message"] is None and not c.messages("chat")


def test_a_repeat_says_the_same_and_stops_nothing_again(world):
    c, _ = world
    c.wait_status(c.say("chat", "endless"), "running")
    first = c.post("chat", "stop", id="m-9").json
    assert not first["duplicate"]
    later = c.say("chat", "endless")
    for restart in (False, True):
        if restart:
            c.restart()  # the turn goes on afterwards
        again = c.post("chat", "stop", id="m-9").json
        assert again["duplicate"] and again["cancel"]["id"] == first["cancel"]["id"] and again["message"] == first["message"], again
        assert again["detected"] == first["detected"] and again["cancel"]["interrupted"] == first["cancel"]["interrupted"] == ["reply"]
        c.wait_status(later, "running")
    c.cancel(scope="chat")


def test_a_thousand_stops_are_one(world):
    c, _ = world
    turns = [c.say("chat/" + str(i), "endless") for i in range(20)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: c.api("POST", "/v1/cancels", {"scope": "chat", "reason": f"storm {i}"}).json, range(1000)))
    assert len({a["id"] for a in answers if a["outcome"] in ("stopping", "joined")}) == 1, {a["outcome"] for a in answers}
    assert len({a["reason"] for a in answers if a["outcome"] in ("stopping", "joined")}) == 1
    for t in turns:
        assert c.ended(t)["status"] == "cancelled"


def test_the_stream_of_a_stop_tells_its_story_and_ends(world):
    c, m = world
    c.say("chat", "runs")
    until(lambda: processes.marked(m), "the command to run")
    kinds = [k for k, _ in c.stream("chat", "stop").to_end()]
    assert kinds[0] == "message_decided" and set(kinds[1:]) == {"acknowledgement", "cancel_settled"} and kinds.count("cancel_settled") == 1, kinds


def slow_model(m):
    return [{"when": {"system": "Interrupted:"}, "steps": [{"hang": True}]}] + script(m)[1:]


def broken_model(m):
    return [{"when": {"system": "Interrupted:"}, "steps": [{"error": {"code": "model_refused", "message": "no"}}]}] + script(m)[1:]


@pytest.mark.parametrize("answers", [slow_model, broken_model])
def test_a_reaction_takes_the_place_of_a_model_that_is_slow_or_down(answers):
    m = marker()
    with TurnCluster(answers(m)) as c:
        for scope in ("chat", "voice"):
            c.wait_status(c.say(scope, "endless"), "running")
        text = c.post("chat", "stop").json
        voice = c.post("voice", "stop", modality="voice").json
        assert acknowledgement(c, text["message"])["reaction"] == "\U0001F6D1"

        def told():
            events = c.stored_events(types="acknowledgement")
            return [(e["data"]["state"], e["data"]["text"]) for e in events if e["data"]["message"] == voice["message"]]
        until(lambda: told() and told()[-1][0] == "stopped", "its end to be said")
        assert told() in ([("stopping", "Okay, stopping."), ("stopped", "Stopped: reply.")], [("stopped", "Stopped: reply.")]), told()
        c.check_scope("chat")


def test_an_acknowledgement_that_a_crash_cut_off_is_made_up_for():
    m = marker()
    with TurnCluster(slow_model(m)) as c:
        c.wait_status(c.say("chat", "endless"), "running")
        said = c.post("chat", "stop").json
        c.restart()
        assert acknowledgement(c, said["message"])["reaction"] == "\U0001F6D1"
        told = c.stored_events(types="acknowledgement")
        assert len([e for e in told if e["data"].get("state") != "stopping"]) == 1, told


def test_new_work_waits_for_what_it_follows_in_the_same_workspace(world):
    c, m = world
    deaf = c.say("chat", "deaf")
    until(lambda: any(processes.ignores(p, signal.SIGTERM) for p in processes.marked(m)), "the deaf command to ignore SIGTERM")
    c.post("chat", "stop")
    after = c.say("chat", "list")
    done = c.ended(after)
    assert done["status"] == "completed", done
    task = next(o for o in c.below(after) if o["kind"] == "task")
    followed = next(o for o in c.below(deaf) if o["kind"] == "task")
    assert followed["stop"]["receipt"] == "killed" and task["created_at"] >= followed["ended_at"], (followed, task)


def test_a_chat_token_stops_its_own_scope_only(world):
    c, _ = world
    token = c.api("POST", "/v1/tokens", {"name": "slack", "role": "chat", "scope": "slack"}).json["token"]
    own, other = c.say("slack/t1", "endless"), c.say("irc/x", "endless")
    refused = c.post("irc/x", "stop", token=token)
    assert refused.status == 403 and refused.json["code"] == "scope_forbidden", refused.body
    assert c.post("slack/t1", "stop", token=token).json["decision"] == "cancel"
    assert c.ended(own)["status"] == "cancelled" and c.wait_status(other, "running")
    c.cancel(everything=True)


def test_say_stop_prints_what_is_said_afterwards(world):
    c, m = world
    c.say("chat", "runs")
    until(lambda: processes.marked(m), "the command to run")
    done = c.quell("say", "--scope", "chat", "stop")
    # A proof that takes longer than people wait in silence is announced first.
    assert done.stdout.decode().removeprefix("🛑 stopping…\n") == "Stopped, as you said.\n", done
    assert (done.stderr, done.returncode) == (b"", 0), done
    assert not processes.marked(m)


def test_say_stop_on_a_terminal_tells_what_was_stopped_and_the_proof(world):
    c, m = world
    c.say("chat", "runs")
    until(lambda: processes.marked(m), "the command to run")
    c.say("chat", "a question")
    with on_terminal(c, "say", "--scope", "chat", "stop") as t:
        assert t.end() == 0
        t.see("understood as a stop", "(exec, 1 queued message)", "Stopped, as you said.", "all proven")
