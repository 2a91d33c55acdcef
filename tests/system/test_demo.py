"""A newcomer's first run: `make demo` runs to its end, and none of its processes lives on."""
import os
import subprocess

DEMO = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../docs/demo/demo.sh"))


def test_the_demo_runs_to_its_proof():
    done = subprocess.run(["bash", DEMO, os.environ["QUELL_BIN"]], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown[-6000:]
    assert "no process of the demo lives" in shown, shown[-6000:]
    assert "stopped half-way" in shown and "\x1b[" not in done.stdout, shown[-6000:]
