"""The texts of the public surface stand where people read them.

docs/api.md lists the types of events of protocol/event_type.hpp and the codes of failed operations of
protocol/failure_code.hpp, which stand nowhere else in the source; gateway/openapi.json and `quell help errors` list the codes
of protocol/error_code.hpp. The exit codes of cli/exit_code.hpp stand in `quell help errors` and in the man page. No list has
one more, none has one less. No command returns a bare number instead of an exit code.
The product writes and compares the codes of CODES and the types of events by their names, never as texts.

usage: check_surface_texts.py ROOT [--write]   (--write: the lists in docs/api.md)
"""
import json
import pathlib
import re
import sys

NEVER_IN_A_FILTER = "output"  # only in the stream of an operation's output
OWN_CODES_IN = ("controller", "storage", "integrations", "actors", "gateway", "quelld", "worker", "cli")
CODES = (("protocol/failure_code.hpp", "failure_code"), ("protocol/error_code.hpp", "error_code"), ("protocol/refusal_code.hpp", "refusal_code"),
         ("controller/store_code.hpp", "store_code"), ("integrations/mcp/server_code.hpp", "server_code"))
# A tool's own codes (docs/decisions/173), and documents that are written whole.
TEXTS_STAND_IN = ("worker/tools/", "worker/relay_gate.cpp", "integrations/models/history.cpp")
# Places of a code: it is given to an error, a fault or a result, or compared with the code of one.
WRITTEN_CODE = re.compile(r'(?:operation_error\{|\berror\s*=\s*\{|\bfault(?:\s\w+)?\{|\bfailed\(|\bfailed\{\{|\bfailed_text\(|\bfailure\(|\blocal_problem\(|'
                          r'\brefused?\(\{?|\bend\(\{|\bgive_up\(\w+,\s*\{|\breturn \{\{?|\berror_code\s*=|\bcode\s*[=!]=|\\?"code\\?":)\s*\\?"(?P<code>\w+)\\?"')


def texts_of(root: pathlib.Path, header: str, enum: str) -> list[str]:
    return re.findall(r"\{" + enum + r'::\w+,\s+"(\w+)"\}', (root / header).read_text(encoding="utf-8"))


def wrong_list(root: pathlib.Path, write: bool, title: str, header: str, texts: list[str]) -> list[str]:
    """The list between the two marks of docs/api.md."""
    begin, end = f"<!-- {title}:begin -->", f"<!-- {title}:end -->"
    path = root / "docs/api.md"
    doc = path.read_text(encoding="utf-8")
    if doc.count(begin) != 1 or doc.count(end) != 1:
        return [f"docs/api.md: needs exactly one {begin} and one {end} after it"]
    before, rest = doc.split(begin)
    found, after = rest.split(end)
    if not texts:
        return [f"{header}: no rows of the table were found; does this script still fit it?"]
    wanted = "\n" + ", ".join(f"`{text}`" for text in texts) + ".\n"
    if found == wanted:
        return []
    if write:
        path.write_text(before + begin + wanted + end + after, encoding="utf-8")
        return []
    return [f"docs/api.md:{before.count(chr(10)) + 1}: the {title} are not those of {header}; should be:\n"
            f"    {wanted.strip()}\n    why: somebody switches on this list. Run check_surface_texts.py ROOT --write"]


def wrong_event_types(root: pathlib.Path, write: bool) -> list[str]:
    header = "protocol/event_type.hpp"
    texts = [text for text in texts_of(root, header, "event_type") if text != NEVER_IN_A_FILTER]
    return wrong_list(root, write, "event types", header, texts)


def wrong_failure_codes(root: pathlib.Path, write: bool) -> list[str]:
    header = "protocol/failure_code.hpp"
    return wrong_list(root, write, "failure codes", header, texts_of(root, header, "failure_code"))


def written_codes(root: pathlib.Path) -> list[str]:
    enums = {text: enum for header, enum in reversed(CODES) for text in texts_of(root, header, enum)}
    wrong = [f"{header}: no rows of the table were found; does this script still fit it?" for header, enum in CODES if enum not in enums.values()]
    for room in OWN_CODES_IN:
        for path in sorted((root / room).rglob("*.[ch]pp")):
            if path.relative_to(root).as_posix().startswith(TEXTS_STAND_IN):
                continue
            source = path.read_text(encoding="utf-8")
            for found in WRITTEN_CODE.finditer(source):
                if enum := enums.get(found["code"]):
                    line = source.count("\n", 0, found.start("code")) + 1
                    wrong.append(f'{path.relative_to(root)}:{line}: "{found["code"]}": write {enum}::{found["code"]}\n'
                                 "    why: a misspelled code compiles, and nobody who asks for the right one finds it")
    return wrong


# Services that people write in have event types of their own, with the same texts.
TYPES_STAND_IN = "integrations/"
WRITTEN_TYPE = re.compile(r'(?:\btype|"type"\))\s*[=!]=\s*"(?P<type>\w+)"')


def written_types(root: pathlib.Path) -> list[str]:
    types = set(texts_of(root, "protocol/event_type.hpp", "event_type"))
    wrong = []
    for room in OWN_CODES_IN:
        for path in sorted((root / room).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            source = path.read_text(encoding="utf-8")
            for found in WRITTEN_TYPE.finditer(source):
                if found["type"] in types and not name.startswith(TYPES_STAND_IN):
                    line = source.count("\n", 0, found.start("type")) + 1
                    wrong.append(f'{name}:{line}: "{found["type"]}": compare with event_type::{found["type"]}\n'
                                 "    why: a misspelled type compiles, and its events are passed over")
    return wrong


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


NOT_QUELLS_OWN = {127}  # ends only a task, whose code is passed on
BARE_EXIT = re.compile(r"\bint (?:\w+::)?(?:execute|serve)\(|std::optional<int> code_?;|std::exit\(\d|static_cast<exit_code>\(\d")


def exit_codes_in(text: str) -> set[int]:
    """The numbers of the tables that begin with `Exit codes`, up to the next empty line each."""
    found: set[int] = set()
    for table in re.findall(r"(?m)^(?:constexpr.*R\"\()?Exit codes\b.*\n((?:  .*\n)+)", text):
        found |= {int(number) for number in re.findall(r"(?m)^  (\d+)  +\w|; (\d+): it was", table) for number in number if number}
    return found


def wrong_exit_codes(root: pathlib.Path) -> list[str]:
    header = (root / "cli/exit_code.hpp").read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"(?m)^  \w+ = (\d+),", header)}
    if len(numbers) < 8:
        return ["cli/exit_code.hpp: no rows of the enum were found; does this script still fit it?"]
    wrong = []
    for path in ("cli/commands/help.cpp", "docs/man/quell.1"):
        listed = exit_codes_in((root / path).read_text(encoding="utf-8"))
        if listed - NOT_QUELLS_OWN != numbers:
            wrong.append(f"{path}: the exit codes are not those of cli/exit_code.hpp; differs in {sorted(listed - NOT_QUELLS_OWN ^ numbers)}\n"
                         "    why: a script switches on these numbers")
    for path in sorted((root / "cli").rglob("*.[ch]pp")):
        source = path.read_text(encoding="utf-8")
        for found in BARE_EXIT.finditer(source):
            line = source.count("\n", 0, found.start()) + 1
            wrong.append(f"{path.relative_to(root)}:{line}: `{found[0]}`: an end of a command is an exit_code\n"
                         "    why: any number fits an int, and a script takes it for one of the documented codes")
    return wrong


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    write = "--write" in sys.argv[2:]
    wrong = wrong_event_types(root, write) + wrong_failure_codes(root, write) + wrong_error_codes(root) + wrong_exit_codes(root) + written_codes(root) + written_types(root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
