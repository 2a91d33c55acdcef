"""Finds names that two sources of one room each define in an unnamed namespace: a reader who looks for one
finds the other, duplicates stay unshared, and the sources cannot be compiled as one. Prints both places; exit 1 if there
are any.

usage: check_names.py ROOT | check_names.py --self-test
"""
import collections
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

from source import Source, all_sources, parse

ROOMS_OF_SOURCES = ("protocol", "storage", "actors", "controller", "worker", "integrations", "cli")
APART = re.compile(r".*_main\.cpp$|worker/tools/")  # separate programs


class Name(NamedTuple):
    within: tuple[str, ...]  # namespaces
    name: str
    shape: str  # `type`, `value`, or a function's parameters


def declarations(code: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The declarations in an unnamed namespace, each up to its `{` or `;`, with the namespaces around it."""
    stack: list[str | None] = []  # the name of a namespace; None for any other brace
    text = ""
    for char in code:
        here = tuple(name for name in stack if name is not None)
        is_ours = len(here) == len(stack) and "" in here
        if char in "{;":
            head = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).strip()
            opened = re.search(r"(?:^|\s)namespace\s*([\w:]*)$", head)
            if char == "{" and opened and len(here) == len(stack):
                stack.append(opened.group(1))
            else:
                if is_ours and head:
                    yield here, head
                if char == "{":
                    stack.append(None)
            text = ""
        elif char == "}":
            if stack:
                stack.pop()
            text = ""
        else:
            text += char


def parameters(text: str) -> str:
    """The types of a parameter list, without names, defaults, const and references: a call fits both by value and by reference."""
    types = []
    for one in re.split(r",(?![^<(]*[>)])", text):
        one = re.sub(r"=.*|\[\[.*?\]\]", "", one).strip()
        one = re.sub(r"\bconst\b", "", one)
        types.append(re.sub(r"\s+|&+$", "", re.sub(r"(?<=[&*> ])\s*\w+$", "", one) if re.search(r"[&*> ]\s*\w+$", one) else one))
    return "(" + ",".join(types) + ")"


def names_of(source: Source) -> Iterator[Name]:
    for within, head in declarations("\n".join(source.code)):
        head = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", head, flags=re.DOTALL)
        if kind := re.match(r"(?:struct|class|enum(?: class)?|union)\s+(\w+)", head):
            yield Name(within, kind.group(1), "type")
        elif re.match(r"(?:constexpr|const|static|inline|thread_local|constinit)\b", head) and not re.match(r"[^=]*\w\s*\(", head):
            for name in re.findall(r"\b(\w+)\s*(?:\[[^\]]*\]\s*)*(?==[^=])", head) or re.findall(r"\b(\w+)\s*$", head):
                yield Name(within, name, "value")
        elif call := re.search(r"\b(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:const|noexcept|->.*)?$", head, re.DOTALL):
            yield Name(within, call.group(1), parameters(call.group(2)))


def clashes(sources: list[Source]) -> Iterator[str]:
    seen: dict[tuple[str, tuple[str, ...], str], dict[str, set[str]]] = collections.defaultdict(lambda: collections.defaultdict(set))
    for source in sources:
        if source.path.endswith(".cpp") and source.room in ROOMS_OF_SOURCES and not APART.match(source.path):
            for name in names_of(source):
                seen[source.room, name.within, name.name][name.shape].add(source.path)
    for (room, _, name), shapes in sorted(seen.items()):
        files = sorted(set().union(*shapes.values()))
        is_overload = not shapes.keys() & {"type", "value"} and all(len(where) == 1 for where in shapes.values())
        if len(files) > 1 and not is_overload:
            yield f"{room}: `{name}` stands in {' and in '.join(files)}: share it, or say in its name what it is of"


def self_test() -> int:
    def found(*texts: str) -> int:
        return len(list(clashes([parse(f"cli/{n}.cpp", "namespace quell {\nnamespace {\n" + t + "\n}\n}\n") for n, t in enumerate(texts)])))
    broken = [("constexpr int most = 1;", "constexpr int most = 2;"), ("constexpr int a = 1, most = 2;", "struct most {};"),
              ("int f(int a) { return a; }", "int f(int b = 2) { return b; }"), ("class c { int f(); };", "struct c {};")]
    good = [("int f(int a) { return a; }", "int f(const char* a) { return 1; }"), ("struct a { int most; };", "struct b { int most; };"),
            ("void f() { constexpr int most = 1; }", "constexpr int most = 2;"), ("constexpr int most = 1;", "")]
    wrong = [pair for pair in broken if found(*pair) != 1] + [pair for pair in good if found(*pair)]
    print("\n".join(map(str, wrong)) if wrong else f"{len(broken)} clashes found, {len(good)} pairs left alone")
    return 1 if wrong else 0


def main() -> int:
    if sys.argv[1] == "--self-test":
        return self_test()
    failures = list(clashes(list(all_sources(pathlib.Path(sys.argv[1])))))
    print("\n".join(failures) if failures else "no name stands twice")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
