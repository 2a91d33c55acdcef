"""`quell mcp` and, written by hand, the client at its other end: requests by number, answers as they arrive."""
import json
import re
import subprocess
import threading

import pytest

from .cluster import BIN, Cluster
from .waiting import until

VERSION = "2025-11-25"
STAY = "while :; do sleep 1000; done"
AGAIN = "Do not start this work again unless the user asks."


class McpServer:
    """`with McpServer(cluster, "--scope", "team/a") as m:` shakes hands and registers; `m.call("quell_list")` is a result."""

    def __init__(self, cluster, *flags, env=None, version=VERSION, command=None, handshake=True, cwd=None, reads=True):
        self.cluster = cluster
        words = command or [f"{BIN}/quell", "mcp", *flags]
        # Bytes: a test can send invalid text. Its own session: a signal of the test reaches this server alone.
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd or cluster.directory,
                                        env=env or cluster.environment())
        cluster.clients.append(self.process)
        self.messages, self.log, self.last = [], [], 0
        self.threads = []
        self.in_background(self.read_log)
        if reads:
            self.begin_reading()
        if handshake and reads:
            self.info = self.answer(self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}))
            self.tell("notifications/initialized")

    def in_background(self, work):
        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()

    def begin_reading(self):
        self.in_background(self.read_lines)

    def read_lines(self):
        for line in self.process.stdout:
            self.messages.append(json.loads(line))

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line.decode(errors="replace").rstrip("\n"))

    # ---- the wire ------------------------------------------------------------------------------------------------
    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, method, params=None, id=None):
        self.last += 1
        id = self.last if id is None else id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    def tell(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def answers_to(self, id):
        return [m for m in list(self.messages) if "id" in m and m["id"] == id and type(m["id"]) is type(id)]

    def message(self, id, seconds=60):
        return until(lambda: self.answers_to(id), f"an answer to {id}; the log says {self.log[-5:]}, exit {self.process.poll()}", seconds)[0]

    def answer(self, id, seconds=60):
        message = self.message(id, seconds)
        assert "result" in message, message
        return message["result"]

    # ---- tools ---------------------------------------------------------------------------------------------------
    def begin(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, seconds=70, **arguments):
        """The result, whether it is an error or not."""
        result = self.answer(self.begin(tool, **arguments), seconds)
        assert len(result["content"]) == 1 and result["content"][0]["type"] == "text", result
        assert len(text(result)) <= 2000, text(result)
        return result

    def do(self, tool, **arguments):
        """The structured content of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert result["isError"] is False, text(result)
        return result["structuredContent"]

    def run(self, *command, **arguments):
        return self.do("quell_run", command=list(command), **arguments)

    def output(self, id, **arguments):
        """The result of quell_output, once it has all: output has its own socket, and can arrive after the end."""
        return until(lambda: (lambda o: o if o["structuredContent"]["end"] else None)(self.call("quell_output", id=id, **arguments)), f"all output of {id}")

    def own(self):
        """The server's own operation."""
        line = until(lambda: next((x for x in self.log if "lies below operation" in x), None), f"the registration; the log says {self.log[-5:]}")
        tail = line.rsplit(" ", 1)[1]
        return next(o for o in self.cluster.operations(kind="external") if o["id"].endswith(tail))

    # ---- its end -------------------------------------------------------------------------------------------------
    def close_input(self):
        self.process.stdin.close()

    def exit_code(self, seconds=60):
        until(lambda: self.process.poll() is not None, f"quell mcp to end; the log says {self.log[-5:]}", seconds)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print("---- quell mcp ----\n" + "\n".join(self.log[-20:]))
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.exit_code()
        finally:
            self.process.kill()
            self.process.wait()
            for t in self.threads:
                t.join()
            self.process.stdout.close()
            self.process.stderr.close()


def text(result):
    return "".join(part["text"] for part in result["content"])


def stopped_text(reason):
    """The answer of every call after a user's stop."""
    return f"Cancelled by user: {reason}. {AGAIN}"


@pytest.fixture(scope="module")
def world():
    with Cluster(workers=2) as c:
        yield c


@pytest.fixture
def mcp(world, request):
    with McpServer(world, "--scope", scope_of(request)) as m:
        yield m


def scope_of(request):
    return "mcp/" + re.sub(r"\W", "-", request.node.name)[:100]
