"""What leaves the web console arrives once, in the right name, and is not said to have arrived before: messages, tokens, sign-ins, and stops that quelld does not answer."""
import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, confirm, SCRIPT, STAY


@pytest.fixture(scope="module")
def cluster():
    # The tasks outlive the time for which quelld is away, however long the browser takes.
    with TurnCluster(SCRIPT, config=ASKS, workers=1, settings=["workers.lease=300s"]) as c:
        yield c


# The request arrives; its answer comes once the test calls `window.let_go()`.
HOLD = """await page.route(args.path, async (one) => {
  if (one.request().method() !== 'POST') return one.fallback();
  const answer = await one.fetch();
  await page.evaluate(() => new Promise((done) => { window.let_go = done; }));
  await one.fulfill({ response: answer });
});"""
LOSE = """let lost = 0;
await page.route('**/v1/messages', async (one) => {
  if (one.request().method() !== 'POST' || lost++ > 0) return one.fallback();
  await one.fetch();
  await one.abort();
});"""


def open_conversation(cluster, browser, scope):
    browser.sign_in(cluster)
    browser.go(f"/conversation?scope={scope}")
    browser("await page.getByLabel('Message').waitFor()")


def written(browser):
    return browser("return await page.getByLabel('Message').inputValue()")


def said(cluster, scope):
    return [m["text"] for m in cluster.messages(scope) if m["role"] == "user"]


def test_two_presses_of_enter_post_one_message_and_keep_what_is_typed_meanwhile(cluster, browser):
    open_conversation(cluster, browser, "compose/twice")
    browser(HOLD, path="**/v1/messages")
    browser("""const box = page.getByLabel('Message');
        await box.fill('hello'); await box.press('Enter'); await box.press('Enter');
        await page.waitForFunction(() => window.let_go);
        await box.press('Enter'); await box.press('End'); await box.press('Shift+Enter'); await box.pressSequentially('next words');
        await page.evaluate(() => window.let_go());
        await page.waitForFunction(() => document.querySelector('.say textarea').value === 'next words')""")
    browser("await page.unroute('**/v1/messages')")
    browser.sees("You said hello.", ".message")
    assert said(cluster, "compose/twice") == ["hello"]
    browser("await page.getByLabel('Message').press('Enter')")
    browser.sees("You said next words.", ".message")
    until(lambda: written(browser) == "", "the words to leave the box: their answer comes beside what the post has to say")
    assert said(cluster, "compose/twice") == ["hello", "next words"]


def test_a_message_whose_answer_is_lost_is_sent_again_as_the_same_message(cluster, browser):
    open_conversation(cluster, browser, "compose/lost")
    browser(LOSE)
    browser("const box = page.getByLabel('Message'); await box.fill('hello'); await box.press('Enter')")
    browser.sees("Whether this message has arrived is not known", ".say [role=alert]")
    assert written(browser) == "hello"
    browser("await page.getByLabel('Message').press('Enter')")
    browser.sees("It had arrived; it was taken once", ".say")
    assert written(browser) == ""
    browser("await page.unroute('**/v1/messages')")
    browser.sees("You said hello.", ".message")
    assert said(cluster, "compose/lost") == ["hello"]


def test_a_message_whose_own_answer_runs_is_sent_again_as_the_same_message(cluster, browser):
    open_conversation(cluster, browser, "compose/running")
    browser(LOSE)
    browser("const box = page.getByLabel('Message'); await box.fill('asks'); await box.press('Enter')")
    browser.sees("Whether this message has arrived is not known", ".say [role=alert]")
    browser("await page.getByLabel('While an answer is written').waitFor()")
    browser("await page.getByLabel('Message').press('Enter')")
    browser.sees("It had arrived; it was taken once", ".say")
    browser("await page.unroute('**/v1/messages')")
    assert said(cluster, "compose/running") == ["asks"]
    assert len(cluster.operations(scope="compose/running", kind="turn")) == 1
    cluster.cancel(scope="compose/running")


def test_two_presses_of_create_make_one_token(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tokens")
    browser(HOLD, path="**/v1/tokens")
    browser("""await page.getByLabel('Name').fill('for mia');
        await page.getByRole('button', { name: 'Create' }).dblclick();
        await page.waitForFunction(() => window.let_go)""")
    browser.sees("Creating…", "form")
    assert browser("return await page.getByRole('button', { name: 'Creating…' }).isDisabled()")
    browser("await page.evaluate(() => window.let_go())")
    browser.sees("It is shown this once", ".secret")
    browser("await page.unroute('**/v1/tokens')")
    made = [t["name"] for t in cluster.api("GET", "/v1/tokens?limit=1000").json["tokens"]]
    assert made.count("for mia") == 1, made
    assert browser.flaws() == []


def test_a_token_whose_answer_is_lost_is_made_once_and_its_secret_shown(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/tokens")
    browser(LOSE.replace("messages", "tokens"))
    browser("await page.getByLabel('Name').fill('for zoe')")
    browser.press("Create")
    browser.sees("Whether this token was made is not known", "#main [role=alert]")
    browser.sees("for zoe", "tbody")
    browser("await page.getByRole('button', { name: 'Create', exact: true }).and(page.locator(':enabled')).click()")
    browser.sees("It is shown this once", ".secret")
    browser("await page.unroute('**/v1/tokens')")
    assert cluster.api("GET", "/v1/operations", token=browser.text(".secret code")).status == 200
    assert [t["name"] for t in cluster.api("GET", "/v1/tokens?limit=1000").json["tokens"]].count("for zoe") == 1


def test_a_sign_out_that_quelld_does_not_answer_is_not_said_to_be_done(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("quell", "nav")
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


def sign_in_another_tab(cluster, browser, token):
    made = cluster.api("POST", "/v1/sessions/links", {}, token=token)
    assert made.status == 201, made.body
    browser("const tab = await context.newPage(); await tab.goto(args.url + args.path); await tab.locator('nav').waitFor(); await tab.close(); await page.bringToFront()", path=made.json["path"])


def token_of(cluster, name, role):
    return cluster.api("POST", "/v1/tokens", {"name": name, "role": role}).json["token"]


def test_a_sign_in_in_another_tab_is_noticed(cluster, browser):
    browser.sign_in(cluster, token=token_of(cluster, "ann", "operator"))
    browser.go("/tree")
    browser.sees("ann", "nav .who")
    sign_in_another_tab(cluster, browser, token_of(cluster, "bob", "observer"))
    browser.sees("Somebody else is signed in", ".sign-in h1")
    browser.sees("bob (observer)", ".sign-in")
    browser.sees("ann (operator)", ".sign-in")
    assert browser.flaws() == []
    browser.press("Go on as bob")
    browser.sees("bob", "nav .who")
    browser.sees("Live", "h1")
    assert browser("return await page.getByRole('button', { name: /^Stop/, includeHidden: true }).count()") == 0, "an observer stops nothing"


def test_a_stop_without_an_answer_is_not_sent_in_the_name_of_somebody_else(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="two", title="of two")["id"]
    cluster.wait_status(op, "running")
    browser.sign_in(cluster, token=token_of(cluster, "cid", "operator"))
    browser.go(f"/operations/{op}")
    browser("await page.route('**/v1/cancels', (one) => one.abort())")
    browser.press("Stop…")
    confirm(browser)
    browser.sees("Not sent yet, as far as this page knows", "dialog .unanswered")
    sign_in_another_tab(cluster, browser, token_of(cluster, "dora", "operator"))
    browser.sees("Stop of of two: not confirmed. Somebody else is signed in.", ".stop-aside")
    browser("await page.unroute('**/v1/cancels')")
    browser.press("Go on as dora")
    browser.sees("of two", "h1")
    assert cluster.operation(op)["status"] == "running"
    assert [c for c in cluster.api("GET", "/v1/cancels").json["cancels"] if c["target"].get("operation") == op] == []
    cluster.cancel(operation=op)


def link(cluster, token=None):
    return cluster.api("POST", "/v1/sessions/links", {}, token=token).json["path"]


@pytest.mark.parametrize("where", ["address", "field"])
def test_a_link_that_is_pasted_into_the_open_page_signs_in(cluster, browser, where):
    browser.go("/")
    browser.sees("Sign in", ".sign-in")
    if where == "address":
        browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=link(cluster))
    else:
        browser("await page.getByLabel('Token').fill(args.url + args.path); await page.getByRole('button', { name: 'Sign in' }).click()", path=link(cluster))
    browser.sees("quell", "nav")
    assert "#" not in browser("return page.url()")


def test_a_link_of_somebody_else_begins_the_open_page_anew(cluster, browser):
    op = cluster.start("bash", "-c", STAY, scope="others", title="of others")["id"]
    browser.sign_in(cluster)
    browser.go("/tree")
    browser.sees("Tokens", "nav")
    browser.sees("others", "[role=treeitem]")
    browser.press("Open others")
    browser.sees("of others", "[role=treeitem]")
    browser.press("Save view")
    browser.answer_question("Save", "view of the admin")
    browser.sees("view of the admin", "nav")
    path = link(cluster, cluster.api("POST", "/v1/tokens", {"name": "eve", "role": "operator", "scope": "evening"}).json["token"])
    browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=path)
    browser.sees("eve", "nav .who")
    assert "Tokens" not in browser.text("nav") and "view of the admin" not in browser.text("nav")
    browser("await page.locator('nav').getByRole('link', { name: 'Needs me' }).click()")
    browser.press("Stop everything…")
    browser.sees("this page has shown no operation yet", "dialog")  # what the one before has seen is not what this one sees
    browser.press("Keep it running", "dialog")
    cluster.cancel(operation=op)
    browser("await page.evaluate((path) => { location.hash = path.slice(path.indexOf('#')); }, args.path)", path=path)
    browser.sees("Still signed in as eve: the link did not sign in.", ".stage [role=alert]")
    browser.press("Seen", ".stage [role=alert]")


WAITING = "Not sent yet, as far as this page knows. quelld does not answer. It is sent again by itself"
PROVEN = "Stopped: 1 operation, each with proof"


def started(cluster, title):
    op = cluster.start("bash", "-c", STAY, scope="away", title=title)
    cluster.wait_status(op["id"], "running")
    return op["id"]


def ask_to_stop(browser, op):
    browser.go(f"/operations/{op}")
    browser.press("Stop…")
    browser.sees("Stop ", "dialog h2")


def confirm_unheard(cluster, browser, op):
    """Signs in and confirms a stop while quelld is away."""
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    cluster.kill_controller()
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")


def cancels_of(cluster, op):
    return [c for c in cluster.api("GET", "/v1/cancels").json["cancels"] if c["target"].get("operation") == op]


@pytest.mark.parametrize("has_preview", [True, False])
def test_a_confirmed_stop_is_sent_by_itself_once_quelld_is_back(cluster, browser, has_preview):
    op = started(cluster, "stopped in the dark")
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    if has_preview:
        browser.sees("1 operation on", ".preview")
    cluster.kill_controller()
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")
    assert "stopped" not in browser.text("dialog").lower().replace("stopped in the dark", "")
    assert browser.flaws() == []
    cluster.start_controller()
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert cluster.operation(op)["status"] == "cancelled"
    assert len(cancels_of(cluster, op)) == 1, "however often it was sent, it is one stop"


def test_a_stop_goes_on_behind_a_closed_dialog_and_in_another_view(cluster, browser):
    op = started(cluster, "left alone")
    confirm_unheard(cluster, browser, op)
    browser("await page.keyboard.press('Escape'); await page.locator('nav').getByRole('link', { name: 'Workers' }).click()")
    browser.sees("Workers", "h1")
    browser.sees("Stop of left alone: not sent yet, as far as this page knows", ".stop-aside")
    assert browser.flaws() == []
    cluster.start_controller()
    browser.sees("Stop of left alone: quelld has taken it", ".stop-aside")
    cluster.wait_status(op, "cancelled")
    browser.press("Show the stop", ".stop-aside")
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert browser("return await page.locator('.stop-aside').count()") == 0
    assert len(cancels_of(cluster, op)) == 1


def test_leaving_the_page_is_asked_about_and_giving_up_sends_nothing_more(cluster, browser):
    op = started(cluster, "spared")
    confirm_unheard(cluster, browser, op)
    # The driver answers that the person stays.
    browser("const asked = page.waitForEvent('dialog'); await page.evaluate(() => void setTimeout(() => location.reload())); await asked")
    assert len(browser("return wrong.splice(0)")) == 1
    browser.press("Give up", "dialog")
    browser.sees("Given up. Nothing more is sent; what was sent before may have arrived", "dialog [role=alert]")
    cluster.start_controller()
    browser("await page.locator('.lost').waitFor({ state: 'detached' })")
    assert cluster.operation(op)["status"] == "running" and cancels_of(cluster, op) == []
    browser.press("Try again", "dialog")
    browser.sees(PROVEN, "dialog [data-verdict=proven]")


def test_a_stop_that_arrived_and_whose_answer_was_lost_is_one_stop(cluster, browser):
    op = started(cluster, "answered in vain")
    browser.sign_in(cluster)
    ask_to_stop(browser, op)
    browser.sees("1 operation on", ".preview")
    browser("await page.route('**/v1/cancels', async (one) => { await one.fetch(); await one.abort(); }, { times: 1 })")
    confirm(browser)
    browser.sees(PROVEN, "dialog [data-verdict=proven]")
    assert len(cancels_of(cluster, op)) == 1


def test_a_refusal_ends_the_repeats_and_is_shown(cluster, browser):
    op = started(cluster, "out of reach")
    made = cluster.api("POST", "/v1/tokens", {"name": "leaves", "role": "operator"}).json
    browser.sign_in(cluster, token=made["token"])
    ask_to_stop(browser, op)
    browser("await page.route('**/v1/cancels', (one) => one.abort())")
    confirm(browser)
    browser.sees(WAITING, "dialog .unanswered")
    assert cluster.api("DELETE", f"/v1/tokens/{made['id']}").status == 204
    browser("await page.unroute('**/v1/cancels')")
    browser.sees("Sign in", ".sign-in")
    browser.sees("Stop of out of reach: not confirmed.", ".sign-in .stop-aside")
    assert browser.flaws() == []
    assert cluster.operation(op)["status"] == "running" and cancels_of(cluster, op) == []
    browser.press("Seen", ".stop-aside")
    browser("await page.locator('.stop-aside').waitFor({ state: 'detached' })")
    cluster.cancel(operation=op)


def test_an_approval_without_an_answer_does_not_claim_to_be_repeated(cluster, browser):
    turn = cluster.say("chat/away", "asks")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("echo approved", ".need .command")
    cluster.kill_controller()
    browser.press("Approve", ".need")
    browser.sees("Whether this has reached it is not known: look before you try again", ".need [role=alert]")
    assert "by itself" not in browser.text(".need")
    cluster.start_controller()
    until(lambda: cluster.operations(status="paused"), "the call to wait for its approval again")
    cluster.cancel(scope="chat/away")
    assert cluster.ended(turn)["status"] == "cancelled"


def test_an_approval_whose_answer_is_lost_decides_nothing_twice(cluster, browser):
    turn = cluster.say("chat/twice", "asks")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("echo approved", ".need .command")
    # The page does not learn that the call goes on.
    browser("""await page.route('**/v1/operations?status=paused*', (one) => one.abort());
        await page.route('**/approve', async (one) => { await one.fetch(); await one.abort(); }, { times: 1 })""")
    browser.press("Approve", ".need")
    browser.sees("Whether this has reached it is not known", ".need [role=alert]")
    assert cluster.ended(turn)["status"] == "completed"
    browser.press("Approve", ".need")
    browser.sees("Approved", ".need [role=status]")
    assert browser("return await page.locator('.need [role=alert]').count()") == 0
    assert len(cluster.operations(scope="chat/twice", kind="task")) <= 1
    browser("await page.unrouteAll({ behavior: 'ignoreErrors' })")


@pytest.mark.parametrize("path", ["/tree?scope=away", "/tree?q=scope:away"])
def test_whoever_may_not_stop_is_offered_no_stop(cluster, browser, path):
    op = started(cluster, "only watched")
    made = cluster.api("POST", "/v1/tokens", {"name": "watcher", "role": "observer"}).json
    browser.sign_in(cluster, token=made["token"])
    browser.go(path)
    browser.sees("only watched", ".row")
    browser("await page.keyboard.press('j'); await page.keyboard.press('x'); await page.keyboard.press('c'); await page.keyboard.press('?')")
    browser.sees("Keys", "dialog h2")  # the keys before it have been heard
    assert "stop" not in browser.text("dialog").lower()
    assert browser("return await page.locator('.row .choose, .chosen').count()") == 0
    assert browser("return await page.getByRole('button', { name: /^Stop/, includeHidden: true }).count()") == 0
    browser("await page.keyboard.press('Escape')")
    cluster.cancel(operation=op)
