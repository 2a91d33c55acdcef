"""Wrong turns in production code, one at a time: each must fail the unit test that its file names.

The programs are built before (`ninja mutants`); nothing is compiled here.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

from mutate import mutated_source, read_mutation

HERE = pathlib.Path(__file__).resolve().parent


def judge(folder, m):
    program = folder / f"unit_{m.name}"
    if not program.exists():
        return False, f"{m.name}: its program is not there; build it: ninja mutants"
    spec = m.caught_by.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")
    try:
        done = subprocess.run([program, spec, "-a"], text=True, capture_output=True, timeout=120)
        out = done.stdout + done.stderr
        caught = done.returncode != 0 and (re.search(r"test cases: +\d+ \|.*\d+ failed", out) is not None or
                                           done.returncode < 0)
    except subprocess.TimeoutExpired:
        return True, f"{m.name}: caught: the test did not come to an end"
    if caught:
        return True, f"{m.name}: caught by: {m.caught_by}"
    return False, f"SURVIVED {m.name}: {m.what} (test: {m.caught_by})\n{out[-600:]}"


def main():
    folder = pathlib.Path(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    mutations = [read_mutation(p) for p in sorted((HERE / "unit").glob("*.txt")) if only in p.stem]
    for m in mutations:
        mutated_source(m)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda m: judge(folder, m), mutations))
    for _, text in results:
        print(text)
    bad = sum(not right for right, _ in results)
    print(f"{len(results) - bad} of {len(results)} mutations are caught")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
