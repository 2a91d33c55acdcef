"""docs/ARCHITECTURE.md and CONTRIBUTING.md name only files that exist, and the tables of the ways name functions that stand in their files.

usage: check_documents.py ROOT | --self-test
"""
import pathlib
import re
import sys

ROOMS = ("actors", "benchmarks", "cli", "clients", "cmake", "console", "controller", "docs", "gateway", "integrations", "protocol", "quelld", "storage",
         "tests", "worker")
PATH = re.compile(r"`((?:%s)/[\w./*-]+)`" % "|".join(ROOMS))
WAY = "| step | file | function |"
PLACEHOLDER = "NAME"                       # stands for the name of what is added
GENERATED = ("console/src/api/schema.d.ts",)  # written by the build


def unknown_paths(line: str, exists):
    """The paths of this line for which `exists` says no."""
    return [path for path in PATH.findall(line) if PLACEHOLDER not in path and path not in GENERATED and not exists(path)]


def unknown_functions(row: str, text_of):
    """The functions of a row of a way that stand in none of its files."""
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    if len(cells) != 3:
        return []
    text = "\n".join(text_of(path) for path in PATH.findall(cells[1]))
    names = re.findall(r"`([\w:]+)`", cells[2])
    return [name for name in names if not re.search(r"\b%s\b" % re.escape(name.split("::")[-1]), text)]


def check(root: pathlib.Path) -> list[str]:
    def exists(path: str) -> bool:
        return any(root.glob(path)) if "*" in path else (root / path).exists()

    def text_of(path: str) -> str:
        return (root / path).read_text(encoding="utf-8") if (root / path).is_file() else ""

    failures = []
    rows = 0
    for name in ("docs/ARCHITECTURE.md", "CONTRIBUTING.md"):
        in_way = False
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            failures += [f"{name}:{number}: there is no {path}" for path in unknown_paths(line, exists)]
            in_way = line == WAY or (in_way and line.startswith("|"))
            if in_way and line != WAY:
                rows += 1
                failures += [f"{name}:{number}: {function} is in none of the files of its row" for function in unknown_functions(line, text_of)]
    if rows < 40:
        failures.append(f"docs/ARCHITECTURE.md: only {rows} rows are read: has the form of the ways changed?")
    return failures


def self_test() -> list[str]:
    there = {"cli/a.cpp": "void go() {}", "worker/b.cpp": "int x::stop();"}
    row = "| 1. Something happens | `cli/a.cpp`, `worker/b.cpp` | `go`, `x::stop`%s |"
    wrong = []
    if unknown_paths("see `cli/a.cpp`, `cli/NAME.cpp`", there.__contains__):
        wrong.append("a path that exists, or a placeholder, is refused")
    if unknown_paths("see `cli/gone.cpp`", there.__contains__) != ["cli/gone.cpp"]:
        wrong.append("a path that does not exist is accepted")
    if unknown_functions(row % "", there.get):
        wrong.append("functions of the row's files are refused")
    if unknown_functions(row % ", `gone`", there.get) != ["gone"]:
        wrong.append("a function that stands nowhere is accepted")
    return wrong


def main() -> int:
    failures = self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1]))
    print("\n".join(failures) if failures else "the documents name what exists")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
