"""Other people's programs from npm, installed once per build folder, and programs that are spoken to in lines."""
import os
import shutil
import subprocess
import tempfile
import threading

import pytest

from harness.waiting import until

BIN = os.environ.get("QUELL_BIN", "")


def installed(name, packages):
    """The folder that holds their node_modules; skips the test where they cannot be had. A second installer at the same
    time loses the race and uses the first one's."""
    home = os.path.join(os.path.dirname(BIN), "peers", name)

    def complete():
        return all(os.path.exists(os.path.join(home, "node_modules", package.rsplit("@", 1)[0], "package.json")) for package in packages)
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    if complete():
        return home
    if not shutil.which("npm"):
        pytest.skip(f"npm is not installed, and so is no {packages[0]}")
    os.makedirs(os.path.dirname(home), exist_ok=True)
    fresh = tempfile.mkdtemp(dir=os.path.dirname(home))
    try:
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", fresh, *packages],
                              capture_output=True, text=True, timeout=180)
        if done.returncode != 0:
            pytest.skip(f"npm cannot install {packages}, perhaps without a network: {done.stderr[-300:]}")
        if not complete():
            os.rename(fresh, home)
    except (subprocess.TimeoutExpired, OSError):
        pass  # looked at below
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    if not complete():
        pytest.skip(f"npm did not install {packages} in time")
    return home


class Program:
    """Commands in, lines out; it ends when its standard input does."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def all(self, start):
        return [line.rstrip("\n") for line in list(self.lines) if line.startswith(start)]

    def line(self, start, count=1):
        def found():
            fit = self.all(start)
            return fit[count - 1] if len(fit) >= count else None
        return until(found, f"{count} lines '{start}…' of {self.process.args[0]}; there are {self.lines[-20:]}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()
