"""The effect of an attack on others: p99 of a neighbour's requests (a row by id, a short list, a cancel by id) while one token floods quelld, and without the flood."""
import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

from support import Client, Cluster, cpu_seconds, idle_task, median, p99, record, say, until

ROWS = 300_000
KINDS = ("lists", "bodies", "streams", "deaf", "silent")
SCAN = "/v1/operations?limit=1000&" + "&".join(f"label=k{i}%3Dv" for i in range(40))


# ---- the attacker, a separate process: one token, as fast as one thread can send ---------------------------------------
def request(host, token, method, path, body=b"", extra=""):
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def ready_of(sockets):
    """Those that can be read, after at most 50 ms."""
    by_fd = {s.fileno(): s for s in sockets}
    poll = select.poll()
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll(50)]


def attack(kind, host, token):
    name, port = host.split(":")
    connect = lambda: socket.create_connection((name, int(port)), timeout=30)
    item = json.dumps({"kind": "external", "scope": "flood", "name": "x", "title": "t" * 200, "unknown": 1})
    batch = ('{"operations":[' + ",".join([item] * 1000) + "]}").encode()
    sends = {"lists": request(host, token, "GET", SCAN), "bodies": request(host, token, "POST", "/v1/operations/batch", batch),
             "streams": request(host, token, "GET", "/v1/events?after=0", extra="Accept: text/event-stream\r\n"),
             "deaf": request(host, token, "GET", "/v1/openapi.json") * 50, "silent": b""}
    limit = {"lists": 60, "bodies": 16, "streams": 900, "deaf": 200, "silent": 5000}[kind]
    held = []
    print("ready", flush=True)
    while True:
        while len(held) < limit:
            try:
                s = connect()
                s.setblocking(False)
                s.send(sends[kind])
                held.append(s)
                os.sched_yield()
            except OSError:
                break
        for s in ready_of([] if kind == "deaf" else held):  # a closed connection is opened again
            try:
                gone = not s.recv(1 << 20) or kind in ("lists", "bodies")
            except OSError:
                gone = True
            if gone:
                s.close()
                held.remove(s)


# ---- the neighbour -----------------------------------------------------------------------------------------------------
class Neighbour(Client):
    def get(self, path):
        before = time.perf_counter()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{self.head}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1 << 20)
        took_ms = (time.perf_counter() - before) * 1000
        head, _, text = answer.partition(b"\r\n\r\n")
        size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(text) < size:
            text += self.socket.recv(1 << 20)
        assert head.split()[1] == b"200", text
        return took_ms


def ask_all(n, c, round):
    made, _ = n.post("/v1/operations", idle_task("neighbour"))
    _, cancel = n.post(f"/v1/operations/{made['id']}/cancel", {})
    return {"row by id": n.get(f"/v1/operations/{made['id']}"), "short list": n.get("/v1/operations?scope=neighbour&limit=5"), "cancel by id": cancel}


def stand_back():
    """In the attacker, before it starts: it gets only the time that quelld and the neighbour leave."""
    os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    if os.path.exists("/proc/self/autogroup"):  # where sessions share the processor, nice counts only within one
        with open("/proc/self/autogroup", "w") as group:
            group.write("19")
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def measure_at_once():
    """The neighbour stands for another machine, too: what is measured is quelld, not when this program gets a core."""
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def fill(c):
    """Fills a store as months of work do: copies of one ended operation, written while quelld is down."""
    n = Client(c)
    n.post("/v1/operations", idle_task("old"))
    c.cancel(scope="old")
    c.kill_controller()
    store = sqlite3.connect(os.path.join(c.state, "quell.db"))
    columns = [r[1] for r in store.execute("PRAGMA table_info(operation)")]
    copied = ", ".join({"seq": "1000000 + n", "id": "randomblob(16)"}.get(x, x) for x in columns)
    store.execute(f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {ROWS}) "
                  f"INSERT INTO operation ({', '.join(columns)}) SELECT {copied} FROM n, (SELECT * FROM operation LIMIT 1)")
    store.commit()
    store.close()
    c.start_controller()


def wait_for_quiet(c, connections):
    """Until quelld has finished with a flood: its connections and streams are gone, and it uses next to no processor."""
    def is_quiet():
        text = c.api("GET", "/metrics").body.decode()
        number = lambda name: float(re.search(rf"^{name} (\S+)$", text, re.M)[1])
        before = cpu_seconds(c.controller.pid)
        time.sleep(0.2)
        used = cpu_seconds(c.controller.pid) - before
        return number("quell_http_connections") <= connections and number("quell_http_event_streams") == 0 and used < 0.01
    until(is_quiet, "quelld to have finished with the flood", 60)


def main(rounds, each):
    with Cluster(workers=1) as c:
        fill(c)
        host = urllib.parse.urlsplit(c.url).netloc
        token = c.api("POST", "/v1/tokens", {"name": "flood", "role": "operator", "scope": None}).json["token"]
        measure_at_once()
        for kind in KINDS:
            quiet, attacked = {}, {}
            for round in range(rounds):
                for into, under in ((quiet, False), (attacked, True)):
                    flood = None
                    if under:
                        # The attacker sits on another machine.
                        command = [sys.executable, os.path.abspath(__file__), "--attack", kind, host, token]
                        flood = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=stand_back)
                        flood.stdout.readline()
                    else:
                        wait_for_quiet(c, 3)
                    n = Neighbour(c)
                    for _ in range(each):
                        for what, took in ask_all(n, c, round).items():
                            into.setdefault(what, []).append(took)
                    n.socket.close()
                    if flood:
                        flood.kill()
                        flood.wait()
                        flood.stdout.close()
                say(f"    {kind}, round {round + 1} of {rounds}: " + ", ".join(f"{w} {p99(quiet[w]):.2f} -> {p99(attacked[w]):.2f} ms" for w in quiet))
            for what in quiet:
                ratio = p99(attacked[what]) / p99(quiet[what])
                show = lambda values: f"{p99(values):.2f} ms (median {median(values):.2f})"
                record(f"p99 of a neighbour's {what} beside a flood of {kind}", show(attacked[what]), f"in quiet {show(quiet[what])}", f"{ratio:.2f} x", "<= 3 x",
                       ratio <= 3, attacked[what], quiet[what])
        c.cancel(scope="flood", wait="fenced")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        attack(*sys.argv[2:5])
    else:
        KINDS = sys.argv[3:] or KINDS
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
