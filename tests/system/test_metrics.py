"""/metrics as Prometheus reads it: promtool's rules, and figures that match the events."""
import http.client
import re
import shutil
import subprocess
import urllib.parse

import pytest

from harness.turns import TurnCluster
from harness.waiting import until

SCRIPT = [{"when": {"user": "endless"}, "steps": [{"endless": "on and on ", "chunk": 5, "delay_ms": 20}]}, {"text": "You said {{text}}."}]
STAY = "while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def cluster():
    with TurnCluster(SCRIPT) as c:
        yield c


def scrape(c, token=None):
    answer = c.api("GET", "/metrics", token=token)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.body
    return answer.body.decode()


def figures(c):
    """`name{labels}` -> value."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in scrape(c).splitlines() if not line.startswith("#")}


def figure(c, name):
    return figures(c).get(name, 0)


def some_of_everything(c):
    task = c.start("bash", "-c", STAY, scope="m/task")
    c.start("true", scope="m/waits", task_on={"os": "none"})
    c.wait_status(task["id"], "running")
    c.ended(c.say("m/chat", "hello"))
    turn = c.say("m/chat", "endless")
    c.wait_status(turn, "running")
    return task, turn


def test_promtool_finds_nothing_wrong(cluster):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed (Debian package prometheus; make deps)")
    some_of_everything(cluster)
    cluster.cancel(scope="m")
    done = subprocess.run([promtool, "check", "metrics"], input=scrape(cluster), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr.strip() and not done.stdout.strip(), done


def test_live_work_is_counted_by_kind_and_status(cluster):
    c = cluster
    task, turn = some_of_everything(c)
    # A read of the workspace's notes is a task, too, and can outlast the turn that asked for it.
    now = until(lambda: (lambda f: f if f['quell_operations_live{kind="task",status="running"}'] == 1 else None)(figures(c)), "one task to run")
    assert now['quell_operations_live{kind="task",status="pending"}'] == 1
    assert now['quell_operations_live{kind="turn",status="running"}'] == 1
    assert now['quell_operations_live{kind="external",status="running"}'] == 0
    assert now['quell_workers{status="ready"}'] == 1 and now['quell_workers{status="lost"}'] == 0
    c.cancel(scope="m")
    now = until(lambda: (lambda f: None if any(v for k, v in f.items() if k.startswith("quell_operations_live")) else f)(figures(c)), "nothing to be live")
    assert now["quell_cancels_open"] == 0
    c.kill_controller()
    c.start_controller()
    assert figure(c, 'quell_operations_live{kind="task",status="running"}') == 0


def test_a_cancel_is_in_its_three_histograms_in_order(cluster):
    c = cluster
    before = figures(c)
    task = c.start("bash", "-c", "trap '' TERM; echo up; " + STAY, scope="m/slow", grace_ms=600)
    until(lambda: c.api("GET", f"/v1/operations/{task['id']}/output").body == b"up\n", "the task to ignore TERM")
    report = c.cancel(scope="m/slow")["report"]
    after = figures(c)
    for level in ("fenced", "signalled", "settled"):
        name = f"quell_cancel_{level}_seconds"
        assert after[name + "_count"] == before[name + "_count"] + 1
        assert after[name + "_sum"] - before[name + "_sum"] == pytest.approx(report[level + "_ms"] / 1000, abs=1e-5)
        buckets = [(float(le) if le != "+Inf" else float("inf"), v) for le, v in
                   re.findall(re.escape(name) + r'_bucket\{le="([^"]+)"\} (\d+)', scrape(c))]
        counts = [int(v) for _, v in sorted(buckets)]
        assert counts == sorted(counts) and counts[-1] == after[name + "_count"]
    # It ignored its signal for the grace: no bucket below the grace counts it.
    assert after['quell_cancel_settled_seconds_bucket{le="0.5"}'] == before['quell_cancel_settled_seconds_bucket{le="0.5"}']


def test_journal_store_events_turns_and_http_are_counted(cluster):
    c = cluster
    before = figures(c)
    c.ended(c.say("m/counted", "hello"))
    turn = c.say("m/counted", "endless")
    c.wait_status(turn, "running")
    c.cancel(scope="m/counted")
    assert c.api("GET", "/v1/nothing").status == 404
    # A request is counted behind its answer.
    for name in ('quell_http_requests_total{code="404"}', 'quell_http_request_duration_seconds_count{method="POST",route="/v1/cancels"}'):
        until(lambda: figure(c, name) > before.get(name, 0), f"{name} to count the request")
    after = figures(c)
    grown = {k: after[k] - before.get(k, 0) for k in after}
    assert grown["quell_journal_batches_total"] > 0 and grown["quell_journal_rows_total"] >= grown["quell_journal_batches_total"]
    assert grown["quell_journal_commit_seconds_count"] == pytest.approx(grown["quell_journal_batches_total"], abs=3)
    assert after["quell_journal_failures_total"] == 0
    assert after['quell_store_bytes{file="quell.db"}'] >= 4096 and after['quell_store_bytes{file="quell.db-wal"}'] > 0 and after["quell_store_free_bytes"] > 0 and after["quell_store_low"] == 0
    assert grown['quell_events_total{type="turn_complete"}'] == 1 and grown['quell_turns_ended_total{end="user"}'] == 1
    assert grown['quell_commands_total{name="order_cancel"}'] == 1 and grown['quell_commands_total{name="create_operation"}'] == 0
    assert grown['quell_http_requests_total{code="404"}'] == 1
    assert grown['quell_http_request_duration_seconds_count{method="POST",route="/v1/cancels"}'] == 1
    assert after["process_resident_memory_bytes"] > 1 << 20 and after["process_open_fds"] > 10 and after["process_cpu_seconds_total"] > 0


def test_connections_and_streams_are_counted_while_they_are_there(cluster):
    c = cluster
    url = urllib.parse.urlsplit(c.url)
    before = figures(c)["quell_http_event_streams"]
    watcher = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    watcher.request("GET", "/v1/events", headers={"Authorization": "Bearer " + c.token, "Accept": "text/event-stream"})
    watcher.getresponse().readline()
    now = figures(c)
    assert now["quell_http_event_streams"] == before + 1 and now["quell_http_connections"] >= 2
    watcher.close()
    until(lambda: figure(c, "quell_http_event_streams") == before, "the stream to be gone")


def test_metrics_need_a_token_unless_they_are_public(cluster):
    c = cluster
    assert c.api("GET", "/metrics", headers={"Authorization": None}).status == 401
    observer = c.api("POST", "/v1/tokens", {"name": "prometheus", "role": "observer"}).json["token"]
    assert "quell_workers" in scrape(c, token=observer)
    c.settings.append("http.metrics_public=true")
    c.kill_controller()
    c.start_controller()
    assert c.api("GET", "/metrics", headers={"Authorization": None}).status == 200
