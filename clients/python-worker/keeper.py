"""The keeper of one task: a process of its own that is the parent of all of it, and the only one that signals and kills it.

It is the task's subreaper: what the task leaves behind becomes its child. No child left to wait for = no process left, which
is the proof. It kills at a stop's kill, at the lease's end also when the worker hangs, and at once when the worker dies.
Containment `group`: a fast re-forker may outrun the walk over /proc, and a task of the same uid can kill its keeper.
"""
import ctypes
import json
import os
import select
import signal
import socket
import time
import uuid

text = os.fsdecode  # arguments and environments are bytes: msgpack str where they are UTF-8, else bin
prctl = ctypes.CDLL(None).prctl


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall():
    return time.time_ns() // 1_000_000


class Task:
    """The worker's end: what a `start` ordered, and what its keeper has said of it."""

    def __init__(self, fields, home):
        self.id, self.seq, self.as_of, self.scope, root, self.ancestors, spec, self.grace, token = fields[:9]
        self.lease, self.kill_rest, self.signal, host = spec[10], spec[9] == 1, signal.Signals["SIG" + text(spec[5])], socket.gethostname()
        self.unsupported = spec[3] or spec[4] or spec[14] or any(spec[16:20])
        self.argv, self.env = [text(a) for a in spec[0]], {text(k): text(v) for k, v in spec[2].items()}
        self.env = {k: os.environ[k] for k in ("PATH", "HOME", "USER", "LANG", "TMPDIR", "QUELL_WORKER_STATE") if k in os.environ} | self.env
        self.env.update(QUELL_OPERATION=str(uuid.UUID(bytes=self.id)), QUELL_ROOT=str(uuid.UUID(bytes=root)), QUELL_SCOPE=text(self.scope),
                        QUELL_GRACE_MS=str(self.grace), **({"QUELL_TOKEN": text(token)} if token else {}))
        near = spec[12] and spec[13] == host and os.path.isdir(spec[12])
        self.cwd = text(spec[1] or (spec[12] if near else home))
        self.pid = self.started_at = self.stop_seq = self.stopped_at = 0
        self.exit, self.kill_at, self.rest, self.failed, self.silent = None, None, b"", None, False

    def launch(self, lock, kill_from):
        """Forks the keeper, which keeps the state directory's lock; the task's stdout and stderr."""
        self.keeper, theirs = socket.socketpair()
        (out, out_in), (err, err_in) = os.pipe(), os.pipe()
        self.started_at, self.keeper_pid = wall(), os.fork()
        if self.keeper_pid == 0:
            try:
                keep(self, theirs, lock, out_in, err_in, kill_from)
            finally:
                os._exit(0)
        theirs.close()
        os.close(out_in)
        os.close(err_in)
        return out, err

    def tell(self, **what):
        try:
            self.keeper.sendall(json.dumps(what).encode() + b"\n")
        except OSError:
            pass  # it has ended or was killed: hear() sees it

    def hear(self):
        data = self.keeper.recv(65536)
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.silent = not data
        for said in map(json.loads, lines):
            self.pid = said.get("started", self.pid)
            if "failed" in said:
                self.exit, self.failed = [said["failed"], None], said["why"]
            elif "leader" in said and not self.failed:
                self.exit = [said["leader"], None] if said["leader"] >= 0 else [None, signal.Signals(-said["leader"]).name[3:]]
            yield said


def stat(pid):
    """State, parent and start time."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), fields[19]
    except (OSError, IndexError):
        return "X", 0, 0


def below(root, but=()):
    """{pid: stat} of the living below `root`, without those in and below `but`."""
    everybody = {int(p): stat(p) for p in os.listdir("/proc") if p.isdigit()}
    found, edge = {}, {root}
    while edge:
        edge = {p for p, s in everybody.items() if s[1] in edge and p not in found and p not in but}
        found.update((p, everybody[p]) for p in edge)
    return {p: s for p, s in found.items() if s[0] not in "ZX"}


def left_of(state):
    """What runs with this QUELL_WORKER_STATE in its environment."""
    found = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/environ", "rb") as f:
                if f"QUELL_WORKER_STATE={state}".encode() in f.read().split(b"\0"):
                    found[int(p)] = stat(int(p))
        except OSError:
            pass
    return {p: s for p, s in found.items() if s[0] not in "ZX"}


def send(pids, *signals):
    """Whether anybody was there. A pid that was reused since has another start time and is left alone."""
    reached = False
    for pid, seen in pids.items():
        try:
            handle = os.pidfd_open(pid)
            for s in signals if stat(pid)[2] == seen[2] else ():
                signal.pidfd_send_signal(handle, s)
                reached = True
            os.close(handle)
        except OSError:
            pass
    return reached


def lead(t, keeper, out, err, status):
    """Becomes the command, or says through `status` why it cannot; a successful exec closes it."""
    os.setsid()
    prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.set_wakeup_fd(-1)
    for s in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(s, signal.SIG_DFL)
    try:
        for fd, to in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(fd, to)
        if os.getppid() == keeper:
            os.chdir(t.cwd)
            os.execvpe(t.argv[0], t.argv, t.env)
    except (OSError, ValueError) as e:
        failed = 127 if isinstance(e, FileNotFoundError) else 126
        os.write(status, json.dumps({"failed": failed, "why": f"{t.argv[0]}: {e}"[:400]}).encode() + b"\n")
    os._exit(126)


def keep(t, control, lock, out, err, kill_from):
    """The keeper. Hears {"kill_from"}, {"stop"}; says {"started"}, {"failed"}, {"leader"}, {"left"}, {"ended"}."""
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    for fd in {int(f) for f in os.listdir("/proc/self/fd")} - {0, 1, 2, control.fileno(), lock, out, err}:
        try:
            os.close(fd)
        except OSError:
            pass
    wake_out, wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    for s in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(s, lambda *_: None)
    signal.set_wakeup_fd(wake_in)
    exec_out, exec_in = os.pipe()
    keeper, leader = os.getpid(), os.fork()
    if leader == 0:
        lead(t, keeper, out, err, exec_in)
    for fd in (out, err, exec_in):
        os.close(fd)

    def say(line=b"", **what):
        try:
            control.sendall(line or json.dumps(what).encode() + b"\n")
        except OSError:
            pass  # the worker is gone: recv sees it
    kill_at, look_at, force, cause, rest, watched = None, None, 0, None, b"", [control, wake_out, exec_out]
    while True:
        ready = select.select(watched, [], [], min(60, max(0, min(t for t in (kill_from, kill_at, look_at) if t) - now())))[0]
        if wake_out in ready:
            os.read(wake_out, 4096)
        if exec_out in ready:
            watched.remove(exec_out)
            say(os.read(exec_out, 4096), started=leader)
        if control in ready:
            data = control.recv(65536)
            *lines, rest = (rest + data).split(b"\n")
            for said in map(json.loads, lines):
                kill_from = said.get("kill_from", kill_from)
                if "stop" in said:
                    if cause is None and send(below(os.getpid()), t.signal, signal.SIGCONT):
                        force = 1
                    cause, look_at, kill_at = cause or "stop", now() + 1, min(kill_at or said["stop"], said["stop"])
            if not data:
                watched.remove(control)
                cause, kill_at = cause or "worker", now()
        try:
            while (died := os.waitpid(-1, os.WNOHANG))[0]:
                if died[0] == leader:
                    say(leader=os.waitstatus_to_exitcode(died[1]))
                    if t.kill_rest and not cause:
                        cause, kill_at = "leader", now()
        except ChildProcessError:
            return say(ended=force, cause=cause)
        if now() >= kill_from:
            cause, kill_at, kill_from = cause or "lease", now(), now() + 3600
        if kill_at is not None and now() >= kill_at:
            rounds = 20  # against what forks while it is killed
            while rounds and send(below(os.getpid()), signal.SIGKILL):
                force, rounds = 2, rounds - 1
            kill_at = now() + 0.02
        if look_at is not None and now() >= look_at:
            look_at = now() + 1
            say(left=[[p, s[0], ""] for p, s in below(os.getpid()).items()], killing=force == 2)
