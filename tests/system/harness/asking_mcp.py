"""An MCP server whose tools ask a human (elicitation): a program over stdio (asking_mcp.py; it logs into the file $SEEN),
and AskingWeb, the same over HTTP in version 2025-11-25 or 2026-07-28.

`deploy` asks one question, `twice` a second one after the first, `both` two at once, `odd_words` (if there is $ODD_WORDS) in these words, `address` in a mode that the client did not declare."""
import http.server
import json
import os
import queue
import sys
import threading

WHERE = {"type": "object", "required": ["environment"],
         "properties": {"environment": {"type": "string", "enum": ["staging", "production"]},
                        "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
                        "notify": {"type": "boolean", "default": True}}}
SURE = {"type": "object", "properties": {"sure": {"type": "boolean", "default": False}}}
QUESTIONS = {"deploy": [[("Where to?", WHERE)]], "twice": [[("Where to?", WHERE)], [("Really?", SURE)]],
             "both": [[("Where to?", WHERE), ("Really?", SURE)]], "address": [[("Log in", None)]]}
if "ODD_WORDS" in os.environ:
    ODD = os.environ["ODD_WORDS"]
    QUESTIONS["odd_words"] = [[(ODD, {"type": "object", "properties": {ODD: {"type": "string", "title": ODD, "description": ODD}, "one": {"type": "string", "enum": [ODD]}}})]]
TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in QUESTIONS]


def elicitation(message, form):
    if form is None:
        return {"mode": "url", "message": message, "url": "https://example.org/", "elicitationId": "e1"}
    return {"message": message, "requestedSchema": form}


def text(value):
    return {"content": [{"type": "text", "text": json.dumps(value, sort_keys=True)}]}


class Asking:
    """The versions with a handshake: a question is a request, its answer a response."""

    def __init__(self, seen):
        self.seen, self.calls, self.asked, self.numbers, self.lock = seen, {}, {}, 0, threading.Lock()
        self.capabilities = None

    def take(self, message, say):
        """`say` writes one message on the channel on which this one arrived."""
        with self.lock:
            method = message.get("method")
            if method is None:
                self.answered(message)
            elif method == "notifications/cancelled":
                id = message["params"]["requestId"]
                self.seen(f"cancelled {id}")
                self.calls.pop(id, None)
            elif method == "initialize":
                self.capabilities = message["params"]["capabilities"]
                self.seen("capabilities " + json.dumps(self.capabilities))
                say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                                     "serverInfo": {"name": "asking", "version": "1"}}})
            elif method == "tools/list":
                say({"id": message["id"], "result": {"tools": TOOLS}})
            elif method == "tools/call":
                self.seen("call " + message["params"]["name"])
                call = {"name": message["params"]["name"], "round": 0, "answers": [], "open": 0, "say": say, "id": message["id"]}
                self.calls[message["id"]] = call
                self.ask(call)
            elif "id" in message:
                say({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})

    def ask(self, call):
        rounds = QUESTIONS[call["name"]]
        if call["round"] == len(rounds):
            self.calls.pop(call["id"])
            return call["say"]({"id": call["id"], "result": text(call["answers"])})
        for message, form in rounds[call["round"]]:
            self.numbers += 1
            self.asked[f"q-{self.numbers}"] = call
            call["open"] += 1
            call["say"]({"id": f"q-{self.numbers}", "method": "elicitation/create", "params": elicitation(message, form)})
        call["round"] += 1

    def answered(self, message):
        self.seen("answer " + json.dumps({"id": message["id"], **{k: message[k] for k in ("result", "error") if k in message}}))
        call = self.asked.pop(message["id"], None)
        if call is None or call["id"] not in self.calls:
            return
        call["answers"].append(message.get("result") or message["error"]["message"])
        call["open"] -= 1
        if call["open"] == 0:
            self.ask(call)


def stateless(message, seen):
    """2026-07-28: the question is a result; the call comes again with the answers and the state."""
    params, method = message["params"], message["method"]
    if method == "server/discover":
        seen("capabilities " + json.dumps(params["_meta"]["io.modelcontextprotocol/clientCapabilities"]))
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {"resultType": "complete", "tools": TOOLS}
    state = json.loads(params.get("requestState", "[]"))
    rounds = QUESTIONS[params["name"]]
    seen("call " + params["name"])
    if "inputResponses" in params:
        seen("answer " + json.dumps(params["inputResponses"], sort_keys=True))
        state.append([params["inputResponses"][key] for key in sorted(params["inputResponses"])])
    if len(state) == len(rounds):
        return {"resultType": "complete", **text([one for some in state for one in some])}
    requests = {f"k{i}": {"method": "elicitation/create", "params": elicitation(*q)} for i, q in enumerate(rounds[len(state)])}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": json.dumps(state)}


class AskingWeb:
    """`shared`: questions come on the stream that belongs to no call."""

    def __init__(self, version="2025-11-25", shared=False):
        self.lines, self.version = [], version
        self.asking = Asking(self.lines.append)
        self.common = queue.Queue()
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if web.version != "2025-11-25" or not shared:
                    return self.whole(405, None)
                self.stream(web.common)

            def do_DELETE(self):
                self.whole(200, None)

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if web.version == "2026-07-28":
                    return self.whole(200, {"jsonrpc": "2.0", "id": message["id"], "result": stateless(message, web.lines.append)})
                if message.get("method") == "server/discover":
                    return self.whole(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}})
                own = queue.Queue()

                def say(said):
                    (web.common if shared and said.get("method") else own).put(said)
                web.asking.take(message, say)
                if "id" not in message or "method" not in message:
                    return self.whole(202, None)
                if message["method"] != "tools/call":
                    return self.whole(200, {"jsonrpc": "2.0", **own.get()}, {"Mcp-Session-Id": "s-1"})
                self.stream(own)

            def whole(self, status, body, headers=None):
                data = json.dumps(body).encode() if body is not None else b""
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def stream(self, messages):
                """Blocks until an answer arrives."""
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    while (message := messages.get()) is not None:
                        self.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
                        self.wfile.flush()
                        if "method" not in message:
                            return
                except OSError:
                    pass  # the client has disconnected

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_):
                pass  # a client that hung up

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.common.put(None)
        self.server.shutdown()
        self.server.server_close()


def main():
    def seen(word):
        with open(os.environ["SEEN"], "a") as file:
            file.write(word + "\n")

    def say(message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
    asking = Asking(seen)
    for line in sys.stdin:
        asking.take(json.loads(line), say)


if __name__ == "__main__":
    main()
