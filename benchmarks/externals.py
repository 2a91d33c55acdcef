"""External operations registered and completed per second, durably: one by one and in batches, each beside a bare SQLite that commits the same rows."""
import asyncio
import glob
import json
import os
import sqlite3
import sys
import tempfile
import time

from support import Cluster, record

SCOPE = "bench/external"


async def post_all(cluster, requests, connections):
    """Sends all requests over that many keep-alive connections; returns the bodies of the answers in the order of the requests."""
    host, port = cluster.url.split("//")[1].split(":")
    answers, left = [None] * len(requests), iter(enumerate(requests))

    async def one():
        reader, writer = await asyncio.open_connection(host, int(port), limit=8 << 20)
        for i, (path, data) in left:
            writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.split(b" ", 2)[1] in (b"200", b"201"), head
            size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            answers[i] = await reader.readexactly(size)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return answers


def timed(cluster, requests, connections):
    before = time.perf_counter()
    answers = asyncio.run(post_all(cluster, requests, connections))
    return time.perf_counter() - before, answers


def external(i):
    return {"kind": "external", "scope": f"{SCOPE}/{i % 16}", "name": "callLLM", "external": {"lease_ms": 30000, "session": "bench"}}


def singles(cluster, count, connections):
    register, answers = timed(cluster, [("/v1/operations", json.dumps(external(i)).encode()) for i in range(count)], connections)
    ids = [json.loads(a)["id"] for a in answers]
    complete, _ = timed(cluster, [(f"/v1/operations/{id}/complete", b'{"result":{"tokens":120}}') for id in ids], connections)
    return register, complete


def batches(cluster, count, size, connections):
    bodies = [json.dumps({"operations": [external(i) for i in range(at, at + size)]}).encode() for at in range(0, count, size)]
    register, answers = timed(cluster, [("/v1/operations/batch", b) for b in bodies], connections)
    made = [[r["operation"]["id"] for r in json.loads(a)["results"] if r["status"] == 201] for a in answers]
    assert sum(map(len, made)) == count
    bodies = [json.dumps({"items": [{"id": id, "complete": {"result": {"tokens": 120}}} for id in ids]}).encode() for ids in made]
    complete, answers = timed(cluster, [("/v1/operations/end", b) for b in bodies], connections)
    assert all(r["status"] == 200 for a in answers for r in json.loads(a)["results"])
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


def one_way(name, run, count, operations_a_commit):
    with Cluster(workers=0) as cluster:
        register, complete = run(cluster)
        limit = bare(cluster.state, operations_a_commit)
        rate = count / (register + complete)
        record(f"external operations registered and completed a second, {name}", f"{rate:,.0f}/s ({count / register:,.0f}/s and {count / complete:,.0f}/s)",
               f"bare SQLite, the same rows: {limit:,.0f}/s", f"{rate / limit * 100:.0f} %", "-", True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    one_way("batches of 1,000, 4 at once", lambda c: batches(c, count, 1000, 4), count, 1000)
    one_way("one by one, 64 at once", lambda c: singles(c, count // 4, 64), count // 4, 16)


main()
