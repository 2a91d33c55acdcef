"""The examples of docs/clients.md run as they are, and a program that disconnects from a turn through the Python client cancels it."""
import asyncio
import contextlib
import io
import os
import re
import shutil
import subprocess

import pytest

from harness.python_client import quell
from harness.turns import TurnCluster

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))

SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 10}]}, {"text": "You said {{text}}."}]


def shown(language):
    with open(os.path.join(ROOT, "docs/clients.md"), encoding="utf-8") as f:
        return re.findall(rf"```{language}\n(.*?)```", f.read(), re.DOTALL)


@pytest.fixture(scope="module")
def world():
    with TurnCluster(SCRIPT, workers=0) as c:
        yield c


@pytest.fixture
def client(world, monkeypatch):
    monkeypatch.setenv("QUELL_URL", world.url)
    monkeypatch.setenv("QUELL_TOKEN", world.token)
    monkeypatch.setattr(quell, "_default", None)
    yield quell.default_client()
    quell.default_client().close()


def test_the_python_of_the_page_runs(world, client):
    async def answer_of_a_model():
        return "an answer"
    names, printed = {"answer_of_a_model": answer_of_a_model}, io.StringIO()
    blocks = shown("python")
    assert len(blocks) == 4
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile("import quell\n" + block, "docs/clients.md", "exec"), names)
        asyncio.run(names["main"]())
    assert printed.getvalue().startswith("completed\n") and "settled True\n" in printed.getvalue()
    assert "You said hello." in printed.getvalue()
    assert [o["result"] for o in client.list(scope="team/build", name="callLLM", order="asc")] == [{"tokens": 42}, "an answer"]


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_javascript_of_the_page_runs(world, client, tmp_path):
    block, = shown("js")
    os.makedirs(tmp_path / "node_modules/@quell")
    os.symlink(os.path.join(ROOT, "clients/typescript"), tmp_path / "node_modules/@quell/client")
    (tmp_path / "page.mjs").write_text(f'const url = "{world.url}/healthz";\n' + block, encoding="utf-8")
    subprocess.run(["node", "page.mjs"], cwd=tmp_path, env=world.environment(), check=True, timeout=60)
    last = next(client.list(scope="team/build"))
    assert last["status"] == "completed" and last["result"]["length"] > 0


def test_the_python_package_can_be_built_without_a_network_and_imported(tmp_path):
    source = os.path.join(ROOT, "clients/python")
    build = f"import sys; sys.path.insert(0, {source!r}); import make_wheel; print(make_wheel.build_wheel({str(tmp_path)!r}))"
    wheel = subprocess.run(["/usr/bin/python3", "-c", build], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    use = f"import sys; sys.path.insert(0, {str(tmp_path / wheel)!r}); import quell; print(quell.__file__)"
    found = subprocess.run(["/usr/bin/python3", "-I", "-c", use], capture_output=True, text=True, check=True, timeout=60).stdout
    assert found.startswith(str(tmp_path / wheel))


def test_leaving_the_loop_hangs_up_and_cancels_the_turn(world, client):
    for kind, data in client.say("py/say", "endless", author={"id": "mia", "name": "Mia"}):
        if kind == "message_decided":
            turn = data["turn"]["id"]
        if kind == "text_delta":
            break
    ended = world.wait_status(turn, "cancelled")
    assert ended["stop"]["cause"] == "disconnect"
    assert [m["role"] for m in client.messages("py/say")][-1:] != []
