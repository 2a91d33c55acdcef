"""What a webhook and an MCP client are told of a stop beside a worker that answers nothing: stopping, not proven yet, settled without a proof, and "stopped" only with one."""
import json

from harness import processes
from harness.cluster import Cluster
from harness.mcp_client import STAY, McpServer, text
from harness.waiting import until
from test_stop_words import CLAIM, PATIENT, SCRIPT, UNNOTICED, frozen, running
from test_webhooks import HookCluster, Receiver

AWAY = ["workers.heartbeat=200ms", *PATIENT]  # it is missed at once, and keeps its tasks
DEAD = {"declare": "dead", "reason": "the host burnt"}
ROOM = "webhook/pager/room"


class Hooks(HookCluster):
    def __init__(self, receiver, settings):
        super().__init__(receiver, head='types = ["acknowledgement", "cancel_fenced", "cancel_settled"]', settings=settings)
        with open(self.script, "w") as f:
            json.dump({"answers": SCRIPT}, f)


def stopped_by(c, r):
    """A signed "stop"; the id of its message."""
    answer = r.send(c.url + "/v1/chat/webhook/pager", {"text": "stop", "author": {"id": "u2"}, "scope": ROOM}, "msg_stop")
    assert answer["status"] == 200 and answer["json"]["decision"] == "cancel", answer
    return answer["json"]["message"]


def words(r, message):
    """What the receiver was told of this stop, each event once."""
    found = {g["id"]: g["event"]["data"] for g in r.got() if g["type"] == "acknowledgement" and g["event"]["data"]["message"] == message}
    return list(found.values())


def cancels(r, type):
    return list({g["id"]: g["event"]["data"] for g in r.got() if g["type"] == type}.values())


def away(c):
    until(lambda: all(c.worker(name)["status"] == "unreachable" for name in c.workers), "the worker to be missed")


def declared(c, *operations):
    for id in operations:
        until(lambda: c.api("POST", f"/v1/operations/{id}/resolve", DEAD).status == 200, "the operation to be declared dead")


# ---- webhooks ----------------------------------------------------------------------------------------------------------
def test_a_webhook_is_told_stopping_at_first_and_the_words_of_the_end_with_the_proof():
    with Receiver() as r, Hooks(r, UNNOTICED) as c:
        _, m = running(c, ROOM)
        with frozen(c):
            message = stopped_by(c, r)
            [first] = until(lambda: words(r, message), "quell's own word")
            assert (first["text"], first["state"], first["reaction"]) == ("🛑 stopping…", "stopping", None), first
            [fenced] = until(lambda: cancels(r, "cancel_fenced"), "the cancel")
            assert fenced["report"]["proven"] is False and fenced["report"]["unproven_total"] == 1, fenced
            assert processes.marked(m) and not cancels(r, "cancel_settled")
        last = until(lambda: words(r, message)[1:], "its end")
        assert [(w["text"], "state" in w) for w in last] == [(CLAIM, False)], last
        [settled] = until(lambda: cancels(r, "cancel_settled"), "the proof")
        assert settled["status"] == "settled" and settled["report"]["proven"] is True, settled
        assert not processes.marked(m)


def test_a_webhook_is_told_what_is_not_proven_and_a_declared_end_is_not_called_stopped():
    with Receiver() as r, Hooks(r, AWAY) as c:
        task, m = running(c, ROOM)
        with frozen(c):
            away(c)
            message = stopped_by(c, r)
            unproven = until(lambda: [w for w in words(r, message) if w.get("state") == "unproven"], "that it is not proven")
            assert "w1" in unproven[0]["text"] and "unreachable" in unproven[0]["text"], unproven
            declared(c, task["id"])
            [settled] = until(lambda: cancels(r, "cancel_settled"), "the cancel to settle")
            assert settled["status"] == "settled" and settled["report"]["proven"] is False and settled["report"]["receipts"]["declared"] == 1, settled
            last = until(lambda: (lambda w: w if w[-1].get("state") == "unconfirmed" else None)(words(r, message)), "the last word")
            assert processes.marked(m) and not [w for w in last if "stopped" in (w["text"] or "")], last
        until(lambda: not processes.marked(m), "the worker that is back to end it all the same")
        assert len(words(r, message)) == len(last), "nothing is told after the last word"


# ---- quell mcp ---------------------------------------------------------------------------------------------------------
def started(m, count):
    return [m.run("sh", "-c", STAY)["id"] for _ in range(count)]


def test_an_mcp_client_is_told_that_it_is_not_proven_yet_and_stopped_only_with_the_proof():
    with Cluster(settings=UNNOTICED) as c, McpServer(c, "--scope", "mcp/frozen") as m:
        one, *others = started(m, 3)
        for id in (one, *others):
            c.wait_status(id, "running")
        with frozen(c):
            calls = m.begin("quell_cancel", id=one), m.begin("quell_cancel", all_mine=True)
            by_id, all_mine = (m.answer(call) for call in calls)
            assert by_id["isError"] is False and "Not proven yet; nothing more needs to be done. Next: quell_wait" in text(by_id), text(by_id)
            assert by_id["structuredContent"]["status"] != "settled" and by_id["structuredContent"]["report"]["proven"] is False
            total = len(all_mine["structuredContent"]["cancels"])  # the one that is being cancelled is live, too
            assert total == 3 and text(all_mine).startswith(f"Stopping 3 operations; 3 of {total} not proven yet. Next: quell_list"), text(all_mine)
            waited = m.call("quell_wait", id=one, wait_ms=0)
            assert waited["structuredContent"]["status"] == "cancelling" and text(waited).startswith("Not ended yet: "), text(waited)
            for answer in (by_id, all_mine, waited):
                assert "stopped" not in text(answer).lower() and "cancelled" not in text(answer).lower(), text(answer)
        for id in (one, *others):
            assert c.wait_status(id, "cancelled")["stop"]["proof"]
        over = m.call("quell_show", id=one)
        assert "cancelled" in text(over), text(over)


def test_an_mcp_client_is_told_that_a_declared_end_is_settled_and_not_proven():
    with Cluster(settings=AWAY) as c, McpServer(c, "--scope", "mcp/declared") as m:
        ids = started(m, 3)
        for id in ids:
            c.wait_status(id, "running")
        with frozen(c):
            away(c)
            call = m.begin("quell_cancel", id=ids[0])
            declared(c, ids[0])
            by_id = m.answer(call)
            assert "settled, not proven" in text(by_id) and "stopped" not in text(by_id).lower(), text(by_id)
            call = m.begin("quell_cancel", all_mine=True)
            declared(c, *ids[1:])
            all_mine = m.answer(call)
            assert text(all_mine).startswith("Settled, not all proven: 2 operations."), text(all_mine)
            assert [x["report"]["proven"] for x in all_mine["structuredContent"]["cancels"]] == [False, False]
            assert "stopped" not in text(all_mine).lower(), text(all_mine)
