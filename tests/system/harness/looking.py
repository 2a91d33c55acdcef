"""Models that are shown files: one for each provider's rules, served by a player that knows which bytes it was sent."""
import base64
import json

from .model_player import PLAYED, Player


def encoded(data):
    return base64.b64encode(data).decode()


class LookingPlayer(Player):
    """`look at PATH` calls `read` with it."""

    def play(self, to, dialect, text, is_result, size):
        if text.startswith("look at ") and not is_result:
            to.send_response(200)
            to.send_header("Content-Type", "text/event-stream")
            to.end_headers()
            say = PLAYED[dialect](to)
            say.call("read", json.dumps({"path": text.split()[2]}))
            return say.end("calls")
        return super().play(to, dialect, text, is_result, size)

    def having(self, what):
        """The bodies of the requests with these bytes or with this text, in their order."""
        with self.guard:
            return [r["body"] for r in self.requests if (encoded(what) if isinstance(what, bytes) else what) in json.dumps(r["body"], ensure_ascii=False)]

    def asked(self, word):
        """The bodies of the requests whose newest words of a person have this word."""
        with self.guard:
            return [r["body"] for r in self.requests if word in r["text"]]


def shown_images(dialect, body):
    """The images of the newest message of a person, as base64."""
    messages = body.get("messages") or body["input"]
    content = [m for m in messages if m.get("role") == "user"][-1]["content"]
    if isinstance(content, str):
        return []
    if dialect == "anthropic":
        return [p["source"]["data"] for p in content if p["type"] == "image"]
    if dialect == "responses":
        return [p["image_url"].partition("base64,")[2] for p in content if p["type"] == "input_image"]
    return [p["image_url"]["url"].partition("base64,")[2] for p in content if p["type"] == "image_url"]
