"""What the web console reads: output without breaks, the phases of a stop, what comes by itself behind a failure, clocks that are wrong, and a quelld that is silent."""
import re
import signal

import pytest

from harness.cluster import Cluster
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
    browser.press("Replay", ".replay")
    browser.sees("to its end", ".replay")
    browser("await page.locator('.bar-row .mark-settled').waitFor({ state: 'attached' }); await page.getByRole('button', { name: 'Replay' }).waitFor()")


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
    browser("await page.clock.install()")
    browser.go("/tree?scope=frozen")
    browser.sees("Nothing lives here", ".empty")
    cluster.controller.send_signal(signal.SIGSTOP)
    try:
        browser("await page.clock.fastForward(36_000)")  # the page's clock alone: two comments are missing
        browser.sees("quelld does not answer, since", ".lost")
        age = re.search(r"\((?:(\d+)m )?(\d+)s\)", browser.text(".lost"))
        assert age and int(age[1] or 0) * 60 + int(age[2]) >= 15, browser.text(".lost")
    finally:
        cluster.controller.send_signal(signal.SIGCONT)
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    cluster.start("bash", "-c", STAY, scope="frozen", title="goes on")
    browser.sees("goes on", "[role=treeitem]")
    cluster.cancel(scope="frozen")
