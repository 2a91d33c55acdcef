"""100,000 operations that wait for a slot, cancelled by their scope: none starts, all settled within five seconds."""
import sys

from support import Client, Cluster, load, median, record, say


def main(rounds, count):
    times = []
    with Cluster(workers=1, slots=1) as c:
        client = Client(c)
        holder = c.start("sleep", "1000", scope="other")
        c.wait_status(holder["id"], "running")
        for i in range(rounds):
            scope = f"bench/p{i}"
            found = load(c, count, {"kind": "task", "scope": scope, "task": {"command": ["true"]}}, 256)
            answer, wall_ms = client.post("/v1/cancels", {"scope": scope, "wait": "settled", "wait_ms": 60000})
            report = answer["report"]
            assert answer["status"] == "settled" and report["operations"] == count, answer
            assert report["receipts"]["never_started"] == count, report
            times.append(wall_ms / 1000)
            say(f"    {count:,} queued in {found['create_s']:.1f} s ({count / found['create_s']:.0f}/s); cancelled: fenced {report['fenced_ms']:.2f} ms, "
                f"settled {report['settled_ms']:.0f} ms, at the client {wall_ms:.0f} ms; never started {report['receipts']['never_started']:,}")
        c.cancel(scope="other", grace_ms=0)
    record(f"{count:,} pending cancelled, none starts: settled", f"{median(times):.2f} s", "5 s", f"{median(times) / 5:.2f} x", "<= 1 x", median(times) <= 5, times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
