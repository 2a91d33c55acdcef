"""A Discord on loopback, in Node, judged and fed by Discord's own libraries where they exist."""
import itertools
import json
import os

from harness.cluster import free_ports
from harness.peers import Program, installed
from harness.waiting import until

HOME, PACKAGES = "discord-4.4.0-8.23.0-14.28.1", ["discord-interactions@4.4.0", "ws@8.23.0", "discord.js@14.28.1"]
TOKENS = ["token-of-quelld", "token-of-another"]
STOP_SIGN = "\N{OCTAGONAL SIGN}"


class FakeDiscord(Program):
    """`channel` 7 of guild 9; Mia (5) writes there. Bots: 1000 (quelld), 1001."""

    def __init__(self):
        self.home = installed(HOME, PACKAGES)
        self.ports = free_ports(2)
        script = os.path.join(os.path.dirname(__file__), "fake_discord.mjs")
        super().__init__("node", script, self.home, *map(str, self.ports), *TOKENS)
        self.tags = itertools.count(1)
        self.line("LISTENS")
        self.key = self.found("PUBLIC")[0]["key"]

    @property
    def api(self):
        return f"http://127.0.0.1:{self.ports[0]}/api/v10"

    def do(self, what, **more):
        self.say(json.dumps({"do": what, **more}))

    def found(self, word, **like):
        """All logged events of this kind whose fields have the given values."""
        seen = [json.loads(line[len(word) + 1:]) for line in self.all(word + " ")]
        return [s for s in seen if all(s.get(k) == v for k, v in like.items())]

    def see(self, word, count=1, seconds=60, **like):
        """The count-th such event."""
        return until(lambda: (self.found(word, **like)[count - 1:count] or [None])[0], f"{count} of {word} {like}; there are {self.lines[-15:]}", seconds)

    def message(self, text, mention=True, direct=False, **fields):
        tag = next(self.tags)
        if mention and not direct:
            fields.setdefault("mentions", [{"id": "1000", "username": "clanky", "discriminator": "0", "avatar": None, "bot": True}])
            text = "<@1000> " + text
        self.do("message", tag=tag, direct=direct, message={"content": text, **fields})
        return self.see("SAID", tag=tag)["id"]

    def edit(self, id, text, stamp="2026-01-01T00:00:00.000000+00:00"):
        self.do("edit", id=id, fields={"content": "<@1000> " + text, "edited_timestamp": stamp})

    def standing(self, id):
        """The present state of one of quelld's messages: content and components."""
        made = next(m for m in self.found("MADE") if m["id"] == id)
        edits = [r["body"] for r in self.found("REST", method="PATCH", status=200) if r["path"].endswith("/messages/" + id)]
        posts = [r["body"] for r in self.found("REST", method="POST", status=200) if r["body"].get("nonce") == made["nonce"]]
        return {"content": made["content"], "components": [], **(posts[-1] if posts else {}), **(edits[-1] if edits else {})}

    def all_standing(self):
        return [self.standing(m["id"]) for m in self.found("MADE")]

    def interact(self, cluster, body, **more):
        """Signs as Discord signs; returns quelld's answer, and the verdict of Discord's own library on the signature. `late`: quelld was not
        ready within its 2 s and said so; the words that it added later are in `json`, too."""
        tag = next(self.tags)
        self.do("interact", tag=tag, url=cluster.url + "/v1/chat/discord/interactions", body=body, **more)
        answer = self.see("ANSWER", tag=tag)
        answer["late"] = (answer["json"] or {}).get("type") == 5
        if answer["late"]:
            said = self.see("REST", method="PATCH", path=f"/webhooks/8/{body['token']}/messages/@original")
            answer["json"]["data"]["content"] = said["body"]["content"]
        return answer

    def replay(self, cluster, answer):
        tag = next(self.tags)
        self.do("replay", tag=tag, url=cluster.url + "/v1/chat/discord/interactions", headers=answer["headers"], body=answer["body"])
        return self.see("ANSWER", tag=tag)

    def posts(self, **like):
        """Messages that were really created: [(id, content)]; each once, however often quelld requested it."""
        return [r for r in self.found("REST", method="POST", status=200, **like) if "/messages" in r["path"]]

    def shown(self):
        """Content and components of every message of quelld, as a reader of the channel sees them now."""
        return self.all_standing()


def interaction(kind=2, id=None, user="5", channel="7", **data):
    """The body of a command (2) or a button (3) used by `user` (default Mia) in `channel` (default 7)."""
    name, number = {"5": "mia"}.get(user, "user" + user), 2000 + next(IDS)
    return {"id": id or str(number), "type": kind, "application_id": "8", "token": f"tok-en_{number}", "version": 1, "guild_id": "9", "channel_id": channel,
            "member": {"nick": None, "user": {"id": user, "username": name, "global_name": name.capitalize()}}, "data": data}


IDS = itertools.count(1)
