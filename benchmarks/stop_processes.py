"""Stop of 1,000 and 10,000 real processes on 4 workers (kill, request to settled), beside a bare cgroup.kill and reap of the same number."""
import subprocess
import sys

from support import Client, Cluster, helper, median, record, say, until


def bare(groups, each):
    done = subprocess.run([helper("bare_kill"), str(groups), str(each), helper("crowd")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def stop(c, client, groups, each, scope):
    ids = [client.post("/v1/operations", {"kind": "task", "scope": scope, "task": {"command": [helper("crowd"), str(each)]}})[0]["id"] for _ in range(groups)]
    until(lambda: all(b"all here" in c.api("GET", f"/v1/operations/{i}/output?stream=stdout").body for i in ids), f"{groups} x {each} processes to stand", 120)
    answer, wall_ms = client.post("/v1/cancels", {"scope": scope, "grace_ms": 0, "wait": "settled", "wait_ms": 60000})
    report = answer["report"]
    assert answer["status"] == "settled" and report["proven"] and report["operations"] == groups, answer
    return report["settled_ms"], wall_ms, report


def main(rounds):
    shapes = [(100, 10), (4, 250), (100, 100), (4, 2500)]
    with Cluster(workers=4, slots=25) as c:
        client = Client(c)
        for groups, each in shapes:
            limits, settled = [], []
            for i in range(rounds):
                limits.append(bare(groups, each))
                settled_ms, wall_ms, report = stop(c, client, groups, each, f"bench/g{groups}-e{each}-{i}")
                settled.append(settled_ms)
                say(f"    {groups} x {each}: bare {limits[-1]:.1f} ms; fenced {report['fenced_ms']:.2f}, signalled {report['signalled_ms']:.2f}, "
                    f"settled {settled_ms:.1f}, at the client {wall_ms:.1f} ms; receipts {report['receipts']['killed']} killed")
            ratio = median(settled) / median(limits)
            record(f"stop of {groups * each:,} processes in {groups} tasks", f"{median(settled):.1f} ms", f"bare {median(limits):.1f} ms", f"{ratio:.2f} x", "<= 2 x",
                   ratio <= 2)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
