"""A cancel that comes alone: from the request to the SIGTERM handler of the task, and to the event at the owner of external work, beside the sum of what
must happen on the way, each alone, too."""
import os
import select
import sys
import time

from support import BareHttp, Client, Cluster, Stepper, compare, helper, median, p99, pause, say
from watchers import Watchers, host_and_port


class Limits:
    """One sample of each step: a round trip to a bare server with the bytes of quell's answer, a commit, one way over ZeroMQ, a signal to its
    handler; and what the disk itself takes for the commit."""

    def __init__(self, cluster, answer):
        self.parts = {"HTTP": BareHttp(answer), "commit": Stepper("commit", cluster.state), "ZeroMQ": Stepper("zmq_round_trip"), "signal": Stepper("signal"),
                      "4 KiB to the disk": Stepper("commit", cluster.state, "write")}
        self.samples = {name: [] for name in self.parts}

    def sample(self):
        for name, part in self.parts.items():
            self.samples[name].append(part.lone() / (2 if name == "ZeroMQ" else 1))

    def sums(self, *names):
        """The sums of each round. Their spread is that of the steps together."""
        return [sum(values) for values in zip(*(self.samples[name] for name in names))]

    def close(self):
        say("    limit: " + ", ".join(f"{name} {median(values):.3f}" for name, values in self.samples.items()) + " ms")
        for part in self.parts.values():
            part.close()


class Reports:
    """A FIFO into which tasks write lines."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "reports")
        os.mkfifo(self.path)
        self.fd, self.rest = os.open(self.path, os.O_RDWR | os.O_NONBLOCK), b""

    def line(self):
        while b"\n" not in self.rest:
            assert select.select([self.fd], [], [], 60)[0], "no task wrote a line within a minute"
            self.rest += os.read(self.fd, 4096)
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def close(self):
        os.close(self.fd)


def cancel_alone(client, scope):
    """Cancels after a pause; the CLOCK_MONOTONIC seconds of the request."""
    pause()
    before = time.monotonic()
    answer, _ = client.post("/v1/cancels", {"scope": scope, "wait": "fenced"})
    assert answer["report"]["operations"] == 1, answer
    return before


def task_round(c, client, reports, scope):
    task = client.post("/v1/operations", {"kind": "task", "scope": scope, "task": {"command": [helper("signal"), "task", reports.path]}})[0]
    assert reports.line() == "ready"
    c.wait_status(task["id"], "running")
    before = cancel_alone(client, scope)
    took_ms = (float(reports.line()) - before) * 1000
    c.wait_status(task["id"], "cancelled")
    return took_ms


def owner_round(client, owner, scope):
    work = client.post("/v1/operations", {"kind": "external", "scope": scope, "name": "call", "external": {"session": "bench", "lease_ms": 0}})[0]
    owner.ask(1)
    before = cancel_alone(client, scope)
    took_ms = (owner.answer()["first_s"][0] - before) * 1000
    client.post(f"/v1/operations/{work['id']}/stopped", {})
    return took_ms


def main(rounds):
    with Cluster(workers=1, slots=8) as c:
        client, reports = Client(c), Reports(c.directory)
        owner = Watchers(*host_and_port(c), 1, "/v1/signals?session=bench", token=c.token)
        client.post("/v1/operations", {"kind": "task", "scope": "bench/first", "task": {"command": ["true"]}})
        limits = Limits(c, client.raw("/v1/cancels/" + c.cancel(scope="bench/first")["id"]))
        handler, event = [], []
        for i in range(rounds + 3):
            took = task_round(c, client, reports, f"bench/t{i}"), owner_round(client, owner, f"bench/o{i}")
            if i >= 3:
                handler.append(took[0]), event.append(took[1])
                limits.sample()
        owner.close(), limits.close(), reports.close()
    compare("a lone commit of SQLite", limits.samples["commit"], limits.samples["4 KiB to the disk"], "a lone durable write of 4 KiB")
    parts = {"a lone cancel, request to the task's SIGTERM handler": (handler, ("HTTP", "commit", "ZeroMQ", "signal")),
             "a lone cancel, request to the event at an external owner": (event, ("HTTP", "commit"))}
    for name, (values, steps) in parts.items():
        compare(name, values, limits.sums(*steps), " + ".join(steps), 1.3)
        compare(f"{name}, p99", values, limits.sums(*steps), "median of " + " + ".join(steps), 3, of=p99)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
