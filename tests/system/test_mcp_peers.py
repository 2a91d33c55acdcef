"""Other people's MCP servers (npm), over stdio and HTTP: lists, calls, progress, cancels and the outcome of cancelled calls."""
import json
import os

import pytest

from harness.peers import BIN, MCP_HOME, MCP_PACKAGES, Program, everything_on_the_web, installed, program_of
from harness.waiting import until

PROBE = os.path.join(BIN, "mcp_probe")
NEWEST = os.path.join(os.path.dirname(__file__), "harness", "newest_mcp.mjs")
KEY = "key-of-no-value-1234"

if not os.path.exists(PROBE):
    pytest.skip(f"there is no {PROBE}: build the target mcp_probe", allow_module_level=True)


@pytest.fixture(scope="module")
def home():
    return installed(MCP_HOME, MCP_PACKAGES)


class Probe(Program):
    """The probe; its end ends the use of its server."""

    def __init__(self, *words):
        super().__init__(PROBE, *words)

    def call(self, name, tool, **arguments):
        self.say(f"call {name} {tool} {json.dumps(arguments)}")

    def result(self, name):
        """The text of a call that must succeed."""
        how, value = self.line(f"finished {name} ").split(" ", 3)[2:]
        assert how == "ok", value
        return json.loads(value)["content"][0]["text"]


@pytest.fixture(scope="module")
def web(home, tmp_path_factory):
    """server-everything over HTTP, on loopback only: by default it listens on every address."""
    with everything_on_the_web(home, tmp_path_factory.mktemp("everything")) as server:
        yield server


@pytest.fixture(params=["stdio", "http"])
def everything(request, home):
    if request.param == "stdio":
        words = ["--stdio", "node", program_of(home, "server-everything"), "stdio"]
    else:
        words = ["--url", request.getfixturevalue("web")[0], "--key", KEY]
    with Probe(*words) as probe:
        yield probe


def test_tools_are_listed_and_called(everything):
    everything.say("tools")
    everything.call("a", "echo", message="hällo wörld")
    everything.call("b", "get-sum", a=2, b=40)
    everything.call("c", "no-such-tool")
    assert int(everything.line("tools ").split()[1]) >= 10
    assert "tool echo read_only" in everything.all("tool ")
    assert everything.line("ready").split()[1] == "2025-11-25"
    assert everything.result("a") == "Echo: hällo wörld"
    assert "42" in everything.result("b")
    assert everything.line("finished c").startswith("finished c error")


def test_structured_content_comes_too(everything):
    everything.call("a", "get-structured-content", location="New York")
    value = json.loads(everything.line("finished a ok").split(" ", 3)[3])
    assert value["structuredContent"]["conditions"]
    everything.call("b", "get-structured-content", location="Nowhere")
    everything.line("finished b error")


def test_a_long_tool_tells_its_progress(everything):
    everything.call("a", "trigger-long-running-operation", duration=0.6, steps=3)
    assert "completed" in everything.result("a")
    assert [line.split()[2:4] for line in everything.all("progress a")] == [["1", "3"], ["2", "3"], ["3", "3"]]


def test_a_cancel_in_the_middle_is_over_at_once_and_nothing_more_is_told(everything):
    everything.call("a", "trigger-long-running-operation", duration=12, steps=48)
    everything.line("progress a", 1)
    everything.say("cancel a the user said stop")
    everything.line("cancelled a")
    told = len(everything.all("progress a"))
    # The server continues nevertheless; another call of the same length shows that its time has passed.
    everything.call("b", "trigger-long-running-operation", duration=12.3, steps=2)
    everything.result("b")
    assert len(everything.all("progress a")) == told
    assert not everything.all("finished a") and not everything.all("failed a")
    everything.say("stop a")
    assert everything.line("late a") == "late a ignored"
    assert len(everything.all("late a")) == 1


def test_a_cancel_of_what_is_over_was_too_late(everything):
    everything.call("a", "echo", message="quick")
    everything.result("a")
    everything.say("cancel a")
    assert everything.line("late a") == "late a too_late"


def test_a_call_and_its_cancel_at_once_leave_the_server_usable(everything):
    for i in range(20):
        # One write, and a first progress that would come after half a minute: nothing can come in between.
        everything.say(f'call c{i} trigger-long-running-operation {{"duration": 300, "steps": 10}}\ncancel c{i} at once')
    everything.line("cancelled c19")
    everything.call("a", "echo", message="still there")
    assert everything.result("a") == "Echo: still there"
    for i in range(20):
        everything.say(f"stop c{i}")
        assert everything.line(f"late c{i} ").split()[2] in ("not_sent", "ignored")
    assert not everything.all("finished c") and not everything.all("progress c")


def test_a_session_over_http_is_ended_with_a_goodbye(home, tmp_path):
    with everything_on_the_web(home, str(tmp_path)) as (url, said):  # its own: late goodbyes of other tests are not counted
        with Probe("--url", url) as probe:
            probe.call("a", "echo", message="hi")
            probe.result("a")
        until(lambda: said("session termination request") == 1, "the server to hear the goodbye")


def test_the_end_of_the_use_ends_a_long_call_and_the_program(home):
    with Probe("--stdio", "node", program_of(home, "server-everything"), "stdio") as probe:
        probe.call("a", "trigger-long-running-operation", duration=300, steps=3000)
        probe.line("progress a")
    assert probe.lines[-1] == "end\n"


@pytest.fixture
def files(home, tmp_path):
    with Probe("--stdio", "node", program_of(home, "server-filesystem"), str(tmp_path)) as probe:
        yield probe, tmp_path


def test_hints_of_a_file_server_are_read(files):
    probe, _ = files
    probe.say("tools")
    probe.line("tools ")
    tools = probe.all("tool ")
    assert "tool read_text_file read_only" in tools and "tool write_file destructive" in tools


def test_a_write_that_is_cancelled_at_once_is_recorded_as_what_it_was(files):
    """PEERS reports: a write_file sent together with its cancel still wrote the file. The test claims no more than that."""
    probe, folder = files
    probe.call("w", "write_file", path=str(folder / "first"), content="kept")
    probe.result("w")
    assert (folder / "first").read_text() == "kept"
    probe.call("x", "write_file", path=str(folder / "second"), content="perhaps")
    probe.say("cancel x the user said stop")
    probe.line("cancelled x")
    probe.call("y", "list_directory", path=str(folder))
    listed = probe.result("y")
    probe.say("stop x")
    late = probe.line("late x").split()[2]
    assert late in ("ignored", "too_late", "done")
    assert not probe.all("finished x")
    print(f"cancelled write_file: late {late}, the file {'was' if 'second' in listed else 'was not'} written")


def test_a_path_outside_is_the_tools_own_error(files):
    probe, _ = files
    probe.call("a", "read_text_file", path="/etc/hostname")
    assert probe.line("finished a").startswith("finished a error")


@pytest.fixture
def newest(home):
    with Program("node", NEWEST, home) as server:
        with Probe("--url", f"http://127.0.0.1:{server.line('listening').split()[1]}/mcp") as probe:
            yield server, probe


def test_the_newest_version_is_spoken_without_a_handshake(newest):
    server, probe = newest
    probe.say("tools")
    probe.call("a", "echo", message="hällo")
    probe.call("b", "slow", steps=3)
    assert probe.line("ready") == "ready 2026-07-28 newest 1"
    assert probe.line("tools ") == "tools 2"
    assert probe.result("a") == "Echo: hällo"
    assert probe.result("b") == "slept"
    assert len(probe.all("progress b")) == 3
    assert not [line for line in server.all("request") if line not in ("request server/discover", "request tools/list", "request tools/call")]


def test_in_the_newest_version_closing_the_response_stops_the_tool(newest):
    server, probe = newest
    probe.call("a", "slow", steps=10000)
    probe.line("progress a", 3)
    probe.say("cancel a stop")
    probe.line("cancelled a")
    assert probe.line("late a") == "late a ignored"
    server.line("hung up")
    server.line("tool stopped")
    probe.end()
    assert server.all("request")[-1] == "request tools/call"  # no notification was sent
