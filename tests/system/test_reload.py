"""A new configuration without a restart: all of it or nothing, by SIGHUP and by `quell reload`, while turns run and are stopped."""
import json
import os
import signal
import threading

import pytest

from harness.model_player import Player
from harness.processes import read
from harness.turns import TurnCluster
from harness.waiting import until

MODEL = '[[models]]\nname = "played"\nprovider = "openai"\nmodel = "m"\nbase_url = "URL"\n'


def agent(name, instructions):
    return f'[[agents]]\nname = "{name}"\nmodel = "played"\nworkspace = "WORKSPACE"\ntools = ["exec"]\ninstructions = "{instructions}"\n'


FIRST = MODEL + agent("worker", "Be brief.") + agent("helper", "Help.")


@pytest.fixture()
def world():
    player = Player()
    try:
        with TurnCluster([{"text": "You said {{text}}."}], FIRST.replace("URL", player.url)) as c:
            c.first = c.configuration()
            yield c, player
    finally:
        player.close()


def reload(c):
    return json.loads(c.quell("reload", "--json", check=0).stdout)["changed"]


def system_of(request):
    return next(m["content"] for m in request["body"]["messages"] if m["role"] in ("system", "developer"))


def answered(c, player, scope, text, **fields):
    turn = c.say(scope, text, agent="worker", **fields)
    assert c.ended(turn)["status"] == "completed", c.operation(turn)
    return system_of(player.of(text)[-1])


def test_what_begins_after_a_reload_has_the_new_settings_and_what_runs_keeps_its_own(world):
    c, player = world
    assert "Be brief." in answered(c, player, "chat/a", "one")
    running = c.say("chat/b", "hold this", agent="worker")
    until(lambda: player.of("hold this"), "the model to be asked")
    c.configure(c.first.replace("Be brief.", "Be long."))
    assert reload(c) == ["agents.worker.instructions"]
    assert reload(c) == []
    assert "Be long." in answered(c, player, "chat/a", "two")
    assert "Be long." in c.api("GET", "/v1/config").body.decode()
    assert c.operation(running)["status"] == "running"
    stop = c.cancel(scope="chat/b")
    assert c.ended(running)["status"] == "cancelled"
    assert stop
    out = c.quell("reload", check=0).stdout.decode()
    assert out == "reloaded: nothing has changed\n"
    audit = c.api("GET", "/v1/audit?limit=100").json
    assert any("agents.worker.instructions" in json.dumps(e) for e in audit["audit"]), audit


def test_a_wrong_configuration_changes_nothing_and_says_where_it_is_wrong(world):
    c, player = world
    c.configure(c.first.replace("Be brief.", "Be long.") + '\n[[agents]]\nname = "x"\nmodel = "nobody"\n')
    done = c.quell("reload")
    assert done.returncode != 0 and b"nobody" in done.stderr and b"quelld.toml" in done.stderr, done.stderr
    answer = c.api("POST", "/v1/config/reload", {})
    assert (answer.status, answer.json["code"]) == (422, "invalid_field"), answer.body
    assert "Be brief." in answered(c, player, "chat/a", "one")


def test_settings_that_need_a_restart_refuse_the_whole_reload(world):
    c, player = world
    c.configure(c.first.replace("Be brief.", "Be long.") + '\n[limits]\noperations = 77\n\n[store]\nkeep_events = 5000\n')
    answer = c.api("POST", "/v1/config/reload", {})
    assert (answer.status, answer.json["code"]) == (409, "needs_restart"), answer.body
    assert "limits.operations" in answer.json["detail"] and "store.keep_events" in answer.json["detail"]
    assert "agents" not in answer.json["detail"]
    assert "Be brief." in answered(c, player, "chat/a", "one")
    c.configure(c.first)
    assert reload(c) == []


def test_sighup_reloads_cancel_words_and_the_next_one_stops(world):
    c, player = world
    running = c.say("chat/b", "hold this", agent="worker")
    until(lambda: player.of("hold this"), "the model to be asked")
    c.configure(c.first + '\n[chat]\ncancel_words = ["basta"]\n')
    c.controller.send_signal(signal.SIGHUP)
    log = os.path.join(c.directory, "quelld.log")
    until(lambda: b"reloaded; changed: chat.cancel_words" in read(log), "the reload in the log")
    answer = c.post("chat/b", "basta")
    assert answer.json["decision"] == "cancel", answer.body
    assert c.ended(running)["status"] == "cancelled"


def test_a_turn_that_waits_for_an_agent_that_is_gone_ends_and_the_scope_goes_on(world):
    c, player = world
    running = c.say("chat/b", "hold this", agent="worker")
    until(lambda: player.of("hold this"), "the model to be asked")
    waiting = c.say("chat/b", "and then", agent="helper")
    later = c.say("chat/b", "at last", agent="worker")
    c.configure(c.first.replace(c.first[c.first.index('[[agents]]\nname = "helper"'):], ""))
    assert reload(c) == ["agents.helper"]
    assert c.post("chat/c", "hello", agent="helper").json["code"] == "invalid_field"
    c.api("POST", f"/v1/operations/{running}/cancel", {})
    ended = c.ended(waiting)
    assert ended["status"] == "failed" and "helper is not configured" in ended["error"]["message"], ended
    assert c.ended(later)["status"] == "completed"
    c.check_scope("chat/b")


def test_a_turn_that_waits_in_a_channel_that_a_reload_closes_does_not_begin(world):
    c, player = world
    place = c.first + '[[place]]\nscope = "chat/guild"\nchannels = ["a"]\n'
    c.configure(place)
    assert reload(c) == ["place.chat/guild"]
    running = c.say("chat/guild/a", "hold this", agent="worker")
    until(lambda: player.of("hold this"), "the model to be asked")
    waiting = c.say("chat/guild/a", "and then", agent="worker")
    c.configure(place.replace('["a"]', '["b"]'))
    assert reload(c) == ["place.chat/guild.channels"]
    assert c.operation(running)["status"] == "running"
    c.api("POST", f"/v1/operations/{running}/cancel", {})
    ended = c.ended(waiting)
    assert ended["status"] == "failed" and "chat/guild" in ended["error"]["message"], ended
    assert not player.of("and then")
    c.check_scope("chat/guild/a")


def test_reloads_beside_turns_lose_none(world):
    c, player = world
    turns = []
    for i in range(12):
        turns += [c.say(f"chat/{i}/{n}", f"tool {i} {n}", agent="worker") for n in range(3)]
        c.configure(c.first.replace("Be brief.", f"Be number {i}."))
        assert reload(c) == ["agents.worker.instructions"]
    assert [c.ended(t)["status"] for t in turns] == ["completed"] * len(turns)


def test_only_an_admin_of_the_whole_cluster_reloads(world):
    c, _ = world
    for role, scope in (("operator", None), ("admin", "chat"), ("observer", None)):
        token = c.api("POST", "/v1/tokens", {"name": f"t-{role}", "role": role, "scope": scope}).json["token"]
        assert c.api("POST", "/v1/config/reload", {}, token=token).status == 403, role


def test_reloads_at_once_change_the_settings_once(world):
    c, player = world
    c.configure(c.first.replace("Be brief.", "Be long."))
    answers, begin = [], threading.Barrier(8)

    def reloads():
        begin.wait(30)
        answers.append(c.api("POST", "/v1/config/reload", {}))

    all_at_once = [threading.Thread(target=reloads) for _ in range(8)]
    for one in all_at_once:
        one.start()
    for one in all_at_once:
        one.join(60)
    assert [a.status for a in answers] == [200] * 8, [a.body for a in answers]
    # Those that wait together share one reload, which is made once; who comes behind it finds nothing to change.
    changed = ["agents.worker.instructions"]
    assert changed in [a.json["changed"] for a in answers] and all(a.json["changed"] in (changed, []) for a in answers), [a.body for a in answers]
    assert read(os.path.join(c.directory, "quelld.log")).count(b"changed: agents.worker.instructions") == 1
    assert "Be long." in answered(c, player, "chat/a", "one")
