"""A command that goes on over a restart of quelld is seen to work behind it, too: its output as it comes, and word of it every five seconds."""
from harness.resuming import ends
from harness.turns import Watching
from harness.waiting import until
from test_turns_exec import World, shell


@ends
def test_output_and_progress_of_an_adopted_command_are_shown(sig):
    with World() as world:
        turn = world.ask("show me", [shell("echo early; until [ -e go-on ]; do sleep 0.05; done; echo late; until [ -e end ]; do sleep 0.05; done")])
        task = until(lambda: world.below(turn, kind="task"), "the task")[0]
        until(lambda: world.so_far(task["id"]) == b"early\n", "its output")
        world.kill_controller(sig)
        world.start_controller()
        until(lambda: world.events(turn, "turn_resumed"), "the turn to go on")
        stream = Watching(world, turn, "0&types=tool_output,tool_progress")  # output is only for who names it
        stream.wait("tool_progress")
        world.go("go-on")
        until(lambda: [d for k, d in stream.read() if k == "tool_output" and "late" in d["data"]["text"]], "the line that came behind the restart")
        until(lambda: [d for k, d in stream.read() if k == "tool_progress" and d["data"]["last_line"] == "late"], "word of it")
        world.go("end")
        assert world.ended(turn)["status"] == "completed"
        result, = world.results_of(turn)
        assert "early\nlate\n" in str(result["result"].get("stdout", "")), result
        world.check_scope("room")
