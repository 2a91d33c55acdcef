"""A conversation in the web console while a large swarm works in its scope: the answer can be stopped, and the call that asks is answered."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT, confirm

SWARM = 250  # more than one page
SCOPE = "crowded"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


def swarm(cluster):
    for _ in range(SWARM):
        answer = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": SCOPE, "external": {"lease_ms": 0}, "grace_ms": 0})
        assert answer.status == 201, answer.body


def test_an_answer_is_stopped_and_its_call_approved_beside_a_large_swarm(cluster, browser):
    assert cluster.ended(cluster.say(SCOPE, "hello"))["status"] == "completed"
    turns = []
    browser.sign_in(cluster)
    for press in ("Approve", "Stop"):
        turns.append(cluster.say(SCOPE, "asks"))
        until(lambda: cluster.below(turns[-1], status="paused"), "the call to ask")
        if press == "Approve":
            swarm(cluster)
        browser.go(f"/conversation?scope={SCOPE}")
        browser.sees("Answering since", ".turn-bar")
        browser.sees("echo approved", ".talk .command")
        assert browser("return await page.getByRole('button', { name: 'Edit…' }).first().isDisabled()"), "not while an answer is written"
        if press == "Approve":
            browser.press("Approve", ".talk")
            assert cluster.ended(turns[-1])["status"] == "completed"
        else:
            swarm(cluster)
            browser.go(f"/conversation?scope={SCOPE}")
            browser.press("Stop this answer…", ".turn-bar")
            browser.sees("Stop this answer?", "dialog h2")
            confirm(browser)
            browser.sees("each with proof", "dialog [data-verdict=proven]")
            assert cluster.ended(turns[-1])["status"] == "cancelled"
    live = cluster.operations(scope=SCOPE, kind="external", status="live")
    assert len(live) == 2 * SWARM, "the swarm goes on"
    for op in live:
        assert cluster.api("POST", f"/v1/operations/{op['id']}/complete", {"result": 1}).status == 200
