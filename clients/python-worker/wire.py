"""The join line, ids and CURVE sockets (docs/PROTOCOL.md 1, 2 and 8)."""
import base64
import io
import os
import sys
import zlib

import zmq

from keeper import wall


def fresh_id(after=bytes(16)):
    """A UUIDv7 behind `after`, whatever the wall clock does: a late hello is told by the time in it."""
    ms = max(wall(), int.from_bytes(after[:6], "big") + 1)
    return ms.to_bytes(6, "big") + bytes([0x70]) + os.urandom(1) + bytes([0x80]) + os.urandom(7)


def parse_join(line):
    raw = base64.urlsafe_b64decode(line.strip().removeprefix("qwj1.") + "===")
    if zlib.crc32(raw[:-4]) != int.from_bytes(raw[-4:], "big"):
        sys.exit("the join line is cut short or mistyped: copy the whole line that `quell worker add` printed")
    rest = io.BytesIO(raw[2:-4])
    take = lambda: rest.read(int.from_bytes(rest.read(2), "big"))  # noqa: E731
    take()  # the worker's name: the welcome says it too
    control, bulk = ([take().decode() for _ in range(rest.read(1)[0])] for _ in range(2))
    return list(zip(control, bulk)), take(), take()


class Dealers:
    def __init__(self, server_key, secret):
        self.context, self.server_key, self.public, self.secret = zmq.Context(), server_key, zmq.curve_public(secret), secret

    def connect(self, old, endpoint):
        """A fresh socket with a fresh routing id in the place of `old`. Nothing is queued for a controller that is away."""
        if old:
            old.close(0)
        s = self.context.socket(zmq.DEALER)
        s.linger, s.immediate, s.maxmsgsize, s.routing_id = 0, 1, (4 << 20) + 64, b"q" + os.urandom(15)
        s.heartbeat_ivl, s.heartbeat_timeout = 2000, 6000
        s.curve_publickey, s.curve_secretkey, s.curve_serverkey = self.public, self.secret, self.server_key
        s.connect(endpoint)
        return s
