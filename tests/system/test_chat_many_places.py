"""Telegram and Slack: hundreds of chats that speak at once are each answered, also if quelld dies in the middle; none stays silent."""
import threading

from harness.slack import FakeSlack
from harness.telegram import FakeTelegram
from harness.waiting import until
from test_chat_slack import SlackCluster
from test_chat_telegram import TelegramCluster

CHATS = 300


def test_each_of_many_telegram_chats_is_answered_although_quelld_dies_in_the_middle():
    with FakeTelegram() as telegram, TelegramCluster(telegram.url) as c:
        chats = range(1000, 1000 + CHATS)
        for chat in chats:
            telegram.say(f"hi from {chat}", chat=chat, user={"id": chat, "is_bot": False, "first_name": "Mia"})
        until(lambda: len(telegram.messages) > CHATS // 10, "some answers", 120)
        c.restart()
        # A post that was under way when it died may have arrived, and is not repeated: "[…]" stands for it (docs/decisions/208).
        told = lambda chat: {f"You said hi from {chat}.", "[…]"} & {m["text"] for m in telegram.shown(chat)}
        silent = lambda: [chat for chat in chats if not told(chat)]
        until(lambda: not silent(), lambda: f"all chats to be answered; silent are {silent()}", 240)
        turns = c.operations(scope="telegram", kind="turn")
        assert len(turns) == CHATS and {t["scope"] for t in turns} == {f"telegram/{chat}" for chat in chats}
        until(telegram.confirmed, "Telegram to forget what was taken")
        assert not telegram.wrong


def test_each_of_many_slack_channels_is_answered_although_quelld_dies_in_the_middle():
    with FakeSlack() as slack, SlackCluster(slack) as c:
        until(lambda: slack.calls("auth.test"), "quelld to introduce itself")
        places = [f"D{i}" for i in range(CHATS)]

        def speak(some):
            for place in some:
                slack.say(c, f"hi from {place}", channel=place)
        speakers = [threading.Thread(target=speak, args=(places[i::6],)) for i in range(6)]
        for one in speakers:
            one.start()
        for one in speakers:
            one.join()
        until(lambda: len(slack.messages) > CHATS // 10, "some answers", 120)
        c.restart()
        # Slack is asked for a post that was under way, so each reply is there whole, perhaps twice (docs/decisions/208).
        silent = lambda: [place for place in places if f"You said hi from {place}." not in [m["text"] for m in slack.shown(place)]]
        until(lambda: not silent(), lambda: f"all channels to be answered; silent are {silent()}", 240)
        turns = c.operations(scope="slack", kind="turn")
        assert len(turns) == CHATS and {t["scope"] for t in turns} == {f"slack/T1/{place}" for place in places}
        assert not slack.wrong
