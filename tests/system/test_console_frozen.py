"""A quelld that takes connections and says nothing: the web console says since when nothing was heard, and goes on by itself."""
import re
import signal

import pytest

from harness.cluster import Cluster

STAY = "trap 'exit 0' TERM; while :; do sleep 0.2 & wait $!; done"


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


def test_since_when_a_frozen_quelld_is_silent_is_said(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=frozen")
    browser.sees("Nothing lives here", ".empty")
    cluster.controller.send_signal(signal.SIGSTOP)
    try:
        browser.sees("quelld does not answer, since", ".lost")
        age = re.search(r"\((?:(\d+)m )?(\d+)s\)", browser.text(".lost"))
        assert age and int(age[1] or 0) * 60 + int(age[2]) >= 15, browser.text(".lost")
    finally:
        cluster.controller.send_signal(signal.SIGCONT)
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    cluster.start("bash", "-c", STAY, scope="frozen", title="goes on")
    browser.sees("goes on", "[role=treeitem]")
    cluster.cancel(scope="frozen")
