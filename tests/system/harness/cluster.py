"""A real cluster in a temporary directory: starts the programs, speaks HTTP and CLI, ends them all and checks that nothing is left."""
import ctypes
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import urllib.parse
import uuid

from . import processes
from .certificates import any_certificate
from .waiting import until

BIN = os.environ.get("QUELL_BIN", os.path.join(os.path.dirname(__file__), "../../../build/bin"))


LIBC = ctypes.CDLL(None)
SANITIZER = re.compile(r"(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error: ")


def die_with_us():
    """For a child, before its exec: the cluster dies with a test that is killed. Start clusters from the main thread."""
    LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Worker:
    def __init__(self, name, process, state):
        self.name, self.process, self.state = name, process, state


class Cluster:
    """`with Cluster(workers=2) as c:` — settings are `section.key=value` for quelld, worker_flags go to each quell-worker."""

    trusted = None  # the authority of an HTTPS server (a file); None: whatever certificate it has is taken

    def __init__(self, workers=1, slots=16, settings=(), worker_flags=()):
        self.directory = tempfile.mkdtemp(prefix="quell-test-")
        self.state = os.path.join(self.directory, "state")
        self.settings, self.worker_flags = list(settings), list(worker_flags)
        self.worker_count, self.slots = workers, slots
        self.controller = None
        self.workers = {}
        self.clients = []
        self.ports = None

    # ---- life -------------------------------------------------------------------------------------------------
    def __enter__(self):
        try:
            self.start_controller()
            for i in range(self.worker_count):
                self.add_worker(f"w{i + 1}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.print_logs()
        self.close()
        self.check_no_sanitizer_spoke()
        if kind is None:
            self.check_nothing_left()

    def log(self, name):
        return open(os.path.join(self.directory, name + ".log"), "ab")

    def print_logs(self):
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(".log"):
                text = processes.read(os.path.join(self.directory, name)).decode(errors="replace")
                print(f"---- {name} ----\n" + "\n".join(text.splitlines()[-40:]))

    def start_controller(self, flags=(), wait=True, env=None, prefix=()):
        client = os.path.join(self.state, "client.json")
        if os.path.exists(client):
            os.unlink(client)
        # The same ports over restarts, as on a real host: workers and clients reconnect to them.
        if self.ports is None:
            self.ports = free_ports(3)
        http_port, control, bulk = self.ports
        command = [*prefix, f"{BIN}/quelld", "--state", self.state, "--listen", f"127.0.0.1:{http_port}",
                   "--workers-listen", f"127.0.0.1:{control}", "--output-listen", f"127.0.0.1:{bulk}"]
        for s in self.settings:
            command += ["--set", s]
        with self.log("quelld") as log:
            self.controller = subprocess.Popen(command + list(flags), stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, preexec_fn=die_with_us)
        if wait:
            until(lambda: os.path.exists(client) or self.controller.poll() is not None, "quelld to be ready")
            assert self.controller.poll() is None, "quelld ended at its start"
            with open(client) as f:
                data = json.load(f)
            self.url, self.token = data["url"], data["token"]
            until(lambda: self.healthy(), "the HTTP API to answer")
        return self.controller

    def healthy(self):
        try:
            return self.api("GET", "/healthz").status == 200
        except OSError:
            return False

    def kill_controller(self, sig=signal.SIGKILL):
        self.controller.send_signal(sig)
        self.controller.wait(timeout=60)

    def enrol(self, name):
        answer = self.api("POST", "/v1/workers", {"name": name, "key": None, "labels": {}})
        assert answer.status == 201, answer.body
        path = os.path.join(self.directory, name + ".join")
        with open(path, "w") as f:
            f.write(answer.json["join"])
        return path

    def add_worker(self, name, flags=(), wait=True, prefix=()):
        """Enrols (once) and starts a worker; `prefix` runs it inside something else (ip netns exec …)."""
        join = os.path.join(self.directory, name + ".join")
        if not os.path.exists(join):
            self.enrol(name)
        state = os.path.join(self.directory, "worker-" + name)
        command = list(prefix) + [f"{BIN}/quell-worker", "--join-file", join, "--state", state, "--slots", str(self.slots)]
        with self.log(name) as log:
            process = subprocess.Popen(command + self.worker_flags + list(flags), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       start_new_session=True, preexec_fn=die_with_us)
        self.workers[name] = Worker(name, process, state)
        if wait:
            until(lambda: self.worker(name)["status"] == "ready" or process.poll() is not None, f"worker {name} to be ready")
            assert process.poll() is None, f"worker {name} ended at its start"
        return self.workers[name]

    def close(self):
        for client in self.clients:
            if client.poll() is None:
                client.kill()
                client.wait()
        for w in self.workers.values():
            if w.process.poll() is None:
                w.process.send_signal(signal.SIGCONT)
                w.process.terminate()
        for w in self.workers.values():
            end(w.process)
        if self.controller and self.controller.poll() is None:
            self.controller.send_signal(signal.SIGCONT)
            self.controller.terminate()
            end(self.controller)

    def check_no_sanitizer_spoke(self):
        """Programs built with sanitizers write their findings into their logs; only this check reads them."""
        for name in os.listdir(self.directory):
            if name.endswith(".log"):
                text = processes.read(os.path.join(self.directory, name)).decode(errors="replace")
                found = SANITIZER.search(text)
                assert not found, f"{name}:\n" + text[found.start():found.start() + 6000]

    def check_nothing_left(self):
        """Fails if a program of this cluster, a cgroup of its workers or a file is left."""
        state_ids = [processes.read(os.path.join(w.state, "state_id")).decode().strip()[:8] for w in self.workers.values()]
        until(lambda: not processes.marked(self.directory), "every process of the cluster to be gone")
        for s in filter(None, state_ids):
            until(lambda: not processes.cgroups(f"quell-worker-{s}"), f"the cgroups of worker state {s} to be gone")
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- HTTP ---------------------------------------------------------------------------------------------------
    def connection(self, timeout):
        url = urllib.parse.urlsplit(self.url)
        if url.scheme == "http":
            return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
        context = ssl.create_default_context(cafile=self.trusted) if self.trusted else any_certificate()
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout, context=context)

    def api(self, method, path, body=None, token=None, raw=None, headers=None, timeout=90):
        connection = self.connection(timeout)
        try:
            send = {"Authorization": "Bearer " + (token or self.token)}
            data = raw
            if body is not None:
                data = json.dumps(body)
                send["Content-Type"] = "application/json"
            send.update(headers or {})
            connection.request(method, path, data, {k: v for k, v in send.items() if v is not None})
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def start(self, *command, **fields):
        """Creates a task; `task` fields by task_NAME=…; returns the operation."""
        task = {"command": list(command)}
        task.update({k[5:]: v for k, v in fields.items() if k.startswith("task_")})
        body = {"kind": "task", "task": task}
        body.update({k: v for k, v in fields.items() if not k.startswith("task_")})
        answer = self.api("POST", "/v1/operations", body)
        assert answer.status in (200, 201), answer.body
        return answer.json

    def operation(self, id):
        answer = self.api("GET", f"/v1/operations/{id}")
        assert answer.status == 200, answer.body
        return answer.json

    def operations(self, **query):
        found, cursor = [], None
        while True:
            q = dict(query, limit=1000, **({"cursor": cursor} if cursor else {}))
            answer = self.api("GET", "/v1/operations?" + urllib.parse.urlencode(q, doseq=True))
            assert answer.status == 200, answer.body
            found += answer.json["operations"]
            cursor = answer.json["next_cursor"]
            if not cursor:
                return found

    def stored_events(self, below=None, **query):
        """All stored events, or those of an operation and below it; a page can be short if its time runs out."""
        path, found, after = f"/v1/operations/{below}/events" if below else "/v1/events", [], "0"
        while after:
            answer = self.api("GET", f"{path}?" + urllib.parse.urlencode(dict(query, after=after, limit=1000), doseq=True))
            assert answer.status == 200, answer.body
            found += answer.json["events"]
            after = answer.json["next_cursor"]
        return found

    def cancel(self, wait="settled", wait_ms=60000, **target):
        answer = self.api("POST", "/v1/cancels", dict(target, wait=wait, wait_ms=wait_ms))
        assert answer.status in (200, 202), answer.body
        return answer.json

    def worker(self, name):
        return self.api("GET", f"/v1/workers/{name}").json

    def wait_status(self, id, *statuses, seconds=60):
        return until(lambda: (lambda o: o if o["status"] in statuses else None)(self.operation(id)),
                     f"operation {id} to be {' or '.join(statuses)}", seconds)

    def output(self, id, stream="stdout"):
        answer = self.api("GET", f"/v1/operations/{id}/output?stream={stream}&follow=true")
        assert answer.status == 200, answer.body
        return answer.body

    # ---- CLI ----------------------------------------------------------------------------------------------------
    def environment(self, **more):
        keep = {k: v for k, v in os.environ.items() if not k.startswith("QUELL")}
        keep.update(QUELL_URL=self.url, QUELL_TOKEN=self.token, PATH=f"{BIN}:{os.environ['PATH']}", **more)
        return keep

    def quell(self, *arguments, timeout=90, stdin=None, env=None, check=None):
        done = subprocess.run([f"{BIN}/quell", *map(str, arguments)], capture_output=True, timeout=timeout, input=stdin,
                              env=env or self.environment())
        if check is not None:
            assert done.returncode == check, f"quell {arguments}: exit {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        return done

    def quell_background(self, *arguments, **popen):
        options = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=self.environment())
        options.update(popen)
        client = subprocess.Popen([f"{BIN}/quell", *map(str, arguments)], **options)
        self.clients.append(client)
        return client


def end(process, seconds=60):
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=seconds)


held_ports = []  # sockets whose names hold the ports until this process ends


def free_ports(count):
    """Ports that no connection gets by chance (they lie below the kernel's own range), and no other process of these tests while this one lives."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first = max(int(f.read().split()[0]), 20000)
    found = []
    for port in random.sample(range(10000, first), first - 10000):
        if len(found) == count:
            return found
        held, tried = socket.socket(socket.AF_UNIX), socket.socket()
        try:
            held.bind(f"\0quell-test-port-{port}")
            tried.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        finally:
            tried.close()
        held_ports.append(held)
        found.append(port)
    raise AssertionError(f"there are no {count} free ports below {first}")


def marker(word="m"):
    """A text that no other command line on this machine contains."""
    return f"quellmark-{word}-{uuid.uuid4().hex[:12]}"


def levels():
    """The containment levels of this machine, by the worker's own probe."""
    out = subprocess.run([f"{BIN}/quell-worker", "probe"], capture_output=True, check=True).stdout
    strongest = json.loads(out)["level"]
    return {"cgroup+pidns": ["cgroup+pidns", "cgroup", "pidns", "group"], "cgroup": ["cgroup", "group"], "pidns": ["pidns", "group"]}.get(
        strongest, ["group"])
