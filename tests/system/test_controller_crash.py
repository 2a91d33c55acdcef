"""kill -9 of the controller at random instants under load: no accepted operation or cancel is lost, ended operations stay ended, live ones are adopted."""
import json
import os
import random
import threading

from harness import processes
from harness.cluster import Cluster, marker
from harness.waiting import PATIENCE, until

ROUNDS = int(os.environ.get("QUELL_CRASH_ROUNDS", "100"))


class Load:
    """Clients that start and cancel as fast as they can and record every answer."""

    def __init__(self, cluster, m, seed):
        self.cluster, self.marker = cluster, m
        self.random = random.Random(seed)
        self.accepted, self.cancelled = {}, {}
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.answers = 0
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(3)]
        for t in self.threads:
            t.start()

    def work(self, number):
        turn = 0
        while not self.stop.is_set():
            turn += 1
            scope = f"load/{number}"
            try:
                short = turn % 3
                command = ["true"] if short else ["bash", "-c", "while :; do sleep 1000; done", self.marker]
                answer = self.cluster.api("POST", "/v1/operations", {"kind": "task", "scope": scope, "grace_ms": 100, "task": {"command": command}},
                                          timeout=10)
                if answer.status == 201:
                    with self.lock:
                        self.accepted[answer.json["id"]] = answer.json["seq"]
                        self.answers += 1
                if turn % 7 == 0:
                    answer = self.cluster.api("POST", "/v1/cancels", {"scope": scope}, timeout=10)
                    if answer.status in (200, 202):
                        with self.lock:
                            self.cancelled[answer.json["id"]] = (scope, answer.json["seq"])
                            self.answers += 1
            except (OSError, json.JSONDecodeError, ValueError, EOFError):
                pass
            except Exception as e:  # http.client's own errors: the connection broke in the middle of an answer
                if "http" not in type(e).__module__:
                    raise

    def wait_answers(self, more):
        goal = self.answers + more
        until(lambda: self.answers >= goal, f"{more} more answers")

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def test_kill_9_at_random_instants_loses_and_resurrects_nothing():
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    # The lease outlives a controller that is repeatedly slow to restart: none must expire here.
    lease = f"workers.lease={round(30 * PATIENCE)}s"
    with Cluster(workers=2, slots=32, settings=[lease, "workers.heartbeat=200ms"]) as c:
        m, kept = marker("load"), marker("kept")
        log = os.path.join(c.directory, "kept.log")
        survivor = c.start("bash", "-c", f"echo begun; echo $$ >> {log}; read -r line; echo after; exit 7", kept, scope="kept/alive", task_stdin=True)
        until(lambda: os.path.exists(log), "the long task to begin")
        load = Load(c, m, seed)
        try:
            for _ in range(ROUNDS):
                load.wait_answers(load.random.randrange(1, 12))
                c.kill_controller()
                c.start_controller()
        finally:
            load.end()
        rows = {o["id"]: o for o in c.operations(scope="load")}
        missing = [i for i in load.accepted if i not in rows]
        assert not missing, f"accepted operations are missing: {missing[:3]}"
        for id, (scope, seq) in load.cancelled.items():
            answer = c.api("GET", f"/v1/cancels/{id}")
            assert answer.status == 200 and answer.json["seq"] == seq, "an accepted cancel is missing"
        until(lambda: not c.api("GET", "/v1/cancels?status=open").json["cancels"], "all accepted cancels to settle", 90)
        rows = {o["id"]: o for o in c.operations(scope="load")}
        for scope in {s for s, _ in load.cancelled.values()}:
            last = max(q for s, q in load.cancelled.values() if s == scope)
            alive = [o for o in rows.values() if o["scope"] == scope and o["seq"] < last and o["status"] not in ("cancelled", "completed", "failed")]
            assert not alive, f"cancelled work lives: {alive[:1]}"
        assert not [o for o in rows.values() if o["status"] == "failed"], [o for o in rows.values() if o["status"] == "failed"][:1]
        # Running work was adopted with its output; its result is delivered once.
        assert c.operation(survivor["id"])["status"] == "running"
        assert len(processes.read(log).splitlines()) == 1, "it ran once"
        until(lambda: c.api("POST", f"/v1/operations/{survivor['id']}/input?offset=0&end=true", raw=b"on\n").status < 300,
              "the input to be taken")
        ended = c.wait_status(survivor["id"], "failed")
        assert ended["exit"] == {"code": 7}
        assert c.output(survivor["id"]) == b"begun\nafter\n"
        assert len([e for e in c.stored_events(survivor["id"]) if e["type"] == "operation_failed"]) == 1
        c.cancel(everything=True)
        assert processes.marked(m) == []


def test_a_planned_stop_hands_over_and_loses_nothing():
    import signal
    with Cluster(workers=1, settings=["workers.lease=10s", "workers.heartbeat=200ms"]) as c:
        m = marker()
        op = c.start("bash", "-c", "read -r line; echo got $line", m, scope="up/grade", task_stdin=True)
        c.wait_status(op["id"], "running")
        c.kill_controller(signal.SIGTERM)
        c.start_controller()
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        # Just after a reconnect the input can be refused with a retry (429).
        until(lambda: c.api("POST", f"/v1/operations/{op['id']}/input?offset=0&end=true", raw=b"upgrade\n").status < 300, "the input to be taken")
        c.wait_status(op["id"], "completed")
        assert c.output(op["id"]) == b"got upgrade\n"
