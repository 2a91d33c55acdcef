"""A real IRC server (ngircd), clients that speak to it by hand, and a scripted server that knows SASL."""
import base64
import os
import shutil
import socket
import subprocess
import threading

import pytest

from .cluster import die_with_us, end, free_ports
from .waiting import until


class Ngircd:
    """Listens on loopback: a plain port, and a TLS port if there is a certificate."""

    def __init__(self, folder, password="", tls=None, more=""):
        self.program = shutil.which("ngircd", path=os.environ["PATH"] + ":/usr/sbin")
        if not self.program:
            pytest.skip("ngircd is not installed (Debian package ngircd)")
        self.folder, self.process = folder, None
        self.port, self.tls_port = free_ports(2)
        self.config = os.path.join(folder, "ngircd.conf")
        with open(self.config, "w") as f:
            f.write(f"[Global]\nName = irc.test\nInfo = test\nListen = 127.0.0.1\nPorts = {self.port}\n"
                    f"ServerUID = {os.getuid()}\nServerGID = {os.getgid()}\n" + (f"Password = {password}\n" if password else "")
                    + "[Limits]\nMaxConnections = 0\nMaxConnectionsIP = 0\nMaxNickLength = 20\nPingTimeout = 60\nPongTimeout = 20\nMaxJoins = 50\n"
                    "[Options]\nPAM = no\nIdent = no\nDNS = no\nSyslogFacility = local1\nChrootDir =\nOperCanUseMode = yes\n"
                    "[Operator]\nName = op\nPassword = oper\n" + more)
            if tls:
                f.write(f"[SSL]\nCertFile = {tls[0]}\nKeyFile = {tls[1]}\nPorts = {self.tls_port}\n")
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "ngircd.out"), "ab") as log:
            self.process = subprocess.Popen([self.program, "-n", "-f", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_us)
        until(lambda: self.answers() or self.process.poll() is not None, "ngircd to listen")
        assert self.process.poll() is None, open(os.path.join(self.folder, "ngircd.out"), errors="replace").read()[-2000:]

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
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


class Client:
    """A person on IRC: received lines are in `lines`."""

    def __init__(self, port, nick, *channels, password=""):
        self.nick, self.lines, self.raw = nick, [], b""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.lock = threading.Lock()
        if password:
            self.send(f"PASS {password}")
        self.send(f"NICK {nick}", f"USER {nick} 0 * :{nick}")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait(" 001 ")
        for channel in channels:
            self.join(channel)

    def send(self, *lines):
        with self.lock:
            self.socket.sendall("".join(line + "\r\n" for line in lines).encode())

    def read(self):
        try:
            while piece := self.socket.recv(65536):
                self.raw += piece
                *whole, self.raw = self.raw.split(b"\n")
                for line in whole:
                    if len(line) + 1 > 512:
                        self.lines.append(f"ERROR :{len(line) + 1} bytes in a line")
                    text = line.rstrip(b"\r").decode(errors="replace")
                    self.lines.append(text)
                    if text.startswith("PING"):
                        self.send("PONG" + text[4:])
        except OSError:
            pass

    def wait(self, words, count=1, seconds=60, since=0):
        def look():
            found = [line for line in list(self.lines)[since:] if words in line]
            return found[count - 1] if len(found) >= count else None
        return until(look, f"{count} lines with {words!r} for {self.nick}; there are {self.lines[-15:]}", seconds)

    def join(self, channel):
        self.send(f"JOIN {channel}")
        self.wait(f" 366 {self.nick} {channel} ")

    def say(self, target, text):
        self.send(f"PRIVMSG {target} :{text}")

    def texts(self, by="clanky", target=None, since=0):
        """Messages of `by`, to anyone or only to `target`."""
        said = [line.split(" ", 3) for line in list(self.lines)[since:] if line.startswith(f":{by}!") and " PRIVMSG " in line]
        return [words[3][1:] for words in said if target in (None, words[2])]

    def wait_text(self, words, seconds=60, since=0, by="clanky"):
        return until(lambda: next((t for t in self.texts(by, since=since) if words in t), None),
                     f"{by} to say {words!r} to {self.nick}; there is {self.lines[-10:]}", seconds)

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


class SaslServer:
    """The minimum of an IRC server for a SASL login. `logins` = received logins, `in` = registered names."""

    def __init__(self, password):
        self.expected = base64.b64encode(b"\0clanky\0" + password.encode()).decode()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.logins, self.joined, self.attempts = [], [], 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.attempts += 1
            with connection, connection.makefile("rw", newline="\r\n", encoding="utf-8") as file:
                try:
                    self.talk(file)
                except OSError:
                    pass

    def talk(self, file):
        def send(text):
            file.write(text + "\r\n")
            file.flush()
        is_in = False
        for line in file:
            words = line.strip().split(" ")
            if words[:2] == ["CAP", "LS"]:
                send(":s CAP * LS * :multi-prefix message-tags")
                send(":s CAP * LS :sasl=PLAIN")
            elif words[:2] == ["CAP", "REQ"]:
                send(":s CAP * ACK :" + " ".join(words[2:]).lstrip(":"))
            elif words == ["AUTHENTICATE", "PLAIN"]:
                send("AUTHENTICATE +")
            elif words[0] == "AUTHENTICATE":
                self.logins.append(words[1])
                is_in = words[1] == self.expected
                send(":s 903 clanky :logged in" if is_in else ":s 904 clanky :SASL authentication failed")
            elif words[:2] == ["CAP", "END"] and is_in:
                send(":s 001 clanky :Welcome")
                send(":s 376 clanky :End of MOTD")
            elif words[0] == "JOIN" and is_in:
                self.joined.append(words[1])
                send(f":clanky!q@h JOIN {words[1]}")
                send(f"@msgid=id-1 :mia!m@h PRIVMSG {words[1]} :clanky: hello")
                send(f"@msgid=id-1 :mia!m@h PRIVMSG {words[1]} :clanky: hello")
            elif words[0] == "QUIT":
                return

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
