"""Cancels are never starved: not by lists over many rows, connections, streams, or answers that no client reads."""
import fcntl
import os
import select
import socket
import sqlite3
import ssl
import struct
import termios
import urllib.parse

import pytest

from harness import processes
from harness.certificates import make_certificate
from harness.cluster import Cluster
from harness.waiting import until

NOWHERE = {"task_on": {"bench": "nobody-has-this"}}
MANY = 300_000


class Raw:
    """A connection whose every byte the test sends."""

    def __init__(self, cluster, token=None, peer="127.0.0.1"):
        url = urllib.parse.urlsplit(cluster.url)
        self.host, self.token = url.netloc, token or cluster.token
        self.socket = socket.create_connection((url.hostname, url.port), timeout=60, source_address=(peer, 0))

    def ask(self, method, path, body="", **headers):
        fields = {"Host": self.host, "Authorization": "Bearer " + self.token, "Content-Type": "application/json", "Content-Length": len(body)}
        fields.update({k.replace("_", "-"): v for k, v in headers.items()})
        head = "".join(f"{k}: {v}\r\n" for k, v in fields.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n{body}".encode())
        return self

    def has_answer(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def status(self):
        """The status of the answer; its body stays unread."""
        text = b""
        while b"\r\n" not in text:
            piece = self.socket.recv(4096)
            assert piece, f"the connection ended after {text!r}"
            text += piece
        return int(text.split()[1])

    def close(self):
        self.socket.close()


def token(c, role, name="flood", scope=None):
    return c.api("POST", "/v1/tokens", {"name": name, "role": role, "scope": scope}).json["token"]


def fill(c, rows):
    """Many ended operations, as months of work leave them: copies of one, written while quelld is down."""
    one = c.start("true", scope="old", **NOWHERE)["id"]
    c.cancel(operation=one)
    c.kill_controller()
    store = sqlite3.connect(os.path.join(c.state, "quell.db"))
    columns = [r[1] for r in store.execute("PRAGMA table_info(operation)")]
    copied = ", ".join({"seq": "1000000 + n", "id": "randomblob(16)"}.get(x, x) for x in columns)
    store.execute(f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) "
                  f"INSERT INTO operation ({', '.join(columns)}) SELECT {copied} FROM n, (SELECT * FROM operation LIMIT 1)")
    store.commit()
    store.close()
    c.start_controller()


@pytest.fixture(scope="module")
def full():
    with Cluster(workers=1) as c:
        fill(c, MANY)
        yield c


# No index covers a label, and each row must be unpacked: the most expensive list.
SCAN = "/v1/operations?limit=1000&" + "&".join(f"label=k{i}%3Dv" for i in range(40))


def test_a_cancel_by_id_overtakes_sixty_lists_over_many_rows(full):
    c = full
    observer = token(c, "observer")
    live = c.start("sleep", "1000", scope="live")["id"]
    c.wait_status(live, "running")
    kept = Raw(c)
    lists = [Raw(c, observer).ask("GET", SCAN) for _ in range(60)]
    assert kept.ask("GET", "/healthz").status() == 200  # all earlier requests have been read by then
    cancel = Raw(c).ask("POST", f"/v1/operations/{live}/cancel", "{}")
    assert cancel.status() in (200, 202)
    waiting = sum(not x.has_answer() for x in lists)
    assert waiting > 10, f"the cancel waited for all but {waiting} of 60 lists"
    for x in lists:
        x.close()
    c.wait_status(live, "cancelled")


def test_a_list_is_read_in_parts_and_nothing_is_missing(full):
    c = full
    wanted = [c.start("true", scope="rare", labels={"k": "rare"}, **NOWHERE)["id"] for _ in range(3)]
    for order in ("asc", "desc"):
        found, cursor = [], ""
        while cursor is not None:
            page = c.api("GET", f"/v1/operations?label=k%3Drare&order={order}" + (f"&cursor={cursor}" if cursor else "")).json
            found += [o["id"] for o in page["operations"]]
            cursor = page["next_cursor"]
        assert found == (wanted if order == "asc" else wanted[::-1])
    shown = c.quell("ps", "--all", "--label", "k=rare", "--json", check=0).stdout
    assert all(id in str(shown) for id in wanted), "the command line follows the parts"
    c.cancel(scope="rare")


def test_lists_of_one_token_are_bounded_and_those_whose_client_left_are_dropped(full):
    c = full
    observer = token(c, "observer", "leaver")
    lists = [Raw(c, observer).ask("GET", SCAN) for _ in range(60)]
    # The first of those that are taken can be answered by now, too.
    until(lambda: any(x.has_answer() and b" 429 " in x.socket.recv(16, socket.MSG_PEEK) for x in lists), "some lists to be refused")
    for x in lists:
        x.close()
    until(lambda: c.api("GET", "/v1/operations?limit=1", token=observer).status == 200, "a place for the next list")
    assert c.api("GET", "/v1/operations?limit=1").status == 200, "another token never waits for one's lists"


EVENTS = 30_000


def add_events(c):
    """As many events as weeks of work leave: copies of one, written while quelld is down."""
    c.kill_controller()
    store = sqlite3.connect(os.path.join(c.state, "quell.db"))
    columns = [r[1] for r in store.execute("PRAGMA table_info(event)")]
    copied = ", ".join("(SELECT max(id) FROM event) + n" if x == "id" else x for x in columns)
    store.execute(f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {EVENTS}) "
                  f"INSERT INTO event ({', '.join(columns)}) SELECT {copied} FROM n, (SELECT * FROM event WHERE operation IS NOT NULL LIMIT 1)")
    store.commit()
    store.close()
    c.start_controller()


def test_a_cancel_and_its_signal_overtake_streams_that_catch_up():
    with Cluster(workers=1, settings=["store.keep_events=1000000"]) as c:
        live = c.start("sleep", "1000", scope="live")["id"]
        c.wait_status(live, "running")
        owned = c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": "live"}).json["id"]
        add_events(c)
        observer = token(c, "observer", "watcher")
        streams = [Raw(c, observer).ask("GET", "/v1/events?after=0", Accept="text/event-stream") for _ in range(200)]
        owner = Raw(c).ask("GET", f"/v1/operations/{owned}/signal", Accept="text/event-stream")
        heard = b""
        while b": listening" not in heard:
            heard += owner.socket.recv(4096)
        assert c.cancel(scope="live", wait="fenced")["report"]["fenced_ms"] is not None
        while b"event: cancel" not in heard:
            heard += owner.socket.recv(4096)
        # Nobody reads the streams yet: each waits somewhere behind the events that fit into the kernel's memory.
        last, behind = b"event: cancel_fenced", streams[-1]
        assert last not in behind.socket.recv(1 << 16)
        for x in streams[:-1]:
            x.close()
        behind.socket.settimeout(60)
        seen = b""
        while last not in seen:
            piece = behind.socket.recv(1 << 20)
            assert piece and b": still here" not in piece, "the stream has no more, and the cancel was not in it"
            seen = seen[-100:] + piece
        behind.close()


LIMIT = 48


@pytest.fixture(scope="module")
def small():
    with Cluster(workers=1, settings=[f"limits.connections={LIMIT}"]) as c:
        yield c


def cancel_works(c, why):
    live = c.start("sleep", "1000", scope="live")["id"]
    c.wait_status(live, "running")
    answer = c.api("POST", f"/v1/operations/{live}/cancel", {"wait": "settled", "wait_ms": 60000})
    assert answer.status == 200 and answer.json["status"] == "settled", (why, answer.body)


def says(c, word):
    return word.encode() in processes.read(os.path.join(c.directory, "quelld.log"))


def test_streams_of_one_token_make_room_and_it_is_logged(small):
    c = small
    observer = token(c, "observer", "watcher")
    streams = [Raw(c, observer).ask("GET", "/v1/events", Accept="text/event-stream") for _ in range(LIMIT + 10)]
    until(lambda: says(c, "are at their limit"), "the log to say so")
    cancel_works(c, "streams")
    for x in streams:
        x.close()


def test_long_polls_of_one_token_make_room(small):
    c = small
    live = c.start("true", scope="polled", **NOWHERE)["id"]
    observer = token(c, "observer", "poller")
    polls = [Raw(c, observer).ask("GET", f"/v1/operations/{live}?wait=ended&wait_ms=60000") for _ in range(LIMIT + 10)]
    cancel_works(c, "long polls")
    for x in polls:
        x.close()
    c.cancel(scope="polled")


def waiting_bytes(raw):
    return struct.unpack("i", fcntl.ioctl(raw.socket, termios.FIONREAD, b"    "))[0]


def test_clients_that_never_read_make_room(small):
    c = small
    observer = token(c, "observer", "deaf")
    deaf = []
    for _ in range(LIMIT + 10):
        one = Raw(c, observer)
        one.socket.setblocking(False)
        request = f"GET /v1/openapi.json HTTP/1.1\r\nHost: {one.host}\r\n\r\n".encode() * 400
        try:
            while request:
                request = request[one.socket.send(request):]
        except (BlockingIOError, OSError):
            pass
        deaf.append(one)
    before = [-1] * len(deaf)

    def is_stuck():
        nonlocal before
        now = [waiting_bytes(x) for x in deaf]
        still, before = now == before and sum(n > 100_000 for n in now) > LIMIT / 2, now
        return still

    until(is_stuck, "quelld to have filled what the kernel keeps for its clients")
    cancel_works(c, "answers that nobody reads")
    for x in deaf:
        x.close()


def test_silent_handshakes_make_room(tmp_path):
    key, certificate = make_certificate(tmp_path, "localhost")

    class Encrypted(Cluster):
        def api(self, method, path, body=None, **options):
            raw = self.encrypted()
            raw.ask(method, path, body or "")
            return raw

        def encrypted(self):
            raw = Raw(self)
            trusted = ssl.create_default_context(cafile=certificate)
            raw.socket = trusted.wrap_socket(raw.socket, server_hostname="127.0.0.1")
            return raw

        def healthy(self):
            try:
                return self.api("GET", "/healthz").status() == 200
            except OSError:
                return False

    with Encrypted(workers=0, settings=[f"limits.connections={LIMIT}", f"http.tls_cert={certificate}", f"http.tls_key={key}"]) as c:
        silent = [Raw(c) for _ in range(LIMIT + 10)]
        assert c.api("POST", "/v1/cancels", '{"scope": "idle"}').status() == 200
        for x in silent:
            x.close()


def test_a_flood_of_the_reserve_drops_itself_and_no_cancel():
    watching = 4  # of each token: a quarter of all, which makes no room
    with Cluster(workers=1, settings=[f"limits.connections={4 * watching}"]) as c:
        stubborn = c.start("bash", "-c", "trap '' TERM; while :; do sleep 1; done", scope="live", grace_ms=600_000)["id"]
        c.wait_status(stubborn, "running")
        observers = [token(c, "observer", f"watcher {i}") for i in range(4)]
        streams = [Raw(c, who).ask("GET", "/v1/events", Accept="text/event-stream") for who in observers for _ in range(watching)]
        assert [x.status() for x in streams] == [200] * len(streams)

        in_flight = Raw(c).ask("POST", f"/v1/operations/{stubborn}/cancel", '{"wait": "settled", "wait_ms": 60000}')
        seen = b""
        while b"operation_cancelling" not in seen:  # it is on its way, and its client waits
            seen += streams[0].socket.recv(1 << 16)
        silent = Raw(c)  # it has not said yet what it wants
        flood = [Raw(c, peer="127.0.0.2") for _ in range(300)]
        behind = Raw(c, peer="127.0.0.3").ask("POST", "/v1/cancels", '{"scope": "idle"}')
        assert behind.status() == 200  # so all connections before it were accepted

        assert silent.ask("POST", "/v1/cancels", '{"scope": "idle"}').status() == 200
        harder = Raw(c).ask("POST", f"/v1/operations/{stubborn}/cancel", '{"grace_ms": 0}')
        assert harder.status() in (200, 202)
        assert in_flight.status() == 200, "it was cut off, or its task did not end"
        for x in streams + flood:
            x.close()


def test_streams_and_long_polls_of_one_token_are_bounded():
    with Cluster(workers=0, settings=["limits.streams_per_token=3"]) as c:
        observer = token(c, "observer", "watcher")
        streams = [Raw(c, observer).ask("GET", "/v1/events", Accept="text/event-stream") for _ in range(3)]
        assert [x.status() for x in streams] == [200] * 3
        assert Raw(c, observer).ask("GET", "/v1/events", Accept="text/event-stream").status() == 429
        assert Raw(c).ask("GET", "/v1/events", Accept="text/event-stream").status() == 200
        streams[0].close()
        until(lambda: Raw(c, observer).ask("GET", "/v1/events", Accept="text/event-stream").status() == 200, "the place of the stream that was closed")


def test_items_of_a_batch_count_as_requests():
    with Cluster(workers=0, settings=["limits.requests_per_second=50"]) as c:
        bot = token(c, "operator", "batches")
        item = {"kind": "external", "scope": "batch", "name": "x"}
        batch = lambda: c.api("POST", "/v1/operations/batch", {"operations": [item] * 60}, token=bot).status
        assert batch() == 200
        until(lambda: batch() == 429, "a batch to be one too many")  # 50 of 60 come back in each second
        assert c.api("POST", "/v1/cancels", {"scope": "batch"}, token=bot).status in (200, 202)
        c.cancel(scope="batch", wait="fenced")


def test_big_bodies_are_refused_at_the_first_errors(small):
    c = small
    body = "{" + ",".join(f'"unknown{i}":1' for i in range(50_000)) + "}"
    answer = c.api("POST", "/v1/operations", raw=body, headers={"Content-Type": "application/json"})
    assert answer.status == 422 and len(answer.json["errors"]) <= 64
    answer = c.api("POST", "/v1/cancels", raw=body, headers={"Content-Type": "application/json"})
    assert answer.status == 413 and answer.json["code"] == "too_large"


def test_one_author_has_so_many_turns_and_operations_and_the_next_one_is_not_held_up():
    with Cluster(workers=0, settings=["limits.operations_per_author=3", "limits.operations_per_scope=5"]) as c:
        def made(author, scope):
            return c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": scope, "owner": {"id": author}}).status
        assert [made("ann", "q/a") for _ in range(4)] == [201, 201, 201, 429]
        assert [made("bob", "q/b") for _ in range(3)] == [201, 201, 429], "the scope q has five"
        assert made("bob", "r") == 201
        c.cancel(scope="q", wait="fenced")
        until(lambda: made("ann", "q/a") == 201, "the places of what has ended")
        c.cancel(everything=True, wait="fenced")


def test_one_token_has_so_much_alive_whoever_owns_it_and_the_next_token_is_not_held_up():
    with Cluster(workers=1, settings=["limits.operations_per_token=5"]) as c:
        bot, other = token(c, "operator", "bot"), token(c, "admin", "other")

        def item(author, scope):
            return {"kind": "external", "name": "x", "scope": scope, "owner": {"id": author}}

        def made(who, author, scope):
            return c.api("POST", "/v1/operations", item(author, scope), token=who)

        script = 'printf "%s" "$QUELL_TOKEN"; exec sleep 1000'
        task = c.api("POST", "/v1/operations", {"kind": "task", "scope": "q/task", "task": {"command": ["sh", "-c", script]}}, token=bot).json
        own = until(lambda: c.api("GET", f"/v1/operations/{task['id']}/output").body.decode(), "the task's token")
        below = {"kind": "external", "name": "below"}
        assert c.api("POST", "/v1/operations", below, token=own).status == 201
        batch = c.api("POST", "/v1/operations/batch", {"operations": [item(f"author{i}", f"q/{i}") for i in range(5)]}, token=bot)
        codes = [(r["error"] or {}).get("code") for r in batch.json["results"]]
        assert codes == [None] * 3 + ["too_many_operations"] * 2, batch.body
        refused = made(bot, "dan", "r")
        assert refused.status == 429 and refused.json["code"] == "too_many_operations" and "token bot has 5 live operations" in refused.json["detail"], refused.body
        assert "limits.operations_per_token" in refused.json["detail"] and "Retry-After" in refused.headers
        assert c.api("POST", "/v1/operations", below, token=own).status == 429
        assert made(other, "dan", "r").status == 201 and made(None, "dan", "r").status == 201

        c.kill_controller()
        c.start_controller()
        assert made(bot, "dan", "r").status == 429, "a restart knows whose the live ones are"
        assert [made(other, "dan", "r").status for _ in range(5)] == [201] * 4 + [429], "an admin's token has its limit, too"
        assert [made(None, "dan", "r").status for _ in range(6)] == [201] * 6, "who owns the machine has none"
        assert c.api("POST", "/v1/cancels", {"scope": "q/1", "wait": "fenced"}, token=bot).status in (200, 202)
        until(lambda: made(bot, "dan", "r").status == 201, "the place of what has ended")
        c.cancel(everything=True, wait="fenced")


def test_a_store_of_an_earlier_version_counts_what_it_has_alive_for_nobody():
    with Cluster(workers=0, settings=["limits.operations_per_token=1"]) as c:
        bot = token(c, "operator", "bot")

        def made():
            return c.api("POST", "/v1/operations", {"kind": "external", "name": "x", "scope": "old"}, token=bot)

        old = made().json["id"]
        assert made().status == 429
        c.kill_controller()
        store = sqlite3.connect(os.path.join(c.state, "quell.db"))
        store.execute("ALTER TABLE operation DROP COLUMN via_token")
        store.execute("PRAGMA user_version=5")
        store.commit()
        store.close()
        c.start_controller()
        assert c.operation(old)["status"] == "running"
        assert [made().status for _ in range(2)] == [201, 429]
        c.cancel(operation=old, wait="fenced")
        assert made().status == 429
        c.cancel(everything=True, wait="fenced")
