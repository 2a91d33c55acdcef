"""The web console in many tabs at once: a browser has six connections to a host, and a stop must always find one."""

import pytest

from harness.browser import Browser, GONE
from harness.tapped_http import TappedServer, is_preview
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 50}]}, {"text": "You said {{text}}."}]
STAY = "trap 'exit 0' TERM; while :; do echo tick; sleep 0.2 & wait $!; done"
TAB = "const tab = (path) => context.pages().find((one) => one.url() === args.url + path);\n"
CONFIRM = "await p.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click();\n"
SHOW = """for (const p of context.pages()) await p.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, args.hidden);"""


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT) as c:
        yield c


@pytest.fixture(scope="module")
def tap(cluster):
    with TappedServer(cluster.url) as t:
        yield t


@pytest.fixture(scope="module")
def one_browser(tap):
    with Browser(tap.url) as b:
        yield b


@pytest.fixture(autouse=True)
def one_tab_again(browser):
    yield
    browser("for (const p of context.pages().slice(1)) await p.close()")


def open_tabs(browser, paths):
    browser("for (const path of args.paths) { const p = await context.newPage(); await p.goto(args.url + path); await p.locator('h1').first().waitFor(); }", paths=paths)


def shows(browser, path, text, where="body"):
    browser(TAB + "await tab(args.path).locator(args.where).filter({ hasText: args.text }).first().waitFor()", path=path, text=text, where=where)


def test_a_stop_finds_a_connection_beside_eight_tabs_that_all_stay_live(cluster, tap, browser):
    talks = [f"/conversation?scope=chat/{i}" for i in (1, 2)]
    turns = [cluster.say(f"chat/{i}", "endless") for i in (1, 2)]
    noisy = cluster.start("bash", "-c", STAY, scope="many", title="noisy")
    browser.sign_in(cluster)
    browser.go("/")
    open_tabs(browser, ["/", "/tree?scope=many", "/tree?q=scope:many", *talks, f"/operations/{noisy['id']}", "/cancels", "/workers"])
    for path in talks:
        shows(browser, path, "on and on", ".said")
        browser(TAB + """const said = () => tab(args.path).locator('.said').last().innerText(), before = (await said()).length;
            await tab(args.path).waitForFunction((n) => [...document.querySelectorAll('.said')].at(-1).innerText.length > n + 40, before, { polling: 100 })""", path=path)
    shows(browser, f"/operations/{noisy['id']}", "tick", ".output")
    late = cluster.start("bash", "-c", STAY, scope="many", title="came late")
    shows(browser, "/tree?scope=many", "came late", "[role=treeitem]")
    shows(browser, "/tree?q=scope:many", "came late", "[role=listitem]")
    browser(TAB + "const p = tab(args.path); await p.getByRole('button', { name: 'Stop this answer…' }).click();\n" + CONFIRM + "await p.locator('[data-verdict=proven]').waitFor()", path=talks[1])
    assert cluster.operation(turns[1])["status"] == "cancelled" and cluster.operation(turns[0])["status"] == "running"
    browser(TAB + "const p = tab(args.path); await p.getByRole('button', { name: 'Stop many…' }).click();\n" + CONFIRM + "await p.locator('[data-verdict=proven]').waitFor()", path="/tree?scope=many")
    assert [cluster.operation(o["id"])["status"] for o in (noisy, late)] == ["cancelled", "cancelled"]
    cluster.cancel(operation=turns[0])


def test_hidden_tabs_hold_no_stream_and_take_up_theirs_where_it_broke_off(cluster, tap, browser):
    turn = cluster.say("chat/3", "endless")
    browser.sign_in(cluster)
    browser.go("/")
    open_tabs(browser, ["/tree?scope=unseen", "/conversation?scope=chat/3"])
    shows(browser, "/conversation?scope=chat/3", "on and on", ".said")
    first = cluster.start("bash", "-c", STAY, scope="unseen", title="was seen")
    shows(browser, "/tree?scope=unseen", "was seen", "[role=treeitem]")
    browser(SHOW, hidden=True)
    until(lambda: not tap.streams(), "no stream to be open")
    said = lambda: browser(TAB + "return await tab('/conversation?scope=chat/3').locator('.said').last().innerText()")
    shown = len(said().split())
    asked = len(tap.asked)
    behind = cluster.start("bash", "-c", STAY, scope="unseen", title="began behind")
    cluster.cancel(operation=first["id"])
    browser(SHOW, hidden=False)
    shows(browser, "/tree?scope=unseen", "began behind", "[role=treeitem]")
    browser(TAB + "const p = tab('/tree?scope=unseen');\n" + GONE, words="was seen")
    again = lambda: [path for _, path in tap.asked[asked:] if path.startswith("/v1/events?")]
    until(lambda: [path for path in again() if "after=" in path], lambda: f"the streams to be open again where they broke off; there are {again()}")
    browser(TAB + """await tab('/conversation?scope=chat/3').waitForFunction(
        (n) => [...document.querySelectorAll('.said')].at(-1).innerText.split(/\\s+/).length > n, args.count, { polling: 100 })""", count=shown + 31)
    count = shown + 30  # the last word can be half
    assert said().split()[:count] == (["on", "and", "on"] * count)[:count], "nothing of the answer is missing"
    cluster.cancel(operation=behind["id"])
    cluster.cancel(operation=turn)


def test_a_stop_is_sent_while_previews_of_all_tabs_hang(cluster, tap, browser):
    ops = [[cluster.start("bash", "-c", STAY, scope=f"hang/{i}", title=f"number {n}") for n in range(3)] for i in range(4)]
    until(lambda: len(cluster.operations(scope="hang", status="running")) == 12, "the tasks to run")
    paths = [f"/tree?q=scope:hang/{i}" for i in range(4)]
    browser.sign_in(cluster)
    browser.go("/")
    open_tabs(browser, paths)
    for path in paths:
        browser(TAB + "await tab(args.path).locator('.row').nth(2).waitFor()", path=path)
    tap.hangs = is_preview
    try:
        for path in paths:
            browser(TAB + """const p = tab(args.path);
                for (let i = 0; i < 3; ++i) await p.keyboard.press('j').then(() => p.keyboard.press('x'));
                await p.locator('.chosen', { hasText: '3 chosen' }).waitFor()""", path=path)
        # A preview is given up after a while, so all are asked for at about the same time.
        browser(TAB + """for (const path of args.paths) await tab(path).keyboard.press('c');
            for (const path of args.paths) await tab(path).locator('.preview').waitFor()""", paths=paths)
        until(lambda: tap.hung >= 3, "previews to hold connections")
        for path, scope in ((paths[3], 3), (paths[0], 0)):
            browser(TAB + "const p = tab(args.path);\n" + CONFIRM + "await p.waitForFunction(() => document.querySelectorAll('[data-verdict=proven]').length === 3, null, { polling: 100 })", path=path)
            assert [cluster.operation(o["id"])["status"] for o in ops[scope]] == ["cancelled"] * 3
        assert [cluster.operation(o["id"])["status"] for o in ops[1] + ops[2]] == ["running"] * 6
    finally:
        tap.hangs = lambda *_: False
    cluster.cancel(scope="hang")
