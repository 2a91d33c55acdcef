#!/usr/bin/env python3
"""Checks the models with SPIN: they hold at every size below, each wrong turn below breaks them, and each of their lines is executed.

usage: run_model.py quick|full [FOLDER]     quick: about a minute on one core; full (`make model`): several minutes, at most 4 GB
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

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


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in ("quick", "full"):
        print(__doc__)
        return 2
    full = sys.argv[1] == "full"
    spin.tools()
    given = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    work = given or pathlib.Path(tempfile.mkdtemp(prefix="quell-model-"))
    failures: list[str] = []
    count = 0

    def folder() -> pathlib.Path:
        nonlocal count
        count += 1
        return work / f"{count:02}"

    def show(name: str, done: spin.Outcome, verdict: str) -> None:
        print(f"{verdict:6} {name:58} {done.states:>10} states  depth {done.depth:>5}  {done.seconds:6.1f} s  {done.megabytes:6.0f} MB", flush=True)

    def holds(kind: str, name: str, model: str, defines: list[str], **how) -> spin.Outcome:
        at = folder()
        done = spin.search(at, model, defines, **how)
        good = done.errors == 0 and not done.trouble
        show(f"{kind}: {name}", done, "holds" if good else "FAILS")
        if done.trouble:
            failures.append(f"{kind}: {name}: the search is not whole: {done.trouble}")
        elif done.errors:
            failures.append(f"{kind}: {name}: {done.what}; see the steps with: cd {at} && spin "
                            + " ".join(f"-D{d}" for d in defines) + f" -t -p -k {model}.trail {spin.HERE / model}")
        if not failures:
            shutil.rmtree(at, ignore_errors=True)
        return done

    try:
        for name, defines in {"one direction": [], "one direction, more faults": ["LOSSES=3", "COPIES=2"]}.items() if full else [("one direction", [])]:
            holds("channel", name, "channel.pml", defines)
        for name, defines in {**LEASES, **(LEASES_FULL if full else {})}.items():
            holds("lease", name, "lease.pml", defines)
        for name, defines in {**QUICK, **(FULL if full else {})}.items():
            holds("safety", name, "cancel.pml", defines, hash_bits=26 if full else 22)
        for name, defines in {**LIVENESS, **(LIVENESS_FULL if full else {})}.items():
            holds("fair", name, "cancel.pml", defines + ["LIVENESS"], liveness=True)

        covered: set = set()
        everything: set = set()
        for name, defines in {**COVERAGE, **(COVERAGE_FULL if full else {})}.items():
            done = holds("cover", name, "cancel.pml", defines, coverage=True)
            covered |= done.covered
            everything |= done.all_code
        idle = sorted(everything - covered)
        print(f"cover  {len(covered)} of {len(everything)} different statements are reached")
        failures.extend(f"never reached: line {line}: {statement[:80]}" for line, statement in idle)

        wrong = [("cancel.pml", turn, defines) for turn, defines in WRONG_TURNS.items()]
        wrong += [("channel.pml", turn, []) for turn in ("DELIVER_GAPS", "DELIVER_REPEATS", "ACKNOWLEDGED_AT_RECEIPT")]
        wrong += [("lease.pml", turn, defines) for turn, defines in WRONG_LEASES.items()]
        for model, turn, defines in wrong:
            at = folder()
            done = spin.search(at, model, defines + [turn], breadth_first=True)
            caught = done.errors > 0
            show(f"wrong: {turn}", done, "caught" if caught else "MISSED")
            print(f"           {done.what}" if caught else f"           {done.trouble}", flush=True)
            if not caught:
                failures.append(f"the wrong turn {turn} was not caught")
            shutil.rmtree(at, ignore_errors=True)
    except subprocess.TimeoutExpired as late:
        failures.append(f"{late.cmd} did not end within {late.timeout} s")
    if not failures and not given:
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print(f"model: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
