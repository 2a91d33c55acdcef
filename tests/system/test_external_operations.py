"""External operations: the owner's table over HTTP, batches, signals and their reconnects, leases, restarts, rights."""
import concurrent.futures
import http.client
import signal
import time

from harness import processes
from harness.cluster import marker
from harness.externals import ExternalCluster, SignalStream, c, code, new_id  # noqa: F401
from harness.waiting import until


# now: (start, complete, fail, stopped), each (the answer, the status afterwards)
TABLE = {
    "pending": [(200, "running"), ("not_started", "pending"), (200, "failed"), ("not_cancelling", "pending")],
    "running": [(200, "running"), (200, "completed"), (200, "failed"), ("not_cancelling", "running")],
    "cancelling": [("stale_start", "cancelling"), (200, "completed"), (200, "cancelled"), (200, "cancelled")],
    "completed": [("already_terminal", "completed"), (200, "completed"), ("already_terminal", "completed"), ("already_terminal", "completed")],
    "failed": [("already_terminal", "failed"), ("already_terminal", "failed"), (200, "failed"), ("already_terminal", "failed")],
    "cancelled": [("already_terminal", "cancelled"), ("already_terminal", "cancelled"), ("already_terminal", "cancelled"), (200, "cancelled")],
}
BODIES = {"complete": {"result": {"answer": [1, None]}}, "fail": {"code": "broken", "message": "it broke"}}


def test_every_cell_of_the_owners_table(c):
    for now, row in TABLE.items():
        for word, (said, then) in zip(["start", "complete", "fail", "stopped"], row):
            id = c.stage(now)
            before = c.operation(id)
            answer = c.say(id, word, BODIES.get(word))
            assert code(answer) == said, (now, word, answer.body)
            after = c.operation(id)
            assert after["status"] == then, (now, word, after)
            if said == "already_terminal":
                assert answer.json["operation"] == after == before
            if now == "cancelling" and word != "start":
                want = {"complete": "already_finished", "fail": "cooperative", "stopped": "cooperative"}[word]
                assert (after["stop"]["receipt"], after["stop"]["proof"]) == (want, "reported"), after
                report = c.api("GET", f"/v1/cancels/{after['stop']['cancel']}").json
                assert report["status"] == "settled" and report["report"]["proven"] and report["report"]["receipts"][want] == 1
                if word == "complete":
                    assert after["result"] == {"answer": [1, None]}
                if word == "fail":
                    assert after["error"] == {"code": "broken", "message": "it broke"}
            if now == "running" and word == "complete":
                assert after["result"] == {"answer": [1, None]} and after["stop"] is None and after["error"] is None
                assert code(c.say(id, word, BODIES[word])) == 200 and c.operation(id) == after  # a repeat


def test_work_that_waited_behind_a_cancel_does_not_start(c):
    queued = c.register("team/a", start="later")
    assert queued["status"] == "pending" and queued["waiting_for"]["what"] == "start"
    decided = c.api("GET", "/v1/status").json["seq"]
    cancel = c.cancel(scope="team", reason="wrong branch")
    assert cancel["report"]["receipts"]["never_started"] == 1 and cancel["report"]["proven"]
    answer = c.say(queued["id"], "start")
    assert code(answer) == "stale_start" and answer.json["cancel"]["id"] == cancel["id"] and "wrong branch" in answer.json["detail"]
    assert answer.json["operation"]["stop"]["receipt"] == "never_started"
    # Decided before the cancel, registered after it; and work decided afterwards.
    late = c.try_register("team/a", as_of_seq=decided)
    assert code(late) == "stale_start" and late.json["cancel"]["id"] == cancel["id"]
    assert c.try_register("team/b", as_of_seq=cancel["seq"]).status == 409
    assert c.register("team/a", as_of_seq=c.api("GET", "/v1/status").json["seq"])["status"] == "running"
    assert c.register("team/a")["status"] == "running"
    # A child of a cancelled operation, and of a completed one.
    parent = c.stage("cancelled", "x")
    assert code(c.try_register(parent=parent)) == "stale_start"
    parent = c.stage("completed", "x")
    assert code(c.try_register(parent=parent)) == "parent_ended"


def test_a_create_is_idempotent_by_its_id(c):
    id = new_id()
    one = c.try_register("s", id=id, name="callLLM", session="r")
    two = c.try_register("s", id=id, name="callLLM", session="r")
    assert (one.status, two.status) == (201, 200) and two.json["id"] == id and two.json["external"]["session"] == "r"
    assert code(c.try_register("s", id=id, name="other", session="r")) == "id_conflict"
    assert c.say(id, "complete", {"result": 1}).status == 200
    assert c.try_register("s", id=id, name="callLLM", session="r").json["status"] == "completed"


def test_batches_answer_each_item_in_order(c):
    parent, taken = new_id(), c.register("q")["id"]
    done = c.api("POST", "/v1/operations/batch", {"operations": [
        {"kind": "external", "id": parent, "scope": "q", "name": "root"},
        {"kind": "external", "parent": parent, "external": {"start": "later"}},
        {"kind": "external", "scope": "q//x"},
        {"kind": "external", "scope": "q", "bogus": 1},
        {"kind": "turn", "scope": "q"},
        {"kind": "external", "id": taken, "scope": "other"},
        {"kind": "external", "parent": new_id()},
        "nothing",
        {"kind": "external", "id": parent, "scope": "q", "name": "root"},
        {"kind": "external", "scope": "elsewhere", "parent": parent},
    ]})
    assert done.status == 200, done.body
    results = done.json["results"]
    assert [r["status"] for r in results] == [201, 201, 422, 422, 422, 409, 404, 422, 200, 422], results
    assert [r["error"] and r["error"]["code"] for r in results] == [
        None, None, "bad_scope", "unknown_field", "invalid_field", "id_conflict", "operation_not_found", "invalid_field", None, "scope_outside_parent"]
    child = results[1]["operation"]
    assert child["parent"] == parent and child["status"] == "pending" and child["root"] == parent and child["scope"] == "q"
    ended = c.api("POST", "/v1/operations/end", {"items": [
        {"id": child["id"], "complete": {}},
        {"id": child["id"], "fail": {"message": "gone"}},
        {"id": parent, "complete": {"result": [None, {"x": None}]}},
        {"id": parent, "stopped": {}},
        {"id": new_id(), "complete": {}},
        {"id": parent},
        {"id": parent, "complete": {}, "fail": {}},
        {"id": parent, "complete": {"results": 1}},
        {"complete": {}},
    ]})
    results = ended.json["results"]
    assert [r["status"] for r in results] == [409, 200, 200, 409, 404, 422, 422, 422, 422], results
    assert results[0]["error"]["code"] == "not_started" and results[3]["error"]["code"] == "already_terminal"
    assert results[1]["operation"]["error"] == {"code": "error", "message": "gone"}
    assert results[2]["operation"]["status"] == "completed" and results[2]["operation"]["result"] == [None, {"x": None}]
    for path, body in [("batch", {"operations": []}), ("batch", {}), ("batch", {"operations": [{}] * 1001}), ("batch", {"operations": {}}),
                       ("end", {"items": []}), ("end", {"items": [1], "x": 1}), ("heartbeat", {}), ("heartbeat", {"ids": "x"}),
                       ("heartbeat", {"ids": ["x"]}), ("heartbeat", {"session": ""})]:
        assert c.api("POST", "/v1/operations/" + path, body).status == 422, (path, body)


def test_minimal_answers_name_what_succeeded_and_explain_what_did_not(c):
    minimal = {"Prefer": "return=minimal"}
    chosen = new_id()
    items = [{"kind": "external", "scope": "q", "id": chosen}, {"kind": "external", "scope": "q"}, {"kind": "external", "scope": "q//x"}]
    made = c.api("POST", "/v1/operations/batch", {"operations": items}, headers=minimal)
    assert {k.lower(): v for k, v in made.headers.items()}["preference-applied"] == "return=minimal"
    first, second, refused = made.json["results"]
    assert first == {"status": 201, "id": chosen} and second.keys() == {"status", "id"}
    assert refused["status"] == 422 and refused["error"]["code"] == "bad_scope"
    again = c.api("POST", "/v1/operations/batch", {"operations": items[:1]}, headers=minimal)
    assert again.json == {"results": [{"status": 200, "id": chosen}]}
    ends = [{"id": chosen, "complete": {"result": {"tokens": 120}}}, {"id": second["id"], "stopped": {}}, {"id": new_id(), "complete": {}}]
    ended = c.api("POST", "/v1/operations/end", {"items": ends}, headers=minimal).json["results"]
    assert ended[0] == {"status": 200, "id": chosen}
    assert [r["status"] for r in ended[1:]] == [409, 404] and ended[1]["error"]["code"] == "not_cancelling"
    assert c.api("POST", "/v1/operations/end", {"items": ends[:1]}, headers=minimal).json["results"] == [{"status": 200, "id": chosen}]
    late = c.api("POST", "/v1/operations/end", {"items": [{"id": chosen, "fail": {}}]}, headers=minimal).json["results"][0]
    assert late["status"] == 409 and late["error"]["code"] == "already_terminal"
    single = c.api("POST", f"/v1/operations/{second['id']}/complete", {}, headers=minimal)
    assert (single.status, single.json) == (200, {"id": second["id"]})
    shown = c.api("GET", f"/v1/operations/{chosen}").json
    assert shown["status"] == "completed" and shown["result"] == {"tokens": 120} and shown["started_at"]


def test_a_batch_is_one_commit_that_a_crash_does_not_tear(c):
    items = [{"kind": "external", "scope": "bulk", "external": {"lease_ms": 0}} for _ in range(1000)]
    made = c.api("POST", "/v1/operations/batch", {"operations": items}).json["results"]
    ids = [r["operation"]["id"] for r in made]
    assert len(set(ids)) == 1000 and {r["status"] for r in made} == {201}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def end():
            try:
                return c.api("POST", "/v1/operations/end", {"items": [{"id": i, "complete": {"result": 1}} for i in ids]}).status
            except (OSError, http.client.HTTPException):
                return None
        ending = pool.submit(end)
        until(lambda: ending.done() or c.controller.poll() is None, "the batch to be sent")
        c.kill_controller()
        ending.result()
    c.start_controller()
    completed = len([o for o in c.operations(scope="bulk") if o["status"] == "completed"])
    assert completed in (0, 1000), completed
    again = c.api("POST", "/v1/operations/end", {"items": [{"id": i, "complete": {"result": 1}} for i in ids]})
    assert {r["status"] for r in again.json["results"]} == {200}
    assert c.api("GET", "/v1/scopes?prefix=bulk&live=true").json["scopes"] == []


def test_a_heartbeat_of_many_stops_is_answered_in_pages(c):
    item = {"kind": "external", "name": "x", "scope": "paged", "grace_ms": 60000, "external": {"session": "pages"}}
    ids = []
    for count in (1000, 200):
        made = c.api("POST", "/v1/operations/batch", {"operations": [item] * count}, headers={"Prefer": "return=minimal"}).json["results"]
        ids += [r["id"] for r in made]
    assert c.heart(session="pages")["next_cursor"] is None
    c.cancel(scope="paged", wait="fenced")
    first = c.heart(session="pages")
    assert [s["operation"] for s in first["cancels"]] == ids[:1000] and first["next_cursor"]
    second = c.heart(session="pages", cursor=first["next_cursor"])
    assert [s["operation"] for s in second["cancels"]] == ids[1000:] and second["next_cursor"] is None
    assert second["renewed"] == first["renewed"]
    refused = c.api("POST", "/v1/operations/heartbeat", {"session": "pages", "cursor": "x"})
    assert refused.status == 422 and refused.json["errors"][0]["pointer"] == "/cursor", refused.body
    for first in (0, 1000):
        c.api("POST", "/v1/operations/end", {"items": [{"id": i, "stopped": {}} for i in ids[first:first + 1000]]})


def test_signals_come_by_stream_by_long_poll_and_on_heartbeats(c):
    a = c.register("s/a", session="r", name="callLLM", labels={"pr": "4711", "team": "red"})
    b, other = c.register("s/b", session="r"), c.register("t/c", session="other")
    stream = c.listen("r")
    single = SignalStream(c, f"/v1/operations/{b['id']}/signal")
    assert c.api("GET", f"/v1/operations/{a['id']}/signal?wait_ms=0").status == 204
    quiet = c.say(a["id"], "heartbeat").json
    assert quiet["lease_expires_at"] and [quiet[k] for k in ("kind", "name", "labels", "cancel", "grace_ms", "kill_at")] == [None] * 6, quiet
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        poll = pool.submit(c.api, "GET", f"/v1/operations/{a['id']}/signal?wait_ms=30000")
        cancel = c.cancel(scope="s", wait="fenced", reason="stop it", grace_ms=60000)
        polled = poll.result()
    assert polled.status == 200, polled.body
    told = polled.json
    assert told["operation"] == a["id"] and told["grace_ms"] == 60000 and told["kill_at"], told
    assert told["cancel"]["id"] == cancel["id"] and told["cancel"]["reason"] == "stop it" and told["cancel"]["cause"] == "cancel"
    until(lambda: len(stream.signals) == 2, "both signals on the stream of the session")
    assert sorted(stream.heard()) == sorted([a["id"], b["id"]]) and told in stream.signals
    # A client that dispatches by kind and name needs no look-up.
    assert [told[k] for k in ("kind", "name", "labels")] == ["external", "callLLM", {"pr": "4711", "team": "red"}], told
    assert next(s for s in stream.signals if s["operation"] == b["id"])["labels"] == {}
    until(lambda: single.heard() == [b["id"]], "the signal on the stream of one operation")
    beat = c.say(a["id"], "heartbeat").json
    assert all(beat[k] == told[k] for k in ("kind", "name", "labels", "cancel", "kill_at")) and beat["lease_expires_at"]
    assert {x["operation"] for x in c.heart(session="r")["cancels"]} == {a["id"], b["id"]}
    many = c.heart(ids=[a["id"], other["id"], new_id()])
    assert [x["operation"] for x in many["cancels"]] == [a["id"]] and len(many["unknown"]) == 1 and many["renewed"] == 2
    # A tighter cancel sends the signal again, with an earlier deadline.
    c.cancel(scope="s", wait="fenced", grace_ms=20000)
    until(lambda: len(stream.signals) == 4, "the nearer kill_at")
    assert all(s["kill_at"] < told["kill_at"] and s["grace_ms"] == 20000 for s in stream.signals[2:])
    # A stream that reconnects gets the operations that are still being stopped.
    assert c.say(b["id"], "stopped").status == 200
    stream.close()
    back = c.listen("r")
    until(lambda: back.heard() == [a["id"]], "the signal that is still open")
    assert c.say(a["id"], "stopped").status == 200
    until(lambda: not single.is_open, "the stream of an ended operation to end")
    assert code(c.api("GET", f"/v1/operations/{a['id']}/signal?wait_ms=0")) == "already_terminal"
    assert code(c.say(a["id"], "heartbeat")) == "already_terminal"
    assert c.operation(other["id"])["status"] == "running"
    settled = c.api("GET", f"/v1/cancels/{cancel['id']}?wait=settled").json
    assert settled["status"] == "settled" and settled["report"]["proofs"]["reported"] == 2 and settled["report"]["proven"]
    back.close()


def test_a_thousand_are_told_on_one_stream_and_reported_in_batches(c):
    made = c.api("POST", "/v1/operations/batch", {"operations": [
        {"kind": "external", "scope": f"swarm/{i % 7}", "external": {"session": "r", "lease_ms": 0}} for i in range(1000)]})
    ids = [r["operation"]["id"] for r in made.json["results"]]
    stream = c.listen("r")
    cancel = c.cancel(scope="swarm", wait="fenced", grace_ms=60000)
    assert cancel["report"]["operations"] == 1000
    until(lambda: len(stream.signals) == 1000, "a thousand signals")
    assert sorted(stream.heard()) == sorted(ids)
    ended = c.api("POST", "/v1/operations/end", {"items": [{"id": i, "stopped": {}} for i in ids]}).json["results"]
    assert {r["status"] for r in ended} == {200}
    report = c.api("GET", f"/v1/cancels/{cancel['id']}?wait=settled").json["report"]
    assert report["receipts"]["cooperative"] == 1000 and report["proofs"]["reported"] == 1000 and report["proven"]
    stream.close()


def test_a_missed_lease_fails_the_work_and_cancels_what_is_below(c):
    parent = c.register("s", lease_ms=8000)["id"]  # long enough for what follows to be registered below it
    child = c.register(parent=parent, lease_ms=0, grace_ms=0, session="r")["id"]
    kept = c.register("s", lease_ms=8000, session="kept")["id"]
    stream = c.listen("r")

    def beating(look):
        return lambda: (c.heart(session="kept"), look())[1]
    until(beating(lambda: stream.signals), "the child to be told")
    assert stream.signals[0]["cancel"]["cause"] == "parent_ended" and stream.signals[0]["cancel"]["id"] is None
    assert c.say(child, "stopped").status == 200
    lost = until(beating(lambda: (lambda o: o if o["status"] == "failed" else None)(c.operation(parent))), "the parent to fail")
    assert lost["error"]["code"] == "heartbeat_lost" and lost["stop"] is None
    assert c.operation(kept)["status"] == "running"
    # The owner's report is late now: it is kept beside the end.
    answer = c.say(parent, "complete", {"result": 7})
    assert code(answer) == "already_terminal" and answer.json["operation"]["status"] == "failed"
    until(lambda: (c.operation(parent)["late"] or {}).get("result") == 7, "the late report beside it")
    # While it is being stopped: unconfirmed.
    c.cancel(operation=kept, wait="fenced", grace_ms=60000)
    gone = c.wait_status(kept, "cancelled")
    assert (gone["stop"]["receipt"], gone["stop"]["proof"]) == ("unconfirmed", "none")
    # A late report that asks for the state it has already is kept, too.
    silent = c.register("s", lease_ms=1000)["id"]
    c.wait_status(silent, "failed")
    assert c.say(silent, "fail", {"code": "broken", "message": "far away"}).status == 200
    until(lambda: (c.operation(silent)["late"] or {}).get("report") == "fail", "the late failure beside it")
    failed = c.operation(silent)
    assert failed["error"]["code"] == "heartbeat_lost" and failed["late"]["error"]["code"] == "broken"
    stream.close()


def test_a_silent_owner_does_not_hold_up_a_cancel(c):
    id, quiet = (c.register("s", lease_ms=0, grace_ms=0)["id"] for _ in range(2))
    cancel = c.cancel(scope="s", wait="fenced")
    left = c.api("GET", f"/v1/cancels/{cancel['id']}").json["report"]["unproven"][0]
    assert left["why"] == "awaiting_owner" and left["next"]["action"] == "settle_unconfirmed" and left["next"]["at"]
    settled = c.api("GET", f"/v1/cancels/{cancel['id']}?wait=settled&wait_ms=60000").json
    assert settled["status"] == "settled" and settled["report"]["receipts"]["unconfirmed"] == 2 and not settled["report"]["proven"]
    assert 10000 <= settled["report"]["settled_ms"] < 30000, settled["report"]
    assert c.operation(id)["status"] == "cancelled"
    assert code(c.say(id, "complete", {"result": 1})) == "already_terminal"
    assert c.say(id, "stopped").status == 200  # the state that the report asks for
    assert c.say(quiet, "stopped").status == 200
    until(lambda: c.operation(quiet)["late"], "the late report beside it")
    over = c.operation(quiet)
    assert over["late"]["report"] == "stopped" and over["late"]["reported_at"]
    assert over["stop"]["receipt"] == "unconfirmed" and over["stop"]["proof"] == "none"  # the end stays as it was
    until(lambda: c.operation(id)["late"], "the first of two late reports")
    assert c.operation(id)["late"]["report"] == "complete"


def test_live_external_work_survives_a_killed_controller(c):
    run, stop = c.register("s/run", lease_ms=20000, session="r"), c.register("s/stop", lease_ms=20000, session="r", name="crawl", labels={"a": "b"})
    wait = c.register("s/run", lease_ms=20000, session="r", start="later")
    stream = c.listen("r")
    cancel = c.cancel(scope="s/stop", wait="fenced", reason="over", grace_ms=20000)
    until(lambda: stream.heard() == [stop["id"]], "the signal")
    told = stream.signals[0]
    assert told["name"] == "crawl" and told["labels"] == {"a": "b"}
    c.kill_controller()
    until(lambda: not stream.is_open, "the stream to break")
    c.start_controller()
    assert c.operation(run["id"])["status"] == "running" and c.operation(wait["id"])["status"] == "pending"
    assert c.operation(run["id"])["external"]["lease_ms"] == 20000 and c.operation(run["id"])["external"]["session"] == "r"
    back = c.listen("r")
    until(lambda: back.heard() == [stop["id"]], "the signal again")
    # The signal left before its row was on disk (decision 194): if the row was lost, its times are those of the second one.
    again = back.signals[0]
    for times in (again, again["cancel"], told, told["cancel"]):
        times.pop("kill_at", None)
    assert again["cancel"].pop("signalled_at") >= told["cancel"].pop("signalled_at")
    assert again == told
    assert c.say(wait["id"], "start").json["status"] == "running"
    for x in (run, wait):
        assert c.say(x["id"], "complete", {"result": None}).json["status"] == "completed"
    assert c.say(stop["id"], "stopped").json["stop"]["receipt"] == "cooperative"
    c.kill_controller()
    c.start_controller()
    report = c.api("GET", f"/v1/cancels/{cancel['id']}").json
    assert report["status"] == "settled" and report["report"]["proven"] and report["reason"] == "over"
    back.close()


def test_a_controller_that_stood_still_blames_no_owner(c):
    id, silent = c.register("s", lease_ms=2000, session="r")["id"], c.register("s", lease_ms=2000)["id"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        c.controller.send_signal(signal.SIGSTOP)
        try:
            beat = pool.submit(c.heart, session="r")
            frozen = time.monotonic()
            until(lambda: time.monotonic() - frozen > 6.5, "the controller to be frozen for longer than it can overlook")
        finally:
            c.controller.send_signal(signal.SIGCONT)
        assert beat.result()["renewed"] == 1
    assert c.operation(id)["status"] == "running"

    def lost():
        c.heart(session="r")
        return c.operation(silent)["status"] == "failed"
    until(lost, "the silent owner's lease to be over all the same")
    assert c.operation(id)["status"] == "running"


def test_a_scope_with_external_work_and_tasks_in_one_tree_stops_as_one():
    with ExternalCluster(workers=1) as c:
        m = marker()
        agent = c.register("job", session="r", name="agent")["id"]
        task = c.start("sh", "-c", f"while :; do sleep 1000; done #{m}", parent=agent)
        inner = c.register(parent=task["id"], session="r", name="inner")["id"]
        until(lambda: processes.marked(m), "the task to run")
        stream = c.listen("r")
        cancel = c.cancel(scope="job", wait="fenced")
        until(lambda: len(stream.signals) == 2, "both owners to be told")
        for id in (agent, inner):
            assert c.say(id, "stopped").status == 200
        settled = c.api("GET", f"/v1/cancels/{cancel['id']}?wait=settled").json
        assert settled["report"]["operations"] == 3 and settled["report"]["proven"] and not processes.marked(m), settled
        assert {c.operation(i)["status"] for i in (agent, inner, task["id"])} == {"cancelled"}
        # A normal end waits for the operations that requested that, and its task ends by itself.
        agent = c.register("job2", session="r")["id"]
        task = c.start("true", parent=agent, on_parent_end="wait")
        c.say(agent, "complete", {"result": 1})
        assert c.wait_status(agent, "completed")["result"] == 1 and c.operation(task["id"])["status"] == "completed"
        assert code(c.say(task["id"], "complete", {})) == code(c.say(task["id"], "heartbeat")) == code(c.say(task["id"], "start")) == "not_external"
        # A task's own token registers below it only.
        script = f"sleep 1000 #{m}"
        own = c.start("sh", "-c", 'printf "%s" "$QUELL_TOKEN"; ' + script)
        token = until(lambda: c.api("GET", f"/v1/operations/{own['id']}/output").body.decode(), "the token")
        child = c.try_register(token=token, session="in-task")
        assert child.status == 201 and child.json["parent"] == own["id"], child.body
        outside = c.register("job3", session="in-task")["id"]
        assert code(c.say(outside, "complete", {}, token=token)) == "operation_not_found"
        assert code(c.try_register(parent=outside, token=token)) == "forbidden"
        heard = SignalStream(c, "/v1/signals?session=in-task", token=token)
        c.cancel(operation=outside, wait="fenced")
        c.cancel(operation=child.json["id"], wait="fenced")
        until(lambda: heard.heard() == [child.json["id"]], "its own child's signal and no other")
        assert c.say(child.json["id"], "stopped", token=token).status == 200
        c.cancel(operation=own["id"])
        for s in (stream, heard):
            s.close()
