"""From fenced to signalled on one worker with one running task, beside a raw ZeroMQ CURVE round trip over loopback."""
import sys

from support import Client, Cluster, Stepper, compare


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
    # A cancel comes alone, so the fair comparison is a round trip that comes alone; in a tight loop nothing sleeps and a trip is far shorter.
    compare("cancel: fenced to signalled", signalled, cold, "a ZeroMQ round trip that comes alone", 3)
    compare("the same beside a tight loop", signalled, hot, "ZeroMQ round trips in a tight loop")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
