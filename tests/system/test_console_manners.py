"""Manners of the web console: without a mouse, from signing in to a stop that is proven, where the focus is can be seen, and it comes back when a dialog closes; on the narrowest screen (320 px), with names, reasons and owners that have no space, nothing stands beyond the edge."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

STAY = "trap 'exit 0' TERM; sleep 1000 & wait $!"
# Of what has the focus: its name, and whether somebody who looks sees that it has it.
FOCUS = """return await page.evaluate(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const is_in_sight = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  return {
    name: (at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText ?? '').trim().slice(0, 60), tag: at.localName,
    is_seen: is_in_sight && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, is_in_dialog: at.closest('dialog[open]') !== null,
  };
})"""


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster([{"when": {"user": "www"}, "text": "y" * 300}, {"when": {"user": "asks", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "echo approved"}}]}]}, {"text": "You said {{text}}."}], config='[[approval]]\ntool = "exec"\n') as c:
        yield c


def press(browser, *keys):
    browser("for (const key of args.keys) await page.keyboard.press(key)", keys=keys)


def focus_is(browser, what, **expected):
    """Waits for it: what a key does to the focus can come with the next frame."""
    until(lambda: expected.items() <= browser(FOCUS).items(), lambda: f"{what} to be {expected}; the focus is {browser(FOCUS)}")


def tab_to(browser, name):
    """Goes there as somebody would; whatever has the focus on the way can be seen."""
    for _ in range(60):
        press(browser, "Tab")
        at = browser(FOCUS)
        assert at["is_seen"] or at["tag"] == "body", at  # body: behind the last one the browser's own frame has it
        if at["name"] == name:
            return
    raise AssertionError(f"no Tab leads to {name}")


def dialog_is_gone(browser):
    browser("await page.locator('dialog').waitFor({ state: 'detached' })")


def test_from_signing_in_to_a_proven_stop_without_a_mouse(cluster, browser):
    ops = {title: cluster.start("bash", "-c", STAY, scope="hands", title=title)["id"] for title in ("alpha", "beta")}
    for op in ops.values():
        cluster.wait_status(op, "running")
    browser.go("/tree?scope=hands")
    browser.sees("Sign in", ".sign-in")
    focus_is(browser, "the field for the token", tag="input", is_seen=True)
    assert browser.flaws() == []
    browser("await page.keyboard.type(args.token)", token=cluster.token)
    press(browser, "Enter")
    browser.sees("alpha", "[role=treeitem]")

    # Each step of Tab can be seen, from the link that skips the navigation to the view.
    tab_to(browser, "Skip to the view")
    tab_to(browser, "Conversations")
    tab_to(browser, "Stop hands…")
    assert browser.flaws() == []

    # The keys are told, and the focus comes back.
    press(browser, "?")
    browser.sees("Keys", "dialog h2")
    focus_is(browser, "something in the dialog", is_in_dialog=True)
    assert browser.flaws() == []
    press(browser, "Escape")
    dialog_is_gone(browser)
    focus_is(browser, "what had it before", name="Stop hands…", is_seen=True)

    # A dialog that a button has opened and another one closes gives the focus back to the first.
    press(browser, "Enter")
    browser.sees("Stop scope hands?", "dialog h2")
    focus_is(browser, "the confirmation", name="Stop", is_seen=True)
    press(browser, "Shift+Tab")
    focus_is(browser, "the way out", name="Keep it running", is_seen=True)
    press(browser, "Enter")
    dialog_is_gone(browser)
    focus_is(browser, "what had it before", name="Stop hands…", is_seen=True)

    # So does a question that somebody leaves.
    tab_to(browser, "Save view")
    press(browser, "Enter")
    browser.sees("Save this view", "dialog h2")
    focus_is(browser, "the name", tag="input", is_seen=True)
    assert browser.flaws() == []
    tab_to(browser, "Leave it")
    press(browser, "Enter")
    dialog_is_gone(browser)
    focus_is(browser, "what had it before", name="Save view", is_seen=True)

    # The search, and out of it.
    press(browser, "/")
    focus_is(browser, "the search", name="Search", is_seen=True)
    browser("await page.keyboard.type('beta')")
    browser("await page.waitForURL('**q=beta**'); await page.getByText('alpha', { exact: true }).waitFor({ state: 'detached' })")
    browser.sees("beta", "[role=listitem]")
    press(browser, "Escape", "j")
    browser.sees("beta", "[role=listitem].focused")
    press(browser, "Enter")
    browser.sees("beta", "h1")

    # From the top of the tree down to a row, and its stop. Whoever leaves the dialog has stopped nothing.
    press(browser, "g")
    browser.sees("hands", "[role=treeitem]")
    press(browser, "j")
    browser.sees("hands", "[role=treeitem].focused")
    press(browser, "l")
    browser.sees("alpha", "[role=treeitem]")
    press(browser, "j", "j", "k")
    browser.sees("alpha", "[role=treeitem].focused")
    focus_is(browser, "the tree", name="Live operations")
    assert browser.flaws() == []
    press(browser, "c")
    browser.sees("Stop alpha?", "dialog h2")
    assert browser.flaws() == []
    press(browser, "Escape")
    dialog_is_gone(browser)
    focus_is(browser, "the tree", name="Live operations")
    assert [cluster.operation(op)["status"] for op in ops.values()] == ["running", "running"]
    press(browser, "c")
    browser.sees("Stop alpha?", "dialog h2")
    focus_is(browser, "the confirmation", name="Stop", is_seen=True)
    press(browser, "Enter")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    focus_is(browser, "something in the report", is_in_dialog=True)
    assert browser.flaws() == []
    press(browser, "Escape")
    dialog_is_gone(browser)
    focus_is(browser, "the tree", name="Live operations")
    assert [cluster.operation(op)["status"] for op in ops.values()] == ["cancelled", "running"]

    # Its page tells the same: Stops, down to the newest, and in.
    tab_to(browser, "Stops")
    press(browser, "Enter")
    browser.sees("alpha", ".cancels")
    press(browser, "j")
    focus_is(browser, "the newest stop", tag="a", is_seen=True)
    press(browser, "Enter")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    cluster.cancel(scope="hands")


# The row of the list that has the focus, by what it says; '' = none.
ROW = "return await page.evaluate(() => document.activeElement.closest('.needs > li, tbody > tr')?.innerText ?? '')"


def test_the_focus_goes_on_to_the_next_row_when_a_press_takes_its_own(cluster, browser):
    turns = {}
    for scope in ("hands/a", "hands/b", "hands/c"):
        turns[scope] = cluster.say(scope, "asks")
        until(lambda: cluster.below(turns[scope], status="paused"), "the call to ask")  # one after the other: the oldest stands first
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("3 things need you", "h1")
    browser("await page.locator('.need', { hasText: 'hands/a' }).getByRole('button', { name: 'Approve' }).focus()")
    for approved, then, left in (("hands/a", "hands/b", 2), ("hands/b", "hands/c", 1)):
        press(browser, "Enter")
        assert cluster.ended(turns[approved])["status"] == "completed"
        browser.sees("thing needs you" if left == 1 else f"{left} things need you", "h1")
        until(lambda: then in browser(ROW), "the next row to have the focus")
        focus_is(browser, "its title, not its Approve", tag="a", is_seen=True)
        tab_to(browser, "Approve")
    press(browser, "Enter")
    browser.sees("Nothing needs you", "h1")
    focus_is(browser, "the view", tag="main")
    # A token that is revoked: its question gives the focus back, and its row hands it on.
    for name in ("older one", "newer one"):
        assert cluster.api("POST", "/v1/tokens", {"name": name, "role": "observer"}).status == 201
    browser.go("/tokens")
    browser("await page.getByRole('row', { name: /newer one/ }).getByRole('button', { name: 'Revoke' }).focus()")
    press(browser, "Enter")
    browser.sees("Revoke newer one?", "dialog h2")
    press(browser, "Escape")
    dialog_is_gone(browser)
    until(lambda: "newer one" in browser(ROW), "the focus to come back")
    press(browser, "Enter")
    browser.sees("Revoke newer one?", "dialog h2")
    focus_is(browser, "the answer", name="Revoke", is_in_dialog=True)
    press(browser, "Enter")
    browser("await page.getByRole('row', { name: /newer one/ }).waitFor({ state: 'detached' })")
    until(lambda: "older one" in browser(ROW), "the next row to have the focus")


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
    browser.go("/")
    browser.sees("", "#main h1")
    for path in paths:
        browser.walk(path)
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
