"""`quell run --secret NAME=FILE`: the task reads it from an open descriptor; it is nowhere else."""
import base64
import os
import uuid

import pytest

from harness import processes
from harness.cluster import Cluster, levels, marker
from harness.waiting import until

READ = "cat $QUELL_SECRET_KEY_FILE"


@pytest.fixture(scope="module", params=levels())
def cluster(request):
    with Cluster(workers=1, worker_flags=["--containment", request.param, "--user", "nobody"]) as c:
        yield c


@pytest.fixture
def secret(tmp_path):
    text = "hush-" + uuid.uuid4().hex
    file = tmp_path / "key"
    file.write_text(text)
    return text, file


def forms(text):
    """The text itself, and as base64 at each of its three offsets."""
    raw = text.encode()
    return [raw] + [base64.b64encode(b"x" * i + raw)[4:-4] for i in range(3)]


def found_in_files(directory, text):
    hits = []
    for folder, _, files in os.walk(directory):
        for name in files:
            try:
                data = open(os.path.join(folder, name), "rb").read()
            except OSError:  # a socket
                continue
            hits += [os.path.join(folder, name) for form in forms(text) if form in data]
    return hits


def test_the_task_and_its_children_read_it(cluster, secret):
    text, file = secret
    script = f"{READ}; echo; sh -c '{READ}'; echo; {READ}; ls -l $QUELL_SECRET_KEY_FILE >&2; echo x > $QUELL_SECRET_KEY_FILE"
    done = cluster.quell("run", "--secret", f"KEY={file}", "--", "bash", "-c", script)
    assert done.stdout.decode().split("\n")[:3] == [text] * 3, done
    assert done.returncode != 0, "it cannot be written"


def test_another_user_reads_it(cluster, secret):
    if os.geteuid() != 0:
        pytest.skip("only root can run tasks as somebody else")
    done = cluster.quell("run", "--user", "nobody", "--secret", f"KEY={secret[1]}", "--", "sh", "-c", READ + "; id -un")
    assert done.stdout.decode() == secret[0] + "nobody\n", done


def test_many_of_any_bytes(cluster, tmp_path):
    flags, wanted = [], b""
    for i in range(16):
        file = tmp_path / f"s{i}"
        file.write_bytes(bytes(range(256)) * (i + 1))
        wanted += file.read_bytes()
        flags += ["--secret", f"N{i:02}={file}"]
    script = "for i in " + " ".join(f"{i:02}" for i in range(16)) + "; do eval cat \\$QUELL_SECRET_N${i}_FILE; done"
    assert cluster.quell("run", *flags, "--", "bash", "-c", script, check=0).stdout == wanted


def test_it_is_nowhere_else(cluster, secret):
    text, file = secret
    m, second = marker("api"), marker("cli")
    o = cluster.start("bash", "-c", f"test -s $QUELL_SECRET_KEY_FILE && echo ready; exec -a {m} sleep 1000", task_secrets={"KEY": text}, scope="nowhere",
                      labels={"a": "b"})
    client = cluster.quell_background("run", "--scope", "nowhere", "--secret", f"KEY={file}", "--", "bash", "-c", f"exec -a {second} sleep 1000")
    until(lambda: processes.marked(m) and processes.marked(second), "both tasks to run")
    seen = []
    for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
        if pid == os.getpid():
            continue
        for name in ("environ", "cmdline"):
            if text.encode() in processes.read(f"/proc/{pid}/{name}"):
                seen.append((pid, name, processes.name_of(pid)))
    assert not seen
    answers = [cluster.api("GET", f"/v1/operations/{o['id']}"), cluster.api("GET", "/v1/operations?scope=nowhere"),
               cluster.api("GET", "/v1/events?scope=nowhere&after=0&limit=1000"), cluster.api("GET", "/v1/events?types=audit&after=0&limit=1000")]
    assert answers[0].json["task"]["secret_names"] == ["KEY"]
    for command in (["show", o["id"], "--json"], ["ps", "--all", "--json"], ["logs", o["id"]], ["why", "nowhere"], ["events", "--json", "--scope", "nowhere"]):
        answers.append(cluster.quell(*command))
    for answer in answers:
        body = answer.body if hasattr(answer, "body") else answer.stdout + answer.stderr
        assert not [f for f in forms(text) if f in body], answer
    assert cluster.cancel(scope="nowhere")["report"]["proven"] is True
    client.wait(timeout=60)
    assert found_in_files(cluster.directory, text) == []  # state of quelld and worker, output, logs


def test_the_guardian_and_other_tasks_do_not_hold_it(cluster, secret):
    m, other = marker("holder"), marker("other")
    cluster.start("bash", "-c", f"exec -a {m} sleep 1000", task_secrets={"KEY": secret[0]}, scope="held")
    cluster.start("bash", "-c", f"exec -a {other} sleep 1000", scope="held")
    until(lambda: [p for p in processes.marked(m) if processes.name_of(p) == "sleep"] and processes.marked(other), "both tasks to run")
    def holders():
        found = set()
        for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
            try:
                links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            if any("quell-secret" in link for link in links):
                words = processes.read(f"/proc/{pid}/cmdline").decode(errors="replace")
                if m in words or other in words or cluster.directory in words or "quell-guardian" in words or "quell-keeper" in processes.name_of(pid):
                    found.add(words.split("\0")[0])
        return found
    if os.geteuid() == 0:
        until(lambda: holders() == {m}, "those who handed it over to have closed it")
    cluster.cancel(scope="held")


def test_a_waiting_task_keeps_it_sealed_over_a_restart(secret):
    text, _ = secret
    with Cluster(workers=0) as c:
        o = c.start("bash", "-c", READ, task_secrets={"KEY": text})
        assert c.operation(o["id"])["status"] == "pending"
        c.kill_controller()
        assert found_in_files(c.directory, text) == []
        c.start_controller()
        c.add_worker("w1")
        c.wait_status(o["id"], "completed")
        assert c.output(o["id"]).decode() == text
        waiting = c.start("bash", "-c", READ, task_secrets={"KEY": text}, task_on={"os": "none"})
        c.kill_controller()
        with open(os.path.join(c.state, "task-token.key"), "w") as f:  # a backup of the store alone, without the key
            f.write("0" * 64 + "\n")
        c.start_controller()
        c.cancel(operation=waiting["id"])


def test_a_lost_key_is_a_refused_start_and_not_an_empty_secret(secret):
    with Cluster(workers=0) as c:
        o = c.start("bash", "-c", "echo ran", task_secrets={"KEY": secret[0]})
        c.kill_controller()
        with open(os.path.join(c.state, "task-token.key"), "w") as f:
            f.write("0" * 64 + "\n")
        c.start_controller()
        c.add_worker("w1")
        done = c.wait_status(o["id"], "failed")
        assert done["error"]["code"] == "start_failed" and "its secret KEY is lost" in done["error"]["message"], done
        assert c.output(o["id"]) == b""


def test_the_same_id_with_another_secret_is_a_conflict(cluster):
    body = {"id": cluster.start("true")["id"][:-12] + uuid.uuid4().hex[:12], "kind": "task", "scope": "same",
            "task": {"command": ["true"], "secrets": {"KEY": "one"}}}
    assert cluster.api("POST", "/v1/operations", body).status == 201
    assert cluster.api("POST", "/v1/operations", body).status == 200
    body["task"]["secrets"]["KEY"] = "two"
    assert cluster.api("POST", "/v1/operations", body).status == 409


@pytest.mark.parametrize("secrets", [{"1A": "x"}, {"A-B": "x"}, {"": "x"}, {"A": ""}, {"A": 1}, {"A": {"base64": "!"}}, {"A": {"text": "x"}},
                                     {"A": "x" * 65537}, {f"A{i}": "x" for i in range(17)}, ["A"]])
def test_bad_secrets_are_refused_without_being_repeated(cluster, secrets):
    answer = cluster.api("POST", "/v1/operations", {"kind": "task", "task": {"command": ["true"], "secrets": secrets}})
    assert answer.status == 422 and answer.json["errors"][0]["pointer"].startswith("/task/secrets"), answer.body
    assert len(answer.body) < 2000


def test_bad_files_are_refused(cluster, tmp_path):
    (tmp_path / "empty").write_text("")
    for word in (f"KEY={tmp_path}/none", f"KEY={tmp_path}/empty", "KEY=", "KEY"):
        done = cluster.quell("run", "--secret", word, "--", "true")
        assert done.returncode == 125 and b"--secret" in done.stderr, done
