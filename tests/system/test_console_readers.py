"""The web console with a screen reader and on a phone: which row is active, which of how many it is, and boxes that nobody has to hover for."""

import pytest

from harness.cluster import Cluster
from harness.waiting import until

STAY = "trap 'exit 0' TERM; while :; do sleep 0.2 & wait $!; done"
ACTIVE = """return await page.locator('[role=tree]').evaluate((tree) => {
  const row = document.getElementById(tree.getAttribute('aria-activedescendant') ?? '');
  return row && { title: row.querySelector('.row-title').textContent, place: row.getAttribute('aria-posinset'), of: row.getAttribute('aria-setsize'), has_focus: document.activeElement === tree };
})"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        for i in range(3):
            c.wait_status(c.start("bash", "-c", STAY, scope="readers", title=f"number {i}")["id"], "running")
        yield c


def test_the_active_row_of_a_tree_is_named(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=readers")
    browser("await page.locator('[role=treeitem]').nth(2).waitFor()")
    assert browser(ACTIVE) is None
    titles = browser("return await page.locator('[role=treeitem] .row-title').allInnerTexts()")
    for place in (1, 2):
        browser("await page.keyboard.press('j')")
        browser.sees(titles[place - 1], ".row.focused")
        # The tree takes the focus behind the frame that shows the mark.
        until(lambda: browser(ACTIVE) == {"title": titles[place - 1], "place": str(place), "of": "3", "has_focus": True}, lambda: f"the row {place} to be active; {browser(ACTIVE)}")
    browser("await page.keyboard.press('x')")
    browser("await page.locator('[role=treeitem][aria-selected=true]').waitFor()")
    assert browser.flaws() == []


def test_the_marked_row_of_a_list_is_said(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:readers")
    browser("await page.locator('[role=listitem]').nth(2).waitFor(); await page.keyboard.press('j')")
    browser.sees("row 1 of 3", "[role=status]")
    found = browser("return await page.locator('[role=listitem][aria-current=true]').evaluateAll((all) => all.map((one) => [one.getAttribute('aria-posinset'), one.getAttribute('aria-setsize')]))")
    assert found == [["1", "3"]]
    assert browser.flaws() == []


@pytest.mark.parametrize("path", ["/tree?scope=readers", "/tree?q=scope:readers"])
def test_boxes_are_there_on_a_phone_without_hovering(cluster, browser, path):
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 390, height: 844 })")
    browser.go(path)
    browser("await page.locator('.row .choose').nth(2).waitFor()")
    assert browser("return await page.locator('.row .choose').evaluateAll((all) => all.map((one) => [getComputedStyle(one).opacity, getComputedStyle(one).visibility]))") == [["1", "visible"]] * 3
    browser("await page.locator('.row .choose').first().check()")
    browser.sees("1 chosen", ".chosen")
