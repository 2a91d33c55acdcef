"""The texts of the public surface stand where people read them.

docs/api.md lists the types of events of protocol/event_type.hpp; gateway/openapi.json and `quell help errors` list the
codes of protocol/error_code.hpp. No list has one more, none has one less.

usage: check_surface_texts.py ROOT [--write]   (--write: the list in docs/api.md)
"""
import json
import pathlib
import re
import sys

BEGIN, END = "<!-- event types:begin -->", "<!-- event types:end -->"
NEVER_IN_A_FILTER = "output"  # only in the stream of an operation's output


def texts_of(root: pathlib.Path, header: str, enum: str) -> list[str]:
    return re.findall(r"\{" + enum + r'::\w+,\s+"(\w+)"\}', (root / header).read_text(encoding="utf-8"))


def wrong_event_types(root: pathlib.Path, write: bool) -> list[str]:
    path = root / "docs/api.md"
    doc = path.read_text(encoding="utf-8")
    if doc.count(BEGIN) != 1 or doc.count(END) != 1:
        return [f"docs/api.md: needs exactly one {BEGIN} and one {END} after it"]
    before, rest = doc.split(BEGIN)
    found, after = rest.split(END)
    texts = texts_of(root, "protocol/event_type.hpp", "event_type")
    if not texts:
        return ["protocol/event_type.hpp: no rows of the table were found; does this script still fit it?"]
    wanted = "\n" + ", ".join(f"`{text}`" for text in texts if text != NEVER_IN_A_FILTER) + ".\n"
    if found == wanted:
        return []
    if write:
        path.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
        return []
    return [f"docs/api.md:{before.count(chr(10)) + 1}: the types of events are not those of protocol/event_type.hpp; should be:\n"
            f"    {wanted.strip()}\n    why: somebody filters by this list. Run check_surface_texts.py ROOT --write"]


def wrong_error_codes(root: pathlib.Path) -> list[str]:
    codes = set(texts_of(root, "protocol/error_code.hpp", "error_code"))
    if not codes:
        return ["protocol/error_code.hpp: no rows of the table were found; does this script still fit it?"]
    schema = json.loads((root / "gateway/openapi.json").read_text(encoding="utf-8"))["components"]["schemas"]["Problem"]
    listed = schema["properties"]["code"]["enum"]
    help_text = (root / "cli/commands/help.cpp").read_text(encoding="utf-8").split("Error codes of the controller")[1].split(')"')[0]
    words = set(re.findall(r"\b[a-z_]+\b", help_text))
    wrong = []
    if sorted(listed) != sorted(codes):
        wrong.append(f"gateway/openapi.json: Problem.code is not as protocol/error_code.hpp; differs in {sorted(set(listed) ^ codes)}")
    if codes - words:
        wrong.append(f"cli/commands/help.cpp: `quell help errors` does not have {sorted(codes - words)}")
    unknown = {word for word in words if "_" in word} - codes
    if unknown:
        wrong.append(f"cli/commands/help.cpp: `quell help errors` has {sorted(unknown)}, which protocol/error_code.hpp does not list")
    return [line + "\n    why: somebody switches on the codes of these lists" for line in wrong]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    wrong = wrong_event_types(root, "--write" in sys.argv[2:]) + wrong_error_codes(root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
