"""docs/CANCELLATION.md shows the lifecycle table exactly as the program prints it.

usage: check_lifecycle.py PRINT_LIFECYCLE DOC [--write]
"""
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- lifecycle:begin -->", "<!-- lifecycle:end -->"


def main() -> int:
    printer, doc_path = sys.argv[1], pathlib.Path(sys.argv[2])
    printed = subprocess.run([printer], check=True, capture_output=True, text=True).stdout
    wanted = f"\n```mermaid\n{printed}```\n"
    doc = doc_path.read_text(encoding="utf-8")
    if doc.count(BEGIN) != 1 or doc.count(END) != 1:
        print(f"{doc_path.name}: needs exactly one {BEGIN} and one {END} after it")
        return 1
    before, rest = doc.split(BEGIN)
    found, after = rest.split(END)
    if found == wanted:
        return 0
    if "--write" in sys.argv[3:]:
        doc_path.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
        return 0
    line = before.count("\n") + 1
    print(f"{doc_path.name}:{line}: the diagram is not the one that protocol/lifecycle.hpp gives. The table is the truth; put this"
          f" between the markers (or run check_lifecycle.py with --write):\n{wanted}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
