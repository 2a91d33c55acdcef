"""Limits that protect clients from each other: rates of tokens, origins of web pages, TLS; and no cancel is ever refused for load."""
import concurrent.futures
import http.client
import ssl
import subprocess
import urllib.parse

import pytest

from harness.certificates import make_certificate
from harness.cluster import BIN, Cluster
from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]}, {"text": "You said {{text}}."}]
PAGE = "https://bots.example"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT, settings=["limits.requests_per_second=5", f"http.cors_origins={PAGE}"]) as c:
        yield c


def exhausted(c, token):
    """Sends requests, several at once, until the token's rate is exhausted."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ask = lambda _: c.api("GET", "/v1/status", token=token)
        return until(lambda: next((a for a in list(pool.map(ask, range(8))) if a.status == 429), None), "the token to have asked too often")


def test_who_asks_too_often_waits_and_its_cancels_do_not(cluster):
    c = cluster
    bot, other = (c.api("POST", "/v1/tokens", {"name": n, "role": "operator", "scope": "rate"}).json["token"] for n in ("bot", "other"))
    refused = exhausted(c, bot)
    assert refused.json["code"] == "rate_limited" and refused.headers["Retry-After"] == "1" and "'bot'" in refused.json["detail"]
    assert c.api("GET", "/v1/status", token=other).status == 200
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        stops = list(pool.map(lambda i: c.api("POST", "/v1/cancels", {"scope": f"rate/s{i % 4}"}, token=bot).status, range(100)))
    assert set(stops) <= {200, 202}, stops
    until(lambda: c.api("GET", "/v1/status", token=bot).status == 200, "the token to be let in again")


def test_a_message_that_says_stop_is_no_message_too_many(cluster):
    c = cluster
    bot = c.api("POST", "/v1/tokens", {"name": "chatty", "role": "chat", "scope": "rate"}).json["token"]
    turn = c.say("rate/chat", "endless")
    c.wait_status(turn, "running")
    exhausted(c, bot)
    answer = c.post("rate/chat", "stop", token=bot)
    assert answer.status in (200, 202) and answer.json["decision"] == "cancel", answer.body
    assert c.ended(turn)["status"] == "cancelled"
    exhausted(c, bot)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        until(lambda: 429 in list(pool.map(lambda _: c.post("rate/chat", "hello", token=bot).status, range(16))), "a message that is one too many")
    c.cancel(scope="rate")


def test_a_configured_page_may_call_and_no_other(cluster):
    c = cluster
    def asked(origin):
        return c.api("OPTIONS", "/v1/cancels", headers={"Authorization": None, "Origin": origin, "Access-Control-Request-Method": "POST"})
    assert asked(PAGE).status == 204 and asked(PAGE).headers["Access-Control-Allow-Origin"] == PAGE
    assert "Access-Control-Allow-Credentials" not in asked(PAGE).headers
    assert asked(PAGE + ".evil.test").status == 405 and "Access-Control-Allow-Origin" not in asked(PAGE + ".evil.test").headers
    url = urllib.parse.urlsplit(c.url)
    stream = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    stream.request("GET", "/v1/events", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream", "Origin": PAGE})
    assert stream.getresponse().getheader("Access-Control-Allow-Origin") == PAGE
    stream.close()


@pytest.mark.parametrize("origin", ["*", "https://bots.example/", "bots.example"])
def test_what_is_no_origin_is_refused_at_the_start(origin):
    done = subprocess.run([f"{BIN}/quelld", "--check-config", "--set", f"http.cors_origins={origin}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "http.cors_origins" in done.stderr


def test_the_api_over_tls(tmp_path):
    key, certificate = make_certificate(tmp_path, "localhost")

    class Encrypted(Cluster):
        trusted = certificate

    with Encrypted(workers=0, settings=[f"http.tls_cert={certificate}", f"http.tls_key={key}"]) as c:
        assert c.api("GET", "/v1/status").status == 200
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_1
        url = urllib.parse.urlsplit(c.url)
        assert url.scheme == "https"
        with pytest.raises((ssl.SSLError, OSError)):
            http.client.HTTPSConnection(url.hostname, url.port, timeout=30, context=old).connect()
        shown = c.quell("status", env={**c.environment(), "QUELL_CA_FILE": str(certificate)}, check=0)
        assert shown.stdout
