"""A full disk: starts are refused, cancels and ends are still written, and everything works again when there is space."""
import os
import subprocess

import pytest

from harness import processes
from harness.cluster import Cluster, marker
from harness.waiting import until

MEGABYTES = 48


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield str(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_cancels_work_on_a_full_disk(small_disk):
    c = Cluster(workers=0)
    c.state = os.path.join(small_disk, "state")
    with c:
        c.add_worker("w1")
        m = marker()
        tasks = [c.start("bash", "-c", "while :; do sleep 1000; done", m, scope=f"full/{i}") for i in range(5)]
        for t in tasks:
            c.wait_status(t["id"], "running")
        filler = os.path.join(small_disk, "filler")
        with open(filler, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 65536)
            except OSError:
                pass
        refused = until(lambda: (lambda a: a if a.status == 503 else None)(
            c.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["true"]}})), "starts to be refused")
        assert refused.json["code"] == "storage_unavailable" and "space" in refused.json["detail"]
        for t in tasks:
            done = c.cancel(operation=t["id"])
            assert done["status"] == "settled", done
        assert processes.marked(m) == []
        os.unlink(filler)
        until(lambda: c.api("POST", "/v1/operations", {"kind": "task", "scope": "full/after", "task": {"command": ["true"]}}).status == 201,
              "starts to be accepted again")
        c.kill_controller()
        c.start_controller()
        assert {c.operation(t["id"])["status"] for t in tasks} == {"cancelled"}
