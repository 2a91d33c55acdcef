"""Images and documents through the real programs: uploaded, named by messages, and sent by each provider's rules."""
import base64
import json
import os
import socket
import sys
import urllib.parse

import pytest

from harness.cluster import marker
from harness.model_player import DIALECTS, PLAYED, Player
from harness.picture_mcp import PICTURE
from harness.turns import TurnCluster
from harness.waiting import until

every = pytest.mark.parametrize("dialect", DIALECTS)

CAMERA = os.path.join(os.path.dirname(__file__), "harness", "picture_mcp.py")
MARK = marker()
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture of a cat"
POISON = b"\x89PNG\r\n\x1a\n" + b"a picture that nobody can read"
PDF = b"%PDF-1.7 a document about cats"


def encoded(data):
    return base64.b64encode(data).decode()


class Looking(Player):
    """Refuses, as providers do, every request with an image that it cannot read."""

    def play(self, to, dialect, text, is_result, size):
        if encoded(POISON) in json.dumps(self.of(text)[-1]["body"]):
            return self.refuse(to, 400, {"type": "invalid_request_error", "message": "Could not process image"})
        if "take a picture" in text and not is_result:
            to.send_response(200)
            to.send_header("Content-Type", "text/event-stream")
            to.end_headers()
            say = PLAYED[dialect](to)
            say.call("mcp__camera__picture", "{}")
            return say.end("calls")
        if "work until" in text and not is_result:
            to.send_response(200)
            to.send_header("Content-Type", "text/event-stream")
            to.end_headers()
            say = PLAYED[dialect](to)
            say.call("exec", json.dumps({"command": f"while [ ! -e {text.split()[-1]} ]; do sleep 0.05; done #{MARK}"}))
            return say.end("calls")
        return super().play(to, dialect, text, is_result, size)

    def having(self, data):
        with self.guard:
            return [r["body"] for r in self.requests if encoded(data) in json.dumps(r["body"])]


def config_of(url):
    def model(name, kind, more=""):
        return (f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m-{name}"\nbase_url = "{url}"\n{more}\n'
                f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["exec", "mcp:camera"]\n')
    camera = f'[[mcp]]\nname = "camera"\ncommand = [{json.dumps(sys.executable)}, {json.dumps(CAMERA)}]\nworker = "w1"\n'
    return ("".join(model(name, kind) for name, kind in DIALECTS.items()) + model("blind", DIALECTS["openai"], "images = false\ndocuments = false")
            + model("small", DIALECTS["openai"], "context = 5000\nmax_tokens = 500") + camera)


@pytest.fixture(scope="module")
def world():
    player = Looking()
    try:
        with TurnCluster([{"text": "You said {{text}}."}], config_of(player.url)) as c:
            yield c, player
    finally:
        player.close()


def upload(c, scope, data=PNG, type="image/png", name="cat.png", token=None):
    return c.api("POST", f"/v1/blobs?scope={scope}&name={name}", raw=data, headers={"Content-Type": type}, token=token)


def blob(c, scope, *args):
    answer = upload(c, scope, *args)
    assert answer.status in (200, 201), answer.body
    return {"blob": answer.json["id"]}


def request(player, text):
    return json.dumps(player.of(text)[-1]["body"])


@every
def test_files_are_sent_in_the_shape_of_the_provider_and_with_later_turns(world, dialect):
    c, player = world
    scope, text = f"files-{dialect}", f"what is this {dialect}"
    files = [blob(c, scope), blob(c, scope, PDF, "application/pdf", "cats.pdf"), blob(c, scope, b"cats sleep", "text/plain", "cats.txt")]
    assert c.ended(c.say(scope, text, agent=dialect, attachments=files))["status"] == "completed"
    [sent] = player.of(text)
    message = (sent["body"].get("messages") or sent["body"]["input"])[-1]
    parts = message["content"]
    image, document = {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}, encoded(PDF)
    if dialect == "anthropic":
        assert [p["source"] for p in parts if p["type"] == "image"] == [image]
        assert [(p["title"], p["source"]["data"]) for p in parts if p["type"] == "document"] == [("cats.pdf", document)]
    if dialect == "openai":
        assert [p["image_url"]["url"] for p in parts if p["type"] == "image_url"] == ["data:image/png;base64," + encoded(PNG)]
        assert [p["file"] for p in parts if p["type"] == "file"] == [{"filename": "cats.pdf", "file_data": "data:application/pdf;base64," + document}]
    if dialect == "responses":
        assert [p["image_url"] for p in parts if p["type"] == "input_image"] == ["data:image/png;base64," + encoded(PNG)]
        assert [p["filename"] for p in parts if p["type"] == "input_file"] == ["cats.pdf"]
    assert "cats sleep" in str(parts) and text in str(parts[-1])
    again = f"and its colour {dialect}"
    assert c.ended(c.say(scope, again, agent=dialect))["status"] == "completed"
    assert encoded(PNG) in request(player, again) and document in request(player, again)
    listed = c.messages(scope)[0]["attachments"]
    assert [f["name"] for f in listed] == ["cat.png", "cats.pdf", "cats.txt"] and listed[0]["bytes"] == len(PNG)
    c.check_scope(scope)


def test_files_survive_a_restart_and_a_repeated_upload_is_one_file(world):
    c, player = world
    first = blob(c, "again")
    assert blob(c, "again") == first
    assert c.ended(c.say("again", "look before", agent="openai", attachments=[first]))["status"] == "completed"
    c.restart()
    assert c.api("GET", f"/v1/blobs/{first['blob']}").body == PNG
    assert c.ended(c.say("again", "look after", agent="openai"))["status"] == "completed"
    assert encoded(PNG) in request(player, "look after")
    assert blob(c, "again") == first


def test_no_other_scope_reads_or_names_a_file(world):
    c, _ = world
    def token(scope):
        return c.api("POST", "/v1/tokens", {"name": scope, "role": "chat", "scope": scope}).json["token"]
    guild, other = token("guild-1"), token("guild-2")
    file = upload(c, "guild-1/talk", token=guild).json["id"]
    assert c.api("GET", f"/v1/blobs/{file}", token=guild).body == PNG
    assert c.api("GET", f"/v1/blobs/{file}", token=other).json["code"] == "blob_not_found"
    assert upload(c, "guild-1", token=other).json["code"] == "scope_forbidden"
    for scope, who in (("guild-2/talk", other), ("guild-2/talk", None), ("guild-1/else", guild)):
        refused = c.post(scope, "look", token=who, attachments=[{"blob": file}])
        assert refused.status == 422 and refused.json["errors"][0]["pointer"] == "/attachments/0/blob", (scope, refused.body)
        assert c.messages(scope) == []
    assert c.post("guild-1/talk/thread", "look", token=guild, attachments=[{"blob": file}]).status == 202
    above = upload(c, "guild-1", POISON + b"!", token=guild).json["id"]
    assert c.post("guild-1/else", "look", token=guild, attachments=[{"blob": above}]).status == 202


def test_a_model_without_images_gets_a_text_in_their_place(world):
    c, player = world
    files = [blob(c, "blind"), blob(c, "blind", PDF, "application/pdf", "cats.pdf")]
    assert c.ended(c.say("blind", "look blindly", agent="blind", attachments=files))["status"] == "completed"
    sent = player.of("look blindly")[-1]["body"]["messages"][-1]["content"]
    assert "cat.png" in sent and "this model reads no images" in sent and "no documents" in sent and "base64" not in sent, sent


@every
def test_an_image_that_the_provider_cannot_read_ends_its_turn_but_not_the_conversation(world, dialect):
    c, player = world
    scope = f"poison-{dialect}"
    over = c.ended(c.say(scope, f"look at poison {dialect}", agent=dialect, attachments=[blob(c, scope, POISON)]))
    assert over["status"] == "failed" and over["error"]["code"] == "model_refused", over
    for text in (f"leave that one {dialect}", f"thanks {dialect}"):
        turn = c.say(scope, text, agent=dialect)
        assert c.ended(turn)["status"] == "completed", c.ended(turn)
        assert [e["data"]["code"] for e in c.events(turn, "model_retry")] == ["model_refused"]
        assert "the provider refused a request with it" in request(player, text)
    c.check_scope(scope)


@every
def test_a_picture_that_a_tool_answers_with_reaches_the_model(world, dialect):
    c, player = world
    scope, before = f"camera-{dialect}", len(player.having(PICTURE))
    turn = c.say(scope, f"take a picture {dialect}", agent=dialect)
    assert c.ended(turn)["status"] == "completed", c.ended(turn)
    body = player.having(PICTURE)[before]
    if dialect == "openai":
        assert [m["role"] for m in body["messages"]][-2:] == ["tool", "user"]
        assert any(p["type"] == "image_url" for p in body["messages"][-1]["content"])
    if dialect == "anthropic":
        assert [p["type"] for p in body["messages"][-1]["content"][0]["content"]][-1] == "image"
    if dialect == "responses":
        assert any(p["type"] == "input_image" for p in body["input"][-1]["output"])
    [result] = c.results(scope, turn)
    [file] = result["result"]["attachments"]
    assert file["type"] == "image/png" and file["bytes"] == len(PICTURE), result
    assert c.api("GET", f"/v1/blobs/{file['blob']}").body == PICTURE
    assert [p["text"] for p in result["result"]["result"]["content"]][0] == "click" and "left out" in str(result), result
    again = f"look once more {dialect}"
    assert c.ended(c.say(scope, again, agent=dialect))["status"] == "completed"
    assert encoded(PICTURE) in request(player, again)
    c.check_scope(scope)


@every
def test_a_message_that_steers_a_turn_keeps_its_files_also_through_a_crash(world, dialect):
    c, player = world
    scope, flag, steer = f"steer-{dialect}", f"go-{dialect}", f"wait for this {dialect}"
    turn = c.say(scope, f"work until {flag}", agent=dialect)
    c.call(turn, "exec", "running")
    files = [blob(c, scope), blob(c, scope, PDF, "application/pdf", "cats.pdf")]
    waiting = [c.post(scope, text, agent=dialect, during_turn="steer", attachments=files[i : i + 1]).json["turn"]["id"]
               for i, text in enumerate(["", steer])]  # a file alone steers, too
    open(os.path.join(c.workspace, flag), "w").close()
    until(lambda: player.of(steer), "the model to be told")
    for sent in (encoded(PNG), encoded(PDF)):
        assert sent in request(player, steer)
    told = [m for m in c.of_turn(scope, turn) if m.get("steered_from")]
    assert [(m["steered_from"], [(f["blob"], f["name"]) for f in m["attachments"]]) for m in told] == [
        (waiting[0], [(files[0]["blob"], "cat.png")]), (waiting[1], [(files[1]["blob"], "cats.pdf")])], told
    assert {c.operation(w)["status"] for w in waiting} == {"completed"}
    before = len(player.of(steer))
    c.restart()
    player.released.set()
    try:
        assert c.ended(turn)["status"] == "completed", c.ended(turn)
        again = f"and its colour, steered {dialect}"
        assert c.ended(c.say(scope, again, agent=dialect))["status"] == "completed"
    finally:
        player.released.clear()
    assert len(player.of(steer)) > before and encoded(PNG) in request(player, steer) and encoded(PDF) in request(player, steer)
    assert encoded(PNG) in request(player, again) and encoded(PDF) in request(player, again)
    c.check_scope(scope)


def test_old_files_make_room_first(world):
    c, player = world
    assert c.ended(c.say("room", "the first picture", agent="small", attachments=[blob(c, "room")]))["status"] == "completed"
    second = blob(c, "room", PNG + b" again", "image/png", "second.png")
    third = blob(c, "room", PNG + b" a third", "image/png", "third.png")
    assert c.ended(c.say("room", "the others", agent="small", attachments=[second, third]))["status"] == "completed"
    sent = request(player, "the others")
    assert encoded(PNG) + '"' not in sent and "left out to make room" in sent
    assert encoded(PNG + b" again") in sent and encoded(PNG + b" a third") in sent and "the first picture" in sent


def test_a_word_to_stop_is_a_stop_whatever_is_attached(world):
    c, player = world
    turn = c.say("stops", "hold this", agent="openai")
    until(lambda: player.of("hold this"), "the model to be asked")
    answer = c.post("stops", "stop", attachments=[blob(c, "stops")]).json
    assert answer["decision"] == "cancel", answer
    assert c.ended(turn)["status"] == "cancelled"
    over = c.ended(c.say("stops", "", agent="openai", attachments=[blob(c, "stops")]))  # a file alone is a message
    assert over["status"] == "completed", over


def test_slow_uploads_and_readers_of_one_token_leave_room_for_others(world):
    c, _ = world
    def token(scope):
        return c.api("POST", "/v1/tokens", {"name": scope, "role": "chat", "scope": scope}).json["token"]
    slow, other, large = token("slow"), token("quick"), PNG + bytes(9_000_000)
    held = []
    def begin(line, more=""):
        s = socket.socket()
        held.append(s)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the answer stays with quelld
        s.connect(("127.0.0.1", urllib.parse.urlsplit(c.url).port))
        s.sendall(f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {slow}\r\n{more}\r\n".encode())
        return s
    try:
        assert upload(c, "slow", large, token=slow).status == 201
        mine, theirs = upload(c, "slow", large, token=slow).json["id"], upload(c, "quick", large, token=other).json["id"]
        for _ in range(8):
            assert begin(f"GET /v1/blobs/{mine}").recv(12) == b"HTTP/1.1 200"
        assert c.api("GET", f"/v1/blobs/{mine}", token=slow).json["code"] == "rate_limited"
        assert c.api("GET", f"/v1/blobs/{theirs}", token=other).body == large
        for _ in range(8):
            sent = begin("POST /v1/blobs?scope=slow", "Content-Type: image/png\r\nContent-Length: 9000000\r\nExpect: 100-continue\r\n")
            assert sent.recv(12) == b"HTTP/1.1 100"
        refused = upload(c, "slow", large, token=slow)
        assert refused.status == 429 and refused.json["code"] == "rate_limited", refused.body
        assert upload(c, "quick", large, token=other).status == 200
    finally:
        for s in held:
            s.close()
    until(lambda: upload(c, "slow", large, token=slow).status == 200, "the places of closed uploads to be free")
    until(lambda: c.api("GET", f"/v1/blobs/{mine}", token=slow).body == large, "the places of closed readers to be free")


def test_quotas_and_retention_bound_the_disk():
    player = Looking()
    try:
        settings = ["limits.blob_bytes=64KiB", "limits.blob_bytes_per_scope=16KiB", "limits.blob_bytes_per_token=8KiB"]
        with TurnCluster([{"text": "Yes."}], config_of(player.url), settings=settings) as c:
            token = c.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": "team"}).json["token"]
            assert upload(c, "team", PNG + bytes(70_000)).json["code"] == "too_large"
            first = blob(c, "team")
            turn = c.say("team", "look at it", agent="openai", attachments=[first])
            assert c.ended(turn)["status"] == "completed"
            for i in range(2):
                assert upload(c, "team", PNG + b"%d" % i, token=token).status == 201
            refused = upload(c, "team", PNG + b"more", token=token)
            assert refused.status == 429 and "limits.blob_bytes_per_token" in refused.json["detail"], refused.body
            c.settings.append("store.keep_blobs=1s")
            c.restart()
            until(lambda: c.api("GET", f"/v1/blobs/{first['blob']}").status == 404, "the file to go")
            until(lambda: upload(c, "team", PNG + b"more", token=token).status == 201, "its room to be free")
            assert c.ended(c.say("team", "is it there", agent="openai"))["status"] == "completed"
            assert encoded(PNG) not in request(player, "is it there") and "it is not kept any more" in request(player, "is it there")
    finally:
        player.close()
