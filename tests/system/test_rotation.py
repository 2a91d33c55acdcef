"""Certificates and the bootstrap token are replaced while quelld serves."""
import json
import os
import socket
import subprocess
import urllib.parse

from harness.certificates import encrypted, make_certificate, served_certificate
from harness.cluster import BIN, Cluster
from harness.waiting import until


class Encrypted(Cluster):
    def address(self):
        url = urllib.parse.urlsplit(self.url)
        return url.hostname, url.port

    def served(self):
        return served_certificate(*self.address())


def test_a_certificate_is_replaced_without_a_restart(tmp_path):
    (key, certificate), (next_key, next_certificate) = (make_certificate(tmp_path, n) for n in ("first", "second"))
    used_key, used = tmp_path / "used.key", tmp_path / "used.crt"
    used_key.write_bytes(key.read_bytes()), used.write_bytes(certificate.read_bytes())
    with Encrypted(workers=0, settings=[f"http.tls_cert={used}", f"http.tls_key={used_key}"]) as c:
        assert c.served() == certificate.read_text()
        kept = encrypted(*c.address())  # an open connection keeps its certificate
        os.replace(next_certificate, used)  # the new certificate alone does not match the key: the old pair stays
        until(lambda: "stays" in open(os.path.join(c.directory, "quelld.log")).read(), "the half pair to be noticed")
        assert c.served() == certificate.read_text()
        os.replace(next_key, used_key)
        until(lambda: c.served() == used.read_text(), "the new certificate to be served")
        kept.sendall(f"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {c.token}\r\n\r\n".encode())
        assert kept.recv(64).startswith(b"HTTP/1.1 200 ")
        kept.close()


def test_the_bootstrap_token_is_replaced_without_a_restart():
    with Cluster(workers=0) as c:
        old = c.token
        done = subprocess.run([f"{BIN}/quelld", "--state", c.state, "--rotate-token"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "client.json" in done.stdout, done
        with open(os.path.join(c.state, "client.json")) as f:
            fresh = json.load(f)["token"]
        assert fresh != old and fresh not in done.stdout + done.stderr
        assert os.stat(os.path.join(c.state, "client.json")).st_mode & 0o777 == os.stat(os.path.join(c.state, "admin.token")).st_mode & 0o777 == 0o600
        until(lambda: c.api("GET", "/v1/status", token=fresh).status == 200, "the new token to be good")
        assert c.api("GET", "/v1/status", token=old).status == 401
        c.token = fresh
        c.kill_controller()
        c.start_controller()
        assert c.api("GET", "/v1/status", token=fresh).status == 200 and c.api("GET", "/v1/status", token=old).status == 401


def test_streams_of_the_old_bootstrap_token_end():
    with Cluster(workers=0) as c:
        url = urllib.parse.urlsplit(c.url)
        s = socket.create_connection((url.hostname, url.port), timeout=60)
        s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer {c.token}\r\n\r\n".encode())
        assert s.recv(4096).startswith(b"HTTP/1.1 200 ")
        subprocess.run([f"{BIN}/quelld", "--state", c.state, "--rotate-token"], check=True, capture_output=True, timeout=60)
        got = b""
        while more := s.recv(4096):
            got += more
        assert not got.endswith(b"0\r\n\r\n")  # broken off, not complete
        s.close()
        with open(os.path.join(c.state, "client.json")) as f:
            c.token = json.load(f)["token"]


def test_a_directory_without_a_token_is_refused(tmp_path):
    done = subprocess.run([f"{BIN}/quelld", "--state", tmp_path, "--rotate-token"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "admin.token" in done.stderr, done
