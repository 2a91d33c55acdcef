"""What every figure uses: real clusters (the harness of tests/system), the bare helpers, medians, and the list of results."""
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.parse
import http.client

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/system"))

from harness.cluster import BIN, Cluster  # noqa: E402
from harness.processes import children_of, name_of  # noqa: E402,F401
from harness.waiting import until  # noqa: E402,F401

HELPERS = os.environ.get("QUELL_BENCH_BIN", BIN)
RESULTS = os.environ.get("QUELL_BENCH_RESULTS")
NOBODY = {"on": {"bench": "nobody-has-this"}}  # a task that waits for ever and costs no process


def helper(name):
    return os.path.join(HELPERS, "bench_" + name)


def median(values):
    return statistics.median(values)


def say(text):
    print(text, file=sys.stderr, flush=True)


def record(figure, measured, limit, ratio, goal, met):
    """One row of the table: texts, except `met`."""
    row = dict(figure=figure, measured=measured, limit=limit, ratio=ratio, goal=goal, met=bool(met))
    say(f"  {figure}: {measured}; limit {limit}; {ratio} (goal {goal}) {'met' if met else 'NOT MET'}")
    if RESULTS:
        with open(RESULTS, "a") as f:
            f.write(json.dumps(row) + "\n")


class Stepper:
    """A bare helper that does one step for each line and answers with its milliseconds."""

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
    """One keep-alive connection; times its requests on the client's side."""

    def __init__(self, cluster):
        url = urllib.parse.urlsplit(cluster.url)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
        self.connection.connect()
        self.headers = {"Authorization": "Bearer " + cluster.token, "Content-Type": "application/json"}

    def post(self, path, body):
        data = json.dumps(body)
        before = time.perf_counter()
        self.connection.request("POST", path, data, self.headers)
        response = self.connection.getresponse()
        text = response.read()
        took_ms = (time.perf_counter() - before) * 1000
        assert response.status in (200, 201, 202), text
        return json.loads(text), took_ms


def load(cluster, count, body, connections=64, until_ended_in=None):
    """`count` creates of `body` by the C++ load generator; with a scope, until nothing in it lives."""
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
