"""The soak: random load, faults and cancels from one seed for QUELL_SOAK_SECONDS (1200), then an audit. `make soak` runs it.

Phases alternate. In a rough phase programs are killed, frozen and cut off, their disks fail and their clocks jump. In a steady phase nothing is killed, so that
the resources of each program at its start and at its end can be compared: descriptors, threads, memory. After each phase everything must settle."""
import argparse
import errno
import http.client
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

from harness import audit, faults, measures, processes
from harness.cluster import levels, marker
from harness.faults import DAY, FaultyCluster, Machine
from harness.network import DOWN, UP, Relay, add_far_worker
from harness.processes import guardian_of
from harness.waiting import until
from test_chaos import Load

PHASE_SECONDS = 60


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class SoakLoad(Load):
    """Includes tasks that are loud, short-lived, timed out, deep, or end immediately by themselves."""

    def command(self, r):
        note = f"echo $QUELL_OPERATION >> {self.runs}; "
        stay = "while :; do sleep 1000; done"
        return r.choice([lambda: super(SoakLoad, self).command(r),
                         lambda: ["bash", "-c", note + "head -c 200000 /dev/zero; exit 3", self.marker],
                         lambda: ["bash", "-c", note + f"(setsid bash -c '{stay}' {self.marker} &) ; exit 0", self.marker],
                         lambda: ["bash", "-c", note + f"trap '' TERM INT HUP; for i in 1 2 3; do bash -c \"trap '' TERM; {stay}\" {self.marker} & done; wait", self.marker],
                         lambda: ["/no/such/program", self.marker]])()


class Soak:
    def __init__(self, seconds, seed):
        self.seconds, self.random, self.seed = seconds, random.Random(seed), seed
        self.marker = marker("soak")
        self.machine = Machine()
        self.relay = None
        self.growth = measures.Growth()
        self.accepted, self.cancels, self.faults = set(), set(), 0

    # ---- the cluster ----------------------------------------------------------------------------------------------
    def run(self):
        end = time.monotonic() + self.seconds
        strongest = levels()
        self.cluster = c = FaultyCluster(self.machine, workers=0, slots=12,
                                         settings=["workers.lease=3s", "workers.heartbeat=200ms", "store.keep_events=10000000"])
        self.machine.directory = c.state
        with self.machine, c:
            c.add_worker("near")
            c.add_worker("weak", flags=["--containment", strongest[-1]])
            self.relay = Relay("127.0.9.1", c.ports[1:])
            try:
                add_far_worker(c, "far", "127.0.9.1")
                rough, phase = False, 0
                while time.monotonic() < end:
                    phase += 1
                    length = min(PHASE_SECONDS * (1 if rough else 2), max(self.seconds / 4, 4), max(end - time.monotonic(), 1))
                    self.phase("rough" if rough else "steady", phase, length)
                    rough = not rough
                self.audit()
            finally:
                self.relay.close()

    def phase(self, kind, number, seconds):
        end, c, r = time.monotonic() + seconds, self.cluster, self.random
        load = SoakLoad(c, self.marker, r.randrange(1 << 30), runs=os.path.join(c.directory, "runs"))
        done = []
        try:
            while time.monotonic() < end:
                load.more(r.randrange(5, 60))
                actions = [*self.gentle(), *(self.violent() if kind == "rough" else [])]
                name, action = r.choice(actions)
                done.append(f"{time.strftime('%H:%M:%S')} {name}")
                action(load)
                self.revive()
        except BaseException:
            say("the last faults: " + ", ".join(done[-12:]))
            raise
        finally:
            self.heal()
            load.end()
        assert not load.wrong, load.wrong[:3]
        self.faults += len(done)
        self.accepted |= set(load.accepted)
        self.cancels |= set(filter(None, load.cancels))
        audit.settle(c, self.marker, "chaos")
        audit.check_workers(c)
        held = measures.cluster(c)
        say(f"phase {number} ({kind}): {len(done)} faults, {len(self.accepted)} operations and {len(self.cancels)} cancels accepted so far; "
            + measures.line(held))
        look = lambda: self.growth.check(measures.cluster(c), len(self.accepted), audit.store_bytes(c.state))
        leak = look() and until_at_rest(look)
        assert not leak, leak

    def revive(self):
        """Restarts the programs that a fault has ended, as a supervisor does."""
        c = self.cluster
        if has_ended(c.controller):
            self.machine.disarm()
            c.start_controller()
        for name, w in list(c.workers.items()):
            if has_ended(w.process):
                c.add_worker(name, wait=False)

    def heal(self):
        self.machine.disarm()
        self.machine.jump_wall(0)
        self.relay.heal()
        for pid in self.programs():
            send(pid, signal.SIGCONT)
        self.revive()

    def programs(self):
        c = self.cluster
        return [p for p in (c.controller.pid, *(w.process.pid for w in c.workers.values()), *(guardian_of(w.process.pid) for w in c.workers.values())) if p]

    # ---- faults -----------------------------------------------------------------------------------------------------
    def gentle(self):
        """Faults after which every program is still the same process."""
        r, relay = self.random, self.relay

        def freeze(load):
            chosen = r.sample(self.programs(), r.randrange(1, 4))
            for pid in chosen:
                send(pid, signal.SIGSTOP)
            load.more(r.choice([1, 5, 40]))
            for pid in chosen:
                send(pid, signal.SIGCONT)

        def cut(load):
            relay.cut(*r.choice([(UP,), (DOWN,), (UP, DOWN)]))
            load.more(r.choice([5, 50, 300]))
            relay.heal()

        def cancel_all(load):
            try:
                self.cluster.api("POST", "/v1/cancels", {"scope": "chaos"}, timeout=20)
            except (OSError, http.client.HTTPException):
                load.more(5)  # it has just had a disk error, or is slow to start

        def half_open(load):
            relay.set(mute=r.random() < 0.5)
            relay.forget()
            load.more(r.choice([5, 100]))
            relay.heal()

        return [("freeze", freeze), ("cut", cut), ("half open", half_open), ("reset", lambda load: relay.reset()),
                ("slow link", lambda load: relay.set(delay=r.random() * 0.3)), ("good link", lambda load: relay.set(delay=0.0)),
                ("wall clock", lambda load: self.machine.jump_wall(r.choice([0, DAY, -DAY]) // 4)),
                ("cancel all", cancel_all),
                ("calm", lambda load: load.more(50)), ("calm", lambda load: load.more(50))]

    def violent(self):
        r, c = self.random, self.cluster

        def kill(pid, sig=signal.SIGKILL):
            def action(load):
                target = pid()
                if target:
                    send(target, sig)
                    until(lambda: not processes.alive(target), f"process {target} to end", 40)
            return action

        def disk(load):
            self.machine.arm(r.randrange(1, 40), r.choice([faults.WRITES, faults.SYNCS, faults.WRITES | faults.SIZES, faults.OPENS]),
                             r.choice([errno.EIO, errno.ENOSPC]), stays=r.random() < 0.3)
            load.more(r.choice([5, 40]))
            self.machine.disarm()

        any_worker = lambda: r.choice(list(c.workers.values())).process.pid
        return [("kill quelld", kill(lambda: c.controller.pid)), ("stop quelld", kill(lambda: c.controller.pid, signal.SIGTERM)),
                ("kill worker", kill(any_worker)), ("stop worker", kill(any_worker, signal.SIGTERM)),
                ("kill guardian", kill(lambda: guardian_of(any_worker()))), ("disk", disk)]

    # ---- the end ------------------------------------------------------------------------------------------------------
    def audit(self):
        c = self.cluster
        shown = audit.check_records(c, self.accepted, self.cancels)
        audit.check_runs(shown, os.path.join(c.directory, "runs"))
        audit.check_workers(c)
        c.wait_status(c.start("true", scope="after")["id"], "completed")
        say(f"audit: {len(shown)} operations, {len(self.cancels)} cancels, {self.faults} faults; store, API, workers and /proc agree, nothing leaked")


def send(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def has_ended(process):
    """True also for a process whose first thread is gone and whose other threads are ending."""
    if not processes.alive(process.pid):
        process.wait(timeout=30)
    return process.poll() is not None


def until_at_rest(look, seconds=15):
    """The last finding, after nothing improves any more: connections close a moment after their clients."""
    end, found = time.monotonic() + seconds, look()
    until(lambda: time.monotonic() > end or look() is None, "the programs to come to rest", seconds + 5)
    return look() if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("QUELL_SOAK_SECONDS", "1200")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("QUELL_SOAK_SEED", random.randrange(1 << 30))))
    options = parser.parse_args()
    say(f"soak of {options.seconds} s, QUELL_SOAK_SEED={options.seed}")
    Soak(options.seconds, options.seed).run()


if __name__ == "__main__":
    main()
