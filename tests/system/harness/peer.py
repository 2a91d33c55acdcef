"""A worker played by hand over ZeroMQ and msgpack: with any key, session and bytes."""
import os
import time
import uuid

import msgpack
import zmq
import zmq.utils.monitor

from .waiting import until

HELLO, HEARTBEAT, TASK_STARTED, TASK_ENDED = 1, 2, 3, 5
WELCOME, REFUSE, LEASE_GRANTED, START, ACKNOWLEDGE = 20, 21, 22, 23, 40
BULK_HELLO, OUTPUT, OUTPUT_ACK, RELAY_OPEN, RELAY_DATA = 60, 61, 62, 65, 66


def fresh_id():
    """16 bytes of a UUIDv7."""
    ms = time.time_ns() // 1_000_000
    raw = bytearray(ms.to_bytes(6, "big") + os.urandom(10))
    raw[6] = 0x70 | (raw[6] & 0x0f)
    raw[8] = 0x80 | (raw[8] & 0x3f)
    return bytes(raw)


def raw_id(text):
    return uuid.UUID(text).bytes


class Peer:
    """A DEALER with its own CURVE key, on the control socket or on the bulk one."""

    def __init__(self, cluster, keys=None, bulk=False):
        self.public, self.secret = keys or zmq.curve_keypair()
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.curve_publickey, self.socket.curve_secretkey = self.public, self.secret
        with open(os.path.join(cluster.state, "controller.key")) as f:
            self.socket.curve_serverkey = zmq.curve_public(f.read().strip().encode())
        self.monitor = self.socket.get_monitor_socket()
        self.socket.connect(f"tcp://127.0.0.1:{cluster.ports[2 if bulk else 1]}")

    def events(self, wanted, seconds=60):
        seen = []

        def look():
            while self.monitor.poll(0):
                seen.append(zmq.utils.monitor.recv_monitor_message(self.monitor)["event"])
            return wanted in seen
        until(look, f"monitor event {wanted!r}", seconds)

    def send(self, session, number, tag, fields, ack=0):
        self.socket.send(msgpack.packb([session, number, ack, tag, fields]))

    def send_bulk(self, tag, fields):
        self.socket.send(msgpack.packb([tag, fields]))

    def receive(self, seconds=60):
        assert self.socket.poll(seconds * 1000), "no answer"
        return msgpack.unpackb(self.socket.recv())

    def receive_tag(self, tag, seconds=60):
        """The next frame with this tag; [session, number, ack, tag, fields] or [tag, fields]."""
        found = []

        def look():
            while not found and self.socket.poll(10):
                frame = msgpack.unpackb(self.socket.recv())
                if frame[-2] == tag:
                    found.append(frame)
            return found
        until(look, f"a frame with tag {tag}", seconds)
        return found[0]

    def hello(self, session, state=b"state", slots=1):
        """The fields of a valid hello."""
        return [1, "0.1.0", None, 0, 0, "boot", state.decode(), fresh_id(), session, slots, {}, 0, [], "evil.example", [], []]

    def joins(self, slots=1):
        """Opens a live session; returns its id."""
        session = fresh_id()
        self.send(session, 0, HELLO, self.hello(session, slots=slots))
        self.receive_tag(WELCOME)
        self.send(session, 0, ACKNOWLEDGE, [False], ack=1)
        return session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.disable_monitor()
        self.monitor.close(0)
        self.socket.close(0)
        self.context.term()
