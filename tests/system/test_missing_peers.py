"""Where other people's programs cannot be installed, their tests are skipped visibly; where they must be there, these fail."""
import os

import pytest

from harness import peers


@pytest.fixture
def without_npm(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "HOME", str(tmp_path))
    monkeypatch.setattr(peers.shutil, "which", lambda name: None if name == "npm" else "/usr/bin/" + name)
    monkeypatch.delenv("QUELL_PEERS", raising=False)
    return tmp_path


def test_a_test_is_skipped_and_its_file_noted(without_npm):
    with pytest.raises(pytest.skip.Exception, match="npm is not installed"):
        peers.installed("left-pad", ["left-pad@1.3.0"])
    assert (without_npm / "skipped").read_text() == os.path.basename(__file__) + "\n"


def test_it_fails_where_programs_from_npm_are_required(without_npm, monkeypatch):
    monkeypatch.setenv("QUELL_PEERS", "required")
    with pytest.raises(pytest.fail.Exception, match="npm is not installed"):
        peers.installed("left-pad", ["left-pad@1.3.0"])
    assert not (without_npm / "skipped").exists()


def test_what_is_installed_needs_no_npm(without_npm):
    package = without_npm / "pad" / "node_modules" / "left-pad"
    package.mkdir(parents=True)
    (package / "package.json").write_text("{}")
    assert peers.installed("pad", ["left-pad@1.3.0"]) == str(without_npm / "pad")
