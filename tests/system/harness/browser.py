"""A real browser (Debian's Chromium through Playwright) that a test drives step by step, in JavaScript."""
import http.client
import json
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
CONSOLE = os.path.join(ROOT, "console")
DRIVER = os.path.join(HERE, "../console/driver.mjs")

# What has ended is shown for some seconds more by the clock of its page `p`, which is put forward as soon as it has ended.
GONE = """await p.waitForFunction((words) => {
  const rows = [...document.querySelectorAll('.row')].filter((one) => one.innerText.includes(words));
  if (rows.some((one) => one.matches('.is-completed, .is-failed, .is-cancelled')) && !(performance.now() - window.put_forward_at < 1500)) {
    const by_then = Date.now;
    Date.now = () => by_then() + 5000;
    window.put_forward_at = performance.now();
  }
  return rows.length === 0;
}, args.words, { polling: 100 });"""


# Follows a link of page `p` to `path`, without loading it anew; what is drawn for it is there two frames later.
WALK = """const walk = (p, path) => p.evaluate(async (path) => {
  const link = Object.assign(document.createElement('a'), { href: path });
  document.body.append(link);
  link.click();
  link.remove();
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(next))));
}, path);
"""


class BrowserFailed(AssertionError):
    pass


class Browser:
    """`with Browser(url) as b: b("await page.goto(args.url)")`. At its end it fails if an error occurred on any page (see driver.mjs)."""

    def __init__(self, url):
        if not (shutil.which("chromium") and shutil.which("node") and os.path.isdir(os.path.join(CONSOLE, "node_modules/playwright-core"))):
            raise RuntimeError("chromium, node and the console's packages are needed: `make deps`, and a build")
        self.url = url
        self.profile = tempfile.mkdtemp(prefix="quell-test-browser-")

    def __enter__(self):
        self.errors = open(os.path.join(self.profile, "driver.log"), "w+b")
        self.process = subprocess.Popen(["node", DRIVER, CONSOLE, os.path.join(self.profile, "profile")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)
        assert self.answer() == "ready"
        return self

    def __exit__(self, kind, value, trace):
        wrong = [] if kind else self("return wrong")
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
        assert not wrong, wrong

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise BrowserFailed("the browser's driver ended: " + self.errors.read().decode(errors="replace")[-2000:])
        answer = json.loads(line)
        if "error" in answer:
            raise BrowserFailed(answer["error"])
        return answer["value"]

    def __call__(self, code, **args):
        self.process.stdin.write(json.dumps({"code": code, "args": {"url": self.url, **args}}).encode() + b"\n")
        self.process.stdin.flush()
        return self.answer()

    def forget(self):
        # A page behind another one draws nothing.
        self("""await page.bringToFront();
            await context.clearCookies();
            // A page of the same server stays in its process; a new one costs more than all else here.
            await page.goto(args.url + '/healthz').catch(() => page.goto('about:blank'));
            await page.setViewportSize({ width: 1360, height: 860 });
            await page.emulateMedia({ colorScheme: 'light' });""")

    # ---- steps of the tests ----------------------------------------------------------------------------------------
    def go(self, path):
        self("await page.goto(args.url + args.path)", path=path)

    def walk(self, path):
        """As somebody who follows a link of the open page. Much cheaper than `go`, for many views one after the other."""
        self(WALK + "await walk(page, args.path)", path=path)

    def sees(self, text, where="body"):
        """Waits until the text is shown; the failure shows the page's text."""
        try:
            self("await page.locator(args.where).filter({ hasText: args.text }).first().waitFor()", text=text, where=where)
        except BrowserFailed:
            raise BrowserFailed(f"waited for {text!r} in {where}; the page shows:\n{self.text()}") from None

    def text(self, where="body"):
        return self("return await page.locator(args.where).first().innerText()", where=where)

    def press(self, name, within="body"):
        self("await page.locator(args.within).getByRole('button', { name: args.name }).first().click()", name=name, within=within)

    def sees_go(self, words=""):
        """Waits until no row with these words is left in a list or a tree."""
        self("const p = page;\n" + GONE, words=words)

    def answer_question(self, yes, word=""):
        """Answers what the page asks in a dialog of its own."""
        self("""const box = page.locator('dialog.ask');
            await box.waitFor();
            if (args.word) await box.getByRole('textbox').fill(args.word);
            await box.getByRole('button', { name: args.yes, exact: true }).click();
            await box.waitFor({ state: 'detached' });""", yes=yes, word=word)

    def sign_in(self, cluster, token=None):
        """Gives the browser the cookie that a page gets for a link (`quell console`). It opens no page: the next one is signed in."""
        made = cluster.api("POST", "/v1/sessions/links", {}, token=token)
        assert made.status == 201, made.body
        host = self.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=90)
        try:
            link = made.json["path"].partition("#link=")[2]
            connection.request("POST", "/v1/sessions", json.dumps({"link": link}), {"Content-Type": "application/json", "Origin": self.url})
            answer = connection.getresponse()
            body, cookie = answer.read(), answer.headers["Set-Cookie"]
        finally:
            connection.close()
        assert answer.status == 201, body
        name, _, value = cookie.partition(";")[0].partition("=")
        self("await context.addCookies([{ name: args.name, value: args.value, url: args.url, httpOnly: true, sameSite: 'Strict' }])", name=name, value=value)

    def flaws(self, rules=()):
        """The serious and critical findings of axe-core, of all its rules or of these."""
        return self("""if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(globalThis.axe_source());
            const found = await page.evaluate((rules) => axe.run({ resultTypes: ['violations'], ...(rules.length ? { runOnly: rules } : {}) }), args.rules);
            return found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
              .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);""", rules=list(rules))
