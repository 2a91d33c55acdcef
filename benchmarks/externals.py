"""External operations registered and completed per second, durably: one by one and in batches, each beside a bare SQLite that commits the same rows."""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

from support import Cluster, helper, median, record

SCOPE = "bench/external"
ROUNDS = 3

MINIMAL = "Prefer: return=minimal"


def timed(cluster, requests, connections, header):
    """Sends all requests, each "PATH BODY", over that many connections; returns the seconds and the answers in the order of the requests."""
    host, port = cluster.url.split("//")[1].split(":")
    done = subprocess.run([helper("requests"), host, port, str(connections), *([header] if header else [])], input="\n".join(requests) + "\n",
                          env={**os.environ, "QUELL_TOKEN": cluster.token}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    took, *answers = done.stdout.splitlines()
    return float(took), [json.loads(a) for a in answers]


def external(i):
    return {"kind": "external", "scope": f"{SCOPE}/{i % 16}", "name": "callLLM", "external": {"lease_ms": 30000, "session": "bench"}}


def singles(cluster, count, connections, header):
    register, answers = timed(cluster, ["/v1/operations " + json.dumps(external(i)) for i in range(count)], connections, header)
    complete, _ = timed(cluster, [f"/v1/operations/{a['id']}/complete " + '{"result":{"tokens":120}}' for a in answers], connections, header)
    return register, complete


def batches(cluster, count, size, connections, header):
    bodies = [json.dumps({"operations": [external(i) for i in range(at, at + size)]}) for at in range(0, count, size)]
    register, answers = timed(cluster, ["/v1/operations/batch " + b for b in bodies], connections, header)
    made = [[r["id"] if header else r["operation"]["id"] for r in a["results"] if r["status"] == 201] for a in answers]
    assert sum(map(len, made)) == count
    bodies = [json.dumps({"items": [{"id": id, "complete": {"result": {"tokens": 120}}} for id in ids]}) for ids in made]
    complete, answers = timed(cluster, ["/v1/operations/end " + b for b in bodies], connections, header)
    assert all(r["status"] == 200 for a in answers for r in a["results"])
    return register, complete


def bare(state, operations_a_commit):
    """Writes the rows that the cluster has just written into a database of the same schema: one pass registers them, the next one completes them."""
    found = [p for p in glob.glob(os.path.join(state, "**"), recursive=True) if os.path.isfile(p) and open(p, "rb").read(15) == b"SQLite format 3"]
    with sqlite3.connect(f"file:{found[0]}?mode=ro", uri=True) as source, tempfile.TemporaryDirectory(dir=state) as directory:
        schema = [s for (s,) in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")]
        rows = {t: source.execute(f"SELECT * FROM {t}").fetchall() for t in ("operation", "event")}
        columns = {t: len(rows[t][0]) for t in rows}
        database = sqlite3.connect(os.path.join(directory, "bare.sqlite"), isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        for statement in schema:
            database.execute(statement)
        count = len(rows["operation"])
        events = len(rows["event"]) // count  # created, started, completed

        def put(table, some):
            database.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * columns[table])})", some)
        before = time.perf_counter()
        for half in (0, 1):
            for at in range(0, count, operations_a_commit):
                to = at + operations_a_commit
                database.execute("BEGIN IMMEDIATE")
                put("operation", rows["operation"][at:to])
                if half == 0:
                    put("event", rows["event"][at * events:to * events - operations_a_commit])
                else:
                    put("event", rows["event"][to * events - operations_a_commit:to * events])
                database.execute("COMMIT")
        took = time.perf_counter() - before
        database.close()
        return count / took


def one_way(name, run, count, operations_a_commit, header):
    """Fresh clusters in turn with the bare rows that they wrote."""
    rates, limits, parts = [], [], []
    for _ in range(ROUNDS):
        with Cluster(workers=0) as cluster:
            register, complete = run(cluster)
            rates.append(count / (register + complete))
            parts.append((count / register, count / complete))
            limits.append(bare(cluster.state, operations_a_commit))
    rate, limit = median(rates), median(limits)
    registered, completed = (median(p) for p in zip(*parts))
    record(f"external operations registered and completed a second, {name}{', return=minimal' if header else ''}",
           f"{rate:,.0f}/s ({registered:,.0f}/s and {completed:,.0f}/s)", f"bare SQLite, the same rows: {limit:,.0f}/s", f"{rate / limit * 100:.0f} %",
           "-", True, rates)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    for header in (None, MINIMAL):
        one_way("batches of 1,000, 4 at once", lambda c: batches(c, count, 1000, 4, header), count, 1000, header)
        one_way("one by one, 64 at once", lambda c: singles(c, count // 4, 64, header), count // 4, 16, header)


main()
