"""Memory of quelld for each live operation that only waits, at 100,000 and 1,000,000, and the cost of a restart with them."""
import sys
import time

from restart_million import first_cancel
from support import MILLIONS, Client, Cluster, idle_task, load, record, rss_bytes, say


def main(sizes):
    with Cluster(workers=1, settings=MILLIONS) as c:
        load(c, 1000, idle_task("bench/warm"))
        c.cancel(scope="bench/warm", wait_ms=60000)
        start, have = rss_bytes(c.controller.pid), 0
        for size in sizes:
            found = load(c, size - have, idle_task("bench/idle"), 256)
            say(f"    {size - have:,} more created in {found['create_s']:.1f} s: {(size - have) / found['create_s']:.0f}/s")
            have = size
            each = (rss_bytes(c.controller.pid) - start) / size
            say(f"    RSS {start / 2**20:.1f} MiB empty, {rss_bytes(c.controller.pid) / 2**20:.1f} MiB with {size:,}")
            record(f"memory per live operation at {size:,}", f"{each:.0f} bytes", "1024 bytes", f"{each / 1024:.2f} x", "<= 1 x", each <= 1024, [each])
        load(c, 10, idle_task("bench/first"), 4)
        took = first_cancel(c, "bench/first", 10)
        again = rss_bytes(c.controller.pid)
        each = (again - start) / have
        say(f"    killed and started again with {have:,} live: first cancel answered after {took:.1f} s, RSS {again / 2**20:.1f} MiB")
        record(f"memory per live operation after a restart with {have:,}", f"{each:.0f} bytes", "1024 bytes", f"{each / 1024:.2f} x", "<= 1 x", each <= 1024, [each])
        answer, wall_ms = Client(c).post("/v1/cancels", {"scope": "bench", "wait": "fenced"})
        say(f"    cancel of all {answer['report']['operations']:,}: fenced {answer['report']['fenced_ms']:.2f} ms, at the client {wall_ms:.2f} ms")
        before = time.monotonic()
        while c.api("GET", f"/v1/cancels/{answer['id']}?wait=settled&wait_ms=60000").json["status"] != "settled":
            assert time.monotonic() - before < 300, "the cancel did not settle within 300 s"
        say(f"    and settled after {time.monotonic() - before:.1f} s")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [100_000, 1_000_000])
