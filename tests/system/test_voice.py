"""The voice exchange with the real programs, by bytes from both sides: cancelled speech is never played, and is a cancel in the ledger with proof."""
import json

import pytest

from harness import processes
from harness.cluster import marker
from harness.voice import (A0, A1, A2, A4, A5, A6, A7, A9, AUDIO, CANCEL, CHOICE, ERROR, FEEDBACK, HELLO, INTERRUPT, NOTICE, PAUSE, READY, SPEECH, SPEECH_END, SUMMARY,
                           SUMMARY_REQUEST, TEXT, Client, Peer, VoiceCluster, encoded)
from harness.waiting import until

CONTEXT = "[The user cancelled the previous exchange. Discard it entirely. Do not refer to it, quote it or follow up on it. Treat the next message as a fresh turn.]\n\n"


def script(m):
    return [
        {"when": {"system": "Interrupted:"}, "text": "Stopped it all."},
        {"when": {"user": "long story"}, "text": "Once endless"},
        {"when": {"user": "think"}, "steps": [{"endless": "hm ", "chunk": 3, "delay_ms": 20}]},
        {"when": {"user": "work"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture(scope="module")
def world():
    m = marker()
    with VoiceCluster(script(m)) as c:
        c.marker = m
        yield c


def ended(c, scope, count=1):
    def look():
        all = c.exchanges(scope)
        return all if len(all) >= count and all[0]["status"] in ("completed", "failed", "cancelled") else None
    return until(look, lambda: f"exchange {count} of {scope} to end; there are {c.exchanges(scope)}")


def test_an_exchange_is_heard_answered_spoken_and_recorded(world):
    client = world.client("talk/plain")
    client.wait(READY)
    client.say("hello there")
    client.wait(SPEECH_END)
    assert client.texts() == ["You: hello there", "AI: You said hello there."]
    assert b"".join(client.of(SPEECH)).startswith(b"Y" * 3200 + b"s" * 3200) and all(len(p) <= 8000 for p in client.of(SPEECH))
    one = ended(world, "talk/plain")[0]
    assert one["status"] == "completed" and one["owner"]["id"] == "mia", one
    assert {k: one["exchange"][k] for k in ("transcript", "spoken")} == {"transcript": "hello there", "spoken": True}, one
    kinds = {o["kind"] for o in world.below(one["id"])}
    assert {"exchange", "turn", "task"} <= kinds, kinds
    client.close()


def test_a_cancel_in_speech_stops_it_and_is_a_cancel_in_the_ledger(world):
    client = world.client("talk/speech")
    client.say("a long story")
    client.wait(SPEECH)
    client.send_bytes(encoded(INTERRUPT) + encoded(CANCEL))
    client.cancelled()
    heard = len(client.of(SPEECH))
    assert len(client.of(SPEECH_END)) == 1
    one = ended(world, "talk/speech")[0]
    assert one["status"] == "cancelled" and one["exchange"]["spoken"] is False and one["exchange"]["transcript"] == "a long story", one
    assert one["stop"]["cause"] == "cancel", one
    cancel = world.api("GET", f"/v1/cancels/{one['stop']['cancel']}?wait=settled&wait_ms=60000").json
    assert cancel["status"] == "settled" and cancel["report"]["proven"] and cancel["via"]["channel"] == "voice", cancel
    voice = [o for o in world.below(one["id"]) if o["title"] == "speech"]
    assert voice and voice[0]["status"] == "cancelled" and voice[0]["stop"]["proof"] in ("cgroup_empty", "pidns_gone", "group_empty", "exit_status"), voice
    assert len(client.of(SPEECH)) == heard, "nothing of it comes after cancelled"
    client.say("and now")
    client.wait(TEXT, "and now.")
    client.close()


def test_a_cancel_while_the_model_is_asked_and_the_context_of_the_next_prompt(world):
    client = world.client("talk/think")
    client.say("think hard")
    until(lambda: world.operations(scope="talk/think", kind="model_call", status="running"), "the model to be asked")
    client.send(CANCEL)
    client.cancelled()
    one = ended(world, "talk/think")[0]
    assert one["status"] == "cancelled", one
    client.say("something else")
    client.wait(TEXT, "AI: You said " + CONTEXT + "something else.")
    client.wait(SPEECH_END)
    client.say("third")
    client.wait(TEXT, "AI: You said third.")
    assert [m["text"] for m in world.messages("talk/think") if m["role"] == "user"] == ["think hard", "something else", "third"]
    assert not [t for t in client.texts() if "hm" in t]
    client.close()


@pytest.mark.parametrize("target", ["operation", "scope"])
def test_every_cancel_of_quell_stops_an_exchange(world, target):
    scope = "talk/door-" + target
    client = world.client(scope)
    client.say("a long story")
    client.wait(SPEECH)
    one = world.exchanges(scope)[0]
    done = world.cancel(**({"operation": one["id"]} if target == "operation" else {"scope": scope}))
    assert done["report"]["proven"], done
    client.wait(NOTICE, "exchange cancelled")
    client.wait(SPEECH_END)
    heard = len(client.of(SPEECH))
    client.say("again")
    client.wait(TEXT, "AI: You said " + CONTEXT + "again.")
    client.wait(SPEECH_END, count=2)
    assert len(client.of(SPEECH)) > heard and world.operation(one["id"])["status"] == "cancelled"
    client.close()


def test_a_cancel_of_the_turn_alone_ends_its_exchange_as_cancelled_and_says_nothing(world):
    scope = "talk/turn"
    client = world.client(scope)
    client.say("think hard")
    turn, = until(lambda: world.operations(scope=scope, kind="turn", status="running"), "the turn to run")
    world.cancel(operation=turn["id"])
    client.wait(NOTICE, "exchange cancelled")
    one = ended(world, scope)[0]
    assert one["status"] == "cancelled" and one["stop"]["cause"] == "cancel" and one["exchange"]["spoken"] is False, one
    client.say("again")
    client.wait(TEXT, "AI: You said " + CONTEXT + "again.")
    assert client.texts() == ["You: think hard", "You: again", "AI: You said " + CONTEXT + "again."]
    client.close()


def test_a_spoken_stop_kills_the_tree_and_is_acknowledged_after_the_proof(world):
    client = world.client("talk/stop")
    client.say("work please")
    until(lambda: processes.marked(world.marker), "the work to run")
    client.say("stop")
    client.wait(TEXT, "AI: Stopped it all.")
    assert not processes.marked(world.marker), "it is said to be stopped when it is"
    stops = [c for c in world.api("GET", "/v1/cancels?scope=talk/stop").json["cancels"]]
    assert len(stops) == 1 and stops[0]["via"]["channel"] == "voice" and stops[0]["status"] == "settled" and stops[0]["report"]["proven"], stops
    client.wait(SPEECH_END)
    client.say("next")
    client.wait(TEXT, "next.")
    client.close()


def task(c, scope, command):
    made = c.api("POST", "/v1/operations", {"kind": "task", "scope": scope, "task": {"command": command}})
    assert made.status == 201, made.body
    return made.json["id"]


def test_full_slots_do_not_deafen_a_spoken_stop():
    m, filler = marker(), marker("fills")
    with VoiceCluster(script(m), slots=2) as c:
        task(c, "filler", ["sh", "-c", f"while :; do sleep 1000; done # {filler}"])
        until(lambda: processes.marked(filler), "the first slot to be taken")
        client = c.client("talk/full")
        client.wait(READY)
        client.say("work please")
        until(lambda: processes.marked(m), "the work to take the last slot")
        # A recogniser that begins now hears, too: it takes no slot.
        late = c.client("talk/full")
        late.wait(READY)
        waiting = task(c, "queued", ["true"])
        assert c.operation(waiting)["status"] == "pending", "a slot is free"
        late.say("stop")
        until(lambda: not processes.marked(m), "the spoken stop to reach the work")
        assert processes.marked(filler), "the stop has reached the work of others"
        stop, = c.api("GET", "/v1/cancels?scope=talk/full").json["cancels"]
        assert stop["via"]["channel"] == "voice", stop
        c.wait_status(waiting, "completed")  # the slot was given back
        client.close()
        late.close()


def test_a_question_that_waits_for_an_answer_is_cleared_by_a_spoken_stop():
    question = {"calls": [{"name": "ask_user", "input": {"question": "What is its name?"}}]}
    answers = [{"when": {"system": "Interrupted:"}, "text": "Stopped it."}, {"when": {"user": "ask me", "round": 1}, "steps": [question]},
               {"text": "You said {{text}}."}]
    with VoiceCluster(answers, agent='tools = ["exec", "ask_user"]') as c:
        client = c.client("talk/asks")
        client.say("ask me")
        call, = until(lambda: c.operations(scope="talk/asks", status="paused"), "the question")
        client.say("stop")
        until(lambda: c.operation(call["id"])["status"] == "cancelled", "the question to be cleared")
        assert not c.operations(scope="talk/asks", status="paused")
        late = c.api("POST", f"/v1/operations/{call['id']}/approve", {"question": call["tool"]["question"]["id"], "values": {"answer": "Bob"}})
        assert late.status == 409, late.body
        ended(c, "talk/asks")
        client.say("next words")  # they answer nothing: they are a message of their own
        client.wait(TEXT, "next words.")
        turn = call["root"]
        results = [r for m in c.messages("talk/asks") if m["role"] == "tool" for r in m["results"]]
        assert len(results) == 1 and results[0]["result"].get("cancelled"), (turn, results)
        client.close()


def test_stop_where_nothing_runs_is_an_ordinary_word(world):
    client = world.client("talk/idle")
    client.say("stop")
    client.wait(TEXT, "AI: You said stop.")
    client.close()


def test_a_stop_of_somebody_else_is_no_stop(world):
    mine = world.client("talk/two", humans_present=2)
    mine.say("work please")
    until(lambda: processes.marked(world.marker), "the work to run")
    other = world.client("talk/two", humans_present=2, author={"id": "rob", "name": "Rob"})
    for _ in range(2):  # speaking twice gives no standing
        other.say("stop")
    other.wait(TEXT, "You: stop", count=2)
    until(lambda: len(world.operations(scope="talk/two", kind="turn")) >= 2, "his words to wait for their turn")
    assert processes.marked(world.marker) and not world.api("GET", "/v1/cancels?scope=talk/two").json["cancels"]
    mine.say("stop")
    until(lambda: not processes.marked(world.marker), "its owner to stop it")
    mine.close()
    other.close()


def test_who_leaves_takes_the_exchange_along(world):
    client = world.client("talk/leaves")
    client.say("a long story")
    client.wait(SPEECH)
    client.close()
    one = ended(world, "talk/leaves")[0]
    assert one["status"] == "cancelled" and one["stop"]["cause"] == "disconnect", one
    until(lambda: not world.operations(scope="talk/leaves", status="live"), "nothing of it to live on")


def test_every_07_is_answered_once_and_in_order(world):
    client = world.client()
    client.wait(READY)
    client.send_bytes(b"\x07\x00\x00\x00\x00" * 5)
    client.cancelled(5)
    client.say("hello")
    client.wait(SPEECH_END)
    assert client.texts(NOTICE).count("cancelled") == 5
    assert client.texts()[-1] == "AI: You said hello."
    client.close()


BAD = [
    (b"\x63\0\0\0\0", "bad_frame"), (encoded(A1, b"x"), "bad_frame"), (b"\x01\xff\xff\xff\x7f", "too_long"), (encoded(AUDIO, b"odd"), "bad_audio"),
    (encoded(HELLO, b"\xc3\x28"), "bad_utf8"), (encoded(HELLO, b"[]"), "bad_frame"), (encoded(CHOICE, b"\x09"), "bad_frame"),
    (encoded(HELLO, b'{"token":"qk_wrong"}'), "unauthorized"), (encoded(HELLO, b'{"scope":"other/place"}'), "unauthorized"),
    (encoded(PAUSE) + encoded(HELLO, b"{}"), "bad_order"),
]


@pytest.mark.parametrize("data,code", BAD)
def test_who_breaks_the_rules_is_told_and_harms_nobody(world, data, code):
    good = world.client("talk/good")
    good.wait(READY)
    bad = Client(world.voice_address())
    bad.send_bytes(data)
    assert json.loads(bad.wait(ERROR))["code"] == code
    bad.ended()
    good.say("still here")
    good.wait(TEXT, "AI: You said still here.")
    good.close()


def test_a_crash_leaves_the_exchange_interrupted(world):
    client = world.client("talk/crash")
    client.say("a long story")
    client.wait(SPEECH)
    world.restart()
    one = ended(world, "talk/crash")[0]
    assert one["status"] == "failed" and one["error"]["code"] == "interrupted", one
    again = world.client("talk/crash")
    again.say("hello")
    again.wait(TEXT, "AI: You said hello.")
    again.close()


# ---- a foreign brain ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def outside():
    with VoiceCluster(script("none"), voice='brain = "unix:DIRECTORY/brain.sock"') as c:
        c.brain_address = f"unix:{c.directory}/brain.sock"
        yield c


def brain_of(c):
    brain = Peer(c.brain_address)
    brain.send(A2, '{"agent_file":"a.md","session_dir":"/tmp/x"}')
    brain.wait(READY)
    return brain


def test_a_brain_by_bytes(outside):
    brain = brain_of(outside)
    client = outside.client("talk/brain")
    client.say("hello")
    assert brain.wait(A0) == b"hello"
    brain.send(A1, "[SPEED:1.5] Hi there.")
    client.wait(SPEECH_END)
    assert client.texts() == ["You: hello", "AI: Hi there."]
    client.send(SUMMARY_REQUEST)
    brain.wait(A6)
    brain.send(A7, "We said hello.")
    assert client.wait(SUMMARY) == b"We said hello."
    client.say("book it")
    brain.wait(A0, "book it")
    brain.send(A4, "Shall I?")
    brain.send(A1, "Too early.")
    assert client.wait(FEEDBACK) == b"Shall I?"
    client.send(CANCEL)
    client.cancelled()
    brain.wait(A9)
    brain.send(A1, "Too late.")
    brain.send(A9)  # has no meaning
    client.say("and now")
    brain.wait(A0, "and now")
    brain.send(A1, "Now.")
    client.wait(TEXT, "AI: Now.")
    assert not [t for t in client.texts() if "Too" in t] and not brain.of(A5)
    client.send_bytes(encoded(CANCEL) * 3)
    client.cancelled(4)
    brain.wait(A9, count=4)
    assert len(brain.of(A9)) == 4
    client.close()
    brain.close()


def test_a_brain_serves_one_client_at_a_time_and_outlives_it(outside):
    lonely = outside.client("talk/lonely")
    assert json.loads(lonely.wait(ERROR))["code"] == "no_brain"
    lonely.ended()
    brain = brain_of(outside)
    first = outside.client("talk/first")
    first.say("hello")
    brain.wait(A0)
    second = outside.client("talk/second")
    assert json.loads(second.wait(ERROR))["code"] == "no_brain"
    first.close()
    brain.wait(A9)  # the client disconnected in the middle
    third = outside.client("talk/third")
    brain.wait(READY, count=2)
    third.say("hi")
    brain.wait(A0, "hi")
    brain.close()
    assert json.loads(third.wait(ERROR))["code"] == "no_brain"
    one = ended(outside, "talk/third")[0]
    assert one["status"] == "failed", one


def test_a_brain_that_does_not_begin_is_refused(outside):
    for first in (encoded(A9), encoded(A1, b"hi")):
        brain = Peer(outside.brain_address)
        brain.send_bytes(first)
        assert json.loads(brain.wait(ERROR))["code"] == "bad_order"
        brain.ended()
