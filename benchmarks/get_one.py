"""GETs of one operation a second over kept connections, beside a bare Beast server that sends the same bytes."""
import sys

from support import BareHttp, Client, Cluster, compare_rates, idle_task, requests, say


def main(rounds, count):
    with Cluster(workers=0) as c:
        client = Client(c)
        path = "/v1/operations/" + client.post("/v1/operations", idle_task("bench/get"))[0]["id"]
        answer = client.raw(path)
        server = BareHttp(answer)
        say(f"    {len(answer)} bytes an answer")
        for connections in (1, 16):
            ours, bare = [], []
            for i in range(rounds + 1):
                for into, url in ((bare, f"http://127.0.0.1:{server.port}"), (ours, c.url)):
                    rate = count / requests(url, c.token, ["GET " + path], connections, count)
                    if i > 0:  # both are warm
                        into.append(rate)
            compare_rates(f"GET of one operation, {connections} at once", ours, bare, "Beast", 0.6)
        server.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
