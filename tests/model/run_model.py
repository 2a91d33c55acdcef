#!/usr/bin/env python3
"""Checks the models with SPIN: they hold at every size below, each wrong turn below breaks them, and each of their lines is executed.

usage: run_model.py build FOLDER    builds the verifiers of the small sizes
       run_model.py quick FOLDER    runs them: about half a minute on one core
       run_model.py full            (`make model`) builds and runs all sizes: several minutes, at most 4 GB
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import spin


def size(**values: int) -> list[str]:
    """One configuration; unnamed parameters are off or minimal."""
    base = dict(NW=1, NOPS=1, NK=1, SLOTS=2, CCRASH=0, WCRASH=0, GCRASH=0, BREAKS=0, LEASES=0, PARENT=0, DEFER=0)
    base.update({name: value for name, value in values.items() if name.isupper()})
    return [f"{name}={value}" for name, value in base.items()]


QUICK = {
    "one task, controller and worker crash": size(CCRASH=1, WCRASH=1),
    "one task, guardian crash, broken link, freeze": size(GCRASH=1, BREAKS=1, LEASES=1),
    "one task, controller crash, broken link": size(CCRASH=1, BREAKS=1, DEFER=1),
    "one task, late frames and late hellos": size(BREAKS=2) + ["LATE_FRAMES", "LATE_HELLO"],
    "one task, two cancels, controller crash": size(NK=2, CCRASH=1, DEFER=1),
    "parent and child, worker crash": size(NOPS=2, PARENT=1, WCRASH=1),
    "two workers, one task, worker crash": size(NW=2, WCRASH=1),
}
FULL = {
    "one task, two cancels, both crash, broken link": size(NK=2, CCRASH=1, WCRASH=1, BREAKS=1),
    "one task, late frames and hellos, both crash": size(CCRASH=1, WCRASH=1, BREAKS=1) + ["LATE_FRAMES", "LATE_HELLO"],
    "parent and child, two cancels, controller crash": size(NOPS=2, PARENT=1, NK=2, CCRASH=1),
    "parent and child, two cancels, worker crash": size(NOPS=2, PARENT=1, NK=2, WCRASH=1),
    "parent and child, one slot, broken link": size(NOPS=2, PARENT=1, SLOTS=1, BREAKS=1),
    "two workers, one task, worker crash, broken link": size(NW=2, WCRASH=1, BREAKS=1),
}
# Counted for coverage, statement by statement (that is slower, so these are small; together they must reach everything).
COVERAGE = {
    "one task": size(CCRASH=1, BREAKS=1, DEFER=1),
    "one task, late": size(GCRASH=1, BREAKS=1, LEASES=1) + ["LATE_FRAMES", "LATE_HELLO"],
    "one task, lost worker": size(WCRASH=1, BREAKS=1),
    "two cancels": size(NK=2),
    "parent and child": size(NOPS=2, PARENT=1, WCRASH=1),
    "parent and child, two cancels": size(NOPS=2, PARENT=1, NK=2),
}
COVERAGE_FULL = {
    "parent and child, broken link": size(NOPS=2, PARENT=1, BREAKS=1),
}
LEASES = {"a welcome, an answer, a handover, a restart": ["HELLOS=1", "BEATS=1"]}
LEASES_FULL = {"two sessions, a handover, a restart": ["HELLOS=2", "BEATS=0"]}
LIVENESS = {"one task, broken link": size(BREAKS=1), "one task, worker crash": size(WCRASH=1)}
LIVENESS_FULL = {"one task, two cancels, both crash": size(NK=2, CCRASH=1, WCRASH=1), "parent and child": size(NOPS=2, PARENT=1)}
# Each wrong turn must be found. The size is the smallest that shows it.
WRONG_TURNS = {
    "NO_RECHECK_AT_GO": size(),
    "CUTOFF_LESS": size(DEFER=1),
    "FREE_AT_SIGNAL": size(),
    "ACCEPT_OLD_SESSION": size(BREAKS=1) + ["LATE_FRAMES"],
    "ACCEPT_OLD_HELLO": size(BREAKS=1) + ["LATE_HELLO"],
    "DEAD_BY_TOO_EARLY": size(BREAKS=1),
    "FORGET_CUTOFF_ON_RESTART": size(CCRASH=1, DEFER=1),
    "SEND_BEFORE_COMMIT": size(CCRASH=1),
    "LATE_OVERWRITES": size(BREAKS=1),
    "NO_STOP_RESENT": size(BREAKS=1),
    "RESTARTED_WORKER_IS_THE_SAME": size(WCRASH=1),
    "RESULTS_FORGOTTEN_WHEN_SENT": size(BREAKS=1),
    "NOBODY_WAITS_FOR_THE_EARLIER_LIFE": size(WCRASH=1),
    "QUEUE_OUTLIVES_LEASE": size(BREAKS=1),
}
WRONG_LEASES = {
    "COUNT_FROM_RECEIPT": ["HELLOS=1", "BEATS=1"],
    "NO_DRIFT_ALLOWED_FOR": ["HELLOS=1", "BEATS=0"],
    "HANDOVER_MOVES_BASE": ["HELLOS=1", "BEATS=0"],
    "FORGET_THE_SESSION_BEFORE": ["HELLOS=2", "BEATS=0"],
    "RESTART_FORGETS_LENGTH": ["HELLOS=1", "BEATS=0"],
}


def searches(full: bool) -> list[tuple[str, str, spin.Search]]:
    """(kind, name, search), in the order in which they run. `wrong` ones must find a violation, all others none."""
    found = []

    def add(kind: str, sizes: dict[str, list[str]], model: str = "cancel.pml", **how) -> None:
        found.extend((kind, name, spin.Search(model, tuple(defines), **how)) for name, defines in sizes.items())

    add("channel", {"one direction": [], **({"one direction, more faults": ["LOSSES=3", "COPIES=2"]} if full else {})}, "channel.pml")
    add("lease", {**LEASES, **(LEASES_FULL if full else {})}, "lease.pml")
    add("safety", {**QUICK, **(FULL if full else {})}, hash_bits=26 if full else 22)
    fair = {**LIVENESS, **(LIVENESS_FULL if full else {})}
    add("fair", {name: defines + ["LIVENESS"] for name, defines in fair.items()}, liveness=True)
    add("cover", {**COVERAGE, **(COVERAGE_FULL if full else {})}, coverage=True)
    channel_turns = ("DELIVER_GAPS", "DELIVER_REPEATS", "ACKNOWLEDGED_AT_RECEIPT")
    for model, turns in (("cancel.pml", WRONG_TURNS), ("channel.pml", {turn: [] for turn in channel_turns}), ("lease.pml", WRONG_LEASES)):
        add("wrong", {turn: defines + [turn] for turn, defines in turns.items()}, model, breadth_first=True)
    return found


def build_all(wanted: list[tuple[str, str, spin.Search]], work: pathlib.Path) -> None:
    programs = {one.place(work): one for _, _, one in wanted}
    with ThreadPoolExecutor(os.cpu_count()) as compilers:
        list(compilers.map(lambda one: spin.build(one, work), programs.values()))


def trouble_of(kind: str, name: str, one: spin.Search, done: spin.Outcome, work: pathlib.Path) -> str:
    """Why this search is a failure; "": it is none."""
    if kind == "wrong":
        return "" if done.errors > 0 else f"the wrong turn {name} was not caught {done.trouble}"
    if done.trouble:
        return f"{kind}: {name}: the search is not whole: {done.trouble}"
    if done.errors:
        return f"{kind}: {name}: {done.what}; see the steps with: cd {one.place(work)} && spin {' '.join(one.spin_defines())} -t -p -k {one.model}.trail {spin.HERE / one.model}"
    return ""


def run_all(wanted: list[tuple[str, str, spin.Search]], work: pathlib.Path) -> list[str]:
    failures: list[str] = []
    covered: set = set()
    everything: set = set()
    for kind, name, one in wanted:
        try:
            done = spin.search(one, work)
        except subprocess.TimeoutExpired as late:
            return [*failures, f"{late.cmd} did not end within {late.timeout} s"]
        wrong = trouble_of(kind, name, one, done, work)
        verdict = ("MISSED" if wrong else "caught") if kind == "wrong" else ("FAILS" if wrong else "holds")
        print(f"{verdict:6} {f'{kind}: {name}':58} {done.states:>10} states  depth {done.depth:>5}  {done.seconds:6.1f} s  {done.megabytes:6.0f} MB", flush=True)
        if kind == "wrong" and not wrong:
            print(f"           {done.what}", flush=True)
        if wrong:
            failures.append(wrong)
        covered |= done.covered
        everything |= done.all_code
    print(f"cover  {len(covered)} of {len(everything)} different statements are reached")
    failures.extend(f"never reached: line {line}: {statement[:80]}" for line, statement in sorted(everything - covered))
    return failures


def main() -> int:
    mode, *places = sys.argv[1:] or [""]
    if (mode, len(places)) not in (("build", 1), ("quick", 1), ("full", 0)):
        print(__doc__)
        return 2
    spin.tools()
    wanted = searches(full=mode == "full")
    work = pathlib.Path(places[0]) if places else pathlib.Path(tempfile.mkdtemp(prefix="quell-model-"))
    if mode != "quick":
        build_all(wanted, work)
    failures = run_all(wanted, work) if mode != "build" else []
    if mode == "full" and not failures:
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print(f"model: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
