"""Many watchers of events at once on plain sockets, read by one selector: the events of each, in order."""
import collections
import re
import selectors
import socket
import time
import urllib.parse

from .waiting import PATIENCE, TimedOut

FRAME = re.compile(rb"(?:^|\n)id: (\d+)\nevent: (\S+)\n")


class Watchers:
    """`ids[i]` are the ids of the events that watcher i received. A watcher reads during `read` only."""

    def __init__(self, cluster, count, query="", after=None, token=None):
        url = urllib.parse.urlsplit(cluster.url)
        self.address, self.token, self.query = (url.hostname, url.port), token or cluster.token, query
        self.selector = selectors.DefaultSelector()
        self.ids, self.left, self.sockets = [[] for _ in range(count)], [b""] * count, []
        self.opened, self.closed, self.came_at = set(), set(), collections.defaultdict(list)
        for i in range(count):
            self.sockets.append(self.connect(i, after))
        self.until(lambda: len(self.opened) == count, "all streams to be open")

    def connect(self, i, after):
        extra = f"Last-Event-ID: {after}\r\n" if after is not None else ""
        s = socket.create_connection(self.address, timeout=30)
        s.sendall(f"GET /v1/events{self.query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\nAccept: text/event-stream\r\n{extra}\r\n".encode())
        s.setblocking(False)
        self.selector.register(s, selectors.EVENT_READ, i)
        return s

    def reconnect(self, i):
        """Cuts watcher i, wherever it is, and resumes behind the last event that it received."""
        if i not in self.closed:
            self.selector.unregister(self.sockets[i])
        self.sockets[i].close()
        self.left[i] = b""
        self.closed.discard(i)
        self.sockets[i] = self.connect(i, self.ids[i][-1] if self.ids[i] else None)

    def read(self, seconds=0.05):
        for key, _ in self.selector.select(seconds):
            i = key.data
            try:
                piece = self.sockets[i].recv(1 << 18)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                self.selector.unregister(self.sockets[i])
                self.closed.add(i)
                continue
            now = time.monotonic()
            text = self.left[i] + piece.replace(b"\r\n", b"\n")
            if b"retry: 1000\n" in text:
                self.opened.add(i)
            whole = text.rfind(b"\n\n")
            if whole < 0:
                self.left[i] = text
                continue
            for id, _ in FRAME.findall(text[:whole]):
                self.ids[i].append(int(id))
                self.came_at[i].append(now)
            self.left[i] = text[whole:]

    def until(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds * PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise TimedOut(f"waited {seconds} s for: {what}; open {len(self.opened)}, closed {len(self.closed)}, "
                               f"events {min(map(len, self.ids), default=0)} to {max(map(len, self.ids), default=0)}")
            self.read()

    def close(self):
        for s in self.sockets:
            s.close()
        self.selector.close()


class Patient:
    """Reads streams of events line by line, over any number of connections. Comments keep a stream alive but are not events: a period without an event is a failure."""

    def __init__(self, seconds=60):
        self.seconds = seconds * PATIENCE
        self.heard()

    def heard(self):
        self.deadline = time.monotonic() + self.seconds

    def line(self, response):
        """The next line, "" when the stream ends. Fails if no event arrived for too long."""
        if time.monotonic() > self.deadline:
            raise TimedOut(f"waited {self.seconds} s for: the next event; the stream says nothing but comments, or ends again and again")
        line = response.readline().decode()
        if line.startswith("data: "):
            self.heard()
        return line
