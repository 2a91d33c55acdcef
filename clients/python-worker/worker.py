#!/usr/bin/env python3
"""A quell worker from docs/PROTOCOL.md, pyzmq and msgpack: `worker.py --join-file FILE --state DIR [--slots N]`.

One loop is the session: it applies stops, gives starts their go, beats and acknowledges. What runs has a keeper (keeper.py).
"""
import argparse
import fcntl
import json
import os
import signal
import socket
import sys
import uuid

import msgpack
import zmq

from keeper import Task, below, left_of, now, prctl, send, text, wall
from output import Output
from wire import Dealers, fresh_id, parse_join

HELLO, HEARTBEAT, STARTED, STOPPING, ENDED, UNPROVEN, FAREWELL = range(1, 8)
WELCOME, REFUSE, GRANTED, START, STOP, STORED, HANDOVER = range(20, 27)
ACK, KILLED, NEVER_STARTED, GROUP_EMPTY, NEVER_RAN = 40, 2, 3, 3, 5
LIMITS = ["a fast re-forker can outrun the walk over /proc",
          "a task of the same uid can kill its keeper; if worker and keeper are killed at once, what cleared its environment lives on",
          "no PTY, no stdin, no relay"]


class Worker:
    def __init__(self, flags):
        self.places, server_key, secret = parse_join(flags.join)
        self.dealers, self.slots, self.home = Dealers(server_key, secret), flags.slots, os.path.join(flags.state, "work")
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        self.lock = os.open(os.path.join(flags.state, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # waits for an earlier life: its keepers have the lock, too
        self.file, self.member = os.path.join(flags.state, "member.json"), {"cluster": None, "epoch": 0, "seq": 0, "state_id": uuid.uuid4().hex}
        if os.path.exists(self.file):
            with open(self.file, encoding="ascii") as f:
                self.member = json.load(f)
        self.remember()
        os.environ["QUELL_WORKER_STATE"] = self.member["state_id"]  # tasks are told by it
        while send(left_of(self.member["state_id"]), signal.SIGKILL):
            pass  # of an earlier life whose keepers were killed, too
        prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, for what a killed keeper leaves
        self.incarnation, self.session, self.tries, self.leaving = fresh_id(), bytes(16), 0, None
        self.control, self.output = None, Output(lambda old: self.dealers.connect(old, self.place[1]))
        self.tasks, self.results, self.known, self.cutoffs, self.closed = {}, {}, {}, {}, {}
        self.phase, self.next_hello, self.base, self.length, self.last_in = "apart", 0, 0, 0, 0

    def remember(self):
        with open(self.file + ".new", "w", encoding="ascii") as f:
            json.dump(self.member, f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(self.file + ".new", self.file)

    # ---- the session ----
    def apart(self, why, pause=0.1):
        print("worker:", why, flush=True)
        self.phase, self.next_hello = "apart", now() + pause

    def greet(self):
        self.place, self.tries = self.places[self.tries % len(self.places)], self.tries + 1
        self.control = self.dealers.connect(self.control, self.place[0])
        self.session, self.phase, self.hello_sent, self.give_up = fresh_id(self.session), "greeting", None, now() + 3
        self.last_in = self.last_out = self.ack_sent = self.beat = 0
        self.unacked, self.beats, self.resend_at = {}, {}, 0

    def hello(self):
        m, host = self.member, socket.gethostname()
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read().strip()
        inventory = [[t.id, 2 if t.stop_seq else 1, t.pid, t.started_at, t.stop_seq] for t in self.tasks.values()]
        return [1, "python", m["cluster"] and bytes.fromhex(m["cluster"]), m["epoch"], m["seq"], boot, m["state_id"], self.incarnation, self.session,
                self.slots, {"os": "linux", "arch": os.uname().machine, "host": host}, 0, LIMITS, host, inventory, list(self.results.values())]

    def frame(self, number, tag, *fields):
        try:
            self.control.send(msgpack.packb([self.session, number, self.last_in, tag, fields], unicode_errors="replace"), zmq.NOBLOCK)
            self.ack_sent = self.last_in
            return True
        except zmq.Again:
            return False  # no connection: what is numbered is sent again

    def tell(self, tag, *fields):
        if self.phase == "apart":
            return  # the next hello tells it
        self.last_out += 1
        self.unacked[self.last_out] = (tag, *fields)
        if self.phase == "open":
            self.frame(self.last_out, tag, *fields)
            self.resend_at = now() + 1

    def resend(self):
        self.resend_at = now() + 1
        for number, sentence in self.unacked.items():
            self.frame(number, *sentence)

    def tick(self):
        t = now()
        if self.phase == "apart" and t >= self.next_hello:
            self.greet()
        if self.phase == "greeting" and t >= self.give_up:  # without a connection perhaps because the key was refused: that needs a pause
            return self.apart("no answer from the controller", 0.1 if self.hello_sent else 2)
        if self.phase == "greeting" and not self.hello_sent and self.frame(0, HELLO, *self.hello()):
            self.hello_sent, self.give_up = t, t + 3
        if self.phase != "open":
            return
        if t >= self.heard + 3.5 * self.every or t >= self.kill_from(None):
            return self.apart("the controller does not answer")
        if t >= self.next_beat:
            self.beat, self.next_beat = self.beat + 1, t + self.every
            self.beats[self.beat] = t
            self.frame(0, HEARTBEAT, self.beat, self.last_in)
        if self.unacked and t >= self.resend_at:
            self.resend()
        if self.last_in > self.ack_sent:
            self.frame(0, ACK, False)

    def kill_from(self, own):
        """From here on nothing starts and keepers kill; `own`: a task's own lease in ms."""
        length = max(self.length, (own or 0) / 1000)
        return self.base + length - min(max(length / 10, 0.1), 2)

    def granted(self, base, length):
        self.base, self.length = base, length / 1000
        for t in self.tasks.values():
            t.tell(kill_from=self.kill_from(t.lease))

    def handed_over(self, fields):
        self.granted(self.base, fields[0])

    def receive(self, frame):
        session, number, ack, tag, fields = frame[:5]
        if self.phase == "apart" or session != self.session and (tag != REFUSE or any(session)):
            return
        if tag == REFUSE:
            if fields[2] <= 0 and fields[0] != "not_enrolled":
                sys.exit(f"the controller refuses this worker ({fields[0]}): {fields[1]}")
            return self.apart(f"refused ({fields[0]}): {fields[1]}", max(fields[2] / 1000, 2 if fields[0] == "not_enrolled" else 0.1))
        if self.phase == "greeting":
            return self.welcome(*fields[:6]) if (tag, number) == (WELCOME, 1) else None
        if ack > self.last_out:
            return self.apart("the controller acknowledged what was never sent")
        for n in [n for n in self.unacked if n <= ack]:
            del self.unacked[n]
            self.resend_at = now() + 1
        if number == 0:
            if tag == GRANTED and fields[0] in self.beats:
                self.heard = now()
                self.granted(self.beats[fields[0]], fields[1])
                self.beats = {b: at for b, at in self.beats.items() if b > fields[0]}
            elif tag == ACK and fields[0]:
                self.resend()
        elif number != self.last_in + 1:
            self.frame(0, ACK, number > self.last_in)
        else:
            {START: self.start, STOP: self.stop, STORED: self.stored, HANDOVER: self.handed_over}.get(tag, lambda *_: None)(fields)
            self.last_in = number  # applied: only now may it be acknowledged

    def welcome(self, version, cluster, epoch, name, every, lease):
        m = self.member
        if version != 1 or m["cluster"] not in (None, cluster.hex()):
            sys.exit("another protocol version, or another cluster than the one that this worker belongs to")
        if epoch < m["epoch"]:
            return self.apart("an older epoch than one that was seen; a restored store is started with quelld --restored", 2)
        m.update(cluster=cluster.hex(), epoch=epoch)
        self.remember()
        self.phase, self.last_in, self.every, self.heard, self.next_beat, self.name = "open", 1, every / 1000, now(), now(), text(name)
        self.granted(self.hello_sent, lease)
        self.resend()
        self.output.begin(self.session)
        print(f"worker: joined as {self.name}", flush=True)

    # ---- work ----
    def covering(self, t):
        """The seq of the stop that makes this work stale, or None."""
        parts = text(t.scope).split("/")
        cuts = [self.cutoffs.get("/".join(parts[:n + 1]), (-1, 0)) for n in range(len(parts))]
        return next((seq for seq in [self.closed.get(i) for i in (t.id, *t.ancestors)] + [s for at, s in cuts if t.as_of <= at] if seq), None)

    def start(self, fields):
        t = Task(fields, self.home)
        self.member["seq"] = max(self.member["seq"], t.seq)
        if t.id in self.known:
            return
        self.known[t.id] = t.seq
        t.stop_seq, t.env["QUELL_WORKER"] = self.covering(t) or 0, self.name
        if t.stop_seq:
            return self.ended(t, NEVER_STARTED, NEVER_RAN)
        if self.leaving or now() >= self.kill_from(t.lease):
            return self.ended(t, None, NEVER_RAN, "worker_lost", "the worker is leaving or its lease is over; the task never ran")
        if t.unsupported:
            return self.ended(t, None, NEVER_RAN, "start_failed", "this worker has no PTY, no stdin, no other users, no limits and no secrets")
        # The go: in the loop that applies stops, so that none can come between the look above and this.
        self.output.add(t.id, *t.launch(self.lock, self.kill_from(t.lease)))
        self.tasks[t.id] = t

    def stop(self, fields):
        seq, _, _, scope, cutoff, operations, grace = fields[:7]
        self.member["seq"] = max(self.member["seq"], seq)
        scope, closed, covered, more = scope and text(scope), set(operations), [], True
        if scope:
            self.cutoffs[scope] = max((cutoff, seq), self.cutoffs.get(scope, (-1, 0)))
        while more:  # what is covered takes along what is below it
            more = [t for t in self.tasks.values() if t not in covered and (
                not closed.isdisjoint([t.id, *t.ancestors]) or scope and t.as_of <= cutoff and (text(t.scope) + "/").startswith(scope + "/"))]
            covered += more
            closed.update(t.id for t in more)
        for i in closed:
            self.closed.setdefault(i, seq)
        for t in covered:
            self.stop_task(t, seq, t.grace if grace is None else grace)
        for book in (self.known, self.cutoffs, self.closed):  # the oldest are never asked for again: what travels is newer
            while len(book) > 65536:
                del book[next(iter(book))]

    def stop_task(self, t, seq, grace):
        kill_at = now() + grace / 1000
        if t.kill_at is None or kill_at < t.kill_at:
            t.kill_at, t.stopped_at, t.stop_seq = kill_at, t.stopped_at or wall(), t.stop_seq or seq
            t.tell(stop=kill_at)
            if t.stop_seq:
                self.tell(STOPPING, t.id, t.stop_seq, t.stopped_at, wall() + int(grace))

    def heard_of(self, t):
        """What a keeper says. Its end without a word: it was killed, and what it leaves is ours to kill."""
        for said in t.hear():
            if "started" in said and not t.stop_seq:
                self.tell(STARTED, t.id, t.pid, t.started_at, 0)
            elif "left" in said and t.stop_seq:
                why = 1 if not said["killing"] else 3 if any(p[1] == "D" for p in said["left"]) else 2
                self.tell(UNPROVEN, t.id, why, t.stopped_at, len(said["left"]), said["left"][:20], min(why, 2), wall() + 1000)
            elif "ended" in said:
                code = "" if t.stop_seq else "start_failed" if t.failed else "worker_lost" if said["cause"] in ("lease", "stop") else ""
                return self.ended(t, said["ended"] if t.stop_seq else None, GROUP_EMPTY, code, t.failed or ("lease over or worker left" if code else ""))
        if t.silent:
            keepers = {o.keeper_pid for o in self.tasks.values()}
            while send(below(os.getpid(), keepers), signal.SIGKILL):
                pass
            self.ended(t, KILLED if t.stop_seq else None, GROUP_EMPTY, "" if t.stop_seq else "worker_lost", "its keeper was killed")

    def ended(self, t, how, proof, code="", message=""):
        if self.tasks.pop(t.id, None):
            t.keeper.close()
            os.waitpid(t.keeper_pid, 0)
        result = [t.id, t.stop_seq, how, proof, t.exit, code, message, t.started_at, wall(), self.output.finish(t.id) + [0]]
        self.results[t.id] = result
        self.tell(ENDED, *result)

    def stored(self, fields):
        for i in fields[0]:
            self.results.pop(i, None)

    def leave(self, *_):
        self.leaving = self.leaving or now()

    def turn(self):
        """False when the worker has left."""
        self.tick()
        if self.phase == "open":
            self.output.pump()
        if self.leaving:
            for t in self.tasks.values():
                self.stop_task(t, 0, t.grace)
            if not self.tasks and (not self.unacked or now() > self.leaving + 10):
                return self.tell(FAREWELL, "told to leave")
        poller, watched = zmq.Poller(), {t.keeper.fileno(): t for t in self.tasks.values()} | self.output.readable()
        for s in filter(None, (self.control, self.output.socket, *watched)):
            poller.register(s, zmq.POLLIN)
        ready = dict(poller.poll(100 if self.phase == "open" else 20))
        for fd in [fd for fd in ready if fd in watched]:
            self.heard_of(watched[fd]) if isinstance(watched[fd], Task) else watched[fd].fd is None or watched[fd].read()
        for s, take in ((self.control, self.receive), (self.output.socket, self.output.receive)):
            for _ in range(100 if s in ready else 0):
                if s.closed or not s.poll(0):
                    break
                try:
                    take(msgpack.unpackb(s.recv()))
                except (ValueError, TypeError, IndexError) as e:
                    self.apart(f"a frame cannot be read: {e}")
        return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--join-file", required=True, help="holds the line that `quell worker add NAME` printed: a secret")
    parser.add_argument("--state", required=True)
    parser.add_argument("--slots", type=int, default=4)
    flags = parser.parse_args()
    with open(flags.join_file, encoding="ascii") as f:
        flags.join = f.read()
    worker = Worker(flags)
    for s in (signal.SIGTERM, signal.SIGINT):
        signal.signal(s, worker.leave)
    while worker.turn():
        pass
    worker.dealers.context.destroy(linger=1000)
