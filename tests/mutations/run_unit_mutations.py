"""Wrong turns in production code, one at a time: each must fail the unit test that its file names.

usage: run_unit_mutations.py FOLDER [--tests PROGRAM] [--only TEXT]

FOLDER contains the programs, built before (`ninja mutants`); nothing is compiled here. With --tests they are guardians, and
PROGRAM is the test that runs with each of them, in its own PID namespace: a guardian that leaves a process behind
leaves it there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from mutate import mutated_source, read_mutation

HERE = pathlib.Path(__file__).resolve().parent


def own_subtrees():
    """The cgroups of guardians under test, which stay empty after a guardian was killed with its namespace."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            yield from (pathlib.Path("/sys/fs/cgroup") / line[3:].lstrip("/")).glob("quell-test-*")


def remove(cgroup):
    for below in [path for path in cgroup.glob("*/") if path.is_dir()]:
        remove(below)
    try:
        cgroup.rmdir()
    except OSError:
        pass  # the kernel needs a moment, or another process has removed it


def judge(folder, tests, m):
    kind = "guardian" if tests else "unit"
    program = folder / f"{kind}_{m.name}"
    if not program.exists():
        return False, f"{m.name}: its program is not there; build it: ninja mutants"
    spec = m.caught_by.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")
    # A property finds its counterexample by chance: enough cases, and the same ones each time, so that the verdict is too.
    command, environment = [program, spec, "-a"], dict(os.environ, RC_PARAMS="seed=1 max_success=2000")
    if tests:
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", tests, spec, "-a"]
        environment["QUELL_TEST_GUARDIAN"] = str(program)
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=120, env=environment)
        out = done.stdout + done.stderr
        caught = done.returncode != 0 and (re.search(r"test cases: +\d+ \|.*\d+ failed", out) is not None or
                                           done.returncode < 0)
    except subprocess.TimeoutExpired:
        return False, f"UNDECIDED {m.name}: the test did not come to an end within 120 s, which a slow machine explains as well"
    if caught:
        return True, f"{m.name}: caught by: {m.caught_by}"
    return False, f"SURVIVED {m.name}: {m.what} (test: {m.caught_by})\n{out[-600:]}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--tests", type=pathlib.Path)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    kind = "guardian" if given.tests else "unit"
    before = set(own_subtrees())
    mutations = [read_mutation(p) for p in sorted((HERE / kind).glob("*.txt")) if given.only in p.stem]
    for m in mutations:
        mutated_source(m)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda m: judge(given.folder, given.tests, m), mutations))
    for left in set(own_subtrees()) - before if given.tests else ():
        remove(left)
    for _, text in results:
        print(text)
    bad = sum(not right for right, _ in results)
    print(f"{len(results) - bad} of {len(results)} mutations are caught")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
