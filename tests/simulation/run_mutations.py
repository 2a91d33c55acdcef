"""Wrong turns in production code, one at a time: each must break an invariant of the simulation.

A mutation is a file in mutations/ (tests/mutations/mutate.py reads it); `caught by` names the invariants, one of
which must break. The programs are built before (`ninja mutants`); nothing is compiled here.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mutations"))
from mutate import mutated_source, read_mutation  # noqa: E402


def seeds_of(m, default):
    return int(m.fields.get("seeds", default))


def first_of(m):
    """For a mutation that is rarely seen: the seeds before this one play it in vain."""
    return int(m.fields.get("first", 1))


def judge(folder, m, seeds):
    began = time.monotonic()
    program = folder / f"sim_{m.name}"
    if not program.exists():
        return False, f"{m.name}: its program is not there; build it: ninja mutants"
    try:
        out = subprocess.run([program, "--seed", str(first_of(m)), "--seeds", str(seeds), "--quiet"], text=True,
                             capture_output=True, timeout=240).stdout
    except subprocess.TimeoutExpired:
        return False, f"UNDECIDED {m.name}: its program did not come to an end within 240 s, which a slow machine explains as well"
    found = re.search(r"^BROKEN ([^:]+): seed (\d+)", out, re.M)
    took = f"{time.monotonic() - began:.1f} s"
    if not found:
        return False, f"SURVIVED {seeds} seeds: {m.name}: {m.what} ({took})"
    by, seed = found.groups()
    right = by in [x.strip() for x in m.caught_by.split(",")]
    verdict = "caught" if right else f"caught by ANOTHER invariant than {m.caught_by}"
    return right, f"{m.name}: {verdict}: {by}, at seed {seed} ({took})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sim", type=pathlib.Path)
    parser.add_argument("mutants", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=1500)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    a = parser.parse_args()
    mutations = [read_mutation(p) for p in sorted((HERE / "mutations").glob("*.txt")) if a.only in p.stem]
    for m in mutations:
        mutated_source(m)
    most = max(first_of(m) - 1 + seeds_of(m, a.seeds) for m in mutations)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        plain = pool.submit(subprocess.run, [a.sim, "--seed", "1", "--seeds", str(most)], text=True,
                            capture_output=True)
        results = list(pool.map(lambda m: judge(a.mutants, m, seeds_of(m, a.seeds)), mutations))
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
