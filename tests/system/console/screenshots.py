"""Takes the screenshots of docs/console.md from a real cluster. usage: QUELL_BIN=build/bin python3 tests/system/console/screenshots.py docs/console"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.browser import Browser  # noqa: E402
from harness.turns import TurnCluster  # noqa: E402
from harness.waiting import until  # noqa: E402

SCRIPT = [
    {"when": {"user": "deploy"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "kubectl rollout restart deployment/api --namespace=production", "env": {"KUBECONFIG": "/etc/kube/prod"}}}]}]},
    {"when": {"user": "flaky", "round": 1}, "steps": [{"delay_ms": 700}, {"text": "I run it twice and compare."}, {"calls": [{"name": "exec", "input": {"command": "sleep 1.2; echo 41 passed"}}, {"name": "exec", "input": {"command": "sleep 0.8; echo 1 failed; exit 1"}}]}]},
    {"when": {"result": ""}, "steps": [{"delay_ms": 500}, {"text": "**Yes.** The second run failed once:\n\n| Test | First run | Second run |\n|:-----|:----------|:-----------|\n| `test_upload` | passed | **failed**: its port was taken |\n| the other 41 | passed | passed |\n\nIt waits for a port that another test may hold. Let the kernel choose one:\n\n```python\nserver.bind((\"127.0.0.1\", 0))  # instead of 8080\n```"}]},
]
CONFIG = '[[approval]]\ntool = "exec"\nmatch = "kubectl *"\n'
WORK = r"""printf '\033[1mcrawl\033[0m of \033[36mdocs.example.org\033[0m, 48 pages\n'; for i in $(seq 1 48); do
printf '\033[90m%02d/48\033[0m \033[32m200\033[0m /guide/%s \033[90m%d ms\033[0m\n' $i page-$i $((RANDOM % 90 + 20)); done; printf '\033[33mwarning\033[0m 2 links point nowhere\n'; sleep 1000"""


def fleet(c):
    lead = c.start("bash", "-c", "sleep 1000", scope="team/research", title="lead: compare the vendors", labels={"ticket": "4711"}, owner={"id": "alice", "name": "Alice"})
    for i, what in enumerate(("read the filings", "crawl the documentation", "measure the latency", "ask for the prices", "write the summary")):
        scout = c.start("bash", "-c", WORK if i == 1 else "sleep 1000", scope="team/research", parent=lead["id"], title=f"scout: {what}")
        if i < 3:
            for j in range(i + 1):
                c.start("bash", "-c", "sleep 1000", scope="team/research", parent=scout["id"], title=f"fetch part {j + 1}", name="curl")
        if i == 1:
            crawl = scout
    for i in range(3):
        c.start("bash", "-c", "sleep 1000", scope="team/build", title=f"integration tests {i + 1} of 3", labels={"pr": "812"}, owner={"id": "mia", "name": "Mia"})
    c.start("bash", "-c", "sleep 1000", scope="ops/backup", title="nightly backup", owner={"id": "cron", "name": "cron"})
    until(lambda: len(c.operations(status="running")) >= 16, "the work to run", 60)
    return crawl


def main(folder):
    os.makedirs(folder, exist_ok=True)
    with TurnCluster(SCRIPT, config=CONFIG, workers=3) as c, Browser(c.url) as b:
        def shot(name):
            b("await page.waitForTimeout(600); await page.screenshot({ path: args.path })", path=os.path.join(os.path.abspath(folder), name + ".png"))
        crawl = fleet(c)
        c.post("ops/deploy", "deploy")
        answer = c.say("chat/mia", "Is test_upload flaky?")
        c.ended(answer)
        b.sign_in(c)
        b.go("/")
        b.sees("kubectl", ".command")
        shot("home")
        b.go("/tree")
        for name in ("team", "team/research", "team/build"):
            b("await page.getByRole('button', { name: args.name, exact: true }).click()", name=f"Open {name}")
        b.sees("lead:", "[role=treeitem]")
        b.press("Open lead: compare the vendors")
        b.sees("scout: crawl", "[role=treeitem]")
        b.press("Open scout: measure the latency")
        b.sees("fetch part 3", "[role=treeitem]")
        shot("tree")
        b.go(f"/operations/{crawl['id']}")
        b.sees("warning", ".output")
        shot("operation")
        b.go(f"/operations/{answer}")
        b.sees("model call", ".legend")
        shot("timeline")
        b.go("/conversation?scope=chat/mia")
        b.sees("waits for a port", ".message")
        shot("conversation")
        b.go("/tree?scope=team/research")
        b.press("Open lead: compare the vendors")
        b.press("Stop team/research…")
        b.sees("operations on", ".preview")
        shot("stop-ask")
        b("await page.getByLabel('Why').fill('wrong question'); await page.locator('dialog').getByRole('button', { name: 'Stop', exact: true }).click()")
        b.sees("each with proof", "[data-verdict=proven]")
        shot("stop")
        b("await page.emulateMedia({ colorScheme: 'dark' })")
        b.go("/workers")
        b.sees("w3", ".worker")
        shot("workers-dark")
        b("await page.getByRole('link', { name: 'Cluster' }).click(); await page.waitForTimeout(25000)")
        shot("cluster")
        c.cancel(everything=True)


main(sys.argv[1])
