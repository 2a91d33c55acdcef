"""Agents that a scope reaches: the documentation's example answers, and --check-config reports unreachable agents."""
import os
import re
import subprocess

from harness.peers import BIN
from harness.turns import TurnCluster

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "agents.md")


def example():
    """The first TOML of docs/agents.md, with models that need no network."""
    with open(DOCS) as f:
        text = re.search(r"```toml\n(.*?)```", f.read(), re.DOTALL).group(1)
    text = re.sub(r'provider = "\w+"', 'provider = "scripted"', text)
    return re.sub(r'^(base_url|key_env = "ANTHROPIC|model = "(the|some)-).*\n', "", text, flags=re.MULTILINE)


def checked(path, text):
    path.write_text(text)
    return subprocess.run([f"{BIN}/quelld", "--config", str(path), "--check-config"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "EXAMPLE_MCP_TOKEN": "x"})


def test_the_documented_example_answers_in_every_scope(tmp_path):
    os.environ["EXAMPLE_MCP_TOKEN"] = "x"
    try:
        with TurnCluster([{"text": "hi"}]) as c:
            c.kill_controller()
            with open(c.config, "w") as f:
                f.write(example().replace(', "mcp:files"', ""))
            c.start_controller()
            for scope, agent in (("anywhere/else", "default"), ("team/code/x", "coder")):
                answer = c.post(scope, "hello")
                assert answer.status == 202, answer.body
                turn = answer.json["turn"]["id"]
                assert c.operation(turn)["name"] == agent, c.operation(turn)
                assert c.ended(turn)["status"] == "completed"
            refused = c.post("anywhere", "hello", agent="codex")
            assert refused.status == 422 or refused.status == 400, refused.body
            assert "is a command" in refused.json["detail"], refused.json
    finally:
        del os.environ["EXAMPLE_MCP_TOKEN"]


def test_what_nobody_can_reach_is_said_and_is_no_error(tmp_path):
    done = checked(tmp_path / "q.toml", '[[models]]\nname = "spare"\nprovider = "scripted"\n[[models]]\nname = "used"\nprovider = "scripted"\n[[agents]]\nname = "first"\nmodel = "used"\n'
                   '[[agents]]\nname = "second"\nmodel = "used"\nscopes = ["a"]\n[[mcp]]\nname = "files"\ncommand = ["x"]\n')
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'note: agent "second" answers no scope: "first", which comes first, answers them all; it can only be named',
        'note: model "spare" is used by no agent',
        'note: MCP server "files" is used by no agent: add "mcp:files" to the tools of one',
        "the configuration is sound"], done.stdout
    done = checked(tmp_path / "q.toml", example())
    assert done.returncode == 0, done.stderr
    assert "codex" not in done.stdout and "default" not in done.stdout, done.stdout
