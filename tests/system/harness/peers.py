"""Other people's programs from npm, installed once per build folder, and programs that talk in lines."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

from harness.cluster import BIN, free_ports
from harness.waiting import until


HOME = os.path.join(os.path.dirname(BIN), "peers")


def is_required():
    return os.environ.get("QUELL_PEERS") == "required"


def go_without(why):
    """Skips the test for want of a program, and notes its file for the end of `make test`. With QUELL_PEERS=required (.ci/run,
    where npm can install) it fails."""
    if is_required():
        pytest.fail(why, pytrace=False)
    os.makedirs(HOME, exist_ok=True)
    with open(os.path.join(HOME, "skipped"), "a") as notes:
        notes.write(os.path.basename(os.environ.get("PYTEST_CURRENT_TEST", "a test").split("::")[0]) + "\n")
    pytest.skip(why)


def installed(name, packages):
    """The folder that contains their node_modules; skips the test if they cannot be installed. A second concurrent installer
    loses the race and uses the first one's."""
    home = os.path.join(HOME, name)

    def complete():
        return all(os.path.exists(os.path.join(home, "node_modules", package.rsplit("@", 1)[0], "package.json")) for package in packages)
    if not shutil.which("node"):
        go_without("node is not installed")
    if complete():
        return home
    if not shutil.which("npm"):
        go_without(f"npm is not installed, and so is no {packages[0]}")
    os.makedirs(os.path.dirname(home), exist_ok=True)
    fresh = tempfile.mkdtemp(dir=os.path.dirname(home))
    try:
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", fresh, *packages]
        for _ in range(2):  # a registry can fail once
            done = subprocess.run(command, capture_output=True, text=True, timeout=240 if is_required() else 180)
            if done.returncode == 0 or not is_required():
                break
        if done.returncode != 0 and not complete():
            go_without(f"npm cannot install {packages}, perhaps without a network: {done.stderr[-300:]}")
        if not complete():
            os.rename(fresh, home)
    except (subprocess.TimeoutExpired, OSError):
        pass  # checked below
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    if not complete():
        go_without(f"npm did not install {packages} in time")
    return home


MCP_HOME = "mcp-2026.8.31-2.4.0"
MCP_PACKAGES = ["@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31",
                "@modelcontextprotocol/server@2.4.0"]


def program_of(home, package):
    return os.path.join(home, "node_modules", "@modelcontextprotocol", package, "dist", "index.js")


# server-everything calls listen() without an address, which means every interface; this restricts all listeners to loopback.
LOOPBACK_ONLY = """
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) { return listen.call(this, Number(port), '127.0.0.1', ...rest.filter((x) => typeof x === 'function')); };
import(require('node:url').pathToFileURL(process.argv[1]).href);
"""


def answers_at(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@contextlib.contextmanager
def everything_on_the_web(home, folder, port=None):
    """server-everything over HTTP, on loopback: its URL, and a function that counts some words in its log."""
    with open(os.path.join(folder, "everything.log"), "w+") as log:
        if port is None:
            port, = free_ports(1)
        process = subprocess.Popen(["node", "-e", LOOPBACK_ONLY, program_of(home, "server-everything"), "streamableHttp"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "PORT": str(port)})

        def said(words):
            with open(log.name) as text:
                return text.read().count(words)
        try:
            until(lambda: answers_at(port), "server-everything to listen")
            yield f"http://127.0.0.1:{port}/mcp", said
        finally:
            process.kill()
            process.wait()


class Program:
    """Commands in, lines out; it ends when its standard input is closed."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def all(self, start):
        return [line.rstrip("\n") for line in list(self.lines) if line.startswith(start)]

    def line(self, start, count=1):
        def found():
            has_ended = self.process.poll() is not None
            if has_ended:
                self.reader.join(10)  # reads what is left
            fit = self.all(start)
            assert len(fit) >= count or not has_ended, f"{self.process.args} ended ({self.process.returncode}) after {self.lines[-20:]}"
            return fit[count - 1] if len(fit) >= count else None
        return until(found, f"{count} lines '{start}…' of {self.process.args[0]}; there are {self.lines[-20:]}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()
