"""An HTTP server on loopback that plays a chat service: it records every request, can have scripted answers, and can stop and come back."""
import collections
import http.server
import json
import socket
import threading
import time

from .cluster import free_ports


class WebService:
    """Subclasses answer in `respond(method, path, headers, body)` with (status, headers, JSON), or bytes for JSON."""

    def __init__(self):
        self.port = free_ports(1)[0]
        self.lock = threading.RLock()
        self.requests = []  # (monotonic seconds, path, body)
        self.scripted = collections.defaultdict(collections.deque)  # path's end -> answers to give first
        self.unheard, self.unanswered = (), ()  # ends of paths: not performed, or performed, and never answered
        self.wrong = []  # violations of the service's rules
        self.connections = set()
        self.server = self.thread = None
        self.start()

    def start(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path.endswith(service.unheard):
                    return self.hang()
                status, headers, answer = service.take(self.path, self.headers, body)
                if self.path.endswith(service.unanswered):
                    return self.hang()
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client has disconnected

            def hang(self):
                """Answers nothing until the client is gone."""
                self.close_connection = True
                try:
                    self.rfile.read(1)
                except OSError:
                    pass

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def process_request(self, connection, peer):
                with service.lock:
                    service.connections.add(connection)
                super().process_request(connection, peer)

            def shutdown_request(self, connection):
                with service.lock:
                    service.connections.discard(connection)
                super().shutdown_request(connection)

            def handle_error(self, *_):
                pass  # a client that hung up

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            with self.lock:
                for connection in self.connections:  # also connections that are kept open
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass  # its client closed it first
            self.thread.join()
            self.server = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.closing = True
        self.stop()
        if kind is None:
            assert not self.wrong, self.wrong

    def take(self, path, headers, raw):
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"raw": raw.decode(errors="replace")}
        with self.lock:
            self.requests.append((time.monotonic(), path, body))
            for end, answers in self.scripted.items():
                if path.endswith(end) and answers:
                    return answers.popleft()
        return self.respond(path, headers, body)

    def calls(self, end):
        with self.lock:
            return [body for _, path, body in self.requests if path.endswith(end)]
