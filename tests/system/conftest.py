"""Puts the harness on the path; every test gets its own cluster from `Cluster`. A sanitizer's report from any program fails the test."""
import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from harness.browser import Browser  # noqa: E402
from harness.cluster import BIN  # noqa: E402
from harness.faults import sanitizers  # noqa: E402

SANITIZED = bool(sanitizers(os.path.join(BIN, "quelld")))


@pytest.fixture(scope="module")
def one_browser(cluster):
    with Browser(cluster.url) as b:
        yield b


@pytest.fixture
def browser(one_browser):
    """A browser without history: nobody signed in, light and wide. For files with a fixture `cluster`."""
    one_browser.forget()
    yield one_browser
    assert one_browser("return wrong.splice(0)") == []


@pytest.fixture(scope="session", autouse=True)
def reports():
    """A program's stderr can go anywhere and its exit code can be ignored, so its sanitizer writes into a folder that this fixture checks."""
    if not SANITIZED:
        yield None
        return
    folder = tempfile.mkdtemp(prefix="quell-test-reports-")
    os.chmod(folder, 0o1777)  # for programs that run as another user
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        os.environ[name] = f"{os.environ.get(name, '')}:log_path={folder}/report".lstrip(":")
    yield folder
    said = taken_from(folder)  # reports of clusters that outlived their tests
    shutil.rmtree(folder)
    assert not said, said


@pytest.fixture(autouse=True)
def no_sanitizer_spoke(reports):
    yield
    said = reports and taken_from(reports)
    assert not said, said


def taken_from(folder):
    said = ""
    for entry in os.scandir(folder):
        with open(entry.path, errors="replace") as report:
            said += f"{entry.name}:\n" + "".join(line[:240].rstrip("\n") + "\n" for line in report)[:30000]  # names of templates are long
        os.unlink(entry.path)
    return said
