"""External operations registered and completed per second, durably: one by one and in batches, each beside a bare SQLite that commits the same rows."""
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid

from support import Cluster, compare_rates, helper, requests, say

SCOPE = "bench/external"


def new_id():
    """A UUIDv7: the client chooses the ids, so that no answer must be read before the completion."""
    raw = bytearray(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
    raw[6], raw[8] = raw[6] & 0x0F | 0x70, raw[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))


def external(id, i):
    return {"id": id, "kind": "external", "scope": f"{SCOPE}/{i % 16}", "name": "callLLM", "external": {"lease_ms": 30000, "session": "bench"}}


def singles(ids):
    return ([f"POST /v1/operations {json.dumps(external(id, i))}" for i, id in enumerate(ids)],
            [f'POST /v1/operations/{id}/complete {{"result":{{"tokens":120}}}}' for id in ids])


def batches(ids, size=1000):
    groups = [ids[at:at + size] for at in range(0, len(ids), size)]
    made = [{"operations": [external(id, i) for i, id in enumerate(group)]} for group in groups]
    ends = [{"items": [{"id": id, "complete": {"result": {"tokens": 120}}} for id in group]} for group in groups]
    return [f"POST /v1/operations/batch {json.dumps(b)}" for b in made], [f"POST /v1/operations/end {json.dumps(b)}" for b in ends]


def bare(store, directory, operations_a_commit):
    """Operations a second when the rows that quelld has just written are written into a database of the same schema, in two passes."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        done = subprocess.run([helper("bare_rows"), store, folder, str(operations_a_commit)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)


def measure(name, of, count, connections, operations_a_commit, rounds, goal):
    rates, limits = [], []
    for i in range(rounds + 1):
        with Cluster(workers=0) as c:  # a store with these rows only
            registered, completed = of([new_id() for _ in range(count)])
            register_s = requests(c.url, c.token, registered, connections)
            complete_s = requests(c.url, c.token, completed, connections)
            assert len(c.operations(status="completed")) == count, "not all of them are completed"
            rate, limit = count / (register_s + complete_s), bare(os.path.join(c.state, "quell.db"), c.state, operations_a_commit)
            say(f"    {name}: {count / register_s:,.0f}/s registered, {count / complete_s:,.0f}/s completed, both {rate:,.0f}/s; bare {limit:,.0f}/s")
            if i > 0:
                rates.append(rate), limits.append(limit)
    compare_rates(f"external operations registered and completed a second, {name}", rates, limits, "bare SQLite, the same rows", at_least=goal)


def main(count, rounds):
    measure("batches of 1,000, 4 at once", batches, count, 4, 1000, rounds, 80_000)
    measure("one by one, 64 at once", singles, count // 4, 64, 16, rounds, 20_000)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
