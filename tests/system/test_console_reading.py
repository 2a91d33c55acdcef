"""What the web console reads: output without breaks, ages and exact times, the facts of an operation, the phases of a stop and each of its leaves, what comes by itself behind a failure, clocks that are wrong, and a quelld that is silent."""
import re
import signal

import pytest

from harness.cluster import Cluster
from harness.waiting import until
from test_console import STAY


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


# Says READY, waits for a file, then writes without a break.
WRITE = "echo READY; until [ -e \"$0\" ]; do sleep 0.1; done; head -c 6000000 /dev/zero | tr '\\0' x; printf '\\nTHE END\\n'"


def test_a_line_without_end_is_bounded_and_what_is_left_out_is_said(cluster, browser, tmp_path):
    gate = tmp_path / "gate"
    op = cluster.start("bash", "-c", WRITE, str(gate), scope="long", title="one long line")
    browser.sign_in(cluster)
    browser.go(f"/operations/{op['id']}")
    browser.sees("READY", ".output")
    gate.touch()
    browser.sees("THE END", ".output")
    browser.sees("before are not shown here; the download has them", ".left-out")
    assert browser("return await page.locator('.line').evaluateAll((all) => Math.max(...all.map((one) => one.textContent.length)))") <= 2100
    cluster.wait_status(op["id"], "completed")


def test_what_wrote_only_errors_shows_them_at_once(cluster, browser):
    op = cluster.start("bash", "-c", "echo broken >&2; exit 3", scope="output", title="complains")
    cluster.wait_status(op["id"], "failed")
    browser.sign_in(cluster)
    browser.go(f"/operations/{op['id']}")
    browser.sees("broken", ".output")
    browser.press("stdout", ".output-head")
    browser.sees("It wrote nothing to stdout.", "#main")


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
    browser("await page.locator('.replay input').fill('0.8')")
    browser.press("Replay", ".replay")
    browser.sees("to its end", ".replay")
    browser("await page.locator('.bar-row .mark-settled').waitFor({ state: 'attached' }); await page.getByRole('button', { name: 'Replay' }).waitFor()")


def external(c, scope, **fields):
    answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": scope, "external": {"lease_ms": 0}, **fields})
    assert answer.status == 201, answer.body
    return answer.json["id"]


# As if each had begun as many seconds ago as its title says.
AGED = """await page.route('**/v1/tree?*', async (route) => {
  const answer = await route.fetch(), body = await answer.json();
  body.operations.forEach(({ operation }) => { operation.started_at = new Date(Date.now() - Number(operation.title) * 1000).toISOString(); });
  await route.fulfill({ response: answer, json: body });
});"""


def test_the_older_the_warmer(cluster, browser):
    ids = [external(cluster, "aged", title=str(seconds)) for seconds in (5, 300, 1800, 7200)]
    browser.sign_in(cluster)
    browser(AGED)
    browser.go("/tree?scope=aged")
    browser("await page.locator('[role=treeitem]').nth(3).waitFor()")
    found = browser("return await page.locator('[role=treeitem]').evaluateAll((rows) => rows.map((row) => [row.querySelector('.row-title').textContent, row.querySelector('.age time')]).map(([title, age]) => [title, age.className.replace('num', '').trim(), getComputedStyle(age).color]))")
    browser("await page.unrouteAll({ behavior: 'wait' })")
    assert {title: warmth for title, warmth, _ in found} in ({"5": young, "300": "age-1", "1800": "age-2", "7200": "age-3"} for young in ("", "age-1")), found  # a slow machine makes the youngest older
    assert len({colour for title, _, colour in found if title != "5"}) == 3
    for id in ids:
        assert cluster.api("POST", f"/v1/operations/{id}/complete", {"result": 1}).status == 200


def test_facts_of_an_operation_its_exact_times_and_who_stopped_it(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="facts", title="has facts", labels={"pr": "812"}, owner={"id": "ann", "name": "Ann"})["id"]
    cluster.wait_status(op, "running")
    is_ = cluster.operation(op)
    browser.sign_in(cluster)
    browser.go("/tree?q=scope:facts")
    browser.sees("has facts", "[role=listitem]")
    row = browser("return await page.locator('[role=listitem]').textContent()")  # some columns are for wide screens
    for words in ("task", "Ann", is_["worker"], "running"):
        assert words in row, (words, row)
    assert browser("return await page.locator('[role=listitem] .age time').getAttribute('title')") == f"since {is_['started_at']}"
    browser("await page.locator('[role=listitem] .row-title').click()")
    browser.sees("Facts", ".operation-side h2")
    side = browser.text(".operation-side")
    for words in (is_["task"]["containment"], "Lease", "pr=812", "Ann", is_["worker"], op):
        assert words in side, (words, side)
    titles = browser("return await page.locator('.operation-side time').evaluateAll((all) => all.map((one) => one.title))")
    for at in (is_["created_at"], is_["started_at"]):
        assert any(title.endswith(at) for title in titles), (at, titles)
    cluster.cancel(operation=op, reason="no more facts")
    browser.sees("no more facts", ".operation-side")
    by = cluster.operation(op)["stop"]["by"]
    browser.sees(by.get("name") or by["id"], ".operation-side dd")


def test_a_stop_tells_of_each_leaf_and_what_comes_next(cluster, browser):
    quick = [cluster.start("bash", "-c", STAY, scope="leaves", title=f"leaf {i}")["id"] for i in range(2)]
    deaf = cluster.start("bash", "-c", "trap '' TERM; echo deaf; exec sleep 1000", scope="leaves", title="deaf leaf", grace_ms=600_000)["id"]
    until(lambda: cluster.api("GET", f"/v1/operations/{deaf}/output").body == b"deaf\n", "it to be deaf")
    for op in quick:
        cluster.wait_status(op, "running")
    browser.sign_in(cluster)
    stop = cluster.cancel(scope="leaves", wait="signalled")
    browser.go(f"/cancels/{stop['id']}")
    browser.sees("Stopping: 2 of 3 operations proven", "[data-verdict=under_way]")
    browser("await page.locator('.unproven').getByText(/it is killed in (10m|9m|8m|7m)/).waitFor()")
    cluster.cancel(scope="leaves", grace_ms=0)
    browser.sees("Stopped: 3 operations, each with proof", "[data-verdict=proven]")
    took = browser("return await page.locator('.phase.done b').allInnerTexts()")
    assert len(took) == 3 and all(re.fullmatch(r"[\d.,]+ ?ms|[\d.]+ ?s|\d+m( \d\ds)?", one) for one in took), took
    for op in (*quick, deaf):
        is_ = cluster.operation(op)
        words = f"{is_['stop']['receipt']}, proof: {is_['stop']['proof']}".replace("_", " ")
        browser("await page.locator('.row-op', { hasText: args.title }).locator('.row-detail', { hasText: args.words }).waitFor()", title=is_["title"], words=words)


def test_what_has_ended_under_the_dialog_was_not_stopped(cluster, browser):
    op = external(cluster, "over", title="ends by itself")
    browser.sign_in(cluster)
    browser.go(f"/operations/{op}")
    browser.press("Stop…")
    browser.sees("1 operation", ".preview")
    assert cluster.api("POST", f"/v1/operations/{op}/complete", {"result": 1}).status == 200
    browser("await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")
    browser.sees("It had finished before the stop", "dialog")
    assert "stopped" not in browser.text("dialog").lower().replace("nothing stopped", "")


CUT = """await page.unroute('**/v1/**').catch(() => {});
await page.route('**/v1/**', (route) => (route.request().url().includes(args.part) ? route.abort() : route.continue()))"""
MEND = "await page.unroute('**/v1/**')"


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


# A tab of its own: an init script stays with its page.
WRONG_TAB = """const p = await context.newPage();
await p.addInitScript((ms) => { const right = Date.now; Date.now = () => right() + ms; }, args.ms);
"""


@pytest.mark.parametrize("hours", [2, -2])
def test_ages_and_leases_are_by_the_clock_of_quelld(cluster, browser, hours):
    op = cluster.start("bash", "-c", STAY, scope="clock", title="is young")
    cluster.wait_status(op["id"], "running")
    browser.sign_in(cluster)
    browser(WRONG_TAB + """const young = (where) => p.waitForFunction((where) => /^([\\d.]+s|1m.*)$/.test(document.querySelector(where)?.innerText) && document.querySelector(where).innerText !== '0s', where, { polling: 100 });
    try {
      await p.goto(args.url + '/tree?scope=clock');
      await young('[role=treeitem] .age');
      await p.goto(args.url + '/operations/' + args.id);
      await young('.lead time');
      await p.goto(args.url + '/workers');
      await p.waitForFunction(() => / left/.test(document.querySelector('.worker')?.innerText), null, { polling: 100 });
    } finally {
      await p.close();
    }""", ms=hours * 3_600_000, id=op["id"])
    cluster.cancel(scope="clock")


def test_every_answer_has_a_date(cluster):
    for path in ("/v1/status", "/readyz", "/", "/v1/nothing"):
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", cluster.api("GET", path).headers["Date"]), path


def test_since_when_a_frozen_quelld_is_silent_is_said(cluster, browser):
    browser.sign_in(cluster)
    browser("""globalThis.asked = new Set();
        page.on('request', (one) => globalThis.asked.add(one)).on('requestfinished', (one) => globalThis.asked.delete(one)).on('requestfailed', (one) => globalThis.asked.delete(one));
        await page.clock.install()""")
    browser.go("/tree?scope=frozen")
    browser.sees("Nothing lives here", ".empty")
    # Its clock stands still until every answer is there: one that it took up behind the jump would be a sign of life.
    browser("await page.clock.pauseAt(Date.now() + 10_000)")  # less can be the past when it arrives
    until(lambda: browser("return [...globalThis.asked].map((one) => one.url()).filter((url) => !url.includes('/v1/events?'))") == [], "every answer to be there")
    cluster.controller.send_signal(signal.SIGSTOP)
    try:
        browser("await page.clock.fastForward(36_000); await page.clock.resume()")  # the page's clock alone: two comments are missing
        browser.sees("quelld does not answer, since", ".lost")
        age = re.search(r"\((?:(\d+)m )?(\d+)s\)", browser.text(".lost"))
        assert age and int(age[1] or 0) * 60 + int(age[2]) >= 15, browser.text(".lost")
        # An action that it does not answer is not waited for, nor sent again by itself.
        browser("await page.locator('nav').getByRole('link', { name: 'Tokens' }).click()")
        browser("await page.getByLabel('Name').fill('for nobody')")
        browser.press("Create")
        browser.sees("Creating…", "form")
        browser("await page.clock.fastForward(31_000)")
        browser.sees("Whether this token was made is not known", "#main [role=alert]")
        browser("await page.getByRole('button', { name: 'Create', exact: true }).and(page.locator(':enabled')).waitFor()")
        browser("await page.locator('nav').getByRole('link', { name: 'Live' }).click(); await page.waitForURL('**/tree'); await page.goBack(); await page.goBack(); await page.waitForURL('**/tree?scope=frozen')")
    finally:
        cluster.controller.send_signal(signal.SIGCONT)
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    assert [t["name"] for t in cluster.api("GET", "/v1/tokens?limit=1000").json["tokens"]].count("for nobody") <= 1
    cluster.start("bash", "-c", STAY, scope="frozen", title="goes on")
    browser.sees("goes on", "[role=treeitem]")
    cluster.cancel(scope="frozen")
