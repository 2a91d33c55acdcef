"""Fenced to signalled on one worker with one running task, beside a raw ZeroMQ CURVE round trip over loopback."""
import sys

from support import Client, Cluster, Stepper, median, record


def main(rounds):
    with Cluster(workers=1, slots=8) as c:
        trips, client = Stepper("zmq_round_trip"), Client(c)
        hot, cold, signalled = [], [], []
        for i in range(rounds + 5):
            scope = f"bench/s{i}"
            started = c.start("sleep", "1000", scope=scope)
            c.wait_status(started["id"], "running")
            step = trips.steps(20)
            answer, _ = client.post("/v1/cancels", {"scope": scope, "grace_ms": 0, "wait": "settled", "wait_ms": 30000})
            assert answer["report"]["proven"] and answer["report"]["operations"] == 1, answer
            if i >= 5:
                cold.append(step[0]), hot.extend(step[1:])
                signalled.append(answer["report"]["signalled_ms"] - answer["report"]["fenced_ms"])
        trips.close()
    ratio = median(signalled) / median(hot)
    record("cancel: fenced to signalled", f"{median(signalled):.3f} ms", f"round trip {median(hot):.3f} ms (from idle {median(cold):.3f} ms)", f"{ratio:.2f} x", "<= 3 x",
           ratio <= 3)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
