"""The program `quell` against a small controller: outcomes, exit codes, bytes. Usage: test_program.py PATH-OF-QUELL [unittest arguments]"""
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_controller import FakeController, report  # noqa: E402

QUELL = None
A = "01a1f869-3df9-7303-8207-dde70bee07dd"
B = "01a1f869-3df9-7303-8207-11e70bee07dd"  # shares the last 8 digits with A
C = "01a1f869-3df9-7303-8207-aaaaaaaa1234"


class Program(unittest.TestCase):
    def setUp(self):
        self.controller = FakeController()
        self.addCleanup(self.controller.close)
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.env = {"HOME": self.home.name, "PATH": os.environ["PATH"], "QUELL_URL": self.controller.url, "QUELL_TOKEN": "secret", "LANG": "C.UTF-8"}

    def quell(self, *words, code=0, stdin=b"", env=None):
        done = subprocess.run([QUELL, *words], input=stdin, capture_output=True, env=env or self.env, timeout=60)
        self.assertEqual(done.returncode, code, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def start(self, *words, **more):
        process = subprocess.Popen([QUELL, *words], stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, **more)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        return process

    def last_body(self, prefix, method="POST"):
        return json.loads(self.controller.asked(method, prefix)[-1][2])


class Run(Program):
    def test_passes_output_and_code_on_and_says_nothing_of_its_own(self):
        done = self.quell("run", "--", "say", "hällo\n", "3", "stderr", code=3)
        self.assertEqual(done.stdout.decode(), "hällo\n")
        self.assertEqual(done.stderr, b"to stderr\n")

    def test_large_output_survives_a_broken_connection_byte_for_byte(self):
        self.controller.drop_after = 100_001
        text = "".join("%07d\n" % i for i in range(14_000))
        done = self.quell("run", "--", "say", text, "0")
        self.assertEqual(done.stdout.decode(), text)
        self.assertIsNone(self.controller.drop_after)

    def test_both_streams_keep_their_order_when_they_go_to_one_place(self):
        self.controller.add(A, status="completed", ended_at="2026-11-20T09:51:07.123Z", exit={"code": 0})
        self.controller.output[A].update(stdout=b"one\nthree\nfive\n", stderr=b"two\nfour\n")
        self.controller.pieces[A] = [("stdout", 0, "one\n"), ("stderr", 0, "two\n"), ("stdout", 4, "three\n"), ("stderr", 4, "four\n")]
        wanted = b"one\ntwo\nthree\nfour\nfive\n"  # no event holds the last line: it comes from the stream itself
        for words in (["run", "--id", A, "--", "x"], ["logs", "-f", A]):
            done = subprocess.run([QUELL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env, timeout=60)
            self.assertEqual((done.stdout, done.returncode), (wanted, 0), words)

    def test_streams_are_not_asked_for_again_when_the_events_came_to_their_end(self):
        self.controller.add(A, status="completed", ended_at="2026-11-20T09:51:07.123Z", exit={"code": 0})
        self.controller.output[A].update(stdout=b"one\n")
        self.controller.pieces_are_all = True
        for pieces, wanted, asked in (([("stdout", 0, "one\n")], b"one\n", 1), ([("stdout", 1, "ne\n")], b"one\n", 3)):
            self.controller.pieces[A] = pieces
            self.controller.requests.clear()
            done = subprocess.run([QUELL, "run", "--id", A, "--", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env, timeout=60)
            self.assertEqual((done.stdout, done.returncode), (wanted, 0))
            self.assertEqual(len([r for r in self.controller.requests if "/output" in r[1]]), asked)

    def test_a_lost_answer_to_the_create_is_asked_again_with_the_same_id(self):
        self.controller.lose_creates = 2
        self.quell("run", "--", "say", "x", "0")
        ids = {json.loads(r[2])["id"] for r in self.controller.asked("POST", "/v1/operations")}
        self.assertEqual(len(self.controller.asked("POST", "/v1/operations")), 3)
        self.assertEqual(len(ids), 1)

    def test_a_signal_cancels_with_its_reason_and_ends_with_130(self):
        for number, reason in ((signal.SIGINT, "interrupted: Ctrl-C"), (signal.SIGTERM, "interrupted: SIGTERM"), (signal.SIGHUP, "interrupted: hang-up")):
            self.controller.requests.clear()
            process = self.start("run", "--", "hang")
            self.controller.wait_for("the streams", lambda: len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
            process.send_signal(number)
            self.assertEqual(process.wait(60), 130)
            self.assertEqual(self.last_body("/v1/cancels")["reason"], reason)
            self.assertEqual(self.last_body("/v1/cancels")["operation"], list(self.controller.creates)[-1])

    def test_a_second_interrupt_cancels_with_no_grace(self):
        self.controller.hold_cancel = True
        process = self.start("run", "--", "hang")
        self.controller.wait_for("the streams", lambda: len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
        process.send_signal(signal.SIGINT)
        self.controller.wait_for("the first cancel", lambda: len([r for r in self.controller.requests if r[1] == "/v1/cancels"]) == 1)
        self.assertNotIn("grace_ms", self.last_body("/v1/cancels"))
        self.controller.hold_cancel = False
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(self.last_body("/v1/cancels")["grace_ms"], 0)

    def test_a_reader_that_went_away_cancels_the_operation(self):
        process = self.start("run", "--", "hang")
        process.stdout.close()
        self.controller.wait_for("the streams", lambda: len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
        with self.controller.lock:
            list(self.controller.output.values())[-1]["stdout"] = b"x" * 10
            self.controller.lock.notify_all()
        self.assertEqual(process.wait(60), 130)
        process.stdout = process.stderr

    def test_ctrl_c_works_while_nobody_reads_the_output(self):
        process = self.start("run", "--", "hang")
        self.controller.wait_for("the streams", lambda: len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
        with self.controller.lock:
            list(self.controller.output.values())[-1]["stdout"] = b"x" * 1_000_000
            self.controller.lock.notify_all()
        process.send_signal(signal.SIGINT)
        self.controller.wait_for("the cancel", lambda: any(r[1] == "/v1/cancels" for r in self.controller.requests))
        self.assertEqual(len(process.stdout.read()), 1_000_000)
        self.assertEqual(process.wait(60), 130)

    def test_endings_that_are_not_the_command_s_own(self):
        for error, exit_state, code in (({"code": "timeout", "message": "m"}, {"signal": "TERM"}, 124), ({"code": "worker_lost", "message": "m"}, None, 125),
                                        ({"code": "start_failed", "message": "m"}, {"code": 127}, 127), ({"code": "start_failed", "message": "m"}, {"code": 126}, 126),
                                        ({"code": "error", "message": "m"}, {"signal": "SEGV"}, 139), ({"code": "interrupted", "message": "m"}, None, 125)):
            self.controller.add(A, status="failed", ended_at="2026-11-20T09:51:07.123Z", error=error, exit=exit_state)
            self.quell("wait", A, code=code)

    def test_input_is_forwarded_to_its_end(self):
        self.controller.not_started = 3
        data = os.urandom(300_000)
        self.assertEqual(self.quell("run", "-i", "--", "echo", stdin=data).stdout, data)

    def test_detach_prints_the_id(self):
        done = self.quell("run", "-d", "--", "hang")
        self.assertEqual(done.stdout.decode().strip(), list(self.controller.creates)[0])

    def test_json_lines_end_with_the_operation(self):
        lines = [json.loads(line) for line in self.quell("--json", "run", "--", "say", "ä" * 5000, "4", code=4).stdout.splitlines()]
        self.assertEqual("".join(line["text"] for line in lines[:-1] if line["stream"] == "stdout"), "ä" * 5000)
        self.assertEqual((lines[-1]["type"], lines[-1]["operation"]["exit"]), ("operation", {"code": 4}))

    def test_the_request_says_what_the_flags_said(self):
        env = dict(self.env, QUELL_OPERATION=A, QUELL_SCOPE="from/env", SECRET="s3")
        self.quell("run", "--title", "T", "--label", "pr=1", "--label", "x=", "--on", "gpu=1", "--slots", "2", "--timeout", "5m", "--grace", "0", "--env", "SECRET", "--env", "K=V=W",
                   "--on-parent-end", "detach", "--", "say", "--json", "0", env=env)
        body = self.last_body("/v1/operations")
        self.assertEqual(body["parent"], A)
        self.assertNotIn("scope", body)
        self.assertEqual((body["title"], body["labels"], body["timeout_ms"], body["grace_ms"], body["on_parent_end"]), ("T", {"pr": "1", "x": ""}, 300000, 0, "detach"))
        task = body["task"]
        self.assertEqual((task["command"], task["env"], task["on"], task["slots"]), (["say", "--json", "0"], {"SECRET": "s3", "K": "V=W"}, {"gpu": "1"}, 2))
        self.assertEqual(task["default_cwd"], os.getcwd())
        self.quell("run", "--parent", "none", "--cwd", "/x", "--", "say", "", "0", env=env)
        body = self.last_body("/v1/operations")
        self.assertEqual((body["parent"], body["scope"], body["task"]["cwd"]), (None, "from/env", "/x"))
        self.assertNotIn("default_cwd", body["task"])

    def test_failures_of_quell_itself_are_125_and_a_stale_start_is_130(self):
        self.quell("run", "--bogus", "--", "x", code=125)
        self.quell("run", code=125)
        self.quell("run", "--timeout", "30", "--", "x", code=125)
        self.assertIn(b"quell up", self.quell("run", "--", "x", code=125, env=dict(self.env, QUELL_URL="http://127.0.0.1:1")).stderr)
        self.quell("run", "--", "x", code=125, env=dict(self.env, QUELL_TOKEN="wrong"))
        self.controller.refuse["POST /v1/operations"] = (409, "stale_start")
        self.quell("run", "--", "x", code=130)

    def test_a_pty_run_puts_the_terminal_into_raw_mode_and_back(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        before = termios.tcgetattr(slave)
        self.controller.not_started = 2
        process = subprocess.Popen([QUELL, "run", "--pty", "--", "echo"], stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=self.env, start_new_session=True)
        self.addCleanup(lambda: (process.kill(), process.wait(), os.close(master), os.close(slave)))
        self.controller.wait_for("raw mode", lambda: not termios.tcgetattr(slave)[3] & termios.ICANON and len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
        self.controller.wait_for("the window's size", lambda: self.controller.sizes == [{"rows": 31, "columns": 97}])
        os.write(master, b"a\x03b")  # Ctrl-C is a plain byte here
        self.controller.wait_for("the bytes", lambda: b"".join(self.controller.inputs.values()) == b"a\x03b")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(termios.tcgetattr(slave), before)


class Cancel(Program):
    def test_settled_and_proven_is_0_with_a_report(self):
        self.controller.add(A)
        self.controller.settle_at = 2
        done = self.quell("cancel", A, "--reason", "wrong branch")
        self.assertIn("stopped, proven", done.stdout.decode())
        self.assertIn("1 terminated", done.stdout.decode())
        self.assertEqual(self.last_body("/v1/cancels")["reason"], "wrong branch")

    def test_a_wait_that_runs_out_is_4_and_says_what_comes_next(self):
        self.controller.add(A)
        self.controller.settle_at = -1
        done = self.quell("cancel", A, "--timeout", "4s", code=4)
        self.assertIn("not proven: 1 operation", done.stdout.decode())
        self.assertIn("next: the kill", done.stdout.decode())

    def test_ctrl_c_ends_the_waiting_and_says_that_the_cancel_goes_on(self):
        self.controller.add(A)
        self.controller.settle_at = -1
        process = self.start("cancel", A)
        self.controller.wait_for("the waiting", lambda: any(r[1].startswith("/v1/cancels/") for r in self.controller.requests))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 4)
        self.assertIn(b"goes on", process.stderr.read())

    def test_unconfirmed_is_4(self):
        self.controller.add(A)
        self.controller.cancel_answer = {"report": report(proven=False, receipts={"unconfirmed": 1}, proofs={"none": 1})}
        self.assertIn("unconfirmed", self.quell("cancel", A, code=4).stdout.decode())

    def test_levels(self):
        self.controller.add(A)
        self.controller.settle_at = -1
        self.quell("cancel", A, "--no-wait")
        self.quell("cancel", "--wait=fenced", A)
        self.controller.cancel_answer = {"status": "signalled"}
        self.quell("cancel", "--wait=signalled", A)
        self.quell("cancel", "--wait", A, "--timeout", "4s", code=4)  # --wait takes no id as its value
        self.quell("cancel", A, "--wait=soon", code=2)

    def test_a_target_that_cannot_be_found_cancels_nothing_and_says_so(self):
        self.controller.add(A)
        for more in ([], ["--dry-run"]):
            done = self.quell("cancel", A, "deadbeef", *more, code=3)
            self.assertIn("nothing was cancelled: no operation ends in 'deadbeef'", done.stderr.decode())
        done = self.quell("cancel", A, "not-an-id", code=2)
        self.assertIn("nothing was cancelled: ", done.stderr.decode())
        document = json.loads(self.quell("--json", "cancel", A, "deadbeef", code=3).stderr)
        self.assertEqual(document["detail"], "nothing was cancelled: no operation ends in 'deadbeef'")
        self.assertEqual([r for r in self.controller.requests if r[1] == "/v1/cancels"], [])

    def test_outcomes(self):
        self.quell("cancel", C, code=3)
        self.controller.cancel_answer = {"outcome": "nothing_live"}
        self.quell("cancel", "--scope", "team/a", code=3)
        self.controller.cancel_answer = {"outcome": "already_finished"}
        self.quell("cancel", C)
        self.controller.cancel_answer = {}
        self.controller.refuse["POST /v1/cancels"] = (403, "scope_forbidden")
        self.quell("cancel", "--scope", "team/a", code=6)

    def test_short_ids(self):
        for id in (A, B, C):
            self.controller.add(id)
        self.quell("cancel", "aaaa1234")
        self.assertEqual(self.last_body("/v1/cancels")["operation"], C)
        done = self.quell("cancel", "0bee07dd", code=2)
        self.assertIn(A, done.stderr.decode())
        self.assertIn(B, done.stderr.decode())
        before = len(self.controller.asked("POST", "/v1/cancels"))
        self.quell("cancel", "ffffffff", code=3)
        self.quell("cancel", "xyz", code=2)
        self.assertEqual(len(self.controller.asked("POST", "/v1/cancels")), before)

    def test_several_are_all_sent_before_one_is_waited_for(self):
        self.controller.add(A)
        self.controller.add(C)
        self.controller.settle_at = -1
        self.quell("cancel", A, C, "--timeout", "4s", code=4)
        paths = [(r[0], r[1]) for r in self.controller.requests]
        first_wait = next(i for i, r in enumerate(paths) if r[0] == "GET" and r[1].startswith("/v1/cancels/"))
        self.assertEqual(sum(r == ("POST", "/v1/cancels") for r in paths), 2)
        self.assertLessEqual(sum(r == ("POST", "/v1/cancels") for r in paths[first_wait + 2:]), 0)

    def test_no_target_is_never_everything(self):
        for words in (["cancel"], ["cancel", "--everything"], ["cancel", "--owner", "", "--scope", "a"], ["cancel", "--scope", ""], ["cancel", A, "--scope", "a"],
                      ["cancel", "--scope", "a", "--scope", "b"], ["cancel", ""], ["cancel", A, "--grace", "5"]):
            self.quell(*words, code=2)
        self.assertEqual(self.controller.asked("POST", "/v1/cancels"), [])

    def test_kill_is_grace_0_and_json_ends_with_the_cancel(self):
        self.controller.add(A)
        lines = self.quell("kill", A, "--json").stdout.splitlines()
        self.assertEqual(self.last_body("/v1/cancels")["grace_ms"], 0)
        self.assertEqual(json.loads(lines[-1])["status"], "settled")

    def test_a_dry_run_lists_and_does_nothing(self):
        self.controller.add(A)
        self.controller.cancel_answer = {"would_stop": {"operations": [{"id": A, "kind": "task", "title": "crawler", "scope": "default", "worker": "w1", "status": "running",
                                                                        "owner": {"id": "a", "name": "Alice"}}], "truncated": False}}
        self.assertIn("crawler", self.quell("cancel", A, "--dry-run").stdout.decode())
        self.assertTrue(self.last_body("/v1/cancels")["dry_run"])


class Rest(Program):
    def test_ps_draws_the_tree_over_all_pages(self):
        self.controller.add(A, title="root")
        self.controller.add(C, title="child", parent=A)
        self.controller.add(B, title="grandchild", parent=C)
        lines = self.quell("ps", "--tree").stdout.decode().splitlines()
        self.assertTrue(lines[1].startswith("└─ "), lines)
        self.assertTrue(lines[2].startswith("   └─ "), lines)
        self.assertIn("`- ", self.quell("ps", "--tree", env=dict(self.env, LANG="C")).stdout.decode())
        self.assertEqual(len(json.loads(self.quell("ps", "--json").stdout)["operations"]), 3)
        self.assertEqual(sorted(self.quell("ps", "-q").stdout.decode().split()), sorted([A, B, C]))

    def test_logs_tail_cuts_whole_lines(self):
        self.controller.add(A, status="completed", ended_at="2026-11-20T09:51:07.123Z")
        self.controller.output[A]["stdout"] = b"".join(b"line %d\n" % i for i in range(30_000))
        self.assertEqual(self.quell("logs", A, "--tail", "2").stdout, b"line 29998\nline 29999\n")
        self.assertEqual(self.quell("logs", A, "--stream", "stdout").stdout, self.controller.output[A]["stdout"])

    def test_logs_follow_ends_with_the_operation(self):
        self.controller.add(A)
        process = self.start("logs", "-f", A)
        self.controller.wait_for("the streams", lambda: len([r for r in self.controller.requests if "/output" in r[1]]) >= 2)
        self.controller.output[A]["stdout"] = b"late\n"
        self.controller.end(A, status="completed", exit={"code": 0})
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(process.stdout.read(), b"late\n")

    def test_why_names_what_is_waited_for(self):
        self.controller.add(A, status="pending", waiting_for={"what": "slot", "since_at": "2026-11-20T09:51:07.123Z", "detail": "no worker has gpu=1"})
        self.assertIn("no worker has gpu=1", self.quell("why", A).stdout.decode())

    def test_wait_of_several_and_its_timeout(self):
        self.controller.add(A, status="completed", ended_at="2026-11-20T09:51:07.123Z", exit={"code": 0})
        self.controller.add(C, status="failed", ended_at="2026-11-20T09:51:07.123Z", exit={"code": 9}, error={"code": "error", "message": "m"})
        self.quell("wait", A, A, code=0)
        self.quell("wait", A, C, code=1)
        self.quell("wait", C, code=9)
        self.controller.add(B)
        self.quell("wait", B, "--timeout", "4s", code=4)

    def test_problems_are_documents_with_json(self):
        done = self.quell("show", "01a1f869-3df9-7303-8207-000000000000", "--json", code=3)
        self.assertEqual(json.loads(done.stderr)["code"], "operation_not_found")
        self.assertEqual(json.loads(self.quell("ps", "--json", "--nonsense", code=2).stderr)["code"], "usage")
        self.quell("ps", code=6, env=dict(self.env, QUELL_TOKEN="wrong"))

    def test_without_a_controller_it_says_where_it_looked(self):
        env = {k: v for k, v in self.env.items() if not k.startswith("QUELL_")}
        text = self.quell("ps", code=5, env=env).stderr.decode()
        for word in ("QUELL_URL", ".local/state/quell/client.json", "quell up"):
            self.assertIn(word, text)

    def test_the_controller_is_found_by_precedence(self):
        state, config = self.home.name + "/.local/state/quell", self.home.name + "/.config/quell"
        os.makedirs(state)
        os.makedirs(config)
        env = {k: v for k, v in self.env.items() if not k.startswith("QUELL_")}
        with open(state + "/client.json", "w") as f:
            json.dump({"url": self.controller.url, "token": "secret"}, f)
        self.quell("status", env=env)
        # the token of client.json is sent to no other address
        self.quell("--url", self.controller.url.replace("127.0.0.1", "localhost"), "status", code=6, env=env)
        with open(config + "/cli.toml", "w") as f:
            f.write('context = "bad"\n[contexts.bad]\nurl = "http://127.0.0.1:1"\n[contexts.good]\nurl = "%s"\ntoken = "secret"\n' % self.controller.url)
        self.quell("status", code=5, env=env)
        self.quell("status", "--context", "good", env=env)
        self.quell("status", "--context", "none", code=2, env=env)
        self.quell("status", "--url", self.controller.url, "--token", "secret", env=env)

    def test_completion_scripts_are_accepted_by_bash_and_name_every_command(self):
        script = self.quell("completion", "bash").stdout
        subprocess.run(["bash", "-n"], input=script, check=True)
        names = self.quell("--help").stdout.decode().split("Subcommands:")[1].split("\n\n")[0]
        for name in [line.split()[0] for line in names.strip().splitlines()]:
            self.assertIn("'" + name + "')", script.decode())


if __name__ == "__main__":
    QUELL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
