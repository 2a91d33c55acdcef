"""Events to 1,000 watchers beside the same bytes written to as many bare sockets: events per second, and the delay of a lone event to the last watcher."""
import json
import os
import subprocess
import sys
import time
import urllib.parse

from support import Client, Cluster, compare, compare_rates, helper, idle_task, load, median, record, say


class Watchers:
    def __init__(self, *arguments, token="", **popen):
        self.process = subprocess.Popen([helper("watchers"), *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, QUELL_TOKEN=token), **popen)
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, events):
        self.process.stdin.write(f"{events}\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def host_and_port(cluster):
    url = urllib.parse.urlsplit(cluster.url)
    return url.hostname, url.port


def of_quell(cluster, count):
    return Watchers(*host_and_port(cluster), count, "/v1/events?types=operation_created", token=cluster.token)


def frame_bytes(cluster):
    event = cluster.api("GET", "/v1/events?types=operation_created&after=0&limit=1").json["events"][0]
    return len(json.dumps(event, separators=(",", ":"))) + 60  # the id and event lines, and the chunk header


def alone(watchers, event):
    """Milliseconds from the request until the first and until the last watcher has its event."""
    watchers.ask(1)
    before = time.monotonic()
    event()
    got = watchers.answer()
    return (got["first_s"][0] - before) * 1000, (got["last_s"][0] - before) * 1000


def main(rounds, count, events):
    with Cluster(workers=0) as c:
        client = Client(c)
        create = lambda: client.post("/v1/operations", idle_task("bench/w"))  # noqa: E731
        create()
        watchers, bare = of_quell(c, count), Watchers("bare", count, frame_bytes(c))
        first, last, bare_last = [], [], []
        for i in range(rounds + 5):
            lag = alone(watchers, create)
            bare.ask(1)
            got = bare.answer()
            if i >= 5:
                first.append(lag[0]), last.append(lag[1]), bare_last.append((got["last_s"][0] - got["from_s"]) * 1000)
        record(f"a lone event, request to the first of {count:,} watchers", f"{median(first):.2f} ms", samples=first)
        compare(f"a lone event, first to last of {count:,} watchers", [b - a for a, b in zip(first, last)], bare_last, "bare", 5)
        rates, bare_rates, lags = [], [], []
        for _ in range(3):
            watchers.ask(events)
            load(c, events, idle_task("bench/w"), 16)
            got = watchers.answer()
            rates.append(events * count / (got["last_s"][-1] - got["first_s"][0]))
            lags.append(median(b - a for a, b in zip(got["first_s"], got["last_s"])) * 1000)
            bare.ask(events)
            got = bare.answer()
            bare_rates.append(events * count / (got["done_s"] - got["from_s"]))
            say(f"    {rates[-1]:,.0f} of {bare_rates[-1]:,.0f} events/s, first to last watcher {lags[-1]:.1f} ms")
        compare_rates(f"events to {count:,} watchers while {events:,} operations are created", rates, bare_rates, "bare", 0.25)
        record("the same, first to last watcher of an event (median)", f"{median(lags):.1f} ms", samples=lags)
        watchers.close(), bare.close()
        c.cancel(scope="bench/w", wait="fenced")


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    main(*(given + [100, 1000, 500][len(given):]))
