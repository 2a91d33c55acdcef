"""Files of chat messages: fetched from the service, shown to the model by each provider's rules, and never in the way of a stop.
And answers that are less than was wanted, which say so there."""
import json
import os
import threading
from contextlib import contextmanager

import pytest

from harness import discord as played_discord
from harness import slack as played_slack
from harness import telegram as played_telegram
from harness.cluster import marker
from harness.file_service import FileService
from harness.looking import LookingPlayer, encoded, shown_images
from harness.model_player import DIALECTS
from harness.turns import TurnCluster
from harness.waiting import until

PNG = b"\x89PNG\r\n\x1a\n" + b"a picture from a chat"
JPEG = b"\xff\xd8\xff\xe0" + b"a photo from a chat"
every = pytest.mark.parametrize("dialect", DIALECTS)


def models(url):
    """An agent for each dialect, which answers in the channel with its name; elsewhere the one for `openai` does."""
    def places(name):
        return json.dumps(["slack/T1/C" + name.upper()] + (["telegram", "discord"] if name == "openai" else []))
    return "".join(f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m"\nbase_url = "{url}"\n'
                   f'[[agents]]\nname = "{name}"\nmodel = "{name}"\ntools = ["session_status"]\nscopes = {places(name)}\n'
                   for name, kind in DIALECTS.items())


class ChatCluster(TurnCluster):
    def __init__(self, player, section, **options):
        super().__init__([{"text": "Yes."}], config='[chat]\nacknowledgement_model = "none"\n' + models(player.url) + section,
                         agent='scopes = ["main"]', workers=0, **options)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, **played_slack.ENVIRONMENT, **played_telegram.ENVIRONMENT}, **options)

    def turns(self, scope):
        return self.operations(scope=scope, kind="turn")


@contextmanager
def played(settings=()):
    player = LookingPlayer()
    try:
        with FileService() as files, played_slack.FakeSlack() as slack:
            section = played_slack.CONFIG.format(url=slack.url) + f'file_urls = ["{files.url}"]\n'
            with ChatCluster(player, section, settings=list(settings)) as c:
                until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
                yield c, slack, files, player
    finally:
        player.close()


@pytest.fixture(scope="module")
def world():
    with played(["limits.blob_bytes=64KiB"]) as parts:
        yield parts


def file(url, name="cat.png", type="image/png", size=len(PNG)):
    return {"id": "F1", "name": name, "mimetype": type, "url_private": url, **({"size": size} if size is not None else {})}


def say(c, slack, text, *files, channel="COPENAI", **more):
    """The scope of the message, which opens a thread."""
    ts = slack.say(c, "<@UBOT> " + text, channel=channel, files=list(files), subtype="file_share", **more)
    return f"slack/T1/{channel}/{more.get('thread', ts)}"


def one_turn(c, scope, status="completed"):
    [turn] = until(lambda: [t for t in c.turns(scope) if t["status"] == status], f"a turn in {scope} to be {status}")
    return turn


@every
def test_a_picture_in_a_chat_is_shown_to_the_model_and_in_later_turns(world, dialect):
    c, slack, service, player = world
    picture = PNG + dialect.encode()
    path = f"/files-pri/{dialect}/cat.png"
    scope = say(c, slack, f"what is this {dialect}", file(service.put(path, picture)), channel="C" + dialect.upper())
    one_turn(c, scope)
    [body] = player.having(picture)
    assert shown_images(dialect, body) == [encoded(picture)]
    assert [h["authorization"] for h in service.asks(path)] == ["Bearer " + played_slack.TOKEN]
    [shown] = c.messages(scope)[0]["attachments"]
    assert (shown["name"], shown["type"]) == ("cat.png", "image/png") and "[attached: cat.png" in c.messages(scope)[0]["text"]
    assert c.api("GET", "/v1/blobs/" + shown["blob"]).body == picture
    say(c, slack, f"and its colour {dialect}", channel="C" + dialect.upper(), thread=scope.split("/")[-1])
    until(lambda: len(player.having(picture)) == 2, "the picture in the second request")
    until(lambda: len([t for t in c.turns(scope) if t["status"] == "completed"]) == 2, "the second turn")
    c.check_scope(scope)


@every
def test_a_stop_while_a_file_is_fetched_ends_the_fetch_and_the_model_is_never_asked(world, dialect):
    c, slack, service, player = world
    channel, path = "C" + dialect.upper(), f"/files-pri/held-{dialect}/cat.png"
    held = threading.Event()
    scope = say(c, slack, f"never asked {dialect}", file(service.put(path, PNG, held=held)), channel=channel)
    until(lambda: service.asks(path), "the fetch")
    slack.say(c, "<@UBOT> stop", channel=channel, thread=scope.split("/")[-1])
    one_turn(c, scope, "cancelled")
    until(lambda: path in service.hung_up, "the fetch to end")
    say(c, slack, f"go on {dialect}", channel=channel, thread=scope.split("/")[-1])
    until(lambda: player.asked(f"go on {dialect}"), "the next turn's request")
    assert not player.asked(f"never asked {dialect}")
    assert "its request was stopped before it was fetched" in str(player.asked(f"go on {dialect}")[-1])
    one_turn(c, scope)
    c.check_scope(scope)


def test_a_message_that_waits_with_its_file_is_stopped_with_its_fetch(world):
    c, slack, service, player = world
    first, second = threading.Event(), threading.Event()
    scope = say(c, slack, "the first waits", file(service.put("/w/1.png", PNG, held=first)))
    thread = scope.split("/")[-1]
    until(lambda: service.asks("/w/1.png"), "the first fetch")
    say(c, slack, "the second waits", file(service.put("/w/2.png", PNG, held=second)), thread=thread)
    until(lambda: service.asks("/w/2.png"), "the second fetch")
    slack.say(c, "<@UBOT> stop", channel="COPENAI", thread=thread)
    until(lambda: [t["status"] for t in c.turns(scope)] == ["cancelled"] * 2, "both turns to be cancelled")
    until(lambda: {"/w/1.png", "/w/2.png"} <= set(service.hung_up), "both fetches to end")
    assert not player.asked("the first waits") and not player.asked("the second waits")


def test_a_slow_service_does_not_hold_up_the_files_of_other_places():
    """Slack's files are held, more of them than there are places; Telegram's photo is shown meanwhile."""
    player, held = LookingPlayer(), threading.Event()
    try:
        with FileService() as service, played_slack.FakeSlack() as slack, played_telegram.FakeTelegram() as telegram:
            section = (played_slack.CONFIG.format(url=slack.url) + f'file_urls = ["{service.url}"]\n' + played_telegram.CONFIG.format(url=telegram.url))
            with ChatCluster(player, section) as c:
                until(lambda: slack.calls("auth.test") and telegram.polls, "quelld to introduce itself")
                channels = ["C" + name.upper() for name in DIALECTS]
                scopes = [say(c, slack, f"slow {i}", file(service.put(f"/slow/{i}.png", PNG + b"%d" % i, held=held)), channel=channels[i % len(channels)])
                          for i in range(20)]
                until(lambda: len(service.asked) == 8, "half of the places to be taken")
                telegram.files["large"] = ("photos/file_1.jpg", JPEG)
                telegram.say("", caption="a photo meanwhile", photo=[{"file_id": "large", "file_size": len(JPEG)}])
                [body] = until(lambda: player.asked("a photo meanwhile"), "the request with the photo")
                assert shown_images("openai", body) == [encoded(JPEG)]
                assert len(service.asked) == 8 and not player.asked("slow ")
                held.set()
                for scope in scopes:
                    one_turn(c, scope)
                assert len(service.asked) == 20
    finally:
        player.close()


def test_a_slow_file_does_not_change_the_order_of_messages(world):
    c, slack, service, player = world
    held = threading.Event()
    picture = PNG + b" slow"
    scope = say(c, slack, "slow one", file(service.put("/slow.png", picture, held=held)))
    until(lambda: service.asks("/slow.png"), "the fetch")
    say(c, slack, "quick one", thread=scope.split("/")[-1])
    until(lambda: len(c.turns(scope)) == 2, "the second message to be taken")
    assert not player.asked("slow one") and not player.asked("quick one")
    held.set()
    until(lambda: player.asked("quick one"), "the second request")
    until(lambda: {t["status"] for t in c.turns(scope)} == {"completed"}, "both turns")
    order = [word for r in player.requests for word in ("slow one", "quick one") if word in r["text"]]
    assert order == ["slow one", "quick one"]
    assert len(player.having(picture)) == 2
    c.check_scope(scope)


def test_what_cannot_be_read_is_told_to_the_model_and_the_person_and_the_message_stays(world):
    c, slack, service, player = world
    with FileService() as elsewhere:
        target = elsewhere.put("/secret.png", PNG)
        cases = {
            "gone": (file(service.url + "/nowhere.png"), "status 404"),
            "moved": (file(service.put("/moved.png", b"", status=302, Location=target)), "redirect, which is not followed"),
            "large": (file(service.put("/large.png", PNG + bytes(70_000)), size=None), "larger than 65536 bytes"),
            "declared": (file(service.put("/declared.png", PNG), size=70_000), "at most 65536 are read"),
            "page": (file(service.put("/page.png", b"<html>sign in</html>")), "its content is not image/png"),
            "film": (file(service.put("/film.mp4", b"film"), "film.mp4", "video/mp4"), "files of type video/mp4 are not read"),
        }
        for word, (attached, why) in cases.items():
            scope = say(c, slack, f"look, {word}", attached)
            one_turn(c, scope)
            [body] = player.asked(f"look, {word}")
            assert why in str(body) and f"[attached: {attached['name']}" in str(body), (word, body)
            notes = slack.see(lambda all: any(why in m["text"] for m in all), f"a note about {word}", channel="COPENAI", thread=scope.split("/")[-1])
            assert sum(why in m["text"] for m in notes) == 1, notes
        assert not service.asks("/declared.png") and not service.asks("/film.mp4")
        scope = say(c, slack, "look, foreign", file(target))  # not of this service: it is named, and nothing is fetched
        one_turn(c, scope)
        [body] = player.asked("look, foreign")
        assert target in str(body) and not elsewhere.asked
        scope = say(c, slack, "look, many", *(file(service.put(f"/{i}.png", PNG + b"%d" % i)) for i in range(11)))
        one_turn(c, scope)
        [body] = player.asked("look, many")
        assert len(shown_images("openai", body)) == 10 and "at most 10 files" in str(body)


def test_after_a_crash_while_a_file_is_fetched_the_message_is_answered_without_it():
    with played() as (c, slack, service, player):
        held = threading.Event()
        scope = say(c, slack, "look before the crash", file(service.put("/crash.png", PNG, held=held)))
        until(lambda: service.asks("/crash.png"), "the fetch")
        c.restart()
        one_turn(c, scope)
        body = player.asked("look before the crash")[-1]
        assert "it was not fetched, or is not kept any more" in str(body) and not player.having(PNG)
        assert "[attached: cat.png" in c.messages(scope)[0]["text"]
        c.check_scope(scope)


def test_files_are_not_fetched_where_the_configuration_says_so():
    player = LookingPlayer()
    try:
        with FileService() as files, played_slack.FakeSlack() as slack:
            with ChatCluster(player, played_slack.CONFIG.format(url=slack.url) + "file_urls = []\n") as c:
                until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
                one_turn(c, say(c, slack, "only named", file(files.put("/cat.png", PNG))))
                assert "[attached: cat.png" in str(player.asked("only named")[0]) and not files.asked
    finally:
        player.close()


def test_telegram_is_asked_for_the_place_of_a_photo():
    player = LookingPlayer()
    try:
        with played_telegram.FakeTelegram() as telegram, ChatCluster(player, played_telegram.CONFIG.format(url=telegram.url)):
            until(lambda: telegram.polls, "quelld to ask for updates")
            telegram.files["large"] = ("photos/file_1.jpg", JPEG)
            telegram.say("", caption="a photo", photo=[{"file_id": "small", "file_size": 1}, {"file_id": "large", "file_size": len(JPEG)}])
            [body] = until(lambda: player.asked("a photo"), "the request")
            assert shown_images("openai", body) == [encoded(JPEG)]
            telegram.files["evil"] = ("../../secrets", JPEG)
            for text, id in (("no such file", "gone"), ("an evil path", "evil")):
                telegram.say("", caption=text, document={"file_id": id, "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 9})
                [body] = until(lambda: player.asked(text), "the request")
                assert "it could not be fetched" in str(body), body
            telegram.see(lambda all: sum("I could not look at a.pdf" in m["text"] for m in all) == 2, "notes about what was not fetched")
            assert not any(played_telegram.TOKEN in m["text"] for m in telegram.shown())
    finally:
        player.close()


def test_discord_serves_pictures_without_the_bots_token():
    player, m = LookingPlayer(), marker()
    try:
        with FileService() as files, played_discord.FakeDiscord() as d:
            section = (f'[discord]\nguilds = ["9"]\nusers = ["5"]\ntoken_file = "WORKSPACE/discord.token"\npublic_key = "{d.key}"\n'
                       f'api_url = "{d.api}"\nfile_urls = ["{files.url}"]\n')

            class DiscordCluster(ChatCluster):
                def start_controller(self, flags=(), **options):
                    with open(os.path.join(self.workspace, "discord.token"), "w") as f:
                        f.write(played_discord.TOKENS[0] + "\n")
                    return super().start_controller(flags, **options)

            with DiscordCluster(player, section) as c:
                d.see("IDENTIFY")
                url = files.put("/attachments/1/cat.png?ex=1&hm=2", PNG)
                d.message(f"what is it {m}", attachments=[{"id": "1", "filename": "cat.png", "content_type": "image/png", "size": len(PNG), "url": url}])
                [body] = until(lambda: player.asked(f"what is it {m}"), "the request")
                assert shown_images("openai", body) == [encoded(PNG)]
                assert all("authorization" not in headers for _, headers in files.asked) and len(files.asked) == 1
                one_turn(c, "discord/9/7")
    finally:
        player.close()


@every
@pytest.mark.parametrize("text", ["length", "filter", "wordless filter"])
def test_an_answer_that_is_cut_says_so_in_its_thread(world, dialect, text):
    c, slack, _, _ = world
    channel = "C" + dialect.upper()
    thread = slack.say(c, f"<@UBOT> {text} {dialect}", channel=channel)
    why = "limit of one answer" if text == "length" else "refused to answer" if dialect == "anthropic" else "content filter"
    shown = slack.see(lambda all: any(why in m["text"] for m in all), "the reason in the thread", channel=channel, thread=thread)
    words = [m["text"] for m in shown if m.get("user") != "U1" and "⚠" not in m["text"]]
    assert words == ([] if "wordless" in text else ["All right."]), shown
