"""`read` shows an image or a PDF file to the model, by each provider's rules; the stored result only names it."""
import json
import os

import pytest

from harness.looking import LookingPlayer, encoded
from harness.model_player import DIALECTS
from harness.turns import TurnCluster

PNG = b"\x89PNG\r\n\x1a\n" + b"a picture in a workspace"
PDF = b"%PDF-1.7 a document in a workspace"
every = pytest.mark.parametrize("dialect", DIALECTS)


def config_of(url):
    def model(name, kind, more=""):
        return (f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m"\nbase_url = "{url}"\n{more}\n'
                f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["read"]\n')
    return "".join(model(name, kind) for name, kind in DIALECTS.items()) + model("blind", DIALECTS["openai"], "images = false\ndocuments = false")


@pytest.fixture(scope="module")
def world():
    player = LookingPlayer()
    try:
        with TurnCluster([{"text": "Yes."}], config_of(player.url)) as c:
            yield c, player
    finally:
        player.close()


def put(c, name, data):
    with open(os.path.join(c.workspace, name), "wb") as f:
        f.write(data)


def look(c, scope, name, agent):
    turn = c.say(scope, "look at " + name, agent=agent)
    assert c.ended(turn)["status"] == "completed", c.ended(turn)
    [result] = c.results(scope, turn)
    c.check_scope(scope)
    return result


@every
def test_a_picture_of_the_workspace_is_shown_and_stays_over_a_restart(world, dialect):
    c, player = world
    scope, picture = f"shown-{dialect}", PNG + dialect.encode()
    put(c, f"cat-{dialect}.png", picture)
    result = look(c, scope, f"cat-{dialect}.png", dialect)
    [file] = result["result"]["attachments"]
    assert (file["name"], file["type"], file["bytes"]) == (f"cat-{dialect}.png", "image/png", len(picture))
    assert result["result"]["result"] == {"path": f"cat-{dialect}.png", "type": "image/png", "bytes": len(picture)}
    assert c.api("GET", "/v1/blobs/" + file["blob"]).body == picture
    [body] = player.having(picture)
    if dialect == "anthropic":
        assert [p["type"] for p in body["messages"][-1]["content"][0]["content"]][-1] == "image"
    if dialect == "openai":
        assert [m["role"] for m in body["messages"]][-2:] == ["tool", "user"]
        assert any(p["type"] == "image_url" for p in body["messages"][-1]["content"])
    if dialect == "responses":
        assert any(p["type"] == "input_image" for p in body["input"][-1]["output"])
    assert json.dumps(body).count(encoded(picture)) == 1
    c.restart()
    assert c.ended(c.say(scope, f"once more {dialect}", agent=dialect))["status"] == "completed"
    assert encoded(picture) in json.dumps(player.asked(f"once more {dialect}")[-1])


@every
def test_a_document_of_the_workspace_is_shown(world, dialect):
    c, player = world
    document = PDF + dialect.encode()
    put(c, "cats.pdf", document)
    result = look(c, f"document-{dialect}", "cats.pdf", dialect)
    assert [f["type"] for f in result["result"]["attachments"]] == ["application/pdf"] and len(player.having(document)) == 1


def test_what_a_model_cannot_see_is_named(world):
    c, player = world
    put(c, "blind.png", PNG + b"blind")
    assert look(c, "blind", "blind.png", "blind")["ok"]
    assert player.having("this model reads no images") and not player.having(PNG + b"blind")


def test_a_file_that_is_too_large_or_no_picture_says_so(world):
    c, player = world
    put(c, "huge.png", PNG + bytes(5 << 20))
    put(c, "noise.bin", b"\xff\xfe\x00\x01" * 10)
    huge, noise = look(c, "huge", "huge.png", "openai"), look(c, "noise", "noise.bin", "openai")
    assert not huge["ok"] and huge["result"]["error"]["code"] == "too_large" and "smaller copy" in huge["result"]["error"]["message"]
    assert not noise["ok"] and noise["result"]["error"]["code"] == "not_text"
    put(c, "large.png", PNG + bytes(4 << 20))  # over the limit of other answers by far
    assert look(c, "large", "large.png", "openai")["result"]["attachments"][0]["bytes"] == len(PNG) + (4 << 20)
