"""The output of a task in the web console: what has no line breaks, and more than a page can keep."""

import pytest

from harness.cluster import Cluster

# Says READY, waits for a file, then writes without a break.
WRITE = "echo READY; until [ -e \"$0\" ]; do sleep 0.1; done; head -c 6000000 /dev/zero | tr '\\0' x; printf '\\nTHE END\\n'"


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


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
