"""The output of a task to an HTTP client: followed while the task writes it, and read when it is stored, beside a pipe, a copier and a socket."""
import os
import subprocess
import sys

from support import Client, Cluster, compare_rates, helper, say
from watchers import host_and_port

MIB = 1 << 20


def run(*arguments, token=""):
    done = subprocess.run([helper("bare_pipe"), *map(str, arguments)], capture_output=True, text=True, env=dict(os.environ, QUELL_TOKEN=token))
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def read(c, path, size):
    took_s, came = run("read", *host_and_port(c), path, token=c.token)
    assert came >= size, f"{came:,.0f} of {size:,} bytes came"
    return size / took_s / MIB


def main(rounds, size):
    followed, stored, bare, sealed = [], [], [], []
    with Cluster(workers=1, slots=2, settings=[f"store.keep_output={2 * size}"]) as c:
        client = Client(c)
        for i in range(rounds + 1):
            limit = size / run("relay", size)[0] / MIB
            hidden = size / run("sealed", size, c.state)[0] / MIB
            task = client.post("/v1/operations", {"kind": "task", "scope": f"bench/o{i}", "task": {"command": [helper("bare_pipe"), "write", str(size)]}})[0]
            output = f"/v1/operations/{task['id']}/output"
            ours = read(c, output + "?follow=true", size)
            c.wait_status(task["id"], "completed")
            again = read(c, output, size)
            say(f"    bare {limit:,.0f} MiB/s, bare with cipher and file {hidden:,.0f}, followed {ours:,.0f}, stored {again:,.0f}")
            if i > 0:
                bare.append(limit), sealed.append(hidden), followed.append(ours), stored.append(again)
    compare_rates(f"output of a task to HTTP while it writes {size >> 20:,} MiB", followed, bare, "pipe and socket", 0.7, unit=" MiB/s")
    compare_rates("the same beside a pipe, CURVE's cipher, a file and two sockets", followed, sealed, "with cipher and file", unit=" MiB/s")
    compare_rates("the same, read when it is stored", stored, bare, "pipe and socket", 0.7, unit=" MiB/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, (int(sys.argv[2]) if len(sys.argv) > 2 else 1024) * MIB)
