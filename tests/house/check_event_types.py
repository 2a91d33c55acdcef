"""docs/api.md lists the types of events that protocol/event_type.hpp has, and no others.

usage: check_event_types.py ROOT [--write]
"""
import pathlib
import re
import sys

BEGIN, END = "<!-- event types:begin -->", "<!-- event types:end -->"
ROW = re.compile(r'^\s+\{event_type::(\w+), "(\w+)"\},$', re.MULTILINE)
NEVER_IN_A_FILTER = "output"  # only in the stream of an operation's output


def generated(root: pathlib.Path) -> str:
    texts = [text for _, text in ROW.findall((root / "protocol/event_type.hpp").read_text(encoding="utf-8"))]
    return "\n" + ", ".join(f"`{text}`" for text in texts if text != NEVER_IN_A_FILTER) + ".\n"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    doc_path = root / "docs/api.md"
    doc = doc_path.read_text(encoding="utf-8")
    if doc.count(BEGIN) != 1 or doc.count(END) != 1:
        print(f"docs/api.md: needs exactly one {BEGIN} and one {END} after it")
        return 1
    before, rest = doc.split(BEGIN)
    found, after = rest.split(END)
    wanted = generated(root)
    if wanted.count("`") < 2:
        print("protocol/event_type.hpp: no rows of the table were found; does this script still fit it?")
        return 1
    if found == wanted:
        return 0
    if "--write" in sys.argv[2:]:
        doc_path.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
        return 0
    print(f"docs/api.md:{before.count(chr(10)) + 1}: the types of events are not those of protocol/event_type.hpp; should be:\n    {wanted.strip()}\n"
          "    why: somebody filters by this list. Run check_event_types.py ROOT --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
