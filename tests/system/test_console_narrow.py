"""The web console on the narrowest screen (320 px), with names, reasons and owners that have no space: nothing stands beyond the edge."""

import pytest

from harness.turns import TurnCluster

STAY = "trap 'exit 0' TERM; sleep 1000 & wait $!"
LONG = "x" * 120
SCOPE = f"narrow/{LONG}"
# Of what stands beyond the edge, the first few. What scrolls inside or is cut off (tables, rows, output, charts) may be wider than it shows.
# What measures itself is right two frames later.
BEYOND = """return await page.evaluate(async () => {
  await new Promise((next) => (requestAnimationFrame(() => requestAnimationFrame(next)), setTimeout(next, 1000)));
  const scrolls = (el) => el.closest('.scroll, .virtual, pre, .chart, .preview-list') !== null || getComputedStyle(el).position === 'fixed' || el.closest('.nav, .hidden, .skip') !== null;
  const main = document.getElementById('main'), wide = main.scrollWidth > main.clientWidth || document.documentElement.scrollWidth > innerWidth;
  const beyond = [...document.querySelectorAll('#main *, .lost, dialog[open], dialog[open] *')].filter((el) => !scrolls(el) && el.getBoundingClientRect().right > innerWidth + 1);
  return [...(wide ? [`main is ${main.scrollWidth} of ${main.clientWidth}`] : []), ...beyond.slice(0, 5).map((el) => el.outerHTML.slice(0, 200))];
})"""


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster([{"text": "y" * 300}]) as c:
        yield c


@pytest.fixture(scope="module")
def ops(cluster):
    """One that was stopped for a long reason, and one that lives."""
    owner = {"id": "o" * 120, "name": "n" * 120}
    both = [cluster.start("bash", "-c", STAY, LONG, scope=SCOPE, title="t" * 190, owner=owner, labels={"k" * 60: LONG}) for _ in range(2)]
    for op in both:
        cluster.wait_status(op["id"], "running")
    stop = cluster.cancel(operation=both[0]["id"], reason="r" * 400)
    assert cluster.ended(cluster.say(SCOPE, "w" * 300)) is not None
    cluster.api("POST", "/v1/tokens", {"name": "k" * 100, "role": "observer", "scope": SCOPE})
    return {"stopped": both[0]["id"], "live": both[1]["id"], "stop": stop["id"]}


def test_nothing_stands_beyond_the_edge(cluster, browser, ops):
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 320, height: 640 })")
    paths = ["/", "/tree", f"/tree?scope={SCOPE}", f"/tree?q=scope:{SCOPE}", "/cancels", f"/cancels/{ops['stop']}", f"/ended?q=scope:{SCOPE}", f"/operations/{ops['live']}", f"/operations/{ops['stopped']}",
             "/conversation", f"/conversation?scope={SCOPE}", "/workers", "/cluster", "/cost", f"/cost?by=scope&scope={SCOPE}", "/audit", "/tokens"]
    found = {}
    for path in paths:
        browser.go(path)
        browser.sees("", "#main h1")
        browser("await page.waitForFunction(() => !document.querySelector('.loading'))")
        beyond = browser(BEYOND)
        if beyond:
            found[path] = beyond
    assert found == {}


def test_the_stop_dialog_fits(cluster, browser, ops):
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 320, height: 640 })")
    browser.go(f"/operations/{ops['live']}")
    browser("await page.getByRole('button', { name: 'Stop…' }).click(); await page.locator('dialog .preview').waitFor()")
    assert browser(BEYOND) == []
    browser("await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click(); await page.locator('dialog [data-verdict=proven]').waitFor()")
    assert browser(BEYOND) == []
