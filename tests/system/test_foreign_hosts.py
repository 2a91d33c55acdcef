"""A request for a foreign host is refused: a web page whose name is made to point here (DNS rebinding) sends that name."""
import http.client
import json
import os
import shutil
import subprocess
import urllib.parse

import pytest

from harness.certificates import encrypted, make_certificate
from harness.cluster import BIN, Cluster, end
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0, settings=["http.hosts=quell.example, Bots.Example"]) as c:
        yield c


def ask(c, host, path="/healthz", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", c.ports[0], timeout=30)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host)
    connection.putheader("Connection", "close")
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:7710", "localhost", "localhost:1", "LOCALHOST", "app.localhost", "[::1]", "[::1]:7710", "10.1.2.3:80",
                                  "quell", "quell:7710", "quell.example", "QUELL.example.:443", "bots.example", ""])
def test_own_names_and_addresses_are_answered(cluster, host):
    assert ask(cluster, host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7710", "quell.example.evil.org", "evilquell.example", "x.quell.example", "127.0.0.1.nip.io", "127.1",
                                  "0x7f.0.0.1", "localhost.evil.org", "EVIL.example.", "1.2.3.4.5"])
def test_foreign_names_are_refused_on_every_route(cluster, host):
    for method, path in [("GET", "/healthz"), ("GET", "/v1/status"), ("POST", "/v1/cancels"), ("GET", "/nowhere"), ("GET", "/v1/openapi.json"), ("GET", "/metrics")]:
        status, body = ask(cluster, host, path, method)
        problem = json.loads(body)
        assert (status, problem["code"]) == (421, "unknown_host"), (host, path, status)
        assert "http.hosts" in problem["detail"], problem


def test_the_advertised_name_is_an_own_name():
    c = Cluster(workers=0, settings=["http.advertise_url=https://Front.example:8443/"])
    try:
        c.start_controller(wait=False)
        until(lambda: os.path.exists(os.path.join(c.state, "client.json")), "quelld to be ready")
        assert ask(c, "front.example:8443")[0] == 200 and ask(c, "evil.example")[0] == 421
    finally:
        c.controller.terminate()
        end(c.controller)
        shutil.rmtree(c.directory)


def test_what_is_no_name_is_refused_as_a_setting():
    for value in ("https://quell.example", "quell.example:80", "*.example", "a b"):
        done = subprocess.run([f"{BIN}/quelld", "--check-config", "--set", f"http.hosts={value}"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "http.hosts" in done.stderr, (value, done.stderr)
    shown = subprocess.run([f"{BIN}/quelld", "--print-config"], capture_output=True, text=True, timeout=60)
    assert "hosts" in shown.stdout


def test_the_names_of_the_certificate_are_own_names(tmp_path):
    key, certificate = make_certificate(tmp_path, "any", "IP:127.0.0.1,DNS:cert.example,DNS:*.wild.example")
    with Cluster(workers=0, settings=[f"http.tls_cert={certificate}", f"http.tls_key={key}"]) as c:
        url = urllib.parse.urlsplit(c.url)
        for host, wanted in [("cert.example", b"200"), ("a.wild.example", b"200"), ("127.0.0.1", b"200"), ("evil.example", b"421"), ("a.b.wild.example", b"421")]:
            with encrypted(url.hostname, url.port) as s:
                s.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                assert s.recv(64).split()[1] == wanted, host
