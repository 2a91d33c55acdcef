"""`quell mcp login`: OAuth at MCP servers over HTTP, against a strict authorization server. Only quelld has the tokens."""
import json
import os
import stat
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness import processes
from harness.cluster import BIN
from harness.oauth_mcp import OauthMcp, browse
from harness.recording_model import RecordingModel, WITH_EXEC
from harness.turns import TurnCluster
from harness.waiting import until

NAME = "mcp__locked__work"


class Locked(TurnCluster):
    def __init__(self, server, **options):
        self.server, self.model = server, RecordingModel()
        config = (f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                  f'[[agents]]\nname = "peer"\nmodel = "recorded"\ntools = ["mcp:locked", "exec"]\n'
                  f'[[mcp]]\nname = "locked"\nurl = "{server.url}"\n[[mcp]]\nname = "keyed"\nurl = "{server.url}"\nkey_env = "THE_KEY"\n')
        try:
            super().__init__([{"text": "hi"}], config, **options)
        except BaseException:
            self.model.close()
            raise

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "THE_KEY": "the-key-of-keyed"}, **options)

    def close(self):
        super().close()
        self.model.close()

    def begin(self):
        """A login that waits for its browser: the program, and the address that the browser must open."""
        program = self.quell_background("mcp", "login", "locked", "--no-browser", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        for line in program.stderr:
            if line.startswith("http"):
                return program, line.strip()
        raise AssertionError(f"it prints no address and ends with {program.wait()}")

    def log_in(self):
        program, url = self.begin()
        with urllib.request.urlopen(browse(url), timeout=60) as page:
            assert b"This window may be closed" in page.read()
        said, _ = program.communicate(timeout=60)
        assert program.returncode == 0 and said == "logged in at MCP server locked\n", (program.returncode, said)

    def state_of_login(self):
        return next(s for s in self.api("GET", "/v1/mcp").json["servers"] if s["name"] == "locked")["login"]

    def file(self):
        return os.path.join(self.state, "mcp-logins", "locked.json")

    def asked(self, text, *answers):
        self.model.plan[text] = list(answers)
        turn = self.say("locked", text, agent="peer")
        assert self.ended(turn)["status"] == "completed", self.operation(turn)
        return self.results("locked", turn)

    def used(self, text):
        return self.asked(text, [(NAME, {})])[0]["result"]

    def log_text(self):
        return processes.read(os.path.join(self.directory, "quelld.log")).decode()


@pytest.fixture
def server():
    with OauthMcp() as one:
        yield one


@pytest.fixture
def cluster(server):
    with Locked(server) as one:
        yield one


def test_a_turn_without_a_login_is_told_what_to_run_and_has_the_tools_behind_it(server, cluster):
    cluster.asked("hello")
    assert set(cluster.model.tools_offered("hello")) == WITH_EXEC
    assert "quell mcp login locked" in json.dumps(cluster.model.requests[-1]), "the model can tell the user"
    assert "wants a login; run `quell mcp login locked`" in cluster.log_text()
    assert cluster.state_of_login()["trouble"] == "the server wants a login"
    cluster.log_in()
    assert cluster.used("work")["result"]["content"][0]["text"] == "worked behind the door"
    assert "quell mcp login" not in json.dumps(cluster.model.requests[-1])
    state = cluster.state_of_login()
    assert state["logged_in"] and state["renewable"] and state["issuer"] == server.issuer and state["expires_at"], state
    row, = [line.split() for line in cluster.quell("mcp", "list", check=0).stdout.decode().splitlines() if line.startswith("locked")]
    assert row[:3] == ["locked", "url", "yes"], row


def test_the_tokens_are_in_a_private_file_and_nowhere_else(server, cluster):
    cluster.log_in()
    cluster.used("work")
    assert stat.S_IMODE(os.stat(cluster.file()).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(cluster.file())).st_mode) == 0o700
    assert all(token in open(cluster.file()).read() for token in server.issued)
    secrets = server.issued + [secret for secret, _ in server.clients.values()]
    places = [cluster.log_text(), cluster.api("GET", "/v1/mcp").body.decode(), cluster.quell("mcp", "list", "--json").stdout.decode(),
              json.dumps(cluster.api("GET", "/v1/audit").json)]
    for folder, _, names in os.walk(cluster.state):
        places += [processes.read(os.path.join(folder, n)).decode(errors="replace") for n in names if n != "locked.json" and not n.endswith(".sock")]
    for secret in secrets:
        assert not any(secret in place for place in places), secret
    assert "mcp_login" in places[3]


def test_a_token_that_is_not_taken_any_more_is_renewed_once_and_the_call_goes_on(server, cluster):
    cluster.log_in()
    cluster.used("one")
    server.expire()
    assert cluster.used("two")["ok"] and server.grants == ["authorization_code", "refresh_token"]
    # Renewed tokens survive a restart of quelld.
    cluster.restart()
    assert cluster.used("three")["ok"] and server.grants == ["authorization_code", "refresh_token"]
    server.expire()
    server.refresh.clear()
    said = cluster.used("four")
    assert not said["ok"] and said["error"]["code"] == "mcp_login_needed" and "quell mcp login locked" in said["error"]["message"], said
    assert server.grants[2:] == ["refresh_token"], "a grant that is over is not tried again and again"
    assert not cluster.state_of_login()["renewable"]
    cluster.log_in()
    assert cluster.used("five")["ok"]


def test_a_token_is_renewed_before_its_end():
    with OauthMcp(life=30) as server, Locked(server) as cluster:
        cluster.log_in()
        cluster.used("one")
        until(lambda: "refresh_token" in server.grants, "the token to be renewed, though it was never refused")
        server.life = 3600
        until(lambda: cluster.used("more")["ok"] and server.issued[-2] in open(cluster.file()).read(), "the last one to be kept")


def test_what_a_browser_brings_back_must_be_of_this_login_and_of_this_issuer(server, cluster):
    program, url = cluster.begin()
    back = browse(url)
    # A foreign answer, or none: refused, and the login continues to wait.
    for wrong in (back.replace("state=", "state=x"), back.partition("?")[0], back.replace("/callback", "/other")):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(wrong, timeout=60)
        refused.value.close()
        assert refused.value.code == 404
    state = urllib.parse.parse_qs(back.partition("?")[2])["state"][0]
    body = {"state": "x" * len(state), "code": "c", "iss": server.issuer}
    assert cluster.api("POST", "/v1/mcp/locked/login/finish", body).json["code"] == "login_not_found"
    urllib.request.urlopen(back, timeout=60).close()
    assert program.communicate(timeout=60)[0] == "logged in at MCP server locked\n"
    # A state is valid once.
    assert cluster.api("POST", "/v1/mcp/locked/login/finish", {**body, "state": state}).json["code"] == "login_not_found"
    server.iss = "https://evil.example"
    program, url = cluster.begin()
    urllib.request.urlopen(browse(url), timeout=60).close()
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 1 and "of another authorization server" in errors, errors
    assert cluster.used("still")["ok"], "the login before stays"


def test_a_person_who_says_no_and_one_whose_browser_is_elsewhere(server, cluster):
    server.refuses = True
    program, url = cluster.begin()
    urllib.request.urlopen(browse(url), timeout=60).close()
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 1 and "access_denied" in errors, errors
    assert not os.path.exists(cluster.file())
    server.refuses = False
    program, url = cluster.begin()
    said, _ = program.communicate(browse(url) + "\n", timeout=60)
    assert said == "logged in at MCP server locked\n"


def test_a_logout_forgets_the_tokens(server, cluster):
    cluster.log_in()
    assert cluster.used("one")["ok"]
    assert cluster.quell("mcp", "logout", "locked", check=0).stdout == b"logged out of MCP server locked\n"
    assert not os.path.exists(cluster.file())
    said = cluster.used("two")
    assert said["error"]["code"] == "mcp_login_needed", said
    assert cluster.quell("mcp", "logout", "locked", check=0).stdout, "again"


def test_only_who_runs_the_cluster_logs_in_and_only_where_one_can(server, cluster):
    body = {"redirect_uri": "http://127.0.0.1:9/callback"}
    for fields in ({"role": "operator"}, {"role": "chat"}, {"role": "observer"}, {"role": "admin", "scope": "team"}):
        token = cluster.api("POST", "/v1/tokens", {"name": "t", **fields}).json["token"]
        for method, path, sent in (("POST", "locked/login", body), ("DELETE", "locked/login", None), ("POST", "locked/login/finish", {"state": "x"})):
            assert cluster.api(method, "/v1/mcp/" + path, sent, token=token).status == 403, (fields, path)
        assert cluster.api("GET", "/v1/mcp", token=token).status == 403
    for name, code in (("none", "mcp_server_not_found"), ("keyed", "login_failed")):
        assert cluster.api("POST", f"/v1/mcp/{name}/login", body).json["code"] == code
    for uri in ("https://evil.example/x", "http://10.0.0.1/x", "file:///etc/passwd", "http://127.0.0.1.evil.example/", "x"):
        assert cluster.api("POST", "/v1/mcp/locked/login", {"redirect_uri": uri}).json["code"] == "invalid_field", uri
    assert cluster.quell("mcp", "login", "none").returncode == 3
    assert not server.codes


def test_a_server_that_was_given_another_url_gets_no_token_of_the_old_one(server, cluster):
    cluster.log_in()
    with OauthMcp() as other:
        with open(cluster.config) as f:
            text = f.read()
        with open(cluster.config, "w") as f:
            f.write(text.replace(server.url, other.url))
        cluster.restart()
        cluster.asked("hello")
        assert not cluster.state_of_login()["logged_in"]
        assert set(other.tokens) == {""}, "it was asked, without a token"


def test_what_a_configuration_says_of_a_client_is_checked_and_its_secret_never_printed(tmp_path):
    file = tmp_path / "quelld.toml"

    def quelld(flag, lines, **env):
        file.write_text(f'[[mcp]]\nname = "web"\n{lines}\n')
        return subprocess.run([f"{BIN}/quelld", "--config", file, flag], capture_output=True, text=True, timeout=30, env={**os.environ, **env})
    url = 'url = "https://mcp.example.org/mcp"\n'
    printed = quelld("--print-config", url + 'client_id = "me"\nclient_secret_env = "OF_ME"', OF_ME="very-secret-words")
    assert printed.returncode == 0 and "very-secret-words" not in printed.stdout, printed.stderr
    file.write_text(printed.stdout)
    assert 'client_id = "me"\nclient_secret_env = "OF_ME"' in printed.stdout
    for lines, words in ((url + 'client_id = "me"\nclient_secret_env = "NOT_SET"', "NOT_SET (client_secret_env) is not set"),
                         (url + 'client_secret_env = "OF_ME"', "needs `client_id`"),
                         (url + 'client_id = "me"\nkey_env = "OF_ME"', "stands beside key_env"),
                         (url + 'client_metadata_url = "http://me.example.org/"', "must begin with https://"),
                         ('command = ["x"]\nclient_id = "me"', "is for a server with `url`")):
        refused = quelld("--check-config", lines, OF_ME="very-secret-words")
        assert refused.returncode == 2 and words in refused.stderr, (lines, refused.stderr)
