"""A model that streams (OpenAI Chat Completions): each chunk holds the instant at which it left, and the stream is endless on request. The server
records when each connection was closed. It prints its port on stdout; `GET /closed` answers with the number of open streams and the instant of the last close."""
import asyncio
import json
import sys
import time

open_streams = 0
last_close = 0.0


async def request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    size = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head, await reader.readexactly(size)


def chunk(data):
    text = b"data: " + json.dumps(data).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(text), text)


def delta(text, finish=None):
    return {"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}]}


async def stream(writer, body):
    """The last user message is the order: `count N every MS` or `endless`."""
    words = json.loads(body)["messages"][-1]["content"].split()
    count, pause = (10**9, 3600.0) if words[0] == "endless" else (int(words[1]), int(words[3]) / 1000)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(count):
        writer.write(chunk(delta(f"{time.monotonic():.6f} ")))
        await writer.drain()
        if pause:
            await asyncio.sleep(pause)
    writer.write(chunk(delta("", "stop")) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    await writer.drain()


async def serve(reader, writer):
    global open_streams, last_close
    try:
        while True:
            head, body = await request(reader)
            if head.startswith(b"GET"):
                text = json.dumps({"open": open_streams, "last_close": last_close}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
                continue
            open_streams += 1
            answering = asyncio.ensure_future(stream(writer, body))
            hung_up = asyncio.ensure_future(reader.read(1))
            await asyncio.wait([answering, hung_up], return_when=asyncio.FIRST_COMPLETED)
            open_streams -= 1
            if hung_up.done():
                last_close = time.monotonic()
                answering.cancel()
                await asyncio.gather(answering, hung_up, return_exceptions=True)
                return
            hung_up.cancel()
            await asyncio.gather(hung_up, return_exceptions=True)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the process that started this one ends


if __name__ == "__main__":
    asyncio.run(main())
