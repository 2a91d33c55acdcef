"""A stop that settled without proof stays in the web console until somebody has seen it, whatever the browser's clock says and however many come after it."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT

AHEAD_MS = 2 * 3_600_000
NEWER = 110  # more than one look reads


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=0) as c:
        yield c


def external(cluster, scope, **fields):
    answer = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": scope, "external": {"lease_ms": 0}, **fields})
    assert answer.status == 201, answer.body
    return answer.json["id"]


def test_a_stop_without_proof_outlives_the_clock_and_newer_stops_until_it_is_seen(cluster, browser):
    lost = external(cluster, "far", title="far away", grace_ms=0)
    stop = cluster.cancel(scope="far", wait="fenced")
    until(lambda: cluster.api("GET", f"/v1/cancels/{stop['id']}").json["status"] == "settled", "the stop to settle")
    assert cluster.operation(lost)["stop"]["receipt"] == "unconfirmed"
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("Settled without proof: scope far", ".need")
    for i in range(NEWER):
        cluster.cancel(scope=f"idle/{i}", wait="fenced")
    newest = cluster.api("GET", "/v1/cancels?limit=100").json["cancels"]
    assert stop["id"] not in [c["id"] for c in newest]
    browser("""const ahead = await context.newPage();
        await ahead.addInitScript((ms) => { const real = Date.now; Date.now = () => real() + ms; }, args.ms);
        await ahead.goto(args.url + '/');
        await ahead.locator('.need', { hasText: 'Settled without proof: scope far' }).waitFor();
        await ahead.close();
        await page.bringToFront();""", ms=AHEAD_MS)
    browser("await page.waitForResponse((one) => one.url().includes('/v1/cancels?limit=100'))")  # it has looked again
    browser.sees("Settled without proof: scope far", ".need")
    assert "every stop is proven" not in browser.text("main").lower()
    browser.press("Seen", ".need")
    browser.sees("one or more settled without proof", ".all-well")
    browser.go("/")
    browser.sees("one or more settled without proof", ".all-well")
