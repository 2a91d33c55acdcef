"""Wrong turns in production code, one at a time: each must break an invariant of the simulation.

A mutation is a file in mutations/: what it is, one source file, the old text (found exactly once), the new text, the
invariants of which one must catch it. Only that source is compiled again; the rest is linked from the build.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Mutation(NamedTuple):
    name: str
    what: str
    file: str
    caught_by: tuple
    old: str
    new: str
    seeds: int


def read_mutation(path, default_seeds):
    head, _, rest = path.read_text().partition("--- old\n")
    old, _, new = rest.partition("--- new\n")
    fields = dict(re.findall(r"^([a-z ]+): (.*)$", head, re.M))
    return Mutation(path.stem, fields["what"], fields["file"], tuple(x.strip() for x in fields["caught by"].split(",")),
                    old.rstrip("\n"), new.rstrip("\n"), int(fields.get("seeds", default_seeds)))


def mutated_source(m):
    text = (ROOT / m.file).read_text()
    if text.count(m.old) != 1:
        raise SystemExit(f"mutation {m.name}: its old text is found {text.count(m.old)} times in {m.file}, not once; "
                         "the code has moved on, so must the mutation")
    return text.replace(m.old, m.new)


class Builder:
    """Compiles one source again and links the simulation with it in front of the libraries."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        commands = json.loads((build / "compile_commands.json").read_text())
        wanted = ("quell_simulated.dir", "quell_protocol.dir")
        self.compile = {str(pathlib.Path(c["file"]).resolve().relative_to(ROOT)): c for c in commands
                        if any(w in c["command"] for w in wanted)}
        lines = subprocess.run(["ninja", "-C", build, "-t", "commands", "sim"], check=True, text=True,
                               capture_output=True).stdout.splitlines()
        self.link = next(line for line in reversed(lines) if "-o tests/simulation/sim " in line)

    def program(self, m):
        folder = self.scratch / m.name
        source = folder / m.file
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(mutated_source(m))
        entry = self.compile[m.file]
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(folder / "mutated.o")
        words[words.index("-c") + 1] = str(source)
        self.run(words, m)
        program = folder / "sim"
        link = self.link.replace("-o tests/simulation/sim ", f"-o {program} {folder / 'mutated.o'} ", 1)
        self.run(["sh", "-c", link], m)
        return program

    def run(self, words, m):
        done = subprocess.run(words, cwd=self.build, text=True, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"mutation {m.name} does not build:\n{done.stdout}{done.stderr}")


def judge(builder, m):
    began = time.monotonic()
    program = builder.program(m)
    built = time.monotonic()
    try:
        out = subprocess.run([program, "--seed", "1", "--seeds", str(m.seeds), "--quiet"], text=True,
                             capture_output=True, timeout=240).stdout
    except subprocess.TimeoutExpired:
        out = "BROKEN progress: seed 0: the program did not come to an end"
    program.unlink()
    found = re.search(r"^BROKEN ([^:]+): seed (\d+)", out, re.M)
    times = f"built in {built - began:.1f} s, ran {time.monotonic() - built:.1f} s"
    if not found:
        return False, f"SURVIVED {m.seeds} seeds: {m.name}: {m.what} ({times})"
    by, seed = found.groups()
    right = by in m.caught_by
    verdict = "caught" if right else "caught by ANOTHER invariant than " + " or ".join(m.caught_by)
    return right, f"{m.name}: {verdict}: {by}, after {seed} seeds ({times})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=1500)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    a = parser.parse_args()
    build = a.build.resolve()
    mutations = [read_mutation(p, a.seeds) for p in sorted((HERE / "mutations").glob("*.txt")) if a.only in p.stem]
    for m in mutations:
        mutated_source(m)
    builder = Builder(build, build / "tests/simulation/mutated")
    most = max(m.seeds for m in mutations)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        plain = pool.submit(subprocess.run, [build / "tests/simulation/sim", "--seed", "1", "--seeds", str(most)],
                            text=True, capture_output=True)
        results = list(pool.map(lambda m: judge(builder, m), mutations))
    for _, text in results:
        print(text)
    if plain.result().returncode != 0:
        print("the code without any mutation breaks an invariant:\n" + plain.result().stdout[-4000:])
        return 1
    bad = sum(not right for right, _ in results)
    print(f"{len(results) - bad} of {len(results)} mutations are caught; the code as it is passes the same {most} seeds")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
