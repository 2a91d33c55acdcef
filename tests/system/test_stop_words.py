"""The texts after a stop: "stopping" at the fence, "stopped" only with proof, in quell's own words; and unknown outcomes by name."""
import json

from harness import processes
from harness.cluster import marker
from harness.discord import FakeDiscord
from harness.irc import Client, Ngircd
from harness.odd_cluster import OddCluster, tool
from harness.turns import TurnCluster
from harness.waiting import until
from test_chat_discord import SCOPE, DiscordCluster
from test_chat_irc import DEV, section, wait_in
from test_frozen_programs import Frozen
from test_messages_stop import acknowledgement

CLAIM = "I have stopped."  # the claim of a model that knows nothing
SCRIPT = [{"when": {"system": "Interrupted:"}, "text": CLAIM},
          {"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]},
          {"text": "You said {{text}}."}]
PATIENT = ["workers.lease=120s"]  # a frozen worker keeps its tasks that long
UNNOTICED = ["workers.heartbeat=20s", *PATIENT]  # and for a minute nobody says that it is away
SLEEPS = ("bash", "-c", "while :; do sleep 1000; done")


def told(c, message):
    events = c.stored_events(types="acknowledgement")
    return [e["data"] for e in events if e["data"]["message"] == message]


def frozen(c):
    return Frozen(*(w.process.pid for w in c.workers.values()))


def running(c, scope):
    m = marker()
    task = c.start(*SLEEPS, m, scope=scope)
    until(lambda: processes.marked(m), "the task to run")
    return task, m


class Claiming(DiscordCluster):
    def __init__(self, discord, **options):
        super().__init__(discord, marker(), **options)

    def start_controller(self, *flags, **options):
        with open(self.script, "w") as f:
            json.dump({"answers": SCRIPT}, f)
        return super().start_controller(*flags, **options)


def contents(d):
    return [r["body"].get("content", "") for r in d.found("REST", status=200) if "/messages" in r["path"] and r["method"] in ("POST", "PATCH")]


def test_a_chat_says_stopping_and_the_same_message_says_stopped_only_with_the_proof():
    with FakeDiscord() as d, Claiming(d, settings=UNNOTICED) as c:
        d.see("IDENTIFY")
        _, m = running(c, SCOPE)
        d.message("endless")
        until(lambda: any("on and on" in t for t in contents(d)), "the reply to begin")
        with frozen(c):
            d.message("stop", mention=False)
            until(lambda: any(t.startswith("🛑 stopping") for t in contents(d)), "that it is stopping")
            until(lambda: any(t.endswith("⏹ stopping…") for t in contents(d)), "the mark below the reply")
            [turn] = c.operations(scope=SCOPE, kind="turn")
            until(lambda: c.api("GET", f"/v1/cancels?scope={SCOPE}").json["cancels"], "the cancel")
            # The model has answered long before this: a second request went out and is answered.
            until(lambda: [e for e in c.stored_events(types="acknowledgement") if e["data"].get("state") == "stopping"], "quell's own word")
            assert processes.marked(m), "the task lives"
            assert not [t for t in contents(d) if "stopped" in t], contents(d)
            posts = len(d.posts())
        until(lambda: any(t == "🛑 stopped\n" + CLAIM for t in contents(d)), f"the proof; {contents(d)[-5:]}")
        until(lambda: any(t.endswith("\n⏹ stopped") for t in contents(d)), "the mark below the reply to be final")
        assert not processes.marked(m)
        assert len(d.posts()) == posts, "the same messages"
        assert c.operation(turn["id"])["status"] == "cancelled"


def test_a_service_without_edits_gets_a_second_message(tmp_path):
    with Ngircd(str(tmp_path)) as server, Client(server.port, "mia", "#dev") as mia:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.port), settings=UNNOTICED) as c:
            wait_in(mia)
            _, m = running(c, DEV)
            with frozen(c):
                mia.say("#dev", "stop")
                mia.wait_text("stopping")
                assert processes.marked(m) and not [t for t in mia.texts() if "stopped" in t], mia.texts()
            mia.wait_text("stopped")
            assert not processes.marked(m)
            assert [t for t in mia.texts() if "stop" in t] == ["🛑 stopping…", "🛑 stopped " + CLAIM], mia.texts()


def test_watchers_of_the_api_are_told_the_model_s_words_only_with_the_proof():
    with TurnCluster(SCRIPT, settings=UNNOTICED) as c:
        task, m = running(c, "chat")
        with frozen(c):
            stream = c.stream("chat", "stop")
            decided = stream.wait("message_decided")
            [first] = until(lambda: told(c, decided["message"]), "quell's own word")
            assert (first["text"], first["state"], first["reaction"]) == ("🛑 stopping…", "stopping", None), first
            assert processes.marked(m)
        kinds = [k for k, _ in stream.to_end()]
        assert kinds[0] == "message_decided" and kinds[-1] == "acknowledgement" and "cancel_settled" in kinds, kinds
        assert [t["text"] for t in told(c, decided["message"])] == ["🛑 stopping…", CLAIM]
        assert "state" not in told(c, decided["message"])[-1]
        assert not processes.marked(m) and c.operation(task["id"])["status"] == "cancelled"
        said = [(x["role"], x["text"]) for x in c.messages("chat") if x["turn"] is None]
        assert said == [("user", "stop"), ("assistant", CLAIM)], said


def test_what_never_confirms_its_end_is_named_and_nothing_claims_that_it_has_ended():
    with OddCluster("deaf") as c:
        c.ask("wreck it", [tool("wreck", _meta={"timeout": 0})])
        until(lambda: c.seen("call wreck"), "the call to be with the server")
        answer = c.post("odd", "stop").json
        assert answer["decision"] == "cancel", answer
        word = acknowledgement(c, answer["message"])
        assert word["state"] == "unconfirmed" and "wreck" in word["text"] and "unconfirmed" in word["text"], word
        assert "stopped" not in word["text"] and told(c, answer["message"]) == [word]
        # The model was asked, and sent a text.
        assert not [x for x in c.messages("odd") if x["turn"] is None and x["role"] == "assistant"]


def test_a_stop_that_a_crash_interrupts_is_told_to_its_end_by_the_next_life():
    with TurnCluster(SCRIPT, settings=PATIENT) as c:
        _, m = running(c, "chat")
        with frozen(c):
            message = c.post("chat", "stop").json["message"]
            until(lambda: told(c, message), "quell's own word")
            c.kill_controller()
            c.start_controller()
            assert processes.marked(m)
        until(lambda: len(told(c, message)) == 2, "its end")
        assert [t.get("state") for t in told(c, message)] == ["stopping", "stopped"], told(c, message)
        assert not processes.marked(m)


def test_a_worker_that_is_away_is_named_while_nothing_is_proven():
    with TurnCluster(SCRIPT, settings=["workers.heartbeat=200ms", "workers.lease=4s"]) as c:
        _, m = running(c, "chat")
        [name] = c.workers
        with frozen(c):
            message = c.post("chat", "stop").json["message"]
            states = until(lambda: (lambda s: s if "unproven" in s or "" in s else None)({t.get("state", ""): t for t in told(c, message)}), "that it is not proven")
            if "unproven" in states:
                assert name in states["unproven"]["text"] and "unreachable" in states["unproven"]["text"], states
        until(lambda: "" in {t.get("state", "") for t in told(c, message)}, "the proof")
        assert not processes.marked(m)


def test_say_stop_waits_for_the_proof_before_it_says_stopped():
    with TurnCluster(SCRIPT, settings=UNNOTICED) as c:
        _, m = running(c, "chat")
        with frozen(c):
            said = c.quell_background("say", "--scope", "chat", "stop")
            first = said.stdout.readline()
            assert first.decode() == "🛑 stopping…\n" and processes.marked(m), first
        rest, _ = said.communicate(timeout=60)
        assert rest.decode() == CLAIM + "\n" and said.returncode == 0, rest
        assert not processes.marked(m)
