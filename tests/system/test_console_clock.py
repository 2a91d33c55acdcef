"""The web console in a browser whose clock is wrong: ages and countdowns are by the clock of quelld."""
import re

import pytest

from harness.cluster import Cluster

STAY = "trap 'exit 0' TERM; while :; do sleep 0.2 & wait $!; done"
# A tab of its own: an init script stays with its page.
WRONG_TAB = """const p = await context.newPage();
await p.addInitScript((ms) => { const right = Date.now; Date.now = () => right() + ms; }, args.ms);
"""


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


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
