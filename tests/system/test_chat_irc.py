"""quelld on a real IRC server: questions are answered in lines, a stop stops the answer, and it reconnects after every kind of loss."""
import os

import pytest
from harness.certificates import make_certificate
from harness.irc import Client, Ngircd, SaslServer
from harness.network import Relay
from harness.turns import TurnCluster
from harness.waiting import until

ACKNOWLEDGE = "interrupted"  # occurs only in the instructions of an acknowledgement
SCRIPT = [{"when": {"system": ACKNOWLEDGE}, "text": "🛑 All right."},
          {"when": {"user": "tell all"}, "steps": [{"endless": "old line\n", "delay_ms": 20}]},
          {"when": {"user": "list"}, "text": "\n".join(f"item {i} ö€🛑 x" + "x" * 30 * i for i in range(20))},
          {"text": "You said {{text}}."}]
DEV = "irc/test/~23dev"


def section(folder, port, **keys):
    values = {"host": '"localhost"', "port": port, "tls": "false", "network": '"test"', "nick": '"clanky"', "channels": '["#dev"]', "users": '["*"]',
              "pace": '"100ms"', "burst": 5, "rejoin": '"300ms"', "retry_first": '"100ms"', "retry_most": '"1s"', **keys}
    return "[irc]\n" + "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)


def log_of(cluster):
    with open(os.path.join(cluster.directory, "quelld.log"), errors="replace") as f:
        return f.read()


def wait_log(cluster, words, count=1):
    return until(lambda: log_of(cluster).count(words) >= count, lambda: f"{count} times {words!r} in quelld's log: {log_of(cluster)[-1500:]}")


def wait_in(person, channel="#dev", since=0):
    """Waits until clanky has joined the channel."""
    until(lambda: any(line.startswith((":clanky!", ":clanky_!")) and " JOIN " in line and channel in line for line in list(person.lines)[since:]),
          f"clanky to join {channel}; there is {person.lines[-10:]}")


@pytest.fixture
def irc(tmp_path):
    with Ngircd(str(tmp_path)) as server, Client(server.port, "mia", "#dev") as mia:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.port), workers=0) as c:
            wait_in(mia)
            yield server, c, mia


def test_questions_are_answered_where_they_were_asked(irc):
    server, c, mia = irc
    connected = [{"name": "irc", "working": True, "state": "connected to localhost as clanky, in #dev"}]
    until(lambda: c.api("GET", "/v1/status").json["chat_services"] == connected, "clanky to know that it is in")
    mia.say("#dev", "nobody is meant")
    mia.say("#dev", "stop")  # meant for somebody else: nothing runs here
    mia.say("#DEV", "Clanky: hello")
    assert mia.wait_text("You said") == "You said hello."
    mia.say("clanky", "hi there")
    mia.wait_text("You said hi there.")
    assert mia.texts(target="mia") == ["You said hi there."] and mia.texts(target="#dev") == ["You said hello."]
    said = [m["text"] for m in c.messages(DEV) if m["role"] == "user"]
    assert said == ["hello"], said
    assert [m["author"]["id"] for m in c.messages("irc/test/mia") if m["role"] == "user"] == ["mia"]
    c.check_scope(DEV)


def test_a_long_answer_comes_in_lines_that_the_server_takes(irc):
    server, c, mia = irc
    mia.say("#dev", "clanky: list")
    mia.wait_text("item 19", 60)
    text = "\n".join(mia.texts())
    for i in range(20):
        assert f"item {i} ö€🛑 x" in text
    assert text.count("x") == 20 + 30 * sum(range(20))
    assert not [line for line in mia.lines if line.startswith("ERROR")]


def test_anybody_stops_an_answer_and_nothing_more_of_it_comes(irc):
    server, c, mia = irc
    with Client(server.port, "oz", "#dev") as oz:
        mia.say("#dev", "clanky: tell all")
        mia.wait_text("old line")
        oz.say("#dev", "stop")
        mia.wait_text("🛑")
        at = next(i for i, t in enumerate(mia.texts()) if "🛑" in t)
        until(lambda: not c.operations(scope=DEV, status="live"), "the turn to be over")
        oz.say("#dev", "clanky: hello")
        mia.wait_text("You said hello.")
        behind = mia.texts()[at + 1:]
        assert [t for t in behind if not t.startswith("🛑")] == ["You said hello."], behind  # what is stopping for long is told so first
    turns = lambda: c.operations(scope=DEV, kind="turn")
    until(lambda: sorted(t["status"] for t in turns()) == ["cancelled", "completed"], "the second turn to be complete")
    cancelled = next(t for t in turns() if t["status"] == "cancelled")
    assert cancelled["stop"]["by"]["id"] == "oz", cancelled["stop"]
    c.check_scope(DEV)


def test_a_stop_with_nothing_to_stop_is_an_ordinary_message(irc):
    server, c, mia = irc
    mia.say("#dev", "clanky: stop")
    mia.wait_text("You said stop.")
    mia.say("clanky", "never mind")
    mia.wait_text("You said never mind.")


def test_a_flood_is_stopped_with_one_word(irc):
    server, c, mia = irc
    mia.say("#dev", "clanky: tell all")
    mia.wait_text("old line")
    mia.send(*(f"PRIVMSG #dev :clanky: question {i}" for i in range(24)))
    until(lambda: len(c.operations(scope=DEV, kind="turn")) > 8, "questions to wait behind the answer", 90)
    with Client(server.port, "oz", "#dev") as oz:
        oz.say("#dev", "clanky stop!!")
        oz.wait_text("🛑", 60)
        mia.send("QUIT")
        until(lambda: not c.operations(scope=DEV, status="live"), "everything to be over", 60)
        since = len(oz.lines)
        oz.say("#dev", "clanky: still there?")
        oz.wait_text("You said still there?.", 60, since=since)
    c.check_scope(DEV)


def test_it_comes_back_after_the_server_did(irc):
    server, c, mia = irc
    server.stop()
    wait_log(c, "irc: retrying")
    server.start()
    with Client(server.port, "oz", "#dev") as oz:
        wait_log(c, "as clanky, in #dev", 2)
        oz.say("#dev", "clanky: hello")
        oz.wait_text("You said hello.")


def test_kicked_it_comes_back(irc):
    server, c, mia = irc
    mia.send("OPER op oper", "MODE #dev +o mia")
    since = len(mia.lines)
    mia.send("KICK #dev clanky :enough")
    mia.wait(" KICK #dev clanky", since=since)
    wait_in(mia, since=since)
    wait_log(c, "not in #dev: kicked by mia: enough")
    mia.say("#dev", "clanky: hello")
    mia.wait_text("You said hello.")


def test_an_answer_goes_on_after_a_kill_of_quelld_and_a_stop_makes_room_for_the_next(irc):
    server, c, mia = irc
    mia.say("#dev", "clanky: tell all")
    mia.wait_text("old line")
    turn = c.operations(kind="turn", status="live")[0]["id"]
    c.kill_controller()
    until(lambda: any(line.startswith(":clanky!") and " QUIT " in line for line in list(mia.lines)), "the server to notice")
    since = len(mia.lines)
    c.start_controller()
    wait_in(mia, since=since)
    until(lambda: c.events(turn, "turn_resumed"), "the turn to go on")
    mia.wait_text("old line", since=since)
    c.cancel(operation=turn)
    mia.say("#dev", "clanky: hello")
    mia.wait_text("You said hello.", since=since)
    since = len(mia.lines)
    mia.say("#dev", "clanky: bye")
    mia.wait_text("You said bye.", since=since)
    assert "old line" not in mia.texts(since=since)
    c.check_scope(DEV)


def test_a_cut_in_the_net_is_noticed_and_survived(tmp_path):
    with Ngircd(str(tmp_path)) as server, Client(server.port, "mia", "#dev") as mia:
        relay = Relay("127.0.9.7", [server.port])
        try:
            with TurnCluster(SCRIPT, section(str(tmp_path), server.port, host='"127.0.9.7"', silence='"8s"'), workers=0) as c:
                wait_in(mia)
                relay.cut()
                wait_log(c, "the server has been silent for 8 s")
                since = len(mia.lines)
                relay.heal()
                wait_in(mia, since=since)
                mia.say("#dev", "clanky: hello")  # its nick can be clanky_ now, if the old connection still has the nick
                mia.wait("You said hello.", since=since)
        finally:
            relay.close()


def test_tls_is_checked_and_a_password_is_kept_secret(tmp_path):
    key, cert = (str(path) for path in make_certificate(tmp_path, "localhost", "DNS:localhost,IP:127.0.0.1"))
    secret = tmp_path / "password"
    secret.write_text("very-geheim\n")
    with Ngircd(str(tmp_path), password="very-geheim", tls=(cert, key)) as server, Client(server.port, "mia", "#dev", password="very-geheim") as mia:
        good = section(str(tmp_path), server.tls_port, tls="true", tls_ca=f'"{cert}"', password_file=f'"{secret}"')
        with TurnCluster(SCRIPT, good, workers=0) as c:
            wait_in(mia)
            mia.say("#dev", "clanky: hello")
            mia.wait_text("You said hello.")
            assert "geheim" not in log_of(c)
        with TurnCluster(SCRIPT, section(str(tmp_path), server.tls_port, tls="true", password_file=f'"{secret}"'), workers=0) as c:
            wait_log(c, "the certificate is not accepted")
        secret.write_text("wrong-geheim\n")
        with TurnCluster(SCRIPT, good.replace('retry_most = "1s"', 'retry_most = "1h"'), workers=0) as c:
            wait_log(c, "the server refuses us")
            assert "geheim" not in log_of(c)
            assert c.healthy()


def test_sasl_logs_in_or_waits_long(tmp_path):
    (tmp_path / "secret").write_text("geheim")
    keys = dict(sasl_user='"clanky"', sasl_password_file=f'"{tmp_path}/secret"')
    with SaslServer("geheim") as server:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.port, **keys), workers=0) as c:
            until(lambda: server.joined == ["#dev"], f"a login; there is {server.logins}")
            until(lambda: [m["text"] for m in c.messages(DEV) if m["role"] == "user"] == ["hello"], "one message of two deliveries")
            wait_log(c, "connected to localhost as clanky, in #dev")
            assert [m["text"] for m in c.messages(DEV) if m["role"] == "user"] == ["hello"]
    with SaslServer("another") as server:
        with TurnCluster(SCRIPT, section(str(tmp_path), server.port, **{**keys, "retry_most": '"1h"'}), workers=0) as c:
            wait_log(c, "does not take our SASL login")
            assert server.attempts == 1 and "geheim" not in log_of(c)
