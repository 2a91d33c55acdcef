"""Code that all benchmarks share: real clusters (the harness of tests/system), the bare helpers, medians, and the list of results."""
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/system"))

from harness.cluster import BIN, Cluster  # noqa: E402
from harness.processes import children_of, marked, name_of  # noqa: E402,F401
from harness.waiting import until  # noqa: E402,F401

HELPERS = os.environ.get("QUELL_BENCH_BIN", BIN)
RESULTS = os.environ.get("QUELL_BENCH_RESULTS")
MILLIONS = ["limits.operations=3000000", "limits.operations_per_author=0", "limits.operations_per_scope=0"]  # settings for more than a million live operations
NOBODY = {"on": {"bench": "nobody-has-this"}}  # a task that waits forever and costs no process


def helper(name):
    return os.path.join(HELPERS, "bench_" + name)


def median(values):
    return statistics.median(values)


def p99(values):
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def say(text):
    print(text, file=sys.stderr, flush=True)


def spread(values):
    """How many samples stand behind a median, and how far apart they lie."""
    return f"n={len(values)}, {min(values):.3g} to {max(values):.3g}"


def record(figure, measured, limit="", ratio="", goal="", met=None, samples=(), limits=()):
    """One row of the table: every field is text, except `met` (None: the row has no goal), `samples`, the values of which `measured` is the median,
    and `limits`, those of the limit."""
    row = dict(figure=figure, measured=measured, limit=limit, ratio=ratio, goal=goal, met=None if met is None else bool(met),
               samples=spread(samples) if samples else "", limit_samples=spread(limits) if limits else "", machine=os.environ.get("QUELL_BENCH_MACHINE", ""))
    verdict = {None: "", True: "met", False: "MISSED"}[row["met"]]
    show = lambda text, values: f"{text} ({values})" if values else text or "none"
    say(f"  {figure}: {show(measured, row['samples'])}; limit {show(limit, row['limit_samples'])}; {ratio} (goal {goal or 'none'}) {verdict}")
    if RESULTS:
        with open(RESULTS, "a") as f:
            f.write(json.dumps(row) + "\n")


def compare(figure, values, limits, name, goal=None, unit="ms", of=median, limit_of=median):
    """A row: `of` the values beside `limit_of` the limit's. `goal` is how many times the limit they may be; None: no goal."""
    value, limit = of(values), limit_of(limits)
    number = (lambda v: f"{v:,.0f}") if unit != "ms" else (lambda v: f"{v:.3f}" if v < 10 else f"{v:.1f}")
    ratio = value / limit
    record(figure, f"{number(value)} {unit}", f"{name} {number(limit)} {unit}", f"{ratio:.2f} x", f"<= {goal} x" if goal else "", ratio <= goal if goal else None,
           values, limits)


def compare_rates(figure, values, limits, name, goal=None, at_least=None, unit="/s"):
    """A row of rates: `goal` is the least share of the limit, `at_least` the least rate; both must hold."""
    value, limit = median(values), median(limits)
    share = value / limit
    goals = ([f">= {goal:.2f} x"] if goal else []) + ([f">= {at_least:,}{unit}"] if at_least else [])
    met = (not goal or share >= goal) and (not at_least or value >= at_least) if goals else None
    record(figure, f"{value:,.0f}{unit}", f"{name} {limit:,.0f}{unit}", f"{share:.2f} x", ", ".join(goals), met, values, limits)


def pause(seconds=0.05):
    """What comes after it comes alone: every thread on its way sleeps."""
    select.select([], [], [], seconds)


class Stepper:
    """A bare helper that does one step for each line and answers with the step's milliseconds."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([helper(name), *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def steps(self, count=1):
        self.process.stdin.write("\n" * count)
        self.process.stdin.flush()
        return [float(self.process.stdout.readline()) for _ in range(count)]

    def lone(self):
        """One step that comes alone."""
        pause()
        return self.steps(1)[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class BareHttp(Stepper):
    """A bare Beast server that answers with the bytes `answer`, and a round trip to it as step."""

    def __init__(self, answer):
        with tempfile.NamedTemporaryFile() as file:
            file.write(answer)
            file.flush()
            super().__init__("bare_http", file.name)
            self.port = int(self.process.stdout.readline())


def bare_kill(groups, each, program=None, *contained):
    """Milliseconds to kill as many processes, by each way: one write for each group and all reaped, or one write for all and none left to reap.
    With "contained": in the PID and mount namespaces, and with the proof, that tasks have."""
    times = []
    for way in ("each", "whole"):
        done = subprocess.run([helper("bare_kill"), str(groups), str(each), program or helper("crowd"), way, *contained], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    return times


def fastest(ways):
    """Of the samples of several ways, those of the way whose median is the least."""
    return min(ways, key=median)


def content_length(head):
    return next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))


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

    def raw(self, path):
        """The bytes of the answer to a GET, its head included."""
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{self.head}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1 << 20)
        end = answer.index(b"\r\n\r\n") + 4 + content_length(answer)
        while len(answer) < end:
            answer += self.socket.recv(1 << 20)
        return answer

    def ask(self, method, path, data):
        request = f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(data)}\r\n\r\n{data}".encode()
        before = time.perf_counter()
        self.socket.sendall(request)
        answer = self.socket.recv(1 << 20)
        took_ms = (time.perf_counter() - before) * 1000  # the first bytes of the answer have arrived
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1 << 20)
        head, _, text = answer.partition(b"\r\n\r\n")
        size = content_length(head)
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


def requests(url, token, lines, connections, times=1):
    """Seconds in which the C++ load generator had all answers to the requests, each a line `METHOD PATH [BODY]`; each is sent `times` times."""
    url = urllib.parse.urlsplit(url)
    done = subprocess.run([helper("requests"), url.hostname, str(url.port), str(connections), str(times)], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, env=dict(os.environ, QUELL_TOKEN=token))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == 0, found
    return found["took_s"]


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
