"""Checks every source file against rules.py. Prints file:line, the rule and why; exit 1 if anything is broken.

usage: check_rules.py ROOT
"""
import pathlib
import re
import sys

import rules
from source import ROOMS, Source, all_sources

UNFINISHED = "no unfinished marks"
BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s*&?\s*(\w+)\s*(?:=\s*\w+\s*)?(?=[,)])")


def broken_includes(source: Source, root: pathlib.Path | None):
    for line, name, angled in source.includes:
        for library in rules.LIBRARIES:
            if re.match(library.include, name) and not re.match(library.where, source.path):
                yield line, f"<{name}> is allowed only in {library.where}", library.why
        target = name.split("/")[0]
        if angled:
            if target in ROOMS and root and (root / name).exists():
                yield line, f'<{name}> is ours: write "{name}"', "angle brackets say third party or std"
            continue
        if root and not (root / name).exists():
            yield line, f'"{name}" is not a file from the root', "own headers are included as \"folder/file.hpp\" from the root"
            continue
        allowed = rules.ROOM_MAY_INCLUDE.get(source.room)
        excepted = any(re.match(where, source.path) and name == header for where, header in rules.ROOM_EXCEPTIONS)
        if allowed is not None and target != source.room and target not in allowed and not excepted:
            may = ", ".join((source.room,) + allowed)
            yield line, f'{source.room} may include only {may}, not "{name}"', rules.ROOM_WHY[source.room]
        part = rules.ROOM_MAY_INCLUDE_PART.get((source.room, target))
        if part and not excepted and not re.match(part[0], name):
            yield line, f'{source.room} may include only {part[0]} of {target}, not "{name}"', part[1]


def broken_words(source: Source):
    for rule in rules.WORDS:
        if not re.match(rule.where, source.path):
            continue
        # Marks of unfinished work are in comments; all other rules look at code only.
        for line, text in enumerate(source.lines if rule.name == UNFINISHED else source.code, 1):
            found = re.search(rule.words, text)
            if found:
                yield line, f"{rule.name}: {found.group(0).strip()}", rule.why
    if re.match(rules.SQL_WHERE, source.path):
        for line, text in source.strings:
            if re.search(rules.SQL, text, re.DOTALL):
                yield line, f"no SQL text here: {text[:50]}", rules.SQL_WHY


def broken_shape(source: Source):
    if not source.lines[0].startswith("//"):
        yield 1, "the first line is not a comment", "a file says what it does before it does it"
    if source.path.endswith(".hpp") and "#pragma once" not in source.lines:
        yield 1, "no #pragma once", "a header may be included twice"
    if len(source.lines) > rules.MAX_LINES + 1:
        yield rules.MAX_LINES + 1, f"{len(source.lines) - 1} lines", f"a file does one thing; at most {rules.MAX_LINES} lines"


def broken_flags(source: Source):
    if source.room in ("tests", "benchmarks") or not source.path.endswith(".hpp"):
        return
    code = "\n".join(source.code)
    for found in BOOL_PARAMETER.finditer(code):
        name = found.group(1)
        if not re.fullmatch(rules.BOOL_FACT, name) and name not in rules.BOOL_FACTS:
            yield code.count("\n", 0, found.start(1)) + 1, f"a flag as a bool parameter: {name}", rules.BOOL_WHY


def broken_interfaces(source: Source):
    if source.room in ("tests", "benchmarks"):
        return
    code = "\n".join(source.code)
    for found in re.finditer(r"\bvirtual\b", code):
        depth = 0
        for end in range(found.end(), len(code)):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            if depth == 0 and code[end] in ";{":
                break
        function = " ".join(code[found.start():end].split())
        if "~" not in function and not function.endswith("= 0"):
            yield code.count("\n", 0, found.start()) + 1, f"a virtual function with a body: {function}", rules.INTERFACE_WHY


def check(source: Source, root: pathlib.Path | None):
    for broken in (broken_includes(source, root), broken_words(source), broken_flags(source), broken_interfaces(source), broken_shape(source)):
        for line, what, why in broken:
            yield f"{source.path}:{line}: {what}\n    why: {why}"


def mutual_folders(files: list[Source]):
    """Two folders of the product that include each other are one room with a wall through it."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for source in files:
        if source.room in ("tests", "benchmarks"):
            continue
        here = source.path.rpartition("/")[0]
        for line, name, angled in source.includes:
            there = name.rpartition("/")[0]
            if not angled and there != here:
                first.setdefault((here, there), (source.path, line))
    for (a, b), (path, line) in sorted(first.items()):
        if a < b and (b, a) in first:
            back = "{}:{}".format(*first[b, a])
            yield f"{path}:{line}: {a} and {b} include each other ({back})\n    why: one of two folders stands below the other"


def undrawn_commands(variant: Source, players: list[Source]):
    """Commands of the core's variant that no test draws, so that neither fuzzing nor replay meets them."""
    listed = re.search(r"\bcommand_variant\s*=\s*std::variant<(.*?)>;", "\n".join(variant.code), re.DOTALL)
    if not listed:
        yield f"{variant.path}:1: no list of commands found\n    why: the list is compared with what tests draw"
        return
    drawn = set(re.findall(r"\bcommands::(\w+)", "\n".join(line for player in players for line in player.code)))
    for name in re.findall(r"\bcommands::(\w+)", listed.group(1)):
        if name not in drawn:
            yield f"{variant.path}: no test draws {name}\n    why: command_player draws every command, so that it is fuzzed and replayed"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = list(all_sources(root))
    if len(files) < 50:
        print(f"only {len(files)} source files found below {root}: is that the root?")
        return 1
    failures = [failure for source in files for failure in check(source, root)] + list(mutual_folders(files))
    failures += undrawn_commands(next(s for s in files if s.path == "controller/commands/command.hpp"),
                                 [s for s in files if re.match(r"tests/controller/commands/(command_player|drawn_\w+)\.hpp", s.path)])
    print("\n".join(failures) if failures else f"{len(files)} files keep the rules")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
