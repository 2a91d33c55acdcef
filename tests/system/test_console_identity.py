"""Who acts in the web console: signing out is said only if quelld has done it."""
import os
import shutil

import pytest

from harness.browser import CONSOLE
from harness.turns import TurnCluster
from test_console import ASKS, SCRIPT

if not (shutil.which("chromium") and shutil.which("node") and os.path.isdir(os.path.join(CONSOLE, "node_modules/playwright-core"))):
    raise RuntimeError("chromium, node and the console's packages are needed: `make deps`, and a build")


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


def test_a_sign_out_that_quelld_does_not_answer_is_not_said_to_be_done(cluster, browser):
    browser.sign_in(cluster)
    cluster.kill_controller()
    browser.press("Sign out")
    browser.sees("Not signed out, as far as this page knows. quelld does not answer.", ".not-signed-out")
    assert browser.flaws() == []
    cluster.start_controller()
    browser("await page.locator('.lost', { hasText: 'quelld does not answer, since' }).waitFor({ state: 'detached' })")
    browser.go("/workers")
    browser.sees("Workers", "h1")  # it is true: the browser is still signed in
    browser.press("Sign out", "nav")
    browser.sees("Sign in", ".sign-in")
    browser.go("/workers")
    browser.sees("Sign in", ".sign-in")
