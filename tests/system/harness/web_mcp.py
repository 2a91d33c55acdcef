"""An MCP server over HTTP, with sessions (2025-11-25), that can be down, hang, and lose its session: it keeps its requests."""
import threading

from harness.web_service import WebService

TOOL = {"name": "work", "description": "a tool", "inputSchema": {"type": "object"}}


class WebMcp(WebService):
    """`mode`: up, down (503) or hang (no answer until the mode changes). `session` is the only valid session."""

    def __init__(self):
        self.mode, self.session, self.changed = "up", 1, threading.Condition()
        self.held = 0
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def turn(self, mode):
        with self.changed:
            self.mode = mode
            self.changed.notify_all()

    def stop(self):
        self.turn("down")
        super().stop()

    def methods(self):
        return [body.get("method") for _, _, body in self.requests]

    def respond(self, path, headers, message):
        with self.changed:
            self.held += self.mode == "hang"
            self.changed.wait_for(lambda: self.mode != "hang")
        if self.mode == "down":
            return 503, {}, {"error": "down"}
        if not message:
            return 405, {}, {}
        method = message.get("method")
        if method == "server/discover":
            return 400, {}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Server not initialized"}}
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}
            return 200, {"Mcp-Session-Id": f"s-{self.session}"}, {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if headers.get("Mcp-Session-Id") != f"s-{self.session}":
            return 400, {}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request: Server not initialized"}}
        if "id" not in message:
            return 202, {}, {}
        result = {"tools": [TOOL]} if method == "tools/list" else {"content": [{"type": "text", "text": "worked on the web"}]}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": result}
