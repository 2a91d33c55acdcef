"""Approvals that stand: one exact call in one place, listed, revoked, over restarts; rules that deny, and questions that expire."""
import threading

import pytest

from harness.faults import HOUR, Machine
from harness.turns import TurnCluster
from harness.waiting import until

CONFIG = ('[[approval]]\ntool = "exec"\nmatch = "rm *"\n[[approval]]\ntool = "exec"\nmatch = "rm -rf /*"\naction = "deny"\n'
          '[[approval]]\ntool = "exec"\nmatch = "mv *"\ntimeout = "300ms"\n[[approval]]\ntool = "exec"\nmatch = "cp *"\ntimeout = "1h"\n')


def rm(what):
    return {"name": "exec", "input": {"command": f"rm -rf ./{what} && echo removed {what}"}}


SCRIPT = [
    {"when": {"user": "one", "round": 1}, "steps": [{"calls": [rm("a")]}]},
    {"when": {"user": "two", "round": 1}, "steps": [{"calls": [rm("b")]}]},
    {"when": {"user": "never", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -rf /nothing-of-ours"}}]}]},
    {"when": {"user": "late", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "mv x y"}}]}]},
    {"when": {"user": "waits", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "cp x y"}}]}]},
    {"when": {"user": "list", "round": 1}, "steps": [{"calls": [{"name": "list", "input": {"path": "."}}]}]},
    {"when": {"result": ""}, "text": "Done."},
    {"text": "You said {{text}}."},
]


@pytest.fixture
def c():
    with TurnCluster(SCRIPT, CONFIG) as cluster:
        yield cluster


def asked(c, turn):
    call, = until(lambda: c.below(turn, status="paused"), "a call to wait for a human")
    return call["id"]


def approve(c, call, token=None, **body):
    return c.api("POST", f"/v1/operations/{call}/approve", body, token=token)


def rules(c, token=None):
    return c.api("GET", "/v1/approvals/rules", token=token).json["rules"]


def runs_unasked(c, scope, text="one"):
    turn = c.say(scope, text)
    assert c.ended(turn)["status"] == "completed"
    assert not c.events(turn, "approval_required"), c.events(turn)
    result, = c.results(scope, turn)
    assert result["ok"], result


def is_asked(c, scope, text="one"):
    turn = c.say(scope, text)
    call = asked(c, turn)
    assert c.api("POST", f"/v1/operations/{call}/deny", {}).status == 200
    c.ended(turn)


def allowed(c, scope="always/a", for_ms=3_600_000, **body):
    turn = c.say(scope, "one")
    answer = approve(c, asked(c, turn), always={"for_ms": for_ms}, **body)
    assert answer.status == 200, answer.body
    assert c.ended(turn)["status"] == "completed"
    return rules(c)


def rewrite(c, change):
    """Reloads the configuration as `change` makes it."""
    c.configure(change(c.configuration()))
    c.quell("reload", check=0)


def test_the_same_call_runs_unasked_there_and_nowhere_else(c):
    only, = allowed(c, by={"id": "ann", "name": "Ann"})
    assert (only["scope"], only["agent"], only["tool"], only["rule"]) == ("always/a", "main", "exec", "exec: rm *"), only
    assert only["input"] == rm("a")["input"] and only["by"]["id"] == "ann" and only["expires_at"] > only["created_at"]
    runs_unasked(c, "always/a")
    is_asked(c, "always/a", "two")  # another input
    is_asked(c, "always/b")  # another place
    is_asked(c, "always/a/below")
    c.restart()
    assert rules(c) == [only]
    runs_unasked(c, "always/a")
    assert c.api("DELETE", f"/v1/approvals/rules/{only['id']}").status == 204
    assert rules(c) == [] and c.api("DELETE", f"/v1/approvals/rules/{only['id']}").status == 404
    is_asked(c, "always/a")
    c.restart()
    assert rules(c) == []
    is_asked(c, "always/a")
    c.check_scope("always/a")


def test_it_expires(c):
    allowed(c, for_ms=1)
    until(lambda: rules(c) == [], "it to expire")
    is_asked(c, "always/a")


def test_a_repeat_completes_it_and_moves_its_expiry(c):
    turn = c.say("always/a", "one")
    call = asked(c, turn)
    assert approve(c, call).status == 200  # and quelld dies before it stands
    first, = (approve(c, call, always={"for_ms": 60_000}), rules(c))[1]
    again, = (approve(c, call, always={"for_ms": 600_000}), rules(c))[1]
    assert again["id"] == first["id"] and again["expires_at"] > first["expires_at"]


def test_only_those_who_may_decide_see_and_change_it(c):
    only, = allowed(c)
    tokens = [c.api("POST", "/v1/tokens", {"name": name, "role": role, "scope": scope}).json["token"]
              for name, role, scope in (("talks", "chat", "always"), ("looks", "observer", "always"), ("else", "operator", "other"))]
    for token in tokens[:2]:
        assert c.api("GET", "/v1/approvals/rules", token=token).status == 403
        assert c.api("DELETE", f"/v1/approvals/rules/{only['id']}", token=token).status == 403
    assert rules(c, tokens[2]) == []
    assert c.api("DELETE", f"/v1/approvals/rules/{only['id']}", token=tokens[2]).status == 404
    turn = c.say("always/b", "one")
    assert approve(c, asked(c, turn), tokens[0], always={"for_ms": 1000}).status == 403
    assert rules(c) == [only]


def test_what_is_no_approval_of_a_call_cannot_stand(c):
    turn = c.say("always/a", "one")
    call = asked(c, turn)
    for always in ({}, {"for_ms": 0}, {"for_ms": 2_592_000_001}, {"for_ms": 1000, "tool": "*"}, "1h"):
        assert approve(c, call, always=always).status == 422, always
    assert c.api("POST", f"/v1/operations/{call}/deny", {"always": {"for_ms": 1000}}).status == 422
    assert c.operation(call)["status"] == "paused" and rules(c) == []
    free = c.say("always/b", "list")
    c.ended(free)
    done, = c.below(free, kind="tool_call")
    assert approve(c, done["id"], always={"for_ms": 1000}).status == 422 and rules(c) == []


def test_the_commands(c):
    turn = c.say("always/a", "one")
    call = asked(c, turn)
    assert c.quell("approve", call, "--always", "1h", check=0)
    only, = rules(c)
    shown = c.quell("approvals", "list", check=0).stdout.decode()
    assert "always/a" in shown and "main" in shown and "exec" in shown, shown
    c.quell("approvals", "revoke", only["id"], check=0)
    assert rules(c) == []
    audit = c.quell("audit", "list", "--json", check=0).stdout.decode()
    assert "approval_rule_add" in audit and "approval_rule_revoke" in audit


def test_what_a_rule_denies_nobody_is_asked_about(c):
    turn = c.say("always/c", "never")
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("always/c", turn)
    assert result["result"]["error"]["code"] == "denied" and not c.events(turn, "approval_required"), result
    assert not c.below(turn, kind="task")


def test_a_rule_that_a_reload_brings_holds_for_a_call_that_waits_already(c):
    turn = c.say("always/e", "one")
    call = asked(c, turn)
    rewrite(c, lambda text: text + '\n[[approval]]\ntool = "exec"\nmatch = "rm -rf ./a"\naction = "deny"\n')
    refused = approve(c, call)
    assert (refused.status, refused.json["code"]) == (403, "forbidden"), refused.body
    assert c.operation(call)["status"] == "paused" and not c.below(turn, kind="task")
    assert c.api("POST", f"/v1/operations/{call}/deny", {}).status == 200
    assert c.ended(turn)["status"] == "completed"
    c.check_scope("always/e")


def test_a_question_that_nobody_answers_is_denied(c):
    turn = c.say("always/d", "late")
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("always/d", turn)
    assert not result["ok"] and "nobody decided" in str(result["result"]), result
    assert result["result"]["error"]["code"] == "denied" and "person" not in str(result["result"]), result
    resolved, = c.events(turn, "approval_resolved")
    assert resolved["data"]["decision"] == "denied" and resolved["data"]["by"]["id"] == "quell", resolved
    assert not c.below(turn, kind="task")
    c.check_scope("always/d")


def test_a_restart_does_not_extend_the_wait(c):
    turn = c.say("always/f", "waits")
    asked(c, turn)
    c.kill_controller()
    with Machine() as machine:
        machine.jump_wall(2 * HOUR)  # the hour passes while quelld is away
        c.start_controller(env=machine.environment())
        assert c.ended(turn)["status"] == "completed"
        resolved, = c.events(turn, "approval_resolved")
        assert resolved["data"]["decision"] == "denied" and resolved["data"]["by"]["id"] == "quell", resolved
        assert not c.below(turn, kind="task")
        c.check_scope("always/f")


def test_another_rule_about_the_same_call_asks_again(c):
    allowed(c)
    runs_unasked(c, "always/a")
    rewrite(c, lambda text: text.replace('match = "rm *"', 'match = "rm -rf *"'))
    is_asked(c, "always/a")


def test_a_rule_that_a_stop_crosses_stands_only_if_the_call_was_approved(c):
    decisions = set()
    for n in range(8):
        scope = f"always/cross{n}"
        turn = c.say(scope, "one")
        call = asked(c, turn)
        answers = {}
        crowd = [threading.Thread(target=lambda: answers.update(yes=approve(c, call, always={"for_ms": 3_600_000}))),
                 threading.Thread(target=lambda: answers.update(no=c.cancel(scope=scope)))]
        for one in crowd if n % 2 else crowd[::-1]:
            one.start()
        for one in crowd:
            one.join()
        end = c.ended(turn)["status"]
        decision, = [e["data"]["decision"] for e in c.events(turn, "approval_resolved")]
        # A stop that is late for the approved call can be late for the whole turn.
        assert answers["no"]["status"] == "settled" and (end == "cancelled" or (end, decision) == ("completed", "approved")), (end, answers)
        decisions.add(decision)
        stands = [r for r in rules(c) if r["scope"] == scope]
        assert bool(stands) == (decision == "approved") == (answers["yes"].status == 200), (decision, stands, answers["yes"].body)
        if decision != "approved":
            assert answers["yes"].status == 409 and not c.below(turn, kind="task"), answers["yes"].body
        c.check_scope(scope)
    assert decisions, "never asked"
