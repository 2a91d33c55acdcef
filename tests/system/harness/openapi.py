"""Checks real answers (and accepted requests) against the OpenAPI document that the same quelld serves."""
import json
import re
import urllib.parse

import jsonschema

VALIDATOR = jsonschema.Draft202012Validator
METHODS = ("get", "post", "delete", "put", "patch")


class Document:
    """`check` raises AssertionError for an answer that the document does not describe; `seen` lists the checked answers."""

    def __init__(self, text):
        self.json = json.loads(text)
        self.resolver = jsonschema.RefResolver("", self.json)
        self.seen = {}  # (METHOD, path template) -> statuses
        self.codes = set()
        self.templates = [(path, re.compile("^" + re.sub(r"\{\w+\}", "[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")) + "$"))
                          for path in self.json["paths"]]

    def operations(self):
        return {(m.upper(), path) for path, item in self.json["paths"].items() for m in METHODS if m in item}

    def resolved(self, node):
        while "$ref" in node:
            node = self.resolver.resolve(node["$ref"])[1]
        return node

    def template_of(self, path):
        bare = urllib.parse.urlsplit(path).path
        exact = [p for p, _ in self.templates if p == bare]
        return (exact or [p for p, pattern in self.templates if pattern.match(bare)] or [None])[0]

    def check(self, method, path, answer, sent=None):
        template = self.template_of(path)
        where = f"{method} {path} -> {answer.status}"
        headers = {k.lower(): v for k, v in answer.headers.items()}
        kind = headers.get("content-type", "").split(";")[0]
        item = self.json["paths"].get(template, {}).get(method.lower())
        if item is None:  # an unknown path or method still gets a problem of the common shape
            assert answer.status in (404, 405), f"{where}: answered, but not in the document"
            self.codes.add(answer.json["code"])
            return self.check_body(where, self.json["components"]["schemas"]["Problem"], answer.json)
        statuses = item["responses"]
        documented = statuses.get(str(answer.status)) or (statuses.get("default") if answer.status >= 400 else None)
        assert documented, f"{where}: this status is not in the document, which has {sorted(statuses)}"
        documented = self.resolved(documented)
        content = documented.get("content", {})
        assert kind in content or not content and not answer.body, f"{where}: {kind!r} is not one of {sorted(content)}"
        for name, header in documented.get("headers", {}).items():
            if header.get("required"):
                assert name.lower() in headers, f"{where}: header {name} is missing"
        self.seen.setdefault((method, template), set()).add(answer.status)
        if kind in ("application/json", "application/problem+json"):
            self.check_body(where, content[kind]["schema"], answer.json)
        if kind == "application/problem+json":
            problem = answer.json
            assert problem["status"] == answer.status and problem["type"] == "urn:quell:error:" + problem["code"], problem
            self.codes.add(problem["code"])
        if sent is not None and answer.status < 300 and "requestBody" in item:
            self.check_body(where + ", what was sent", self.resolved(item["requestBody"])["content"]["application/json"]["schema"], sent)

    def check_event(self, event):
        self.check_body(f"event {event.get('id')}", self.json["components"]["schemas"]["Event"], event)

    def check_body(self, where, schema, value):
        faults = sorted(VALIDATOR(schema, resolver=self.resolver).iter_errors(value), key=str)
        assert not faults, f"{where}: /{'/'.join(map(str, faults[0].absolute_path))}: {faults[0].message[:300]}"
        unknown = list(self.undescribed(schema, value, ""))
        assert not unknown, f"{where}: {unknown} are not in the document"

    def undescribed(self, schema, value, at):
        """Members that the server sends and the document does not describe."""
        schema = self.resolved(schema)
        for some in ("oneOf", "anyOf"):
            fitting = [s for s in schema.get(some, ()) if VALIDATOR(s, resolver=self.resolver).is_valid(value)]
            if fitting:
                schema = self.resolved(fitting[0])
        if isinstance(value, list) and "items" in schema:
            for i, v in enumerate(value):
                yield from self.undescribed(schema["items"], v, f"{at}/{i}")
        if not isinstance(value, dict) or "properties" not in schema and "additionalProperties" not in schema:
            return
        for name, v in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner is None:
                yield f"{at}/{name}"
            elif isinstance(inner, dict):
                yield from self.undescribed(inner, v, f"{at}/{name}")


def checked(cluster):
    """Checks every answer of this cluster through `cluster.api` from now on; returns the document."""
    document = Document(cluster.api("GET", "/v1/openapi.json").body)
    plain = cluster.api

    def api(method, path, body=None, **options):
        answer = plain(method, path, body, **options)
        document.check(method, path, answer, body)
        return answer

    cluster.api = api
    return document
