"""The client that the public conformance suite starts (test_mcp_conformance.py): `conformance_client.py URL` lists the tools of that
server with our client (mcp_probe) and calls each of them, with inputs that its schema allows. If a login is needed it acts as the browser:
the suite's authorization servers accept everyone and redirect at once."""
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

PROBE = os.path.join(os.environ["QUELL_BIN"], "mcp_probe")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The address of quell's own metadata document in this suite.
METADATA_URL = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI = "http://127.0.0.1:7777/callback"


def value_for(schema):
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    return {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}.get(kind, "text")


def planned_calls(schemas):
    """The calls of the scenario, or else each tool once; a tool that needs a schema as its input gets that of another tool."""
    if CONTEXT.get("toolCalls"):
        return [(c["name"], c.get("arguments", {})) for c in CONTEXT["toolCalls"]]
    calls = []
    for name, schema in schemas.items():
        wanted = {key: value_for(schema["properties"][key]) for key in schema.get("required", []) if key in schema.get("properties", {})}
        calls.append((name, {"schema": next(s for n, s in schemas.items() if n != name)} if name == "json_schema_echo" else wanted))
    return calls


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browsed(url):
    """The query with which the browser comes back."""
    try:
        urllib.request.build_opener(NoRedirect).open(url, timeout=10).close()
    except urllib.error.HTTPError as answer:
        place = answer.headers["Location"] or ""
        assert place.startswith(REDIRECT_URI + "?"), place
        return place.partition("?")[2]
    raise AssertionError("the authorization server does not redirect")


class Talk:
    MOST_LOGINS = 3

    def __init__(self, probe):
        self.probe, self.logins = probe, 0

    def say(self, line, *ends):
        """The lines up to the first that begins with one of the ends."""
        self.probe.stdin.write(line + "\n")
        return self.lines(ends)

    def lines(self, ends):
        found = []
        for line in self.probe.stdout:
            print(line.rstrip(), file=sys.stderr)
            found.append(line.rstrip("\n"))
            if line.startswith(ends):
                return found
        return found

    def logged_in(self, said):
        """Logs in if the call failed for a missing login; true if it did."""
        if "mcp_login_needed" not in said[-1] or self.logins == self.MOST_LOGINS:
            return False
        self.logins += 1
        word, _, rest = self.say(f"login {REDIRECT_URI}", "login ", "fault ")[-1].partition(" ")
        return word == "login" and self.say("redirected " + browsed(rest), "logged in", "fault ")[-1] == "logged in"

    def insist(self, line, *ends):
        said = self.say(line, *ends)
        while self.logged_in(said):
            said = self.say(line, *ends)
        return said


def main():
    command = [PROBE, "--url", sys.argv[-1], *sys.argv[1:-1]]
    command += ["--oauth", CONTEXT.get("client_id", ""), CONTEXT.get("client_secret", ""), METADATA_URL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as probe:
        talk = Talk(probe)
        words = [line.split(" ", 2) for line in talk.insist("tools", "tools ", "fault ")]
        schemas = {word[1]: json.loads(word[2]) for word in words if word[0] == "schema"}
        for number, (name, arguments) in enumerate(planned_calls(schemas)):
            ends = (f"finished c{number} ", f"failed c{number} ", f"question c{number} ")
            said = talk.insist(f"call c{number} {name} {json.dumps(arguments)}", *ends)
            while said and said[-1].startswith("question "):  # a human who accepts every question and gives no values
                said = talk.say(f"answer c{number} {said[-1].split(' ')[2]} accept {{}}", *ends)
        probe.stdin.close()
        talk.lines(("end",))
    return 0


if __name__ == "__main__":
    sys.exit(main())
