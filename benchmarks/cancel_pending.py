"""100,000 operations that wait for a slot, cancelled by their scope: the answer to the client, none starts, all settled within five seconds."""
import sys

from support import Client, Cluster, load, median, pause, record, say


def main(rounds, count):
    answered, settled, slipped = [], [], []
    with Cluster(workers=1, slots=1) as c:
        client = Client(c)
        holder = c.start("sleep", "1000", scope="other")
        c.wait_status(holder["id"], "running")
        for i in range(rounds):
            scope = f"bench/p{i}"
            found = load(c, count, {"kind": "task", "scope": scope, "task": {"command": ["true"]}}, 256)
            pause(1)  # the checkpoint of all these rows must not count as the cancel's
            answer, wall_ms = client.post("/v1/cancels", {"scope": scope, "wait": "fenced"})
            answer = client.get(f"/v1/cancels/{answer['id']}?wait=settled&wait_ms=60000")[0]
            report = answer["report"]
            assert answer["status"] == "settled" and report["operations"] == count, answer
            answered.append(wall_ms), settled.append(report["settled_ms"] / 1000)
            slipped.append(count - report["receipts"]["never_started"])
            say(f"    {count:,} queued in {found['create_s']:.1f} s ({count / found['create_s']:.0f}/s); cancelled: fenced {report['fenced_ms']:.2f} ms, "
                f"settled {report['settled_ms']:.0f} ms, at the client {wall_ms:.0f} ms; never started {report['receipts']['never_started']:,}")
        c.cancel(scope="other", grace_ms=0)
    record(f"{count:,} pending cancelled: answer to the client", f"{median(answered):.2f} ms", "2 ms", f"{median(answered) / 2:.2f} x", "<= 1 x", median(answered) <= 2,
           answered)
    record(f"{count:,} pending cancelled: started nevertheless", f"{sum(slipped)}", "0", "", "0", sum(slipped) == 0, slipped)
    record(f"{count:,} pending cancelled: settled", f"{median(settled):.2f} s", "5 s", f"{median(settled) / 5:.2f} x", "<= 1 x", median(settled) <= 5, settled)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
