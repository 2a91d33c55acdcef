"""Rows of the web console: what is marked and what `c` then stops, searches, links to odd names, the way back to the same place, and a screen reader."""
import pytest

from harness.turns import TurnCluster
from harness.waiting import until
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
    browser.sees_go("MARKED")
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


# More than two pages of the console stand before the oldest one.
TITLES = ["needle"] + [f"hay-{i}" for i in range(449)]


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


ACTIVE = """return await page.locator('[role=tree]').evaluate((tree) => {
  const row = document.getElementById(tree.getAttribute('aria-activedescendant') ?? '');
  return row && { title: row.querySelector('.row-title').textContent, place: row.getAttribute('aria-posinset'), of: row.getAttribute('aria-setsize'), has_focus: document.activeElement === tree };
})"""


@pytest.fixture(scope="module")
def readers(cluster):
    for i in range(3):
        cluster.wait_status(cluster.start("bash", "-c", STAY, scope="readers", title=f"number {i}")["id"], "running")


def test_the_active_row_of_a_tree_is_named(cluster, browser, readers):
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


def test_the_marked_row_of_a_list_is_said(cluster, browser, readers):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:readers")
    browser("await page.locator('[role=listitem]').nth(2).waitFor(); await page.keyboard.press('j')")
    browser.sees("row 1 of 3", "[role=status]")
    found = browser("return await page.locator('[role=listitem][aria-current=true]').evaluateAll((all) => all.map((one) => [one.getAttribute('aria-posinset'), one.getAttribute('aria-setsize')]))")
    assert found == [["1", "3"]]
    assert browser.flaws() == []


@pytest.mark.parametrize("path", ["/tree?scope=readers", "/tree?q=scope:readers"])
def test_boxes_are_there_on_a_phone_without_hovering(cluster, browser, readers, path):
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 390, height: 844 })")
    browser.go(path)
    browser("await page.locator('.row .choose').nth(2).waitFor()")
    assert browser("return await page.locator('.row .choose').evaluateAll((all) => all.map((one) => [getComputedStyle(one).appearance, getComputedStyle(one).visibility]))") == [["auto", "visible"]] * 3
    browser("await page.locator('.row .choose').first().check()")
    browser.sees("1 chosen", ".chosen")


OWNER, LABEL = 'Ann "the one" \\ O\'Hara & co', 'two words, "quoted" 100%'


@pytest.fixture(scope="module")
def named(cluster):
    for i, fields in enumerate(({"owner": {"id": OWNER}, "labels": {"what": LABEL}}, {"owner": {"id": "Ann"}, "labels": {"what": "two"}})):
        answer = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": "a=b@c+d~e", "title": f"named {i}", "external": {"lease_ms": 0}, "grace_ms": 0, **fields})
        assert answer.status == 201, answer.body


@pytest.mark.parametrize("text", [OWNER, f"what={LABEL}", "a=b@c+d~e"])
def test_a_link_finds_what_it_names(cluster, browser, named, text):
    op = next(o for o in cluster.operations(status="live") if o["title"] == "named 0")
    browser.sign_in(cluster)
    browser.go(f"/operations/{op['id']}")
    browser("await page.locator('dd').getByRole('link', { name: args.text, exact: true }).click()", text=text)
    browser.sees("named 0", ".row-op")
    found = browser("return await page.locator('.row-op .row-title').allInnerTexts()")
    assert sorted(found) == (["named 0", "named 1"] if text.startswith("a=") else ["named 0"])
    # The address is a link by itself.
    browser("await page.reload()")
    browser.sees("named 0", ".row-op")


@pytest.mark.parametrize("path", ["/operations/%E0%A4%A", "/cancels/%zz"])
def test_what_nobody_can_decode_is_no_view(cluster, browser, path):
    browser.sign_in(cluster)
    browser.go("/workers")
    browser.sees("Workers", "h1")
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


BRANCH = 260  # more than one page of a list
SCROLL = "await page.locator('.virtual').first().evaluate((el, y) => { el.scrollTop = y; }, args.y)"
# The first row that is wholly in sight, as soon as one is: what was scrolled is drawn with the next frame.
OPEN_ONE = """await page.waitForFunction(() => {
  const list = document.querySelector('.virtual'), box = list.getBoundingClientRect();
  const row = [...list.querySelectorAll('.row-op .row-title')].find((one) => one.getBoundingClientRect().top > box.top + 40 && one.getBoundingClientRect().bottom < box.bottom - 40);
  row?.click();
  return row !== undefined;
}, null, { polling: 100 });
await page.waitForURL('**/operations/*');"""


@pytest.fixture(scope="module")
def branch(cluster):
    batch = [{"kind": "external", "scope": "back/branch", "title": f"number {i}", "external": {"lease_ms": 0}, "grace_ms": 0} for i in range(BRANCH)]
    answer = cluster.api("POST", "/v1/operations/batch", {"operations": batch})
    assert answer.status == 200 and all(r["status"] == 201 for r in answer.json["results"]), answer.body


def test_back_to_a_tree_finds_its_branches_open_and_its_place(cluster, browser, branch):
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


# Scrolls far at once and looks at each frame, until every row is whole: how many were brief at first, and each title's place in all that frames have shown.
FAR = """return await page.locator('.virtual').first().evaluate(async (el, until) => {
  const places = {};
  let brief = -1;
  el.scrollTop = 34 * 150;
  for (;;) {
    await new Promise((next) => requestAnimationFrame(next));
    const rows = [...el.querySelectorAll('.row-op')], left = rows.filter((row) => !row.querySelector('.col')).length;
    if (!el.textContent.includes('number 100') && !el.textContent.includes('number 150')) continue;
    if (brief < 0) brief = left;
    for (const row of rows) {
      const title = row.querySelector('.row-title');
      (places[title.textContent] ??= []).push(Math.round(title.getBoundingClientRect().left));
    }
    if (left === 0) return { brief, places, stops: rows.filter((row) => row.querySelector('.stop')).length, rows: rows.length };
    if (Date.now() > until) throw new Error(`${left} rows stay brief`);
  }
}, Date.now() + 60_000)"""


@pytest.mark.parametrize("path, first", [("/tree?scope=back/branch", "number 0"), ("/tree?q=scope:back", f"number {BRANCH - 1}")])
def test_rows_that_are_scrolled_past_are_brief_and_then_whole(cluster, browser, branch, path, first):
    browser.sign_in(cluster)
    browser.go(path)
    browser.sees(first, ".row-op .row-title")
    browser("await page.waitForFunction(() => document.querySelector('.virtual').scrollHeight > 34 * 190, null, { polling: 100 })")
    found = browser(FAR)
    assert found["brief"] > 0 and found["stops"] == found["rows"] > 10, found
    moved = {title: sorted(set(places)) for title, places in found["places"].items() if len(set(places)) > 1}
    assert moved == {}


def test_back_to_a_list_finds_as_much_of_it_and_its_place(cluster, browser, branch):
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:back")
    browser.sees(f"number {BRANCH - 1}", ".row-op")
    # The second page comes as somebody scrolls there.
    browser("""await page.waitForFunction(() => {
      const el = document.querySelector('.virtual');
      el.scrollTop = 34 * 230;
      return Math.abs(el.scrollTop - 34 * 230) <= 1 && el.textContent.includes('number 20');
    }, null, { polling: 200 })""")
    browser(OPEN_ONE)
    browser("await page.goBack(); await page.locator('.row-op').first().waitFor()")
    browser("await page.waitForFunction(() => Math.abs(document.querySelector('.virtual').scrollTop - 34 * 230) <= 40, null, { polling: 100 })")


def test_another_view_begins_at_its_top_and_back_returns_below_it(cluster, browser, branch):
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
