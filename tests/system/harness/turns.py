"""Turns of a real cluster: a scripted model, messages posted and streamed, their stored form, and a strict validator of conversations."""
import json
import os
import socket
import urllib.parse
from collections import Counter

from .cluster import Cluster
from .waiting import until

ENDS = ("operation_completed", "operation_failed", "operation_cancelled")


class TurnCluster(Cluster):
    """`script` is the scripted model's (docs/models.md), `config` more TOML after one agent `main` and its model."""

    def __init__(self, script, config="", agent="", **options):
        super().__init__(**options)
        self.workspace = os.path.join(self.directory, "workspace")
        os.mkdir(self.workspace)
        self.script = os.path.join(self.directory, "script.json")
        with open(self.script, "w") as f:
            json.dump({"answers": script}, f)
        self.config = os.path.join(self.directory, "quelld.toml")
        with open(self.config, "w") as f:
            f.write(f'[[models]]\nname = "script"\nprovider = "scripted"\nbase_url = "{self.script}"\n'
                    f'[[agents]]\nname = "main"\nmodel = "script"\nworkspace = "{self.workspace}"\n{agent}\n'
                    + config.replace("WORKSPACE", self.workspace))

    def start_controller(self, flags=(), **options):
        return super().start_controller(["--config", self.config, *flags], **options)

    def configuration(self):
        with open(self.config) as f:
            return f.read()

    def configure(self, text):
        """Replaces the configuration whole, so that nobody reads half of it; it holds from the next start or reload on."""
        with open(self.config + ".new", "w") as f:
            f.write(text)
        os.rename(self.config + ".new", self.config)

    def restart(self):
        self.kill_controller()
        self.start_controller()

    def remembers(self, service):
        """What the connector of a chat service keeps for its next life; {} = nothing yet."""
        try:
            with open(os.path.join(self.state, "chat", service + ".json")) as f:
                return json.load(f)
        except FileNotFoundError:
            return {}

    # ---- messages -----------------------------------------------------------------------------------------------
    def post(self, scope, text, token=None, **fields):
        body = {"scope": scope, "text": text, "author": {"id": "mia", "name": "Mia"}, **fields}
        return self.api("POST", "/v1/messages", body, token=token)

    def say(self, scope, text, **fields):
        """Posts the text; returns the id of the turn that answers."""
        answer = self.post(scope, text, **fields)
        assert answer.status == 202, answer.body
        return answer.json["turn"]["id"]

    def stream(self, scope, text, **fields):
        return Streamed(self, scope, text, fields)

    def messages(self, scope, **query):
        found, cursor = [], None
        while True:
            q = dict(query, scope=scope, limit=1000, **({"cursor": cursor} if cursor else {}))
            page = self.api("GET", "/v1/messages?" + urllib.parse.urlencode(q)).json
            found += page["messages"]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def of_turn(self, scope, turn):
        return [m for m in self.messages(scope) if m["turn"] == turn]

    def results(self, scope, turn):
        return [r for m in self.of_turn(scope, turn) if m["role"] == "tool" for r in m["results"]]

    def events(self, operation, *types):
        """All stored events of the operation and of those below it."""
        return [e for e in self.stored_events(operation) if not types or e["type"] in types]

    def wait_event(self, operation, *types, seconds=60):
        return until(lambda: self.events(operation, *types), f"an event {types} of {operation}", seconds)

    def ended(self, turn, seconds=60):
        return self.wait_status(turn, "completed", "failed", "cancelled", seconds=seconds)

    def below(self, turn, **query):
        return self.operations(below=turn, **query)

    def chat_memory(self, service):
        """What the connector has stored for its next life."""
        try:
            with open(os.path.join(self.state, "chat", service + ".json")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def call(self, turn, name, *statuses, seconds=60):
        """The operation of the first call of this tool, as soon as it has such a status."""
        def look():
            found = [o for o in reversed(self.below(turn, kind="tool_call")) if o["name"] == name]
            return found[0] if found and (not statuses or found[0]["status"] in statuses) else None
        return until(look, f"the call {name} of {turn} to be {statuses}", seconds)

    # ---- invariants -----------------------------------------------------------------------------------------------
    def check_scope(self, scope):
        """The conversation is valid; every turn that has ended has exactly one end event, and so has every operation below it."""
        messages = self.messages(scope)
        wrong = broken_history(messages)
        assert not wrong, (scope, wrong)
        for turn in {m["turn"] for m in messages if not m["discarded"]} - {None}:
            if self.operation(turn)["status"] in ("completed", "failed", "cancelled"):
                self.check_turn(turn)
        return messages

    def check_turn(self, turn):
        below = self.below(turn)  # before the events: a detached task can end in between
        events = self.events(turn)
        overs = [e for e in events if e["type"] in ("turn_abort", "turn_complete")]
        assert len(overs) == 1, (turn, [(e["type"], e["data"]) for e in overs], self.operation(turn))
        status = self.operation(turn)["status"]
        assert (overs[0]["type"] == "turn_complete") == (status == "completed"), (overs, self.operation(turn))
        for o in below:
            if o["on_parent_end"] == "detach" and not o["ended_at"]:
                continue  # it goes on without its turn
            ends = [e["type"] for e in events if e["operation"] == o["id"] and e["type"] in ENDS]
            assert ends == ["operation_" + o["status"]], (ends, o)
            if o["status"] == "cancelled":
                assert o["stop"] and o["stop"]["receipt"] and o["stop"]["proof"], o
        told = Counter((e["operation"], e["data"]["call"], e["type"]) for e in events if e["type"] in ("tool_start", "tool_result", "tool_timeout"))
        assert not [x for x, times in told.items() if times > 1], told
        # The approval to begin is asked for once; so is each later question of the call.
        asked = sorted(e["data"].get("question", {}).get("id", e["data"]["operation"]) for e in events if e["type"] == "approval_required")
        settled = sorted(e["data"].get("question", e["data"]["operation"]) for e in events if e["type"] == "approval_resolved")
        assert asked == settled and len(set(asked)) == len(asked), (asked, settled)
        late = [e["type"] for e in events if int(e["id"]) > int(overs[0]["id"]) and e["operation"] == turn
                and e["type"] in ("turn_start", "text_delta", "tool_start", "tool_result")]
        assert not late, late
        return overs[0]

    def next_message_is_taken(self, scope, text="hello", **fields):
        turn = self.say(scope, text, **fields)
        assert self.ended(turn)["status"] == "completed", self.operation(turn)
        return turn


def broken_history(messages):
    """The first rule of a conversation that these messages (GET /v1/messages) break, in words; None if they keep all."""
    seqs = [m["seq"] for m in messages]
    if seqs != sorted(set(seqs)):
        return "not in the order of their seq"
    turns, seen = {}, set()
    for m in messages:
        if m["role"] == "summary":
            if m["turn"] or m["results"] or m["tool_calls"] or not m["summary"] or m["summary"]["clear"] != (m["text"] == ""):
                return f"not a summary: {m}"
            continue
        if not m["turn"] and m["discarded"]:
            continue  # edited, and edited or asked again since
        turns.setdefault(m["turn"], []).append(m)
    for turn, of in turns.items():
        if turn is None:
            # Only a message that is a stop, and its acknowledgement, belong to no turn.
            if of[0]["role"] != "user" or any(m["role"] == "tool" or m["discarded"] or not m["text"] for m in of):
                return f"these belong to no turn: {of}"
            continue
        if of[0]["role"] != "user" or not (of[0]["text"] or of[0].get("attachments")) or not (of[0]["author"] or {}).get("id"):
            return f"turn {turn} does not begin with a user's message: {of[0]}"
        open_calls = None
        for i, m in enumerate(of[1:], 1):
            if m["discarded"] and m["role"] != "user":
                return f"an answer of {turn} is discarded"
            if open_calls is not None:
                if m["role"] != "tool":
                    return f"calls of {turn} are followed by {m['role']}"
                told = [(r["call"], r["name"]) for r in m["results"]]
                if told != open_calls:
                    return f"results {told} of {turn} do not fit its calls {open_calls}"
                for r in m["results"]:
                    if r["cancelled"] and r["ok"] or not isinstance(r["result"], dict) or r["result"].get("ok") is not r["ok"]:
                        return f"a result of {turn} contradicts itself: {r}"
                    if r["cancelled"] != (r["result"].get("cancelled") is True):
                        return f"a result of {turn} contradicts itself: {r}"
                open_calls = None
                continue
            if m["role"] == "user" and m.get("steered_from"):
                continue  # told to the turn while it ran
            if m["role"] != "assistant":
                return f"turn {turn} has a message of role {m['role']} at {i}"
            if not m["text"] and not m["tool_calls"]:
                return f"turn {turn} has an empty answer"
            if m["results"]:
                return f"an answer of {turn} has results"
            if i > 1 and of[i - 1]["role"] == "assistant":
                return f"turn {turn} has two answers behind each other"
            if of[i - 1]["role"] == "assistant" or (m["interrupted"] and any(x["role"] == "assistant" for x in of[i + 1:])):
                return f"turn {turn} goes on behind an interrupted answer"
            if m["tool_calls"]:
                open_calls = [(c["call"], c["name"]) for c in m["tool_calls"]]
                for call, _ in open_calls:
                    if (turn, call) in seen:
                        return f"call id {call} twice in {turn}"
                    seen.add((turn, call))
        if open_calls is not None:
            return f"turn {turn} ends with calls without results"
    return None


class Streamed:
    """A message posted with an open stream. Reads only during its method calls."""

    def __init__(self, cluster, scope, text, fields):
        url = urllib.parse.urlsplit(cluster.url)
        self.socket = socket.create_connection((url.hostname, url.port))
        body = json.dumps({"scope": scope, "text": text, "author": {"id": "mia", "name": "Mia"}, **fields}).encode()
        self.send("POST", "/v1/messages", cluster.token, body)

    def send(self, method, path, token, body=b""):
        head = (f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
        self.socket.sendall(head.encode() + body)
        self.socket.setblocking(False)
        self.raw, self.events, self.is_over = b"", [], False

    def read(self):
        """Reads the available bytes; returns the events so far."""
        try:
            while not self.is_over:
                piece = self.socket.recv(1 << 16)
                self.is_over = not piece
                self.raw += piece
        except BlockingIOError:
            pass
        except OSError:
            self.is_over = True
        lines = self.raw.decode(errors="replace").replace("\r\n", "\n").split("\n")
        self.events, kind = [], None
        for line in lines[:-1]:
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: ") and kind:
                try:
                    self.events.append((kind, json.loads(line[6:])))
                except ValueError:
                    pass
                kind = None
        return self.events

    def wait(self, kind, seconds=60):
        return until(lambda: next((d for k, d in self.read() if k == kind), None), f"event {kind} on the stream; came: {self.raw[-2000:]}", seconds)

    def to_end(self, seconds=60):
        until(lambda: (self.read(), self.is_over or b"\r\n0\r\n\r\n" in self.raw)[1], "the stream to end", seconds)
        return self.events

    def turn(self):
        return self.wait("message_decided")["turn"]["id"]

    def hang_up(self):
        self.socket.close()


class Watching(Streamed):
    """A watcher of an operation's events; it owns nothing."""

    def __init__(self, cluster, operation, after="0"):
        url = urllib.parse.urlsplit(cluster.url)
        self.socket = socket.create_connection((url.hostname, url.port))
        self.send("GET", f"/v1/operations/{operation}/events?after={after}", cluster.token)
