"""The simulation as a test: every seed that ever failed, then fresh ones until their number or the time is used up.

QUELL_SIM_SEED   first fresh seed (default: from the clock; printed)
QUELL_SIM_SEEDS  how many fresh seeds (default 6000)
"""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SLICE = 250
MOST_SECONDS = 75


def play(arguments):
    done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE)
    print(done.stdout, end="" if done.stdout.endswith("\n") else "\n", flush=True)
    return done.returncode


def main():
    sim = sys.argv[1]
    print("seeds that failed once:", flush=True)
    if play([sim, "--seeds-file", str(HERE / "seeds.txt")]) != 0:
        return 1
    base = int(os.environ.get("QUELL_SIM_SEED", time.time_ns() // 1_000_000 % 1_000_000_000))
    asked = "QUELL_SIM_SEEDS" in os.environ
    count = int(os.environ.get("QUELL_SIM_SEEDS", 6000))
    print(f"fresh seeds from {base} (again: QUELL_SIM_SEED={base} QUELL_SIM_SEEDS={count}):", flush=True)
    began = time.monotonic()
    played = 0
    while played < count and (asked or time.monotonic() - began < MOST_SECONDS):
        size = min(SLICE, count - played)
        done = subprocess.run([sim, "--seed", str(base + played), "--seeds", str(size)], text=True, stdout=subprocess.PIPE)
        if done.returncode != 0:
            print(done.stdout)
            return 1
        played += size
    took = max(time.monotonic() - began, 0.001)
    print(f"{played} fresh scenarios in {took:.1f} s: {played * 60 / took:.0f} a minute; no invariant broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
