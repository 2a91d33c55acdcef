"""The cancel of another scope beside 5,000 event streams whose events come fast, and creates without a pause, beside the same cancel in quiet."""
import json
import os
import select
import subprocess
import sys

from neighbours import measure_at_once, stand_back
from other_scopes import Cancels, rows
from support import Cluster, helper, idle_task, load, say
from watchers import Watchers, host_and_port


MOST = 500  # cancels a round


class Creates:
    """Creates without a pause, from another machine, as it were: the load generator gets what quelld and the client leave."""

    def __init__(self, cluster, scope):
        command = [helper("http_load"), *map(str, host_and_port(cluster)), str(10**7), "4"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=dict(os.environ, QUELL_TOKEN=cluster.token), preexec_fn=stand_back)
        self.process.stdin.write(json.dumps(idle_task(scope)))
        self.process.stdin.close()

    def close(self):
        assert self.process.poll() is None, "the load generator ended by itself"
        self.process.kill()
        self.process.wait()


def beside_streams(c, cancels, streams, events):
    """Cancels until each of the streams has as many events."""
    watchers = Watchers(*host_and_port(c), streams, "/v1/events?types=operation_created&scope=bench/w", token=c.token)
    creates = Creates(c, "bench/load")
    watchers.ask(events)
    load(c, events, idle_task("bench/w"), 4)
    took = []
    while len(took) < MOST and not select.select([watchers.process.stdout], [], [], 0)[0]:
        cancels.prepare(1)
        took.append(cancels.one())
    creates.close()
    watchers.answer()
    watchers.close()
    return took


def main(rounds, streams, events):
    loaded, quiet = [], []
    settings = ["limits.streams_per_token=0", f"limits.connections={streams + 1000}"]
    with Cluster(workers=1, settings=settings) as c:
        cancels = Cancels(c)
        measure_at_once()
        for _ in range(rounds):
            for _ in range(60):
                cancels.prepare(1)
                quiet.append(cancels.one())
            some = beside_streams(c, cancels, streams, events)
            loaded += some
            say(f"    {len(some)} cancels while {streams:,} streams got {events:,} events each, worst {max(some):.1f} ms")
            c.cancel(scope="bench", wait="settled")
    rows(f"{streams:,} event streams and creates", loaded, quiet, 1.5)


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    main(*(given + [3, 5000, 500][len(given):]))
