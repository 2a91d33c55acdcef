"""Unavailable MCP servers in turns: they never last, do not exist, never answer, have no worker, or lose it. The turn works
without their tools, and has them again when they are back."""
import datetime
import re

from harness.cluster import marker
from harness.odd_cluster import OddCluster, said, tool
from harness.recording_model import RecordingModel, WITH_EXEC
from harness.turns import TurnCluster
from harness.waiting import until
from harness.web_mcp import WebMcp


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_a_server_that_never_lasts_is_tried_less_and_less_and_says_why():
    with OddCluster("short") as c:
        assert c.ended(c.ask("one"))["status"] == "completed"
        assert "mcp__odd__work" not in c.model.tools_offered("one") and "exec" in c.model.tools_offered("one")
        told = None
        for i in range(12):  # until one comes early in a pause that is too long to wait for
            assert c.ended(c.ask(f"more {i}"))["status"] == "completed"
            said_so = re.finditer(r"MCP server odd exited with status 7, for the (\d+)th time in a row; it is begun again in (\d+) s", c.log_text())
            told = next((words for words in said_so if int(words[2]) > 5), None)
            if told:
                break
        assert told and int(told[1]) >= 5, c.log_text()[-3000:]
        lives = [(instant(o["created_at"]), instant(o["ended_at"])) for o in sorted(c.hosted("failed"), key=lambda o: o["seq"])]
        assert len(lives) == int(told[1]), (lives, told[0])
        pauses = [(after[0] - before[1]).total_seconds() for before, after in zip(lives, lives[1:])]
        assert all(pause > 0.9 * least for pause, least in zip(pauses, (0.5, 1, 2, 4, 8, 16, 32))), pauses
        c.check_scope("odd")


def test_a_command_that_does_not_exist_leaves_the_turn_without_its_tools():
    with OddCluster("none", ["/no/such/program"]) as c:
        assert c.ended(c.ask("hello"))["status"] == "completed"
        assert set(c.model.tools_offered("hello")) == WITH_EXEC
        log = c.log_text()
        assert "MCP server odd" in log and "/no/such/program" in log, log[-3000:]
        assert "unknown_tool" in str(c.asked("try", [tool("work")])[0]["result"])
        c.check_scope("odd")


def test_a_server_that_never_answers_is_waited_for_once():
    with OddCluster("silent") as c:
        turn = c.ask("hello")
        cancelled = c.ask("stop me while you wait", scope="other")
        until(lambda: c.seen("start"), "the server to be there")
        done = c.cancel(operation=cancelled)
        assert done["status"] == "settled" and done["report"]["proven"] and done["report"]["settled_ms"] < 10_000, done
        c.check_scope("other")
        assert c.ended(turn)["status"] == "completed"
        assert set(c.model.tools_offered("hello")) == WITH_EXEC
        log = c.log_text()
        assert "the MCP server odd has not answered within 20000 ms: its tools are left out" in log, log[-3000:]
        def waits_no_more():
            turn = c.ask(marker("again"))
            assert c.ended(turn)["status"] == "completed"
            return re.search(rf"turn {turn}: .*it has not answered within \d+ ms, and is not waited for", c.log_text())
        until(waits_no_more, "a turn that does not wait for it")
        c.check_scope("odd")


def test_a_server_without_a_worker_leaves_turns_usable_and_begins_when_there_is_one():
    with OddCluster("plain", workers=0) as c:
        turn = c.ask("wait", [tool("work")])
        c.wait_status(turn, "running")
        c.add_worker("w1")
        assert c.ended(turn)["status"] == "completed"
        assert "worked on" in said(c.results("odd", turn)[0])


def test_a_lost_worker_takes_its_server_along_and_another_hosts_the_next():
    with OddCluster("plain", workers=2, settings=["workers.lease=5s", "workers.heartbeat=200ms"]) as c:
        assert "worked on" in said(c.asked("work", [tool("work")])[0])
        server, = c.hosted("running")
        c.workers[server["worker"]].process.kill()
        c.wait_status(server["id"], "failed", "cancelled")
        assert "worked on" in said(c.asked("work again", [tool("work")])[0])
        fresh, = c.hosted("running")
        assert fresh["worker"] != server["worker"]
        c.workers[server["worker"]].process.wait()


class WebCluster(TurnCluster):
    """One MCP server `web` at a URL, and an agent that may use it."""

    def __init__(self, url):
        self.model = RecordingModel()
        super().__init__([{"text": "hi"}], f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "any"\nbase_url = "{self.model.url}"\n'
                         '[[agents]]\nname = "peer"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["mcp:web", "exec"]\n'
                         f'[[mcp]]\nname = "web"\nurl = "{url}"\n')

    def close(self):
        super().close()
        self.model.close()

    ask, log_text = OddCluster.ask, OddCluster.log_text


def test_a_url_that_is_down_is_remembered_and_tried_in_the_background():
    with WebMcp() as web:
        web.turn("down")
        with WebCluster(web.url) as c:
            assert c.ended(c.ask("one"))["status"] == "completed"
            assert set(c.model.tools_offered("one")) == WITH_EXEC
            # From here on every request waits, so a turn that asked would wait 20 s and then report it.
            web.turn("hang")
            until(lambda: web.held, "a try in the background")
            for i in range(3):
                assert c.ended(c.ask(f"more {i}"))["status"] == "completed"
                assert set(c.model.tools_offered(f"more {i}")) == WITH_EXEC
            log = c.log_text()
            assert "has not answered within" not in log, log[-3000:]
            assert "it is tried again in the background" in log, log[-3000:]
            assert log.count("MCP server web is out of reach") == 1, log[-3000:]
            web.turn("up")
            until(lambda: "MCP server web answers again" in c.log_text(), "it to be found again", 90)
            assert c.ended(c.ask("back", [("mcp__web__work", {})]))["status"] == "completed"
            assert said(c.results("odd", c.messages("odd")[-1]["turn"])[0]) == "worked on the web"
            c.check_scope("odd")


def test_a_restarted_server_that_answers_400_to_an_old_session_is_greeted_again():
    with WebMcp() as web, WebCluster(web.url) as c:
        for i in range(2):
            turn = c.ask(f"work {i}", [("mcp__web__work", {})])
            assert c.ended(turn)["status"] == "completed"
            assert said(c.results("odd", turn)[0]) == "worked on the web"
            web.session += 1
        assert web.methods().count("initialize") == 2 and web.methods().count("tools/call") == 3, web.methods()
        c.check_scope("odd")
