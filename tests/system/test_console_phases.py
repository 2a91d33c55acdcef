"""What the web console says of work that was stopped: its receipt and proof in lists, and the phases of the stop in its timeline."""

import pytest

from harness.cluster import Cluster

STAY = "trap 'exit 0' TERM; while :; do sleep 0.2 & wait $!; done"


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


@pytest.fixture(scope="module")
def stopped(cluster):
    other = cluster.start("true", scope="phases", title="went well, and has a long title that takes what room there is, and more")
    cluster.wait_status(other["id"], "completed")
    op = cluster.start("bash", "-c", STAY, scope="phases", title="was stopped")
    cluster.wait_status(op["id"], "running")
    cluster.cancel(operation=op["id"])
    return cluster.operation(op["id"])


def test_a_cancelled_operation_is_listed_with_its_receipt_and_proof(cluster, browser, stopped):
    browser.sign_in(cluster)
    browser.go("/ended?q=scope:phases")
    words = f"{stopped['stop']['receipt']}, proof: {stopped['stop']['proof']}".replace("_", " ")
    browser.sees(words, ".row-op .row-detail")
    for width in (1360, 1024, 390):
        browser("await page.setViewportSize({ width: args.width, height: 844 })", width=width)
        browser("await page.locator('.row-detail').first().waitFor()")
        # A phone cuts the end of the words.
        assert width == 390 or browser("return await page.locator('.row-op .row-detail').first().evaluate((el) => el.scrollWidth <= el.clientWidth)"), width
    browser("await page.setViewportSize({ width: 1360, height: 860 })")
    places = browser("return await page.locator('.row-op').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.col')].map((one) => Math.round(one.getBoundingClientRect().left)).join()))")
    assert len(places) == 2 and len(set(places)) == 1, places


def test_a_timeline_says_the_kind_and_the_phases_of_the_stop(cluster, browser, stopped):
    browser.sign_in(cluster)
    browser.go(f"/operations/{stopped['id']}")
    browser.sees("task", ".bar-row .bar-kind")
    for phase in ("fenced", "signalled", "settled"):
        browser.sees(phase, ".stop-phases")
        browser(f"await page.locator('.bar-row .mark-{phase}').waitFor({{ state: 'attached' }})")
    assert browser.flaws() == []
    # Before the stop there is none of it.
    browser("await page.locator('.replay input').fill('0')")
    browser("await page.locator('.bar-row .mark').first().waitFor({ state: 'detached' })")
    assert "fenced" not in browser.text(".stop-phases")
    # It plays to its end by itself.
    browser.sees("task", ".legend")
    browser.press("Replay", ".replay")
    browser.sees("to its end", ".replay")
    browser("await page.locator('.bar-row .mark-settled').waitFor({ state: 'attached' }); await page.getByRole('button', { name: 'Replay' }).waitFor()")
