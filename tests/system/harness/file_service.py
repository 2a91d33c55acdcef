"""The files of a chat service on loopback: what is put there has an address; a held file's answer waits until it is released."""
import http.server
import select
import threading


class FileService:
    """`asked`: (path, headers with names in lower case) of every request. `hung_up`: paths whose client left before the answer."""

    def __init__(self):
        service = self
        self.guard, self.over, self.files = threading.Lock(), threading.Event(), {}
        self.asked, self.hung_up = [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                with service.guard:
                    service.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                    file = service.files.get(self.path)
                if file and file["held"] and not service.wait(self, file["held"]):
                    return
                status, data = (file["status"], file["data"]) if file else (404, b"nothing is here")
                self.send_response(status)
                for name, value in (file["headers"] if file else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    pass  # the client has read enough

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def wait(self, to, held):
        """False: the client hung up first, or the test is over."""
        while not held.is_set():
            readable, _, _ = select.select([to.connection], [], [], 0.05)
            if readable or self.over.is_set():
                with self.guard:
                    self.hung_up.append(to.path)
                return False
        return True

    def put(self, path, data, status=200, held=None, **headers):
        """The address. `held`: an Event that must be set before the answer."""
        with self.guard:
            self.files[path] = {"data": data, "status": status, "held": held, "headers": headers}
        return self.url + path

    def asks(self, path):
        with self.guard:
            return [headers for asked, headers in self.asked if asked == path]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
