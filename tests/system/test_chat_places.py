"""Settings of a place: its agents, its open channels and its words, changed by a reload while work runs there."""
import subprocess

from harness import processes
from harness.cluster import BIN, marker
from harness.discord import FakeDiscord
from harness.waiting import until
from test_chat_admission import ASKS, press, question
from test_chat_discord import SCOPE, DiscordCluster, wait_text

GUILD = '\n[[place]]\nscope = "discord/9"\n'


def reload_with(c, place):
    c.configure(c.configuration().split("\n[[place]]")[0] + place)
    c.quell("reload", check=0)


def test_a_channel_that_a_reload_closes_begins_nothing_and_still_stops():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=GUILD + 'cancel_words = ["basta"]\nchannels = ["7"]') as c:
        d.see("IDENTIFY")
        d.message("runs")
        until(lambda: processes.marked(m), "the command to run")
        reload_with(c, GUILD + 'cancel_words = ["basta"]\nchannels = ["8"]\n')
        d.message("more", mention=True)
        d.message("basta", mention=False)
        until(lambda: not processes.marked(m), "the command to be gone")
        until(lambda: not c.live(), "everything in the channel to end")
        d.message("stop", mention=True)  # nothing is active, so it is not a turn either
        d.message("directly", direct=True)
        wait_text(d, "You said directly.")  # so that all before it is decided
        reload_with(c, GUILD + 'channels = ["7"]\n')
        d.message("open again")
        wait_text(d, "You said open again.")  # decided after all of the others
        assert not {"more", "stop"} & set(c.said()), c.messages(SCOPE)


def test_a_place_names_the_agents_that_answer_there():
    second = '\n[[agents]]\nname = "second"\nscopes = ["discord"]\nmodel = "script"\n'
    with FakeDiscord() as d, DiscordCluster(d, marker(), more=second + GUILD + 'agents = ["second"]') as c:
        author = {"id": "u", "name": "u"}
        there = c.api("POST", "/v1/messages", {"scope": "discord/9/8", "text": "hi", "author": author})
        elsewhere = c.api("POST", "/v1/messages", {"scope": "discord/10/8", "text": "hi", "author": author})
        for answer, name in ((there, "second"), (elsewhere, "main")):
            assert answer.status == 202, answer.body
            assert c.ended(answer.json["turn"]["id"])["name"] == name
        refused = c.api("POST", "/v1/messages", {"scope": "discord/9/8", "text": "hi", "agent": "main", "author": author})
        assert refused.status == 422 and "does not serve scope" in refused.json["detail"], refused.body


def test_a_place_has_approvers_of_its_own():
    m = marker()
    place = GUILD + 'approvers = ["discord:6"]'
    with FakeDiscord() as d, DiscordCluster(d, m, more=ASKS + place, chat_settings='approvers = ["discord:44"]') as c:
        d.see("IDENTIFY")
        d.message("runs")
        buttons = until(lambda: question(d), "the question")
        assert "you are not an approver" in press(c, d, buttons, "Approve", user="44")
        assert not processes.marked(m)
        assert press(c, d, buttons, "Approve", user="6") == "Approved."
        until(lambda: processes.marked(m), "the command to run")
        c.cancel(scope=SCOPE)


def test_a_turn_that_its_budget_ends_before_a_word_says_so():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more=GUILD + "budget = { max_tokens = 1 }") as c:
        d.see("IDENTIFY")
        d.message("runs")
        wait_text(d, "its budget is used up")
        until(lambda: not c.live(), "the turn to end")
        assert not processes.marked(m)
        [turn] = c.operations(scope=SCOPE, kind="turn")
        assert turn["status"] == "failed" and turn["error"]["code"] == "budget", turn


def test_a_deleted_request_goes_on_if_deletions_are_ignored_and_a_deleted_stop_stays_said():
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m, more='on_delete = "ignore"\non_edit = "stop"') as c:
        d.see("IDENTIFY")
        asked = d.message("runs")
        until(lambda: processes.marked(m), "the command to run")
        d.do("delete", id=asked)
        d.message("waits behind it")
        until(lambda: len(c.operations(scope=SCOPE, status="live", kind="turn")) == 2, "the next message to wait")  # decided after the deletion
        assert processes.marked(m)
        stop = d.message("stop", mention=False)
        until(lambda: not processes.marked(m) and not c.live(), "everything to end")
        d.do("delete", id=stop)
        d.message("and now")
        wait_text(d, "You said and now.")
        until(lambda: not c.live(), "the last turn to end")
        assert not processes.marked(m)


def test_who_waits_reads_how_many_come_first_until_the_turn_begins():
    with FakeDiscord() as d, DiscordCluster(d, marker(), more="show_place = true") as c:
        d.see("IDENTIFY")
        d.message("endless")
        until(lambda: c.live(), "the first turn")
        second = d.message("second")
        third = d.message("third")
        line = until(lambda: [m for m in d.found("MADE") if m["content"] == "In line, behind 2."], "the line")[0]["id"]
        for turn in c.operations(scope=SCOPE, status="live", kind="turn"):
            if turn["status"] == "running":
                c.cancel(operation=turn["id"])
        wait_text(d, "You said third.")
        d.see("REMOVED", message=line)
        for asked in (second, third):
            d.see("UNREACTION", message=asked)


def test_check_config_names_places_that_nobody_reaches():
    with FakeDiscord() as d, DiscordCluster(d, marker(), more=GUILD) as c:
        place = '\n[[place]]\nscope = "slack/T1"\n'
        with open(c.config, "a") as f:
            f.write(place)
        checked = subprocess.run([f"{BIN}/quelld", "--check-config", "--config", c.config], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
        assert "there is no [slack]" in checked.stdout and "discord/9" not in checked.stdout, checked.stdout
