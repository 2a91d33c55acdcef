"""A program on its own terminal, as a person sees it: typed input, and the resulting screen."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios

import pyte

from .waiting import until


class Terminal:
    """`with Terminal([program, …], env) as t:`; `t.see(text)` waits until the text is on the screen or has scrolled off it."""

    def __init__(self, command, env, columns=100, rows=40):
        self.screen = pyte.HistoryScreen(columns, rows, history=2000, ratio=.5)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, dict(env, TERM="xterm", LANG="C.UTF-8"))
        self.resize(columns, rows)
        fcntl.fcntl(self.terminal, fcntl.F_SETFL, os.O_NONBLOCK)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print("---- the terminal ----\n" + "\n".join(self.lines()))
        if self.status is None:
            if kind is not None:
                print("---- its threads ----\n" + "\n".join(self.threads()))
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.hang_up()

    def resize(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def hang_up(self):
        if self.terminal is not None:
            os.close(self.terminal)
            self.terminal = None

    def read(self):
        while self.terminal is not None and select.select([self.terminal], [], [], 0)[0]:
            try:
                piece = os.read(self.terminal, 65536)
            except OSError:
                return
            if not piece:
                return
            self.raw += piece
            self.stream.feed(piece)

    def lines(self):
        """All lines from the first to the last, without trailing blanks."""
        self.read()
        gone = ["".join(row[i].data for i in range(self.screen.columns)) for row in self.screen.history.top]
        out = [line.rstrip() for line in gone + list(self.screen.display)]
        while out and not out[-1]:
            out.pop()
        return out

    def text(self):
        return "\n".join(self.lines())

    def last(self):
        lines = self.lines()
        return lines[-1] if lines else ""

    def see(self, *wanted, seconds=60):
        def all_there():
            text = self.text()
            return all(w in text for w in wanted) and text
        return until(all_there, f"{wanted} on the terminal", seconds)

    def prompt(self, text="›", seconds=60):
        return until(lambda: self.last() == text or None, f"the prompt {text!r}; the last line is not it", seconds)

    def type(self, text):
        os.write(self.terminal, text.encode() if isinstance(text, str) else text)

    def enter(self, text):
        self.type(text + "\r")

    def threads(self):
        """What each thread of the program waits in, and its pending and blocked signals."""
        for thread in sorted(os.listdir(f"/proc/{self.pid}/task")):
            yield f"thread {thread}"
            for name, wanted in (("status", ("Name", "State", "Sig", "Shd")), ("wchan", ("",)), ("syscall", ("",)), ("stack", ("",))):
                try:
                    with open(f"/proc/{self.pid}/task/{thread}/{name}") as f:
                        yield from (f"  {line.rstrip()}" for line in f if line.startswith(wanted))
                except OSError as e:
                    yield f"  {name}: {e}"

    def end(self, seconds=60):
        """The program's exit code, after it has ended by itself."""
        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid
        until(ended, "the program on the terminal to end", seconds)
        self.read()
        return self.status
