"""Second presses in the web console: a message is posted once, also if its answer is lost, no word is wiped unsent, and one token is created."""

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, SCRIPT

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


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, config=ASKS, workers=1) as c:
        yield c


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
