"""What is marked in the web console, and what a press of `c` then stops: the row that somebody marked, wherever it has gone."""

import pytest

from harness.turns import TurnCluster
from test_console import ASKS, SCRIPT, STAY


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


def started(cluster, title, scope, **fields):
    op = cluster.start("bash", "-c", STAY, scope=scope, title=title, **fields)
    cluster.wait_status(op["id"], "running")
    return op["id"]


def marked(browser):
    return browser("return await page.locator('.row.focused .row-title').allInnerTexts()")


LIST, TREE = "/tree?q=scope:{}", "/tree?scope={}"


@pytest.mark.parametrize("path, scope", [(LIST, "mark"), (TREE, "mark/tree"), ("/tree?by=parent&scope={}", "mark/parent")])
def test_a_mark_stays_at_its_row_when_another_begins(cluster, browser, path, scope):
    first = started(cluster, "FIRST", scope)
    browser.sign_in(cluster)
    browser.go(path.format(scope))
    browser.sees("FIRST", ".row")
    browser("await page.keyboard.press('j')")
    browser.sees("FIRST", ".row.focused")
    second = started(cluster, "SECOND", scope)
    browser.sees("SECOND", ".row")
    assert marked(browser) == ["FIRST"]
    browser("await page.keyboard.press('c')")
    browser.sees("Stop FIRST?", "dialog h2")
    browser("await page.keyboard.press('Enter')")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    assert [cluster.operation(op)["status"] for op in (first, second)] == ["cancelled", "running"]
    cluster.cancel(scope=scope)


@pytest.mark.parametrize("path", [LIST, TREE])
def test_when_a_marked_row_goes_no_row_is_marked(cluster, browser, path):
    scope = "gone/list" if path == LIST else "gone/tree"
    kept, marked_one = started(cluster, "KEPT", scope), started(cluster, "MARKED", scope)
    browser.sign_in(cluster)
    browser.go(path.format(scope))
    browser.sees("MARKED", ".row")
    order = browser("return await page.locator('.row .row-title').allInnerTexts()")
    browser("for (let i = 0; i <= args.place; ++i) await page.keyboard.press('j')", place=order.index("MARKED"))
    browser.sees("MARKED", ".row.focused")
    cluster.cancel(operation=marked_one)
    browser("await page.locator('.row', { hasText: 'MARKED' }).waitFor({ state: 'detached' })")
    assert marked(browser) == []
    browser("await page.keyboard.press('c'); await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")  # the key before it has been heard, and asked nothing
    browser("await page.keyboard.press('Escape'); await page.keyboard.press('j')")
    browser.sees("KEPT", ".row.focused")
    cluster.cancel(operation=kept)


def test_a_mark_does_not_go_over_to_another_search(cluster, browser):
    ops = [started(cluster, title, "searched") for title in ("alpha", "beta")]
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:searched alpha")
    browser.sees("alpha", ".row")
    browser("await page.keyboard.press('j')")
    browser.sees("alpha", ".row.focused")
    browser("const box = page.locator('#search'); await box.fill('scope:searched beta'); await page.locator('.row', { hasText: 'beta' }).waitFor(); await box.blur()")
    assert marked(browser) == []
    browser("await page.keyboard.press('c'); await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")
    browser("await page.keyboard.press('Escape')")
    assert [cluster.operation(op)["status"] for op in ops] == ["running", "running"]
    cluster.cancel(scope="searched")
