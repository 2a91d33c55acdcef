"""Images inside the requests of OpenAI's clients, of useChat and of editors reach the model as files of their message."""
import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.cluster import BIN
from harness.looking import LookingPlayer, encoded, shown_images
from harness.model_player import DIALECTS
from harness.peers import Program
from harness.turns import TurnCluster
from harness.waiting import until

every = pytest.mark.parametrize("dialect", DIALECTS)
CAT = b"\x89PNG\r\n\x1a\n" + b"a picture of a cat"
DOG = b"GIF89a" + b"a picture of a dog"


def config_of(url):
    return "".join(f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m"\nbase_url = "{url}"\n'
                   f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["read"]\n' for name, kind in DIALECTS.items())


@pytest.fixture(scope="module")
def world():
    player = LookingPlayer()
    try:
        with TurnCluster([{"text": "You said {{text}}."}], config_of(player.url), settings=["limits.blob_bytes=2MiB"]) as c:
            yield c, player
    finally:
        player.close()


def image(data=CAT, type="image/png"):
    return {"type": "image_url", "image_url": {"url": f"data:{type};base64,{encoded(data)}"}}


def words(text):
    return {"type": "text", "text": text}


def complete(c, messages, agent="openai", **options):
    return c.api("POST", "/openai/v1/chat/completions", {"model": agent, "messages": messages}, **options)


@every
def test_a_clients_images_are_shown_by_each_providers_rules(world, dialect):
    c, player = world
    question = f"which is older {dialect}"
    answer = complete(c, [{"role": "user", "content": [words("a cat"), image()]}, {"role": "assistant", "content": "I see it."},
                          {"role": "user", "content": [words(question), image(DOG, "image/gif")]}], dialect)
    assert answer.status == 200 and answer.json["choices"][0]["message"]["content"] == "All right.", answer.body
    [body] = player.asked(question)
    assert shown_images(dialect, body) == [encoded(CAT), encoded(DOG)]
    assert "[image-1.png]" in json.dumps(body)
    scope = answer.headers["X-Quell-Scope"]
    listed = c.messages(scope)[0]["attachments"]
    assert [(f["name"], f["type"]) for f in listed] == [("image-1.png", "image/png"), ("image-2.gif", "image/gif")]
    stored = c.api("GET", "/v1/blobs/" + listed[0]["blob"])
    assert stored.body == CAT


def test_a_kept_conversation_takes_only_the_newest_images_and_remembers_the_others(world):
    c, player = world
    kept = {"X-Quell-Scope": "team/album"}
    first = [{"role": "user", "content": [words("look at the first"), image()]}]
    assert complete(c, first, headers=kept).status == 200
    again = first + [{"role": "assistant", "content": "All right."}, {"role": "user", "content": [image(DOG, "image/gif")]}]
    assert complete(c, again, headers=kept).status == 200
    body = player.having(DOG)[-1]
    assert json.dumps(body).count(encoded(CAT)) == 1 and shown_images("openai", body) == [encoded(DOG)]
    assert [len(m["attachments"]) for m in c.messages("team/album") if m["role"] == "user"] == [1, 1]
    c.check_scope("team/album")


def test_what_is_no_image_is_refused_with_its_place_and_nothing_is_fetched(world):
    c, player = world
    before = len(c.operations(kind="turn"))
    heard = len(player.requests)
    wrong = {"http": image() | {"image_url": {"url": player.url + "/cat.png"}}, "type": image(CAT, "image/svg+xml"), "bytes": image(CAT, "image/jpeg"),
             "base64": {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}, "large": image(CAT + bytes(2 << 20))}
    for what, part in wrong.items():
        answer = complete(c, [{"role": "user", "content": [words("what is it"), part]}])
        assert answer.status == (413 if what == "large" else 400), (what, answer.body)
        error = answer.json["error"]
        assert error["param"] == "messages[0].content[1].image_url.url" and error["type"] == "invalid_request_error", (what, error)
        assert what != "http" or "fetches nothing" in json.dumps(answer.json), answer.body
    many = complete(c, [{"role": "user", "content": [image() for _ in range(11)]}])
    assert many.status == 400 and many.json["error"]["param"] == "messages[0].content[10].image_url.url", many.body
    assert len(c.operations(kind="turn")) == before and len(player.requests) == heard


def test_large_images_fit_into_a_request_and_a_stop_needs_no_room(world):
    c, player = world
    large = CAT + os.urandom(1_500_000)
    answer = complete(c, [{"role": "user", "content": [words("a large one"), image(large)]}])
    assert answer.status == 200, answer.body
    assert shown_images("openai", player.asked("a large one")[-1]) == [encoded(large)]
    too_much = complete(c, [{"role": "user", "content": [words("x" * 10), *[image(large) for _ in range(3)]]}])
    assert too_much.status == 413, too_much.body
    turn = c.say("team/quiet", "silent", agent="openai")
    until(lambda: player.of("silent"), "the model to be asked")
    stop = complete(c, [{"role": "user", "content": [words("stop"), image()]}], headers={"X-Quell-Scope": "team/quiet"})
    assert stop.status == 200 and c.ended(turn)["status"] == "cancelled", stop.body
    assert not any(m.get("attachments") for m in c.messages("team/quiet"))


def test_the_place_of_a_large_body_is_free_while_its_turn_is_answered(world):
    c, player = world
    token = c.api("POST", "/v1/tokens", {"name": "album", "role": "chat", "scope": "album"}).json["token"]
    large = image(CAT + os.urandom(1_000_000))
    held = []
    try:
        for i in range(9):  # eight large bodies at once are one token's share
            body = json.dumps({"model": "openai", "messages": [{"role": "user", "content": [words(f"silent {i}"), large]}]})
            held.append(c.connection(60))
            held[-1].request("POST", "/openai/v1/chat/completions", body, {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
            until(lambda: player.of(f"silent {i}"), f"the model to be asked for request {i}")
        assert len(c.operations(kind="turn", status="running", scope="album")) == 9
    finally:
        for connection in held:
            connection.close()
    until(lambda: not c.operations(kind="turn", status="running", scope="album"), "the turns of clients that are gone to end")


def test_pages_with_usechat_send_images_as_file_parts(world):
    c, player = world
    def page(url):
        parts = [{"type": "file", "mediaType": "image/png", "url": url}, {"type": "text", "text": "a page's picture"}]
        return c.api("POST", "/v1/ui/chat", {"agent": "openai", "messages": [{"id": "1", "role": "user", "parts": parts}]})
    refused = page("https://example.org/cat.png")
    assert refused.status == 422 and refused.json["errors"][0]["pointer"] == "/messages/0/parts/0/url", refused.body
    assert page("data:image/png;base64," + encoded(CAT)).status == 200
    assert shown_images("openai", player.asked("a page's picture")[-1]) == [encoded(CAT)]


class Acp(Program):
    """An editor that writes JSON-RPC by itself."""

    def __init__(self, url, token):
        super().__init__("env", f"QUELL_URL={url}", f"QUELL_TOKEN={token}", f"{BIN}/quell", "acp", "--scope", "edit", "--agent", "openai")
        self.asked = 0

    def begin(self, method, **params):
        self.asked += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}))
        return self.asked

    def answer(self, id):
        def answered():
            found = [json.loads(line) for line in self.all('{"') if '"id":' in line]
            return next((a for a in found if a.get("id") == id and "method" not in a), None)
        return until(answered, f"the answer to request {id}")

    def call(self, method, **params):
        return self.answer(self.begin(method, **params))


def test_an_editors_images_reach_the_model(world):
    c, player = world
    with Acp(c.url, c.token) as editor:
        ready = editor.call("initialize", protocolVersion=1, clientCapabilities={})["result"]
        assert ready["agentCapabilities"]["promptCapabilities"]["image"] is True
        session = editor.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
        def prompt(*blocks):
            return editor.call("session/prompt", sessionId=session, prompt=list(blocks))
        block = {"type": "image", "mimeType": "image/png", "data": encoded(CAT)}
        done = prompt(words("an editor's picture"), block)
        assert done["result"]["stopReason"] == "end_turn", done
        assert shown_images("openai", player.asked("an editor's picture")[-1]) == [encoded(CAT)]
        assert [f["name"] for f in c.messages(session)[0]["attachments"]] == ["image-1.png"]
        for wrong in ({"data": "%%%"}, {"mimeType": "image/svg+xml"}, {"mimeType": "image/jpeg"}):
            assert prompt(words("wrong"), block | wrong)["error"]["code"] == -32602
        large = base64.b64encode(CAT + bytes(2 << 20)).decode()
        assert prompt(words("too large"), block | {"data": large})["error"]["data"]["code"] == "too_large"
        assert not player.asked("wrong") and not player.asked("too large")
        assert prompt(block)["result"]["stopReason"] == "end_turn"
    c.check_scope(session)


class SlowStore:
    """A controller that never finishes to take a file."""

    def __init__(self):
        self.posts, self.release = [], threading.Event()
        store = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                body = json.dumps({"object": "list", "data": []}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                store.posts.append(self.path)
                store.release.wait(60)
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def test_a_cancel_while_an_editors_image_is_on_its_way_has_nothing_to_stop():
    store = SlowStore()
    try:
        with Acp(store.url, "qk_any") as editor:
            editor.call("initialize", protocolVersion=1, clientCapabilities={})
            session = editor.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
            asked = editor.begin("session/prompt", sessionId=session, prompt=[words("look"), {"type": "image", "mimeType": "image/png", "data": encoded(CAT)}])
            until(lambda: store.posts, "the image to be on its way")
            editor.say(json.dumps({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
            done = editor.answer(asked)["result"]
            assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["proven"] is True and done["_meta"]["quell"]["cancel"] is None, done
            assert [p.partition("?")[0] for p in store.posts] == ["/v1/blobs"], store.posts
    finally:
        store.close()
