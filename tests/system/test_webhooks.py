"""Webhooks in both directions, with npm standardwebhooks as the other side: every event at least once, in order, correctly signed; incoming messages accepted."""
import itertools
import json
import os

import pytest

from harness.cluster import free_ports
from harness.peers import Program, installed
from harness.turns import TurnCluster
from harness.waiting import until

HOME, PACKAGES = "webhooks-1.1.1", ["standardwebhooks@1.1.1"]
SECRET, OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 50}]}, {"text": "You said {{text}}."}]


class Receiver(Program):
    def __init__(self):
        home = installed(HOME, PACKAGES)
        self.port = free_ports(1)[0]
        self.tags = itertools.count(1)
        super().__init__("node", os.path.join(os.path.dirname(__file__), "harness", "hook_receiver.mjs"), home, str(self.port), SECRET)
        self.line("LISTENS")

    def do(self, what, **more):
        self.say(json.dumps({"do": what, **more}))

    def manner(self, **how):
        before = len(self.all("MANNER"))
        self.do("manner", **how)
        self.line("MANNER", before + 1)

    def got(self, good_only=True):
        return [json.loads(line[4:]) for line in self.all("GOT ")]

    def taken(self):
        """Deliveries that were answered with 2xx: ids, in the order of their arrival."""
        return [int(g["id"]) for g in self.got() if 200 <= g["status"] < 300]

    def send(self, url, body, id, **more):
        tag = next(self.tags)
        self.do("send", tag=tag, url=url, body=body, id=id, **more)
        return until(lambda: next((a for a in (json.loads(line[7:]) for line in self.all("ANSWER ")) if a["tag"] == tag), None), "an answer")


class HookCluster(TurnCluster):
    def __init__(self, receiver, more="", head="", **options):
        super().__init__(SCRIPT, config=f"""
[[webhooks]]
name = "hook"
url = "http://127.0.0.1:{receiver.port}/hook"
secret_file = "WORKSPACE/secret"
{head}
[[incoming]]
name = "pager"
secret_file = "WORKSPACE/secret"
{more}
""", **options)
        with open(os.path.join(self.workspace, "secret"), "w") as f:
            f.write(SECRET + "\n")

    def stored(self, after=0, **query):
        """All events of the store after `after`."""
        found, cursor = [], after
        while cursor is not None:
            page = self.api("GET", f"/v1/events?after={cursor}&limit=1000" + "".join(f"&{k}={v}" for k, v in query.items())).json
            found += page["events"]
            cursor = page["next_cursor"]
        return [e for e in found if e["type"] != "audit"]

    def caught_up(self, receiver, after=0, **query):
        """Waits until the receiver has accepted all stored events; returns its ids."""
        def look():
            stored = [int(e["id"]) for e in self.stored(after, **query)]
            return stored if stored and set(stored) <= set(receiver.taken()) else None
        return until(look, f"all events to be delivered; taken {receiver.taken()[-5:]}, stored up to {self.stored()[-1]['id']}", 60)


@pytest.fixture
def world():
    with Receiver() as r, HookCluster(r) as c:
        yield c, r


def in_order(receiver):
    """Repeats are allowed, but no event overtakes another: a new id is above all ids before it."""
    seen = []
    for g in receiver.got():
        assert g["good"], g
        if not seen or int(g["id"]) not in seen:
            assert not seen or int(g["id"]) > max(seen), (g["id"], seen[-5:])
            seen.append(int(g["id"]))
    return seen


def test_every_event_arrives_once_in_order_as_the_stream_shows_it(world):
    c, r = world
    turn = c.say("chat/mia", "hello")
    c.ended(turn)
    c.wait_status(c.start("true", scope="team/build")["id"], "completed")  # then nothing more happens
    stored = c.caught_up(r)
    until(lambda: r.taken() == sorted(set(r.taken())) == c.caught_up(r), f"each stored event to be taken once and in order: {stored}; {r.taken()}")
    in_order(r)
    said = {g["id"]: g["event"] for g in r.got()}
    for e in c.stored():
        mine = said[e["id"]]
        assert {k: mine[k] for k in ("id", "type", "at", "scope", "operation", "root", "cancel", "worker")} == {
            k: e[k] for k in ("id", "type", "at", "scope", "operation", "root", "cancel", "worker")}
        if e["type"] in ("text_delta", "turn_complete", "turn_start"):
            assert mine["data"] == e["data"]
    assert "turn_complete" in {g["type"] for g in r.got()} and "audit" not in {g["type"] for g in r.got()}


def test_only_what_is_wanted_is_sent():
    with Receiver() as r, HookCluster(r, head='scope = "chat"\ntypes = ["turn_complete", "turn_abort"]') as c:
        c.ended(c.say("chat/mia", "one"))
        c.ended(c.say("elsewhere", "two"))
        c.start("true", scope="chat")
        c.ended(c.say("chat", "three"))
        until(lambda: len(r.taken()) >= 2, "two events")
        assert [(g["type"], g["event"]["scope"]) for g in r.got()] == [("turn_complete", "chat/mia"), ("turn_complete", "chat")]


def test_a_receiver_that_is_down_slow_or_unwell_gets_everything_in_order(world):
    c, r = world
    r.do("down")
    r.line("DOWN")
    turn = c.say("chat/mia", "one")
    assert c.ended(turn)["status"] == "completed"  # the turn does not wait for a receiver
    r.do("up")
    r.line("LISTENS", 2)
    c.caught_up(r)
    r.manner(status=500, times=2)
    c.ended(c.say("chat/mia", "two"))
    c.caught_up(r)
    r.manner(status=429, times=1, headers={"Retry-After": "1"})
    c.ended(c.say("chat/mia", "three"))
    c.caught_up(r)
    r.manner(status=204, delay=200, times=5)
    c.ended(c.say("chat/mia", "four"))
    c.caught_up(r)
    r.manner(cut=True, times=1)
    c.ended(c.say("chat/mia", "five"))
    c.caught_up(r)
    in_order(r)


def test_nothing_is_lost_when_the_controller_is_killed(world):
    c, r = world
    c.ended(c.say("chat/mia", "one"))
    r.manner(status=503)
    c.ended(c.say("chat/mia", "two"))
    until(lambda: r.got() and r.got()[-1]["status"] == 503, "a delivery to be refused")
    c.restart()
    r.manner(status=204, delay=30)
    turn = c.say("chat/mia", "endless")
    until(lambda: len(r.taken()) > 15, "deliveries to be under way")
    c.restart()  # in the middle of the deliveries
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    c.cancel(operation=turn)
    assert c.ended(turn)["status"] == "cancelled"
    r.manner(status=204)
    c.caught_up(r)
    in_order(r)
    assert "turn_resumed" in {g["type"] for g in r.got()}
    twice = len(r.taken()) - len(set(r.taken()))
    assert twice <= 4, twice  # deliveries in flight when it was killed
    assert {"hook"} <= set(os.listdir(os.path.join(c.state, "webhooks"))) <= {"hook", "hook.new"}  # the latter is an incomplete write


def test_a_receiver_that_is_gone_is_left_alone_until_the_next_start(world):
    c, r = world
    c.caught_up(r)
    r.manner(status=410)
    c.ended(c.say("chat/mia", "one"))
    until(lambda: r.got()[-1]["status"] == 410, "a delivery to be answered with 410")
    before = len(r.got())
    c.ended(c.say("chat/mia", "two"))
    until(lambda: "is gone (410)" in open(os.path.join(c.directory, "quelld.log")).read(), "the log to say so")
    assert len(r.got()) == before
    r.manner(status=204)
    c.restart()
    c.caught_up(r)
    in_order(r)


def test_messages_come_in_signed_and_the_answer_goes_out(world):
    c, r = world
    url = c.url + "/v1/chat/webhook/pager"
    hello = {"text": "hello", "author": {"id": "u1", "name": "Uma"}}
    answer = r.send(url, hello, "msg_1")
    assert answer["status"] == 202 and answer["json"]["decision"] == "turn" and answer["json"]["scope"] == "webhook/pager", answer
    c.ended(answer["json"]["turn"]["id"])
    again = r.send(url, hello, "msg_1")
    assert again["json"]["duplicate"] is True and again["json"]["message"] == answer["json"]["message"], again
    assert len([m for m in c.messages("webhook/pager") if m["role"] == "user"]) == 1
    c.caught_up(r, scope="webhook")
    assert [g["event"]["data"]["text"] for g in r.got() if g["type"] == "turn_complete"] == ["You said hello."]
    endless = r.send(url, {"text": "endless", "author": {"id": "u1"}, "scope": "webhook/pager/room-1"}, "msg_2")
    assert endless["status"] == 202, endless
    stop = r.send(url, {"text": "please stop", "author": {"id": "u2"}, "scope": "webhook/pager/room-1"}, "msg_3")
    assert stop["status"] == 200 and stop["json"]["decision"] == "cancel", stop
    assert c.ended(endless["json"]["turn"]["id"])["status"] == "cancelled"
    c.restart()  # quelld remembers it
    again = r.send(url, {"text": "please stop", "author": {"id": "u2"}, "scope": "webhook/pager/room-1"}, "msg_3")
    assert again["json"]["duplicate"] is True, again


def test_what_is_not_signed_well_does_not_come_in(world):
    c, r = world
    url = c.url + "/v1/chat/webhook/pager"
    body = {"text": "hello", "author": {"id": "u1"}}
    for wrong in ({"secret": OTHER}, {"signature": "v1,AAAA"}, {"signature": ""}, {"signed": "{}"}, {"skew": -400}, {"skew": 400}):
        answer = r.send(url, body, "msg_1", **wrong)
        assert answer["status"] == 401 and answer["json"]["code"] == "unauthenticated", (wrong, answer)
    assert r.send(c.url + "/v1/chat/webhook/nobody", body, "msg_1")["status"] == 404
    assert r.send(url, body, "msg_1", method="GET")["status"] == 405
    broken = r.send(url, "{", "msg_2")["json"]
    assert broken["code"] == "bad_json" and broken["request"], broken
    assert r.send(url, {**body, "more": 1}, "msg_3")["json"]["code"] == "unknown_field"
    for scope, code in (("team/build", "scope_forbidden"), ("webhook/pager2", "scope_forbidden"), ("webhook/pager/../x", "bad_scope"),
                        ("webhook/pager/%2e%2e/x", "bad_scope"), ("webhook//pager", "bad_scope"), ("Webhook/pager", "scope_forbidden")):
        answer = r.send(url, {**body, "scope": scope}, "msg_" + code + str(len(scope)))
        assert answer["json"]["code"] == code, (scope, answer)
    assert c.messages("webhook/pager") == []
    good = r.send(url, body, "msg_9")
    assert good["status"] == 202, good
    assert r.send(url, {**body, "text": "other"}, "msg_9")["status"] == 409


@pytest.mark.parametrize("config, words", [
    ('[[webhooks]]\nurl = "ftp://x"\nsecret_file = "WORKSPACE/secret"', "https://"),
    ('[[webhooks]]\nurl = "http://127.0.0.1:1/"', "secret_env"),
    ('[[webhooks]]\nurl = "http://127.0.0.1:1/"\nsecret_file = "WORKSPACE/short"', "whsec_"),
    ('[[webhooks]]\nurl = "http://127.0.0.1:1/"\nsecret_file = "WORKSPACE/secret"\nscope = "a//b"', "scope"),
    ('[[webhooks]]\nurl = "http://127.0.0.1:1/"\nsecret_file = "WORKSPACE/secret"\ntypes = ["output"]', "output"),
    ('[[webhooks]]\nurl = "http://127.0.0.1:1/"\nsecret_file = "WORKSPACE/secret"\ntype = ["x"]', "types"),
    ('[[incoming]]\nname = "pager"\nsecret_file = "WORKSPACE/secret"\n', "two [[incoming]]"),
    ('[[incoming]]\nname = "other"\nsecret_file = "WORKSPACE/secret"\nscope = "team"', "below it"),
    ('[discord]\ntoken_file = "WORKSPACE/secret"\npublic_key = "abc"', "64 hex digits"),
    ('[discord]\ntoken_file = "WORKSPACE/secret"\ngateway = false', "nothing could be heard"),
    ('[discord]\ntoken_file = "WORKSPACE/secret"\nguilds = ["clan"]', "digits only"),
])
def test_a_configuration_that_cannot_be_is_refused_without_its_secrets(config, words):
    with Receiver() as r:
        c = HookCluster(r, more=config)
        with open(os.path.join(c.workspace, "short"), "w") as f:
            f.write("whsec_c2hvcnQ=")
        try:
            done = c.start_controller(["--check-config"], wait=False)
            assert done.wait(60) == 2
            said = open(os.path.join(c.directory, "quelld.log")).read()
            assert words in said and "quelld.toml:" in said, said
            assert "MfKQ" not in said and "c2hvcnQ" not in said, said
        finally:
            c.close()
