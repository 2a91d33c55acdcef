"""Other people's model servers: aimock (npm) for all APIs, with its own record of our hang-up, and Node's TLS and HTTP/2."""
import json
import os
import shutil
import subprocess
import threading

import pytest

from harness.aimock import PATHS, Aimock
from harness.waiting import until

BIN = os.environ.get("QUELL_BIN", "")
PROBE = os.path.join(BIN, "model_probe")
H2_MODEL = os.path.join(os.path.dirname(__file__), "harness", "h2_model.mjs")
both = pytest.mark.parametrize("provider", sorted(PATHS))

if not os.path.exists(PROBE):
    pytest.skip(f"there is no {PROBE}: build the target model_probe", allow_module_level=True)
if not shutil.which("node"):
    pytest.skip("node is not installed", allow_module_level=True)

FIXTURES = [
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello there, wörld!"}},
    {"match": {"userMessage": "long"}, "response": {"content": "word by word " * 200}},
    {"match": {"userMessage": "late"}, "response": {"content": "too late"}, "latency": 60000},
    {"match": {"userMessage": "tools", "hasToolResult": True}, "response": {"content": "tools done"}},
    {"match": {"userMessage": "tools"}, "response": {"toolCalls": [
        {"name": "exec", "arguments": {"cmd": "ls -l", "why": "a longer text, so that it comes in pieces"}},
        {"name": "read", "arguments": {"path": "a"}}]}},
    *({"match": {"userMessage": f"busy for {p}", "sequenceIndex": 0},
       "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}} for p in PATHS),
    {"match": {"userMessage": "busy"}, "response": {"content": "free again"}},
    {"match": {"userMessage": "cut"}, "response": {"content": "this will be cut in the middle " * 20}, "truncateAfterChunks": 6},
]


class Lines:
    """A program and the lines it prints; it ends when its standard input is closed."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **environment})
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def line(self, start, count=1):
        """Waits for that many lines with this beginning and returns the last of them."""
        def found():
            fit = [line.rstrip("\n") for line in self.lines if line.startswith(start)]
            return fit[count - 1] if len(fit) >= count else None
        return until(lambda: found(), f"{count} lines '{start}…' of {self.process.args[0]}; there are {self.lines[-20:]}")

    def text(self):
        return "".join(line[len("text "):].rstrip("\n") for line in self.lines if line.startswith("text "))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()


def probe(provider, url, text, *flags, **environment):
    return Lines(PROBE, provider, url, "gpt-4o", text, "--key", "test-key-of-no-value", *flags, **environment)


@pytest.fixture(scope="module")
def aimock(tmp_path_factory):
    server = Aimock(tmp_path_factory.mktemp("aimock"), FIXTURES)
    yield server
    server.close()


@both
def test_an_answer_streams_in_pieces(aimock, provider):
    with probe(provider, aimock.url, "hello") as asked:
        assert asked.line("finished").startswith("finished end")
        assert asked.text() == "Hello there, wörld!"
        assert len([line for line in asked.lines if line.startswith("text ")]) > 2


@both
def test_tool_calls_come_whole_and_their_results_are_taken(aimock, provider):
    with probe(provider, aimock.url, "tools", "--tool", "exec", "--tool", "read") as asked:
        assert asked.line("finished").startswith("finished calls")
        calls = [line.split(" ", 3)[2:] for line in asked.lines if line.startswith("call ")]
        assert [name for name, _ in calls] == ["exec", "read"]
        assert json.loads(calls[0][1])["cmd"] == "ls -l"
    with probe(provider, aimock.url, "tools", "--tool", "exec", "--result", '{"ok":true}') as asked:
        assert asked.line("finished").startswith("finished end")
        assert asked.text() == "tools done"


@both
def test_a_429_is_tried_again(aimock, provider):
    with probe(provider, aimock.url, f"busy for {provider}") as asked:
        assert "429: slow down" in asked.line("retrying")
        asked.line("finished end")
        assert asked.text() == "free again"


@both
def test_a_cut_answer_is_a_failure_and_what_came_is_kept(aimock, provider):
    with probe(provider, aimock.url, "cut") as asked:
        assert asked.line("failed").startswith("failed model_cut")
        assert asked.text().startswith("this")
        assert not [line for line in asked.lines if line.startswith(("finished", "retrying"))]


@both
def test_a_cancel_in_the_middle_is_seen_by_the_server(aimock, provider):
    before = aimock.hung_up(provider)
    with probe(provider, aimock.url, "long", "--cancel-after-texts", "3") as asked:
        asked.line("closed")
        until(lambda: aimock.hung_up(provider) == before + 1, "aimock to see the hang-up while the client's program lives")
        assert not [line for line in asked.lines if line.startswith(("finished", "failed"))]


@both
def test_a_cancel_before_the_first_byte_is_seen_by_the_server(aimock, provider):
    before = aimock.hung_up(provider)
    seen = aimock.get("/__aimock/journal").count('"late"')
    with probe(provider, aimock.url, "late", "--cancel-on-input", "yes") as asked:
        until(lambda: aimock.get("/__aimock/journal").count('"late"') > seen, "aimock to have the request")
        asked.process.stdin.write("\n")
        asked.process.stdin.flush()
        asked.line("closed")
        until(lambda: aimock.hung_up(provider) == before + 1, "aimock to see the hang-up while the client's program lives")
        assert not asked.text()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    return key, cert


@pytest.mark.parametrize("protocol, version", [("h2", "2.0"), ("http/1.1", "1.1")])
def test_tls_with_a_named_authority_and_a_cancel_that_closes_the_connection(certificate, protocol, version):
    key, cert = certificate
    with Lines("node", H2_MODEL, key, cert, protocol) as server:
        url = f"https://127.0.0.1:{server.line('listening').split()[1]}/v1"
        with probe("openai", url, "hello", QUELL_CA_FILE=cert) as asked:
            asked.line("finished end")
            assert asked.text() == "hello"
            assert server.line("request") == f"request {version}"
            server.line("finished")
        server.line("connection closed")
        for number, text in enumerate(("endless", "silent"), 2):
            with probe("openai", url, text, "--cancel-on-input", "yes", CURL_CA_BUNDLE=cert) as asked:
                if text == "endless":
                    asked.line("text hello")
                server.line("request", number)
                asked.process.stdin.write("\n")
                asked.process.stdin.flush()
                asked.line("closed")
                server.line("hung up", number - 1)
                server.line("connection closed", number)  # not only the stream, also with HTTP/2
                assert asked.process.poll() is None


def test_a_certificate_of_nobody_known_is_refused(certificate):
    key, cert = certificate
    with Lines("node", H2_MODEL, key, cert, "h2") as server:
        url = f"https://127.0.0.1:{server.line('listening').split()[1]}/v1"
        with probe("openai", url, "hello", QUELL_CA_FILE="", CURL_CA_BUNDLE="") as asked:
            failed = asked.line("failed")
            assert "certificate is not trusted" in failed and "QUELL_CA_FILE" in failed
            assert not [line for line in asked.lines if line.startswith("retrying")]
        assert not [line for line in server.lines if line.startswith("request")]
