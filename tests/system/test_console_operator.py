"""The web console of an operator's day: it says that all is well only if it is, keeps its lists live, and does what administration needs."""
import re
import subprocess

import pytest

from harness.browser import WALK
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [
    {"when": {"user": "asks"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "echo approved"}}]}]},
    {"when": {"result": ""}, "text": "Done."},
    {"text": "You said {{text}}."},
]
ASKS = '[[approval]]\ntool = "exec"\n'
STAY = "trap 'exit 0' TERM; sleep 1000 & wait $!"
SEEN = "return await page.getByLabel(/Only what I see/).isDisabled()"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS) as c:
        yield c


def register(c, scope, **fields):
    external = fields.pop("external", {})
    answer = c.api("POST", "/v1/operations", {"kind": "external", "scope": scope, "external": external, **fields})
    assert answer.status == 201, answer.body
    return answer.json["id"]


def end(c, id):
    assert c.api("POST", f"/v1/operations/{id}/complete", {"result": 1}).status == 200


def confirm(browser):
    browser("await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")


# In a tab of its own: what the pages say beside "being stopped".
SAY_STOPPED = WALK + """const p = await context.newPage(), found = [];
    await p.goto(args.url + '/');
    await p.locator('#main h1').first().waitFor();
    for (const path of args.paths) {
      await walk(p, path);
      await p.locator('#main h1').first().waitFor();
      await p.waitForFunction(() => !document.querySelector('.loading'), null, { polling: 100 });
      const said = (await p.locator('body').innerText()).match(/.*(?<!being )\\bstopped\\b.*/gi);
      if (said) found.push([path, ...said]);
    }
    await p.close();
    await page.bringToFront();
    return found;"""


@pytest.fixture(scope="module")
def unproven(cluster):
    """A stop whose owner is silent: it would settle without proof ten minutes later."""
    lost = register(cluster, "far", title="far away", grace_ms=600_000, external={"lease_ms": 0})
    return cluster.cancel(scope="far", wait="fenced")["id"], lost


@pytest.fixture(scope="module")
def settling(cluster, unproven):
    """A tighter one: now it settles ten seconds behind the first. Other tests run meanwhile."""
    assert cluster.cancel(scope="far", wait="fenced", grace_ms=0)["id"] == unproven[0]
    return unproven


def test_all_is_well_only_if_every_stop_is_proven(cluster, browser, request):
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("Every stop is proven", ".all-well")
    request.getfixturevalue("unproven")
    # For its first five seconds it needs nobody.
    browser("await page.locator('h1').filter({ hasText: /1 stop is under way|1 thing needs you/ }).waitFor()")
    assert "every stop is proven" not in browser.text("main").lower()


def test_who_may_not_decide_is_not_asked_to(cluster, browser):
    turn = cluster.say("chat/asking", "asks")
    made = cluster.api("POST", "/v1/tokens", {"name": "talker", "role": "chat"}).json
    browser.sign_in(cluster, token=made["token"])
    for path, where in (("/", ".need"), ("/conversation?scope=chat/asking", ".talk")):
        browser.go(path)
        browser.sees("echo approved", f"{where} .command")
        assert browser("return await page.getByRole('button', { name: /^(Approve|Deny|Change)/ }).count()") == 0, path
    browser("await page.getByLabel('Message').waitFor()")
    browser.forget()
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/asking")
    browser.press("Approve", ".talk")
    assert cluster.ended(turn)["status"] == "completed"


def test_the_list_of_a_search_is_live_also_over_a_restart(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tree?q=owner:ann")
    browser.sees("Nothing matches", ".empty")
    other = register(cluster, "found", title="of bob", owner={"id": "bob"}, external={"lease_ms": 0})
    mine = [register(cluster, "found", title=f"of ann {i}", owner={"id": "ann"}, external={"lease_ms": 0}) for i in range(2)]
    browser.sees("of ann 0", "[role=listitem]")
    browser.sees("of ann 1", "[role=listitem]")
    assert browser("return await page.locator('[role=listitem] .row-title').allInnerTexts()") == ["of ann 1", "of ann 0"], "newest first, and nothing of others"
    end(cluster, mine[0])
    browser.sees_go("of ann 0")
    browser("await page.evaluate(() => { window.is_the_same_page = true; })")
    cluster.kill_controller()
    browser.sees("quelld does not answer, since", ".lost")
    cluster.start_controller()
    end(cluster, mine[1])
    late = register(cluster, "found", title="of ann late", owner={"id": "ann"}, external={"lease_ms": 0})
    browser.sees("of ann late", "[role=listitem]")
    browser.sees_go("of ann 1")
    assert browser("return await page.evaluate(() => window.is_the_same_page)") is True
    for id in (other, late):
        end(cluster, id)


def test_only_what_i_see_is_offered_once_something_was_shown(cluster, browser):
    op = register(cluster, "shown", title="is shown", external={"lease_ms": 0})
    browser.sign_in(cluster)
    browser.go("/")
    browser.press("Stop everything…")
    assert browser(SEEN) is True
    browser.press("Keep it running", "dialog")
    browser.go("/tree?scope=shown")
    browser.sees("is shown", "[role=treeitem]")
    browser.press("Stop shown…")
    assert browser(SEEN) is False
    browser.press("Keep it running", "dialog")
    end(cluster, op)


def test_no_page_says_stopped_before_the_proof(cluster, browser, unproven, request):
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("Not proven yet: scope far", ".need")
    assert "every stop is proven" not in browser.text("main").lower()
    browser.go("/cancels?open=1")
    browser.sees("Stopping: 0 of 1 operation", ".cancels")
    request.getfixturevalue("settling")
    stop, lost = unproven
    paths = ["/", "/cancels", f"/cancels/{stop}", f"/operations/{lost}", "/ended?q=scope:far", "/tree", "/tree?q=scope:far", "/conversation", "/workers", "/cluster", "/cost", "/audit", "/tokens"]
    assert browser(SAY_STOPPED, paths=paths) == []


def test_a_tree_by_parent_is_kept_as_a_view(cluster, browser):
    lead = register(cluster, "kin", title="kin lead", external={"lease_ms": 0})
    child = register(cluster, "kin", title="kin child", parent=lead, external={"lease_ms": 0})
    browser.sign_in(cluster)
    browser.go("/tree?scope=kin")
    browser.press("By parent")
    browser.sees("kin lead", "[role=treeitem]")
    assert browser("return await page.getByText('kin child', { exact: true }).count()") == 0
    browser.press("Open kin lead")
    browser.sees("kin child", "[role=treeitem][aria-level='2']")
    browser.press("Save view")
    browser.answer_question("Save", "my kin")
    browser("await page.getByRole('link', { name: 'Stops' }).click(); await page.getByRole('link', { name: 'my kin', exact: true }).click()")
    browser.sees("kin lead", "[role=treeitem]")
    assert "by=parent" in browser("return page.url()")
    browser.press("Forget view")
    browser("await page.getByRole('link', { name: 'my kin', exact: true }).waitFor({ state: 'detached' })")
    for id in (child, lead):
        end(cluster, id)


def test_a_token_is_created_shown_once_and_revoked(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tokens")
    browser("await page.getByLabel('Name').fill('for ann'); await page.getByLabel('Scope').fill('team/ann'); await page.getByLabel('Role').selectOption('operator')")
    browser.press("Create")
    browser.sees("It is shown this once", ".secret")
    secret = browser.text(".secret code")
    assert secret.startswith("qk_")
    assert cluster.api("GET", "/v1/operations?scope=team/ann", token=secret).status == 200
    assert browser.flaws() == []
    browser.press("I have it", ".secret")
    browser("await page.locator('.secret').waitFor({ state: 'detached' })")
    browser.go("/tokens")
    browser.sees("team/ann", "tbody")
    assert secret not in browser("return await page.content()")
    revoke = "await page.getByRole('row', { name: /for ann/ }).getByRole('button', { name: 'Revoke' }).click()"
    browser(revoke)
    assert browser.flaws() == []
    browser("await page.keyboard.press('Escape'); await page.locator('dialog.ask').waitFor({ state: 'detached' })")
    assert cluster.api("GET", "/v1/operations", token=secret).status == 200, "whoever leaves the question has not said yes"
    browser(revoke)
    browser.answer_question("Revoke")
    browser("await page.getByRole('row', { name: /for ann/ }).waitFor({ state: 'detached' })")
    assert cluster.api("GET", "/v1/operations", token=secret).status == 401


def test_ended_work_is_found_by_time_status_error_label_and_owner(cluster, browser):
    good = register(cluster, "over", title="went well", labels={"pr": "7"}, owner={"id": "ann"})
    bad = register(cluster, "over", title="went wrong")
    end(cluster, good)
    assert cluster.api("POST", f"/v1/operations/{bad}/fail", {"code": "broken", "message": "no"}).status == 200
    browser.sign_in(cluster)
    for words, found in (("since:1h", ["went wrong", "went well"]), ("ended:1h", ["went wrong", "went well"]), ("ended:2100-01-01", []), ("status:failed", ["went wrong"]), ("error:broken", ["went wrong"]), ("label:pr=7", ["went well"]), ("owner:ann", ["went well"]), ("until:2020-01-01", [])):
        browser.go(f"/ended?q=scope:over {words}")
        browser.sees(found[0] if found else "Nothing matches", "[role=listitem]" if found else ".empty")
        assert browser("return await page.locator('[role=listitem] .row-title').allInnerTexts()") == found, words


def test_an_operation_is_replayed_downloaded_and_copied(cluster, browser):
    op = cluster.start("bash", "-c", "echo one; echo 'two  three'", scope="kept", title="short")
    cluster.wait_status(op["id"], "completed")
    cluster.output(op["id"])  # all of it: output has its own socket, and can arrive after the end
    browser.sign_in(cluster)
    browser.go(f"/operations/{op['id']}")
    browser.sees("to its end", ".replay")
    browser("await page.locator('.replay input').fill('0.5'); await page.locator('.replay .num', { hasText: ':' }).waitFor()")
    written = browser("""const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
        let text = '';
        for await (const part of await file.createReadStream()) text += part;
        return [file.suggestedFilename(), text];""")
    assert written == [op["id"][-8:] + ".stdout", "one\ntwo  three\n"]
    browser("await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }))")
    browser.press("Copy as quell command")
    copied = browser("return await (await page.waitForFunction(() => window.copied)).jsonValue()")
    again = subprocess.run(["bash", "-c", copied], env=cluster.environment(), capture_output=True, timeout=90)
    assert (again.returncode, again.stdout) == (0, b"one\ntwo  three\n"), (copied, again)


NOTIFICATIONS = """window.told = [];
    window.Notification = class {
      static permission = 'default';
      static async requestPermission() { return (this.permission = 'granted'); }
      constructor(title) { if (!CAN_SHOW) throw new TypeError('Illegal constructor'); window.told.push(title); }
    };"""


def test_notifications_are_wanted_or_not(cluster, browser):
    browser.sign_in(cluster)
    browser("""const p = await context.newPage();
        await p.addInitScript(args.play);
        await p.goto(args.url + '/');
        const button = (name) => p.getByRole('button', { name, exact: true });
        await button('Notify me').click();
        await button('Notifying you').click();
        await button('Notify me').click();
        await button('Notifying you').waitFor();
        await p.waitForFunction(() => window.told.join() === 'quell,quell');
        await p.close();""", play=NOTIFICATIONS.replace("CAN_SHOW", "true"))
    # Browsers of phones give the permission, but show nothing that a page alone announces.
    browser("""const p = await context.newPage();
        await p.addInitScript(args.play);
        await p.goto(args.url + '/');
        await p.getByRole('button', { name: 'Notify me', exact: true }).click();
        await p.getByRole('button', { name: /^Notify/ }).waitFor({ state: 'detached' });
        await p.close();""", play=NOTIFICATIONS.replace("CAN_SHOW", "false"))


def test_what_settles_without_proof_is_not_well_until_it_is_seen(cluster, browser, settling):
    stop, lost = settling
    browser.sign_in(cluster)
    browser.go("/cancels?open=1")
    until(lambda: cluster.api("GET", f"/v1/cancels/{stop}").json["status"] == "settled", "the stop to settle", 90)
    assert cluster.operation(lost)["stop"]["receipt"] == "unconfirmed"
    browser.sees("No stop is open", ".empty")
    browser.sees("1 stop settled without proof", ".empty")
    assert browser(SAY_STOPPED, paths=["/", "/cancels", f"/cancels/{stop}", f"/operations/{lost}", "/ended?q=scope:far"]) == []
    browser.go(f"/cancels/{stop}")
    browser.sees("Settled without full proof: 1 operation nobody can vouch for", "[data-verdict=unproven]")
    assert browser("return await page.getByRole('progressbar', { name: 'proven' }).getAttribute('aria-valuenow')") == "0"
    browser.go("/")
    browser.sees("Settled without proof: scope far", ".need")
    browser("await page.waitForFunction(() => document.title.startsWith('(1) '))")
    assert "every stop is proven" not in browser.text("main").lower()
    assert browser.flaws() == []
    browser.press("Seen", ".need")
    browser.sees("one or more settled without proof", ".all-well")
    assert "every stop is proven" not in browser.text("main").lower()
    cluster.kill_controller()
    browser.sees("What needs you is not known", "h1")
    cluster.start_controller()
    browser.sees("Nothing needs you", "h1")


def test_a_worker_is_drained_and_resumed(cluster, browser):
    browser.sign_in(cluster)
    op = cluster.start("bash", "-c", STAY, scope="slots", title="has a slot")["id"]
    cluster.wait_status(op, "running")
    worker = cluster.worker("w1")
    browser.go("/workers")
    browser.sees("w1", ".worker h2")
    browser.sees(f"1 of {worker['slots']} slot", ".worker .slots")
    browser.sees(worker["containment"], ".worker dd")
    assert browser("return await page.locator('.worker .limits li').allInnerTexts()") == worker["containment_limits"]
    cluster.cancel(operation=op)
    browser.press("Drain…", ".worker")
    browser.answer_question("Drain", "new disks")
    browser.sees("new disks", ".worker .warn")
    assert re.fullmatch(r"Draining since (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d: new disks", browser.text(".worker .warn"))
    assert cluster.worker("w1")["drain"]["reason"] == "new disks"
    browser.press("Resume", ".worker")
    until(lambda: cluster.worker("w1")["drain"] is None and cluster.worker("w1")["status"] == "ready", "the worker to take work again")
    browser("await page.locator('.worker .warn').waitFor({ state: 'detached' })")


def test_a_need_that_comes_back_is_announced_again(cluster, browser):
    browser.sign_in(cluster)
    browser(r"""const p = await context.newPage();
        await p.addInitScript(() => {
          window.told = [];
          window.Notification = class { static permission = 'granted'; constructor(title) { window.told.push(title); window.newest = this; } close() {} };
        });
        let is_lost = false;
        await p.route(/\/v1\/workers\?/, async (route) => {
          const answer = await route.fetch(), body = await answer.json();
          if (is_lost) body.workers[0].status = 'lost';
          await route.fulfill({ response: answer, json: body });
        });
        await p.goto(args.url + '/');
        await p.getByText('Nothing needs you').waitFor();
        // Hidden before anything is lost: what a look under way brings while somebody looks is not announced. It looks again when its visibility changes.
        await p.evaluate(() => void Object.defineProperty(document, 'hidden', { value: true, configurable: true }));
        const look = (lost) => (is_lost = lost, p.evaluate(() => void document.dispatchEvent(new Event('visibilitychange'))));
        for (const n of [1, 2]) {
          await look(true);
          await p.waitForFunction((n) => window.told.length === n && document.title.startsWith('(1) '), n, { polling: 100 });
          await look(false);
          await p.waitForFunction(() => !document.title.startsWith('('), null, { polling: 100 });
        }
        const told = await p.evaluate(() => window.told);
        await p.evaluate(() => window.newest.onclick());
        await p.waitForURL('**/workers');
        await p.unrouteAll({ behavior: 'ignoreErrors' });
        await p.close();
        if (told.some((words) => words !== 'Worker w1 is lost')) throw new Error(told.join());""")


def receipt_of_declared(cluster, browser):
    op = register(cluster, "resolved", title="nobody answers", grace_ms=0, external={"lease_ms": 0})
    browser.go(f"/operations/{op}")
    browser.sees("nobody answers", "h1")
    cluster.cancel(operation=op, wait="fenced")
    # Ten seconds behind the stop it ends by itself, and with it the button goes: then nothing is there to be declared.
    if browser("return await page.getByRole('button', { name: 'Declare dead…' }).click({ timeout: 20_000 }).then(() => true, () => false)"):
        browser.answer_question("Declare dead", "I pulled the plug")
    browser.sees("cancelled", "h1")
    return cluster.operation(op)["stop"]["receipt"]


def test_what_nobody_can_prove_is_declared_dead_with_a_reason(cluster, browser):
    browser.sign_in(cluster)
    receipts = []
    while "declared" not in receipts and len(receipts) < 3:
        receipts.append(receipt_of_declared(cluster, browser))
    assert receipts[-1] == "declared" and set(receipts[:-1]) <= {"unconfirmed"}, receipts
    browser.go("/")
    browser.sees("Settled without proof", ".need")
    browser.go("/audit")
    browser.sees("I pulled the plug", "tbody")


def test_everything_is_stopped_from_the_first_page(cluster, browser):
    ops = [cluster.start("bash", "-c", STAY, scope=f"all/{i}", title=f"number {i}") for i in range(3)]
    until(lambda: len(cluster.operations(status="running", scope="all")) == 3, "the tasks to run")
    browser.sign_in(cluster)
    browser.go("/")
    # The cluster in one line, as quelld counts it.
    for name, words in (("live", "3"), ("running", "3"), ("starting", "0"), ("cancelling", "0"), ("workers ready", "1 / 1")):
        browser("await page.locator('.tile').filter({ has: page.getByText(args.name, { exact: true }) }).locator('b').getByText(args.words, { exact: true }).waitFor()", name=name, words=words)
    browser.press("Stop everything…")
    browser.sees("3 operations on 1 worker", ".preview")
    confirm(browser)
    browser.sees("Stopped: 3 operations, each with proof", "[data-verdict=proven]")
    assert [cluster.operation(o["id"])["status"] for o in ops] == ["cancelled"] * 3
