"""An MCP server on stdio with two tools: `meta` returns the `_meta` of its call, `stuck` never answers and ignores everything."""
import json
import sys

TOOLS = [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in ("meta", "stuck")]

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "mini", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call" and params["name"] == "meta":
        result = {"content": [{"type": "text", "text": json.dumps(params.get("_meta"))}]}
    elif method == "tools/call":
        continue
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
