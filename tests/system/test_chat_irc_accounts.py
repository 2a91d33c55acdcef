"""IRC with accounts: an approver is an account, and nobody approves their own request under another nick."""
import threading

from harness import processes
from harness.cluster import marker
from harness.irc import SaslServer
from harness.turns import TurnCluster
from harness.waiting import until
from test_chat_irc import section

DEV = "irc/test/~23dev"


class AccountServer(SaslServer):
    """Reports the accounts of its people. `said` = what the bot said, `says(nick, account, text)` speaks in #dev."""

    def __init__(self):
        self.said, self.out, self.guard = [], None, threading.Lock()
        super().__init__("")

    def send(self, text):
        with self.guard:  # past the text layer, which forgets what it has read when it writes
            self.out.write((text + "\r\n").encode())
            self.out.flush()

    def says(self, nick, account, text):
        self.send((f"@account={account} " if account else "") + f":{nick}!u@h PRIVMSG #dev :{text}")

    def talk(self, file):
        self.out = file.buffer
        for line in file:
            words = line.strip().split(" ")
            if words[:2] == ["CAP", "LS"]:
                self.send(":s CAP * LS :message-tags account-tag")
            elif words[:2] == ["CAP", "REQ"]:
                self.send(":s CAP * ACK :" + " ".join(words[2:]).lstrip(":"))
            elif words[:2] == ["CAP", "END"]:
                self.send(":s 001 clanky :Welcome")
                self.send(":s 376 clanky :End of MOTD")
            elif words[0] == "JOIN":
                self.send(f":clanky!q@h JOIN {words[1]}")
                self.joined.append(words[1])
            elif words[0] == "PING":
                self.send(":s PONG s :" + words[1].lstrip(":"))
            elif words[0] == "PRIVMSG":
                self.said.append(line.strip().split(" :", 1)[1])
            elif words[0] == "QUIT":
                return

    def wait_said(self, words):
        return until(lambda: next((text for text in list(self.said) if words in text), None), f"{words!r}; there is {self.said}")


def test_another_nick_does_not_make_ones_own_request_somebody_elses(tmp_path):
    m = marker()
    script = [{"when": {"result": ""}, "text": "As you wish."},
              {"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"while :; do sleep 1000; done #{m}"}}]}]}]
    config = '[chat]\nacknowledgement_model = "none"\napprovers = ["irc:mia_acc", "irc:tom_acc"]\n[[approval]]\ntool = "exec"\n'
    with AccountServer() as server:
        with TurnCluster(script, config + section(str(tmp_path), server.port)) as c:
            until(lambda: server.joined == ["#dev"], "clanky to join")
            server.says("mia", "mia_acc", "clanky: runs")
            call = until(lambda: c.operations(scope=DEV, kind="tool_call", status="paused"), "the question")[0]["id"]
            tail = call[-8:]
            server.wait_said(tail)
            server.says("mia", "mia_acc", f"clanky: approve {tail}")
            server.wait_said("your own request")
            server.said.clear()
            server.says("mia-away", "mia_acc", f"clanky: approve {tail}")
            server.wait_said("your own request")
            server.said.clear()
            server.says("tom", "", f"clanky: approve {tail}")
            server.wait_said("does not say for certain who you are")
            assert c.operation(call)["status"] == "paused" and not processes.marked(m)
            server.says("tom", "tom_acc", f"clanky: approve {tail}")
            until(lambda: processes.marked(m), "the command to run")
            assert c.operation(call)["status"] == "running"
            c.cancel(scope=DEV)
