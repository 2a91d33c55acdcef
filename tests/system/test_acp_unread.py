"""`quell acp` beside an editor that has stopped reading: its stop is heard, its end ends everything, and what it misses is kept by the
controller alone."""
import contextlib
import fcntl
import json
import os
import re
import select
import struct
import subprocess
import termios
import threading

import pytest

from harness.cluster import BIN
from harness.measures import SANITIZED
from harness.model_player import PLAYED, Player
from harness.turns import TurnCluster
from harness.waiting import until

THOUGHT_KIB = 6000  # of a turn; more than the 4 MiB that are kept for an editor
BLOCK = 64


class Thinker(Player):
    """`thinks` in the words of the person: it thinks aloud, in numbered pieces, before it goes on."""

    def __init__(self):
        super().__init__()
        self.go, self.thoughts = threading.Event(), 0  # how often it has thought

    def play(self, to, dialect, text, is_result, size):
        if "thinks" not in text:
            return super().play(to, dialect, text, is_result, size)
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        say = PLAYED[dialect](to)
        while not self.go.wait(0.05) and not self.over.is_set():
            pass
        for i in range(THOUGHT_KIB // BLOCK):
            say.think(thought(i))
        with self.guard:
            self.thoughts += 1
        if "for ever" in text:
            self.hold(to)
            self.hung_up += 1
            return None
        while not self.released.wait(0.05) and not self.over.is_set():
            to.wfile.write(b": still here\n\n")
            to.wfile.flush()
        say.text("All right.")
        return say.end("end")


def thought(i):
    return f"<{i:06d}>" + "x" * (BLOCK * 1024 - 8)


def whole_thought():
    return "".join(thought(i) for i in range(THOUGHT_KIB // BLOCK))


class Editor:
    """Speaks ACP by hand, and reads when it is told to."""

    def __init__(self, cluster):
        env = dict(os.environ, QUELL_URL=cluster.url, QUELL_TOKEN=cluster.token)
        self.process = subprocess.Popen([f"{BIN}/quell", "acp", "--scope", "edit", "--agent", "thinker"], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.rest, self.lines, self.requests = b"", [], 0
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method, params):
        self.requests += 1
        self.say({"id": self.requests, "method": method, "params": params})
        return self.requests

    def read_some(self):
        if not select.select([self.process.stdout], [], [], 0.05)[0]:
            return
        *lines, self.rest = (self.rest + os.read(self.process.stdout.fileno(), 1 << 20)).split(b"\n")
        self.lines += [json.loads(line) for line in lines]

    def answer(self, request):
        def look():
            self.read_some()
            return next((m for m in self.lines if m.get("id") == request and "method" not in m), None)
        return until(look, f"the answer to request {request}", 90)

    def call(self, method, params):
        return self.answer(self.begin(method, params))["result"]

    def new(self):
        return self.call("session/new", {"cwd": "/", "mcpServers": []})["sessionId"]

    def prompt(self, session, text):
        return self.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def unread(self):
        """Bytes that wait in the pipe to the editor."""
        return struct.unpack("i", fcntl.ioctl(self.process.stdout, termios.FIONREAD, b"\0\0\0\0"))[0]

    def shown(self, session, kind):
        updates = [m["params"] for m in self.lines if m.get("method") == "session/update"]
        return "".join(u["update"]["content"]["text"] for u in updates
                       if u["sessionId"] == session and u["update"]["sessionUpdate"] == kind)

    def most_memory(self):
        """The most bytes that the program has had in memory."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) * 1024


@pytest.fixture
def world():
    player = Thinker()
    try:
        config = (f'[[models]]\nname = "thinker"\nprovider = "openai"\nmodel = "m"\nbase_url = "{player.url}"\n'
                  '[[agents]]\nname = "thinker"\nmodel = "thinker"\n')
        with TurnCluster([{"text": "You said {{text}}."}], config) as c, Editor(c) as e:
            yield c, e, player
    finally:
        player.close()


def fills_the_pipe(c, e, player, sessions, text):
    """Prompts in each session, and reads nothing of it any more. By session the request and the turn, once all that is thought is stored."""
    player.go.clear()
    player.thoughts = 0
    requests = {session: e.prompt(session, text) for session in sessions}
    until(lambda: player.open == len(sessions), "the model to be asked")
    player.go.set()
    until(lambda: player.thoughts == len(sessions), "everything to be thought", 120)
    turns = {session: c.operations(kind="turn", scope=session)[0]["id"] for session in sessions}
    for turn in turns.values():
        until(lambda: sum(len(d["data"]["text"]) for d in c.events(turn, "thinking_delta")) == len(whole_thought()), "it to be stored", 90)
    until(lambda: e.unread() > 32 * 1024, "the pipe to be full")
    return {session: (requests[session], turns[session]) for session in sessions}


def one_that_fills_the_pipe(c, e, player):
    session = e.new()
    return session, *fills_the_pipe(c, e, player, [session], "thinks for ever")[session]


def test_a_cancel_by_an_editor_that_reads_nothing_stops_its_turn(world):
    c, e, player = world
    session, request, turn = one_that_fills_the_pipe(c, e, player)
    e.say({"method": "session/cancel", "params": {"sessionId": session}})
    over = c.ended(turn)
    assert over["status"] == "cancelled", over
    assert c.api("GET", f"/v1/cancels/{over['stop']['cancel']}").json["reason"] == "cancelled in the editor", over
    until(lambda: player.hung_up == 1, "the model to see the hang-up")
    done = e.answer(request)["result"]  # it reads again
    assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["proven"] is True, done
    assert whole_thought().startswith(e.shown(session, "agent_thought_chunk"))
    answered = e.answer(e.prompt(session, "hello"))["result"]
    assert answered["stopReason"] == "end_turn" and "All right." in e.shown(session, "agent_message_chunk"), answered
    c.check_scope(session)


@pytest.mark.parametrize("how", ["closes a session", "cancels the request"])
def test_every_other_stop_by_such_an_editor_is_heard_too(world, how):
    c, e, player = world
    session, request, turn = one_that_fills_the_pipe(c, e, player)
    later = e.begin("session/new", {"cwd": "/", "mcpServers": []})  # it waits until the editor reads
    if how == "closes a session":
        e.begin("session/close", {"sessionId": session})
    else:
        e.say({"method": "$/cancel_request", "params": {"requestId": request}})
    assert c.ended(turn)["status"] == "cancelled"
    assert e.answer(request)["result"]["stopReason"] == "cancelled"
    assert e.answer(later)["result"]["sessionId"].startswith("edit/acp/")


@pytest.mark.parametrize("how", ["cancels the prompt", "cancels the request"])
def test_a_prompt_that_waits_for_such_an_editor_is_cancelled_before_it_begins(world, how):
    c, e, player = world
    other = e.new()
    session, request, turn = one_that_fills_the_pipe(c, e, player)
    waits = e.prompt(other, "hello")
    if how == "cancels the prompt":
        e.say({"method": "session/cancel", "params": {"sessionId": other}})
    else:
        e.say({"method": "$/cancel_request", "params": {"requestId": waits}})
    e.say({"method": "session/cancel", "params": {"sessionId": session}})
    assert c.ended(turn)["status"] == "cancelled"
    done = e.answer(waits)["result"]
    assert done["stopReason"] == "cancelled" and done["_meta"]["quell"]["proven"] is True, done
    assert e.answer(request)["result"]["stopReason"] == "cancelled"
    e.answer(e.begin("session/new", {"cwd": "/", "mcpServers": []}))  # everything before it has been taken
    assert c.operations(kind="turn", scope=other) == []


def test_an_editor_that_reads_nothing_and_leaves_is_noticed(world):
    c, e, player = world
    _, _, turn = one_that_fills_the_pipe(c, e, player)
    e.process.stdin.close()
    over = c.ended(turn)
    assert over["status"] == "cancelled", over
    assert e.process.wait(60) == 0  # although nobody has read
    until(lambda: player.hung_up == 1, "the model to see the hang-up")


def test_an_editor_that_reads_on_gets_everything_and_little_was_kept_for_it(world):
    c, e, player = world
    sessions = [e.new() for _ in range(10)]
    before = e.most_memory()
    prompts = fills_the_pipe(c, e, player, sessions, "thinks, then ends")
    kept = e.most_memory() - before
    assert kept < 40 * 1024 * 1024 or SANITIZED, kept  # of some 60 MiB
    player.released.set()
    for session in sessions:
        assert c.ended(prompts[session][1])["status"] == "completed"
    for session in sessions:
        assert e.answer(prompts[session][0])["result"]["stopReason"] == "end_turn"
        assert e.shown(session, "agent_thought_chunk") == whole_thought(), session
        assert e.shown(session, "agent_message_chunk") == "All right."


def test_an_editor_that_only_sends_is_left_after_a_while(world):
    c, e, player = world
    session, _, turn = one_that_fills_the_pipe(c, e, player)
    words = {"type": "text", "text": "y" * (1 << 20)}
    with contextlib.suppress(BrokenPipeError):
        for _ in range(100):
            e.begin("session/prompt", {"sessionId": session, "prompt": [words]})
    assert c.ended(turn)["status"] == "cancelled"
    assert e.process.wait(60) == 0
