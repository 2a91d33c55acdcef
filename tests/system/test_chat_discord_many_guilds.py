"""Discord: a bot of many guilds serves the last of them like the first, and a stop in one harms no other."""
from harness.cluster import marker
from harness.discord import FakeDiscord
from harness.waiting import until
from test_chat_discord import DiscordCluster

GUILDS = [str(10_000 + i) for i in range(300)]


def place(guild):
    return {"guild_id": guild, "channel_id": str(int(guild) + 50_000)}


def scope(guild):
    return f"discord/{guild}/{place(guild)['channel_id']}"


def test_three_hundred_guilds_are_answered_and_each_is_stopped_alone():
    with FakeDiscord() as discord, DiscordCluster(discord, marker(), admitted=f'guilds = {GUILDS}\nusers = ["5"]'.replace("'", '"')) as cluster:
        discord.see("IDENTIFY")
        for guild in GUILDS:
            discord.message("hi", **place(guild))
        done = lambda: {o["scope"] for o in cluster.operations(scope="discord", kind="turn", status="completed")}
        until(lambda: len(done()) == len(GUILDS), "every guild to be answered", seconds=300)
        assert done() == {scope(guild) for guild in GUILDS}
        first, last = GUILDS[0], GUILDS[-1]
        for guild in (first, last):
            discord.message("endless", **place(guild))
        live = lambda: {o["scope"] for o in cluster.operations(scope="discord", kind="turn", status="live")}
        until(lambda: live() == {scope(first), scope(last)}, "two endless answers")
        discord.message("stop", **place(last))
        until(lambda: live() == {scope(first)}, "the stop in the last guild, which leaves the first alone")
        discord.message("stop", **place(first))
        until(lambda: not live(), "the stop in the first guild")
