"""Searches of the web console: what matches is found behind what does not, nothing of one search stays in another, each row shows its Stop, and odd addresses are read whole."""

import pytest

from harness.turns import TurnCluster
from test_console import ASKS, SCRIPT

# More than two pages of the console stand before the oldest one.
TITLES = ["needle"] + [f"hay-{i}" for i in range(449)]


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


@pytest.fixture(scope="module")
def stack(cluster):
    batch = [{"kind": "external", "scope": "stack", "title": title, "external": {"lease_ms": 0}} for title in TITLES]
    answer = cluster.api("POST", "/v1/operations/batch", {"operations": batch})
    assert answer.status == 200, answer.body
    yield
    ids = [r["operation"]["id"] for r in answer.json["results"]]
    assert cluster.api("POST", "/v1/operations/end", {"items": [{"id": id, "complete": {}} for id in ids]}).status == 200


def search(browser, text):
    browser("await page.locator('#search').fill(args.text)", text=text)


def test_a_match_behind_pages_without_any_is_found(cluster, browser, stack):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:stack needle")
    browser.sees("needle", "[role=listitem]")
    assert browser("return await page.locator('[role=listitem]').count()") == 1
    assert browser.flaws() == []


def test_a_page_of_the_search_before_is_not_shown_in_the_next(cluster, browser, stack):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:stack hay")
    browser.sees("hay-448", "[role=listitem]")
    browser("""await page.route(/v1\\/operations\\?.*cursor=/, async (one) => {
          const answer = await one.fetch();
          if (!globalThis.held) { globalThis.held = true; await new Promise((go) => { globalThis.let_go = go; }); }
          await one.fulfill({ response: answer }).catch(() => {});
        });
        const box = page.locator('.virtual');
        while (!globalThis.held) await box.evaluate((el) => { el.scrollTop = el.scrollHeight; });""")
    search(browser, "scope:stack hay-448")
    browser("await page.getByText('hay-447', { exact: true }).waitFor({ state: 'detached' }); await page.locator('[role=listitem]').getByText('hay-448', { exact: true }).waitFor()")
    browser("globalThis.let_go(); await page.waitForFunction(() => !document.body.innerText.includes('going on')); await page.unroute(/v1\\/operations\\?.*cursor=/)")
    assert browser("return await page.locator('[role=listitem] .row-title').allInnerTexts()") == ["hay-448"]


def test_a_choice_does_not_go_over_to_another_search(cluster, browser, stack):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:stack hay-448")
    browser.sees("hay-448", "[role=listitem]")
    browser("await page.keyboard.press('j'); await page.keyboard.press('x')")
    browser.sees("1 chosen", ".chosen")
    search(browser, "scope:stack hay-447")
    browser.sees("hay-447", "[role=listitem]")
    assert browser("return await page.locator('.chosen, .row.focused').count()") == 0
    search(browser, "scope:stack hay-448")
    browser.sees("hay-448", "[role=listitem]")
    assert browser("return await page.locator('.chosen, .row.focused').count()") == 0


@pytest.mark.parametrize("width", [800, 1024, 1180, 1280, 1366, 1440])
def test_the_stop_of_a_row_is_on_the_screen(cluster, browser, stack, width):
    browser("await page.setViewportSize({ width: args.width, height: 800 })", width=width)
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:stack hay")
    browser.sees("hay-448", "[role=listitem]")
    beyond = browser("""return await page.locator('.virtual').evaluate((box) => {
          const end = box.getBoundingClientRect().left + box.clientLeft + box.clientWidth;
          return Math.max(...[...box.querySelectorAll('.stop')].map((stop) => stop.getBoundingClientRect().right)) - end;
        });""")
    assert beyond <= 0, f"the button ends {beyond} px beyond the list"
    assert browser("return await page.locator('.virtual .row-title').first().evaluate((one) => one.clientWidth)") >= 100


def test_an_address_is_read_to_its_end(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?q=what?x")
    browser("await page.waitForFunction(() => document.getElementById('search')?.value === 'what?x')")


def test_an_address_that_names_nothing_says_so(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/operations/%zz")
    browser.sees("There is no such view", ".empty")
    browser.sees("quell", "nav")
