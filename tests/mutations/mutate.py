"""One wrong turn in production code: reads a mutation and writes the mutated source. A build step; never run by a test.

A mutation is a text file: a description, one source file, the test that must catch it, the old text (found exactly once), the new
text. The README of each runner describes the fields that only this runner reads.
"""
import pathlib
import re
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Mutation(NamedTuple):
    name: str
    what: str
    file: str
    caught_by: str
    old: str
    new: str
    fields: dict


def read_mutation(path):
    head, _, rest = path.read_text().partition("--- old\n")
    old, _, new = rest.partition("--- new\n")
    fields = dict(re.findall(r"^([a-z ]+): (.*)$", head, re.M))
    return Mutation(path.stem, fields["what"], fields["file"], fields["caught by"], old.rstrip("\n"), new.rstrip("\n"),
                    fields)


def mutated_source(m):
    text = (ROOT / m.file).read_text()
    if text.count(m.old) != 1:
        raise SystemExit(f"mutation {m.name}: its old text is found {text.count(m.old)} times in {m.file}, not once; "
                         "the code has moved on, so must the mutation")
    return text.replace(m.old, m.new)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(mutated_source(read_mutation(pathlib.Path(sys.argv[1]))))
