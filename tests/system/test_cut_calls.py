"""A model whose answer reaches its limit inside a tool call: what came of the call is not run, and the model hears why."""
import json

import pytest

from harness.model_player import DIALECTS, PLAYED, Player
from harness.turns import TurnCluster


class Cutting(Player):
    """`clip at X`: an answer with a call of `list`, whose input ends behind X of `{"path": "sub"}`."""

    def play(self, to, dialect, text, is_result, size):
        if not text.startswith("clip at ") or is_result:
            return super().play(to, dialect, text, is_result, size)
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        say = PLAYED[dialect](to)
        say.call("list", '{"path": "sub"}'[:int(text.split()[2])])
        return say.end("length")


@pytest.fixture(scope="module")
def world():
    player = Cutting()
    try:
        config = "".join(f'[[models]]\nname = "{name}"\n{kind}\nmodel = "m"\nbase_url = "{player.url}"\n'
                         f'[[agents]]\nname = "{name}"\nmodel = "{name}"\nworkspace = "WORKSPACE"\ntools = ["list"]\n'
                         for name, kind in DIALECTS.items())
        with TurnCluster([{"text": "Yes."}], config) as c:
            yield c, player
    finally:
        player.close()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("length", [0, 5])
def test_a_call_that_the_limit_cut_does_not_run_and_the_model_is_told(world, dialect, length):
    c, player = world
    scope, text = f"cut-{dialect}-{length}", f"clip at {length} {dialect}"
    turn = c.say(scope, text, agent=dialect)
    assert c.ended(turn)["status"] == "completed", c.ended(turn)
    [result] = c.results(scope, turn)
    assert not result["result"]["ok"] and result["result"]["error"]["code"] == "invalid_input", result
    assert not c.below(turn, kind="task") and len(player.of(text)) == 2
    assert "not JSON" in json.dumps(player.of(text)[1]["body"])
    c.check_scope(scope)
