"""Cancel of a scope, from request to fenced, beside one durable SQLite commit; then with 10 and with 100,000 live operations."""
import select
import sys

from support import Client, Cluster, Stepper, compare, idle_task, load, say


def cancel_scope(client, scope):
    answer, wall_ms = client.post("/v1/cancels", {"scope": scope, "wait": "fenced"})
    return answer, answer["report"]["fenced_ms"], wall_ms


def small(rounds):
    with Cluster(workers=1) as c:
        commits, client = Stepper("commit", c.state), Client(c)
        bare, fenced, wall = [], [], []
        for i in range(rounds + 10):
            scope = f"bench/s{i}"
            for _ in range(3):
                client.post("/v1/operations", idle_task(scope))
            step = commits.steps(3)[1]
            _, fenced_ms, wall_ms = cancel_scope(client, scope)
            if i >= 10:
                bare.append(step), fenced.append(fenced_ms), wall.append(wall_ms)
        commits.close()
    compare("cancel: request to fenced (report)", fenced, bare, "commit", 1.2)
    compare("cancel: request to fenced (at the client)", wall, bare, "commit", 1.6)


def many(rounds, size):
    with Cluster(workers=1) as c:
        client = Client(c)
        few, lots, few_wall, lots_wall = [], [], [], []
        for i in range(rounds):
            load(c, size, idle_task(f"bench/many{i}"), 256)
            for j in range(3):
                load(c, 10, idle_task(f"bench/few{i}-{j}"), 4)
            select.select([], [], [], 1)  # wait for the checkpoint of all these rows: its disk writes must not count as the cancel's
            for j in range(2):
                answer, fenced_ms, wall_ms = cancel_scope(client, f"bench/few{i}-{j}")
                assert answer["report"]["operations"] == 10, answer
                few.append(fenced_ms), few_wall.append(wall_ms)
            answer, fenced_ms, wall_ms = cancel_scope(client, f"bench/many{i}")
            assert answer["report"]["operations"] == size, answer
            lots.append(fenced_ms), lots_wall.append(wall_ms)
            done = c.cancel(scope=f"bench/many{i}", wait_ms=60000)
            assert done["status"] in ("settled", None) or done["outcome"] == "nothing_live", done
            cancel_scope(client, f"bench/few{i}-2")
            say(f"    round {i + 1} of {rounds}: 10 live {few[-1]:.3f} ms, {size:,} live {lots[-1]:.3f} ms at the report, "
                f"{few_wall[-1]:.3f} and {lots_wall[-1]:.3f} ms at the client")
    compare(f"cancel with {size:,} live: to fenced (report)", lots, few, "10 live", 1.5)
    compare(f"cancel with {size:,} live: to fenced (at the client)", lots_wall, few_wall, "10 live", 1.5)


if __name__ == "__main__":
    small(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
    many(int(sys.argv[2]) if len(sys.argv) > 2 else 7, 100_000)
