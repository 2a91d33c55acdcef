"""The web console in Chromium: the longest task of its main thread while a recorded feed changes 2,000 of 100,000 live operations a second, and how far behind the page is.

Arguments: OPERATIONS SECONDS ROUNDS. Each round plays the recording of another seed."""
import json
import os
import shutil
import subprocess
import sys

from support import HELPERS, median, record, say

CONSOLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../console")
MOST_MS = 50
MOST_BEHIND_S = 20  # bench.mjs waits so long
PATIENCE_S = 600


def measure(folder, operations, seconds, seed):
    """One run of every view over the recording of this seed. Exit code 1 of bench.mjs says that a task took too long; the rows say how long."""
    command = ["node", "bench/bench.mjs", os.path.abspath(folder), str(operations), str(seconds), str(seed)]
    run = subprocess.run(command, cwd=CONSOLE, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    *words, last = run.stdout.strip().splitlines() or [""]
    say("\n".join("    " + line for line in words))
    if run.returncode not in (0, 1) or not last.startswith("["):
        sys.exit(f"console.py: bench.mjs ended with {run.returncode}")
    return json.loads(last)


def record_view(what, runs):
    """The goal is for every task of every round, so the worst round counts, not the median."""
    longest, cpu, behind = ([one[key] for one in runs] for key in ("longest_ms", "longest_cpu_ms", "behind_ms"))
    record(f"{what}: longest task of the main thread, worst round", f"{max(longest):.0f} ms", f"{MOST_MS} ms", f"{max(longest) / MOST_MS:.2f} x", "<= 1 x", max(longest) <= MOST_MS, longest)
    record(f"{what}: … its CPU time", f"{max(cpu):.0f} ms", samples=cpu)
    rates = [one["changes_per_second"] for one in runs]
    record(f"{what}: changes that were fed", f"{median(rates):,.0f}/s", samples=rates)
    if None in behind:
        record(f"{what}: the end of the feed is shown after", "never", f"{MOST_BEHIND_S} s", "", "<= 1 x", False)
        return
    worst = max(behind)
    record(f"{what}: the end of the feed is shown after, worst round", f"{worst:.0f} ms", f"{MOST_BEHIND_S} s", f"{worst / MOST_BEHIND_S / 1000:.2f} x", "<= 1 x", worst <= MOST_BEHIND_S * 1000, behind)


def main(operations, seconds, rounds):
    folder = os.path.join(HELPERS, "../console")
    for needed in (os.path.join(folder, "index.html"), os.path.join(CONSOLE, "node_modules/playwright-core")):
        if not os.path.exists(needed):
            sys.exit(f"console.py: {needed} is missing: build first")
    if not (shutil.which("node") and shutil.which("chromium")):
        sys.exit("console.py: node and chromium are needed: make deps")
    by_view = {}
    for seed in range(1, rounds + 1):
        for one in measure(folder, operations, seconds, seed):
            by_view.setdefault(one["path"], []).append(one)
    for path, runs in by_view.items():
        record_view(f"console {path} with {operations:,} live", runs)


if __name__ == "__main__":
    main(*(int(given) if given else otherwise for given, otherwise in zip([*sys.argv[1:4], "", "", ""], (100_000, 15, 3))))
