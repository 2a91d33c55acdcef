"""200 turns at once in 50 scopes, stopped at random in every way: each conversation is valid by our rules and by both providers' rules."""
import concurrent.futures
import json
import os
import random
import subprocess

import pytest

from harness import processes
from harness.cluster import BIN, marker
from harness.turns import TurnCluster, broken_history
from harness.waiting import until

PROBE = os.path.join(BIN, "history_probe")
if not os.path.exists(PROBE):
    pytest.skip(f"there is no {PROBE}: build the target history_probe", allow_module_level=True)

SCOPES, TURNS = 50, 200
CONFIG = '[[agents]]\nname = "brief"\nmodel = "script"\nworkspace = "WORKSPACE"\nbudget = { timeout = "900ms" }\n[[approval]]\ntool = "exec"\nmatch = "rm *"\n'


def script(m):
    shell = lambda line: {"name": "exec", "input": {"command": line + " #" + m}}
    listing = {"name": "list", "input": {"path": "."}}
    return [
        {"when": {"user": "talk"}, "steps": [{"text": "A longer answer, told piece by piece. ", "chunk": 3, "delay_ms": 30}]},
        {"when": {"user": "tools", "round": 1}, "steps": [{"text": "Three things. ", "chunk": 4, "delay_ms": 5}, {"calls": [listing, shell("sleep 0.3"), listing]}]},
        {"when": {"user": "tools", "round": 2}, "steps": [{"delay_ms": 200}, {"calls": [{"name": "session_status", "input": {}}, {"name": "nothing", "input": {}}]}]},
        {"when": {"user": "long"}, "steps": [{"calls": [shell("while :; do sleep 1000; done"), shell("echo never")]}]},
        {"when": {"user": "ask"}, "steps": [{"calls": [shell("rm -f nothing"), listing]}]},
        {"when": {"user": "spawn"}, "steps": [{"calls": [{"name": "spawn_agent", "input": {"task": "tools below"}}, {"name": "spawn_agent", "input": {"task": "talk below"}}]}]},
        {"when": {"user": "silent"}, "steps": [{"hang": True}]},
        {"when": {"user": "breaks"}, "steps": [{"text": "Half", "chunk": 1, "delay_ms": 30}, {"error": {"code": "model_broken", "message": "cut"}}]},
        {"when": {"result": ""}, "text": "Done with {{round}}."},
        {"text": "You said {{text}}."},
    ]


WORDS = ("talk", "tools", "long", "ask", "spawn", "silent", "breaks", "hello")


def providers_rules(conversations):
    told = "".join(json.dumps({"messages": m}) + "\n" for m in conversations)
    done = subprocess.run([PROBE], input=told, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def stop_something(c, dice, turns, scopes):
    """One random stop; its target may have ended already."""
    turn, how = dice.choice(turns), dice.random()
    if how < 0.3:
        c.api("POST", f"/v1/operations/{turn}/cancel", {"grace_ms": dice.choice([None, 0, 200])})
    elif how < 0.4:
        c.api("POST", "/v1/cancels", {"scope": dice.choice(scopes)})
    elif how < 0.85:
        below = c.below(turn)
        target = dice.choice(below)
        c.api("POST", f"/v1/operations/{target['id']}/cancel", {})
    else:
        for o in c.below(turn, status="paused"):
            c.api("POST", f"/v1/operations/{o['id']}/{dice.choice(['approve', 'deny'])}", {})


@pytest.mark.parametrize("kill", [False, True], ids=["calm", "with a kill of the controller"])
def test_many_turns_with_random_stops_end_valid(kill):
    seed = int(os.environ.get("QUELL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"QUELL_TEST_SEED={seed}")
    dice, m = random.Random(seed), marker()
    scopes = [f"many/{i % 7}/{i}" for i in range(SCOPES)]
    with TurnCluster(script(m), CONFIG, workers=2, slots=64, settings=["defaults.grace=500ms"]) as c:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            said = [(scopes[i % SCOPES], dice.choice(WORDS), dice.choice(["main", "main", "brief"])) for i in range(TURNS)]
            turns = list(pool.map(lambda s: c.say(s[0], s[1], agent=s[2]), said))
            seeds = [dice.randrange(1 << 32) for _ in range(250)]
            list(pool.map(lambda s: stop_something(c, random.Random(s), turns, scopes), seeds[:150]))
            if kill:
                c.restart()
            list(pool.map(lambda s: stop_something(c, random.Random(s), turns, scopes), seeds[150:]))

            def go_on():
                """Stops the turns that still hang, so that each turn had its time."""
                live = [o for o in c.operations(status="live", scope="many") if o["kind"] == "turn"]
                for o in live:
                    if o["status"] == "running":
                        c.api("POST", f"/v1/operations/{o['id']}/cancel", {"reason": "swept"})
                return not live
            until(go_on, "all turns to end", 180)
            until(lambda: not c.operations(status="live", scope="many"), "everything to end", 120)
            until(lambda: not processes.marked(m), "every process to be gone")
            unconfirmed = [o for o in c.operations(scope="many") if (o["stop"] or {}).get("receipt") == "unconfirmed"]
            assert not unconfirmed, [(o["kind"], o["name"], o["status"], o["stop"], c.events(o["id"])[-6:]) for o in unconfirmed[:2]]
            conversations = list(pool.map(c.check_scope, scopes))
            assert sum(len({x["turn"] for x in talk}) for talk in conversations) == TURNS
            asides = [c.messages(o["scope"], sub_agent=o["id"]) for o in c.operations(kind="sub_agent", scope="many")]
            assert all(broken_history(a) is None for a in asides), [broken_history(a) for a in asides]
            told = providers_rules(conversations)
            assert len(told) == SCOPES and all(line.startswith("ok ") for line in told), [t for t in told if not t.startswith("ok ")]
            for o in c.operations(kind="tool_call", scope="many"):
                assert o["status"] in ("completed", "failed", "cancelled"), o
            list(pool.map(c.next_message_is_taken, scopes[:10]))
            cancels = c.api("GET", "/v1/cancels?limit=1000").json["cancels"]
            assert all(x["status"] == "settled" and x["report"]["receipts"]["unconfirmed"] == 0 for x in cancels), \
                [x for x in cancels if x["status"] != "settled" or x["report"]["receipts"]["unconfirmed"]][:2]


def test_the_validators_find_what_is_broken():
    def message(role, turn="01a1f869-3df9-7303-8207-dde70bee07dd", **more):
        message.seq += 1
        return {"seq": message.seq, "message": str(message.seq), "role": role, "turn": turn, "author": {"id": "mia"} if role == "user" else None, "text": "",
                "tool_calls": [], "results": [], "interrupted": False, "discarded": False, **more}
    message.seq = 0
    calls = [{"call": "a", "name": "list", "input": {}}, {"call": "b", "name": "list", "input": {}}]
    results = [{"call": x["call"], "name": "list", "ok": True, "cancelled": False, "result": {"ok": True, "result": 1}} for x in calls]
    whole = [message("user", text="hello"), message("assistant", tool_calls=calls), message("tool", results=results), message("assistant", text="done")]
    assert broken_history(whole) is None and providers_rules([whole]) == ["ok 5"]
    swapped = [*whole[:2], {**whole[2], "results": results[::-1]}, whole[3]]
    missing = [*whole[:2], {**whole[2], "results": results[:1]}, whole[3]]
    twice = [*whole[:2], {**whole[2], "results": [*results, results[0]]}, whole[3]]
    for broken in (swapped, missing, twice):
        assert broken_history(broken)
        assert not providers_rules([broken])[0].startswith("ok "), broken
    contradiction = [*whole[:2], {**whole[2], "results": [{**results[0], "cancelled": True}, results[1]]}]
    for broken in (whole[:2], whole[1:], [*whole[:1], message("assistant")], [*whole, message("assistant", text="more")], whole[::-1], contradiction):
        assert broken_history(broken), broken
