"""An MCP server on stdio with one tool: `picture` answers with a picture, and with one that is none."""
import base64
import json
import sys

PICTURE = b"\x89PNG\r\n\x1a\n" + b"a picture that a tool took"
TOOLS = [{"name": "picture", "description": "takes a picture", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]


def image(data):
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if "id" not in message:
            continue
        if method == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "camera", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": "click"}, image(PICTURE), image(b"no picture at all")]}
        else:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
