"""Connections of the voice gateway that end while a 07 is owed its answer, or in speech; and hellos that are refused with the place of what is wrong in them."""
import json
import signal
import socket

import pytest

from harness.voice import A0, A1, A9, CANCEL, ERROR, HELLO, NOTICE, READY, SPEECH, SPEECH_END, TEXT, Client, VoiceCluster, connected_brain, encoded, ready_client
from harness.waiting import until
from test_voice_bytes import CONTEXT, SCRIPT, outside, world  # noqa: F401: its fixtures, with clusters of this module's own


def in_speech(cluster, scope):
    client = ready_client(cluster, scope)
    client.say("a long story")
    client.wait(SPEECH, count=2)
    return client


def half_close(client):
    """As `nc -N` does at the end of its input: nothing more is sent, and everything is still read."""
    client.socket.shutdown(socket.SHUT_WR)


def order(client):
    """What came behind the last chunk of speech."""
    last = max((i for i, (tag, _) in enumerate(client.frames) if tag == SPEECH), default=-1)
    return [(tag, payload if tag == NOTICE else b"") for tag, payload in client.frames[last + 1:]]


def the_one(cluster, scope, status):
    def look():
        found = cluster.exchanges(scope)
        return found[0] if [o["status"] for o in found] == [status] else None
    return until(look, f"one {status} exchange in {scope}")


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_only_a_cancel_is_told_to_the_next_client_of_its_speaker(world, is_cancelled):
    scope = f"partings/next{is_cancelled}"
    client = in_speech(world, scope)
    if is_cancelled:
        client.send(CANCEL)
        client.cancelled()
    half_close(client)
    client.ended()
    client = ready_client(world, scope)
    for words, context in (("fresh words", CONTEXT if is_cancelled else ""), ("more words", "")):
        client.say(words)
        assert client.wait(TEXT, words + ".").decode() == "AI: You said " + context + words + "."
    client.close()


@pytest.mark.parametrize("keys", [1, 2])
def test_a_client_that_closes_its_half_behind_a_07_reads_the_answer(world, keys):
    client = in_speech(world, f"partings/half{keys}")
    client.send_bytes(encoded(CANCEL) * keys)
    half_close(client)
    client.ended()
    assert order(client) == [(SPEECH_END, b"")] + [(NOTICE, b"cancelled")] * keys, client.frames[-6:]
    assert len(client.of(SPEECH_END)) == 1
    assert the_one(world, f"partings/half{keys}", "cancelled")["stop"]["cause"] == "cancel"
    client.close()


def test_a_client_that_closes_its_half_without_having_said_anything_is_let_go(world):
    client = Client(world.voice_address())
    half_close(client)
    client.ended()
    client.close()


def test_a_client_that_closes_its_half_in_speech_reads_the_end_of_speech(world):
    client = in_speech(world, "partings/quiet")
    half_close(client)
    client.ended()
    assert len(client.of(SPEECH_END)) == 1 and client.texts(NOTICE).count("cancelled") == 0
    assert the_one(world, "partings/quiet", "cancelled")["stop"]["cause"] == "disconnect"
    client.close()


def test_a_refused_frame_behind_07s_comes_after_their_answers(world):
    client = in_speech(world, "partings/bad")
    client.send_bytes(encoded(CANCEL) * 2 + encoded(0x44) + encoded(CANCEL))
    client.ended()
    assert order(client) == [(SPEECH_END, b"")] + [(NOTICE, b"cancelled")] * 2 + [(ERROR, b"")], client.frames[-6:]
    assert json.loads(client.texts(ERROR)[0])["code"] == "bad_frame"
    assert the_one(world, "partings/bad", "cancelled")["stop"]["cause"] == "cancel"
    client.close()


def test_a_refused_frame_in_speech_ends_it_first(world):
    client = in_speech(world, "partings/refused")
    client.send_bytes(encoded(0x44))
    client.ended()
    assert order(client) == [(SPEECH_END, b""), (ERROR, b"")], client.frames[-6:]
    client.close()


def test_a_brain_that_goes_behind_a_07_leaves_it_answered(outside):
    with connected_brain(outside) as brain:
        client = ready_client(outside, "partings/brain")
        client.say("hello")
        brain.wait(A0)
        brain.send(A1, "Once endless")
        client.wait(SPEECH, count=2)
        client.send(CANCEL)
        brain.wait(A9)  # the 07 was taken; its cancel is on its way to the disk
    client.ended()
    assert order(client) == [(SPEECH_END, b""), (NOTICE, b"cancelled"), (ERROR, b"")], client.frames[-6:]
    assert json.loads(client.texts(ERROR)[0])["code"] == "no_brain"
    assert the_one(outside, "partings/brain", "cancelled")["stop"]["cause"] == "cancel"
    client.close()


def test_a_token_that_goes_in_speech_ends_the_speech_first(world):
    made = world.api("POST", "/v1/tokens", {"name": "hall", "role": "chat", "scope": "partings/token"})
    assert made.status == 201, made.body
    client = world.client("partings/token", token=made.json["token"])
    client.say("a long story")
    client.wait(SPEECH, count=2)
    assert world.api("DELETE", f"/v1/tokens/{made.json['id']}").status in (200, 204)
    client.ended()
    assert order(client) == [(SPEECH_END, b""), (ERROR, b"")], client.frames[-6:]
    assert json.loads(client.texts(ERROR)[0])["code"] == "unauthorized"
    assert the_one(world, "partings/token", "cancelled")["stop"]["cause"] == "disconnect"
    client.close()


@pytest.mark.parametrize("hello,place", [
    (b'{"token":5}', "/token"), (b'{"token":["x"]}', "/token"), (b'{"Token":"x"}', "/Token"), (b'{"scope":5}', "/scope"), (b'{"author":"mia"}', "/author"),
    (b'{"author":{"id":7}}', "/author/id"), (b'{"humans_present":"two"}', "/humans_present"), (b'{"humans_present":-1}', "/humans_present"),
    (b'{"humans_present":1.5}', "/humans_present"), (b'{"nonsense":4}', "/nonsense"), (b"{}\0", "a JSON object"), (b"", "a JSON object"),
])
def test_a_hello_with_a_wrong_field_is_refused_with_its_place(world, hello, place):
    client = Client(world.voice_address())
    client.send_bytes(encoded(HELLO, hello))
    error = json.loads(client.wait(ERROR))
    assert error["code"] == "bad_frame" and place in error["detail"], error
    client.ended()
    client.close()
    good = ready_client(world, "partings/good")
    good.say("hello")
    good.wait(TEXT, "You said hello")
    good.close()


def test_a_quelld_that_is_ended_takes_leave_of_its_clients_and_brains():
    with VoiceCluster(SCRIPT) as c:
        client, silent = in_speech(c, "partings/term"), Client(c.voice_address())
        silent.wait(READY)
        c.kill_controller(signal.SIGTERM)
        for one in (client, silent):
            one.ended()
            assert json.loads(one.texts(ERROR)[0])["code"] == "shutting_down"
        assert order(client) == [(SPEECH_END, b""), (ERROR, b"")], client.frames[-6:]
        c.start_controller()
        until(lambda: not c.operations(scope="partings/term", status="live"), "the exchange to end")
    with VoiceCluster(SCRIPT, voice='brain = "unix:DIRECTORY/brain.sock"') as c, connected_brain(c) as brain:
        c.kill_controller(signal.SIGTERM)
        brain.ended()
        assert json.loads(brain.texts(ERROR)[0])["code"] == "shutting_down"
        c.start_controller()
