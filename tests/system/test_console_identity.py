"""Who acts in the web console: signing out is said only if quelld has done it, another tab's sign-in is noticed, and a pasted link signs in."""

import pytest

from harness.turns import TurnCluster
from test_console import ASKS, confirm, SCRIPT, STAY


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


def test_a_sign_out_that_quelld_does_not_answer_is_not_said_to_be_done(cluster, browser):
    browser.sign_in(cluster)
    cluster.kill_controller()
    browser.press("Sign out")
    browser.sees("Not signed out, as far as this page knows. quelld does not answer.", ".not-signed-out")
    assert browser.flaws() == []
    cluster.start_controller()
    browser("await page.locator('.lost', { hasText: 'quelld does not answer, since' }).waitFor({ state: 'detached' })")
    browser.go("/workers")
    browser.sees("Workers", "h1")  # it is true: the browser is still signed in
    browser.press("Sign out", "nav")
    browser.sees("Sign in", ".sign-in")
    browser.go("/workers")
    browser.sees("Sign in", ".sign-in")


def sign_in_another_tab(cluster, browser, token):
    made = cluster.api("POST", "/v1/sessions/links", {}, token=token)
    assert made.status == 201, made.body
    browser("const tab = await context.newPage(); await tab.goto(args.url + args.path); await tab.locator('nav').waitFor(); await tab.close(); await page.bringToFront()", path=made.json["path"])


def token_of(cluster, name, role):
    return cluster.api("POST", "/v1/tokens", {"name": name, "role": role}).json["token"]


def test_a_sign_in_in_another_tab_is_noticed(cluster, browser):
    browser.sign_in(cluster, token=token_of(cluster, "ann", "operator"))
    browser.go("/tree")
    browser.sees("ann", "nav .who")
    sign_in_another_tab(cluster, browser, token_of(cluster, "bob", "observer"))
    browser.sees("Somebody else is signed in", ".sign-in h1")
    browser.sees("bob (observer)", ".sign-in")
    browser.sees("ann (operator)", ".sign-in")
    assert browser.flaws() == []
    browser.press("Go on as bob")
    browser.sees("bob", "nav .who")
    browser.sees("Live", "h1")
    assert browser("return await page.getByRole('button', { name: /^Stop/, includeHidden: true }).count()") == 0, "an observer stops nothing"


def test_a_stop_without_an_answer_is_not_sent_in_the_name_of_somebody_else(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="two", title="of two")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster, token=token_of(cluster, "cid", "operator"))
    browser.go(f"/operations/{op}")
    browser("await page.route('**/v1/cancels', (one) => one.abort())")
    browser.press("Stop…")
    confirm(browser)
    browser.sees("Not sent yet, as far as this page knows", "dialog .unanswered")
    sign_in_another_tab(cluster, browser, token_of(cluster, "dora", "operator"))
    browser.sees("Stop of of two: not confirmed. Somebody else is signed in.", ".stop-aside")
    browser("await page.unroute('**/v1/cancels')")
    browser.press("Go on as dora")
    browser.sees("of two", "h1")
    assert cluster.operation(op)["status"] == "running"
    assert [c for c in cluster.api("GET", "/v1/cancels").json["cancels"] if c["target"].get("operation") == op] == []
    cluster.cancel(operation=op)


def link(cluster, token=None):
    return cluster.api("POST", "/v1/sessions/links", {}, token=token).json["path"]


@pytest.mark.parametrize("where", ["address", "field"])
def test_a_link_that_is_pasted_into_the_open_page_signs_in(cluster, browser, where):
    browser.go("/")
    browser.sees("Sign in", ".sign-in")
    if where == "address":
        browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=link(cluster))
    else:
        browser("await page.getByLabel('Token').fill(args.url + args.path); await page.getByRole('button', { name: 'Sign in' }).click()", path=link(cluster))
    browser.sees("quell", "nav")
    assert "#" not in browser("return page.url()")


def test_a_link_of_somebody_else_begins_the_open_page_anew(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree")
    browser.sees("Tokens", "nav")
    path = link(cluster, token_of(cluster, "eve", "observer"))
    browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=path)
    browser.sees("eve", "nav .who")
    assert "Tokens" not in browser.text("nav")
    browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=path)
    browser.sees("Still signed in as eve: the link did not sign in.", ".stage [role=alert]")
    browser.press("Seen", ".stage [role=alert]")
