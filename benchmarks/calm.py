"""Waits until the machine is calm, so that a figure is not the machine's: `calm.py [SECONDS]` (120). Prints one line with what it saw, calm or not.

Calm: over two seconds less than a tenth of all cores is busy, and less than a fiftieth is taken by the host ("steal").
"""
import select
import sys
import time

BUSY, STOLEN = 0.10, 0.02


def cores():
    """Total, idle and stolen time of all cores, in clock ticks."""
    with open("/proc/stat") as f:
        ticks = [int(x) for x in f.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


def look(seconds):
    total, idle, stolen = cores()
    select.select([], [], [], seconds)
    total_after, idle_after, stolen_after = cores()
    passed = max(1, total_after - total)
    return 1 - (idle_after - idle) / passed, (stolen_after - stolen) / passed


def main(most):
    until = time.monotonic() + most
    while True:
        busy, stolen = look(2)
        is_calm = busy < BUSY and stolen < STOLEN
        if is_calm or time.monotonic() > until:
            print(f"{'calm' if is_calm else 'NOT CALM'}: {busy:.0%} busy, {stolen:.0%} stolen")
            return


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 120)
