"""Compares the results of several runs of two builds: `compare.py A_RESULTS... -- B_RESULTS...`. Exit 1 if a figure of B is certainly worse.

The measured value of a row is the first number of its text. A figure is worse (or better) if every run of B lies on that side of every run of A and
the medians differ by more than a tenth; everything else is within the noise of this machine.
"""
import json
import re
import statistics
import sys

SLACK = 0.10
MORE_IS_BETTER = re.compile(r"/s\b|per second|a second|%$")


def value(text):
    number = re.search(r"[\d.]+", text.replace(",", ""))
    return float(number.group(0)) if number else None


def read(paths):
    figures = {}
    for path in paths:
        with open(path) as f:
            for row in map(json.loads, f):
                if (seen := value(row["measured"])) is not None:
                    figures.setdefault(row["figure"], (row["measured"], []))[1].append(seen)
    return figures


def verdict(a, b, more_is_better):
    change = statistics.median(b) / statistics.median(a) - 1 if statistics.median(a) else 0.0
    is_apart = min(b) > max(a) or max(b) < min(a)
    if not is_apart or abs(change) <= SLACK:
        return change, ""
    return change, "better" if (change > 0) == more_is_better else "WORSE"


def main(before, after):
    worse = 0
    rows = [("figure", "before", "after", "change", "")]
    for figure, (text, a) in before.items():
        if figure not in after:
            rows.append((figure, text, "-", "-", "not measured after"))
            continue
        b = after[figure][1]
        change, word = verdict(a, b, bool(MORE_IS_BETTER.search(text)))
        worse += word == "WORSE"
        rows.append((figure, f"{statistics.median(a):g}", f"{statistics.median(b):g}", f"{change:+.0%}", word))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print(f"\n{worse} of {len(rows) - 1} figures worse, {len(next(iter(before.values()), ('', []))[1])} runs of each build")
    return 1 if worse else 0


if __name__ == "__main__":
    split = sys.argv.index("--") if "--" in sys.argv else 0
    if not split:
        sys.exit(__doc__)
    sys.exit(main(read(sys.argv[1:split]), read(sys.argv[split + 1:])))
