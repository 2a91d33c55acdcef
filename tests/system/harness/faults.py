"""A machine that fails on demand below one program: file calls that fail at the n-th time, and clocks that jump (faults/faulty_machine.cpp)."""
import errno
import mmap
import os
import struct
import subprocess
import tempfile

import pytest

from .cluster import BIN, Cluster

WRITES, SYNCS, OPENS, SIZES, READS, NAMES = 1, 2, 4, 8, 16, 32
KINDS = {"write": WRITES, "sync": SYNCS, "open": OPENS, "size": SIZES, "read": READS, "name": NAMES}
SECOND, HOUR, DAY, YEAR = 10**9, 3600 * 10**9, 86400 * 10**9, 365 * 86400 * 10**9


def built(name):
    """A test-only program or library of the build, which lies beside the tests of the build of QUELL_BIN."""
    path = os.path.join(os.environ.get("QUELL_FAULTS", os.path.join(BIN, "..", "tests", "system")), name)
    if not os.path.exists(path):
        pytest.skip(f"{path} is not built (target quell_faulty_machine, quell_jumping_guardian)")
    return os.path.abspath(path)


def sanitizers(program):
    """The sanitizer runtime that a program links; it must be loaded before all other libraries."""
    lines = subprocess.run(["ldd", program], capture_output=True).stdout.decode().splitlines()
    return [line.split()[2] for line in lines if "libasan" in line or "libtsan" in line]


class Machine:
    """Controls the preloaded library in the programs that were started with `environment()` or `prefix()`."""

    def __init__(self, directory="", program="quelld"):
        self.directory, self.program = directory, program
        self.file = tempfile.NamedTemporaryFile(prefix="quell-faults-")
        self.file.truncate(4096)
        self.page = mmap.mmap(self.file.fileno(), 4096)

    def close(self):
        self.page.close()
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def variables(self):
        libraries = sanitizers(os.path.join(BIN, self.program)) + [built("libquell_faulty_machine.so")]
        found = {"LD_PRELOAD": ":".join(libraries), "QUELL_FAULTS_CONTROL": self.file.name}
        if self.directory:
            found["QUELL_FAULTS_DIRECTORY"] = self.directory
        return found

    def environment(self):
        return {**{k: v for k, v in os.environ.items() if not k.startswith("QUELL")}, **self.variables()}

    def prefix(self):
        return ["env", *(f"{k}={v}" for k, v in self.variables().items())]

    # ---- clocks -------------------------------------------------------------------------------------------------
    def jump_wall(self, ns):
        self.page[0:8] = struct.pack("<q", ns)

    def jump_boot(self, ns):
        self.page[8:16] = struct.pack("<q", ns)

    # ---- disk ---------------------------------------------------------------------------------------------------
    def arm(self, nth, kinds, error=errno.EIO, stays=False, halves=True):
        self.disarm()
        self.page[24:40] = struct.pack("<IIII", kinds, error, stays, halves)
        self.page[40:56] = bytes(16)
        self.page[56:248] = bytes(192)
        self.page[16:24] = struct.pack("<Q", nth)

    def disarm(self):
        self.page[16:24] = bytes(8)

    def seen(self):
        return struct.unpack("<Q", self.page[40:48])[0]

    def failed(self):
        return struct.unpack("<Q", self.page[48:56])[0]

    def first(self):
        return self.page[56:248].split(b"\0")[0].decode(errors="replace")


class FaultyCluster(Cluster):
    """A cluster whose quelld runs on `machine` and whose workers run on `worker_machine`, guardians included."""

    def __init__(self, machine=None, worker_machine=None, **options):
        super().__init__(**options)
        self.machine, self.worker_machine = machine, worker_machine

    def start_controller(self, flags=(), wait=True, env=None):
        if env is None and self.machine:
            env = self.machine.environment()
        return super().start_controller(flags, wait, env)

    def add_worker(self, name, flags=(), wait=True, prefix=()):
        if self.worker_machine:
            prefix = [*prefix, *self.worker_machine.prefix()]
            flags = [*flags, "--guardian", self.guardian()]
        return super().add_worker(name, flags, wait, prefix)

    def guardian(self):
        """A guardian starts with an empty environment, so a script adds the machine's variables."""
        path = os.path.join(self.directory, "guardian.sh")
        if not os.path.exists(path):
            given = " ".join(f"{k}={v}" for k, v in self.worker_machine.variables().items())
            with open(path, "w") as f:
                f.write(f'#!/bin/bash\nexport {given}\nexec -a quell-guardian {built("quell_jumping_guardian")} "$@"\n')
            os.chmod(path, 0o755)
        return path
