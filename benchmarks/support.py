"""Code that all benchmarks share: real clusters (the harness of tests/system), the bare helpers, medians, and the list of results."""
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/system"))

from harness.cluster import BIN, Cluster  # noqa: E402
from harness.processes import children_of, name_of  # noqa: E402,F401
from harness.waiting import until  # noqa: E402,F401

HELPERS = os.environ.get("QUELL_BENCH_BIN", BIN)
RESULTS = os.environ.get("QUELL_BENCH_RESULTS")
NOBODY = {"on": {"bench": "nobody-has-this"}}  # a task that waits forever and costs no process


def helper(name):
    return os.path.join(HELPERS, "bench_" + name)


def median(values):
    return statistics.median(values)


def say(text):
    print(text, file=sys.stderr, flush=True)


def spread(values):
    """How many samples stand behind a median, and how far apart they lie."""
    return f"n={len(values)}, {min(values):.3g} to {max(values):.3g}"


def record(figure, measured, limit, ratio, goal, met, samples=()):
    """One row of the table: every field is text, except `met` and `samples`, the values of which `measured` is the median."""
    row = dict(figure=figure, measured=measured, limit=limit, ratio=ratio, goal=goal, met=bool(met),
               samples=spread(samples) if samples else "", machine=os.environ.get("QUELL_BENCH_MACHINE", ""))
    say(f"  {figure}: {measured}; limit {limit}; {ratio} (goal {goal}) {'met' if met else 'missed'}")
    if RESULTS:
        with open(RESULTS, "a") as f:
            f.write(json.dumps(row) + "\n")


class Stepper:
    """A bare helper that does one step for each line and answers with the step's milliseconds."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([helper(name), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def steps(self, count=1):
        self.process.stdin.write("\n" * count)
        self.process.stdin.flush()
        return [float(self.process.stdout.readline()) for _ in range(count)]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class Client:
    """One keep-alive connection on a plain socket, so that the time measured is the request's and little of this program's."""

    def __init__(self, cluster):
        url = urllib.parse.urlsplit(cluster.url)
        self.socket = socket.create_connection((url.hostname, url.port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = f"Host: {url.netloc}\r\nAuthorization: Bearer {cluster.token}\r\nContent-Type: application/json\r\n"

    def post(self, path, body):
        return self.ask("POST", path, json.dumps(body))

    def get(self, path):
        return self.ask("GET", path, "")

    def ask(self, method, path, data):
        request = f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(data)}\r\n\r\n{data}".encode()
        before = time.perf_counter()
        self.socket.sendall(request)
        answer = self.socket.recv(1 << 20)
        took_ms = (time.perf_counter() - before) * 1000  # the first bytes of the answer have arrived
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1 << 20)
        head, _, text = answer.partition(b"\r\n\r\n")
        size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(text) < size:
            text += self.socket.recv(1 << 20)
        assert head.split()[1] in (b"200", b"201", b"202"), text
        return json.loads(text), took_ms


def load(cluster, count, body, connections=64, until_ended_in=None):
    """`count` creates of `body` by the C++ load generator; with a scope, waits until no operation in it is live."""
    url = urllib.parse.urlsplit(cluster.url)
    command = [helper("http_load"), url.hostname, str(url.port), str(count), str(connections)]
    if until_ended_in:
        command.append(until_ended_in)
    done = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True, env=dict(os.environ, QUELL_TOKEN=cluster.token))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == 0, found
    return found


def idle_task(scope, **more):
    return {"kind": "task", "scope": scope, "task": {"command": ["true"], **NOBODY, **more}}


def rss_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid):
    """CPU time of all threads of a process, in nanosecond steps (/proc/PID/stat counts in hundredths only)."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e9
