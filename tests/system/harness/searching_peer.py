"""An MCP server, or an ACP agent, on stdin and stdout, that runs what it is told in a shell and answers with what that printed. searching_peer.py"""
import json
import subprocess
import sys


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def output_of(command):
    return subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def answer(method, params):
    if method == "initialize" and isinstance(params["protocolVersion"], int):
        return {"protocolVersion": 1, "agentCapabilities": {}}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "searching", "version": "1"}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"command": {"type": "string"}}}
        return {"tools": [{"name": "run", "description": "runs a command", "inputSchema": schema}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": output_of(params["arguments"]["command"])}]}
    if method == "session/new":
        return {"sessionId": "s"}
    if method == "session/prompt":
        text = output_of(params["prompt"][0]["text"])
        say(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}})
        return {"stopReason": "end_turn"}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        say(id=message["id"], result=answer(message["method"], message.get("params") or {}))
