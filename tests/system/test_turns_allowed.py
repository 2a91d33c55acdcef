"""Rules that allow: what they fit runs without a question, a line with anything else in it waits, and a rule that denies wins."""
import pytest

from harness.turns import TurnCluster

CONFIG = """
[[approval]]
tool = "exec"
[[approval]]
tool = "exec"
match = "echo *"
action = "allow"
[[approval]]
tool = "exec"
match = "echo no*"
action = "deny"
"""
LINES = {"plain": "echo one && echo two", "other": "echo one; touch made", "redirected": "echo one > made", "substituted": "echo $(touch made)", "denied": "echo no"}


@pytest.fixture(scope="module")
def c():
    script = [{"when": {"user": name}, "steps": [{"calls": [{"name": "exec", "input": {"command": line}}]}]} for name, line in LINES.items()]
    with TurnCluster(script + [{"when": {"result": ""}, "text": "Done."}, {"text": "Hello."}], CONFIG) as cluster:
        yield cluster


def test_a_line_all_of_whose_commands_are_allowed_runs_at_once(c):
    turn = c.say("allow/plain", "plain")
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("allow/plain", turn)
    assert result["ok"] and result["result"]["result"]["stdout"] == "one\ntwo\n", result
    assert not c.events(turn, "approval_required")


@pytest.mark.parametrize("name", ["other", "redirected", "substituted"])
def test_a_line_with_anything_else_waits_for_a_human_as_before(c, name):
    turn = c.say(f"allow/{name}", name)
    call = c.call(turn, "exec", "paused")
    assert c.events(turn, "approval_required") and not c.below(turn, kind="task"), call
    c.cancel(operation=turn)


def test_a_rule_that_denies_wins(c):
    turn = c.say("allow/denied", "denied")
    assert c.ended(turn)["status"] == "completed"
    result, = c.results("allow/denied", turn)
    assert result["result"]["error"]["code"] == "denied", result
