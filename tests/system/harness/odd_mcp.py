"""An MCP server over stdio with one oddity. odd_mcp.py ODDITY [MARKER]; it logs into the file $SEEN, if that is set."""
import json
import os
import subprocess
import sys

LATE = {"answers late": {"result": {"content": [{"type": "text", "text": "done all the same"}]}},
        "fails late": {"error": {"code": -32800, "message": "Request cancelled"}}}
late, calls = {}, []
oddity = sys.argv[1]
answers = oddity != "silent"


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def seen(word):
    if os.environ.get("SEEN"):
        with open(os.environ["SEEN"], "a") as f:
            f.write(word + "\n")


def tools():
    def tool(name, **more):
        return {"name": name, "description": "a tool", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}, **more}
    if oddity == "many":
        return [tool(f"tool-{i}") for i in range(1000)]
    odd = [tool("wörk/with spaces"), tool("x" * 100)] if oddity == "names" else []
    return odd + [tool("work"), tool("hang"), tool("die"), tool("answers late"), tool("fails late"), tool("wreck", annotations={"destructiveHint": True, "readOnlyHint": False})]


def result(request):
    name = request["params"]["name"]
    seen(f"call {name}")
    calls.append((request["params"].get("arguments") or {}).get("n", 1) if name == "die" else None)
    if any(n and n <= len(calls) for n in calls):  # `die` waits until so many calls have come
        sys.exit(3)
    if name in ("hang", "die") or name in LATE or oddity == "deaf":
        return None
    if oddity == "flood":
        for start in range(0, 30_000, 1000):
            say("\n".join(f"listening on nothing at all {n}" for n in range(start, start + 1000)))
    if oddity == "garbage":
        say("Listening on nothing at all")
        say('{"jsonrpc":"2.0","id":')
        sys.stdout.buffer.write(b"\xff\xfe\x00garbage\n")
        say("[]")
        say('{"jsonrpc":"2.0","id":4711,"result":{}}')
        say("5")
    text = "x" * (50 << 20) if oddity == "huge" else f"{os.getpid()} worked on {request['params'].get('arguments')}"
    return {"content": [{"type": "text", "text": text}]}


if oddity == "silent later" and os.path.exists(os.environ["SEEN"]):  # its first process answered
    answers = False
seen(f"start {os.getpid()}")
if oddity == "parent":  # has a child that leaves its session
    subprocess.Popen(["sh", "-c", "while :; do sleep 1000; done", "ODD-CHILD", *sys.argv[2:]],
                     start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
if oddity == "short":
    sys.exit(7)
if oddity == "old":
    answers = "old"
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "notifications/cancelled":
        seen(f"cancelled {message['params']['requestId']}")
        if message["params"]["requestId"] in late:  # it answers nevertheless
            say(json.dumps({"jsonrpc": "2.0", "id": message["params"]["requestId"], **late[message["params"]["requestId"]]}))
    if "id" not in message or not answers:
        continue
    if method == "initialize":
        if answers == "old":
            body = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "old", "version": "0"}}
        else:
            body = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
    elif method == "tools/list":
        body = {"tools": tools()}
    elif method == "tools/call":
        body = result(message)
        if message["params"]["name"] in LATE:
            late[message["id"]] = LATE[message["params"]["name"]]
    else:
        say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}))
        continue
    if body is not None:
        say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": body}))
seen("end")
