"""A restart breaks the streams of clients that own their turns: a repeated request gets its turn back, and the turn of a client that
does not return is stopped, with its report."""
import http.client
import json
import os
import socket
import threading
import urllib.parse

import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

RETURN_SECONDS = 30  # actors/turns/lost_clients.hpp
PAY = "echo paid >> ran; while [ ! -e go ]; do sleep 0.05; done; echo receipt"


def script(m):
    return [
        {"when": {"user": "pay", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"{PAY} #{m}"}}]}]},
        {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "while :; do sleep 1000; done #" + m}}]}]},
        {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]},
        {"text": "Paid."},
    ]


@pytest.fixture
def world():
    m = marker()
    # The lease: a command outlives a restart, however long that takes.
    with TurnCluster(script(m), settings=["workers.lease=60s"]) as c:
        yield c, m


class Request:
    """One request of a client of a foreign protocol, on a thread of its own."""

    def __init__(self, c, form, text, reads=True, **more):
        self.answer, self.error, self.heads = b"", None, {}
        if form == "page":
            said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": text}]}
            path, body = "/v1/ui/chat", {"agent": "main", "messages": [said], **more}
        else:
            path = "/openai/v1/chat/completions"
            body = {"model": "main", "stream": form == "stream", "messages": [{"role": "user", "content": text}]}
        url = urllib.parse.urlsplit(c.url)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
        self.arguments = ("POST", path, json.dumps(body), {"Authorization": "Bearer " + c.token, "Content-Type": "application/json"})
        if not reads:
            return self.connection.request(*self.arguments)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            self.connection.request(*self.arguments)
            answer = self.connection.getresponse()
            self.heads = dict(answer.getheaders())
            self.answer = answer.read()
        except (OSError, http.client.HTTPException) as e:
            self.error = e

    def hang_up(self):
        self.connection.close()

    def over(self):
        self.thread.join(60)
        assert not self.thread.is_alive(), "the request has no end"
        self.connection.close()
        return self


def lines(c, name):
    path = os.path.join(c.workspace, name)
    return open(path).read().split() if os.path.exists(path) else []


@pytest.mark.parametrize("form", ["stream", "whole", "page"])
def test_a_repeated_request_gets_the_turn_that_a_restart_took(world, form):
    c, m = world
    first = Request(c, form, "pay")
    until(lambda: lines(c, "ran"), "the command to run")
    turn, = [o["id"] for o in c.operations(kind="turn")]
    c.restart()
    first.over()
    again = Request(c, form, "pay")
    until(lambda: c.call(turn, "exec", "running"), "the call to go on")
    open(os.path.join(c.workspace, "go"), "w").close()
    done = again.over()
    assert done.error is None and b"Paid." in done.answer, (done.error, done.answer)
    assert done.heads["X-Quell-Turn"] == turn and c.operation(turn)["status"] == "completed"
    assert lines(c, "ran") == ["paid"] and len(c.operations(kind="turn")) == 1
    assert not processes.marked(m)


@pytest.mark.parametrize("form", ["stream", "whole", "page"])
def test_an_answer_that_was_lost_with_quelld_is_given_again(world, form):
    c, m = world
    open(os.path.join(c.workspace, "go"), "w").close()
    first = Request(c, form, "pay", reads=False)
    turn = until(lambda: c.operations(kind="turn"), "the turn")[0]["id"]
    assert c.ended(turn)["status"] == "completed"
    c.restart()  # the answer has left, and nobody has read it
    first.hang_up()
    again = Request(c, form, "pay").over()
    assert again.error is None and b"Paid." in again.answer and again.heads["X-Quell-Turn"] == turn, (again.error, again.answer)
    assert lines(c, "ran") == ["paid"] and len(c.operations(kind="turn")) == 1
    another = Request(c, form, "pay").over()  # once: this is a new request
    assert another.heads["X-Quell-Turn"] != turn and lines(c, "ran") == ["paid", "paid"]


@pytest.mark.parametrize("wanted", [{"trigger": "regenerate-message", "messageId": "a1"}, {"trigger": "submit-message", "messageId": "u1"}])
def test_a_page_that_asks_again_gets_its_turn_back(world, wanted):
    c, m = world
    page = {"id": "chat", "scope": "page/again"}
    open(os.path.join(c.workspace, "go"), "w").close()
    assert b"Paid." in Request(c, "page", "pay", **page).over().answer
    os.remove(os.path.join(c.workspace, "go"))
    text = "pay" if wanted["messageId"] == "a1" else "pay again"
    asked = Request(c, "page", text, **page, **wanted)
    until(lambda: len(lines(c, "ran")) == 2, "the command to run again")
    turn, = [o["id"] for o in c.operations(kind="turn", status="live")]
    c.restart()
    asked.over()
    again = Request(c, "page", text, **page, **wanted)
    until(lambda: c.call(turn, "exec", "running"), "the call to go on")
    open(os.path.join(c.workspace, "go"), "w").close()
    done = again.over()
    assert done.error is None and b"Paid." in done.answer and done.heads["X-Quell-Turn"] == turn, (done.error, done.answer)
    assert lines(c, "ran") == ["paid", "paid"] and len(c.operations(kind="turn")) == 2
    assert [x["text"] for x in c.messages("page/again") if not x["discarded"] and x["role"] == "user"] == [text]
    c.check_scope("page/again")
    assert not processes.marked(m)


@pytest.mark.parametrize("wanted", [{}, {"trigger": "regenerate-message", "messageId": "a1"}, {"trigger": "submit-message", "messageId": "u1"}])
def test_an_answer_that_a_page_lost_in_its_conversation_is_given_again(world, wanted):
    c, m = world
    page = {"id": "chat", "scope": "page/lost"}
    open(os.path.join(c.workspace, "go"), "w").close()
    if wanted:
        assert b"Paid." in Request(c, "page", "pay", **page).over().answer
    text = "pay again" if wanted.get("messageId") == "u1" else "pay"
    asked = Request(c, "page", text, reads=False, **page, **wanted)
    count = 2 if wanted else 1
    until(lambda: len(c.operations(kind="turn")) == count and not c.operations(kind="turn", status="live"), "its turn to end")
    turn = c.operations(kind="turn", order="desc")[0]["id"]
    c.restart()
    asked.hang_up()
    again = Request(c, "page", text, **page, **wanted).over()
    assert again.error is None and b"Paid." in again.answer and again.heads["X-Quell-Turn"] == turn, (again.error, again.answer)
    assert lines(c, "ran") == ["paid"] * count and len(c.operations(kind="turn")) == count
    # Once, and no other request gets it.
    other = {**wanted, "messageId": "a2"} if wanted.get("messageId") == "a1" else wanted
    new = Request(c, "page", text, **page, **other).over()
    assert new.error is None and new.heads["X-Quell-Turn"] != turn and len(lines(c, "ran")) == count + 1, (new.error, new.answer)
    c.check_scope("page/lost")
    assert not processes.marked(m)


def test_the_hang_up_of_a_client_that_returned_is_a_cancel(world):
    c, m = world
    first = Request(c, "stream", "runs")
    until(lambda: processes.marked(m), "the command to run")
    turn, = [o["id"] for o in c.operations(kind="turn")]
    c.restart()
    first.over()
    url = urllib.parse.urlsplit(c.url)
    one = socket.create_connection((url.hostname, url.port))
    raw = first.arguments[2].encode()
    one.sendall((f"POST {first.arguments[1]} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {c.token}\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {len(raw)}\r\n\r\n").encode() + raw)
    one.settimeout(60)
    head = b""
    while b"\r\n\r\n" not in head:
        head += one.recv(1 << 16)
    assert turn.encode() in head, head
    one.close()
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["cause"] == "cancel", done
    until(lambda: not processes.marked(m), "the command to be gone")


def test_a_page_that_resumes_behind_a_restart_owns_its_turn_again(world):
    c, m = world
    page = Request(c, "page", "runs", id="chat", scope="page/resumes")
    until(lambda: processes.marked(m), "the command to run")
    turn, = [o["id"] for o in c.operations(kind="turn")]
    c.restart()
    page.over()
    url = urllib.parse.urlsplit(c.url)
    resumed = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    resumed.request("GET", "/v1/ui/chat/chat/stream", headers={"Authorization": "Bearer " + c.token})
    answer = resumed.getresponse()
    assert answer.status == 200 and answer.headers["X-Quell-Turn"] == turn, answer.status
    begun = b""
    while b"tool-input-available" not in begun:
        piece = answer.read1()
        assert piece, begun
        begun += piece
    resumed.sock.shutdown(socket.SHUT_RDWR)
    resumed.close()
    done = c.ended(turn)
    assert done["status"] == "cancelled" and done["stop"]["cause"] == "cancel" and "closed its connection" in done["stop"]["reason"], done
    until(lambda: not processes.marked(m), "the command to be gone")


def test_turns_of_clients_that_do_not_return_are_stopped(world):
    c, m = world
    foreign = Request(c, "stream", "runs")
    until(lambda: processes.marked(m), "the command to run")
    turn, = [o["id"] for o in c.operations(kind="turn")]
    page = {"id": "chat", "scope": "page/edits"}
    assert b"Paid." in Request(c, "page", "hello", **page).over().answer
    edited = Request(c, "page", "endless", **page, trigger="submit-message", messageId="u1")
    asked_again, = until(lambda: c.operations(kind="turn", scope="page", status="live"), "the edited message to be answered")
    own = c.stream("own/gone", "endless")
    back = c.stream("own/back", "endless", id="m-1")
    stays = c.stream("own/stays", "endless", on_disconnect="continue")
    streams = {s: s.turn() for s in (own, back, stays)}
    asked = c.say("own/asked", "endless")
    for s in streams:
        s.wait("text_delta")
    c.wait_event(asked_again["id"], "text_delta")
    c.restart()
    foreign.over()
    edited.over()
    for s in streams:
        s.hang_up()
    returned = c.stream("own/back", "endless", id="m-1")
    assert returned.wait("message_decided")["duplicate"] and returned.turn() == streams[back]
    for lost, cause in ((turn, "cancel"), (asked_again["id"], "cancel"), (streams[own], "disconnect")):
        done = c.ended(lost, RETURN_SECONDS + 30)
        assert done["status"] == "cancelled" and done["stop"]["cause"] == cause, done
        c.check_turn(lost)
    cancel = c.api("GET", f"/v1/cancels/{c.operation(turn)['stop']['cancel']}?wait=settled&wait_ms=60000").json
    assert cancel["report"]["proven"] and cancel["via"]["channel"] == "openai" and "did not return" in cancel["reason"], cancel
    until(lambda: not processes.marked(m), "the command to be gone")
    # Who returned owns its turn again; what nobody owned goes on.
    for goes_on in (streams[back], streams[stays], asked):
        assert c.operation(goes_on)["status"] == "running"
    returned.hang_up()
    assert c.ended(streams[back])["stop"]["cause"] == "disconnect"
    c.cancel(scope="own")
