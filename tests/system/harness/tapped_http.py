"""An HTTP/1.1 proxy before quelld that a test looks through: which streams are open, and requests that shall hang."""
import contextlib
import json
import re
import socket
import threading

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class TappedServer:
    """`with TappedServer(cluster.url) as tap:` tap.url is for the browser. `hangs(method, path, body)`: such a request is read and never answered."""

    def __init__(self, url, hangs=lambda method, path, body: False):
        self.to = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.hangs = hangs
        self.lock = threading.Lock()
        self.now = {}  # connection -> (method, path) of its newest request
        self.hung = 0  # requests that hang now
        self.asked = []  # (method, path) of every request
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.over = False
        self.threads = [threading.Thread(target=self.accept, daemon=True)]

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.over = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            open_now = list(self.now)
        for one in open_now:
            hang_up(one)
        for thread in list(self.threads):
            thread.join(10)

    def streams(self):
        """The paths of the streams that are open now."""
        with self.lock:
            return [path for _, path in self.now.values() if path.startswith("/v1/events?") or "follow=true" in path]

    def accept(self):
        while not self.over:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, client):
        try:
            server = socket.create_connection(self.to)
        except OSError:
            client.close()
            return
        with self.lock:
            self.now[client] = ("", "")
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        try:
            while request := read_request(client):
                head, body = request
                method, path = head.split(b" ", 2)[:2]
                method, path = method.decode(), path.decode()
                with self.lock:
                    self.now[client] = (method, path)
                    self.asked.append((method, path))
                if self.hangs(method, path, body):
                    self.hang(client)
                    break
                server.sendall(head + body)
        except OSError:
            pass
        finally:
            with self.lock:
                del self.now[client]
            hang_up(server)
            hang_up(client)
            back.join(10)
            server.close()
            client.close()

    def hang(self, client):
        with self.lock:
            self.hung += 1
        try:
            client.recv(1)  # until the browser hangs up
        finally:
            with self.lock:
                self.hung -= 1


def is_preview(method, path, body):
    return method == "POST" and path == "/v1/cancels" and json.loads(body).get("dry_run") is True


def hang_up(one):
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def read_request(client):
    """(head, body) of the next request; None if the client has hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65536)
        if not part:
            return None
        data += part
    at = data.index(b"\r\n\r\n") + 4
    length = LENGTH.search(data, 0, at)
    end = at + (int(length[1]) if length else 0)
    while len(data) < end:
        part = client.recv(65536)
        if not part:
            return None
        data += part
    return data[:at], data[at:end]


def pump(source, sink):
    try:
        while part := source.recv(65536):
            sink.sendall(part)
    except OSError:
        pass
    hang_up(sink)
