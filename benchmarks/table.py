"""Prints the table of a run: `table.py RESULTS`, one JSON row per line."""
import json
import sys

COLUMNS = ("figure", "measured", "limit", "ratio", "goal")


def main(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    cells = [COLUMNS + ("",)] + [tuple(r[c] for c in COLUMNS) + ("met" if r["met"] else "NOT MET",) for r in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS) + 1)]
    for row in cells:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print(f"\n{sum(r['met'] for r in rows)} of {len(rows)} goals met")


if __name__ == "__main__":
    main(sys.argv[1])
