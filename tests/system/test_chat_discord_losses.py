"""Discord without losses: 5xx, restarts, and messages that are queued, have attachments, are edited, deleted, or sent while quelld is away."""
import json

import pytest

from harness import processes
from harness.cluster import marker
from harness.discord import FakeDiscord, interaction
from harness.waiting import until
from test_chat_discord import LISTING, SCOPE, DiscordCluster, wait_text


@pytest.fixture
def world():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m) as c:
        d.see("IDENTIFY")
        d.see("REST", count=2, path="/applications/8/commands", status=201)
        yield c, d, m


def stands(d, text, seconds=60):
    """The message of quelld that contains the text and has no button any more."""
    return until(lambda: next((s for s in d.all_standing() if text in s["content"] and not s["components"]), None),
                 lambda: f"a final message with {text!r}; there are {d.all_standing()}", seconds)


def test_a_reply_survives_more_errors_than_a_few_and_comes_once(world):
    _, d, _ = world
    for _ in range(2):
        d.do("plan", method="POST", status=502)
    d.do("plan", method="POST", cut=True)  # performed, but the answer is lost
    d.do("plan", method="POST", status=503)
    d.message("hello")
    stands(d, "You said hello.", 60)
    assert [m["content"] for m in d.found("MADE")].count("You said hello.") == 1, d.found("MADE")


def test_code_that_needs_several_messages_is_code_in_each_of_them(world):
    _, d, _ = world
    d.message("listing")
    stands(d, "That is all.")
    parts = [s["content"] for s in d.all_standing()]
    assert len(parts) > 2 and parts[0].startswith("See:\n```py\nline(0)\n"), parts
    assert all(p.startswith("```py\nline(") for p in parts[1:-1]), parts
    # A reader never sees half of a block, not even while the answer comes.
    for request in [*d.found("REST", method="POST"), *d.found("REST", method="PATCH")]:
        content = request["body"].get("content", "")
        assert content.count("```") % 2 == 0 and len(content) <= 2000, content
    code = [line for p in parts for line in p.split("\n") if line.startswith("line(")]
    assert code == [line for line in LISTING.split("\n") if line.startswith("line(")]


def test_a_short_reply_keeps_no_button(world):
    _, d, _ = world
    d.message("hello")
    stands(d, "You said hello.")


def test_who_has_to_wait_sees_it(world):
    c, d, _ = world
    first = d.message("endless")
    d.see("MADE")
    second = d.message("hello")
    d.see("REACTION", message=second, emoji="\N{EYES}")
    assert not d.found("REACTION", message=first)
    d.interact(c, interaction(name="stop", type=1))


def test_what_is_attached_is_said(world):
    c, d, _ = world
    d.message("look", attachments=[{"id": "1", "filename": "a.pdf", "content_type": "application/pdf", "size": 12, "url": "https://cdn.example/a.pdf"}])
    d.message("", sticker_items=[{"id": "2", "name": "wave", "format_type": 1}])
    d.message("", message_snapshots=[{"message": {"content": "old words", "attachments": []}}])
    until(lambda: len(c.said()) == 3, "three messages")
    assert c.said() == ["look\n[attached: a.pdf (application/pdf, 12 bytes) https://cdn.example/a.pdf]", "[sticker: wave]", "[forwarded: old words]"]
    # A cancel word counts with any attachment.
    d.message("endless")
    until(lambda: any(o["status"] == "running" and o["title"] == "endless" for o in c.live()), "the endless reply")
    d.message("stop", attachments=[{"id": "3", "filename": "b.png", "size": 1, "url": "https://cdn.example/b.png"}])
    until(lambda: not c.live(), "the stop")


def test_after_a_crash_no_message_looks_alive(world):
    c, d, m = world
    d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    working = until(lambda: next((x for x in d.found("MADE")), None), "a message that works")
    until(lambda: d.standing(working["id"])["components"], "its button")
    until(lambda: working["id"] in json.dumps(c.remembers("discord")), "it to be remembered")
    turn = c.operations(kind="turn", status="live")[0]["id"]
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    assert d.standing(working["id"])["components"], "its button stays"
    c.cancel(operation=turn)
    until(lambda: not d.standing(working["id"])["components"] and "\u23f3" not in d.standing(working["id"])["content"],
          lambda: f"the message to be brought to its end: {d.standing(working['id'])}; {c.remembers('discord')}; {c.events(turn)}")


def test_a_message_whose_answer_is_lost_before_a_crash_does_not_look_alive(world):
    c, d, m = world
    d.do("plan", method="POST", cut=True)  # performed, but the answer is lost
    d.do("plan", method="POST", status=503)  # nobody hears of it for a while
    d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    working = until(lambda: next((x for x in d.found("MADE")), None), "a message that works")
    turn = c.operations(kind="turn", status="live")[0]["id"]
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    c.cancel(operation=turn)
    until(lambda: "\u23f9 stopped" in d.standing(working["id"])["content"] and not d.standing(working["id"])["components"],
          lambda: f"the message to be brought to its end: {d.standing(working['id'])}; {c.remembers('discord')}; {c.events(turn)}")
    assert len(d.found("MADE")) == 1, d.found("MADE")


def test_a_question_survives_a_crash_and_its_buttons_work():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, chat_settings='approvers = ["discord:5"]\napprove_own = true', more='[[approval]]\ntool = "exec"') as c:
        d.see("IDENTIFY")
        d.message("runs")
        asked = until(lambda: next((x for x in d.found("MADE") if "approval" in x["content"]), None), "the question")
        until(lambda: asked["id"] in json.dumps(c.remembers("discord")), "it to be remembered")
        c.restart()
        buttons = d.standing(asked["id"])["components"][0]["components"]
        answer = d.interact(c, interaction(3, custom_id=buttons[0]["custom_id"], component_type=2))
        assert answer["json"]["data"]["content"] == "Approved.", answer
        until(lambda: processes.marked(m), "the command to run")
        until(lambda: not d.standing(asked["id"])["components"] and "approved by Mia" in d.standing(asked["id"])["content"], "the question to be closed")
        assert d.interact(c, interaction(name="stop", type=1))["status"] == 200
        until(lambda: not c.live(), "it to be gone")


def test_a_question_that_was_answered_while_discord_was_away_is_closed():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more='[[approval]]\ntool = "exec"') as c:
        d.see("IDENTIFY")
        d.message("runs")
        asked = until(lambda: next((x for x in d.found("MADE") if "approval" in x["content"]), None), "the question")
        until(lambda: asked["id"] in json.dumps(c.remembers("discord")), "it to be remembered")
        for _ in range(3):  # quelld waits twice as long each time: with more of them the next life would be busy for a minute
            d.do("plan", method="PATCH", status=503)
        c.cancel(scope=SCOPE)
        until(lambda: not c.live(), "the stop")
        c.restart()
        until(lambda: not d.standing(asked["id"])["components"], "the buttons to be gone", 60)


def test_an_edit_takes_the_place_of_what_was_said(world):
    c, d, _ = world
    id = d.message("endless")
    d.see("MADE")
    d.do("edit", id=id, fields={"embeds": [{"type": "link"}]})  # a preview: no word has changed
    d.edit(id, "hello")
    stands(d, "You said hello.")
    until(lambda: not c.live(), "the first reply to be over")
    assert c.said() == ["endless", "hello"]
    d.edit(id, "hello again", "2026-01-01T00:00:01.000000+00:00")  # is already answered: the answer stays
    other = d.message("endless")
    until(lambda: c.live(), "the next turn")
    d.edit(other, "stop")
    until(lambda: not c.live(), "the edit into a word to stop to be one")
    assert c.said() == ["endless", "hello", "endless", "stop"]


def test_an_edit_that_takes_the_mention_away_is_not_answered(world):
    c, d, _ = world
    for text in ("endless", "something else"):  # the mention alone goes, or the words with it
        id = d.message("endless")
        turn = until(lambda: c.operations(scope=SCOPE, kind="turn", status="running"), "the reply")[0]["id"]
        d.do("edit", id=id, fields={"content": text, "mentions": [], "edited_timestamp": "2026-01-01T00:00:00.000000+00:00"})
        assert c.ended(turn)["status"] == "cancelled"
    d.message("hello")
    stands(d, "You said hello.")
    assert c.said() == ["endless", "endless", "hello"]


def test_a_deleted_message_is_not_answered_any_more(world):
    c, d, _ = world
    running = d.message("endless")
    d.see("MADE")
    waiting = d.message("hello")
    until(lambda: len(c.operations(scope=SCOPE, kind="turn", status="live")) == 2, "both turns")
    d.do("delete", id=waiting)
    until(lambda: len(c.operations(scope=SCOPE, kind="turn", status="live")) == 1, "the waiting one to be gone")
    d.do("delete", id=running)
    until(lambda: not c.live(), "the running one to be gone")
    reasons = [x["reason"] for x in c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"]]
    assert reasons == ["its message was deleted"] * 2, reasons


def comes_back(c, d, turn):
    c.restart()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    until(lambda: len(d.found("IDENTIFY")) + len(d.found("RESUME")) >= 2, "quelld to be at Discord again")


def test_a_message_that_is_deleted_after_a_restart_is_not_answered_any_more(world):
    c, d, m = world
    asked = d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    turn = c.operations(scope=SCOPE, kind="turn", status="running")[0]["id"]
    comes_back(c, d, turn)
    assert c.live() and processes.marked(m), "the turn survives the restart"
    d.do("delete", id=asked)
    until(lambda: not c.live() and not processes.marked(m), "it to be gone")
    [cancel] = c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"]
    assert cancel["reason"] == "its message was deleted" and cancel["by"]["id"] == "5", cancel


def test_a_message_that_is_edited_after_a_restart_is_asked_anew_and_its_new_turn_can_be_taken_back(world):
    c, d, _ = world
    asked = d.message("endless")
    turn = until(lambda: c.operations(scope=SCOPE, kind="turn", status="running"), "the reply")[0]["id"]
    comes_back(c, d, turn)
    d.do("edit", id=asked, fields={"embeds": [{"type": "link"}]})  # a preview: no word has changed
    d.edit(asked, "endless again")
    new = until(lambda: [o for o in c.operations(scope=SCOPE, kind="turn", status="running") if o["id"] != turn], "the new turn")[0]["id"]
    assert c.operation(turn)["status"] == "cancelled"
    assert c.said() == ["endless", "endless again"]
    c.restart()
    until(lambda: c.events(new, "turn_resumed"), "the new turn to go on")
    until(lambda: len(d.found("IDENTIFY")) + len(d.found("RESUME")) >= 3, "quelld to be at Discord again")
    d.do("delete", id=asked)
    until(lambda: not c.live(), "the new turn to be gone")


def test_a_deleted_channel_stops_what_runs_there(world):
    c, d, m = world
    d.message("runs")
    until(lambda: processes.marked(m), "the command to run")
    d.do("tell", type="CHANNEL_DELETE", data={"id": "7", "guild_id": "9", "type": 0})
    until(lambda: not processes.marked(m) and not c.live(), "it to be gone")


def replies_in(c, d, *places):
    """Starts an endless reply in each of these channels and threads of guild 9; returns whether each of them runs."""
    for place in places:
        d.message("endless", channel_id=place)
    runs = lambda: [len([t for t in c.operations(scope=f"discord/9/{p}", kind="turn", status="running")]) for p in places]
    until(lambda: runs() == [1] * len(places), lambda: f"a reply in each of {places}: {runs()}")
    return runs


def test_a_deleted_channel_stops_what_runs_in_its_threads(world):
    c, d, _ = world
    for thread, channel in (("70", "7"), ("80", "8")):
        d.do("tell", type="THREAD_CREATE", data={"id": thread, "parent_id": channel, "guild_id": "9", "type": 11})
    runs = replies_in(c, d, "7", "70", "80")
    d.do("tell", type="CHANNEL_DELETE", data={"id": "7", "guild_id": "9", "type": 0})
    until(lambda: runs() == [0, 0, 1], lambda: f"the channel and its thread to be stopped: {runs()}")
    c.cancel(scope="discord")


def test_a_deleted_thread_stops_what_runs_there_and_nothing_beside_it(world):
    c, d, _ = world
    for thread in ("70", "71"):
        d.do("tell", type="THREAD_CREATE", data={"id": thread, "parent_id": "7", "guild_id": "9", "type": 11})
    runs = replies_in(c, d, "7", "70", "71")
    d.do("tell", type="THREAD_DELETE", data={"id": "70", "guild_id": "9", "parent_id": "7", "type": 11})
    until(lambda: runs() == [1, 0, 1], lambda: f"the thread alone to be stopped: {runs()}")
    cancel, = c.api("GET", "/v1/cancels").json["cancels"]
    assert cancel["reason"] == "its thread was deleted", cancel
    c.cancel(scope="discord")


def test_a_server_that_removes_the_bot_stops_what_runs_there_and_an_outage_does_not(world):
    c, d, _ = world
    runs = replies_in(c, d, "7", "8")
    d.do("tell", type="GUILD_DELETE", data={"id": "9", "unavailable": True})
    d.do("tell", type="GUILD_DELETE", data={"id": "10"})
    d.message("hello", channel_id="11")  # heard behind both
    stands(d, "You said hello.")
    assert runs() == [1, 1]
    d.do("tell", type="GUILD_DELETE", data={"id": "9"})
    until(lambda: runs() == [0, 0], lambda: f"everything of the server to be stopped: {runs()}")


def test_what_was_said_while_quelld_was_away_is_answered_once_and_in_order(world):
    c, d, _ = world
    d.message("one")
    stands(d, "You said one.")
    until(lambda: c.remembers("discord-heard").get("heard", {}).get(SCOPE), "the channel to be remembered")
    c.kill_controller()
    d.message("two")
    d.message("three")
    d.message("not to you", mention=False)
    c.start_controller()
    stands(d, "You said three.", 60)
    d.message("four")
    stands(d, "You said four.")
    assert c.said() == ["one", "two", "three", "four"]
    c.restart()
    d.message("five")
    stands(d, "You said five.")
    assert c.said() == ["one", "two", "three", "four", "five"]


def test_a_session_that_was_forgotten_loses_nothing(world):
    c, d, _ = world
    d.message("one")
    stands(d, "You said one.")
    until(lambda: c.remembers("discord-heard").get("heard", {}).get(SCOPE), "the channel to be remembered")
    d.do("drop", forget=True)
    d.message("two")  # no session receives it
    stands(d, "You said two.", 60)
    assert c.said() == ["one", "two"]
