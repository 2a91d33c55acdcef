"""The client that the public conformance suite starts (test_mcp_conformance.py): `conformance_client.py URL` lists the tools of that
server with our client (mcp_probe) and calls each of them, with inputs that its schema allows."""
import json
import os
import subprocess
import sys

PROBE = os.path.join(os.environ["QUELL_BIN"], "mcp_probe")


def value_for(schema):
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    return {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}.get(kind, "text")


def planned_calls(schemas):
    """What the scenario wants called, or else each tool once; one that wants a schema back gets that of another tool."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if context.get("toolCalls"):
        return [(c["name"], c.get("arguments", {})) for c in context["toolCalls"]]
    calls = []
    for name, schema in schemas.items():
        wanted = {key: value_for(schema["properties"][key]) for key in schema.get("required", []) if key in schema.get("properties", {})}
        calls.append((name, {"schema": next(s for n, s in schemas.items() if n != name)} if name == "json_schema_echo" else wanted))
    return calls


def main():
    with subprocess.Popen([PROBE, "--url", sys.argv[-1], *sys.argv[1:-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as probe:
        def say(line):
            probe.stdin.write(line + "\n")

        def lines(end):
            found = []
            for line in probe.stdout:
                print(line.rstrip(), file=sys.stderr)
                found.append(line.rstrip("\n"))
                if line.startswith(end):
                    return found
            return found
        say("tools")
        words = [line.split(" ", 2) for line in lines(("tools ", "fault "))]
        schemas = {word[1]: json.loads(word[2]) for word in words if word[0] == "schema"}
        for number, (name, arguments) in enumerate(planned_calls(schemas)):
            say(f"call c{number} {name} {json.dumps(arguments)}")
            lines((f"finished c{number} ", f"failed c{number} "))
        probe.stdin.close()
        lines(("end",))
    return 0


if __name__ == "__main__":
    sys.exit(main())
