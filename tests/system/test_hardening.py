"""Link and compile options of the programs: addresses and tables that an attacker could use are neither known nor writable, and copies are checked."""
import os
import subprocess

import pytest

from harness.cluster import BIN

PROGRAMS = ("quelld", "quell", "quell-worker", "quell-guardian", "quell-tool", "quell-ear", "quell-mouth")


def shown(program, *flags):
    return subprocess.run(["readelf", "-W", *flags, f"{BIN}/{program}"], check=True, capture_output=True, text=True).stdout


def is_quick():
    """True for a build without optimisation, which lacks the checks of FORTIFY."""
    with open(os.path.join(BIN, "..", "CMakeCache.txt")) as f:
        cache = f.read()
    return any(f"{name}:BOOL=ON" in cache for name in ("QUELL_QUICK", "QUELL_ASAN", "QUELL_TSAN"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_position_independent_and_bound_at_its_start(program):
    assert "DYN (" in shown(program, "-h"), shown(program, "-h")
    dynamic = shown(program, "-d")
    assert "PIE" in dynamic, dynamic
    segments = shown(program, "-l")
    assert "GNU_RELRO" in segments, segments
    stack, = [line for line in segments.splitlines() if "GNU_STACK" in line]
    assert "E" not in stack.split("0x")[-2].split()[-1], stack
    if "NEEDED" in dynamic:
        assert "NOW" in dynamic, dynamic  # a static program has no symbols to bind later


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.skipif(is_quick(), reason="compiled without optimisation, so without FORTIFY")
def test_copies_are_checked(program):
    symbols = shown(program, "-s")
    assert "_chk" in symbols.replace("__stack_chk_fail", ""), f"{program} calls no checked function"


@pytest.mark.skipif(is_quick(), reason="sanitizers bring libraries of their own")
def test_the_command_line_waits_for_no_loader():
    """Its start is part of every answer: of the shared libraries it loads the C library alone."""
    listed = subprocess.run(["ldd", f"{BIN}/quell"], check=True, capture_output=True, text=True).stdout
    loaded = [line.split()[0] for line in listed.splitlines() if "=>" in line]
    assert len(loaded) <= 3, listed
    for program in ("quell", "quelld", "quell-worker"):
        for flag in ("--version", "-V"):
            said = subprocess.run([f"{BIN}/{program}", flag], check=True, capture_output=True, text=True)
            assert said.stdout.startswith(f"{program} ") and not said.stderr, said
