"""Models that take so many requests at once or in a minute: turns wait for them, in turn, visibly, and not for ever."""
import pytest

from harness.model_player import DIALECTS, Player, model
from harness.turns import TurnCluster
from harness.waiting import until


@pytest.fixture(scope="module")
def world():
    player = Player()
    try:
        config = model("narrow", DIALECTS["openai"], player.url, "concurrency = 1")
        config += model("rated", DIALECTS["openai"], player.url, "rate = 1")
        config += model("counted", DIALECTS["openai"], player.url, "rate = 1")
        config += model("impatient", DIALECTS["openai"], player.url, 'concurrency = 1\nqueue_timeout = "1s"')
        with TurnCluster([{"text": "You said {{text}}."}], config) as c:
            yield c, player
    finally:
        player.close()


def test_a_turn_waits_visibly_for_its_model_and_can_be_stopped_there(world):
    c, player = world
    first = c.say("narrow-1", "hold the model", agent="narrow")
    c.wait_event(first, "text_delta")
    stopped, answered = c.say("narrow-2", "wants it, too", agent="narrow"), c.say("narrow-3", "and I", agent="narrow")
    for turn in (stopped, answered):
        assert c.wait_event(turn, "model_queued")[0]["data"]["model"] == "narrow"
        assert c.operation(turn)["turn"]["model_wait"] == "queued"
    done = c.cancel(operation=stopped)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert c.operation(answered)["status"] == "running"
    done = c.cancel(operation=first)
    assert done["status"] == "settled" and done["report"]["proofs"]["connection_closed"] == 1, done
    over = c.ended(answered)
    assert over["status"] == "completed" and over["turn"]["model_wait"] is None, over
    assert c.events(answered, "model_asked")[0]["data"]["waited_ms"] >= 0
    assert not player.of("wants it, too")
    for scope in ("narrow-1", "narrow-2", "narrow-3"):
        c.check_scope(scope)


def test_a_request_beyond_the_rate_waits_visibly_and_a_stop_ends_the_wait(world):
    c, player = world
    assert c.ended(c.say("rated", "first of this minute", agent="rated"))["status"] == "completed"
    turn = c.say("rated", "second of this minute", agent="rated")
    assert c.wait_event(turn, "model_queued")[0]["data"]["model"] == "rated"
    done = c.cancel(operation=turn)
    assert done["status"] == "settled" and done["report"]["proven"], done
    assert not player.of("second of this minute")
    c.check_scope("rated")


def test_a_flood_of_one_guild_lets_the_call_of_another_come_next(world):
    c, player = world
    first = c.say("guilds/loud/c0", "hold the model", agent="narrow")
    c.wait_event(first, "text_delta")
    flood = [c.say(f"guilds/loud/c{i}", f"loud {i}", agent="narrow") for i in range(1, 9)]
    for turn in flood:
        c.wait_event(turn, "model_queued")
    quiet = c.say("guilds/quiet/c", "quiet", agent="narrow")
    c.wait_event(quiet, "model_queued")
    c.cancel(operation=first)
    for turn in (*flood, quiet):
        assert c.ended(turn)["status"] == "completed"
    asked = [r["text"] for r in player.requests if r["text"] == "quiet" or r["text"].startswith("loud ")]
    assert asked.index("quiet") == 0 and sorted(asked[1:]) == sorted(f"loud {i}" for i in range(1, 9)), asked


def test_a_flood_of_one_token_in_many_scopes_lets_the_call_of_another_come_next(world):
    c, player = world
    loud, quiet = (c.api("POST", "/v1/tokens", {"name": name, "role": "operator"}).json["token"] for name in ("loud", "quiet"))
    first = c.say("tokens/0/c", "hold the model", agent="narrow", token=loud)
    c.wait_event(first, "text_delta")
    flood = [c.say(f"tokens-{i}/g/c", f"flood {i}", agent="narrow", token=loud) for i in range(1, 9)]
    for turn in flood:
        c.wait_event(turn, "model_queued")
    other = c.say("elsewhere/g/c", "by the quiet one", agent="narrow", token=quiet)
    assert c.wait_event(other, "model_queued")[0]["data"]["ahead"] == 0
    c.cancel(operation=first)
    for turn in (*flood, other):
        assert c.ended(turn)["status"] == "completed"
    asked = [r["text"] for r in player.requests if r["text"] == "by the quiet one" or r["text"].startswith("flood ")]
    assert asked.index("by the quiet one") == 0 and sorted(asked[1:]) == sorted(f"flood {i}" for i in range(1, 9)), asked


def test_a_turn_that_waits_too_long_for_its_model_fails_and_says_why(world):
    c, player = world
    first = c.say("impatient-1", "hold the model", agent="impatient")
    c.wait_event(first, "text_delta")
    late = c.say("impatient-2", "comes too late", agent="impatient")
    over = c.ended(late)
    assert over["status"] == "failed" and over["error"]["code"] == "model_overloaded", over
    assert "queue_timeout" in over["error"]["message"] and "concurrency" in over["error"]["message"], over
    assert c.wait_event(late, "model_queued") and not player.of("comes too late")
    assert c.operation(first)["status"] == "running"
    c.cancel(operation=first)
    assert c.ended(c.say("impatient-2", "comes in time", agent="impatient"))["status"] == "completed"
    for scope in ("impatient-1", "impatient-2"):
        c.check_scope(scope)


def test_a_restart_keeps_a_turn_waiting_for_its_model(world):
    c, player = world
    turns = [c.say("kept-0", "hold the model", agent="narrow")]
    c.wait_event(turns[0], "text_delta")
    turns.append(c.say("kept-1", "hold it, too", agent="narrow"))
    c.wait_event(turns[1], "model_queued")
    c.restart()

    def waiting():
        for turn in turns:
            assert c.operation(turn)["status"] == "running"
        waits = [c.operation(turn)["turn"]["model_wait"] for turn in turns]
        return turns if waits == [None, "queued"] else turns[::-1] if waits == ["queued", None] else None
    for turn in turns:
        c.wait_event(turn, "turn_resumed")
    inside, behind = until(waiting, "one of them to wait again")
    c.cancel(operation=inside)
    c.wait_event(behind, "model_asked")
    until(lambda: player.open == 1, "the model to be asked")
    done = c.cancel(operation=behind)
    assert done["status"] == "settled" and done["report"]["proven"], done
    for scope in ("kept-0", "kept-1"):
        c.check_scope(scope)


def test_a_reload_gives_nobody_a_second_place(world):
    c, player = world
    first = c.say("again/1", "hold the model", agent="narrow")
    c.wait_event(first, "text_delta")
    c.ended(c.say("again/2", "the one of this minute", agent="counted"))
    c.configure(c.configuration().replace("[[agents]]", "# seen again\n[[agents]]", 1) + '\n[chat]\ncancel_words = ["basta"]\n')
    assert b"chat.cancel_words" in c.quell("reload", check=0).stdout
    waiting = [c.say("again/3", "beside it", agent="narrow"), c.say("again/4", "one too many", agent="counted")]
    for turn in waiting:
        c.wait_event(turn, "model_queued")
    assert not player.of("beside it") and not player.of("one too many")
    for turn in (first, *waiting):
        assert c.cancel(operation=turn)["report"]["proven"]
