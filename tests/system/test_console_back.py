"""Back in the web console: the same place of the same list, with the same branches open; another view begins at its top."""

import pytest

from harness.cluster import Cluster

MANY = 260  # more than one page of a list
SCROLL = "await page.locator('.virtual').first().evaluate((el, y) => { el.scrollTop = y; }, args.y)"
TOP = "return await page.locator('.virtual').first().evaluate((el) => el.scrollTop)"
# The first row that is wholly in sight, as soon as one is: what was scrolled is drawn with the next frame.
OPEN_ONE = """await page.waitForFunction(() => {
  const list = document.querySelector('.virtual'), box = list.getBoundingClientRect();
  const row = [...list.querySelectorAll('.row-op .row-title')].find((one) => one.getBoundingClientRect().top > box.top + 40 && one.getBoundingClientRect().bottom < box.bottom - 40);
  row?.click();
  return row !== undefined;
}, null, { polling: 100 });
await page.waitForURL('**/operations/*');"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        for i in range(MANY):
            answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": "back/branch", "title": f"number {i}", "external": {"lease_ms": 0}, "grace_ms": 0})
            assert answer.status == 201, answer.body
        yield c


def test_back_to_a_tree_finds_its_branches_open_and_its_place(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=back")
    browser.press("Open back/branch", "[role=tree]")
    browser.sees("number 0", "[role=treeitem]")
    browser(SCROLL, y=2000)
    browser.sees("number 6", "[role=treeitem]")
    browser(OPEN_ONE)
    browser.sees("Facts", "h2")
    browser("await page.goBack(); await page.locator('[role=treeitem]').first().waitFor()")
    browser("await page.waitForFunction(() => Math.abs(document.querySelector('.virtual').scrollTop - 2000) <= 40, null, { polling: 100 })")
    browser(SCROLL, y=0)
    browser("await page.locator('[role=treeitem][aria-expanded=true]', { hasText: 'branch' }).waitFor()")


def test_back_to_a_list_finds_as_much_of_it_and_its_place(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:back")
    browser.sees(f"number {MANY - 1}", ".row-op")
    # The second page comes as somebody scrolls there.
    browser("""await page.waitForFunction(() => {
      const el = document.querySelector('.virtual');
      el.scrollTop = 34 * 230;
      return Math.abs(el.scrollTop - 34 * 230) <= 1 && el.textContent.includes('number 20');
    }, null, { polling: 200 })""")
    browser(OPEN_ONE)
    browser("await page.goBack(); await page.locator('.row-op').first().waitFor()")
    browser("await page.waitForFunction(() => Math.abs(document.querySelector('.virtual').scrollTop - 34 * 230) <= 40, null, { polling: 100 })")


def test_another_view_begins_at_its_top_and_back_returns_below_it(cluster, browser):
    op = cluster.operations(scope="back")[0]
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 700, height: 300 })")
    browser.go(f"/operations/{op['id']}")
    browser.sees("Facts", "h2")
    # It is left before any event says that it was scrolled.
    browser("""await page.evaluate(() => {
      document.getElementById('main').scrollTop = 150;
      [...document.querySelectorAll('.nav a')].find((a) => a.textContent.includes('Cluster')).click();
    })""")
    browser.sees("What it can and cannot promise")
    assert browser("return await page.locator('#main').evaluate((el) => el.scrollTop)") == 0
    # What is shown before the operation is read is not as high.
    browser("""let read, is_asked;
      const asked = new Promise((resolve) => { is_asked = resolve; });
      const can_read = new Promise((resolve) => { read = resolve; });
      const path = '**/v1/operations/' + args.id + '*';
      await page.route(path, async (route) => { is_asked(); await can_read; await route.continue(); });
      await page.goBack();
      await asked;
      await page.locator('h2', { hasText: 'What it can and cannot promise' }).waitFor({ state: 'detached' });
      if (await page.locator('#main').evaluate((el) => el.scrollTop) === 150) throw new Error('it was not read again');
      read();
      await page.unrouteAll({ behavior: 'ignoreErrors' });""", id=op["id"])
    browser.sees("Facts", "h2")
    browser("await page.waitForFunction(() => Math.abs(document.getElementById('main').scrollTop - 150) <= 1, null, { polling: 100 })")
