"""The web console and agents: what they cost, what they ask, what may be done to a conversation, and a reload of their configuration."""
import json
import os
import sys

import pytest

from harness.browser import Browser
from harness.recording_model import RecordingModel
from harness.turns import TurnCluster
from harness.waiting import until
from test_console import EVIL

ASKING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness/asking_mcp.py")
SCRIPT = [{"text": "You said {{text}}.", "usage": {"input": 1_000_000, "output": 200_000, "cached": 0}}]


class Asking(TurnCluster):
    """A model with a price, and one whose MCP server asks people something."""

    def __init__(self):
        self.model = RecordingModel()
        try:
            super().__init__(SCRIPT, agent='instructions = "Be brief."', config=(
                f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                f'[[agents]]\nname = "peer"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:odd"]\n'
                f'[[mcp]]\nname = "odd"\ncommand = {[sys.executable, ASKING]!r}\nenv = {{ SEEN = "WORKSPACE/seen", ODD_WORDS = {json.dumps(EVIL)} }}\n'))
            with open(self.config) as f:
                text = f.read()
            self.write(text.replace('provider = "scripted"\n', 'provider = "scripted"\nprice = { input = 2, output = 10 }\n', 1))
        except BaseException:
            self.model.close()
            raise

    def write(self, text):
        with open(self.config + ".new", "w") as f:
            f.write(text)
        os.rename(self.config + ".new", self.config)
        self.text = text

    def close(self):
        super().close()
        self.model.close()

    def ask(self, scope, text, tool="deploy"):
        self.model.plan[text] = [[(f"mcp__odd__{tool}", {})]]
        turn = self.say(scope, text, agent="peer")
        until(lambda: self.below(turn, status="paused"), "the call to ask")
        return turn

    def answer_of(self, scope, turn):
        return str(self.results(scope, turn))


@pytest.fixture(scope="module")
def cluster():
    with Asking() as c:
        yield c


def test_costs_are_shown_by_day_and_scope_and_where_they_arise(cluster, browser):
    turn = cluster.say("cost/mia", "hello")
    assert cluster.ended(turn)["turn"]["usage"]["cost"] == 4
    cluster.ended(cluster.say("cost/zoe", "hello"))
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("8.00", ".tile[href='/cost']")
    browser("await page.locator(\".tile[href='/cost']\").click()")
    browser.sees("Cost of each day", ".chart")
    browser.sees("8.00", "tbody td")
    browser("await page.locator('.chart canvas').first().waitFor()")
    assert browser.flaws() == []
    browser.press("By scope")
    browser.sees("cost/mia", "tbody")
    browser.sees("50 %", "tbody")
    assert "by=scope" in browser("return page.url()")
    browser("await page.getByRole('link', { name: 'cost/mia', exact: true }).click()")
    browser.sees("cost/mia", "h1")
    browser.sees("4.00", ".tile")
    for by in ("author", "agent", "model"):
        browser.go(f"/cost?by={by}&scope=cost")
        browser.sees({"author": "mia", "agent": "main", "model": "script"}[by], "tbody")
    for days in ("999999999999", "-5", "x"):
        browser.go(f"/cost?days={days}")
        browser.sees("8.00", "tbody td")
    browser.go("/cost?scope=cost/nobody")
    browser.sees("Nothing used", ".empty")
    browser.go(f"/operations/{turn}")
    browser.sees("cost 4.00", ".operation-side")
    browser.go("/conversation?scope=cost/mia")
    browser.sees("1M in, 200k out · cost 4.00", ".message header")
    browser.sees("cost so far 4.00", ".talk-foot")
    assert browser.flaws() == []
    browser("await page.setViewportSize({ width: 390, height: 844 })")
    browser.go("/cost")
    browser.sees("8.00", "tbody td")
    assert browser("return await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)")


def test_a_question_is_answered_with_the_fields_of_its_form(cluster, browser):
    turn = cluster.ask("asks/a", "deploy one")
    browser.sign_in(cluster)
    browser.go("/")
    browser.sees("odd asks something", ".need")
    browser.sees("Where to?", ".need .approval")
    assert browser.flaws() == []
    browser("await page.getByLabel('replicas').fill('4'); await page.getByLabel('notify').selectOption('No')")
    browser.press("Answer", ".need")
    assert browser("return await page.getByLabel('environment').evaluate((e) => e.validity.valueMissing)"), "a required field keeps the question open"
    browser("await page.getByLabel('environment').selectOption('staging')")
    browser.press("Answer", ".need")
    browser.sees("Nothing needs you", "h1")
    assert cluster.ended(turn)["status"] == "completed"
    answer = cluster.answer_of("asks/a", turn)
    for part in ("accept", "staging", '"replicas": 4', '"notify": false'):
        assert part in answer.replace('\\"', '"'), answer


def test_no_words_of_a_question_become_code(cluster, browser):
    turn = cluster.ask("asks/odd", "in odd words", tool="odd_words")
    browser.sign_in(cluster)
    for path, where in (("/", ".need .approval"), ("/conversation?scope=asks/odd", ".talk .approval")):
        browser.go(path)
        for part in (".said", "label", ".faint", "option"):
            browser("await page.locator(args.where).filter({ hasText: args.evil }).first().waitFor({ state: 'attached' })", where=f"{where} {part}", evil=EVIL)
        assert browser("return await page.locator('#app script, #app img:not([src=\"/icon.svg\"])').count()") == 0, path
    browser.press("Dismiss", ".talk")
    assert cluster.ended(turn)["status"] == "completed"


@pytest.mark.parametrize("button, action", [("Dismiss", "cancel"), ("Deny", "decline")])
def test_a_question_is_dismissed_or_denied_in_its_conversation(cluster, browser, button, action):
    scope = f"asks/{action}"
    turn = cluster.ask(scope, f"deploy {action}")
    browser.sign_in(cluster)
    browser.go(f"/conversation?scope={scope}")
    browser.sees("Where to?", ".talk .approval")
    assert browser.flaws() == []
    browser.press(button, ".talk")
    browser("await page.locator('.talk .approval').waitFor({ state: 'detached' })")
    assert cluster.ended(turn)["status"] == "completed"
    assert action in cluster.answer_of(scope, turn)


def test_a_conversation_is_retried_forked_compacted_and_cleared(cluster, browser):
    for text in ("hello", "again"):
        assert cluster.ended(cluster.say("past/a", text))["status"] == "completed"
    browser.sign_in(cluster)
    browser.go("/conversation?scope=past/a")
    browser.sees("You said hello.", ".message")
    browser.sees("Fork…", ".history")
    assert browser.flaws() == []
    browser.press("Retry", ".history")
    browser.sees("Asked again", ".history")
    until(lambda: len(cluster.operations(scope="past/a", kind="turn", status="completed")) == 3, "the newest request to be answered again")
    browser("await page.locator('.message.of-assistant header a').nth(2).waitFor()")  # read, not only heard
    browser("await page.getByRole('button', { name: 'Fork…' }).and(page.locator(':enabled')).click()")
    browser("await page.getByLabel('Scope of the copy').fill('past/b'); await page.getByRole('button', { name: 'Fork', exact: true }).click()")
    browser.sees("past/b", "h1")
    browser.sees("You said hello.", ".message")
    browser.press("Compact", ".history")
    browser.sees("Summary of", ".of-summary")
    browser("await page.getByRole('button', { name: 'Clear…' }).and(page.locator(':enabled')).click()")
    assert browser.flaws() == []
    browser("await page.getByRole('button', { name: 'Clear', exact: true }).click()")
    browser.sees("Cleared", ".of-summary")
    assert any((m["summary"] or {}).get("clear") for m in cluster.messages("past/b"))
    assert not any((m["summary"] or {}).get("clear") for m in cluster.messages("past/a"))


def test_what_somebody_else_has_written_meanwhile_is_not_asked_again(cluster, browser):
    scope = "past/raced"
    cluster.ended(cluster.say(scope, "hello"))
    browser.sign_in(cluster)
    browser.go(f"/conversation?scope={scope}")
    browser.sees("You said hello.", ".message")
    # The press is made; before it arrives, another message does.
    browser("""globalThis.let_go = null;
        await page.route('**/v1/history', async (one) => { await new Promise((go) => { globalThis.let_go = go; }); await one.continue(); }, { times: 1 })""")
    browser("await page.getByRole('button', { name: 'Retry' }).and(page.locator(':enabled')).click()")
    until(lambda: browser("return globalThis.let_go !== null"), "the press to be on its way")
    assert cluster.ended(cluster.say(scope, "again"))["status"] == "completed"
    before = cluster.messages(scope)
    browser("globalThis.let_go()")
    browser.sees("Somebody has written meanwhile: read it, then decide again.", ".history [role=alert]")
    assert cluster.messages(scope) == before
    browser.sees("You said again.", ".message")
    browser("await page.getByRole('button', { name: 'Retry' }).and(page.locator(':enabled')).waitFor()")


def test_a_turn_whose_end_was_not_heard_is_over(cluster, browser):
    """The page reads the beginning of a turn, which ends before the page's stream is open."""
    turn = cluster.ask("asks/unheard", "deploy unheard")
    browser.sign_in(cluster)
    browser(r"""globalThis.may_open = new Promise((open) => (globalThis.let_open = open));
        await page.route(/\/v1\/events\?scope=/, async (route) => { await globalThis.may_open; await route.continue().catch(() => {}); });""")
    browser.go("/conversation?scope=asks/unheard")
    browser("await page.locator('.message.of-assistant[aria-busy=true]').waitFor()")
    browser.press("Deny", ".talk")
    assert cluster.ended(turn)["status"] == "completed"
    browser("globalThis.let_open(); await page.unrouteAll()")
    browser.sees("done", ".message.of-assistant")
    browser("await page.getByRole('button', { name: 'Fork…' }).and(page.locator(':enabled')).waitFor()")


def test_a_message_is_edited_and_asked_again_or_deleted_with_its_answer(cluster, browser):
    for text in ("first", "second"):
        assert cluster.ended(cluster.say("past/edited", text))["status"] == "completed"
    browser.sign_in(cluster)
    browser.go("/conversation?scope=past/edited")
    browser.sees("You said second.", ".message")
    browser("await page.locator('.message', { hasText: 'second' }).getByRole('button', { name: 'Edit…' }).click()")
    assert browser.flaws() == []
    browser("await page.getByLabel('New text').fill('third'); await page.getByRole('button', { name: 'Ask again' }).click()")
    browser.sees("You said third.", ".message")
    kept = lambda: [m["text"] for m in cluster.messages("past/edited") if m["role"] == "user" and not m["discarded"]]
    until(lambda: kept() == ["first", "third"], "the edited request to take the place of the old one")
    browser("const of = page.locator('.message', { hasText: 'first' }).first(); await of.getByRole('button', { name: 'Delete…' }).and(page.locator(':enabled')).click(); await of.getByRole('button', { name: 'Delete', exact: true }).click()")
    until(lambda: kept() == ["third"], "the first request to go with its answer")


def test_a_reload_shows_what_changed_or_why_nothing_did(cluster, browser):
    first = cluster.text
    browser.sign_in(cluster)
    browser.go("/cluster")
    browser.press("Reload configuration")
    browser.sees("nothing has changed", ".configuration")
    cluster.write(first.replace("Be brief.", "Be long."))
    browser.press("Reload configuration")
    browser.sees("agents.main.instructions", ".configuration")
    browser.sees("Be long.", ".configuration pre")
    # The value of a header is not printed, and changes all the same.
    named = 'name = "recorded"\n'
    for value in ("blue-crew", "red-crew"):
        cluster.write(first.replace(named, named + f'headers = {{ X-Team = "{value}" }}\n'))
        browser.press("Reload configuration")
        browser.sees("models.recorded.headers.X-Team", ".configuration [role=status]")
        assert value not in browser.text(".configuration")
        browser.press("Reload configuration")
        browser.sees("nothing has changed", ".configuration")
    cluster.write(first + '\n[limits]\noperations = 77\n')
    browser.press("Reload configuration")
    browser.sees("Nothing was changed.", ".configuration [role=alert]")
    browser.sees("limits.operations", ".configuration [role=alert]")
    cluster.write(first + '\n[[agents]]\nname = "x"\nmodel = "nobody"\n')
    browser.press("Reload configuration")
    browser.sees("nobody", ".configuration [role=alert]")
    assert browser.flaws() == []
    cluster.write(first)
