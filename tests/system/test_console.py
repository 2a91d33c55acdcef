"""The web console in a real browser, against the real programs: watch, stop with proof, approve, lose the server, be refused, be attacked."""
import re

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\"'>"
EVIL_MARKDOWN = f"""{EVIL} [x](javascript:alert(3))

# {EVIL} <a href="javascript:alert(5)">y</a>

- {EVIL}
  > [x](JaVaScRiPt:alert(6)) ![x](data:text/html,<script>alert(7)</script>) [x](//example.org) [x](/tokens) <javascript:alert(8)>

```html" onload="alert(9)
{EVIL}
```

| {EVIL} | <td onclick="alert(13)">[z](javascript:alert(14)) |
|:-|-:|
| `{EVIL}` <script>alert(15)</script> | **{EVIL}** ![x](javascript:alert(16)) |

[safe" onclick="alert(10)](https://example.org/"onmouseover="alert(11)) `{EVIL}` **{EVIL}** https://example.org/"onfocus="alert(12)"""
SCRIPT = [
    {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "echo approved > " + "marker"}}]}]},
    {"when": {"user": "inject", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": EVIL, "cwd": EVIL}}]}]},
    {"when": {"user": "evil"}, "text": EVIL_MARKDOWN},
    {"when": {"result": ""}, "text": "Done."},
    {"text": "You said {{text}}."},
]
ASKS = '[[approval]]\ntool = "exec"\n'
STAY = "trap 'exit 0' TERM; sleep 1000 & wait $!"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=2) as c:
        yield c


def tree_of_work(c, scope, children=6):
    root = c.start("bash", "-c", STAY, scope=scope, title="lead")
    for i in range(children):
        c.start("bash", "-c", STAY, scope=scope, parent=root["id"], title=f"scout {i}")
    until(lambda: len(c.operations(scope=scope, status="running")) == children + 1, "the tree to run")
    return root


def test_a_token_is_exchanged_and_nothing_of_it_stays_in_the_page(cluster, browser):
    browser.go("/tree?q=status:running")
    browser.sees("Sign in", ".sign-in")
    assert browser.flaws() == []
    browser("await page.getByLabel('Token').fill('qk_wrong'); await page.getByRole('button', { name: 'Sign in' }).click()")
    browser.sees("unknown or revoked", "[role=alert]")
    browser("await page.getByLabel('Token').fill(args.token); await page.getByRole('button', { name: 'Sign in' }).click()", token=cluster.token)
    browser.sees("Live", "h1")
    held = browser("return await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.body.innerHTML)")
    assert cluster.token not in held
    assert browser("return page.url()").endswith("/tree?q=status:running"), "the link that was asked for is kept"
    browser("await page.getByRole('button', { name: 'Sign out' }).click()")
    browser.sees("Sign in", ".sign-in")


def test_a_link_signs_in_once_and_leaves_the_address_bar(cluster, browser):
    made = cluster.quell("console", check=0).stdout.decode().strip()
    assert re.fullmatch(re.escape(cluster.url) + r"/#link=ql_[\w-]{43}", made), made
    browser("await page.goto(args.link)", link=made)
    browser.sees("Nothing needs you", "h1")
    assert "#" not in browser("return page.url()")
    browser.press("Sign out")
    browser("await page.goto('about:blank'); await page.goto(args.link)", link=made)
    browser.sees("the link was used", "[role=alert]")


def test_a_tree_is_watched_stopped_half_way_and_proven(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=watched")
    browser.sees("Nothing lives here")
    root = tree_of_work(cluster, "watched")
    browser.sees("lead", "[role=treeitem]")
    browser.press("Open lead")
    browser.sees("scout 5", "[role=treeitem]")
    browser.sees("7 live", ".tree-count")
    assert browser.flaws() == []
    browser.press("Stop watched…")
    browser.sees("7 operations on", ".preview")
    assert browser.flaws() == []
    assert "stopped" not in browser.text("dialog").lower()
    browser("await page.getByLabel('Why').fill('wrong branch'); await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")
    browser.sees("Stopped: 7 operations, each with proof", "[data-verdict=proven]")
    assert cluster.operation(root["id"])["status"] == "cancelled"
    report = browser.text(".report")
    for words in ("fenced", "signalled", "settled", "wrong branch", "What proves it"):
        assert words in report, report
    browser.press("Close", "dialog")
    browser.sees_go()
    browser.sees("Nothing lives here")
    browser.go(f"/operations/{root['id']}")
    browser.sees("cancelled", "h1")
    browser.sees("wrong branch", ".operation-side")
    assert browser.flaws() == []


def confirm(browser, check=""):
    if check:
        browser("await page.getByLabel(args.check).check()", check=check)
    browser("await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")


def test_all_of_an_owner_is_stopped_and_nothing_of_others(cluster, browser):
    mine = [cluster.start("bash", "-c", STAY, scope=scope, title=f"of ann in {scope}", owner={"id": "ann"}) for scope in ("own/a", "own/b")]
    other = cluster.start("bash", "-c", STAY, scope="own/a", title="of bob", owner={"id": "bob"})
    for one in (*mine, other):
        cluster.wait_status(one["id"], "running")  # a preview says where what has a worker runs
    browser.sign_in(cluster)
    browser.go("/tree?q=owner:ann kind:task")
    browser.sees("of ann", "[role=listitem]")
    assert browser("return await page.getByRole('button', { name: /^Stop all of/ }).count()") == 0, "it would reach more than what is shown"
    browser.go("/tree?q=owner:ann&scope=own/a")
    browser.press("Stop all of ann…")
    browser.sees("all of ann in own/a", "dialog h2")
    browser.sees("1 operation on", ".preview")
    confirm(browser)
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    browser.go(f"/operations/{mine[1]['id']}")
    browser.press("Stop all of theirs…")
    browser.sees("1 operation on", ".preview")
    confirm(browser)
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    assert [cluster.operation(o["id"])["status"] for o in mine] == ["cancelled", "cancelled"]
    cluster.wait_status(other["id"], "running")
    cluster.cancel(operation=other["id"])


@pytest.mark.parametrize("path", ["/tree?scope=several", "/tree?q=scope:several"])
def test_several_are_chosen_and_stopped_together(cluster, browser, path):
    ops = [cluster.start("bash", "-c", STAY, scope="several", title=f"number {i}") for i in range(3)]
    until(lambda: len(cluster.operations(scope="several", status="running")) == 3, "the tasks to run")
    browser.sign_in(cluster)
    browser.go(path)
    for i in (0, 2):
        browser.sees(f"number {i}", ".row")
        browser("const row = page.locator('.row', { hasText: args.title }); await row.hover(); await row.getByRole('checkbox').check()", title=f"number {i}")
    browser.sees("2 chosen", ".chosen")
    assert browser("return await page.locator('.row-op').evaluateAll((rows) => new Set(rows.map((row) => row.getBoundingClientRect().left)).size)") == 1, "a chosen row stands where the others stand"
    assert browser.flaws() == []
    browser.press("Stop them…")
    browser.sees("2 chosen operations", "dialog h2")
    browser.sees("2 operations on", ".preview")
    confirm(browser)
    browser("await page.waitForFunction(() => document.querySelectorAll('[data-verdict=proven]').length === 2)")
    assert [cluster.operation(o["id"])["status"] for o in ops] == ["cancelled", "running", "cancelled"]
    cluster.cancel(scope="several")


def test_only_what_is_seen_is_stopped(cluster, browser):
    seen = cluster.start("bash", "-c", STAY, scope="seen", title="was there")
    cluster.wait_status(seen["id"], "running")
    browser.sign_in(cluster)
    browser.go("/tree?scope=seen")
    browser.sees("was there", "[role=treeitem]")
    browser.press("Stop seen…")
    browser.sees("1 operation on", ".preview")
    later = cluster.start("bash", "-c", STAY, scope="seen", title="came later")
    browser.sees("came later", "[role=treeitem]")
    confirm(browser, "Only what I see")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    assert cluster.operation(seen["id"])["status"] == "cancelled"
    cluster.wait_status(later["id"], "running")
    cluster.cancel(scope="seen")


def test_the_word_stopped_waits_for_the_proof(cluster, browser):
    stubborn = cluster.start("bash", "-c", "trap '' TERM; echo deaf; exec sleep 1000", scope="stubborn", title="deaf", grace_ms=600_000)
    until(lambda: cluster.api("GET", f"/v1/operations/{stubborn['id']}/output").body == b"deaf\n", "it to be deaf")
    browser.sign_in(cluster)
    browser.go(f"/operations/{stubborn['id']}")
    browser.sees("deaf", "h1")
    browser("await page.keyboard.press('c'); await page.locator('dialog').waitFor(); await page.keyboard.press('Enter')")
    browser.sees("Stopping: 0 of 1 operation", "[data-verdict=under_way]")
    browser.sees("it has been asked and may still tidy up", ".unproven")
    assert "stopped" not in browser.text("dialog").lower().replace("nothing stopped", "")
    browser.press("Close", "dialog")
    browser.press("Stop…")
    browser("await page.getByLabel('Kill at once').check(); await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")
    browser.sees("Stopped: 1 operation, each with proof", "[data-verdict=proven]")
    browser.press("Close", "dialog")
    browser.go("/cancels")
    browser.sees(f"deaf (operation …{stubborn['id'][-8:]})", ".cancels a")
    browser("await page.keyboard.press('j'); await page.keyboard.press('j'); await page.keyboard.press('k'); await page.keyboard.press('Enter')")
    browser.sees("Stop", "h1")
    browser.sees("deaf (operation", ".report")
    browser("await page.keyboard.press('/'); await page.waitForFunction(() => document.activeElement?.id === 'search', null, { polling: 100 })")


def test_keys_search_and_output(cluster, browser):
    op = cluster.start("bash", "-c", r"printf '\033[31mred alert\033[0m\nplain\n'; for i in $(seq 500); do echo line $i; done; " + STAY, scope="keys", title="noisy")
    browser.sign_in(cluster)
    browser.go("/tree?scope=keys")
    browser.sees("noisy", "[role=treeitem]")
    browser("await page.keyboard.press('j'); await page.keyboard.press('Enter')")
    browser.sees("noisy", "h1")
    browser.sees("line 500", ".output")
    browser("await page.getByLabel('Search the output').fill('red alert')")
    browser.sees("red alert", ".line.hit .a-fg1")
    browser("await page.getByLabel('Search the output').blur(); await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")
    browser("await page.keyboard.press('Escape'); await page.keyboard.press('g'); await page.locator('#search').waitFor(); await page.keyboard.press('/'); await page.keyboard.type('noisy')")
    browser.sees("noisy", "[role=listitem]")
    assert "q=noisy" in browser("await page.waitForURL('**q=noisy**'); return page.url()")
    cluster.cancel(operation=op["id"])


def test_the_server_goes_and_comes_back_without_a_reload(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?scope=after")
    browser.sees("Nothing lives here")
    browser("await page.evaluate(() => { window.is_the_same_page = true; })")
    cluster.kill_controller()
    browser.sees("quelld does not answer, since", ".lost")
    cluster.start_controller()
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    until(lambda: all(cluster.worker(w)["status"] == "ready" for w in ("w1", "w2")), "the workers to be back")
    op = cluster.start("bash", "-c", STAY, scope="after", title="back again")
    browser.sees("back again", "[role=treeitem]")
    assert browser("return await page.evaluate(() => window.is_the_same_page)") is True
    cluster.cancel(operation=op["id"])


def test_rights_shape_what_is_shown(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="mine/a", title="theirs to see")
    other = cluster.start("bash", "-c", STAY, scope="other", title="not theirs")
    cluster.wait_status(op["id"], "running")
    made = cluster.api("POST", "/v1/tokens", {"name": "eve", "role": "observer", "scope": "mine"}).json
    browser.sign_in(cluster, token=made["token"])
    browser.go("/tree?scope=mine/a")
    browser.sees("theirs to see", "[role=treeitem]")
    assert browser("return await page.getByRole('button', { name: /^Stop/ }).count()") == 0
    assert "Tokens" not in browser.text("nav") and "Audit" not in browser.text("nav")
    browser.go(f"/operations/{other['id']}")
    browser.sees("not for this token to see", "[role=alert]")
    browser.go("/tokens")
    browser.sees("Not with this token")
    # No read of these pages is refused to any role, or to a token of a scope: one refusal would make all of them unknown.
    for fields in ({"role": "chat"}, {"role": "observer", "scope": "mine"}, {"role": "admin", "scope": "mine"}):
        browser.sign_in(cluster, token=cluster.api("POST", "/v1/tokens", {"name": "some", **fields}).json["token"])
        browser.go("/")
        browser.sees("Nothing needs you", "h1")
        assert browser("return await page.locator('.trouble').count()") == 0, fields
        browser.go("/cluster")
        browser.sees("What it can and cannot promise")
        browser.sees("only to a token without a scope" if "scope" in fields else "Stops, 99 %", "#main")
        assert browser("return await page.locator('.trouble').count()") == 0, fields
    outside = cluster.api("POST", "/v1/tokens", {"name": "ope", "role": "operator", "scope": "mine"}).json
    browser.forget()
    browser.sign_in(cluster, token=outside["token"])
    for path in ("/tree?scope=other", "/conversation?scope=other"):
        browser.go(path)
        browser.sees("lies outside the token's scope", "[role=alert]")
        assert browser("return await page.getByRole('button', { name: /^(Stop|Send)/ }).count()") == 0, path
        assert "Nothing said yet" not in browser.text("main")
    browser.go("/tree?scope=mine/a")
    browser.press("Stop mine/a…")
    browser.sees("1 operation on", ".preview")
    browser.press("Keep it running", "dialog")
    browser.forget()
    browser.sign_in(cluster, token=made["token"])
    browser.go("/workers")
    browser.sees("Workers", "h1")
    assert cluster.api("DELETE", f"/v1/tokens/{made['id']}").status == 204
    browser.go("/workers")
    browser.sees("Sign in", ".sign-in")
    for one in (op, other):
        cluster.cancel(operation=one["id"])


def test_no_text_becomes_code(cluster, browser):
    op = cluster.start("bash", "-c", f"printf %s\\\\n \"$EVIL\"; printf %s\\\\n \"$EVIL\" >&2; {STAY}", scope="evil", title=EVIL, labels={"k" + EVIL.replace("=", "")[:90]: EVIL}, task_env={"EVIL": EVIL},
                       owner={"id": "mallory", "name": EVIL})
    until(lambda: cluster.api("GET", f"/v1/operations/{op['id']}/output").body, "its output")
    cluster.post("evil", "evil " + EVIL)
    cluster.api("POST", "/v1/tokens", {"name": EVIL[:120], "role": "observer"})
    browser.sign_in(cluster)
    for path, shown in (("/tree?scope=evil", EVIL), (f"/operations/{op['id']}", EVIL), ("/conversation?scope=evil", "javascript:alert(3)"), ("/tokens", EVIL[:60]), ("/audit", "token"),
                        ("/tree?q=" + "%3Cscript%3Ealert(4)%3C/script%3E", "Nothing matches"), ("/cluster", "Controller"), ("/workers", "w1")):
        browser.go(path)
        browser.sees(shown)
        assert browser("return await page.locator('#app script, #app img:not([src=\"/icon.svg\"]), #app iframe, #app :is(a, area, form)[href^=javascript], #app [href^=data], #app [onclick], #app [onload], #app [onmouseover], #app [onfocus]').count()") == 0, path
        if path.startswith("/conversation"):
            for place in ("pre code", "th", "td code", "td strong", "p strong"):
                browser.sees(EVIL, f".said {place}")
            links = browser("return await page.locator('.said a').evaluateAll((all) => all.map((a) => [new URL(a.href).origin, a.target, a.rel]))")
            assert links and all(link == ["https://example.org", "_blank", "noopener noreferrer"] for link in links), links
    browser.go(f"/operations/{op['id']}")
    browser.sees(EVIL, ".output")
    browser.press("Stop…")
    browser("await page.getByLabel('Why').fill(args.evil); await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()", evil=EVIL)
    browser.sees("each with proof", "[data-verdict=proven]")
    browser.go("/cancels")
    browser.sees("each with proof")
    browser.go("/ended?q=scope:evil")
    browser.sees(EVIL, "[role=listitem]")


CODE = "return await page.locator('#app script, #app img:not([src=\"/icon.svg\"]), #app iframe, #app :is(a, area, form)[href^=javascript], #app [onclick], #app [onload], #app [onerror]').count()"


def test_no_text_of_a_tool_a_failure_a_result_or_a_worker_becomes_code(cluster, browser):
    ids = []
    for i in range(2):
        answer = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": "evil/more", "title": f"ends {i}", "external": {"lease_ms": 0}})
        ids.append(answer.json["id"])
    assert cluster.api("POST", f"/v1/operations/{ids[0]}/fail", {"code": "broken", "message": EVIL}).status == 200
    assert cluster.api("POST", f"/v1/operations/{ids[1]}/complete", {"result": {EVIL: [EVIL]}}).status == 200
    turn = cluster.say("inject/tool", "inject")
    call, = until(lambda: cluster.below(turn, status="paused"), "the call to ask")
    assert cluster.api("POST", "/v1/workers/w1/drain", {"reason": EVIL}).status == 200
    browser.sign_in(cluster)
    for path, where in ((f"/operations/{ids[0]}", ".trouble"), (f"/operations/{ids[1]}", "pre.json"), ("/", ".need .command"), (f"/operations/{call['id']}", ".approval .command"),
                        ("/conversation?scope=inject/tool", ".talk .command"), ("/ended?q=scope:evil/more status:failed", ".row-detail"), ("/workers", ".worker .warn"), ("/audit", "tbody")):
        browser.go(path)
        browser.sees("onerror=alert(1)", where)
        assert browser(CODE) == 0, path
    assert cluster.api("POST", "/v1/workers/w1/resume", {}).status == 200
    cluster.cancel(scope="inject")


def test_every_view_stands_on_a_phone_in_the_dark_and_in_the_light(cluster, browser):
    op = cluster.start("true", scope="views", title="a short one")
    cluster.wait_status(op["id"], "completed")
    stop = cluster.cancel(operation=cluster.start("bash", "-c", STAY, scope="views", title="a stopped one")["id"])
    assert cluster.ended(cluster.say("views", "hello"))["status"] == "completed"
    browser.sign_in(cluster)
    browser("await page.setViewportSize({ width: 390, height: 844 })")
    browser.go("/")
    browser.sees("", "#main h1")
    for path in ("/", "/tree", "/tree?q=scope:views", "/cancels", f"/cancels/{stop['id']}", "/ended?q=scope:views", f"/operations/{op['id']}", "/conversation", "/conversation?scope=views", "/workers", "/cluster", "/cost", "/audit",
                 "/tokens"):
        browser.walk(path)
        browser.sees("", "#main h1")
        browser("await page.waitForFunction(() => !document.querySelector('.loading'))")
        # What measures itself is right with the next frame.
        until(lambda: browser("return await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)"), f"{path} to fit")
        assert browser.flaws() == [], path
        # Nothing but colours differs in the dark.
        browser("await page.emulateMedia({ colorScheme: 'dark' })")
        assert browser.flaws(["color-contrast", "link-in-text-block"]) == [], (path, "in the dark")
        browser("await page.emulateMedia({ colorScheme: 'light' })")
