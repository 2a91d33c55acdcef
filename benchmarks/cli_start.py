"""The start of the command line: `quell --version` beside a program that does nothing, and `quell run -- true` beside the same job over a connection
that is kept. The rounds alternate."""
import os
import sys
import time

from support import BIN, Client, Cluster, compare, helper, median, record


def spawned(words, environment, null):
    """Milliseconds from the spawn of a program to its end."""
    files = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    before = time.perf_counter()
    pid = os.posix_spawn(words[0], words, environment, file_actions=files)
    _, status = os.waitpid(pid, 0)
    took_ms = (time.perf_counter() - before) * 1000
    assert status == 0, f"{words} ended with {status}"
    return took_ms


def job(client):
    """Milliseconds of one `true`: created, and seen to end."""
    before = time.perf_counter()
    operation, _ = client.post("/v1/operations", {"kind": "task", "scope": "bench", "task": {"command": ["true"]}})
    while operation["status"] not in ("completed", "failed", "cancelled"):
        operation, _ = client.get(f"/v1/operations/{operation['id']}?wait=ended&wait_ms=10000")
    assert operation["status"] == "completed", operation
    return (time.perf_counter() - before) * 1000


def main(rounds):
    quell, version, bare, run, jobs = f"{BIN}/quell", [], [], [], []
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    with Cluster(workers=1, slots=8) as c:
        client, environment = Client(c), c.environment()
        for i in range(rounds + 5):
            values = (spawned([quell, "--version"], environment, null), spawned([helper("bare_start")], environment, null),
                      spawned([quell, "run", "--scope", "bench", "--", "true"], environment, null), job(client))
            if i >= 5:  # files and caches are warm
                for into, value in zip((version, bare, run, jobs), values):
                    into.append(value)
    compare("start of the command line, quell --version", version, bare, "a bare start", 4)
    compare("quell run -- true, beside its job", run, jobs, "the job over a kept connection", 2)
    record("quell run -- true", f"{median(run):.1f} ms", "7 ms", f"{median(run) / 7:.2f} x", "<= 1 x", median(run) <= 7, run)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
