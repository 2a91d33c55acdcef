"""The web console of a cluster in trouble: chat services, models, MCP servers and the disk; what can be promised, and the configuration without its secrets."""
import json
import os
import re
import shutil

import pytest

from harness.cluster import free_ports
from harness.turns import TurnCluster
from harness.waiting import until

SECRET = "the-key-that-nobody-may-see"


class Troubled(TurnCluster):
    """Nobody listens where its chat service, its MCP server and its model should be, the disk is near the reserve, and a worker was killed."""

    def __init__(self):
        chat, mcp, model = free_ports(3)
        free = shutil.disk_usage("/tmp").free
        super().__init__([{"text": "Well."}], agent='scopes = ["elsewhere"]', config=(
            f'[irc]\nhost = "127.0.0.1"\nport = {chat}\ntls = false\nnetwork = "test"\nnick = "clanky"\nchannels = ["#dev"]\nusers = ["*"]\n'
            f'[[models]]\nname = "dead"\nprovider = "openai"\nmodel = "any"\nbase_url = "http://127.0.0.1:{model}"\nkey_env = "DEAD_KEY"\nretries = 0\n'
            f'[[agents]]\nname = "doomed"\nmodel = "dead"\nscopes = ["chat/doomed"]\ntools = ["mcp:gone"]\n'
            f'[[mcp]]\nname = "gone"\nurl = "http://{SECRET}:{SECRET}@127.0.0.1:{mcp}/mcp?key={SECRET}"\nkey_env = "DEAD_KEY"\n'
            f'[[mcp]]\nname = "local"\ncommand = ["true"]\nenv = {{ API_KEY = "{SECRET}" }}\n'), settings=[f"store.reserve={free // 5}", "workers.lease=10s"])

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "DEAD_KEY": SECRET}, **options)


@pytest.fixture(scope="module")
def cluster():
    with Troubled() as c:
        c.add_worker("w2").process.kill()
        yield c


def test_the_api_says_what_is_in_trouble(cluster):
    status = cluster.api("GET", "/v1/status").json
    assert [s["name"] for s in status["chat_services"]] == ["irc"]
    assert status["store"]["low"] is False and status["store"]["free_bytes"] > status["store"]["reserve_bytes"] > 0
    until(lambda: "retrying" in cluster.api("GET", "/v1/status").json["chat_services"][0]["state"], "irc to be tried again")
    assert cluster.api("GET", "/v1/status").json["chat_services"][0]["working"] is False
    made = cluster.api("POST", "/v1/tokens", {"name": "scoped", "role": "admin", "scope": "team"}).json["token"]
    scoped = cluster.api("GET", "/v1/status", token=made).json
    assert scoped["store"] is None and scoped["chat_services"] is None


@pytest.fixture(scope="module")
def watched(cluster, one_browser):
    """A page that stays open: a chat service needs somebody after ten seconds, and what else it shows is read meanwhile."""
    turn = cluster.say("chat/doomed", "hello")
    assert cluster.ended(turn) is not None
    one_browser.forget()
    one_browser.sign_in(cluster)
    one_browser.go("/")
    one_browser.sees("Model dead fails", ".need")
    return one_browser


def test_the_cluster_says_what_it_can_promise_and_how_it_is_configured(cluster, watched):
    browser = watched
    cluster.cancel(scope="nothing/here")
    browser.walk("/cluster")
    browser.sees("irc: retrying", ".findings")
    browser.sees("gone: ", ".findings")
    browser.sees("w1: ready, containment", ".findings .level-ok")
    # In the words of `quell doctor`, as far as both speak of the cluster.
    told = [f for f in json.loads(cluster.quell("doctor", "--json").stdout)["findings"] if f["what"] in ("worker", "secrets") and "w2" not in f["text"]]
    assert {f["what"] for f in told} == {"worker", "secrets"}, told
    for finding in told:
        browser("await page.locator(`.findings .level-${args.level}`).getByText(`${args.what}: ${args.text}`, { exact: true }).waitFor()", **finding)
    for title in ("Fenced", "Signalled", "Settled", "Commits"):
        browser.sees(title, ".histogram")
    browser.sees("half within", ".histogram")
    for title in ("Stops, 99 %", "Commits, 99 %", "Starts and events", "Oldest unproven"):
        browser.sees(title, ".chart")
    browser.sees('name = "doomed"', ".configuration")
    shown = browser.text(".configuration")
    assert "# env (values are not printed): API_KEY" in shown
    assert 'key_env = "DEAD_KEY"' in shown and "[store]" in shown and 'host = "127.0.0.1"' in shown
    answer = cluster.api("GET", "/v1/config")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/toml"
    for text in (shown, answer.body.decode(), browser.text()):
        assert SECRET not in text and cluster.token not in text
    assert browser.flaws() == []
    browser("await page.setViewportSize({ width: 390, height: 844 })")
    # The charts take their width with the next frame.
    browser("await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, null, { polling: 100 }); await page.setViewportSize({ width: 1360, height: 860 })")


# How many pixels of a chart have what is this colour of the page now.
PIXELS = """return await page.locator('.chart', { hasText: args.of ?? '' }).first().locator('canvas').evaluate((canvas, colour) => {
  const probe = document.createElement('i');
  probe.style.color = `var(${colour})`;
  document.body.append(probe);
  const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) ++found;
  return found;
}, args.colour)"""


def test_an_open_chart_follows_the_evening_and_tells_what_the_pointer_is_at(watched):
    browser = watched
    browser("await page.mouse.move(1, 1)")  # wherever another test left it
    browser.walk("/cluster")
    browser("await page.locator('.chart canvas').first().waitFor()")
    until(lambda: browser(PIXELS, of="Live operations", colour="--c-run") > 0, "what is live to be drawn")
    assert browser("return await page.locator('.chart time').count()") == 0
    browser("await page.locator('.chart', { hasText: 'Live operations' }).locator('.u-over').hover()")
    browser("await page.locator('.chart', { hasText: 'Live operations' }).locator('figcaption time', { hasText: /^\\d\\d:\\d\\d:\\d\\d$/ }).waitFor()")
    assert re.fullmatch(r"live \d+", browser("return await page.locator('.chart', { hasText: 'Live operations' }).locator('.key').innerText()"))
    browser("await page.mouse.move(1, 1); await page.locator('.chart time').waitFor({ state: 'detached' })")
    until(lambda: browser(PIXELS, colour="--line") > 50, "the grid to be drawn in the light")
    browser("await page.emulateMedia({ colorScheme: 'dark' })")
    until(lambda: browser(PIXELS, colour="--line") > 50, "the grid to be drawn in the dark")
    browser("await page.emulateMedia({ colorScheme: 'light' })")


def test_what_is_in_trouble_needs_somebody(cluster, watched):
    browser = watched
    trouble = until(lambda: cluster.api("GET", "/v1/mcp").json["servers"][0]["trouble"], "the MCP server's trouble to be known")
    assert "gone" in trouble and SECRET not in trouble
    browser.walk("/")
    browser.sees("Model dead fails", ".need")
    browser.sees("MCP server gone", ".need")
    browser.sees("The disk is nearly full", ".need")
    browser.sees("Chat service irc does not work", ".need")
    browser.sees("Worker w2 is lost", ".need")
    browser.sees("5 things need you", "h1")
    browser("await page.waitForFunction(() => document.title.startsWith('(5) '))")
    assert SECRET not in browser.text()
    assert browser.flaws() == []
    # That quelld cannot say how the MCP servers are does not make them well.
    browser("""await page.route('**/v1/mcp*', (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"code":"internal","title":"No","detail":"Not now."}' }));
        const asked = page.waitForResponse((one) => one.url().includes('/v1/mcp'));
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        await asked;""")
    browser.sees("Not now.", ".trouble")
    browser.sees("MCP server gone", ".need")
    browser("await page.unroute('**/v1/mcp*')")


def test_the_configuration_is_not_for_everybody(cluster, browser):
    for fields in ({"role": "operator"}, {"role": "admin", "scope": "team"}, {"role": "observer"}):
        made = cluster.api("POST", "/v1/tokens", {"name": "nosy", **fields}).json["token"]
        assert cluster.api("GET", "/v1/config", token=made).status == 403
        browser.sign_in(cluster, token=made)
        browser.go("/cluster")
        browser.sees("What it can and cannot promise")
        assert browser("return await page.locator('.configuration').count()") == 0
        browser.forget()
