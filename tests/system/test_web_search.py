"""web_search: the configured service is asked, its pages reach the model, and a stop closes the connection."""
import json
import os
import socketserver
import threading
import urllib.parse

import pytest

from harness import processes
from harness.turns import TurnCluster
from harness.waiting import until


class SearchService:
    """Plays SearXNG. A search for "hang" is never answered; `closed` is set when its client goes away."""

    def __init__(self):
        self.seen, self.keys, self.closed = [], [], threading.Event()
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                path = self.rfile.readline().decode().split()[1]
                headers = {}
                while line := self.rfile.readline().decode().strip():
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["q"][0]
                service.keys.append(headers.get("authorization"))
                service.seen.append(query)
                if query == "hang":
                    try:
                        self.connection.recv(1)
                    except OSError:
                        pass
                    service.closed.set()
                    return
                status = "429 Too Many Requests" if query == "busy" else "200 OK"
                body = json.dumps({"results": [{"title": "Quell", "url": "https://quell.example/", "content": f"about {query}"}]}).encode()
                self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def call(query, **more):
    return {"steps": [{"calls": [{"name": "web_search", "input": {"query": query, **more}}]}]}


@pytest.fixture
def world(tmp_path):
    key = tmp_path / "key"
    key.write_text("a-search-key\n")
    service = SearchService()
    script = [{"when": {"user": "find"}, **call("quell")}, {"when": {"user": "busy"}, **call("busy")},
              {"when": {"user": "hang"}, **call("hang")}, {"text": "ok"}]
    config = f'[web_search]\nprovider = "searxng"\nurl = "{service.url}"\nkey_file = "{key}"\n'
    try:
        with TurnCluster(script, config, agent='tools = ["web_search"]', workers=0) as c:
            c.service = service
            yield c
    finally:
        service.close()


def searched(world, text):
    turn = world.say("room", text)
    assert world.ended(turn)["status"] == "completed", world.operation(turn)
    result, = world.results("room", turn)
    return result["result"]


def test_pages_reach_the_model_without_any_worker(world):
    result = searched(world, "find")
    assert result["ok"] and result["result"]["query"] == "quell", result
    assert result["result"]["results"] == [{"title": "Quell", "url": "https://quell.example/", "snippet": "about quell"}], result
    assert world.service.keys == ["Bearer a-search-key"]
    paths = [os.path.join(d, f) for d, _, files in os.walk(world.state) for f in files]
    stored = b"".join(processes.read(path) for path in paths)  # nothing of sockets
    assert b"a-search-key" not in stored, "the key was stored"


def test_a_service_that_takes_no_more_is_a_result_of_its_own(world):
    result = searched(world, "busy")
    assert not result["ok"] and result["error"]["code"] == "rate_limited", result


def test_a_search_that_takes_too_long_is_a_result_and_its_connection_is_closed(world):
    world.configure(world.configuration() + '[tools.timeouts]\nweb_search = "1s"\n')
    world.quell("reload", check=0)
    result = searched(world, "hang")
    assert not result["ok"] and result["error"]["code"] == "timeout", result
    until(world.service.closed.is_set, "the connection to the service to be closed")
    world.check_scope("room")


def test_a_stop_closes_the_connection_and_leaves_one_result(world):
    turn = world.say("room", "hang")
    until(lambda: "hang" in world.service.seen, "the search to be asked")
    answer = world.api("POST", f"/v1/operations/{turn}/cancel", {})
    assert answer.status in (200, 202), answer.body
    assert world.ended(turn)["status"] == "cancelled"
    until(world.service.closed.is_set, "the connection to the service to be closed")
    result, = world.results("room", turn)
    assert result["result"].get("cancelled"), result
    world.check_scope("room")


def test_a_search_that_a_restart_cuts_off_is_answered_as_unknown_and_not_asked_again(world):
    turn = world.say("room", "hang")
    until(lambda: "hang" in world.service.seen, "the search to be asked")
    world.restart()
    assert world.ended(turn)["status"] == "completed", world.operation(turn)
    result, = world.results("room", turn)
    assert not result["ok"] and result["result"]["outcome"] == "unknown", result
    assert world.service.seen == ["hang"], "a search that may be paid for was asked again"
    world.check_scope("room")
