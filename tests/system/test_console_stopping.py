"""A stop in the web console while it goes on: what is counted as being stopped, and which presses are a stop and which are none."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT, STAY

SLOTS, WAITING = 8, 20
DEAF = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1, slots=SLOTS) as c:
        yield c


def counts(browser, words, where):
    browser("await page.locator(args.where).getByText(args.words, { exact: true }).first().waitFor()", words=words, where=where)


def test_work_that_is_being_stopped_is_counted_beside_what_never_began(cluster, browser):
    deaf = [cluster.start("bash", "-c", DEAF, scope="counted", title=f"deaf {i}", grace_ms=600_000)["id"] for i in range(SLOTS)]
    for op in deaf:
        until(lambda: cluster.api("GET", f"/v1/operations/{op}/output").body == b"deaf\n", "it to be deaf")
    browser.sign_in(cluster)
    browser.go("/tree")
    counts(browser, "8 live", ".row-scope")
    for i in range(WAITING):
        cluster.start("true", scope="counted", title=f"waits {i}")
    counts(browser, "28 live", ".row-scope")
    cluster.cancel(scope="counted", wait="signalled")
    counts(browser, "8 live", ".row-scope")
    counts(browser, "8 cancelling", ".row-scope")
    browser.sees("8 cancelling", ".tree-count")
    cluster.cancel(scope="counted", grace_ms=0)
    browser.sees("Nothing lives here")


ALL = "page.getByRole('button', { name: 'Stop everything…' })"


def test_a_held_enter_opens_a_stop_and_confirms_nothing(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="held", title="goes on")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster)
    browser.go("/")
    browser(f"await {ALL}.focus(); await page.keyboard.down('Enter'); await page.locator('dialog').waitFor()")
    browser.sees("1 operation on", ".preview")
    browser("await page.waitForFunction(() => document.activeElement.closest('dialog') && document.activeElement.type === 'submit')")
    browser("for (let i = 0; i < 20; ++i) await page.keyboard.down('Enter')")  # each but the first is a repeat
    browser("await page.keyboard.up('Enter')")
    browser.sees("Stop everything that you may see?", "dialog h2")
    assert cluster.api("GET", "/v1/cancels?status=open").json["cancels"] == []
    assert cluster.operation(op)["status"] == "running"
    browser("await page.keyboard.press('Enter')")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")


def test_going_back_closes_the_dialog_and_stops_nothing(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="back", title="left behind")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster)
    browser.go("/workers")
    browser.sees("Workers", "h1")
    browser("await page.locator('nav').getByRole('link', { name: 'Live' }).click()")
    browser.press("Stop scope back")
    browser.sees("Stop scope back?", "dialog h2")
    browser("await page.goBack()")
    browser.sees("Workers", "h1")
    browser("await page.locator('dialog').waitFor({ state: 'detached' })")
    browser("await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")
    browser("await page.goForward()")
    browser.sees("Live", "h1")
    browser("await page.locator('dialog').waitFor({ state: 'detached' })")
    assert cluster.operation(op)["status"] == "running"
    cluster.cancel(operation=op)
