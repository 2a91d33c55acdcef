"""`quell up`: whole clusters on one machine, beside each other and one after the other."""
import contextlib
import os
import re
import signal
import subprocess

import pytest

from harness.browser import Browser
from harness.cluster import BIN, die_with_us, end, free_ports
from harness.waiting import until


@contextlib.contextmanager
def up(state, *flags, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUELL")}
    process = subprocess.Popen([f"{BIN}/quell", "up", "--workers", "1", "--state", str(state), *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, env={**environment, **variables}, preexec_fn=die_with_us)
    os.set_blocking(process.stdout.fileno(), False)
    said = b""

    def hear():
        nonlocal said
        said += process.stdout.read() or b""
        return b"Ctrl-C stops it all" in said or process.poll() is not None

    try:
        until(hear, "quell up to say that it is up", 60)
        assert b"with 1 workers" in said and b"only 0" not in said, said
        process.said = said.decode()
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        end(process, 60)


def runs(state):
    done = subprocess.run([f"{BIN}/quell", "--state", str(state), "run", "--", "sh", "-c", "echo here"], capture_output=True, timeout=60,
                          env={k: v for k, v in os.environ.items() if not k.startswith("QUELL")})
    return done.stdout


def join_line(state):
    return (state / "workers" / "w1.join").read_text()


def test_two_clusters_live_on_one_machine(tmp_path):
    one, two = free_ports(2)
    with up(tmp_path / "a", "--listen", f"127.0.0.1:{one}"), up(tmp_path / "b", "--listen", f"127.0.0.1:{two}"):
        assert runs(tmp_path / "a") == b"here\n" and runs(tmp_path / "b") == b"here\n"


def test_its_link_signs_in_to_the_console(tmp_path):
    with up(tmp_path / "a", "--listen", "127.0.0.1:0") as process:
        link = re.search(r"Console: (http://127\.0\.0\.1:\d+)/(#link=ql_[\w-]{43})\n", process.said)
        assert link, process.said
        with Browser(link[1]) as browser:
            browser.go("/" + link[2])
            browser.sees("Nothing needs you", "h1")
            assert "#" not in browser("return page.url()")
            browser.go("/workers")
            browser.sees("w1", ".worker h2")


def test_the_ports_of_a_state_directory_stay_the_same_while_they_are_free(tmp_path):
    ports = tmp_path / "a" / "workers" / "ports"
    with up(tmp_path / "a", "--listen", "127.0.0.1:0"):
        control, bulk = ports.read_text().split()
        busy = subprocess.run(["ss", "-ltn"], capture_output=True, check=True).stdout.decode()
        assert f"127.0.0.1:{control} " in busy and f"127.0.0.1:{bulk} " in busy, busy
    # Any connection on this machine may take those as soon as they are free; these are nobody's.
    ports.write_text("{} {}\n".format(*free_ports(2)))
    with up(tmp_path / "a", "--listen", "127.0.0.1:0"):
        before = join_line(tmp_path / "a")
    with up(tmp_path / "a", "--listen", "127.0.0.1:0"):
        assert join_line(tmp_path / "a") == before
        assert runs(tmp_path / "a") == b"here\n"


@pytest.mark.parametrize("how", ["file", "environment"])
def test_configured_sockets_stay_where_they_are_configured(tmp_path, how):
    control, bulk = free_ports(2)
    if how == "file":
        (tmp_path / "c.toml").write_text(f'[workers]\nlisten = "127.0.0.1:{control}"\noutput_listen = "127.0.0.1:{bulk}"\n')
        flags, variables = ["--config", str(tmp_path / "c.toml")], {}
    else:
        flags, variables = [], {"QUELLD_WORKERS_LISTEN": f"127.0.0.1:{control}", "QUELLD_WORKERS_OUTPUT_LISTEN": f"127.0.0.1:{bulk}"}
    with up(tmp_path / "a", "--listen", "127.0.0.1:0", *flags, **variables):
        busy = subprocess.run(["ss", "-ltn"], capture_output=True, check=True).stdout.decode()
        assert f"127.0.0.1:{control} " in busy and f"127.0.0.1:{bulk} " in busy, busy
        assert runs(tmp_path / "a") == b"here\n"
