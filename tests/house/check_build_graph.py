"""`ninja programs` needs no file of the tests or the benchmarks, and `make` and `make demo` build that target alone.

usage: check_build_graph.py ROOT BUILD
"""
import os
import pathlib
import subprocess
import sys

APART = ("tests", "benchmarks")


def inputs_of(build: pathlib.Path, target: str) -> list[str]:
    """Every file that the target needs, directly or not."""
    done = subprocess.run(["ninja", "-C", str(build), "-t", "inputs", target], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def apart(root: pathlib.Path, build: pathlib.Path, files: list[str]) -> list[str]:
    """Those of the files that programs must not need."""
    found = []
    for file in files:
        path = pathlib.Path(os.path.abspath(build / file))
        for base in (build, root):
            if path.is_relative_to(base):
                if path.relative_to(base).parts[0] in APART:
                    found.append(file)
                break
    return found


def ninja_targets(root: pathlib.Path, build: pathlib.Path, goal: str) -> list[str]:
    """What `make GOAL` has ninja build."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(["make", "-n", "--no-print-directory", "-C", str(root), goal, f"BUILD={build}", "JOBS=1"], env=environment,
                          capture_output=True, text=True, check=True)
    prefix = f"ninja -C {build} -j 1"
    return [line.removeprefix(prefix).strip() for line in done.stdout.splitlines() if line.startswith("ninja ")]


def bites(root: pathlib.Path, build: pathlib.Path) -> list[str]:
    """What these checks do not see, although it is there."""
    failures = []
    if not apart(root, build, inputs_of(build, "test_protocol")):
        failures.append("the sources of test_protocol are not seen as tests")
    if ninja_targets(root, build, "everything") != [""]:
        failures.append("a build without a target is not seen as one")
    return failures


def main() -> int:
    root, build = (pathlib.Path(os.path.abspath(p)) for p in sys.argv[1:3])
    failures = bites(root, build)
    files = inputs_of(build, "programs")
    if not any("quelld_main" in file for file in files):
        failures.append("`ninja programs` does not build quelld: the graph was not read")
    failures += [f"`ninja programs` builds {file}: programs need nothing of {', '.join(APART)}" for file in apart(root, build, files)]
    for goal in ("build", "demo"):
        targets = ninja_targets(root, build, goal)
        if targets != ["programs"]:
            failures.append(f"`make {goal}` has ninja build {targets}, not the programs alone")
    print("\n".join(failures) or "the programs are built alone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
