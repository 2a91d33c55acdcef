"""Peers that send garbage, too much, too slowly, or for another worker's tasks harm only themselves."""
import contextlib
import json
import multiprocessing
import os
import re
import select
import socket
import time

import msgpack
import pytest
import zmq

from harness import peer, processes, trees
from harness.cluster import Cluster, marker
from harness.peer import Peer
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1, settings=["limits.connections=200"]) as c:
        yield c


@pytest.fixture
def evil(cluster):
    """The keys of an enrolled worker that the test plays."""
    keys = zmq.curve_keypair()
    name = f"evil-{os.urandom(4).hex()}"
    assert cluster.api("POST", "/v1/workers", {"name": name, "key": keys[0].decode(), "labels": {}}).status == 201
    yield keys
    cluster.api("DELETE", f"/v1/workers/{name}?cancel=true")


def connected(cluster):
    s = socket.create_connection(("127.0.0.1", cluster.ports[0]), timeout=60)
    return s


def is_closed(s):
    """Waits until the other side has closed the connection (bytes before that are dropped)."""
    try:
        while select.select([s], [], [], 0)[0]:
            if not s.recv(65536):
                return True
    except OSError:
        return True
    return False


def rest_of(s):
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def works(cluster):
    op = cluster.start("true")
    cluster.wait_status(op["id"], "completed")


def stops_at_once(cluster, scope):
    """Starts and cancels a task of the honest worker; returns the seconds that the cancel took."""
    m = marker()
    cluster.start(*trees.sleeper(m), scope=scope)
    until(lambda: processes.marked(m), "the victim to run")
    before = time.monotonic()
    assert cluster.cancel(scope=scope, grace_ms=0)["status"] == "settled"
    assert processes.marked(m) == []
    return time.monotonic() - before


# ---- HTTP -----------------------------------------------------------------------------------------------------------

def test_a_header_that_drips_is_ended_by_its_own_time(cluster):
    with connected(cluster) as s:
        s.sendall(b"GET /v1/operations HTTP/1.1\r\nHost: q\r\nX-Drip: ")
        begun = time.monotonic()

        def drips():
            try:
                s.send(b"x")
            except OSError:
                return True
            return is_closed(s)
        until(drips, "the dripping connection to be closed")
        assert time.monotonic() - begun < 40, "the clock was wound up by the drips"
    works(cluster)


def test_idle_connections_without_number_keep_nobody_out(cluster):
    crowd = [connected(cluster) for _ in range(600)]
    try:
        half = [connected(cluster) for _ in range(100)]
        crowd += half
        for s in half:
            s.sendall(b"POST /v1/cancels HTTP/1.1\r\nHost: q\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{")
        assert stops_at_once(cluster, "hostile/idle") < 20
        until(lambda: sum(map(is_closed, crowd)) >= 400, "those who waited longest to be closed")
    finally:
        for s in crowd:
            s.close()
    works(cluster)


def test_streams_beyond_the_limit_make_room_for_each_other_and_for_everybody(cluster):
    request = f"GET /v1/events HTTP/1.1\r\nHost: q\r\nAuthorization: Bearer {cluster.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
    streams = []
    try:
        for _ in range(260):
            s = connected(cluster)
            streams.append(s)
            s.sendall(request)
            head = s.recv(4096)
            assert b" 200 " in head.split(b"\r\n")[0], head
        open_ones = list(streams)

        def within_the_limit():
            open_ones[:] = [s for s in open_ones if not is_closed(s)]
            return len(open_ones) <= 200
        until(within_the_limit, "the streams that were open longest were closed")
        assert streams[-1] in open_ones and len(open_ones) > 100
        works(cluster)
    finally:
        for s in streams:
            s.close()
    until(lambda: cluster.healthy(), "room again")
    works(cluster)


@pytest.mark.parametrize("bomb", [
    b"X-Bomb: " + b"x" * (1 << 20) + b"\r\n",
    b"".join(b"X-%d: y\r\n" % i for i in range(20_000)),
    b"Cookie" * 100_000,
], ids=["long", "many", "no-colon"])
def test_header_bombs_are_refused(cluster, bomb):
    with connected(cluster) as s:
        try:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: q\r\n" + bomb + b"\r\n")
        except OSError:
            pass
        status = rest_of(s).split(b"\r\n")[0]
        assert status == b"" or b" 413 " in status or b" 400 " in status, status
    works(cluster)


@pytest.mark.parametrize("body", [b"[" * 500_000, b'{"a":' * 100_000, b'{"kind":"task","task":' + b"[" * 1000 + b"]" * 1000 + b"}"],
                         ids=["arrays", "objects", "closed"])
def test_deep_json_costs_no_stack(cluster, body):
    answer = cluster.api("POST", "/v1/operations", raw=body, headers={"Content-Type": "application/json"})
    assert answer.status == 400 and answer.json["code"] == "bad_json", answer.body[:200]


def test_a_long_pipeline_is_answered_in_order_and_holds_up_nobody(cluster):
    count = 400
    with connected(cluster) as s:
        paths = ["/healthz" if i % 2 else f"/nothing-{i}" for i in range(count)]
        s.sendall(b"".join(f"GET {p} HTTP/1.1\r\nHost: q\r\n\r\n".encode() for p in paths[:-1])
                  + f"GET {paths[-1]} HTTP/1.1\r\nHost: q\r\nConnection: close\r\n\r\n".encode())
        assert stops_at_once(cluster, "hostile/pipeline") < 20
        statuses = re.findall(rb"HTTP/1\.1 (\d{3}) ", rest_of(s))
        assert statuses == [b"404", b"200"] * (count // 2)
    works(cluster)


@pytest.mark.parametrize("head", [
    b"POST /v1/cancels HTTP/1.1\r\nHost: q\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\nhello",
    b"POST /v1/cancels HTTP/1.1\r\nHost: q\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/cancels HTTP/1.1\r\nHost: q\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/cancels HTTP/1.1\r\nHost: q\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"GET /\x00 HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000,
], ids=["two-lengths", "negative", "huge", "huge-chunk", "nul", "tls", "version", "blank"])
def test_requests_that_are_none(cluster, head):
    with connected(cluster) as s:
        s.sendall(head)
        with contextlib.suppress(OSError):  # quelld can have closed it already
            s.shutdown(socket.SHUT_WR)
        status = rest_of(s).split(b"\r\n")[0]
        assert status == b"" or b" 4" in status, status
    assert cluster.healthy()


# ---- workers' sockets ------------------------------------------------------------------------------------------------

def flood(cluster_state, ports, keys, kind, ready, over):
    """Runs in its own process: sends as fast as the socket accepts."""
    class Place:
        state = cluster_state
    place = Place()
    place.ports = ports
    with Peer(place, keys, bulk=kind.startswith("bulk")) as p:
        p.events(zmq.Event.HANDSHAKE_SUCCEEDED)
        session = p.joins() if kind == "reports" else peer.fresh_id()
        number, sent = 1, 0
        big = msgpack.packb([session, 0, 0, peer.HELLO, [1, "x" * (3 << 20)]])
        while not over.is_set():
            number += 1
            if kind == "hellos":
                session = peer.fresh_id()
                frame = msgpack.packb([session, 0, 0, peer.HELLO, p.hello(session)])
            elif kind == "heartbeats":
                frame = msgpack.packb([session, 0, 0, peer.HEARTBEAT, [number, 0]])
            elif kind == "reports":
                frame = msgpack.packb([session, number, 1, peer.TASK_STARTED, [peer.fresh_id(), 1, 1, 0]])
            elif kind == "garbage":
                frame = b"\xc1" * 100
            elif kind == "giants":
                frame = big
            elif kind == "bulk hellos":
                frame = msgpack.packb([peer.BULK_HELLO, [session]])
            else:
                frame = msgpack.packb([peer.RELAY_OPEN, [number]])
            if p.socket.poll(100, zmq.POLLOUT):
                p.socket.send(frame)
                sent += 1
            if sent == 2000 or (kind == "giants" and sent == 5):
                ready.set()


@pytest.mark.parametrize("kind", ["hellos", "heartbeats", "reports", "garbage", "giants", "bulk hellos", "bulk relays"])
def test_a_flood_of_an_enrolled_key_delays_nobody_elses_cancel(cluster, evil, kind):
    context = multiprocessing.get_context("fork")
    ready, over = context.Event(), context.Event()
    flooder = context.Process(target=flood, args=(cluster.state, cluster.ports, evil, kind, ready, over), daemon=True)
    log = os.path.join(cluster.directory, "quelld.log")
    written = os.path.getsize(log)
    session = cluster.worker("w1")["incarnation"]
    flooder.start()
    try:
        assert ready.wait(60), "the flood never began"
        assert stops_at_once(cluster, "hostile/flood") < 20
        works(cluster)
        until(lambda: cluster.worker("w1")["status"] == "ready", "the honest worker to be heard")
        assert cluster.worker("w1")["incarnation"] == session
        with open(f"/proc/{cluster.controller.pid}/statm") as f:
            resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        assert resident < 3 << 30, f"{resident >> 20} MiB"
    finally:
        over.set()
        flooder.join(30)
        if flooder.is_alive():
            flooder.kill()
    assert os.path.getsize(log) - written < 1 << 20, "the flood fills the log"


def test_frames_above_the_limit_end_their_connection_only(cluster, evil):
    with Peer(cluster, evil) as p:
        p.events(zmq.Event.HANDSHAKE_SUCCEEDED)
        p.socket.send(b"x" * (5 << 20))
        p.events(zmq.Event.DISCONNECTED)
    with Peer(cluster, evil, bulk=True) as p:
        p.events(zmq.Event.HANDSHAKE_SUCCEEDED)
        p.socket.send(b"x" * (5 << 20))
        p.events(zmq.Event.DISCONNECTED)
    works(cluster)


def test_nobody_ends_or_writes_for_the_work_of_another(cluster, evil):
    gate = os.path.join(cluster.directory, "gate-" + os.urandom(4).hex())
    os.mkfifo(gate)
    victim = cluster.start("bash", "-c", f"echo first; read -r line < {gate}; echo second; echo third >&2", scope="hostile/victim")
    id = peer.raw_id(victim["id"])
    until(lambda: b"first" in cluster.api("GET", f"/v1/operations/{victim['id']}/output").body, "the victim's first line")
    cluster.wait_status(victim["id"], "running")  # output and status come on channels of their own
    with Peer(cluster, evil) as p, Peer(cluster, evil, bulk=True) as b:
        session = p.joins()
        # In its own live session: the victim's task has started elsewhere, has ended, has written nothing.
        p.send(session, 1, peer.TASK_STARTED, [id, 1, 1, 0], ack=1)
        p.send(session, 2, peer.TASK_ENDED, [id, 0, None, 0, [0, None], "", "", 1, 1, [0, 0, 0]], ack=1)
        p.send(session, 0, peer.HEARTBEAT, [1, 1], ack=1)
        p.receive_tag(peer.LEASE_GRANTED)  # the lease: every frame before it has been read
        b.send_bulk(peer.BULK_HELLO, [session])
        b.send_bulk(peer.OUTPUT, [id, 0, 6, b"forged\n", True])
        ack = b.receive_tag(peer.OUTPUT_ACK)[1]
        assert bytes(ack[0]) == id and ack[3] is True, "forged output is not taken"
        assert cluster.operation(victim["id"])["status"] == "running"
        with open(gate, "w") as f:
            f.write("go\n")
        cluster.wait_status(victim["id"], "completed")
    assert cluster.output(victim["id"]) == b"first\nsecond\n"
    assert cluster.output(victim["id"], "stderr") == b"third\n"


def test_a_worker_that_lies_about_its_own_work_is_shown_briefly_and_as_text(cluster, evil):
    name = next(w["name"] for w in cluster.api("GET", "/v1/workers").json["workers"] if w["name"].startswith("evil"))
    with Peer(cluster, evil) as p:
        session = p.joins(slots=2)
        op = cluster.start("true", task_worker=name, task_containment="group")
        p.receive_tag(peer.START)
        id = peer.raw_id(op["id"])
        p.send(session, 1, peer.TASK_ENDED, [id, 0, None, 0, [None, "X" * 100_000], "start_failed", b"\xff\xfe" + b"m" * 1_000_000, 1, 1,
                                             [2**64 - 1, 2**64 - 1, 2**64 - 1]], ack=2)
        ended = cluster.wait_status(op["id"], "failed")
        assert len(json.dumps(ended)) < 20_000
    works(cluster)
