"""Bad networks between workers and controller: a relay that delays, withholds, cuts and drops; and network namespaces that lose packets."""
import base64
import os
import selectors
import socket
import struct
import subprocess
import threading
import time
import zlib

UP, DOWN = "to_controller", "to_worker"


class Stream:
    """One direction of one connection."""

    def __init__(self, relay, direction, source, sink):
        self.relay, self.direction, self.source, self.sink = relay, direction, source, sink
        self.waiting = []  # (when it may leave, bytes)
        self.ended = False

    def held(self):
        return sum(len(b) for _, b in self.waiting)


class Relay:
    """Listens on `host` at the ports of a controller on 127.0.0.1 and forwards with the configured faults. Has its own thread.

    Each direction: `delay` seconds, `hold` (bytes are accepted and kept, as a cut does to TCP: they arrive late, after it heals). `refuse`: new
    connections are closed at once; `mute`: they are accepted and nothing is forwarded."""

    def __init__(self, host, ports):
        self.delay = {UP: 0.0, DOWN: 0.0}
        self.hold = {UP: False, DOWN: False}
        self.refuse = self.mute = False
        self.moved = {UP: 0, DOWN: 0}
        self.accepted = 0
        self.lock = threading.Lock()
        self.streams, self.muted = [], []
        self.selector = selectors.DefaultSelector()
        self.wake_read, self.wake_write = socket.socketpair()
        self.wake_read.setblocking(False)
        self.selector.register(self.wake_read, selectors.EVENT_READ, ("wake", None))
        self.listeners = []
        for port in ports:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((host, port))
            s.listen(64)
            s.setblocking(False)
            self.listeners.append(s)
            self.selector.register(s, selectors.EVENT_READ, ("listener", port))
        self.over = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    # ---- orders, from the test's thread ---------------------------------------------------------------------------
    def set(self, delay=None, hold=None, ways=(UP, DOWN), refuse=None, mute=None):
        with self.lock:
            for way in ways:
                if delay is not None:
                    self.delay[way] = delay
                if hold is not None:
                    self.hold[way] = hold
            if refuse is not None:
                self.refuse = refuse
            if mute is not None:
                self.mute = mute
        self.wake_write.send(b"x")

    def cut(self, *ways):
        self.set(hold=True, ways=ways or (UP, DOWN))

    def heal(self):
        """All held bytes leave now, late."""
        self.set(delay=0.0, hold=False, refuse=False, mute=False)

    def reset(self):
        """Every connection ends at once and loses its held bytes; both ends are notified."""
        with self.lock:
            for stream in list(self.streams):
                self.drop(stream)
        self.wake_write.send(b"x")

    def forget(self):
        """Half open: the controller's side is closed, the worker is not notified; bytes from either side are lost."""
        with self.lock:
            for stream in list(self.streams):
                worker, controller = (stream.source, stream.sink) if stream.direction == UP else (stream.sink, stream.source)
                self.drop(stream, close=False)
                if worker not in self.muted:
                    self.muted.append(worker)
                    close(controller)

    def close(self):
        self.over = True
        self.wake_write.send(b"x")
        self.thread.join()
        for s in [*self.listeners, self.wake_read, self.wake_write, *self.muted]:
            s.close()
        for stream in self.streams:
            stream.source.close()

    # ---- the thread -------------------------------------------------------------------------------------------------
    def run(self):
        while not self.over:
            ready = self.selector.select(self.patience())
            with self.lock:
                for key, _ in ready:
                    kind, what = key.data
                    if kind == "wake":
                        self.drain()
                    elif kind == "listener":
                        self.accept(key.fileobj, what)
                    elif what in self.streams:
                        self.take(what)
                for stream in list(self.streams):
                    self.give(stream)

    def drain(self):
        try:
            while self.wake_read.recv(4096):
                pass
        except BlockingIOError:
            pass

    def patience(self):
        with self.lock:
            moments = [s.waiting[0][0] for s in self.streams if s.waiting and not self.hold[s.direction]]
        return max(0.001, min(moments) - time.monotonic()) if moments else 1.0

    def accept(self, listener, port):
        try:
            worker, _ = listener.accept()
        except OSError:
            return
        self.accepted += 1
        if self.refuse:
            return close(worker)
        if self.mute:
            self.muted.append(worker)
            return
        controller = socket.socket()
        try:
            controller.connect(("127.0.0.1", port))
        except OSError:
            controller.close()
            return close(worker)
        for way, source, sink in ((UP, worker, controller), (DOWN, controller, worker)):
            source.setblocking(False)
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = Stream(self, way, source, sink)
            self.streams.append(stream)
            self.selector.register(source, selectors.EVENT_READ, ("stream", stream))

    def take(self, stream):
        if stream.held() > 1 << 20:  # back-pressure, as a full window
            self.selector.unregister(stream.source)
            return
        try:
            data = stream.source.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            stream.waiting.append((time.monotonic() + self.delay[stream.direction], data))
        else:
            self.selector.unregister(stream.source)
            stream.ended = True

    def give(self, stream):
        if stream not in self.streams or self.hold[stream.direction]:
            return
        while stream.waiting and stream.waiting[0][0] <= time.monotonic():
            at, data = stream.waiting[0]
            try:
                sent = stream.sink.send(data)
            except BlockingIOError:
                stream.waiting[0] = (time.monotonic() + 0.002, data)
                break
            except OSError:
                return self.drop_both(stream)
            self.moved[stream.direction] += sent
            if sent < len(data):
                stream.waiting[0] = (at, data[sent:])
            else:
                stream.waiting.pop(0)
        if stream.ended and not stream.waiting:
            return self.drop_both(stream)
        if not stream.ended and stream.held() <= 1 << 20 and stream.source not in self.registered():
            self.selector.register(stream.source, selectors.EVENT_READ, ("stream", stream))

    def registered(self):
        return [key.fileobj for key in self.selector.get_map().values()]

    def drop_both(self, stream):
        for s in list(self.streams):
            if s.source in (stream.source, stream.sink):
                self.drop(s)

    def drop(self, stream, close=True):
        self.streams.remove(stream)
        if stream.source in self.registered():
            self.selector.unregister(stream.source)
        if close:
            reset(stream.source)


def reset(s):
    """Sends an RST, not an orderly end."""
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    s.close()


def close(s):
    s.close()


def rejoin(path, host):
    """Rewrites a join line (protocol/join.cpp) so that its worker connects to `host`."""
    with open(path) as f:
        text = f.read().strip()
    data = base64.urlsafe_b64decode(text[5:] + "=" * (-len(text[5:]) % 4))
    fields, at = data[2:-4], 0

    def word():
        nonlocal at
        size = int.from_bytes(fields[at:at + 2], "big")
        at += 2 + size
        return fields[at - size:at]

    put = lambda b: len(b).to_bytes(2, "big") + b
    out = put(word())
    for _ in range(2):
        count, at = fields[at], at + 1
        out += bytes([count])
        for _ in range(count):
            out += put(b"tcp://" + host.encode() + b":" + word().rpartition(b":")[2])
    out += fields[at:]
    whole = put(out)
    whole += zlib.crc32(whole).to_bytes(4, "big")
    with open(path, "w") as f:
        f.write("qwj1." + base64.urlsafe_b64encode(whole).decode().rstrip("="))


def add_far_worker(cluster, name, host, ports=None, **options):
    """A worker that reaches the controller at `host` only."""
    rejoin(cluster.enrol(name), host)
    return cluster.add_worker(name, **options)


class Namespace:
    """A network namespace with one cable to this machine: `near` here, `far` there. Packets are lost by the kernel, not by a program."""

    count = 0

    def __init__(self):
        Namespace.count += 1
        self.name = f"qn{os.getpid()}x{Namespace.count}"
        subnet = f"10.199.{100 + (os.getpid() + Namespace.count) % 100}"
        self.near, self.far = subnet + ".1", subnet + ".2"

    def run(self, *command):
        return subprocess.run(command, check=True, capture_output=True)

    def inside(self, *command):
        return self.run("ip", "netns", "exec", self.name, *command)

    def __enter__(self):
        a, b = self.name + "a", self.name + "b"
        try:
            self.run("ip", "netns", "add", self.name)
            self.run("ip", "link", "add", a, "type", "veth", "peer", "name", b, "netns", self.name)
            self.run("ip", "addr", "add", self.near + "/24", "dev", a)
            self.run("ip", "link", "set", a, "up")
            self.inside("ip", "addr", "add", self.far + "/24", "dev", b)
            self.inside("ip", "link", "set", b, "up")
            self.inside("ip", "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "link", "del", self.name + "a"], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)

    def prefix(self):
        return ["ip", "netns", "exec", self.name]

    def loss(self, share, way):
        """This share of the packets of one direction is lost: 0 to 1. By a tc filter with a random number, as the kernel has no netem."""
        run, device = (self.run, self.name + "a") if way == UP else (self.inside, self.name + "b")
        subprocess.run([*([] if way == UP else self.prefix()), "tc", "qdisc", "del", "dev", device, "ingress"], capture_output=True)
        if share > 0:
            below = int((1 - min(share, 1)) * 0xffffffff)
            # ld #random; jgt #below: match and be sent to an address without a receiver; else pass.
            code = f"4,32 0 0 4294963256,37 0 1 {below},6 0 0 4294967295,6 0 0 0"
            run("tc", "qdisc", "add", "dev", device, "ingress")
            run("tc", "filter", "add", "dev", device, "ingress", "protocol", "ip", "bpf", "bytecode", code, "action", "mirred", "egress", "redirect",
                "dev", "lo")

    def cut(self, *ways):
        for way in ways or (UP, DOWN):
            self.loss(1, way)

    def heal(self):
        for way in (UP, DOWN):
            self.loss(0, way)


def namespaces_allowed():
    try:
        with Namespace() as n:
            n.loss(0.5, UP)
        return True
    except (subprocess.CalledProcessError, OSError):
        return False
