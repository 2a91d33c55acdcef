"""Stop of 1,000 and 10,000 real processes on 4 workers (kill, request to settled), beside the fastest bare cgroup.kill of the same number."""
import sys

from support import Client, Cluster, bare_kill, compare, fastest, helper, say, until


def stop(c, client, groups, each, scope):
    ids = [client.post("/v1/operations", {"kind": "task", "scope": scope, "task": {"command": [helper("crowd"), str(each)]}})[0]["id"] for _ in range(groups)]
    until(lambda: all(b"all here" in c.api("GET", f"/v1/operations/{i}/output?stream=stdout").body for i in ids), f"{groups} x {each} processes to stand", 120)
    answer, wall_ms = client.post("/v1/cancels", {"scope": scope, "grace_ms": 0, "wait": "settled", "wait_ms": 60000})
    report = answer["report"]
    assert answer["status"] == "settled" and report["proven"] and report["operations"] == groups, answer
    return report["settled_ms"], wall_ms, report


def main(rounds):
    shapes = {(100, 10): 1.3, (4, 250): 2, (100, 100): 2, (4, 2500): 2}  # groups and processes of each, and the goal
    with Cluster(workers=4, slots=25) as c:
        client = Client(c)
        for (groups, each), goal in shapes.items():
            ways, contained, settled = [], [], []
            for i in range(rounds):
                ways.append(bare_kill(groups, each)), contained.append(bare_kill(groups, each, None, "contained"))
                settled_ms, wall_ms, report = stop(c, client, groups, each, f"bench/g{groups}-e{each}-{i}")
                settled.append(settled_ms)
                say(f"    {groups} x {each}: bare {ways[-1][0]:.1f} and {ways[-1][1]:.1f} ms; fenced {report['fenced_ms']:.2f}, signalled {report['signalled_ms']:.2f}, "
                    f"settled {settled_ms:.1f}, at the client {wall_ms:.1f} ms; receipts {report['receipts']['killed']} killed")
            compare(f"stop of {groups * each:,} processes in {groups} tasks", settled, fastest(list(zip(*ways))), "bare kill", goal)
            compare(f"stop of {groups * each:,} processes in {groups} tasks, beside the same containment", settled, fastest(list(zip(*contained))), "contained bare kill", goal)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
