"""quelld dies while a chat is being told of a stop: the next life goes on with the same message, and nothing stays "stopping"."""
import os

import pytest

from harness import processes
from harness.discord import FakeDiscord
from harness.slack import CONFIG, ENVIRONMENT, FakeSlack
from harness.turns import TurnCluster
from harness.waiting import until
from test_chat_discord import SCOPE, DiscordCluster
from test_stop_words import PATIENT, SCRIPT, Claiming, frozen, marker, running


def standing(d):
    return [d.standing(m["id"])["content"] for m in d.found("MADE")]


@pytest.mark.parametrize("times", range(3))
def test_the_acknowledgement_of_a_stop_is_one_message_over_a_crash(times):
    with FakeDiscord() as d, Claiming(d, settings=PATIENT) as c:
        d.see("IDENTIFY")
        _, m = running(c, SCOPE)
        with frozen(c):
            d.message("stop", mention=False)
            d.see("MADE")
            c.kill_controller()
            c.start_controller()
            d.see("IDENTIFY", count=2)
            assert processes.marked(m)
        until(lambda: any(t.startswith("🛑 stopped") for t in standing(d)), f"the proof; {standing(d)}")
        assert len(standing(d)) == 1, standing(d)


@pytest.mark.parametrize("until_told", [False, True])
def test_what_a_crash_behind_a_stop_leaves_in_a_chat_is_put_right(until_told):
    m = marker()
    with FakeDiscord() as d, DiscordCluster(d, m) as c:
        d.see("IDENTIFY")
        d.message("runs")
        until(lambda: processes.marked(m), "the tool to run")
        d.message("stop", mention=False)
        until(lambda: c.api("GET", "/v1/cancels").json["cancels"] if not until_told else "stop" in "".join(standing(d)), "the stop")
        c.kill_controller()
        c.start_controller()
        until(lambda: not c.operations(scope=SCOPE, status="live"), "all to be over")
        until(lambda: any("stopped" in t for t in standing(d)) and not any("⏳" in t or "stopping" in t for t in standing(d)),
              lambda: f"the end to be told, and no message to say that it goes on; {standing(d)}")


class SlackCluster(TurnCluster):
    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, **ENVIRONMENT}, **options)


def test_a_service_without_keys_is_not_told_twice_that_a_stop_is_pending():
    with FakeSlack() as s, SlackCluster(SCRIPT, config=CONFIG.format(url=s.url), settings=PATIENT) as c:
        until(lambda: s.calls("auth.test"), "the introduction")
        running(c, "slack/T1/C1")
        with frozen(c):
            s.say(c, "stop")
            until(lambda: [x for x in s.shown() if "stopping" in x["text"]], "the first word")
            c.kill_controller()
            c.start_controller()
        until(lambda: any("stopped" in x["text"] for x in s.shown()), "the proof")
        assert sum("stopping" in text for x in s.shown() for text in x["texts"]) == 1, [x["texts"] for x in s.shown()]
