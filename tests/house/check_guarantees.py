"""docs/GUARANTEES.md has all 13 guarantees, and every file, test, invariant, property and wrong turn that it names exists.

A list line `FILE OR FOLDER`: "name", "name" says that each name occurs in that file, or in a file of that folder; a name that begins
with test_ must be a function. Every other path in backquotes must exist.

usage: check_guarantees.py ROOT
"""
import pathlib
import re
import sys

GUARANTEES = ("No escape", "Order", "Terminal is final", "A second cancel is a success", "A stop is bounded", "Nothing left behind", "Guardian",
              "Partition", "Sessions", "Crash", "Disk full", "Only what was meant", "One result per call")
ROOMS = ("actors", "benchmarks", "cli", "console", "controller", "docs", "gateway", "integrations", "protocol", "quelld", "storage", "tests", "worker")
PATH = re.compile(r"`((?:%s)/[\w./-]+)`" % "|".join(ROOMS))
CITED = re.compile(r"^- `([^`]+)`: (.*)$")
SOURCES = (".cpp", ".hpp", ".py", ".pml", ".md", ".txt")


def text_of(path: pathlib.Path) -> str:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SOURCES and p.is_file())
    # A long literal can be split into pieces.
    return "\n".join(re.sub(r'"\s*\n\s*"', "", file.read_text(encoding="utf-8")) for file in files)


def missing(path: str, text: str, name: str) -> bool:
    if path == "tests/simulation":  # an invariant's name is a literal there
        return f'"{name}"' not in text
    if name.startswith("test_"):
        return f"def {name}(" not in text
    return not re.search(r"(?<!\w)" + re.escape(name), text)


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    doc = root / "docs/GUARANTEES.md"
    lines = doc.read_text(encoding="utf-8").splitlines()
    failures: list[str] = []
    cited = 0
    headings = [line[3:] for line in lines if line.startswith("## ")]
    for number, name in enumerate(GUARANTEES, 1):
        if f"{number}. {name}" not in headings:
            failures.append(f"docs/GUARANTEES.md: there is no heading '## {number}. {name}'")
    texts: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        for path in PATH.findall(line):
            if not (root / path).exists():
                failures.append(f"docs/GUARANTEES.md:{number}: there is no {path}")
        match = CITED.match(line)
        if not match:
            continue
        path, rest = match.groups()
        if not (root / path).exists():
            if not PATH.search(line):
                failures.append(f"docs/GUARANTEES.md:{number}: there is no {path}")
            continue
        text = texts.setdefault(path, text_of(root / path))
        for name in re.findall(r'"([^"]+)"', rest):
            cited += 1
            if missing(path, text, name):
                failures.append(f'docs/GUARANTEES.md:{number}: {path} has no "{name}": if it was renamed, rename it here; if it is gone, '
                                "say what holds the promise up now, or promise less")
    if cited < 80:
        failures.append(f"docs/GUARANTEES.md: only {cited} names are cited: has the form of the lists changed?")
    print("\n".join(failures) if failures else f"{cited} names in docs/GUARANTEES.md stand for something")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
