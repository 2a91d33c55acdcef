"""A conversation in the web console: approvals, with all of the input that they would let begin, also a changed one, a message that takes the place of an answer, older messages, and answers that are drawn as the Markdown that they are, also while they are written."""
import os

import pytest

from harness.turns import TurnCluster
from harness.waiting import until
from test_console import ASKS, confirm, SCRIPT

ANSWER = """## Why it is *flaky*

The test **waits** for a port:

1. `test_upload` binds it
2. another one holds it
   - for long

```sh
pytest -q  # <b>not bold</b>
```

| Test | Port | `a \\| b` |
|:-----|-----:|---------|
| `test_upload` | **8080** | <b>as it is</b> |
| two |

See [the docs](https://example.org/ports)."""
DRAWN = [
    {"when": {"user": "grows"}, "steps": [{"text": "# Begins\n\nFirst **words**.\n\n"}, {"endless": "on and on ", "chunk": 5, "delay_ms": 20}]},
    {"when": {"user": "whole"}, "text": ANSWER},
    {"when": {"user": "too much"}, "text": "Half of it", "stop": "length"},
    {"when": {"user": "filtered"}, "text": "Some of it", "stop": "content_filter"},
    {"when": {"user": "choose", "round": 1}, "steps": [{"calls": [{"name": "ask_user", "input": {"question": "Which one?"}}]}]},
    {"when": {"user": "erase", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f ./nothing; echo original >> ran"}}]}]},
    {"when": {"user": "hidden", "round": 1}, "steps": [{"calls": [{"name": "exec", "input": {"command": "rm -f ./a\u202etxt.b", "cwd": "elsewhere", "env": {"LD_PRELOAD": "/tmp/x.so"}}}]}]},
]
DENIES = '[[approval]]\ntool = "exec"\nmatch = "rm -rf /*"\naction = "deny"\n'
LAST = "page.locator('.message.of-assistant .said').last()"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(DRAWN + SCRIPT, config=ASKS + DENIES, agent='tools = ["exec", "ask_user"]') as c:
        yield c


def test_an_approval_is_seen_everywhere_and_given(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/mia")
    browser("await page.getByLabel('Message').fill('asks'); await page.keyboard.press('Enter')")
    browser.sees("echo approved", ".command")
    browser("await page.locator('.message .tool .st-paused').waitFor()")
    assert browser.flaws() == []
    browser("await page.keyboard.press('Escape')")
    browser.go("/")
    browser.sees("1 thing needs you", "h1")
    browser("await page.waitForFunction(() => document.title.startsWith('(1) '))")
    browser.sees("echo approved", ".need .command")
    assert browser.flaws() == []
    browser.press("Approve")
    browser.sees("Nothing needs you", "h1")
    browser.go("/conversation?scope=chat/mia")
    browser.sees("Done.", ".message")
    browser("await page.locator('.message .tool .st-completed').waitFor()")
    browser("await page.locator('.message .tool', { hasText: /\\d(ms|s|m)/ }).waitFor()")  # how long it took
    assert os.path.exists(os.path.join(cluster.workspace, "marker"))


# Presses where the button of the first call stood, in the frame that shows the second call.
PRESS_THERE = """const { x, y, width, height } = await page.locator('.need', { hasText: args.scope }).getByRole('button', { name: 'Approve' }).boundingBox();
globalThis.pressed = page.waitForFunction(([x, y]) => {
  if (document.querySelectorAll('.need .approval').length < 2) return false;
  document.elementFromPoint(x, y)?.closest('button')?.click();
  return true;
}, [x + width / 2, y + height / 2], { polling: 'raf' });
globalThis.pressed.catch(() => {});"""


def test_a_press_reaches_the_call_that_stood_there_when_another_one_comes(cluster, browser):
    first = cluster.say("chat/aimed", "asks")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("echo approved", ".need .command")
    browser(PRESS_THERE, scope="chat/aimed")
    second = cluster.say("chat/came", "asks")
    browser("await globalThis.pressed")
    assert cluster.ended(first)["status"] == "completed", "it is the one that was read"
    assert cluster.below(second, status="paused"), "nobody has approved this one"
    cluster.cancel(scope="chat/came")


# In the frame that shows something worse above them: what takes a press where the button stood, and where it stands now. Before it: nothing has moved yet.
PRESSED = """const button = page.locator('.need', { hasText: args.scope }).getByRole('button', { name: 'Approve' });
const { x, y, width, height } = await button.boundingBox();
globalThis.pressed = page.waitForFunction(([x, y]) => {
  if (!document.querySelector('.need-bad')) return false;
  const now = document.querySelector('.need .approval .primary').getBoundingClientRect();
  return { moved: Math.round(now.top + now.height / 2 - y), taken: [[x, y], [now.left + 5, now.top + 5]].map(([x, y]) => document.elementFromPoint(x, y)?.closest('button, a')?.textContent ?? '') };
}, [x + width / 2, y + height / 2], { polling: 'raf' });
globalThis.pressed.catch(() => {});"""


def test_a_press_reaches_nothing_while_the_calls_move_for_something_worse(cluster, browser):
    turn = cluster.say("chat/moved", "asks")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("echo approved", ".need .command")
    browser(PRESSED, scope="chat/moved")
    lost = cluster.api("POST", "/v1/operations", {"kind": "external", "scope": "far", "external": {"lease_ms": 0}, "grace_ms": 600_000}).json["id"]
    cluster.cancel(scope="far", wait="fenced")
    assert cluster.api("POST", f"/v1/operations/{lost}/resolve", {"declare": "dead", "reason": "nobody knows"}).status == 200
    found = browser("return await (await globalThis.pressed).jsonValue()")
    assert found["moved"] > 20 and found["taken"] == ["", ""], found
    assert cluster.below(turn, status="paused"), "nobody has approved it"
    browser("await page.locator('.need', { hasText: 'chat/moved' }).getByRole('button', { name: 'Approve' }).click()")  # as soon as it takes a press
    assert cluster.ended(turn)["status"] == "completed"
    browser.press("Seen", ".need")
    browser("await page.locator('.need-bad').waitFor({ state: 'detached' })")


def test_an_approval_holds_for_a_while_until_it_is_revoked(cluster, browser):
    browser.sign_in(cluster)
    turn = cluster.say("chat/held", "asks")
    browser.go("/conversation?scope=chat/held")
    browser.sees("echo approved", ".command")
    browser("await page.getByLabel('How long the approval holds').selectOption({ label: 'And for 8 hours' })")
    assert browser.flaws() == []
    browser.press("Approve", ".talk")
    assert cluster.ended(turn)["status"] == "completed"
    assert cluster.ended(cluster.say("chat/held", "asks"))["status"] == "completed", "the same call begins without asking"
    browser.go("/")
    browser.sees("echo approved", ".standing-rules")
    assert browser.flaws() == []
    browser.press("Revoke", ".standing-rules")
    browser("await page.locator('.standing-rules').waitFor({ state: 'detached' })")
    again = cluster.say("chat/held", "asks")
    browser.sees("echo approved", ".need .command")
    cluster.cancel(scope="chat/held")
    assert cluster.ended(again)["status"] == "cancelled"


def test_a_message_stops_the_running_answer_and_takes_its_place(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/hasty")
    send = "await page.getByLabel('Message').fill(args.text); await page.keyboard.press('Enter')"
    browser(send, text="asks")
    browser.sees("echo approved", ".talk .command")
    browser("await page.getByLabel('While an answer is written').selectOption({ label: 'Stops the running answer' })")
    assert browser.flaws() == []
    browser(send, text="hello")
    browser.sees("The running answer is being stopped", ".say")
    browser.sees("You said hello.", ".message")
    ends = lambda: [t["status"] for t in cluster.operations(scope="chat/hasty", kind="turn", order="asc")]
    until(lambda: ends() == ["cancelled", "completed"], "the first answer to be stopped and the second to be complete")


def test_what_waits_in_a_conversation_is_counted_and_stopped_with_it(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/queue")
    browser("await page.getByLabel('Message').fill('grows'); await page.keyboard.press('Enter')")
    browser.sees("Answering for", ".turn-bar")
    turns = [cluster.operations(scope="chat/queue", kind="turn")[0]["id"], *(cluster.say("chat/queue", "grows") for _ in range(2))]
    browser.sees("2 waiting", ".turn-bar")
    # Its author tells it something; it waits as a turn until the model is asked again.
    browser("""await page.getByLabel('While an answer is written').selectOption({ label: 'Is told to the running answer' });
        await page.getByLabel('Message').fill('be short'); await page.keyboard.press('Enter')""")
    browser.sees("Told before its next step", ".say")
    browser.press("Stop all here…", ".turn-bar")
    browser.sees("Stop scope chat/queue?", "dialog h2")
    confirm(browser)
    browser.sees("each with proof", "dialog [data-verdict=proven]")
    assert [cluster.operation(turn)["status"] for turn in turns] == ["cancelled"] * 3


def test_a_message_answers_what_a_tool_asks(cluster, browser):
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/asked")
    browser("await page.getByLabel('Message').fill('choose'); await page.keyboard.press('Enter')")
    browser.sees("Which one?", ".talk .approval")
    turn, = cluster.operations(scope="chat/asked", kind="turn")
    browser("""await page.getByLabel('While an answer is written').selectOption({ label: 'Answers what it asks' });
        await page.getByLabel('Message').fill('the blue one'); await page.keyboard.press('Enter')""")
    browser.sees("Taken as the answer to its question", ".say")
    browser("await page.locator('.talk .approval').waitFor({ state: 'detached' })")
    assert cluster.ended(turn["id"])["status"] == "completed"
    assert "the blue one" in str(cluster.results("chat/asked", turn["id"]))


AT_ITS_END = "await page.waitForFunction(() => { const el = document.querySelector('.talk'); return el.scrollHeight > el.clientHeight && el.scrollHeight - el.clientHeight - el.scrollTop <= 2; }, null, { polling: 100 })"


def test_older_messages_are_reached(cluster, browser):
    turns = [cluster.say("chat/long", f"number {i}") for i in range(105)]  # each waits for its turn
    assert cluster.ended(turns[-1], seconds=120)["status"] == "completed"
    assert {cluster.operation(turn)["status"] for turn in turns} == {"completed"}
    browser.sign_in(cluster)
    browser.go("/conversation?scope=chat/long")
    browser.sees("You said number 104.", ".message")
    browser(AT_ITS_END)
    assert browser("return await page.getByText('number 0', { exact: true }).count()") == 0
    browser.press("Older messages", ".talk")
    browser("await page.getByText('number 0', { exact: true }).waitFor()")
    assert browser("return await page.getByRole('button', { name: 'Older messages' }).count()") == 0
    browser.press("To the newest", ".talk")
    browser(AT_ITS_END)
    assert cluster.ended(cluster.say("chat/long", "one more"))["status"] == "completed"
    browser.sees("You said one more.", ".message")
    browser(AT_ITS_END)
    # Whoever has scrolled up and comes back from elsewhere is there again.
    # The page may draw itself, and go to its end, before it hears that it was scrolled.
    browser("""await page.waitForFunction(() => {
          const el = document.querySelector('.talk'), is_away = [...el.querySelectorAll('button')].some((one) => one.textContent === 'To the newest');
          if (!is_away) el.scrollTop = el.scrollHeight - el.clientHeight - 900;
          return is_away;
        }, null, { polling: 200 });
        await page.getByRole('link', { name: 'Workers' }).click();
        await page.locator('.worker').first().waitFor();
        await page.goBack();
        await page.waitForFunction(() => {
          const el = document.querySelector('.talk');
          return el && Math.abs(el.scrollHeight - el.clientHeight - el.scrollTop - 900) <= 300;
        }, null, { polling: 100 });""")


def test_an_answer_is_drawn_with_its_marks(cluster, browser):
    assert cluster.ended(cluster.say("md/whole", "whole **as typed**"))["status"] == "completed"
    browser.sign_in(cluster)
    browser.go("/conversation?scope=md/whole")
    browser.sees("Why it is flaky", ".said [role=heading]")
    for where, text in (("em", "flaky"), ("strong", "waits"), ("ol > li:nth-child(1) code", "test_upload"), ("ol > li:nth-child(2) ul > li", "for long"), ("pre", "<b>not bold</b>"), ("th code", "a | b"), ("td strong", "8080"), ("td", "<b>as it is</b>")):
        browser.sees(text, f".said {where}")
    assert browser(f"return await {LAST}.locator('tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((one) => getComputedStyle(one).textAlign)))") == [["left", "right", "left"]] * 2 + [["left"]]
    assert browser(f"return await {LAST}.locator('a').evaluateAll((all) => all.map((a) => [a.href, a.rel, a.target]))") == [["https://example.org/ports", "noopener noreferrer", "_blank"]]
    browser.sees("whole **as typed**", ".of-user .said")
    assert browser(f"return await {LAST}.locator('b, img, script').count()") == 0
    assert browser.flaws() == []
    browser("await page.emulateMedia({ colorScheme: 'dark' })")
    assert browser.flaws(["color-contrast", "link-in-text-block"]) == []
    browser("await page.setViewportSize({ width: 320, height: 640 })")
    assert browser("return await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)"), "a table scrolls by itself"


@pytest.mark.parametrize("text, why", [("too much", "it reached the limit of one answer"), ("filtered", "cut by the content filter of the provider")])
def test_an_answer_that_is_less_than_was_wanted_says_so(cluster, browser, text, why):
    scope = "less/" + text[:3]
    browser.sign_in(cluster)
    browser.go("/conversation?scope=" + scope)
    browser(f"await page.getByLabel('Message').fill('{text}'); await page.keyboard.press('Enter')")
    browser.sees(why, ".message.of-assistant")
    browser.go("/")  # and for who comes later
    browser.go("/conversation?scope=" + scope)
    browser.sees(why, ".message.of-assistant")


def test_what_stands_in_a_growing_answer_is_not_drawn_anew(cluster, browser):
    turn = cluster.say("md/grows", "grows")
    browser.sign_in(cluster)
    browser.go("/conversation?scope=md/grows")
    browser.sees("Begins", ".said [role=heading]")
    browser.sees("on and on", ".said")
    grown = browser(f"""const said = {LAST};
        await said.evaluate((el) => {{
          window.taken = [];
          new MutationObserver((changes) => {{
            for (const change of changes) for (const one of change.removedNodes) window.taken.push(one.textContent);
          }}).observe(el, {{ childList: true, subtree: true }});
          for (const one of el.children) one.is_the_same = true;
          window.first_length = el.innerText.length;
        }});
        await page.waitForFunction(() => [...document.querySelectorAll('.message.of-assistant .said')].at(-1).innerText.length > window.first_length + 200, null, {{ polling: 100 }});
        return await said.evaluate((el) => ({{ taken: window.taken, same: [...el.children].map((one) => one.is_the_same === true), tags: [...el.children].map((one) => one.tagName) }}))""")
    assert grown["same"] == [True] * 3 and grown["taken"] == [], grown
    cluster.cancel(operation=turn)
    browser.sees("interrupted", ".message header")
    browser.sees("Begins", ".said [role=heading]")


def asked(c, scope, words="erase"):
    turn = c.say(scope, words)
    call, = until(lambda: c.below(turn, status="paused"), "a call to wait for a human")
    return turn, call["id"]


def type_input(browser, text):
    browser("await page.getByLabel('Input', { exact: true }).fill(args.text)", text=text)


def test_an_input_is_changed_and_what_is_wrong_is_said(cluster, browser):
    turn, call = asked(cluster, "console/changed")
    browser.sign_in(cluster)
    browser.go(f"/operations/{call}")
    browser.sees("rm -f ./nothing", ".approval")
    browser.press("Change…", ".approval")
    assert browser.flaws() == []
    type_input(browser, "{")
    browser.press("Approve changed", ".approval")
    browser.sees("This is not JSON", ".approval [role=alert]")
    type_input(browser, "[]")
    browser.press("Approve changed", ".approval")
    browser.sees("one JSON object", ".approval [role=alert]")
    type_input(browser, '{"command": "ls", "colour": "red"}')
    browser.press("Approve changed", ".approval")
    browser.sees("colour", ".approval [role=alert]")
    type_input(browser, '{"command": "rm -rf /srv"}')
    browser.press("Approve changed", ".approval")
    browser.sees("denies", ".approval [role=alert]")
    assert browser.flaws() == []
    assert cluster.operation(call)["status"] == "paused"
    type_input(browser, '{"command": "echo changed >> ran"}')
    browser.press("Approve changed", ".approval")
    assert cluster.ended(turn)["status"] == "completed"
    assert open(os.path.join(cluster.workspace, "ran")).read().split() == ["changed"]
    browser.sees("Input that it ran with", "h2")
    browser.sees("echo changed", "pre")


def test_a_change_is_taken_back(cluster, browser):
    turn, call = asked(cluster, "console/same")
    browser.sign_in(cluster)
    browser.go(f"/operations/{call}")
    browser.press("Change…", ".approval")
    type_input(browser, '{"command": "echo never >> ran"}')
    browser.press("Leave as it is", ".approval")
    browser.sees("rm -f ./nothing", ".approval pre")
    browser.press("Deny", ".approval")
    assert cluster.ended(turn)["status"] == "completed" and "changed" not in cluster.operation(call)["tool"]


def test_whoever_decides_sees_all_of_the_input_and_what_hides_in_it(cluster, browser):
    turn, call = asked(cluster, "console/hidden", "hidden")
    browser.sign_in(cluster)
    for path, where in (("/", ".need"), (f"/operations/{call}", ".approval"), ("/conversation?scope=console/hidden", ".talk .approval")):
        browser.go(path)
        for words in ("rm -f ./a⟨U+202E⟩txt.b", "LD_PRELOAD", "/tmp/x.so", "elsewhere"):
            browser.sees(words, where)
    assert browser.flaws() == []
    browser.press("Change…", ".approval")
    assert "\\u202e" in browser("return await page.getByLabel('Input', { exact: true }).inputValue()"), "also where it is edited"
    browser.press("Leave as it is", ".approval")
    browser.press("Deny", ".approval")
    assert cluster.ended(turn)["status"] == "completed"
