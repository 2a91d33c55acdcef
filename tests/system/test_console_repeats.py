"""The web console asks again by itself for what could not be read, as it says: lists, timelines and trees."""

import pytest

from harness.cluster import Cluster

STAY = "trap 'exit 0' TERM; while :; do sleep 0.2 & wait $!; done"
CUT = """await page.unroute('**/v1/**').catch(() => {});
await page.route('**/v1/**', (route) => (route.request().url().includes(args.part) ? route.abort() : route.continue()))"""
MEND = "await page.unroute('**/v1/**')"


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


@pytest.mark.parametrize("path, part, row", [
    ("/tree?q=scope:again", "/v1/operations?", ".row-op"),
    ("/tree?scope=again", "/v1/tree?", "[role=treeitem]"),
    ("/ended?q=scope:again", "/v1/operations?", ".row-op"),
])
def test_what_could_not_be_read_comes_by_itself(cluster, browser, path, part, row):
    op = cluster.start("bash", "-c", STAY, scope="again", title="comes by itself")
    if path.startswith("/ended"):
        cluster.cancel(operation=op["id"], wait="settled")
    browser.sign_in(cluster)
    try:
        browser(CUT, part=part)
        browser.go(path)
        browser.sees("It is asked again by itself", ".trouble")
        assert browser("return await page.locator('.empty').count()") == 0, "nobody says that there is nothing"
    finally:
        browser(MEND)
    browser.sees("comes by itself", row)
    browser("await page.locator('.trouble').waitFor({ state: 'detached' })")
    cluster.cancel(scope="again", wait="settled")


def test_a_timeline_comes_by_itself_also_of_what_is_over(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="again", title="is over")
    cluster.cancel(operation=op["id"], wait="settled")
    browser.sign_in(cluster)
    try:
        browser(CUT, part="below=")
        browser.go(f"/operations/{op['id']}")
        browser.sees("It is asked again by itself", ".trouble")
    finally:
        browser(MEND)
    browser("await page.locator('.trouble').waitFor({ state: 'detached' })")
    browser.sees("is over", ".bar-row")


def test_what_is_refused_is_not_said_to_be_asked_again(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?q=kind:nothing")
    browser.sees("Try again", ".trouble")
    assert "asked again" not in browser.text(".trouble")
