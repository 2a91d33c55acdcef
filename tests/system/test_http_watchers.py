"""Watchers of events: thousands at once, and resumed repeatedly without a loss or a repetition."""
import contextlib
import http.client
import json
import random
import resource
import select
import socket
import threading
import urllib.parse

import pytest

from harness.cluster import Cluster
from harness.waiting import TimedOut, until
from harness.watchers import Patient, Watchers

NOWHERE = {"task_on": {"bench": "nobody-has-this"}}
CREATED = "?types=operation_created,operation_cancelled"


@pytest.fixture(scope="module")
def cluster():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Cluster(workers=1) as c:
        yield c
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def kept(c, **query):
    found, after = [], "0"
    while after:
        page = c.api("GET", "/v1/events?" + urllib.parse.urlencode(dict(query, after=after, limit=1000))).json
        assert "events" in page, page
        found += [int(e["id"]) for e in page["events"]]
        after = page["next_cursor"]
    return found


def test_thousands_of_watchers_each_see_every_event_once_and_in_order(cluster):
    c = cluster
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(2000, (hard - 200) // 5)  # a stream takes two descriptors of quelld and one of ours
    assert count >= 150, f"the limit of open files is {hard}: too low to try"
    watchers = Watchers(c, count, CREATED + "&scope=crowd")
    for _ in range(10):
        c.start("true", scope="crowd", **NOWHERE)
    c.cancel(scope="crowd")
    watchers.until(lambda: min(map(len, watchers.ids)) >= 20, "all watchers to see 20 events")
    wanted = kept(c, scope="crowd", types="operation_created,operation_cancelled")
    assert len(wanted) == 20 and all(ids == wanted for ids in watchers.ids)
    assert not watchers.closed
    # Requests are answered meanwhile, including cancels.
    assert c.cancel(scope="crowd/idle", wait="fenced")["status"] == "settled"
    watchers.close()
    until(lambda: b"quell_http_event_streams 0\n" in c.api("GET", "/metrics").body, "quelld to notice that they are gone")


def test_a_watcher_that_is_cut_again_and_again_misses_nothing_and_sees_nothing_twice(cluster):
    """As a page that is reloaded, or a phone in a tunnel: it reconnects with the last id that it saw."""
    c = cluster
    url = urllib.parse.urlsplit(c.url)
    chance = random.Random(11)
    start = c.api("GET", "/v1/events?limit=1000&after=0").json
    first = kept(c)[-1]
    over = threading.Event()

    def work():
        for _ in range(60):
            c.start("true", scope="cut", **NOWHERE)
            if chance.random() < 0.3:
                c.cancel(scope="cut", wait="fenced")
        c.cancel(scope="cut")
        over.set()

    worker = threading.Thread(target=work)
    worker.start()
    seen, last, cuts = [], first, 0
    wanted = None
    patient = Patient()
    while wanted is None or len(seen) < len(wanted):
        watcher = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        watcher.request("GET", "/v1/events?scope=cut", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream", "Last-Event-ID": str(last)})
        answer = watcher.getresponse()
        assert answer.status == 200
        budget = chance.randrange(0, 12)
        while budget > 0 and (wanted is None or len(seen) < len(wanted)):
            line = patient.line(answer)
            if not line:
                break
            if line.startswith("data: "):
                last = int(json.loads(line[6:])["id"])
                seen.append(last)
                budget -= 1
            if over.is_set() and wanted is None:
                wanted = [i for i in kept(c, scope="cut") if i > first]
        watcher.close()
        cuts += 1
        if over.is_set() and wanted is None:
            wanted = [i for i in kept(c, scope="cut") if i > first]
    worker.join()
    assert seen == wanted and cuts > 5, (cuts, start["next_cursor"])


def test_watchers_that_all_come_back_at_once_while_operations_are_created_miss_nothing_and_see_nothing_twice(cluster):
    """As after a gateway that was cut off: each resumes behind its last event, while the next ones happen."""
    c = cluster
    watchers = Watchers(c, 150, "?types=operation_created&scope=flood")
    for _ in range(3):
        c.start("true", scope="flood", **NOWHERE)
    watchers.until(lambda: min(map(len, watchers.ids)) >= 3, "all watchers to have an id")
    over = threading.Event()

    def flood():
        with contextlib.closing(http.client.HTTPConnection(*watchers.address, timeout=60)) as kept_open:
            body = json.dumps({"kind": "task", "scope": "flood", "task": {"command": ["true"], "on": {"bench": "nobody-has-this"}}})
            for _ in range(2000):
                kept_open.request("POST", "/v1/operations", body, {"Authorization": "Bearer " + c.token, "Content-Type": "application/json"})
                answer = kept_open.getresponse()
                answer.read()
                assert answer.status == 201, answer.status
        over.set()

    worker = threading.Thread(target=flood)
    worker.start()
    rounds = 0
    while not over.is_set() or rounds < 3:
        for i in range(len(watchers.sockets)):
            watchers.reconnect(i)
        for _ in range(5):
            watchers.read()
        rounds += 1
    worker.join()
    wanted = kept(c, scope="flood", types="operation_created")
    assert len(wanted) == 2003
    watchers.until(lambda: min(map(len, watchers.ids)) >= len(wanted), "all watchers to see everything")
    assert all(ids == wanted for ids in watchers.ids), rounds
    assert not watchers.closed
    watchers.close()
    c.cancel(scope="flood", wait="fenced")


def test_a_stream_that_lacks_an_event_fails_a_test_and_does_not_hang_it():
    """Plays a quelld that lost an event on resume: the stream never ends, and contains only comments."""
    listener = socket.create_server(("127.0.0.1", 0))

    def lose():
        connection, _ = listener.accept()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with contextlib.suppress(OSError):
            while not select.select([connection], [], [], 0.01)[0] or connection.recv(4096):
                connection.sendall(b": still here\n\n")

    threading.Thread(target=lose, daemon=True).start()
    watcher = http.client.HTTPConnection(*listener.getsockname(), timeout=30)
    watcher.request("GET", "/v1/events")
    patient, answer = Patient(seconds=0.2), watcher.getresponse()
    with pytest.raises(TimedOut):
        while patient.line(answer):
            pass
    watcher.close()
    listener.close()


def test_a_restart_of_quelld_is_but_another_cut(cluster):
    with Cluster(workers=0) as c:
        for _ in range(5):
            c.start("true", scope="r", **NOWHERE)
        before = kept(c, scope="r")
        c.kill_controller()
        c.start_controller()
        c.start("true", scope="r", **NOWHERE)
        watchers = Watchers(c, 1, "?scope=r", after=before[2])
        watchers.until(lambda: len(watchers.ids[0]) >= 3, "what it missed")
        assert watchers.ids[0] == [i for i in kept(c, scope="r") if i > before[2]][:len(watchers.ids[0])]
        assert watchers.ids[0][:2] == before[3:5]
        watchers.close()


def test_a_watcher_that_does_not_read_holds_up_nobody(cluster):
    c = cluster
    stuck = Watchers(c, 1, "?after=0")
    stuck.selector.close()
    others = Watchers(c, 3, CREATED + "&scope=flow")
    for _ in range(50):
        c.start("true", scope="flow", title="x" * 200, **NOWHERE)
    c.cancel(scope="flow")
    others.until(lambda: min(map(len, others.ids)) >= 100, "the others to see all")
    assert c.cancel(scope="flow/idle", wait="fenced")["status"] == "settled"
    others.close()
    for s in stuck.sockets:
        s.close()


def output_events(c, operation):
    """All events of the operation's output, and the trailers behind them."""
    connection = c.connection(60)
    with contextlib.closing(connection):
        connection.request("GET", f"/v1/operations/{operation}/output", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream"})
        whole = b""
        while piece := connection.sock.recv(1 << 16):
            whole += piece
            if whole.endswith(b"\r\n\r\n") and b"\r\n0\r\n" in whole[-64:]:
                break
    data = [json.loads(line[6:])["data"] for line in whole.split(b"\n") if line.startswith(b"data: ")]
    return data, whole.rpartition(b"\r\n0\r\n")[2]


def test_a_watcher_of_output_has_all_of_it_when_its_task_ends_meanwhile(cluster):
    lines = [f"line {n}\n" for n in range(1, 51)]
    print_both = "for n in $(seq 1 50); do echo line $n; echo line $n >&2; done"
    for _ in range(12):
        data, trailers = output_events(cluster, cluster.start("bash", "-c", print_both, scope="printing")["id"])
        for name in ("stdout", "stderr"):
            mine = [d for d in data if d["stream"] == name]
            assert "".join(d["text"] for d in mine) == "".join(lines), mine[-2:]
        assert b"Quell-End: true" in trailers
