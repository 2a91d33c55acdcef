"""Stop of 200 processes in 100 trees: the answer to the client, the last process dead as its pidfd says, and the report's settled, beside a bare kill."""
import os
import random
import subprocess
import sys
import time

from support import Client, Cluster, bare_kill, compare, fastest, helper, marked, pause, say, until

EACH = 2  # a shell and its child
# The number in $1 makes the processes of a round known by their command lines.
TREE = """#!/bin/sh
sleep "1000$1" &
echo all here
wait
"""


class Deaths:
    """The instant at which the last of some processes died."""

    def __init__(self, pids):
        self.process = subprocess.Popen([helper("deaths")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("\n".join(map(str, pids)))
        self.process.stdin.close()
        assert self.process.stdout.readline() == "ready\n"

    def last(self):
        line = self.process.stdout.readline()
        assert self.process.wait(timeout=20) == 0
        self.process.stdout.close()
        return float(line)


def stop(c, client, tree, trees, scope):
    mark = str(random.randrange(10**8, 10**9))
    for _ in range(trees):
        client.post("/v1/operations", {"kind": "task", "scope": scope, "task": {"command": [tree, mark]}})
    pids = until(lambda: (lambda found: found if len(found) == trees * EACH else None)(marked(mark)), f"{trees} trees to stand", 120)
    deaths = Deaths(pids)
    pause(0.2)
    before = time.monotonic()
    answer, answered_ms = client.post("/v1/cancels", {"scope": scope, "grace_ms": 0, "wait": "fenced"})
    dead_ms = (deaths.last() - before) * 1000
    report = client.get(f"/v1/cancels/{answer['id']}?wait=settled&wait_ms=60000")[0]["report"]
    assert report["proven"] and report["operations"] == trees, report
    return answered_ms, dead_ms, report


def main(rounds, trees, workers):
    ways, contained, fenced, answered, dead, settled = [], [], [], [], [], []
    with Cluster(workers=workers, slots=-(-trees // workers)) as c:
        client, tree = Client(c), os.path.join(c.directory, "tree.sh")
        with open(tree, "w") as script:
            script.write(TREE)
        os.chmod(tree, 0o755)
        for i in range(rounds + 1):
            limits = bare_kill(trees, EACH, tree)
            own = bare_kill(trees, EACH, tree, "contained")
            answered_ms, dead_ms, report = stop(c, client, tree, trees, f"bench/t{i}")
            say(f"    bare {limits[0]:.1f} and {limits[1]:.1f}, contained {own[0]:.1f} and {own[1]:.1f} ms; fenced {report['fenced_ms']:.2f}, answered {answered_ms:.2f}, signalled {report['signalled_ms']:.2f}, "
                f"last dead {dead_ms:.1f}, settled {report['settled_ms']:.1f} ms")
            if i > 0:
                ways.append(limits), contained.append(own)
                fenced.append(report["fenced_ms"]), answered.append(answered_ms), dead.append(dead_ms), settled.append(report["settled_ms"])
    bare, same = fastest(list(zip(*ways))), fastest(list(zip(*contained)))
    name = f"stop of {trees * EACH:,} processes in {trees} trees"
    compare(f"{name}: answer to the client", answered, fenced, "fenced", 2)
    compare(f"{name}: last process dead", dead, bare, "bare kill", 1.2)
    compare(f"{name}: settled", settled, bare, "bare kill", 1.3)
    compare(f"{name}: last process dead, beside the same containment", dead, same, "contained bare kill", 1.2)
    compare(f"{name}: settled, beside the same containment", settled, same, "contained bare kill", 1.3)


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    main(*(given + [9, 100, 4][len(given):]))
