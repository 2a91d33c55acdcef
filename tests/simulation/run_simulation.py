"""The simulation as a test: every seed that ever failed, then a block of other seeds (docs/decisions/103).

QUELL_SIM_SEED   first seed of the block; `clock` = a fresh one, printed (default: the same for everyone)
QUELL_SIM_SEEDS  how many seeds (default 6000)
"""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SLICE = 250
FIRST = 1_000_000


def play(arguments):
    done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE)
    print(done.stdout, end="" if done.stdout.endswith("\n") else "\n", flush=True)
    return done.returncode


def main():
    sim = sys.argv[1]
    print("seeds that failed once:", flush=True)
    if play([sim, "--seeds-file", str(HERE / "seeds.txt")]) != 0:
        return 1
    first = os.environ.get("QUELL_SIM_SEED", str(FIRST))
    base = time.time_ns() // 1_000_000 % 1_000_000_000 if first == "clock" else int(first)
    count = int(os.environ.get("QUELL_SIM_SEEDS", 6000))
    print(f"seeds from {base} (again: QUELL_SIM_SEED={base} QUELL_SIM_SEEDS={count}):", flush=True)
    began = time.monotonic()
    played = 0
    while played < count:
        size = min(SLICE, count - played)
        done = subprocess.run([sim, "--seed", str(base + played), "--seeds", str(size)], text=True, stdout=subprocess.PIPE)
        if done.returncode != 0:
            print(done.stdout)
            return 1
        played += size
    took = max(time.monotonic() - began, 0.001)
    print(f"{played} scenarios in {took:.1f} s: {played * 60 / took:.0f} a minute; no invariant broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
