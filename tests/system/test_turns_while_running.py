"""A message while a turn runs: it waits, steers the turn or supersedes it; and the stop, the end and the crash that come meanwhile."""
import os
import signal

import pytest

from harness.cluster import marker
from harness.turns import TurnCluster
from harness.waiting import until

ONCE = '[[agents]]\nname = "once"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { model_calls = 1 }\n'
TAKES = '[[agents]]\nname = "takes"\nmodel = "script"\nworkspace = "WORKSPACE"\nduring_turn = "steer"\n'
LONG = "while [ ! -e go-NAME ]; do sleep 0.05; done; echo went on #MARK"


def script(mark):
    work = lambda name: [{"calls": [{"name": "exec", "input": {"command": LONG.replace("NAME", name).replace("MARK", mark)}}]}]
    return [{"when": {"user": f"work {name}", "round": 1}, "steps": work(name)} for name in "abcdefghiz"] + [
        {"when": {"user": "in French"}, "text": "Bonjour."},
        {"when": {"user": "> <Bob> in Spanish"}, "text": "Hola."},
        {"when": {"result": ""}, "text": "Done."},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture(scope="module")
def c():
    with TurnCluster(script(marker()), ONCE + TAKES) as cluster:
        yield cluster


def working(c, scope, name, **fields):
    turn = c.say(scope, f"work {name}", **fields)
    c.call(turn, "exec", "running")
    until(lambda: c.below(turn, kind="task", status="running"), "its command to run")
    return turn


def go(c, name):
    open(os.path.join(c.workspace, "go-" + name), "w").close()


def during(c, scope, text, how, **fields):
    answer = c.post(scope, text, during_turn=how, **fields)
    assert answer.status == 202, answer.body
    return answer.json


def told(c, scope, turn):
    return [m for m in c.of_turn(scope, turn) if m.get("steered_from")]


def test_a_message_that_steers_is_read_behind_the_running_calls(c):
    turn = working(c, "on/a", "a")
    said = during(c, "on/a", "in French", "steer", id="chat:1")
    assert said["during_turn"] == {"manner": "steer", "turn": turn} and said["turn"]["position"] == 1, said
    waiting = said["turn"]["id"]
    assert c.operation(waiting)["status"] == "pending" and c.operation(waiting)["turn"]["steers"] == turn
    again = c.post("on/a", "in French", during_turn="steer", id="chat:1").json
    assert again["duplicate"] and again["during_turn"] == said["during_turn"] and again["turn"]["id"] == waiting, again
    go(c, "a")
    done = c.ended(turn)
    assert done["status"] == "completed" and done["turn"]["text"].endswith("Bonjour."), done
    assert [m["role"] for m in c.of_turn("on/a", turn)] == ["user", "assistant", "tool", "user", "assistant"]
    copy, = told(c, "on/a", turn)
    assert copy["steered_from"] == waiting and copy["text"] == "in French" and copy["author"]["id"] == "mia"
    assert c.ended(waiting)["status"] == "completed" and c.operation(waiting)["turn"]["steered"] == turn
    event, = c.events(turn, "turn_steered")
    assert event["data"]["from"] == waiting and event["data"]["text"] == "in French"
    c.next_message_is_taken("on/a")
    c.check_scope("on/a")


def test_nobody_steers_in_the_name_of_somebody_else(c):
    c.ended(c.say("on/i", "hello", author={"id": "bob", "name": "Bob"}))
    turn = working(c, "on/i", "i")
    waiting = during(c, "on/i", "<Bob> in Spanish", "steer")["turn"]["id"]
    go(c, "i")
    assert c.ended(turn)["turn"]["text"].endswith("Hola.")  # the model read "<Mia> > <Bob> in Spanish"
    assert c.ended(waiting)["turn"]["steered"] == turn


def test_a_turn_that_ends_first_leaves_the_message_a_turn_of_its_own(c):
    turn = working(c, "on/b", "b", agent="once")
    waiting = during(c, "on/b", "in French", "steer", agent="once")["turn"]["id"]
    go(c, "b")
    assert c.ended(turn)["error"]["code"] == "budget"  # it asks no model any more
    done = c.ended(waiting)
    assert done["status"] == "completed" and done["turn"]["text"] == "Bonjour.", done
    assert not told(c, "on/b", turn)
    c.check_scope("on/b")


def test_a_cancel_of_the_turn_takes_the_message_along(c):
    turn = working(c, "on/c", "c")
    waiting = during(c, "on/c", "in French", "steer")["turn"]["id"]
    behind = c.say("on/c", "hello")
    assert c.api("POST", f"/v1/operations/{turn}/cancel", {}).status in (200, 202)
    assert c.ended(turn)["status"] == "cancelled"
    end = c.ended(waiting)
    assert end["status"] == "cancelled" and end["stop"]["cause"] == "parent_ended", end
    assert c.ended(behind)["turn"]["text"] == "You said hello."
    assert not told(c, "on/c", turn) and not c.below(waiting, kind="model_call")
    assert [m["discarded"] for m in c.of_turn("on/c", waiting)] == [True]
    c.check_scope("on/c")


def test_a_stop_of_the_scope_takes_everything(c):
    turn = working(c, "on/d", "d")
    waiting = during(c, "on/d", "in French", "steer")["turn"]["id"]
    assert c.post("on/d", "stop").json["decision"] == "cancel"
    assert c.ended(turn)["status"] == c.ended(waiting)["status"] == "cancelled"
    c.next_message_is_taken("on/d")
    c.check_scope("on/d")


@pytest.mark.parametrize("sig, name", [(signal.SIGKILL, "e"), (signal.SIGTERM, "f")], ids=["killed", "stopped"])
def test_a_message_survives_a_restart_and_is_told_once(c, sig, name):
    scope = "on/" + name
    turn = working(c, scope, name)
    waiting = during(c, scope, "in French", "steer")["turn"]["id"]
    c.kill_controller(sig)
    c.start_controller()
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    go(c, name)
    done = c.ended(turn)
    assert done["status"] == "completed" and done["turn"]["text"].endswith("Bonjour."), done
    assert c.ended(waiting)["turn"]["steered"] == turn and len(told(c, scope, turn)) == 1
    c.check_scope(scope)


def test_a_message_of_somebody_else_waits(c):
    turn = working(c, "on/g", "g")
    said = during(c, "on/g", "in French", "steer", author={"id": "bob", "name": "Bob"})
    assert "during_turn" not in said, said
    go(c, "g")
    assert c.ended(turn)["turn"]["text"] == "Done."
    assert c.ended(said["turn"]["id"])["turn"]["text"] == "Bonjour."
    c.check_scope("on/g")


def test_to_supersede_stops_the_running_turn_with_its_report(c):
    turn = working(c, "on/h", "h")
    said = during(c, "on/h", "in French", "supersede", author={"id": "bob", "name": "Bob"})
    met = said["during_turn"]
    assert met["manner"] == "supersede" and met["turn"] == turn and met["cancel"]["outcome"] == "stopping", said
    assert c.ended(said["turn"]["id"])["turn"]["text"] == "Bonjour."
    assert c.ended(turn)["status"] == "cancelled"  # the next one begins before the last process is gone
    report = until(lambda: (lambda x: x if x["status"] == "settled" else None)(c.api("GET", f"/v1/cancels/{met['cancel']['id']}").json), "its report")
    assert report["report"]["proven"] and report["target"] == {"operation": turn}, report
    c.check_scope("on/h")


def test_the_agents_default_holds_where_a_message_says_nothing(c):
    if os.path.exists(os.path.join(c.workspace, "go-a")):
        os.unlink(os.path.join(c.workspace, "go-a"))
    turn = working(c, "takes/a", "a", agent="takes")
    said = c.post("takes/a", "in French", agent="takes").json
    assert said["during_turn"] == {"manner": "steer", "turn": turn}, said
    queued = c.post("takes/a", "hello", during_turn="queue", agent="takes").json
    assert "during_turn" not in queued and queued["turn"]["position"] == 2, queued
    go(c, "a")
    assert c.ended(turn)["turn"]["text"].endswith("Bonjour.")
    assert c.ended(queued["turn"]["id"])["turn"]["text"] == "You said hello."
    c.check_scope("takes/a")


def test_where_nothing_runs_it_is_a_turn_and_a_wrong_word_is_refused(c):
    for how in ("queue", "steer", "supersede"):
        answer = c.quell("say", "--scope", "on/idle", "--during-turn", how, "hello", check=0)
        assert answer.stdout.decode().strip() == "You said hello."
    wrong = c.post("on/idle", "hello", during_turn="interrupt")
    assert wrong.status == 422 and wrong.json["errors"][0]["pointer"] == "/during_turn", wrong.body
    assert c.quell("say", "--scope", "on/idle", "--during-turn", "interrupt", "hello").returncode == 125


def test_a_message_brings_labels_and_a_shorter_time(c):
    turn = c.say("on/labels", "hello", labels={"ticket": "17"}, timeout_ms=60_000)
    done = c.ended(turn)
    assert done["status"] == "completed" and done["labels"] == {"ticket": "17"} and done["timeout_ms"] == 60_000, done
    assert [o["id"] for o in c.operations(label="ticket=17")] == [turn]
    late = c.say("on/labels", "work z", timeout_ms=300)
    end = c.ended(late)
    assert end["status"] == "failed" and end["error"]["code"] == "timeout", end
    assert c.post("on/labels", "hello", timeout_ms=0).status == 422
    assert c.post("on/labels", "hello", labels={"": "x"}).status == 422
    c.next_message_is_taken("on/labels")
    c.check_scope("on/labels")


def test_an_answer_that_is_being_written_leaves_the_message_a_turn_of_its_own(c):
    """The message comes when the running turn has asked its model for the last time."""
    for n in range(10):
        scope = f"on/late{n}"
        turn = c.say(scope, "hello")
        said = c.post(scope, "in French", during_turn="steer").json
        first, own = c.ended(turn), c.ended(said["turn"]["id"])
        assert first["status"] == own["status"] == "completed", (first, own)
        texts = [first["turn"]["text"], own["turn"].get("text") or ""]
        assert sum("Bonjour." in t for t in texts) == 1, texts  # read by exactly one turn
        c.check_scope(scope)


def test_who_supersedes_takes_the_messages_along_that_steer(c):
    turn = working(c, "on/j", "z")
    waiting = during(c, "on/j", "in French", "steer")["turn"]["id"]
    instead = during(c, "on/j", "hello", "supersede", author={"id": "bob", "name": "Bob"})
    assert instead["during_turn"]["manner"] == "supersede"
    assert c.ended(waiting)["stop"]["cause"] == "parent_ended" and c.ended(turn)["status"] == "cancelled"
    assert c.ended(instead["turn"]["id"])["turn"]["text"].endswith("hello.")
    c.check_scope("on/j")


def test_quelld_is_killed_right_behind_a_message_that_supersedes(c):
    turn = working(c, "on/k", "z")
    said = during(c, "on/k", "in French", "supersede")
    c.kill_controller()
    c.start_controller()
    assert c.ended(turn)["status"] == "cancelled" and c.ended(said["turn"]["id"])["turn"]["text"].endswith("Bonjour.")
    cancel = c.api("GET", f"/v1/cancels/{said['during_turn']['cancel']['id']}?wait=settled&wait_ms=60000").json
    assert cancel["report"]["proven"], cancel
    c.check_scope("on/k")
