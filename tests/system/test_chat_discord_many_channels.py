"""Discord: a bot in 500 servers with 5,000 channels answers in each of them, and reads what was said there while quelld was away."""
import json

import pytest

from harness.cluster import marker
from harness.discord import FakeDiscord
from harness.waiting import until
from test_chat_discord import DiscordCluster

PLACES = [(str(10_000 + i % 500), str(100_000 + i)) for i in range(5000)]
MOST_AT_ONCE = 4  # integrations/chat/discord/history_queue.hpp


def scope(place):
    return "discord/" + "/".join(place)


def lines_of(d, word):
    return [json.loads(line[len(word) + 1:]) for line in d.all(word + " ")]


@pytest.fixture
def world():
    with FakeDiscord() as d, DiscordCluster(d, marker(), admitted='guilds = ["*"]') as c:
        d.see("IDENTIFY")
        yield c, d


def test_each_of_five_thousand_channels_is_answered(world):
    c, d = world
    bot = {"id": "1000", "username": "clanky", "discriminator": "0", "avatar": None, "bot": True}
    d.do("crowd", places=PLACES, message={"content": "<@1000> hi", "mentions": [bot]})
    until(lambda: len(d.all("MADE ")) >= len(PLACES), "each of them to be answered", seconds=400)
    made = lines_of(d, "MADE")
    assert {m["channel"] for m in made} == {channel for _, channel in PLACES}
    assert {m["content"] for m in made} == {"You said hi."} and len(made) == len(PLACES)
    turns = c.operations(scope="discord", kind="turn")
    assert {o["scope"] for o in turns} == {scope(p) for p in PLACES} and {o["status"] for o in turns} == {"completed"}


def test_what_was_said_in_any_of_five_thousand_channels_while_quelld_was_away_is_answered(world):
    c, d = world
    d.do("crowd", places=PLACES, message={"content": "nothing that concerns the bot"})
    until(lambda: len(c.remembers("discord-heard").get("heard", {})) == len(PLACES), "all channels to be remembered", seconds=200)
    c.kill_controller()
    asked = PLACES[::250]
    for guild, channel in asked:
        d.message("hi", guild_id=guild, channel_id=channel)
    c.start_controller()
    d.see("IDENTIFY", count=2)
    # Somebody who speaks does not wait for the 5,000 others.
    d.message("hurry", guild_id=PLACES[1][0], channel_id=PLACES[1][1])
    wanted = {scope(p) for p in (*asked, PLACES[1])}
    done = lambda: {o["scope"] for o in c.operations(scope="discord", kind="turn", status="completed")}
    until(lambda: done() == wanted, "all of them to be answered", seconds=300)
    read = lambda: {f["channel"] for f in lines_of(d, "HISTORY")}
    until(lambda: read() == {channel for _, channel in PLACES}, "all channels to have been read", seconds=300)
    assert max(f["open"] for f in lines_of(d, "HISTORY")) <= MOST_AT_ONCE
