"""An MCP server over HTTP (2025-11-25, without sessions) that requires a login, and its strict authorization server, which
records in `wrong` every violation by a client. One address for both; `browse` is the person who grants quell access."""
import base64
import hashlib
import secrets
import urllib.error
import urllib.parse
import urllib.request

from harness.web_service import WebService

TOOL = {"name": "work", "description": "a tool", "inputSchema": {"type": "object"}}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class OauthMcp(WebService):
    """`life`: the announced lifetime of a token in seconds. `good`: the tokens that the server accepts now."""

    def __init__(self, life=3600):
        self.life, self.good, self.refresh, self.codes, self.clients = life, set(), set(), {}, {}
        self.grants, self.refuses, self.scope, self.issued, self.tokens = [], False, "tools:use", [], []
        self.iss = None  # an issuer for redirects, instead of its own
        super().__init__()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self):
        return self.base + "/mcp"

    @property
    def issuer(self):
        return self.base + "/as"

    def expire(self):
        """The access tokens are not accepted any more."""
        with self.lock:
            self.good.clear()

    def methods(self):
        with self.lock:
            return [body.get("method") for _, path, body in self.requests if path == "/mcp"]

    def respond(self, path, headers, body):
        with self.lock:
            path, _, query = path.partition("?")
            fields = dict(urllib.parse.parse_qsl(query or body.get("raw", "")))
            routes = {"/mcp": lambda: self.mcp(headers, body),
                      "/.well-known/oauth-protected-resource/mcp": lambda: (200, {}, self.resource()),
                      "/.well-known/oauth-authorization-server/as": lambda: (200, {}, self.metadata()),
                      "/as/register": lambda: self.register(body),
                      "/as/authorize": lambda: self.authorize(fields),
                      "/as/token": lambda: self.token(headers, fields)}
            return routes[path]() if path in routes else (404, {}, {})

    def resource(self):
        return {"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["tools:use"]}

    def metadata(self):
        return {"issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize", "token_endpoint": self.issuer + "/token",
                "registration_endpoint": self.issuer + "/register", "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"], "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"], "authorization_response_iss_parameter_supported": True}

    def mcp(self, headers, message):
        token = (headers.get("Authorization") or "").removeprefix("Bearer ")
        self.tokens.append(token)
        if token not in self.good:
            said = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp", scope="{self.scope}"'
            return 401, {"WWW-Authenticate": said}, {"error": "invalid_token", "error_description": "unknown: " + token}
        method = message.get("method")
        if method == "server/discover":
            return 400, {}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}}
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "locked", "version": "1"}}
        elif "id" not in message:
            return 202, {}, {}
        else:
            result = {"tools": [TOOL]} if method == "tools/list" else {"content": [{"type": "text", "text": "worked behind the door"}]}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def register(self, body):
        client = "client-" + secrets.token_hex(4)
        self.clients[client] = (secrets.token_hex(8), body["redirect_uris"])
        return 201, {}, {"client_id": client, "client_secret": self.clients[client][0], "token_endpoint_auth_method": "client_secret_basic"}

    def authorize(self, fields):
        client = self.clients.get(fields.get("client_id"))
        for ok, what in ((client, "an unknown client"), (client and fields.get("redirect_uri") in client[1], "an unregistered redirect"),
                         (fields.get("code_challenge_method") == "S256", "no S256"), (fields.get("resource") == self.url, "no resource"),
                         (fields.get("response_type") == "code", "no code asked for"), (len(fields.get("state", "")) >= 16, "a short state")):
            if not ok:
                self.wrong.append(what)
        code = secrets.token_hex(8)
        self.codes[code] = fields
        back = {"state": fields["state"], "iss": self.iss or self.issuer}
        back.update({"error": "access_denied"} if self.refuses else {"code": code})
        return 302, {"Location": fields["redirect_uri"] + "?" + urllib.parse.urlencode(back)}, {}

    def token(self, headers, fields):
        self.grants.append(fields.get("grant_type"))
        client, _, secret = base64.b64decode((headers.get("Authorization") or "").removeprefix("Basic ")).decode().partition(":")
        if client not in self.clients or self.clients[client][0] != secret:
            return 401, {}, {"error": "invalid_client"}
        if fields.get("resource") != self.url:
            self.wrong.append("a token for another resource")
        if fields.get("grant_type") == "refresh_token":
            if fields.get("refresh_token") not in self.refresh:
                return 400, {}, {"error": "invalid_grant"}
            self.refresh.discard(fields["refresh_token"])  # each is valid once
        else:
            asked = self.codes.pop(fields.get("code"), None)
            proof = base64.urlsafe_b64encode(hashlib.sha256(fields.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
            if not asked or proof != asked["code_challenge"] or fields.get("redirect_uri") != asked["redirect_uri"]:
                return 400, {}, {"error": "invalid_grant"}
        access, refresh = "at-" + secrets.token_hex(16), "rt-" + secrets.token_hex(16)
        self.good.add(access)
        self.refresh.add(refresh)
        self.issued += [access, refresh]
        return 200, {}, {"access_token": access, "token_type": "Bearer", "expires_in": self.life, "refresh_token": refresh, "scope": self.scope}


def browse(url):
    """The browser's last page, or its address if no server listens there."""
    try:
        urllib.request.build_opener(NoRedirect).open(url, timeout=60).close()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.headers["Location"]
    raise AssertionError("the authorization server does not redirect")
