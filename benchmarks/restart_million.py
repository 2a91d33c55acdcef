"""From the start of quelld after `kill -9`, with up to a million live operations in its store, to the first cancel that is fenced."""
import sys
import time

from support import MILLIONS, Cluster, idle_task, load, median, pause, record, rss_bytes, say, until

GOAL_S, GOAL_AT = 1.5, 1_000_000


def first_cancel(c, scope, operations):
    """Kills quelld, starts it, and asks for a cancel until one is answered as fenced; the seconds since the start."""
    c.kill_controller()
    before = time.monotonic()
    c.start_controller(wait=False)
    while True:
        assert time.monotonic() - before < 300 and c.controller.poll() is None, "no cancel was answered within 300 s"
        try:
            answer = c.api("POST", "/v1/cancels", {"scope": scope, "wait": "fenced"})
        except OSError:  # it does not listen yet
            pause(0.002)
            continue
        if answer.status in (200, 202):
            break
        assert answer.status == 503, answer.body
        pause(0.002)
    took_s = time.monotonic() - before
    assert answer.json["report"]["operations"] == operations, answer.json
    until(c.healthy, "quelld to be healthy")
    return took_s


def main(count, rounds):
    took = []
    with Cluster(workers=1, settings=MILLIONS) as c:
        found = load(c, count, idle_task("bench/idle"), 256)
        say(f"    {count:,} created in {found['create_s']:.1f} s: {count / found['create_s']:,.0f}/s")
        for i in range(rounds):
            load(c, 10, idle_task(f"bench/s{i}"), 4)
            took.append(first_cancel(c, f"bench/s{i}", 10))
            say(f"    first cancel after {took[-1]:.2f} s, RSS {rss_bytes(c.controller.pid) / 2**20:.0f} MiB")
        c.cancel(scope="bench", wait="fenced")
    is_whole = count >= GOAL_AT
    record(f"first cancel after kill -9 and a restart with {count:,} live", f"{median(took):.2f} s", f"{GOAL_S} s at {GOAL_AT:,}", f"{median(took) / GOAL_S:.2f} x",
           "<= 1 x" if is_whole else "", median(took) <= GOAL_S if is_whole else None, took)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
