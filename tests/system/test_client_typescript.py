"""The TypeScript client (clients/typescript) with the real controller: its own tests under Node, and the tests that must kill programs."""
import os
import shutil
import signal
import subprocess

import pytest

from harness import peers
from harness.cluster import Cluster, end
from harness.waiting import until

HOME = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../clients/typescript"))
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="node is not installed")


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=0) as c:
        yield c


class Holder:
    """A program that holds one operation until it is cancelled."""

    def __init__(self, cluster, scope, lease_ms):
        self.process = subprocess.Popen([NODE, os.path.join(HOME, "test/hold.mjs"), scope, str(lease_ms)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=cluster.environment())
        self.id = self.process.stdout.readline().strip()

    def said(self):
        return self.process.communicate(timeout=60)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        end(self.process)
        self.process.stdout.close()


def test_its_own_tests_pass(cluster):
    done = subprocess.run([NODE, "--test", "--test-timeout=120000", os.path.join(HOME, "test/client.test.mjs")], capture_output=True, text=True, timeout=300,
                          env=cluster.environment())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "# fail 0" in done.stdout or "ℹ fail 0" in done.stdout, done.stdout[-3000:]


def test_an_owner_that_is_killed_loses_its_operation_to_the_lease(cluster):
    with Holder(cluster, "ts/lost", 10000) as holder:
        assert cluster.operation(holder.id)["status"] == "running"
        holder.process.kill()
        assert cluster.wait_status(holder.id, "failed")["error"]["code"] == "heartbeat_lost"


def test_an_owner_that_was_frozen_past_its_lease_is_told_that_it_is_over(cluster):
    with Holder(cluster, "ts/frozen", 3000) as holder:
        os.kill(holder.process.pid, signal.SIGSTOP)
        assert cluster.wait_status(holder.id, "failed")["error"]["code"] == "heartbeat_lost"
        os.kill(holder.process.pid, signal.SIGCONT)
        assert "cancelled: the controller has ended it" in holder.said()


def test_a_controller_that_is_killed_and_comes_back_keeps_the_operation_and_its_cancel():
    with Cluster(workers=0) as c, Holder(c, "ts/crash", 20000) as holder:
        c.kill_controller()
        c.start_controller()
        assert c.operation(holder.id)["status"] == "running"
        done = c.cancel(scope="ts/crash", reason="after the crash", grace_ms=30000)
        assert done["report"]["receipts"]["cooperative"] == 1 and done["report"]["proven"], done
        assert "cancelled: after the crash" in holder.said()
        assert c.operation(holder.id)["status"] == "cancelled"


def test_a_program_ends_when_its_operations_have(cluster):
    with Holder(cluster, "ts/ends", 10000) as holder:
        cluster.cancel(scope="ts/ends")
        until(lambda: holder.process.poll() is not None, "the program to end by itself")
        assert holder.process.returncode == 0 and holder.said() == "cancelled: \n"


def test_the_types_fit_what_is_written(cluster):
    home = peers.installed("typescript-5.9.3", ["typescript@5.9.3"])
    done = subprocess.run([NODE, os.path.join(home, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
                           "--moduleResolution", "nodenext", "--lib", "es2022,dom", os.path.join(HOME, "test/types.ts")],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
