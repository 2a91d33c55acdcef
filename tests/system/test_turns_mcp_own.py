"""`per = "turn"`: an MCP server of its own for each turn, which ends with the turn, with everything that it started, with proof."""
from harness import processes
from harness.odd_cluster import OddCluster, said, tool, wrong
from harness.waiting import until

OWN = 'per = "turn"\n'


def children(c):
    """The live processes that the servers have started."""
    return [p for p in processes.marked("ODD-CHILD") if c.workspace.encode() in processes.read(f"/proc/{p}/cmdline")]


def servers_of(c, turn):
    return [o for o in c.below(turn, kind="task") if o["title"] == "MCP server odd"]


def test_each_turn_has_its_own_server_whose_children_die_with_the_turn():
    with OddCluster("parent", more=OWN) as c:
        turns = [c.ask(f"hang {i}", [tool("hang", _meta={"timeout": 0})], scope=f"own-{i}") for i in range(2)]
        until(lambda: len(c.seen("call hang")) == 2, "both calls to be with a server")
        assert len(c.seen("start")) == 2 and len(c.servers()) == 2
        for turn in turns:
            server, = servers_of(c, turn)
            assert server["parent"] == turn and server["status"] == "running", server
        assert not c.operations(scope="quell/mcp"), "none is shared"
        until(lambda: len(children(c)) == 2, "the two children of the servers, and no fork on its way")
        done = c.cancel(operation=turns[0])
        # The call's outcome is unknown; the end of the processes is proven.
        assert done["status"] == "settled" and done["report"]["receipts"]["unconfirmed"] == 1, done
        server, = servers_of(c, turns[0])
        assert server["status"] == "cancelled" and server["stop"]["proof"] not in (None, "none"), server
        assert len(children(c)) == 1 and len(c.servers()) == 1, "the other turn's live on"
        assert c.cancel(operation=turns[1])["status"] == "settled"
        assert not children(c) and not c.servers()
        for i in range(2):
            c.check_scope(f"own-{i}")


def test_a_turn_that_ends_well_takes_its_server_along_before_it_is_over():
    with OddCluster("parent", more=OWN) as c:
        for i in range(2):
            turn = c.ask(f"work {i}", [tool("work", n=1)], [tool("work", n=2)])
            assert c.ended(turn)["status"] == "completed", c.operation(turn)
            until(lambda: c.operation(turn)["ended_at"], "the end of the turn")
            server, = servers_of(c, turn)
            assert server["status"] == "cancelled" and server["stop"]["cause"] == "parent_ended" and server["stop"]["proof"], server
            assert not children(c) and not c.servers()
        # Both calls of a turn used one server, and each turn had another.
        workers = [said(r).split()[0] for r in c.results("odd", turn)]
        assert len(set(workers)) == 1 and len(c.seen("start")) == 2
        c.check_scope("odd")


def test_a_server_of_its_own_that_dies_is_begun_again_within_its_turn():
    with OddCluster("parent", more=OWN) as c:
        turn = c.ask("die", [tool("die")], [tool("work")])
        assert c.ended(turn)["status"] == "completed"
        died, worked = c.results("odd", turn)
        assert "exited with status 3" in wrong(died) and died["result"]["error"]["code"] == "outcome_unknown", died
        assert "worked on" in said(worked)
        assert len(c.seen("start")) == 2
        until(lambda: not c.servers() and not children(c), "everything to be gone")


def test_a_sub_agent_has_its_own_server_and_it_ends_with_the_sub_agent():
    boss = OWN + '[[agents]]\nname = "boss"\nmodel = "recorded"\nworkspace = "WORKSPACE"\ntools = ["spawn_agent", "mcp:odd"]\nmay_spawn = ["peer"]\n'
    with OddCluster("parent", more=boss) as c:
        c.model.plan["lead"] = [[("spawn_agent", {"task": "help", "agent": "peer"})], [tool("hang", _meta={"timeout": 0})]]
        c.model.plan["help"] = [[tool("work")]]
        turn = c.say("odd", "lead", agent="boss")
        until(lambda: c.seen("call hang"), "the boss's own call")
        # The sub-agent has ended, and with it its server; the turn's own server lives.
        until(lambda: len(c.servers()) == 1, "the sub-agent's server to be gone")
        assert len(c.seen("start")) == 2 and len(servers_of(c, turn)) == 2
        assert c.cancel(operation=turn)["status"] == "settled"
        assert not c.servers() and not children(c)


def test_a_turn_that_waits_for_a_human_has_a_new_server_after_a_restart_and_the_old_one_goes():
    rule = OWN + '[[approval]]\ntool = "mcp__odd__work"\n'
    with OddCluster("parent", more=rule) as c:
        turn = c.ask("ask first", [tool("work")])
        call = until(lambda: [o for o in c.below(turn, kind="tool_call") if o["status"] == "paused"], "the call to wait")[0]
        old, = servers_of(c, turn)
        c.restart()
        until(lambda: c.operation(old["id"])["status"] == "cancelled", "the old server to be stopped")
        until(lambda: len(c.seen("start")) == 2, "a new one")
        assert c.api("POST", f"/v1/operations/{call['id']}/approve", {}).status == 200
        assert c.ended(turn)["status"] == "completed"
        assert "worked on" in said(c.results("odd", turn)[0])
        until(lambda: not c.servers() and not children(c), "everything to be gone")
