"""The web console: all of what a call that waits would do is shown; it is approved with another input, and the server's error is shown where it is edited."""
import os

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

CONFIG = '[[approval]]\ntool = "exec"\nmatch = "rm *"\n[[approval]]\ntool = "exec"\nmatch = "rm -rf /*"\naction = "deny"\n'
SCRIPT = [
    {"when": {"user": "one", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f ./nothing; echo original >> ran"}}]}]},
    {"when": {"user": "hidden", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f ./a\u202etxt.b", "cwd": "elsewhere", "env": {"LD_PRELOAD": "/tmp/x.so"}}}]}]},
    {"when": {"result": ""}, "text": "Done: {{results}}"},
    {"text": "You said {{text}}."},
]


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, CONFIG) as c:
        yield c


def asked(c, scope, words="one"):
    turn = c.say(scope, words)
    call, = until(lambda: c.below(turn, status="paused"), "a call to wait for a human")
    return turn, call["id"]


def type_input(browser, text):
    browser("await page.getByLabel('Input', { exact: true }).fill(args.text)", text=text)


def test_an_input_is_changed_and_what_is_wrong_is_said(cluster, browser):
    turn, call = asked(cluster, "console/changed")
    browser.sign_in(cluster)
    browser.go(f"/operations/{call}")
    browser.sees("rm -f ./nothing", ".approval")
    browser.press("Change…", ".approval")
    assert browser.flaws() == []
    type_input(browser, "{")
    browser.press("Approve changed", ".approval")
    browser.sees("This is not JSON", ".approval [role=alert]")
    type_input(browser, "[]")
    browser.press("Approve changed", ".approval")
    browser.sees("one JSON object", ".approval [role=alert]")
    type_input(browser, '{"command": "ls", "colour": "red"}')
    browser.press("Approve changed", ".approval")
    browser.sees("colour", ".approval [role=alert]")
    type_input(browser, '{"command": "rm -rf /srv"}')
    browser.press("Approve changed", ".approval")
    browser.sees("denies", ".approval [role=alert]")
    assert browser.flaws() == []
    assert cluster.operation(call)["status"] == "paused"
    type_input(browser, '{"command": "echo changed >> ran"}')
    browser.press("Approve changed", ".approval")
    assert cluster.ended(turn)["status"] == "completed"
    assert open(os.path.join(cluster.workspace, "ran")).read().split() == ["changed"]
    browser.sees("Input that it ran with", "h2")
    browser.sees("echo changed", "pre")


def test_a_change_is_taken_back(cluster, browser):
    turn, call = asked(cluster, "console/same")
    browser.sign_in(cluster)
    browser.go(f"/operations/{call}")
    browser.press("Change…", ".approval")
    type_input(browser, '{"command": "echo never >> ran"}')
    browser.press("Leave as it is", ".approval")
    browser.sees("rm -f ./nothing", ".approval pre")
    browser.press("Deny", ".approval")
    assert cluster.ended(turn)["status"] == "completed" and "changed" not in cluster.operation(call)["tool"]


def test_whoever_decides_sees_all_of_the_input_and_what_hides_in_it(cluster, browser):
    turn, call = asked(cluster, "console/hidden", "hidden")
    browser.sign_in(cluster)
    for path, where in (("/", ".need"), (f"/operations/{call}", ".approval"), ("/conversation?scope=console/hidden", ".talk .approval")):
        browser.go(path)
        for words in ("rm -f ./a⟨U+202E⟩txt.b", "LD_PRELOAD", "/tmp/x.so", "elsewhere"):
            browser.sees(words, where)
    assert browser.flaws() == []
    browser.press("Change…", ".approval")
    assert "\\u202e" in browser("return await page.getByLabel('Input', { exact: true }).inputValue()"), "also where it is edited"
    browser.press("Leave as it is", ".approval")
    browser.press("Deny", ".approval")
    assert cluster.ended(turn)["status"] == "completed"
