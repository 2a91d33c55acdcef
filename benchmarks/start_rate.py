"""Starts and ends of `true` through quell, all durable, beside bare posix_spawn and wait on the same cores."""
import os
import shutil
import subprocess
import sys

from support import Cluster, compare_rates, helper, load, say

TRUE = shutil.which("true")


def bare(count):
    """The best of one at a time and eight at a time on each core: a busy machine favours many at a time."""
    rates = []
    for threads in (os.cpu_count(), 8 * os.cpu_count()):
        done = subprocess.run([helper("bare_spawn"), str(count), TRUE, str(threads)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rates.append(float(done.stdout))
    return max(rates)


def measure(rounds, count, slots, share, at_least):
    limits, rates = [], []
    with Cluster(workers=1, slots=slots) as c:
        load(c, 200, {"kind": "task", "scope": "bench/warm", "task": {"command": [TRUE]}}, until_ended_in="bench/warm")
        for i in range(rounds):
            limits.append(bare(count))
            scope = f"bench/r{i}"
            found = load(c, count, {"kind": "task", "scope": scope, "task": {"command": [TRUE]}}, 64, until_ended_in=scope)
            rates.append(count / found["ended_s"])
            say(f"    bare {limits[-1]:.0f}/s; quell {rates[-1]:.0f}/s ({count} created in {found['create_s']:.2f} s, ended after {found['ended_s']:.2f} s)")
        assert len(c.operations(scope="bench/r0", status="completed", limit=1000)) == count
    compare_rates(f"start and finish of `true`, {slots} slots", rates, limits, "bare", share, at_least)


def main(rounds, count):
    for slots, share, at_least in ((8, 0.45, 1300), (64, 0.52, 1500)):  # the shares that these rates are of the bare limit on the machine of issue 13
        measure(rounds, count, slots, share, at_least)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, int(sys.argv[2]) if len(sys.argv) > 2 else 3000)
