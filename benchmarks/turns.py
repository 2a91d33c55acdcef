"""Turns: turns per second with an instant model, the delay of a streamed chunk, memory, and the cancel of 1,000 turns that stream."""
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from support import Client, Cluster, HERE, Stepper, compare, compare_rates, median, pause, record, requests, rss_bytes, say, until

# All turns are of one author, and messages are taken faster than turns run.
CONFIG = """
[limits]
turns_per_author = 100000
[[models]]
name = "instant"
provider = "scripted"
base_url = "{script}"
[[models]]
name = "stream"
provider = "openai"
base_url = "http://127.0.0.1:{port}/v1"
model = "m"
[[agents]]
name = "instant"
model = "instant"
tools = []
[[agents]]
name = "stream"
model = "stream"
tools = []
"""


class Model:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "model_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def look(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/closed") as answer:
            return json.load(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class TurnCluster(Cluster):
    def __init__(self, config):
        super().__init__(workers=0)
        self.config = config

    def start_controller(self, flags=(), **more):
        return super().start_controller([*flags, "--config", self.config], **more)

    def get_json(self, path):
        return self.api("GET", path).json


def message(agent, scope, text):
    return {"scope": scope, "text": text, "author": {"id": "bench"}, "agent": agent}


async def post_all(cluster, bodies, connections):
    """Sends all requests over that many keep-alive connections."""
    host, port = cluster.url.split("//")[1].split(":")
    left = iter(bodies)

    async def one():
        reader, writer = await asyncio.open_connection(host, int(port))
        for body in left:
            data = json.dumps(body)
            writer.write(f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(data)}\r\n\r\n{data}".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 202 " in head.split(b"\r\n")[0], head
            size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(size)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))


def live_turns(cluster):
    return sum(cluster.get_json("/v1/status")["operations"].values())


def alone(cluster, rounds):
    commit, client = Stepper("commit", cluster.state), Client(cluster)
    took, limits = [], []
    for i in range(rounds):
        limits.append(commit.lone() + commit.lone())
        pause()
        before = time.perf_counter()
        turn = client.post("/v1/messages", message("instant", f"bench/alone{i}", "hi"))[0]["turn"]["id"]
        found = client.get(f"/v1/operations/{turn}?wait=ended&wait_ms=10000")[0]
        took.append((time.perf_counter() - before) * 1000)
        assert found["status"] == "completed", found
    commit.close()
    compare("a turn alone, message to end", took[5:], limits[5:], "two commits", 1.3)


def rate(cluster, count, rounds, connections=64):
    rates, limits = [], []
    for i in range(rounds):
        commit = Stepper("commit", cluster.state)
        limits.append(1000 / median(commit.steps(200)))
        commit.close()
        lines = ["POST /v1/messages " + json.dumps(message("instant", f"bench/s{i}-{n}", "hi")) for n in range(count)]
        before = time.perf_counter()
        requests(cluster.url, cluster.token, lines, connections)
        until(lambda: live_turns(cluster) == 0, "all turns to end", 120)
        rates.append(count / (time.perf_counter() - before))
        for n in range(0, count, max(1, count // 50)):
            messages = cluster.get_json(f"/v1/messages?scope=bench/s{i}-{n}")["messages"]
            assert [m["text"] for m in messages] == ["hi", "yes"], messages
    compare_rates(f"turns a second, {connections} at once, instant model", rates, limits, "single commits", at_least=8000)


def stream_lines(url, token, path, body):
    host, port = url.split("//")[1].split(":")
    s = socket.create_connection((host, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = json.dumps(body)
    s.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"
              f"Content-Length: {len(data)}\r\n\r\n{data}".encode())
    with s.makefile("rb") as lines:
        for line in lines:
            yield line, time.monotonic()


def chunk_latency(cluster, model, count):
    """Latency from the model's write to the client's read: through quell, and without it."""
    def stamps(lines, text_of):
        late = []
        for line, now in lines:
            text = text_of(line)
            if text is None:
                if late and len(late) >= count:
                    break
                continue
            late.extend((now - float(stamp)) * 1000 for stamp in text.split())
            if len(late) >= count:
                break
        return late

    def of_quell(line):
        if not line.startswith(b"data: "):
            return None
        data = json.loads(line[6:])
        return data["data"]["text"] if data.get("type") == "text_delta" else None

    def of_model(line):
        if not line.startswith(b"data: {"):
            return None
        return json.loads(line[6:])["choices"][0]["delta"].get("content")

    text = f"count {count + 5} every 5"
    bare, through = [], []
    for i in range(4):
        bare += stamps(stream_lines(f"http://127.0.0.1:{model.port}", "", "/v1/chat/completions", {"messages": [{"role": "user", "content": text}]}), of_model)
        through += stamps(stream_lines(cluster.url, cluster.token, "/v1/messages", message("stream", f"bench/chunks{i}", text)), of_quell)
    commit = Stepper("commit", cluster.state)
    one = median(commit.steps(200))
    commit.close()
    added = median(through) - median(bare)
    record("added latency of a streamed chunk", f"{added:.2f} ms", f"commit {one:.2f} ms", f"{added / one:.1f} x", "<= 6 x", added <= 6 * one, samples=through)


def memory(cluster, model, idle, running):
    before = rss_bytes(cluster.controller.pid)
    asyncio.run(post_all(cluster, [message("instant", f"bench/idle{i}", "hi") for i in range(idle)], 64))
    until(lambda: live_turns(cluster) == 0, "all turns to end", 240)
    after = rss_bytes(cluster.controller.pid)
    record(f"memory of an idle conversation ({idle:,})", f"{(after - before) / idle:.0f} B", "0 (it is on disk)", "", "<= 8 KiB", (after - before) / idle <= 8 << 10,
           samples=[(after - before) / idle])
    asyncio.run(post_all(cluster, [message("stream", f"bench/run{i}", "endless") for i in range(running)], 64))
    until(lambda: model.look()["open"] == running, "all streams to be open", 60)
    grown = rss_bytes(cluster.controller.pid)
    record(f"memory of a running turn ({running:,} that stream)", f"{(grown - after) / running / 1024:.1f} KiB", "a curl handle and its buffers, about 40 KiB", "", "<= 40 KiB",
           (grown - after) / running <= 40 << 10, samples=[(grown - after) / running / 1024])


def cancel_streams(cluster, model, count, rounds):
    ours, settled = [], []
    client = Client(cluster)
    for i in range(rounds):
        scope = "bench/run" if i == 0 else f"bench/again{i}/run"
        if i > 0:
            asyncio.run(post_all(cluster, [message("stream", f"{scope}/{n}", "endless") for n in range(count)], 64))
            until(lambda: model.look()["open"] == count, "all streams to be open", 60)
        before = time.monotonic()
        target = "bench" if i == 0 else scope
        answer, _ = client.post("/v1/cancels", {"scope": target, "wait": "settled", "wait_ms": 60000})
        assert answer["status"] == "settled" and answer["report"]["proven"], answer
        until(lambda: model.look()["open"] == 0, "all streams to be closed", 60)
        ours.append((model.look()["last_close"] - before) * 1000)
        settled.append(answer["report"]["settled_ms"])
        say(f"    {count:,} streams: last closed {ours[-1]:.0f} ms after the request, settled {settled[-1]:.0f} ms")
    record(f"cancel of {count:,} streaming turns: request to last stream closed", f"{median(ours):.0f} ms", samples=ours)
    record(f"… to settled, {2 * count:,} operations recorded", f"{median(settled):.0f} ms", samples=settled)


def main(count, rounds):
    model = Model()
    try:
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script.json")
            with open(script, "w") as f:
                json.dump({"answers": [{"text": "yes"}]}, f)
            config = os.path.join(folder, "quelld.toml")
            with open(config, "w") as f:
                f.write(CONFIG.format(script=script, port=model.port))
            with TurnCluster(config) as c:
                alone(c, 55)
                rate(c, count, rounds)
                chunk_latency(c, model, 200)
                memory(c, model, count, 1000)
                cancel_streams(c, model, 1000, rounds)
    finally:
        model.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
