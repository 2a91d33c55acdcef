"""`quell run` behaves like the commands that users know: output, exit codes, signals, Ctrl-C, a closed terminal."""
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios

import pytest

from harness import processes, trees
from harness.cluster import BIN, Cluster, end, marker
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=1) as c:
        yield c


@pytest.mark.parametrize("command,code", [
    (["true"], 0), (["bash", "-c", "exit 3"], 3), (["bash", "-c", "exit 255"], 255), (["bash", "-c", "kill -SEGV $$"], 128 + 11),
    (["bash", "-c", "kill -KILL $$"], 128 + 9), (["/no/such/program"], 127), (["no-such-program-at-all"], 127), (["/etc"], 126),
])
def test_exit_codes_are_passed_on(cluster, command, code):
    done = cluster.quell("run", "--", *command)
    assert done.returncode == code, done.stderr


def test_output_is_the_commands_alone(cluster):
    done = cluster.quell("run", "--", "bash", "-c", "printf 'a\\0b\\xff\\n'; echo err >&2")
    assert done.stdout == b"a\0b\xff\n" and done.stderr == b"err\n"


def test_a_megabyte_arrives_whole(cluster):
    done = cluster.quell("run", "--", "bash", "-c", "seq 1 200000")
    assert done.stdout == b"".join(b"%d\n" % i for i in range(1, 200001))


def test_stdin_directory_environment(cluster, tmp_path):
    assert cluster.quell("run", "-i", "--", "cat", stdin=b"x" * 300000).stdout == b"x" * 300000
    assert cluster.quell("run", "--", "cat").stdout == b""
    assert cluster.quell("run", "--cwd", tmp_path, "--", "pwd").stdout.decode().strip() == str(tmp_path)
    done = cluster.quell("run", "--env", "A=1 2", "--env", "FROM_HERE", "--", "bash", "-c", "echo $A $FROM_HERE $QUELL_SCOPE $QUELL_WORKER",
                         env=cluster.environment(FROM_HERE="yes"))
    assert done.stdout == b"1 2 yes default w1\n"


def test_timeout_detach_wait_and_cancelled(cluster):
    assert cluster.quell("run", "--timeout", "300ms", "--grace", "100ms", "--", "sleep", "1000").returncode == 124
    id = cluster.quell("run", "-d", "--", "bash", "-c", "exit 5", check=0).stdout.decode().strip()
    assert cluster.quell("wait", id).returncode == 5
    assert cluster.quell("wait", id[-8:]).returncode == 5
    id = cluster.quell("run", "-d", "--scope", "cli/cancelled", "--", "sleep", "1000", check=0).stdout.decode().strip()
    waiting = cluster.quell_background("wait", id)
    cluster.quell("cancel", id, check=0)
    assert waiting.wait(timeout=60) == 130
    assert cluster.quell("wait", id, "--timeout", "60s").returncode == 130


def running(cluster, scope):
    return [o for o in cluster.operations(scope=scope) if o["status"] == "running"]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_cancel_the_operation_and_wait_for_its_end(cluster, sig):
    m = marker()
    client = cluster.quell_background("run", "--scope", f"cli/sig{int(sig)}", "--grace", "200ms", "--", *trees.term_ignored(m))
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    client.send_signal(sig)
    assert client.wait(timeout=60) == 130
    assert processes.marked(m) == []
    op = cluster.operations(scope=f"cli/sig{int(sig)}")[0]
    assert op["status"] == "cancelled" and op["stop"]["cause"] == "cancel"


def test_a_second_ctrl_c_kills(cluster):
    m = marker()
    client = cluster.quell_background("run", "--scope", "cli/twice", "--grace", "10m", "--", *trees.term_ignored(m))
    until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
    client.send_signal(signal.SIGINT)
    until(lambda: cluster.operations(scope="cli/twice")[0]["status"] == "cancelling", "the first Ctrl-C to cancel")
    client.send_signal(signal.SIGINT)
    assert client.wait(timeout=60) == 130
    assert processes.marked(m) == []


def test_closing_the_terminal_cancels(cluster):
    m = marker()
    pid, terminal = pty.fork()
    if pid == 0:
        env = cluster.environment()
        os.execve(f"{BIN}/quell", ["quell", "run", "--scope", "cli/closed", "--grace", "200ms", "--", *trees.term_ignored(m)], env)
    try:
        until(lambda: len(processes.marked(m)) >= 2, "the tree to run")
        os.close(terminal)
        until(lambda: not processes.marked(m), "the tree to die with its terminal")
        until(lambda: cluster.operations(scope="cli/closed")[0]["status"] == "cancelled", "the operation to be cancelled")
    finally:
        until(lambda: os.waitpid(pid, os.WNOHANG)[0], "quell run to end")


def read_terminal(terminal, text, wanted, what):
    def more():
        try:
            text.extend(os.read(terminal, 65536))
        except OSError:
            pass
        return wanted in text
    fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK)
    until(more, what)


def test_a_pty_is_a_terminal(cluster):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(f"{BIN}/quell", ["quell", "run", "--pty", "--", "bash", "--norc", "-i"], cluster.environment(PS1="ready> "))
    text = bytearray()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    os.kill(pid, signal.SIGWINCH)
    try:
        os.write(terminal, b"tty && echo is-a-$((40+2))\n")
        read_terminal(terminal, text, b"is-a-42", "the shell behind the PTY to answer")
        assert b"/dev/pts/" in text
        os.write(terminal, b"until [ \"$(stty size)\" = '33 99' ]; do read -t 0.05 <> <(:); done; echo size-$((1+1))\n")
        read_terminal(terminal, text, b"size-2", "the window size to arrive")
        os.write(terminal, b"bash -c 'echo job-$((5+5)); sleep 1000'\n")
        read_terminal(terminal, text, b"job-10", "the job to run in the foreground")
        os.write(terminal, b"\x03")
        os.write(terminal, b"echo after-$((2+1))\n")
        read_terminal(terminal, text, b"after-3", "^C to reach the job and not the shell")
        os.write(terminal, b"exit 4\n")
        status = until(lambda: (lambda r: r if r[0] else None)(os.waitpid(pid, os.WNOHANG)), "quell run to end")[1]
        assert os.waitstatus_to_exitcode(status) == 4
    finally:
        os.close(terminal)


def test_json_lines(cluster):
    lines = [json.loads(l) for l in cluster.quell("--json", "run", "--", "bash", "-c", "echo out; exit 2").stdout.splitlines()]
    assert lines[-1]["type"] == "operation" and lines[-1]["operation"]["exit"] == {"code": 2}
    assert any(l["type"] == "output" for l in lines)


def test_a_controller_restart_in_the_middle_is_not_noticed():
    with Cluster(workers=1) as c:
        client = c.quell_background("run", "--", "bash", "-c", "for i in $(seq 1 40); do echo line $i; read -t 0.05 <> <(:); done; exit 9")
        until(lambda: running(c, "default"), "the task to run")
        c.kill_controller()
        c.start_controller()
        out, _ = client.communicate(timeout=60)
        assert client.returncode == 9
        assert out == b"".join(b"line %d\n" % i for i in range(1, 41))


def test_output_arrives_of_a_task_that_had_to_wait_for_its_worker():
    with Cluster(workers=0) as c:
        run = c.quell_background("run", "--", "bash", "-c", "echo hi; echo there >&2", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: c.operations(status="pending"), "the task to wait")
        c.add_worker("w1")
        out, err = run.communicate(timeout=60)
        assert (out, err, run.returncode) == (b"hi\n", b"there\n", 0)
