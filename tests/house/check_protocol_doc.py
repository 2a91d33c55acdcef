"""docs/PROTOCOL.md lists every message with its fields as protocol/messages.hpp and protocol/task.hpp have them.

usage: check_protocol_doc.py ROOT [--write]
"""
import pathlib
import re
import sys

BEGIN, END = "<!-- messages:begin -->", "<!-- messages:end -->"
STRUCT = re.compile(r"((?:^///[^\n]*\n)*)^struct (\w+) \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
FIELD = re.compile(r"^\s+([\w:<>, ]+?)\s+(\w+)(?:\s*=\s*([^;]+)|\{([^}]*)\})?;\s*(?:///<\s*(.*))?$")
ENUMS = {"task_phase", "containment", "receipt", "proof", "unproven_why", "next_action", "stop_cause", "stream", "on_leader_exit"}
PLAIN = {
    "bool": "bool", "std::string": "str", "scope_path": "str (scope)", "wall_time": "int ms since 1970", "milliseconds": "int ms",
    "std::uint16_t": "uint 16", "std::uint32_t": "uint 32", "std::uint64_t": "uint 64", "std::int32_t": "int 32",
    "std::map<std::string, std::string>": "map str → str",
}


def wire_type(cpp: str, bulk: bool) -> str:
    if cpp in PLAIN:
        return "bin" if bulk and cpp == "std::string" else PLAIN[cpp]
    if cpp in ENUMS:
        return f"uint: {cpp}"
    if cpp.endswith("_id"):
        return "bin 16"
    outer = re.fullmatch(r"std::(optional|vector)<(.*)>", cpp)
    if outer and outer.group(1) == "optional":
        return wire_type(outer.group(2), bulk) + " or nil"
    if outer:
        return "array of " + wire_type(outer.group(2), bulk)
    return f"array: {cpp}"


def cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


def sections(text: str):
    """(comment, name, tag or None, fields in the order of `inspect`) of each struct that goes over the wire."""
    for comment, name, body in STRUCT.findall(text):
        order = re.search(r"QUELL_INSPECT\(\w+, ([^;]*)\);|return f\(([^;]*)\);", body)
        if not order:
            continue
        names = re.findall(r"x\.(\w+)", order.group(1) or order.group(2))
        declared = {}
        joined = re.sub(r"\n\s+///<", "", body)  # a remark can continue on the next line
        joined = re.sub(r">\n\s+(?=\w+;)", "> ", joined)      # and a name can be on the line after its type
        for line in joined.split("\n"):
            found = FIELD.match(line)
            if found and "static" not in found.group(1):
                cpp, field, default, braces, note = found.groups()
                declared[field] = (cpp, (default or braces or "").strip(), note or "")
        tag = re.search(r"tag = (\d+);", body)
        said = " ".join(line[3:].strip() for line in comment.strip().split("\n"))
        yield said, name, int(tag.group(1)) if tag else None, [(n, *declared[n]) for n in names]


def default_of(cpp: str, given: str) -> str:
    if given:
        return {"protocol_version": "the version"}.get(given, given.split("::")[-1].strip('"'))
    if cpp.startswith("std::optional"):
        return "nil"
    if cpp.endswith("_id"):
        return "16 × 0"
    if cpp in ("std::string", "scope_path"):
        return '""' if cpp == "std::string" else "default"
    if cpp in ("wall_time", "milliseconds"):
        return "0"
    return "empty" if cpp.startswith(("std::vector", "std::map")) else "all defaults"


def table(said, name, tag, fields) -> str:
    bulk = tag is not None and tag >= 60
    title = f"#### {tag} `{name}`" if tag is not None else f"#### `{name}` (part of other messages)"
    rows = [f"| {i} | `{field}` | {wire_type(cpp, bulk)} | {default_of(cpp, given)} | {cell(note)} |"
            for i, (field, cpp, given, note) in enumerate(fields)]
    return "\n".join([title, "", said, "", "| # | field | msgpack | default | meaning |", "|---|---|---|---|---|", *rows, ""])


def enum_lines(root: pathlib.Path, used: set[str]) -> list[str]:
    text = (root / "protocol/vocabulary.hpp").read_text() + (root / "protocol/messages.hpp").read_text()
    lines = []
    for name in sorted(used):
        body = re.search(r"QUELL_NAMES\(" + name + r", (.*?)\);|names_of<quell::wire::" + name + r"> \{.*?\(\{(.*?)\}\)", text, re.DOTALL)
        words = re.findall(r'"([^"]+)"', body.group(1) or body.group(2))
        lines.append(f"- `{name}`: " + ", ".join(f"{i} {word}" for i, word in enumerate(words)))
    return lines


def generated(root: pathlib.Path) -> str:
    parts = list(sections((root / "protocol/task.hpp").read_text())) + list(sections((root / "protocol/messages.hpp").read_text()))
    parts.sort(key=lambda p: (p[2] is None, p[2] or 0))
    used = {cpp for p in parts for _, f, *_ in p[3] for cpp in re.findall(r"\w+", f) if cpp in ENUMS}
    text = "\n".join(table(*p) for p in parts)
    return "\n" + text + "\n#### Enumerators\n\n" + "\n".join(enum_lines(root, used)) + "\n"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    doc_path = root / "docs/PROTOCOL.md"
    doc = doc_path.read_text(encoding="utf-8")
    if doc.count(BEGIN) != 1 or doc.count(END) != 1:
        print(f"docs/PROTOCOL.md: needs exactly one {BEGIN} and one {END} after it")
        return 1
    before, rest = doc.split(BEGIN)
    found, after = rest.split(END)
    wanted = generated(root)
    if found == wanted:
        return 0
    if "--write" in sys.argv[2:]:
        doc_path.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
        return 0
    differing = [(i, w) for i, (f, w) in enumerate(zip(found.split("\n") + [""] * 999, wanted.split("\n"))) if f != w]
    line = before.count("\n") + 1 + (differing[0][0] if differing else 0)
    print(f"docs/PROTOCOL.md:{line}: the messages are not those of protocol/messages.hpp; should be:\n    {differing[0][1] if differing else ''}\n"
          "    why: somebody writes a worker from this page. Run check_protocol_doc.py ROOT --write, and look at what changed:"
          " a field may be appended, never moved")
    return 1


if __name__ == "__main__":
    sys.exit(main())
