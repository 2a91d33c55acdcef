"""A client of a foreign protocol that disconnects at any moment: the turn is cancelled in the ledger, or was never begun."""
import contextlib
import json
import os
import random
import socket
import ssl
import urllib.parse

import pytest

from harness import processes
from harness.certificates import any_certificate, make_certificate
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

SEED = int(os.environ.get("QUELL_TEST_SEED", random.randrange(1 << 30)))


def script(m):
    return [
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 5}]},
    ]


@pytest.fixture
def world():
    m = marker()
    with TurnCluster(script(m)) as c:
        yield c, m


def request(c, path, body, wrap=lambda s: s):
    url = urllib.parse.urlsplit(c.url)
    one = wrap(socket.create_connection((url.hostname, url.port)))
    raw = json.dumps(body).encode()
    one.sendall((f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {c.token}\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {len(raw)}\r\n\r\n").encode() + raw)
    return one


def begin(c, form, text):
    if form == "page":
        return request(c, "/v1/ui/chat", {"agent": "main", "messages": [{"role": "user", "parts": [{"type": "text", "text": text}]}]})
    return request(c, "/openai/v1/chat/completions", {"model": "main", "stream": form == "stream", "messages": [{"role": "user", "content": text}]})


def all_stopped(c):
    """Every turn has ended as cancelled, by a settled cancel of its own that names the disconnect."""
    # The newest connection is accepted last, so the others have all been read to their end when it is alone.
    until(lambda: b"\nquell_http_connections 1\n" in c.api("GET", "/metrics").body, "the connections to end")
    until(lambda: not c.operations(status="live"), "everything to end")
    for turn in c.operations(kind="turn"):
        assert turn["status"] == "cancelled" and turn["stop"]["cause"] == "cancel", turn
        cancel = c.api("GET", f"/v1/cancels/{turn['stop']['cancel']}?wait=settled&wait_ms=60000").json
        assert cancel["status"] == "settled" and cancel["report"]["proven"] and "closed its connection" in cancel["reason"], cancel
        c.check_turn(turn["id"])


@pytest.mark.parametrize("form", ["stream", "whole", "page"])
def test_a_disconnect_at_any_moment_leaves_nothing_running(world, form):
    c, m = world
    print("QUELL_TEST_SEED", SEED)
    draw = random.Random(SEED)
    for n in range(40):
        one = begin(c, form, draw.choice(["runs", "talks"]))
        for _ in range(draw.choice([0, 0, 0, 1, 2, 5])):  # reads so many pieces of the answer, if it has any yet
            one.settimeout(0 if form == "whole" else 0.2)
            try:
                one.recv(200)
            except (BlockingIOError, TimeoutError):  # nothing more comes while the command runs
                break
        if draw.random() < 0.3:  # a reset instead of an orderly end
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
    all_stopped(c)
    until(lambda: not processes.marked(m), "the commands to be gone")


def test_a_client_that_sent_more_and_closed_its_side_has_gone(world):
    c, _ = world
    one = begin(c, "stream", "talks")
    until(lambda: c.operations(kind="turn", status="running"), "the turn to run")
    one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")  # unread, while the stream goes on
    c.wait_event(c.operations(kind="turn")[0]["id"], "text_delta")
    assert c.operations(kind="turn", status="running")
    one.shutdown(socket.SHUT_WR)
    all_stopped(c)
    one.close()


def test_a_queued_turn_of_a_client_that_leaves_never_starts(world):
    c, _ = world
    first = c.say("team", "talks")
    c.wait_status(first, "running")
    body = {"agent": "main", "scope": "team", "messages": [{"role": "user", "parts": [{"type": "text", "text": "next"}]}]}
    one = request(c, "/v1/ui/chat", body)
    turn = until(lambda: c.operations(kind="turn", status="pending"), "the second turn to wait")[0]["id"]
    one.close()
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["receipt"] == "never_started", done
    assert c.operation(first)["status"] == "running"
    c.cancel(scope="team")
    c.check_scope("team")


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_orderly_end_of_tls_is_a_disconnect_at_once(tmp_path, newest):
    key, certificate = make_certificate(tmp_path, "any")
    context = any_certificate()
    context.maximum_version = newest
    # The model says nothing, so no write can find out that nobody reads.
    silent = [{"steps": [{"delay_ms": 600000}]}]
    with TurnCluster(silent, settings=[f"http.tls_cert={certificate}", f"http.tls_key={key}"]) as c:
        body = {"model": "main", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
        one = request(c, "/openai/v1/chat/completions", body, wrap=context.wrap_socket)
        one.settimeout(60)
        assert b"chat.completion.chunk" in one.recv(1 << 16) + one.recv(1 << 16)  # two records: nothing is left unread
        one.settimeout(0)
        with contextlib.suppress(ssl.SSLWantReadError):  # unless the goodbye in return is there already
            one.unwrap()  # says goodbye, and keeps the connection
        all_stopped(c)
        one.close()
