"""Reads C++ sources of the rooms: which files there are, their includes, and their code without comments and literals."""
import pathlib
import re
from typing import Iterator, NamedTuple

ROOMS = ("protocol", "storage", "actors", "controller", "gateway", "quelld", "worker", "integrations", "cli", "console", "benchmarks", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TOKEN = re.compile(
    r'//[^\n]*'                                  # a comment to the end of the line
    r'|/\*.*?\*/'                                # a comment between marks
    r'|R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"'  # a raw string
    r'|"(?:\\.|[^"\\\n])*"'                      # a string
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",     # a character, not the ' inside a number
    re.DOTALL)


class Source(NamedTuple):
    path: str            # from the root, with /
    lines: list[str]     # as written
    code: list[str]      # comments and literals blanked
    strings: list[tuple[int, str]]  # line and text of each string literal
    includes: list[tuple[int, str, bool]]  # line, what, in angle brackets

    @property
    def room(self) -> str:
        return self.path.split("/")[0]


def parse(path: str, text: str) -> Source:
    strings: list[tuple[int, str]] = []

    def blank(match: re.Match[str]) -> str:
        token = match.group(0)
        if token.startswith(('"', "R")):
            strings.append((text.count("\n", 0, match.start()) + 1, token))
        return re.sub(r"[^\n]", " ", token)

    # Includes are read from the text as it is: their file names look like strings.
    lines = text.split("\n")
    includes = []
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found:
            includes.append((number, found.group(2), found.group(1) == "<"))
    return Source(path, lines, TOKEN.sub(blank, text).split("\n"), strings, includes)


def all_sources(root: pathlib.Path) -> Iterator[Source]:
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.suffix in (".cpp", ".hpp") and file.is_file():
                yield parse(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
