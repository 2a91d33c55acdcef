"""No sentence of a document or a comment begins with a clause that stands for its subject ("What waits is stored"): the subject has a
name ("A waiting message is stored"). And documents, comments, texts and names of tests say "is not a Y", never "is no Y". Prints file:line and the sentence; exit 1 if there is one.

usage: check_sentences.py ROOT | check_sentences.py --self-test
"""
import pathlib
import re
import sys
from typing import Iterator

from source import all_sources

# At the beginning of a text, of a line's bold words or cell or item, or behind a sentence. A question may begin so.
HEADLESS = re.compile(r"(?:^|(?<=[.!?:] )|(?<=[.!?]\*\* )|(?<=\*\*)|(?<=\| )|(?<=- )|(?<=# ))(?:\d+[.:]? )?(?:What|Who|Whoever|Whatever|Whichever)\s[^.?!|]*[.?!|]?", re.MULTILINE)
QUESTIONS = ("What would change our mind", "What needs me")  # the last part of a decision; the name of a list of the console


NO_NOUN = re.compile(r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|earlier\b|later\b|fewer\b|better\b|worse\b)\w+")


def headless(text: str) -> Iterator[tuple[int, str]]:
    """The line, counted from 0, and the beginning of each such sentence."""
    for found in HEADLESS.finditer(text):
        sentence = found.group(0)
        if not sentence.endswith("?") and not sentence.startswith(QUESTIONS):
            yield text.count("\n", 0, found.start()), " ".join(sentence.split())[:80]


def without_code(text: str) -> str:
    return re.sub(r"```.*?```", lambda block: "\n" * block.group(0).count("\n"), text, flags=re.DOTALL)


def comments(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each comment as one text, with the line on which it begins. A comment behind code stands alone."""
    block: list[str] = []
    for number, line in enumerate(lines + [""], 1):
        whole = re.match(r"\s*//+<?\s?(.*)", line)
        if whole:
            block.append(whole.group(1).strip())
            continue
        if block:
            yield number - len(block), " ".join(block)
            block = []
        if behind := re.search(r"[;{},)]\s*//+<?\s?(.*)$", line):
            yield number, behind.group(1)


def check(root: pathlib.Path) -> list[str]:
    failures, denials = [], []
    for path in [root / "CONTRIBUTING.md", root / "README.md", root / "SECURITY.md", *sorted((root / "docs").rglob("*.md"))]:
        text = without_code(path.read_text(encoding="utf-8"))
        for line, sentence in headless(text):
            failures.append(f"{path.relative_to(root)}:{line + 1}: {sentence}")
        for found in NO_NOUN.finditer(text):
            denials.append(f"{path.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}: {found.group(0)}")
    for source in all_sources(root):
        for begins, text in comments(source.lines):
            failures += [f"{source.path}:{begins}: {sentence}" for _, sentence in headless(text)]
            denials += [f"{source.path}:{begins}: {found.group(0)}" for found in NO_NOUN.finditer(text)]
        for begins, text in source.strings:
            denials += [f"{source.path}:{begins}: {found.group(0)}" for found in NO_NOUN.finditer(text)]
    return ([f"{failure}\n    why: a sentence names its subject, so that it is read once" for failure in failures]
            + [f"{denial}\n    why: write \"is not a\", which is read once" for denial in denials])


def self_test() -> list[str]:
    broken = ["What waits is stored.", "It ends. Whoever asked is told.", "- **What is said**: an event", "# 8. What may be declared dead", "a | Who may. |",
              "One.\nWhatever\ncomes next is kept."]
    good = ["What do I do?", "**What would change our mind.** A lock.", "A message that waits is stored.", "It says what waits.", "```\nWhat is code.\n```", "Whole."]
    wrong = [text for text in broken if len(list(headless(without_code(text)))) != 1] + [text for text in good if list(headless(without_code(text)))]
    if [len(NO_NOUN.findall(text)) for text in ("a name is no proof", "they are no texts", "there is no room", "it is no longer", "it is not a proof")] != [1, 1, 0, 0, 0]:
        wrong.append("denials are read wrongly")
    lines = ["// It ends. What", "// waits is stored.", "int a; // What is kept.", "int b = f(\"What is it\");"]
    if [sum(1 for _ in headless(text)) for _, text in comments(lines)] != [1, 1]:
        wrong.append("comments are read wrongly")
    return wrong


def main() -> int:
    failures = self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1]))
    print("\n".join(failures) if failures else "every sentence names its subject")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
