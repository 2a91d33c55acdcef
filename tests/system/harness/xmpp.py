"""A real XMPP server (prosody) with accounts, rooms and a place for a component, and people on plain sockets."""
import os
import shutil
import socket
import subprocess
import threading
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

import pytest

from .cluster import die_with_us, end, free_ports
from .waiting import until

CONFIG = """
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
plugin_paths = {{}}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {c2s} }}
s2s_ports = {{}}
component_ports = {{ {component} }}
component_interfaces = {{ "127.0.0.1" }}
modules_enabled = {{ "roster", "saslauth", "disco", "ping", "posix" }}
modules_disabled = {{ "s2s", "tls", "http" }}
authentication = "internal_plain"
allow_unencrypted_plain_auth = true
c2s_require_encryption = false
run_as_root = true
daemonize = false
limits = {{}}
log = {{ info = "{folder}/prosody.log" }}
VirtualHost "people.test"
Component "rooms.test" "muc"
  modules_enabled = {{ "muc_mam" }}
  muc_log_by_default = true
  restrict_room_creation = false
Component "bot.test"
  component_secret = "{secret}"
"""


WRAPPED = b"<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>%s</stream:stream>"


class Prosody:
    def __init__(self, folder, secret="component-secret", people=("mia", "oz")):
        self.program = shutil.which("prosody")
        if not self.program:
            pytest.skip("prosody is not installed (Debian package prosody)")
        self.folder, self.process = folder, None
        self.c2s, self.component = free_ports(2)
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        self.config = os.path.join(folder, "prosody.cfg.lua")
        with open(self.config, "w") as f:
            f.write(CONFIG.format(folder=folder, c2s=self.c2s, component=self.component, secret=secret))
        accounts = os.path.join(folder, "data", "people%2etest", "accounts")
        os.makedirs(accounts, exist_ok=True)
        for name in people:
            with open(os.path.join(accounts, name + ".dat"), "w") as f:
                f.write('return {\n\t["password"] = "secret";\n};\n')
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "prosody.out"), "ab") as log:
            self.process = subprocess.Popen([self.program, "--config", self.config, "-F"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_us, env={**os.environ, "HOME": self.folder})
        until(lambda: self.answers() or self.process.poll() is not None, "prosody to listen")
        assert self.process.poll() is None, open(os.path.join(self.folder, "prosody.out"), errors="replace").read()[-3000:]

    def answers(self):
        try:
            for port in (self.c2s, self.component):
                socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        end(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Person:
    """An account of people.test; received stanzas are in `stanzas`."""

    def __init__(self, port, name, *rooms):
        self.name, self.stanzas, self.count = name, [], 0
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.raw, self.closed = b"", False
        self.open_stream()
        import base64
        secret = base64.b64encode(f"\0{name}\0secret".encode()).decode()
        self.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{secret}</auth>")
        self.read_until(lambda: self.has("success"), "to be let in")
        self.raw, self.stanzas = b"", []
        self.open_stream()
        self.send("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>test</resource></bind></iq>")
        self.read_until(lambda: self.has("iq", id="bind"), "a resource")
        self.send("<presence/>")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        for room in rooms:
            self.enter(room)

    def open_stream(self):
        self.send("<?xml version='1.0'?><stream:stream to='people.test' version='1.0' xmlns='jabber:client' "
                  "xmlns:stream='http://etherx.jabber.org/streams'>")

    def send(self, text):
        self.socket.sendall(text.encode())

    def has(self, name, **attributes):
        return any(s.tag.split("}")[-1] == name and all(s.get(k) == v for k, v in attributes.items()) for s in list(self.stanzas))

    def take(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise OSError("closed")
        self.raw += piece
        if self.raw.startswith(b"<?xml"):  # the opening of the stream
            end = self.raw.find(b">", self.raw.find(b"<stream:stream"))
            if b"<stream:stream" not in self.raw or end < 0:
                return
            self.raw = self.raw[end + 1:]
        try:  # parses only whole stanzas; else waits for more bytes
            self.stanzas += list(ET.fromstring(WRAPPED % self.raw))
            self.raw = b""
        except ET.ParseError:
            pass

    def read_until(self, done, what):
        self.socket.settimeout(60)
        while not done():
            self.take()
        self.socket.settimeout(None)
        return what

    def read(self):
        try:
            while True:
                self.take()
        except OSError:
            self.closed = True

    def enter(self, room):
        self.send(f"<presence to='{room}/{self.name}'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>")
        until(lambda: self.has("presence", **{"from": f"{room}/{self.name}"}), f"{self.name} to be in {room}")
        # The first occupant, who created the room, opens it; others are refused.
        self.send(f"<iq type='set' id='own-{room}' to='{room}'><query xmlns='http://jabber.org/protocol/muc#owner'>"
                  "<x xmlns='jabber:x:data' type='submit'/></query></iq>")
        until(lambda: self.has("iq", id=f"own-{room}"), f"{room} to be open")

    def say(self, to, text, type="chat", more=""):
        self.count += 1
        self.send(f"<message to={quoteattr(to)} type='{type}' id='m{self.count}'><body>{escape(text)}</body>{more}</message>")

    def say_in(self, room, text, more=""):
        self.say(room, text, "groupchat", more)

    def bodies(self, by):
        """Stanzas from the address, or from the nick in a room."""
        found = []
        for s in list(self.stanzas):
            body = s.find("{jabber:client}body")
            if s.tag == "{jabber:client}message" and s.get("type") != "error" and body is not None and s.get("from") == by:
                found.append(body.text or "")
        return found

    def wait_body(self, by, words, seconds=60, since=0):
        return until(lambda: next((b for b in self.bodies(by)[since:] if words in b), None),
                     f"{by} to say {words!r} to {self.name}; there is {[b[:80] for b in self.bodies(by)][-5:]}", seconds)

    def sees(self, room, nick):
        """Whether the nick is in the room, by its last presence."""
        last = None
        for s in list(self.stanzas):
            if s.tag == "{jabber:client}presence" and s.get("from") == f"{room}/{nick}":
                last = s
        return last is not None and last.get("type") is None

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
