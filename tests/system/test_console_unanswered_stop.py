"""A stop that was confirmed in the web console while quelld did not answer: it is sent by itself once quelld is back, or it is said what became of it."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT, STAY, confirm

WAITING = "Not sent yet, as far as this page knows. quelld does not answer. It is sent again by itself"
PROVEN = "Stopped: 1 operation, each with proof"


@pytest.fixture(scope="module")
def cluster():
    # The tasks outlive the time for which quelld is away, however long the browser takes.
    with TurnCluster(SCRIPT, config=ASKS, workers=1, settings=["workers.lease=300s"]) as c:
        yield c


def started(cluster, title):
    op = cluster.start("bash", "-c", STAY, scope="away", title=title)
    cluster.wait_status(op["id"], "running")
    return op["id"]


def ask_to_stop(browser, op):
    browser.go(f"/operations/{op}")
    browser.press("Stop…")
    browser.sees("Stop ", "dialog h2")


def confirm_unheard(cluster, browser, op):
    """Signs in and confirms a stop while quelld is away."""
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    cluster.kill_controller()
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")


def cancels_of(cluster, op):
    return [c for c in cluster.api("GET", "/v1/cancels").json["cancels"] if c["target"].get("operation") == op]


@pytest.mark.parametrize("has_preview", [True, False])
def test_a_confirmed_stop_is_sent_by_itself_once_quelld_is_back(cluster, browser, has_preview):
    op = started(cluster, "stopped in the dark")
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    if has_preview:
        browser.sees("1 operation on", ".preview")
    cluster.kill_controller()
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")
    assert "stopped" not in browser.text("dialog").lower().replace("stopped in the dark", "")
    assert browser.flaws() == []
    cluster.start_controller()
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert cluster.operation(op)["status"] == "cancelled"
    assert len(cancels_of(cluster, op)) == 1, "however often it was sent, it is one stop"


def test_a_stop_goes_on_behind_a_closed_dialog_and_in_another_view(cluster, browser):
    op = started(cluster, "left alone")
    confirm_unheard(cluster, browser, op)
    browser("await page.keyboard.press('Escape'); await page.locator('nav').getByRole('link', { name: 'Workers' }).click()")
    browser.sees("Workers", "h1")
    browser.sees("Stop of left alone: not sent yet, as far as this page knows", ".stop-aside")
    assert browser.flaws() == []
    cluster.start_controller()
    browser.sees("Stop of left alone: quelld has taken it", ".stop-aside")
    cluster.wait_status(op, "cancelled")
    browser.press("Show the stop", ".stop-aside")
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert browser("return await page.locator('.stop-aside').count()") == 0
    assert len(cancels_of(cluster, op)) == 1


def test_leaving_the_page_is_asked_about_and_giving_up_sends_nothing_more(cluster, browser):
    op = started(cluster, "spared")
    confirm_unheard(cluster, browser, op)
    # The driver answers that the person stays.
    browser("const asked = page.waitForEvent('dialog'); await page.evaluate(() => void setTimeout(() => location.reload())); await asked")
    assert len(browser("return wrong.splice(0)")) == 1
    browser.press("Give up", "dialog")
    browser.sees("Given up. Nothing more is sent; what was sent before may have arrived", "dialog [role=alert]")
    cluster.start_controller()
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    assert cluster.operation(op)["status"] == "running" and cancels_of(cluster, op) == []
    browser.press("Try again", "dialog")
    browser.sees(PROVEN, "dialog [data-verdict=proven]")


def test_a_stop_that_arrived_and_whose_answer_was_lost_is_one_stop(cluster, browser):
    op = started(cluster, "answered in vain")
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    browser.sees("1 operation on", ".preview")
    browser("await page.route('**/v1/cancels', async (one) => { await one.fetch(); await one.abort(); }, { times: 1 })")
    confirm(browser)
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert len(cancels_of(cluster, op)) == 1


def test_a_refusal_ends_the_repeats_and_is_shown(cluster, browser):
    op = started(cluster, "out of reach")
    made = cluster.api("POST", "/v1/tokens", {"name": "leaves", "role": "operator"}).json
    browser.sign_in(cluster, token=made["token"])
    ask_to_stop(browser, op)
    browser("await page.route('**/v1/cancels', (one) => one.abort())")
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")
    assert cluster.api("DELETE", f"/v1/tokens/{made['id']}").status == 204
    browser("await page.unroute('**/v1/cancels')")
    browser.sees("Sign in", ".sign-in")
    browser.sees("Stop of out of reach: not confirmed.", ".sign-in .stop-aside")
    assert browser.flaws() == []
    assert cluster.operation(op)["status"] == "running" and cancels_of(cluster, op) == []
    browser.press("Seen", ".stop-aside")
    browser("await page.locator('.stop-aside').waitFor({ state: 'detached' })")
    cluster.cancel(operation=op)


def test_an_approval_without_an_answer_does_not_claim_to_be_repeated(cluster, browser):
    turn = cluster.say("chat/away", "asks")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("echo approved", ".need .command")
    cluster.kill_controller()
    browser.press("Approve", ".need")
    browser.sees("Whether this has reached it is not known: look before you try again", ".need [role=alert]")
    assert "by itself" not in browser.text(".need")
    cluster.start_controller()
    until(lambda: cluster.operations(status="paused"), "the call to wait for its approval again")
    cluster.cancel(scope="chat/away")
    assert cluster.ended(turn)["status"] == "cancelled"


@pytest.mark.parametrize("path", ["/tree?scope=away", "/tree?q=scope:away"])
def test_whoever_may_not_stop_is_offered_no_stop(cluster, browser, path):
    op = started(cluster, "only watched")
    made = cluster.api("POST", "/v1/tokens", {"name": "watcher", "role": "observer"}).json
    browser.sign_in(cluster, token=made["token"])
    browser.go(path)
    browser.sees("only watched", ".row")
    browser("await page.keyboard.press('j'); await page.keyboard.press('x'); await page.keyboard.press('c'); await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")  # the keys before it have been heard
    assert "stop" not in browser.text("dialog").lower()
    assert browser("return await page.locator('.row .choose, .chosen').count()") == 0
    assert browser("return await page.getByRole('button', { name: /^Stop/, includeHidden: true }).count()") == 0
    browser("await page.keyboard.press('Escape')")
    cluster.cancel(operation=op)
