"""The bulk socket: what tasks write goes to the controller; what it has not acknowledged is kept and sent again."""
import os

import msgpack
import zmq

from keeper import now

BULK_HELLO, OUTPUT, OUTPUT_ACK, INPUT, INPUT_ACK, WINDOW = 60, 61, 62, 63, 64, 256 * 1024


class Stream:
    """One output of one task. When too much is kept nobody reads, and the task waits in its write."""

    def __init__(self, fd):
        self.fd, self.kept, self.acked, self.sent, self.end_sent, self.counted = fd, b"", 0, 0, False, False
        self.done = False
        os.set_blocking(fd, False)

    @property
    def total(self):
        return self.acked + len(self.kept)

    def read(self):
        """True if there may be more."""
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return False
        self.kept += data
        if not data:
            os.close(self.fd)
            self.fd = None
        return bool(data)


class Output:
    def __init__(self, connect):
        self.connect, self.socket, self.session, self.streams = connect, None, None, {}
        self.greeted, self.heard = False, 0

    def begin(self, session):
        """A new control session: everything unacknowledged is sent again behind a new hello."""
        self.socket, self.session, self.greeted, self.heard = self.connect(self.socket), session, False, now()

    def add(self, task, *fds):
        self.streams.update(((task, which), Stream(fd)) for which, fd in enumerate(fds))

    def finish(self, task):
        """The task is gone: reads what is left in its pipes; how many bytes it wrote."""
        mine = [self.streams[task, which] for which in (0, 1) if (task, which) in self.streams]
        for s in mine:
            while s.fd is not None and s.read():
                pass
            s.counted = True
        return [s.total for s in mine] or [0, 0]

    def readable(self):
        return {s.fd: s for s in self.streams.values() if s.fd is not None and len(s.kept) < WINDOW}

    def send(self, tag, *fields):
        try:
            self.socket.send(msgpack.packb([tag, fields]), zmq.NOBLOCK)
            return True
        except zmq.Again:
            return False

    def pump(self):
        if not self.socket:
            return
        if not self.greeted:
            self.greeted = self.send(BULK_HELLO, self.session)
            for s in self.streams.values():
                s.sent, s.end_sent = s.acked, False
        waiting = False
        for (task, which), s in self.streams.items() if self.greeted else ():
            while s.sent < s.total or (s.fd is None and not s.end_sent):
                piece = s.kept[s.sent - s.acked:][:65536]
                end = s.fd is None and s.sent + len(piece) == s.total
                if not self.send(OUTPUT, task, which, s.sent, piece, end):
                    break
                s.sent, s.end_sent = s.sent + len(piece), end
            waiting = waiting or s.sent > s.acked or s.end_sent
        if not waiting:
            self.heard = now()
        elif now() > self.heard + 3:  # bytes were lost with a connection that ZeroMQ made again
            self.begin(self.session)

    def receive(self, frame):
        self.heard, (tag, fields) = now(), frame[:2]
        if tag == INPUT:
            self.send(INPUT_ACK, fields[0], fields[1], True)  # its standard input is /dev/null
        s = self.streams.get(tuple(fields[:2])) if tag == OUTPUT_ACK else None
        if s:
            taken = s.total if fields[3] else max(s.acked, min(fields[2], s.total))
            s.kept, s.acked, s.sent = s.kept[taken - s.acked:], taken, max(s.sent, taken)
            s.done = s.fd is None and (s.end_sent or fields[3]) and not s.kept
        for key in [key for key, s in self.streams.items() if s.done and s.counted]:
            del self.streams[key]
