"""Links of the web console to what has spaces, quotes and other characters in its name; addresses that nobody can decode."""

import pytest

from harness.cluster import Cluster

OWNER, LABEL = 'Ann "the one" \\ O\'Hara & co', 'two words, "quoted" 100%'


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        for i, fields in enumerate(({"owner": {"id": OWNER}, "labels": {"what": LABEL}}, {"owner": {"id": "Ann"}, "labels": {"what": "two"}})):
            answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": "a=b@c+d~e", "title": f"number {i}", "external": {"lease_ms": 0}, "grace_ms": 0, **fields})
            assert answer.status == 201, answer.body
        yield c


@pytest.mark.parametrize("text", [OWNER, f"what={LABEL}", "a=b@c+d~e"])
def test_a_link_finds_what_it_names(cluster, browser, text):
    op = next(o for o in cluster.operations(status="live") if o["title"] == "number 0")
    browser.sign_in(cluster)
    browser.go(f"/operations/{op['id']}")
    browser("await page.locator('dd').getByRole('link', { name: args.text, exact: true }).click()", text=text)
    browser.sees("number 0", ".row-op")
    found = browser("return await page.locator('.row-op .row-title').allInnerTexts()")
    assert sorted(found) == (["number 0", "number 1"] if text.startswith("a=") else ["number 0"])
    # The address is a link by itself.
    browser("await page.reload()")
    browser.sees("number 0", ".row-op")


@pytest.mark.parametrize("path", ["/operations/%E0%A4%A", "/cancels/%zz"])
def test_what_nobody_can_decode_is_no_view(cluster, browser, path):
    browser.sign_in(cluster)
    browser("await page.evaluate((path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }, args.path)", path=path)
    browser.sees("There is no such view")


def test_an_id_that_is_a_path_asks_nothing_else(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/")
    asked = browser("""const asked = [];
        const hear = (request) => asked.push(new URL(request.url()).pathname);
        page.on('request', hear);
        await page.evaluate(() => { history.pushState(null, '', '/operations/..%2Ftokens'); dispatchEvent(new PopStateEvent('popstate')); });
        await page.locator('.trouble').first().waitFor();
        page.off('request', hear);
        return asked;""")
    assert "/v1/operations/..%2Ftokens" in asked and "/v1/tokens" not in asked, asked
