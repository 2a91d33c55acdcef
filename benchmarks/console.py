"""The web console in Chromium: the longest task of its main thread while a recorded feed changes 2,000 of 100,000 live operations a second, and how far behind the page is."""
import json
import os
import shutil
import subprocess
import sys

from support import HELPERS, record

CONSOLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../console")
MOST_MS = 50
PATIENCE_S = 600


def main(operations, seconds):
    folder = os.path.join(HELPERS, "../console")
    for needed in (os.path.join(folder, "index.html"), os.path.join(CONSOLE, "node_modules/playwright-core")):
        if not os.path.exists(needed):
            sys.exit(f"console.py: {needed} is missing: build first")
    if not (shutil.which("node") and shutil.which("chromium")):
        sys.exit("console.py: node and chromium are needed: make deps")
    # Exit code 1 says that a task took too long; the rows say how long.
    run = subprocess.run(["node", "bench/bench.mjs", os.path.abspath(folder), str(operations), str(seconds)], cwd=CONSOLE, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    *words, last = run.stdout.strip().splitlines() or [""]
    print("\n".join("    " + line for line in words), file=sys.stderr, flush=True)
    if run.returncode not in (0, 1) or not last.startswith("["):
        sys.exit(f"console.py: bench.mjs ended with {run.returncode}")
    for one in json.loads(last):
        what = f"console {one['path']} with {operations:,} live"
        longest, behind = one["longest_ms"], one["behind_ms"]
        record(f"{what}: longest task of the main thread", f"{longest:.0f} ms (CPU {one['longest_cpu_ms']:.0f} ms) at {one['changes_per_second']:,.0f} changes/s", f"{MOST_MS} ms", f"{longest / MOST_MS:.2f} x", "<= 1 x", longest <= MOST_MS)
        record(f"{what}: the end of the feed is shown after", "never" if behind is None else f"{behind:.0f} ms", "", "", "", behind is not None)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
