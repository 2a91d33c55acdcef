"""Workspaces that belong to a conversation: no byte of another one is in reach, calls go to the worker that holds it, and the model
is told what is gone."""
import json
import os
import signal
import subprocess

import pytest

from harness import processes
from harness.cluster import marker
from harness.waiting import until
from harness.workspaces import EVERYWHERE, World

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="workers that may mount")


@pytest.fixture(scope="module")
def world():
    with World() as c:
        yield c


# ---- one directory for a conversation -----------------------------------------------------------------------------------
def test_a_conversation_keeps_its_files_from_turn_to_turn(world):
    assert world.out("pwd; echo $HOME; echo one > a; echo two > /tmp/b; mkdir sub", scope="g1/c1") == "/workspace\n/workspace\n"
    assert world.out("cat a /tmp/b /var/tmp/b", scope="g1/c1") == "one\ntwo\ntwo\n"
    assert world.out("pwd", scope="g1/c1", cwd="sub") == "/workspace/sub\n"
    read, listed = world.done("read it", [("read", {"path": "/workspace/a"})], [("list", {})], scope="g1/c1")
    assert read["result"]["text"] == "one\n" and {e["path"] for e in listed["result"]["entries"]} == {"a", "sub"}, (read, listed)
    at = world.place_of("g1/c1")
    assert os.stat(at).st_mode & 0o777 == 0o700 and os.stat(at + "/files").st_mode & 0o777 == 0o700


def test_the_rest_of_the_machine_can_be_read_and_not_be_changed(world):
    said = world.out("cat /etc/hostname > /dev/null && echo read; for d in / /etc /usr /root /var /var/lib /run /opt; do "
                     "touch $d/x 2>/dev/null && echo wrote $d; done; echo x > /dev/null; echo x > /dev/shm/x && echo shm", scope="ro")
    assert said == "read\nshm\n", said


# ---- isolation ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["own", "turn"])
def test_nothing_of_another_guild_can_be_found(world, mode):
    secret = marker("of-b")
    world.run("touch /workspace/.begun", scope=f"a-{mode}", agent=mode)
    world.done("keep it", [("write", {"path": "notes.txt", "text": secret})], scope=f"b-{mode}", agent=mode)
    world.run(f"for d in . /tmp /var/tmp /dev/shm $HOME; do echo {secret} > $d/secret; done; "
              f"for d in / /root /var/lib /run /mnt /srv /home; do echo {secret} > $d/secret-{secret}; done 2>/dev/null; true",
              scope=f"b-{mode}", agent=mode)
    # Also while a command of the other one runs, with the file open and in its environment.
    turn = world.ask(marker("hold"), [("exec", {"command": f"X={secret}; export X; echo {secret} > held; sleep 1000 < held; :"})],
                     scope=f"b-{mode}", agent=mode)
    world.call(turn, "exec", "running")
    until(lambda: processes.marked(secret), "the command of the other guild to run")
    found = world.out("touch -d '1 hour ago' /workspace/.begun; " + EVERYWHERE.format(secret), scope=f"a-{mode}", agent=mode)
    assert found == "searched\n", found
    found = world.out(f"grep -l -s -a -F {secret} /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/root/workspace/* "
                      f"/proc/[0-9]*/cwd/* | grep -v \"/proc/$$/\" | head; ls /dev/mqueue; ipcs -m 2>/dev/null | grep -c 0x; echo looked",
                      scope=f"a-{mode}", agent=mode)
    lines = [l for l in found.splitlines() if "/cmdline" not in l]  # the search's own command line has it
    assert lines[-1] == "looked" and not [l for l in lines if "environ" in l or "/root/" in l or "/cwd/" in l], found
    assert world.cancel(operation=turn)["report"]["proven"]


def test_no_trick_reaches_what_another_guild_left_running(world):
    secret = marker("of-b")
    started = world.ask(marker("leave"), [("exec", {"background": True, "command":
        f"mkfifo pipe /tmp/pipe; echo {secret} > kept; ln kept linked; (echo {secret} > pipe) & (echo {secret} > /tmp/pipe) & "
        f"exec script -qc 'stty -echo; echo {secret}; cat; : {secret}' /tmp/typescript < /dev/zero 2>&1; : {secret}"})], scope="left")
    assert world.ended(started)["status"] == "completed"
    until(lambda: processes.marked(secret), "the command in the background to run")
    other = world.place_of("left")
    tricks = (f"cat /proc/[0-9]*/root/workspace/kept /proc/[0-9]*/root{other}/files/kept /proc/[0-9]*/cwd/kept",
              f"timeout 5 cat /proc/[0-9]*/fd/* < /dev/null", f"cat {other}/files/kept /workspace/../{other}/files/kept",
              f"ln {other}/files/kept mine && cat mine", f"ln -s {other}/files out && cat out/kept",
              f"mkdir -p m && mount --bind {os.path.dirname(other)} m && cat m/*/files/kept",
              f"unshare -m sh -c 'umount {os.path.dirname(other)}; umount -l /; cat {other}/files/kept'",
              f"unshare -Ur sh -c 'cat {other}/files/kept'", f"nsenter -t 1 -m cat {other}/files/kept",
              f"chroot /proc/1/root cat {other}/files/kept", "timeout 2 head -c 100 pipe /tmp/pipe",
              "mknod disk b 8 0 && head -c 100 disk", "for t in /dev/pts/[0-9]*; do timeout 1 head -c 100 $t < /dev/null; done",
              "ls /dev/pts | grep -v ptmx", "for p in $(seq 2 400); do kill -0 $p 2>/dev/null && cat /proc/$p/environ; done | tr '\\0' '\\n' | grep -a -v ^OLDPWD")
    for trick in tricks:
        said = world.out(f"{{ {trick}; }} 2>&1 | grep -a -o -F {secret}; echo tried", scope="right")
        assert said == "tried\n", (trick, said)
    assert world.out("ls /dev/pts | grep -v ptmx; echo looked", scope="right") == "looked\n"
    assert world.cancel(scope="left")["report"]["proven"]


def test_a_command_can_have_a_terminal_of_its_own(world):
    assert world.out("script -qc 'tty; echo hi' /dev/null < /dev/null | tr -d '\\r'", scope="pty") == "/dev/pts/0\nhi\n"


def test_no_path_of_a_file_tool_leads_out(world):
    secret = marker("outside")
    world.done("keep", [("write", {"path": "notes.txt", "text": secret})], scope="b2")
    other = world.place_of("b2")
    assert secret in open(other + "/files/notes.txt").read()
    root = os.path.dirname(other)
    world.run(f"ln -s {other}/files/notes.txt l1; ln -s {root} l2; ln -s / l3; ln -s ../.. l4; ln -s /proc/1/root{other}/files/notes.txt l5",
              scope="a2")
    name = os.path.basename(other)
    for path in ("l1", f"l2/{name}/files/notes.txt", f"l3{other}/files/notes.txt", f"l4/{name}/files/notes.txt", "l5", other + "/files/notes.txt",
                 f"../{name}/files/notes.txt", f"/workspace/../{name}/files/notes.txt", f"/proc/self/root{other}/files/notes.txt"):
        result, = world.done(marker("read"), [("read", {"path": path})], scope="a2")
        assert not result["ok"] and secret not in json.dumps(result), (path, result)
        assert secret not in world.out(f"cat {path}; ls -R {root} {os.path.dirname(root)}; true", scope="a2"), path
    result, = world.done("find", [("search", {"pattern": secret})], scope="a2")
    assert result["ok"] and not result["result"]["matches"], result


def test_a_task_without_a_workspace_sees_none(world):
    world.run("echo x > x", scope="b3")
    root = os.path.dirname(world.place_of("b3"))
    assert world.quell("run", "--", "sh", "-c", f"ls -A {root}; cat {world.place_of('b3')}/files/x").stdout == b""
    assert world.out(f"ls -A {root} 2>&1; true", scope="b3", agent="all").strip() in ("", f"ls: cannot access '{root}': No such file or directory")


def test_a_sub_agent_works_in_the_same_workspace_and_finds_no_way_out(world):
    world.run("echo one > a", scope="sub")
    refused, = world.done("spawn", [("spawn_agent", {"agent": "all", "task": "look"})], scope="sub")
    assert not refused["ok"] and "outside of the conversation's workspace" in refused["error"]["message"], refused
    task = marker("task")
    world.model.plan[task] = [[("exec", {"command": "cat a; echo two > b"})], "it says one"]
    world.done("spawn own", [("spawn_agent", {"task": task})], scope="sub")
    assert world.out("cat b", scope="sub") == "two\n"


def test_a_sub_agent_that_goes_on_after_a_restart_stays_in_the_same_workspace():
    with World() as c:
        c.run("echo one > a", scope="sub")
        task, mark = marker("task"), marker("hold")
        c.model.plan[task] = [[("exec", {"command": f"until test -f go; do sleep 0.05; done; : {mark}"})], [("exec", {"command": "cat a; pwd; echo two > b"})],
                              [("spawn_agent", {"agent": "all", "task": "look"})], "it says one"]
        turn = c.ask("spawn own", [("spawn_agent", {"task": task})], [("exec", {"command": "cat b"})], scope="sub")
        until(lambda: processes.marked(mark), "the sub-agent's command to run")
        c.kill_controller()
        c.start_controller()
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        open(os.path.join(c.place_of("sub"), "files", "go"), "w").close()
        assert c.ended(turn, 60)["status"] == "completed", c.operation(turn)
        assert c.results("sub", turn)[-1]["result"]["result"]["stdout"] == "two\n", c.results("sub", turn)
        calls = [o for o in c.below(turn, kind="tool_call") if o["name"] == "spawn_agent" and o["status"] != "completed"]
        assert len(c.directories()) == 1 and len(calls) <= 1, (c.directories(), calls)
        refused = [m for r in c.model.requests for m in r["messages"] if m["role"] == "tool" and "outside of the conversation's workspace" in m["content"]]
        assert refused, c.model.requests[-1]


def test_a_client_cannot_name_a_workspace(world):
    world.run("true", scope="b4")
    body = {"kind": "task", "task": {"command": ["ls"], "cwd": "workspace:" + os.path.basename(world.place_of("b4"))}}
    answer = world.api("POST", "/v1/operations", body)
    assert answer.status == 422 and "cwd" in str(answer.body), answer.body


@pytest.mark.parametrize("flags", [["--containment", "group"], ["--containment", "cgroup"], ["--sandbox", "off"]])
def test_a_worker_that_cannot_keep_them_apart_refuses(flags):
    with World(worker_flags=flags) as c:
        result, = c.done("try", [("exec", {"command": "echo ran > /tmp/ran"})])
        assert not result["ok"] and result["error"]["code"] == "workspace_isolation", result
        assert "workspace_mode" in result["error"]["message"], result
        assert any("workspaces" in limit for limit in c.worker("w1")["containment_limits"]), c.worker("w1")
        assert c.out("echo shared", agent="all") == "shared\n"


def test_users_change_nothing_and_a_workspace_has_one(tmp_path):
    with World(agent='user = "nobody"', worker_flags=["--user", "nobody", "--containment", "pidns"]) as c:
        secret = marker("of-b")
        c.run(f"umask 0; echo {secret} > kept; echo {secret} > /tmp/kept; chmod 777 . kept", scope="b", agent="small")  # as the worker's user
        c.run(f"umask 0; echo {secret} > kept; echo {secret} > /tmp/kept; chmod 777 . kept", scope="n")  # as nobody
        for agent, scope in (("own", "a"), ("small", "r")):
            assert c.out("touch -d '1 hour ago' .begun; id -un", scope=scope, agent=agent) == {"own": "nobody\n", "small": "root\n"}[agent]
            assert c.out(EVERYWHERE.format(secret), scope=scope, agent=agent) == "searched\n"
        for agent, scope in (("own", "b"), ("small", "n")):
            refused, = c.done(marker("other"), [("exec", {"command": "cat kept"})], scope=scope, agent=agent)
            assert not refused["ok"] and refused["error"]["code"] == "workspace_isolation" and "user" in refused["error"]["message"], refused


def test_a_worker_of_an_ordinary_user_uses_user_namespaces(tmp_path):
    probe = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-Um", "true"], capture_output=True)
    if probe.returncode != 0:
        pytest.skip("no user namespaces for ordinary users here")
    with World(workers=0) as c:
        state = os.path.join(c.directory, "worker-w1")
        os.mkdir(state)
        os.chmod(c.directory, 0o755)
        join = c.enrol("w1")
        for path in (state, join):
            os.chown(path, 65534, 65534)
        c.add_worker("w1", prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], flags=["--work-dir", "/"])
        if not c.worker("w1")["labels"].get("quell.workspaces"):
            pytest.skip(f"user namespaces cannot mount here: {c.worker('w1')['containment_limits']}")
        secret = marker("of-b")
        c.run(f"echo {secret} > held; echo {secret} > /tmp/held", scope="b")
        turn = c.ask("hold", [("exec", {"command": f"sleep 1000 < held; : {secret}"})], scope="b")
        until(lambda: processes.marked(secret), "the command of the other guild to run")
        c.run("touch -d '1 hour ago' /workspace/.begun", scope="a")
        assert c.out(EVERYWHERE.format(secret), scope="a") == "searched\n"
        root = os.path.dirname(c.place_of("b"))
        said = c.out(f"cat /proc/[0-9]*/cwd/held /proc/[0-9]*/root/workspace/held /proc/[0-9]*/root{root}/*/files/held 2>/dev/null; echo end", scope="a")
        assert said == "end\n", said
        assert c.out(f"cat {state}/* {state}/*/* 2>/dev/null; ls -A {state} 2>/dev/null; echo hidden", scope="a") == "hidden\n"
        assert any("command lines" in limit for limit in c.worker("w1")["containment_limits"]), c.worker("w1")
        assert c.cancel(operation=turn)["report"]["proven"]


# ---- affinity -----------------------------------------------------------------------------------------------------------
def test_calls_go_to_the_worker_that_has_the_files_also_after_a_restart():
    with World(workers=2) as c:
        scopes = [f"g{i}/c" for i in range(6)]
        for s in scopes:
            c.run(f"echo {s} > who", scope=s)
        c.restart()
        until(lambda: all(c.worker(w)["status"] == "ready" for w in ("w1", "w2")), "both workers to be back")
        for s in scopes:
            assert c.out("cat who", scope=s) == s + "\n"
            assert len(c.workers_of(s)) == 1, (s, c.workers_of(s))


def test_a_worker_that_was_killed_still_has_the_files():
    with World(settings=["workers.heartbeat=200ms", "workers.lease=5s"]) as c:
        c.run("echo one > a; echo two > /tmp/b", scope="killed")
        before = c.directories()
        c.workers["w1"].process.send_signal(signal.SIGKILL)
        c.workers["w1"].process.wait()
        until(lambda: c.worker("w1")["status"] == "lost", "the worker to be lost")
        # No other could hold it, so the call waits; and while it waits it can be stopped.
        stopped = c.ask(marker("wait"), [("exec", {"command": "touch never"})], scope="killed")
        c.call(stopped, "exec", "running")
        assert c.cancel(operation=stopped)["report"]["proven"]
        waits = c.ask(marker("wait"), [("exec", {"command": "ls; cat a /tmp/b"})], scope="killed")
        c.call(waits, "exec", "running")
        c.add_worker("w1")
        assert c.ended(waits, 60)["status"] == "completed", c.operation(waits)
        result, = c.results("killed", waits)
        assert result["result"]["result"]["stdout"] == "a\none\ntwo\n", result
        assert c.directories() == before


def test_a_choice_whose_directory_was_never_made_is_no_loss():
    with World() as c:
        c.run("true", scope="half")
        c.kill_controller()
        rows = os.path.join(c.state, "workspaces")
        for name in os.listdir(rows):
            row = json.load(open(os.path.join(rows, name)))
            with open(os.path.join(rows, name), "w") as f:
                json.dump({**row, "used": False}, f)
        subprocess.run(["rm", "-rf", c.place_of("half")], check=True)
        c.start_controller()
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        assert c.out("ls -A; echo fine", scope="half") == "fine\n"
        assert not [m for m in c.model.requests[-1]["messages"] if m["role"] == "user" and "gone" in m["content"]], c.model.requests[-1]


def test_calls_that_find_their_workspace_gone_together_get_one_new_one(world):
    world.run("echo one > a", scope="both")
    subprocess.run(["rm", "-rf", world.place_of("both")], check=True)
    results = world.done("look", [("read", {"path": "a"}), ("read", {"path": "b"}), ("list", {})], [("write", {"path": "c", "text": "new"})],
                         [("exec", {"command": "cat c"})], scope="both")
    assert [r.get("error", {}).get("code") for r in results[:3]] == ["workspace_gone"] * 3, results
    assert results[3]["ok"] and results[4]["result"]["stdout"] == "new", results
    assert len([n for n in world.directories() if n.startswith("w-both~")]) == 1


def test_the_model_is_told_when_the_worker_is_lost():
    with World(workers=2, settings=["workers.heartbeat=200ms", "workers.lease=5s"]) as c:
        c.run("echo one > a", scope="lost")
        holder, = c.workers_of("lost")
        held = c.ask(marker("hold"), [("exec", {"command": "echo so far; sleep 1000"})], [("exec", {"command": "ls"})], scope="lost")
        task = until(lambda: c.below(held, kind="task"), "the task of the call")[0]["id"]
        until(lambda: c.api("GET", f"/v1/operations/{task}/output").body == b"so far\n", "its output")
        c.workers[holder].process.send_signal(signal.SIGKILL)
        c.workers[holder].process.wait()
        until(lambda: c.worker(holder)["status"] == "lost", "the worker to be lost")
        assert c.ended(held)["status"] == "completed"
        cut, gone = [r["result"] for r in c.results("lost", held)]  # in the middle of a turn a call tells the model
        assert cut["error"]["code"] == "worker_lost" and cut["printed"]["stdout"] == "so far\n", cut
        assert gone["error"]["code"] == "workspace_gone" and f"worker {holder}" in gone["error"]["message"], gone
        assert c.out("ls -A; pwd", scope="lost") == "/workspace\n"
        told = [m["content"] for m in c.model.requests[-1]["messages"] if m["role"] == "user" and holder in m["content"]]
        assert len(told) == 1 and "gone" in told[0] and f"worker {holder}" in told[0], told
        c.run("ls", scope="lost")
        before = len(c.model.requests)
        c.run("ls", scope="lost")
        for r in c.model.requests[before:]:
            assert not [m for m in r["messages"] if m["role"] == "user" and f"worker {holder}" in m["content"]], r


def test_a_workspace_that_vanished_from_its_worker_is_told_and_made_anew(world):
    world.run("echo one > a", scope="vanish")
    subprocess.run(["rm", "-rf", world.place_of("vanish")], check=True)
    gone, after = world.done("look", [("exec", {"command": "cat a"})], [("exec", {"command": "ls -A; echo fine"})], scope="vanish")
    assert gone["error"]["code"] == "workspace_gone" and "gone" in gone["error"]["message"], gone
    assert after["ok"] and after["result"]["stdout"] == "fine\n", after


# ---- quota, retention, one turn -----------------------------------------------------------------------------------------
def test_a_full_workspace_takes_nothing_until_files_are_removed(world):
    result = world.run("head -c 1000000 /dev/zero > big; ls -s big; true", scope="full", agent="small")
    assert os.path.getsize(world.place_of("full") + "/files/big") <= 256 << 10, result

    def is_full():
        said = world.run("for i in 1 2 3; do head -c 60000 /dev/zero > part$i; done; true", scope="full", agent="small")
        return said if "its quota is" in said["stderr"] else None
    said = until(is_full, "the workspace to be full", 120)
    assert "256 KiB" in said["stderr"], said
    wrote, = world.done("write", [("write", {"path": "more.txt", "text": "more"})], scope="full", agent="small")
    assert not wrote["ok"] and wrote["error"]["code"] == "workspace_full", wrote
    world.run("rm -f big part*", scope="full", agent="small")
    until(lambda: world.run("echo x > y; cat y", scope="full", agent="small")["stdout"] == "x\n", "the workspace to take files again", 120)


def test_a_workspace_is_removed_after_its_time_and_never_while_a_call_runs(world):
    world.run("echo one > a", scope="brief", agent="brief")
    mark = marker("hold")
    turn = world.ask("hold", [("exec", {"command": f"sleep 1000; : {mark}"})], scope="busy", agent="brief")
    until(lambda: processes.marked(mark), "the call to run")
    busy = world.place_of("busy")
    until(lambda: world.place_of("brief") is None, "the unused workspace to be removed", 60)
    os.utime(busy + "/keep", (1, 1))  # however long ago its last use seems to be
    again = world.out("ls -A; true", scope="brief", agent="brief")
    assert again == ""
    note = [m["content"] for m in world.model.requests[-1]["messages"] if m["role"] == "user" and "not used for 2s" in m["content"]]
    assert note, world.model.requests[-1]["messages"]
    until(lambda: world.place_of("brief") is None, "the unused workspace to be removed again", 60)
    assert os.path.isdir(busy)
    world.cancel(operation=turn)


def test_a_turns_own_workspace_is_gone_after_its_end(world):
    mark = marker("stubborn")
    before = set(world.directories())
    turn = world.ask("hold", [("exec", {"command": f"echo x > x; trap '' TERM; while :; do sleep 1000; done # {mark}"})], scope="t", agent="turn")
    until(lambda: processes.marked(mark), "the call to run")
    mine = set(world.directories()) - before
    assert len(mine) == 1, mine
    stopped = world.cancel(operation=turn, grace_ms=200)
    assert stopped["report"]["proven"] and not processes.marked(mark)
    until(lambda: not set(world.directories()) & mine, "the turn's workspace to be removed")
    assert world.out("ls -A; true", scope="t", agent="turn") == ""


def test_a_turns_own_workspace_stays_for_a_turn_that_goes_on_and_goes_with_its_end():
    with World() as c:
        mark = marker("cut")
        turn = c.ask("hold", [("exec", {"command": f"echo x > x; until test -f go; do sleep 0.05; done; : {mark}"})],
                     [("exec", {"command": "cat x"})], scope="t", agent="turn")
        until(lambda: processes.marked(mark), "the call to run")
        before = c.directories()
        c.kill_controller()
        c.start_controller()
        until(lambda: c.worker("w1")["status"] == "ready", "the worker to be back")
        assert c.directories() == before
        open(os.path.join(c.place_of("t"), "files", "go"), "w").close()
        assert c.ended(turn)["status"] == "completed", c.operation(turn)
        assert c.results("t", turn)[-1]["result"]["result"]["stdout"] == "x\n", c.results("t", turn)
        until(lambda: not c.directories() and not processes.marked(mark), "the turn's workspace to be removed", 60)


def test_a_turns_own_workspace_goes_when_its_end_came_while_quelld_was_away():
    with World() as c:
        mark = marker("cut")
        turn = c.ask("hold", [("exec", {"command": f"echo x > x; sleep 1000; : {mark}"})], scope="t", agent="turn")
        until(lambda: processes.marked(mark), "the call to run")
        assert c.directories()
        c.workers["w1"].process.send_signal(signal.SIGSTOP)
        c.cancel(wait="fenced", operation=turn)
        c.kill_controller()
        c.workers["w1"].process.send_signal(signal.SIGCONT)
        c.start_controller()
        until(lambda: not c.directories() and not processes.marked(mark), "the turn's workspace to be removed", 60)


def test_commands_in_the_background_live_on_in_the_workspace(world):
    task = world.run("echo begun > log; until test -f go; do sleep 0.05; done; echo end >> log", scope="bg", background=True)["task"]
    assert world.ended(world.ask(marker("go"), [("exec", {"command": "touch go"})], scope="bg"))["status"] == "completed"
    assert world.wait_status(task, "completed")
    turn = world.ask(marker("look"), [("exec", {"command": "cat log"})], scope="bg")
    assert world.ended(turn)["status"] == "completed"
    assert world.results("bg", turn)[0]["result"]["result"]["stdout"] == "begun\nend\n"


# ---- configuration ------------------------------------------------------------------------------------------------------
def test_the_configuration_is_checked(tmp_path):
    def check(text):
        file = tmp_path / "q.toml"
        file.write_text('[[agents]]\nname = "a"\n' + text)
        return subprocess.run([os.environ["QUELL_BIN"] + "/quelld", "--config", file, "--check-config"], capture_output=True, text=True)

    assert check('workspace_mode = "per-turn"\nworkspace_quota = "2GiB"\nworkspace_retention = "7d"\n').returncode == 0
    for text, word in (('workspace_mode = "mine"', "per-scope"), ('workspace_mode = "per-scope"\nworkspace = "/srv"', "beside"),
                       ('workspace_quota = "much"', "1GiB"), ('workspace = "/srv"\nworkspace_quota = "1GiB"', "shared"),
                       ('workspace_modes = "shared"', "workspace_mode")):
        done = check(text + "\n")
        assert done.returncode != 0 and word in done.stderr + done.stdout, (text, done)
