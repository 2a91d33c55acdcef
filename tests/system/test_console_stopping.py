"""A stop in the web console while it goes on: what is counted as being stopped, which presses are a stop and which are none, beside a large swarm, and until somebody has seen that it has no proof."""
import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, confirm, SCRIPT, STAY


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1, slots=SLOTS) as c:
        yield c


SLOTS, WAITING = 8, 20
DEAF = "trap '' TERM; echo deaf; exec sleep 1000"


def counts(browser, words, where):
    browser("await page.locator(args.where).getByText(args.words, { exact: true }).first().waitFor()", words=words, where=where)


def test_work_that_is_being_stopped_is_counted_beside_what_never_began(cluster, browser):
    deaf = [cluster.start("bash", "-c", DEAF, scope="counted", title=f"deaf {i}", grace_ms=600_000)["id"] for i in range(SLOTS)]
    for op in deaf:
        until(lambda: cluster.api("GET", f"/v1/operations/{op}/output").body == b"deaf\n", "it to be deaf")
    browser.sign_in(cluster)
    browser.go("/tree")
    counts(browser, "8 live", ".row-scope")
    for i in range(WAITING):
        cluster.start("true", scope="counted", title=f"waits {i}")
    counts(browser, "28 live", ".row-scope")
    cluster.cancel(scope="counted", wait="signalled")
    counts(browser, "8 live", ".row-scope")
    counts(browser, "8 cancelling", ".row-scope")
    browser.sees("8 cancelling", ".tree-count")
    cluster.cancel(scope="counted", grace_ms=0)
    browser.sees_go()
    browser.sees("Nothing lives here")


ALL = "page.getByRole('button', { name: 'Stop everything…' })"


def test_a_held_enter_opens_a_stop_and_confirms_nothing(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="held", title="goes on")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster)
    browser.go("/")
    browser(f"await {ALL}.focus(); await page.keyboard.down('Enter'); await page.locator('dialog').waitFor()")
    browser.sees("1 operation on", ".preview")
    browser("await page.waitForFunction(() => document.activeElement.closest('dialog') && document.activeElement.type === 'submit')")
    browser("for (let i = 0; i < 20; ++i) await page.keyboard.down('Enter')")  # each but the first is a repeat
    browser("await page.keyboard.up('Enter')")
    browser.sees("Stop everything that you may see?", "dialog h2")
    assert cluster.api("GET", "/v1/cancels?status=open").json["cancels"] == []
    assert cluster.operation(op)["status"] == "running"
    browser("await page.keyboard.press('Enter')")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")


def test_going_back_closes_the_dialog_and_stops_nothing(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="back", title="left behind")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster)
    browser.go("/workers")
    browser.sees("Workers", "h1")
    browser("await page.locator('nav').getByRole('link', { name: 'Live' }).click()")
    browser.press("Stop scope back")
    browser.sees("Stop scope back?", "dialog h2")
    browser("await page.goBack()")
    browser.sees("Workers", "h1")
    browser("await page.locator('dialog').waitFor({ state: 'detached' })")
    browser("await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")
    browser("await page.goForward()")
    browser.sees("Live", "h1")
    browser("await page.locator('dialog').waitFor({ state: 'detached' })")
    assert cluster.operation(op)["status"] == "running"
    cluster.cancel(operation=op)


SWARM = 250  # more than one page
SCOPE = "crowded"


def swarm(cluster):
    answer = cluster.api("POST", "/v1/operations/batch", {"operations": [{"kind": "external", "scope": SCOPE, "external": {"lease_ms": 0}, "grace_ms": 0}] * SWARM})
    assert answer.status == 200 and all(r["status"] == 201 for r in answer.json["results"]), answer.body


def test_an_answer_is_stopped_and_its_call_approved_beside_a_large_swarm(cluster, browser):
    assert cluster.ended(cluster.say(SCOPE, "hello"))["status"] == "completed"
    turns = []
    browser.sign_in(cluster)
    for press in ("Approve", "Stop"):
        turns.append(cluster.say(SCOPE, "asks"))
        until(lambda: cluster.below(turns[-1], status="paused"), "the call to ask")
        if press == "Approve":
            swarm(cluster)
        browser.go(f"/conversation?scope={SCOPE}")
        browser.sees("Answering for", ".turn-bar")
        browser.sees("echo approved", ".talk .command")
        assert browser("return await page.getByRole('button', { name: 'Edit…' }).first().isDisabled()"), "not while an answer is written"
        if press == "Approve":
            browser.press("Approve", ".talk")
            assert cluster.ended(turns[-1])["status"] == "completed"
        else:
            swarm(cluster)
            browser.go(f"/conversation?scope={SCOPE}")
            browser.press("Stop this answer…", ".turn-bar")
            browser.sees("Stop this answer?", "dialog h2")
            confirm(browser)
            browser.sees("each with proof", "dialog [data-verdict=proven]")
            assert cluster.ended(turns[-1])["status"] == "cancelled"
    live = cluster.operations(scope=SCOPE, kind="external", status="live")
    assert len(live) == 2 * SWARM, "the swarm goes on"
    answer = cluster.api("POST", "/v1/operations/end", {"items": [{"id": op["id"], "complete": {"result": 1}} for op in live]})
    assert answer.status == 200 and all(r["status"] == 200 for r in answer.json["results"]), answer.body


MANY = 10_000
PLACE = "return await page.locator('.virtual').first().evaluate((el) => [el.scrollTop, el.scrollHeight])"


def test_ten_thousand_operations_are_scrolled_and_stopped(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=crowd")
    browser.sees("Nothing lives here")
    ids = []
    for begin in range(0, MANY, 1000):
        batch = [{"kind": "external", "scope": "crowd", "title": f"number {begin + i}", "grace_ms": 600_000, "external": {"lease_ms": 0}} for i in range(1000)]
        answer = cluster.api("POST", "/v1/operations/batch", {"operations": batch})
        assert answer.status == 200, answer.body
        ids += [r["operation"]["id"] for r in answer.json["results"]]
    browser.sees("10,000 live", ".tree-count")
    # Rows are read as they are scrolled to: at the end of those that are there, the next ones come.
    browser("""const box = page.locator('.virtual').first();
        await box.evaluate(async (el, until) => {
          const row = 34, place = 9000 * row;
          while (el.scrollHeight < place + el.clientHeight && Date.now() < until) {
            el.scrollTop = el.scrollHeight;
            await new Promise((next) => (requestAnimationFrame(next), setTimeout(next, 1000)));
          }
          el.scrollTop = place - 5 * row;
        }, Date.now() + 120_000);
        await page.getByText('number 9000', { exact: true }).waitFor();""")
    assert browser("return await page.locator('[role=treeitem]').count()") < 200, "only what is in view is in the page"
    place = browser(PLACE)
    # An answer that the kill cuts short is none.
    browser("""const is_last = (r) => r.json().then((page) => page.next_cursor === null, () => false);
        void (globalThis.read_again = page.waitForResponse(async (r) => r.url().includes('/v1/tree?') && r.ok() && await is_last(r), { timeout: 150_000 })).catch(() => {})""")
    cluster.kill_controller()
    cluster.start_controller()
    browser("await globalThis.read_again; await page.getByText('number 9000', { exact: true }).waitFor()")
    top, height = browser(PLACE)
    assert top == place[0] and height >= place[1], "what is read again keeps its place"  # below it, rows that nobody had scrolled to can have come
    browser.press("Stop crowd…")
    browser.sees("10,000 operations, at least 1,000 of them external", ".preview")
    confirm(browser)
    browser.sees("Stopping: 0 of 10,000 operations proven", "[data-verdict=under_way]")
    assert "stopped" not in browser.text("dialog").lower().replace("nothing stopped", "")
    for begin in range(0, MANY, 1000):
        answer = cluster.api("POST", "/v1/operations/end", {"items": [{"id": id, "stopped": {}} for id in ids[begin:begin + 1000]]})
        assert answer.status == 200, answer.body
    browser.sees("Stopped: 10,000 operations, each with proof", "[data-verdict=proven]")
    browser.sees("reported by its owner", "dialog .report")
    browser.press("Close", "dialog")
    browser.sees_go()
    browser.sees("Nothing lives here")


AHEAD_MS = 2 * 3_600_000
NEWER = 110  # more than one look reads


def external(cluster, scope, **fields):
    answer = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": scope, "external": {"lease_ms": 0}, **fields})
    assert answer.status == 201, answer.body
    return answer.json["id"]


def test_a_stop_without_proof_outlives_the_clock_and_newer_stops_until_it_is_seen(cluster, browser):
    lost = external(cluster, "far", title="far away", grace_ms=600_000)
    stop = cluster.cancel(scope="far", wait="fenced")
    assert cluster.api("POST", f"/v1/operations/{lost}/resolve", {"declare": "dead", "reason": "nobody knows"}).status == 200
    until(lambda: cluster.api("GET", f"/v1/cancels/{stop['id']}").json["status"] == "settled", "the stop to settle")
    assert cluster.api("GET", f"/v1/cancels/{stop['id']}").json["report"]["proven"] is False
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
    # It looks again when its visibility changes.
    browser("""const again = page.waitForResponse((one) => one.url().includes('/v1/cancels?limit=100'));
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        await again;""")
    browser.sees("Settled without proof: scope far", ".need")
    assert "every stop is proven" not in browser.text("main").lower()
    browser.press("Seen", ".need")
    browser.sees("one or more settled without proof", ".all-well")
    browser.go("/")
    browser.sees("one or more settled without proof", ".all-well")
