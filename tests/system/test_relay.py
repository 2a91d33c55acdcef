"""The relay, by which tasks reach the API: it answers the tasks of its worker and no one else."""
import http.client
import json
import socket
import urllib.parse

import pytest

from harness.cluster import Cluster
from harness.waiting import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(workers=2) as c:
        yield c


def task_on(c, worker):
    """A live task: its id, the relay's address, its token."""
    o = c.start("bash", "-c", "echo $QUELL_URL; echo $QUELL_TOKEN; exec sleep 1000", scope="relay", task_worker=worker, grace_ms=0)
    said = until(lambda: (lambda b: b if b.count(b"\n") == 2 else None)(c.api("GET", f"/v1/operations/{o['id']}/output").body), "what the task says").decode().split()
    return o["id"], urllib.parse.urlsplit(said[0]), said[1]


def ask(url, token=None, path="/v1/operations"):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_the_relay_answers_only_the_tasks_of_its_worker(cluster):
    one, url, token = task_on(cluster, "w1")
    other, _, foreign = task_on(cluster, "w2")
    status, body = ask(url, token)
    assert status == 200 and [o["id"] for o in body["operations"]] == [one]
    # Another local user; a user with the bootstrap token; a task of another worker; a forged token of a live task.
    forged = token[:-4] + ("aaaa" if token[-4:] != "aaaa" else "bbbb")
    for stranger in (None, cluster.token, foreign, forged, "x"):
        for path in ("/v1/operations", "/healthz"):
            status, body = ask(url, stranger, path)
            assert (status, body["code"]) == (403, "forbidden"), (stranger == cluster.token, path, status, body)
            assert "QUELL_TOKEN" in body["detail"]
    cluster.cancel(scope="relay")
    assert ask(url, token)[0] == 403, "a dead task's token"


def test_those_who_only_connect_keep_no_task_from_the_relay(cluster):
    _, url, token = task_on(cluster, "w1")
    silent = [socket.create_connection((url.hostname, url.port), timeout=30) for _ in range(300)]
    for s in silent[:150]:
        try:
            s.sendall(b"GET /v1/operations HTTP/1.1\r\nX: ")
        except OSError:
            pass  # it has made room already
    assert until(lambda: ask(url, token)[0] == 200, "the task to be answered")
    for s in silent:
        s.close()
    assert ask(url, token)[0] == 200
    cluster.cancel(scope="relay")


def test_a_task_that_fills_the_relay_keeps_no_other_from_it(cluster):
    _, url, token = task_on(cluster, "w1")
    loud = []
    for _ in range(300):  # more than the relay has places; each has asked, and stays
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        connection.request("GET", "/v1/operations?limit=1", headers={"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
        loud.append(connection)
    other = cluster.start("bash", "-c", "id=$(quell run -d -- sleep 1000) && quell cancel $id > /dev/null && echo done || echo failed; exec sleep 1000",
                          scope="relay", task_worker="w1", grace_ms=0)
    said = until(lambda: cluster.api("GET", f"/v1/operations/{other['id']}/output").body.decode().split()[-1:], "the other task's cancel to be answered")
    assert said == ["done"], cluster.api("GET", f"/v1/operations/{other['id']}/output?stream=stderr").body
    assert ask(url, token)[0] == 200, "the loud one goes on, too"
    for c in loud:
        c.close()
    cluster.cancel(scope="relay")


def test_the_cli_in_a_task_goes_through_the_relay(cluster):
    done = cluster.quell("run", "--scope", "relay/cli", "--worker", "w1", "--", "bash", "-c", "quell ps -q | wc -l; quell run -- echo from below")
    assert done.returncode == 0 and b"from below" in done.stdout, (done.stdout, done.stderr)
