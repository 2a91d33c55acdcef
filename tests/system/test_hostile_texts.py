"""Names and texts of others with direction marks, characters without width and a terminal's escapes: none of them reaches a terminal, whichever command shows them."""
import pytest

from harness.talk import call, on_terminal
from harness.turns import TurnCluster
from harness.waiting import until

# Overrides and isolates of direction, joiners, spaces without width, a soft hyphen, a byte order mark, fillers, tags.
UNSEEN = "\u202e\u202a\u2066\u2069\u200e\u061c\u200b\u200c\u200d\u2060\u2064\ufeff\u00ad\u034f\u3164\ufff9\U000e0041"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u009b2J\x08"
NAME, TEXT = "work" + UNSEEN + "end", "says" + UNSEEN + ESCAPES + "over"
OWNER = {"id": "u-1", "name": "Mia" + UNSEEN}
PAUSED = call("rm -f 'gone" + UNSEEN + ESCAPES + "'")
SCRIPT = [
    {"when": {"user": "danger"}, "steps": [{"text": TEXT}, PAUSED]},
    {"when": {"user": "tools"}, "steps": [call("printf 'printed" + UNSEEN + "'")]},
    {"when": {"user": "broken"}, "steps": [{"error": {"code": "model_refused", "message": "no such model " + TEXT}}]},
    {"when": {"user": "speak"}, "steps": [{"text": TEXT, "chunk": 1, "delay_ms": 1}]},
    {"when": {"result": ""}, "text": "Done: {{results}}"},
    {"text": "You said {{text}}."},
]
SCOPE = "hostile"


@pytest.fixture(scope="module")
def world():
    with TurnCluster(SCRIPT, '[[approval]]\ntool = "exec"\nmatch = "rm *"\n') as c:
        for title in ({}, {"title": TEXT}):
            answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": SCOPE, "name": NAME, "owner": OWNER, "external": {}, **title})
            assert answer.status == 201, answer.body
            c.external = answer.json["id"]
        c.task = c.start("sh", "-c", "printf '%s\\n' \"$1\"; exit 3", "sh", TEXT.replace("\x08", ""), scope=SCOPE, name=NAME)["id"]
        c.wait_status(c.task, "failed")
        c.turn = c.say(SCOPE + "/talk", "danger " + TEXT, author=OWNER)
        c.call(c.turn, "exec", "paused")
        c.cancelled = c.cancel(scope=SCOPE + "/none", wait="fenced", reason="because" + UNSEEN + ESCAPES)["id"]
        yield c


def shown(world, *arguments, code=0):
    """What the command says on a terminal; nothing unseen is in it."""
    with on_terminal(world, *arguments) as t:
        assert t.end() == code, t.text()
        check(t.raw)
        return t.text()


def check(raw):
    text = raw.decode(errors="replace")
    found = sorted({hex(ord(c)) for c in text if c in UNSEEN or c in "\x07\u009b"})
    assert not found and "\x1b]0;owned" not in text, (found, text)


@pytest.mark.parametrize("arguments, wanted", [
    (["ps"], "work?"), (["ps", "--all"], "work?"), (["ps", "--tree"], "work?"), (["show", "EXTERNAL"], "says?"), (["show", "TASK"], "says?"),
    (["show", "TURN"], "says?"), (["events"], None), (["events", "--json"], "says"), (["cancels"], "because?"), (["why", "CANCEL"], None),
    (["why", "EXTERNAL"], None), (["history", "show", SCOPE + "/talk"], "says?"), (["approvals", "list"], None), (["ps", "--json"], "work"),
    (["logs", "--json", "TASK"], "says"), (["scopes"], SCOPE), (["status"], None), (["audit", "list"], "because?"), (["cost"], None), (["cancel", "--dry-run", "--scope", SCOPE], "says?"),
])
def test_no_command_shows_what_nobody_sees(world, arguments, wanted):
    ids = {"EXTERNAL": world.external, "TASK": world.task, "TURN": world.turn, "CANCEL": world.cancelled}
    text = shown(world, *[ids.get(a, a) for a in arguments])
    assert wanted is None or wanted in text, text


def test_say_shows_nothing_of_it(world):
    assert "You said says?" in shown(world, "say", "--scope", "say", TEXT)
    assert "printed?" in shown(world, "say", "--scope", "say", "tools")
    with on_terminal(world, "say", "--scope", "say", "broken " + TEXT) as t:
        assert t.end() != 0
        check(t.raw)
        assert "no such model" in t.text()


def test_chat_shows_nothing_of_it(world):
    with on_terminal(world, "chat", "--scope", SCOPE + "/talk") as t:
        t.see("Mia?", "danger says?")
        t.enter("/history")
        until(lambda: t.text().count("danger says?") > 1, "the conversation again")
        t.type("\x03")
        check(t.raw)
    with on_terminal(world, "chat", "--scope", "chat") as t:  # as it comes
        t.prompt()
        for text, answer in (("tools", "printed?"), ("speak", "says????"), ("broken", "no such model"), ("danger", "rm -f 'gone?")):
            t.enter(text)
            t.see(answer)
        t.type("\x03")
        check(t.raw)
