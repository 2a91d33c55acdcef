"""Prints the table of a run: `table.py RESULTS`, one JSON row per line."""
import json
import os
import subprocess
import sys

COLUMNS = ("figure", "measured", "samples", "limit", "ratio", "goal", "machine")
HERE = os.path.dirname(os.path.abspath(__file__))


def source():
    """The commit of these benchmarks, and whether files differ from it."""
    named = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return named.stdout.strip() if named.returncode == 0 else "unknown"


def main(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    cells = [COLUMNS + ("",)] + [tuple(r.get(c, "") for c in COLUMNS) + ("met" if r["met"] else "missed",) for r in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS) + 1)]
    print(f"commit {source()}, {os.cpu_count()} cores, Linux {os.uname().release}\n")
    for row in cells:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print(f"\n{sum(r['met'] for r in rows)} of {len(rows)} goals met")
    if any(r.get("machine", "").startswith("NOT CALM") for r in rows):
        print("The machine was not calm: repeat the rows that say so before you believe or publish them.")


if __name__ == "__main__":
    main(sys.argv[1])
