"""A stop in the web console while it goes on: what is counted as being stopped, and which presses are a stop and which are none."""
import os
import shutil

import pytest

from harness.browser import CONSOLE
from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT

if not (shutil.which("chromium") and shutil.which("node") and os.path.isdir(os.path.join(CONSOLE, "node_modules/playwright-core"))):
    raise RuntimeError("chromium, node and the console's packages are needed: `make deps`, and a build")

SLOTS, WAITING = 8, 20
DEAF = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1, slots=SLOTS) as c:
        yield c


def test_work_that_is_being_stopped_is_counted_beside_what_never_began(cluster, browser):
    deaf = [cluster.start("bash", "-c", DEAF, scope="counted", title=f"deaf {i}", grace_ms=60_000)["id"] for i in range(SLOTS)]
    for op in deaf:
        until(lambda: cluster.output(op) == b"deaf\n", "it to be deaf")
    browser.sign_in(cluster)
    browser.go("/tree")
    browser.sees("8 live", ".row-scope")
    for i in range(WAITING):
        cluster.start("true", scope="counted", title=f"waits {i}")
    browser.sees("28 live", ".row-scope")
    cluster.cancel(scope="counted", wait="signalled")
    browser.sees("8 live", ".row-scope")
    browser.sees("8 cancelling", ".row-scope")
    browser.sees("8 cancelling", ".tree-count")
    cluster.cancel(scope="counted", grace_ms=0)
    browser.sees("Nothing lives here")
