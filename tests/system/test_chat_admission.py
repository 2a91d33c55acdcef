"""Chats are closed until they are opened, only approvers approve, and the default agent asks for approval when it is reached by chat."""
import os

import pytest

from harness import processes
from harness.cluster import marker
from harness.discord import FakeDiscord, interaction
from harness.waiting import until
from test_chat_discord import SCOPE, DiscordCluster, wait_text

ASKS = '[[approval]]\ntool = "exec"'


def question(d, count=1):
    asked = [r["body"]["components"][0]["components"] for r in d.found("REST", method="POST", status=200) if r["body"].get("components")]
    asked = [a for a in asked if a[0]["label"] == "Approve"]
    return (asked[count - 1:count] or [None])[0]


def press(c, d, buttons, label, **who):
    button = next(b for b in buttons if b["label"] == label)
    return d.interact(c, interaction(3, custom_id=button["custom_id"], component_type=2, **who))["json"]["data"]["content"]


@pytest.mark.parametrize("admitted, heard", [("", []), ('guilds = ["9"]', ["server"]), ('users = ["5"]', ["server", "direct"]), ('guilds = ["*"]', ["server"]),
                                             ('guilds = ["1"]\nusers = ["4"]', []), ('users = ["*"]', ["server", "direct"])])
def test_nobody_is_admitted_who_is_not_named(admitted, heard):
    with FakeDiscord() as d, DiscordCluster(d, marker(), admitted=admitted) as c:
        d.see("IDENTIFY")
        d.message("server")
        d.message("direct", direct=True)
        command = d.interact(c, interaction(name="ask", type=1, options=[{"name": "text", "type": 3, "value": "asked"}]))
        is_here = "server" in heard
        for text in heard + (["asked"] if is_here else []):
            wait_text(d, f"You said {text}.")
        stop = d.interact(c, interaction(name="stop", type=1))
        assert (command["json"]["data"]["content"] == "This bot does not work here.") != is_here, command
        assert (stop["json"]["data"]["content"] == "This bot does not work here.") != is_here, stop
        if not heard:
            until(lambda: "is not admitted" in open(os.path.join(c.directory, "quelld.log")).read(), "the log to say so")
        said = [m["text"] for scope in (SCOPE, "discord/dm/77") for m in c.messages(scope) if m["role"] == "user"]
        assert sorted(said) == sorted(heard + (["asked"] if is_here else [])), said


def test_only_an_approver_decides_and_only_where_it_was_asked():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS, admitted='guilds = ["9"]', chat_settings='approvers = ["discord:5", "discord:6"]') as c:
        d.see("IDENTIFY")
        d.message("runs")
        buttons = until(lambda: question(d), "the question")
        assert "you are not an approver" in press(c, d, buttons, "Approve", user="44")
        assert "your own request" in press(c, d, buttons, "Approve", user="5")
        assert "nothing of that id" in press(c, d, buttons, "Approve", user="6", channel="8")
        assert not processes.marked(m)
        assert press(c, d, buttons, "Approve", user="6") == "Approved."
        until(lambda: processes.marked(m), "the command to run")
        c.cancel(scope=SCOPE)


def test_the_members_of_a_named_role_decide_with_the_roles_that_discord_says_they_have():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS, admitted='guilds = ["9"]', chat_settings='approvers = ["discord:role:77"]') as c:
        d.see("IDENTIFY")
        d.message("runs")
        buttons = until(lambda: question(d), "the question")

        def approve(user, roles):
            body = interaction(3, user=user, custom_id=next(b["custom_id"] for b in buttons if b["label"] == "Approve"), component_type=2)
            body["member"]["roles"] = roles
            return d.interact(c, body)["json"]["data"]["content"]

        assert "you are not an approver" in approve("6", ["76"])
        assert "your own request" in approve("5", ["77"])
        assert not processes.marked(m)
        assert approve("6", ["76", "77"]) == "Approved."
        until(lambda: processes.marked(m), "the command to run")
        c.cancel(scope=SCOPE)


def test_without_approvers_only_operators_and_admins_decide():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS) as c:
        d.see("IDENTIFY")
        d.message("runs")
        buttons = until(lambda: question(d), "the question")
        assert "you are not an approver" in press(c, d, buttons, "Approve", user="6")
        call = buttons[0]["custom_id"].split(":")[1]
        tokens = {role: c.api("POST", "/v1/tokens", {"name": role, "role": role, "scope": "discord"}).json for role in ("observer", "chat", "operator")}
        claimed = {"by": {"id": "6", "name": "somebody else"}}
        for role in ("observer", "chat"):
            answer = c.api("POST", f"/v1/operations/{call}/approve", claimed, token=tokens[role]["token"])
            assert answer.status == 403 and answer.json["code"] == "forbidden", answer.body
        assert not processes.marked(m)
        assert c.api("POST", f"/v1/operations/{call}/approve", claimed, token=tokens["operator"]["token"]).status == 200
        until(lambda: processes.marked(m), "the command to run")
        c.cancel(scope=SCOPE)


def test_a_chat_bots_token_decides_if_it_is_named():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS) as c:
        d.see("IDENTIFY")
        made = c.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": "discord"}).json
        with open(c.config) as f:
            text = f.read()
        with open(c.config, "w") as f:
            f.write(text.replace("[chat]\n", f'[chat]\napprovers = ["token:{made["id"]}"]\n'))
        c.restart()
        d.see("IDENTIFY", count=2)
        d.message("runs")
        call = until(lambda: question(d), "the question")[0]["custom_id"].split(":")[1]
        answer = c.api("POST", f"/v1/operations/{call}/deny", {"reason": "no"}, token=made["token"])
        assert answer.status == 200, answer.body
        until(lambda: c.operation(call)["status"] == "failed", "the call to be denied")


def test_the_default_agent_asks_before_a_command_when_it_is_reached_by_chat():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m) as c:
        d.see("IDENTIFY")  # by this life; the next one is the second
        with open(c.config) as f:
            text = f.read()
        with open(c.config, "w") as f:
            f.write(text.replace('name = "main"', 'name = "default"'))
        c.restart()
        d.see("IDENTIFY", count=2)
        d.message("runs")
        until(lambda: question(d), "the question")
        assert not processes.marked(m)
        c.cancel(scope=SCOPE)
        # A chat bot with a token of its own counts as a chat; a person with their own token does not.
        bot = c.api("POST", "/v1/tokens", {"name": "bot", "role": "chat", "scope": "mine"}).json["token"]
        turn = c.post("mine/1", "runs", token=bot).json["turn"]["id"]
        c.call(turn, "exec", "paused")
        assert not processes.marked(m)
        c.cancel(scope="mine")
        c.say("direct", "runs")
        until(lambda: processes.marked(m), "the command to run")
        c.cancel(scope="direct")
