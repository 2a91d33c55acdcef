"""Prints the table of a run: `table.py RESULTS`, one JSON row per line."""
import json
import os
import subprocess
import sys

COLUMNS = ("figure", "measured", "samples", "limit", "limit_samples", "ratio", "goal", "machine")
VERDICTS = {None: "", True: "met", False: "MISSED"}
HERE = os.path.dirname(os.path.abspath(__file__))


def source():
    """The commit of these benchmarks, and whether files differ from it."""
    named = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return named.stdout.strip() if named.returncode == 0 else "unknown"


def main(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    cells = [tuple(c.replace("_", " ") for c in COLUMNS) + ("",)] + [tuple(r.get(c, "") for c in COLUMNS) + (VERDICTS[r["met"]],) for r in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS) + 1)]
    print(f"commit {source()}, {os.cpu_count()} cores, Linux {os.uname().release}\n")
    for row in cells:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    missed = [r["figure"] for r in rows if r["met"] is False]
    print(f"\n{sum(r['met'] is True for r in rows)} of {sum(r['met'] is not None for r in rows)} goals met")
    for figure in missed:
        print(f"MISSED: {figure}")
    if any(r.get("machine", "").startswith("NOT CALM") for r in rows):
        print("The machine was not calm: repeat the rows that say so before you believe or publish them.")


if __name__ == "__main__":
    main(sys.argv[1])
