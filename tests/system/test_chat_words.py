"""A chat's words stay a chat's: it answers, edits and repeats nothing with the rights of a person's own token, whatever author it names."""
import pytest

from harness import processes
from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

CHAT = "chat/1"


def script(m):
    return [
        {"when": {"user": "asks", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which one?"}}]}]},
        {"when": {"user": "runs", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"while :; do sleep 1000; done #{m}"}}]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


class Told(TurnCluster):
    """Everything is answered by the agent `default`, which asks before a command if a chat brought the message."""

    def __init__(self, m=""):
        super().__init__(script(m), agent='tools = ["exec", "ask_user"]')
        self.m = m

    def __enter__(self):
        super().__enter__()
        self.bot = self.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": "chat"}).json["token"]
        return self

    def start_controller(self, *flags, **options):
        self.configure(self.configuration().replace('name = "main"', 'name = "default"'))
        return super().start_controller(*flags, **options)

    def chats(self, text, **fields):
        return self.post(CHAT, text, token=self.bot, **fields)

    def question(self, turn):
        [call] = until(lambda: self.below(turn, status="paused"), "the question")
        return call

    def changes(self, action, token=None, scope=CHAT, **fields):
        return self.api("POST", "/v1/history", {"scope": scope, "action": action, **fields}, token=token)

    def runs(self):
        return processes.marked(self.m)


@pytest.fixture
def c():
    with Told(marker()) as cluster:
        yield cluster


def test_a_chat_answers_only_what_a_chats_turn_asks(c):
    turn = c.say(CHAT, "asks")
    call = c.question(turn)
    refused = c.chats("the red one", during_turn="answer")
    assert (refused.status, refused.json["code"]) == (409, "not_paused"), refused.body
    waits = c.chats("the red one")
    assert waits.status == 202 and waits.json["turn"]["status"] == "pending", waits.body
    assert c.operation(call["id"])["status"] == "paused"
    c.restart()
    until(lambda: c.chats("the red one", during_turn="answer").json.get("code") == "not_paused", "the next life to know it, too")
    assert c.operation(call["id"])["status"] == "paused"
    assert c.post(CHAT, "the blue one", during_turn="answer").status == 202
    assert c.ended(turn)["status"] == "completed"
    assert c.ended(waits.json["turn"]["id"])["status"] == "completed"

    asked = c.chats("asks").json["turn"]["id"]
    c.question(asked)
    c.restart()
    until(lambda: c.chats("the red one", during_turn="answer").status == 202, "the chat's own answer, in the next life as well")
    assert c.ended(asked)["status"] == "completed"
    c.check_scope(CHAT)


def test_a_chats_message_that_a_person_asks_again_still_asks_before_a_command(c):
    turn = c.chats("runs").json["turn"]["id"]
    call = c.question(turn)
    assert c.api("POST", f"/v1/operations/{call['id']}/deny", {}).status == 200
    assert c.ended(turn)["status"] == "completed"
    for text in (None, "runs, please"):
        if text:
            newest = [m for m in c.messages(CHAT) if m["role"] == "user" and not m["discarded"]][-1]
            assert c.changes("edit", id=newest["message"], text=text).status == 200
        again = c.changes("regenerate")
        assert again.status == 202, again.body
        c.question(again.json["operation"])
        assert not c.runs()
        c.restart()
        call = c.question(again.json["operation"])
        assert c.api("POST", f"/v1/operations/{call['id']}/deny", {}).status == 200
        assert c.ended(again.json["operation"])["status"] == "completed"
    # Nor does a copy of the conversation forget it.
    assert c.changes("fork", to="copy/1").status == 200
    assert c.changes("fork", scope="copy/1", to="chat/2").status == 200
    again = c.changes("regenerate", scope="chat/2")
    assert again.status == 202, again.body
    c.question(again.json["operation"])
    c.cancel(scope="chat/2")
    assert not c.runs()
    c.check_scope(CHAT)


def test_a_chats_token_edits_no_message_of_a_person(c):
    assert c.ended(c.say(CHAT, "hello"))["status"] == "completed"
    [mine] = [m for m in c.messages(CHAT) if m["role"] == "user"]
    refused = c.changes("edit", c.bot, id=mine["message"], text="runs")
    assert (refused.status, refused.json["code"]) == (403, "forbidden"), refused.body
    assert [m["text"] for m in c.messages(CHAT) if m["role"] == "user" and not m["discarded"]] == ["hello"]
    edited = c.changes("edit", id=mine["message"], text="hello, all")
    assert edited.status == 200, edited.body
    assert c.changes("edit", c.bot, id=edited.json["message"], text="runs").status == 403, "an edit of a person's is a person's"
    assert c.changes("fork", c.bot, to="chat/2").status == 200
    [copy] = [m for m in c.messages("chat/2") if m["role"] == "user"]
    assert c.changes("edit", c.bot, scope="chat/2", id=copy["message"], text="runs").status == 403, "and so is its copy"
    # Asked again by a chat it is the chat that asks.
    assert c.ended(c.changes("regenerate", c.bot).json["operation"])["status"] == "completed"

    assert c.ended(c.chats("hi").json["turn"]["id"])["status"] == "completed"
    theirs = [m for m in c.messages(CHAT) if m["role"] == "user"][-1]
    assert c.changes("edit", c.bot, id=theirs["message"], text="hi, all").status == 200
    c.check_scope(CHAT)
