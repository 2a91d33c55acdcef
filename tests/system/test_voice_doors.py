"""Who holds a place at the voice gateway: silent clients give way, a conversation ends with its token, a replaced certificate is served."""
import json
import os

import pytest

from harness.certificates import make_certificate, served_certificate
from harness.voice import ERROR, READY, SUMMARY, SUMMARY_REQUEST, TEXT, Client, VoiceCluster
from harness.waiting import until

PLACES = 4
SCRIPT = [{"text": "You said {{text}}."}]


@pytest.fixture(scope="module")
def world():
    with VoiceCluster(SCRIPT, voice=f"clients = {PLACES}") as c:
        yield c


def error_of(client):
    return json.loads(client.wait(ERROR))


def conversing(world, scope):
    """A client that has been answered; tried again while the places of others are not free yet."""
    def enter():
        one = world.client(scope)
        one.say("hello")
        until(lambda: any("You said hello" in t for t in one.texts()) or one.of(ERROR) or one.is_over, "an answer")
        if one.of(ERROR) or one.is_over:
            one.close()
            return None
        return one
    return until(enter, "a place")


def test_who_says_nothing_gives_way_to_who_comes(world):
    silent = [Client(world.voice_address()) for _ in range(PLACES)]  # the first test: no other has been here
    for one in silent:
        one.wait(READY)
    speaker = world.client("doors/silent")
    speaker.say("hello there")
    speaker.wait(TEXT, "You said hello there")
    assert error_of(silent[0])["code"] == "too_many_clients"
    silent[0].ended()
    assert not any(one.of(ERROR) for one in silent[1:])
    for one in (*silent, speaker):
        one.close()


def test_who_comes_when_all_places_are_taken_is_told(world):
    taken = [conversing(world, f"doors/full{i}") for i in range(PLACES)]
    late = Client(world.voice_address())
    assert error_of(late)["code"] == "too_many_clients"
    late.ended()
    taken[0].close()

    taken[0] = conversing(world, "doors/full0")  # the place of who left is free
    for one in taken:
        one.close()


def test_one_token_does_not_take_the_places_of_others():
    with VoiceCluster(SCRIPT, voice="clients_per_token = 2") as c:
        made = c.api("POST", "/v1/tokens", {"name": "guest", "role": "chat", "scope": "doors/guest"})
        assert made.status == 201, made.body

        def entered(scope, **hello):
            one = c.client(scope, **hello)
            one.send(SUMMARY_REQUEST)
            until(lambda: one.of(SUMMARY) or one.of(ERROR), "an answer")
            return one
        own = [entered(f"doors/own{i}") for i in range(2)]
        assert all(one.of(SUMMARY) for one in own)
        third = entered("doors/own2")
        error = error_of(third)
        assert error["code"] == "too_many_clients" and "voice.clients_per_token = 2" in error["detail"], error
        third.ended()
        guest, local = entered("doors/guest", token=made.json["token"]), entered(None)
        assert guest.of(SUMMARY) and local.of(SUMMARY)
        own[0].close()
        again = until(lambda: (lambda one: one if one.of(SUMMARY) else one.close())(entered("doors/own2")), "the place of who left")
        for one in (own[1], guest, local, again):
            one.close()


def test_a_conversation_ends_with_its_token(world):
    made = world.api("POST", "/v1/tokens", {"name": "kitchen", "role": "chat", "scope": "doors/token"})
    assert made.status == 201, made.body
    token, id = made.json["token"], made.json["id"]
    client = world.client("doors/token", token=token)
    client.say("before")
    client.wait(TEXT, "You said before")
    assert world.api("DELETE", f"/v1/tokens/{id}").status in (200, 204)
    assert error_of(client)["code"] == "unauthorized"
    client.ended()
    other = world.client("doors/token")  # with another token the scope still converses
    other.say("behind")
    other.wait(TEXT, "You said behind")
    other.close()


def served(c):
    host, port = c.voice_address().rsplit(":", 1)
    return served_certificate(host, int(port))


def test_a_replaced_certificate_is_served_by_voice_too(tmp_path):
    (key, certificate), (next_key, next_certificate) = (make_certificate(tmp_path, n) for n in ("first", "second"))
    used_key, used = tmp_path / "used.key", tmp_path / "used.crt"
    used_key.write_bytes(key.read_bytes()), used.write_bytes(certificate.read_bytes())
    with VoiceCluster(SCRIPT, workers=0, settings=[f"http.tls_cert={used}", f"http.tls_key={used_key}"]) as c:
        assert served(c) == certificate.read_text()
        os.replace(next_certificate, used)  # alone it does not match the key: the old pair stays
        assert served(c) == certificate.read_text()
        os.replace(next_key, used_key)
        assert served(c) == used.read_text()
