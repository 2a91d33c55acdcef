#!/usr/bin/env python3
"""Every file and function that the models name as the code that they represent exists: lines with `@code FILE NAME, NAME`.

usage: check_code_names.py ROOT
"""
import pathlib
import re
import sys

NAMED = re.compile(r"@code (\S+)\s+([\w, ]+)")
LEAST = 30


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    failures: list[str] = []
    count = 0
    for model in sorted((root / "tests/model").glob("*.pml")):
        for number, line in enumerate(model.read_text(encoding="utf-8").splitlines(), 1):
            for file, names in NAMED.findall(line):
                source = root / file
                if not source.is_file():
                    failures.append(f"{model.name}:{number}: there is no file {file}")
                    continue
                text = source.read_text(encoding="utf-8")
                for name in (n.strip() for n in names.split(",")):
                    count += 1
                    if name and not re.search(rf"\b{re.escape(name)}\s*(\(|\{{|;)", text):
                        failures.append(f"{model.name}:{number}: {file} has no function {name}: the step may not be the code's any more; "
                                        "look at both, then correct the comment")
    if count < LEAST:
        failures.append(f"only {count} functions are named: is {root} the root?")
    print("\n".join(failures) if failures else f"{count} functions named by the models exist")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
