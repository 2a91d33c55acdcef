"""An approver lets a call run with another input: it runs once, with exactly that, also after a kill; and what must not run does not."""
import json
import os
import subprocess

import pytest

from harness.cluster import marker
from harness.python_client import FOLDER, quell
from harness.turns import TurnCluster
from harness.waiting import until

TYPESCRIPT = os.path.abspath(os.path.join(FOLDER, "../typescript/src/index.js"))
CONFIG = ('[[approval]]\ntool = "exec"\nmatch = "rm *"\n[[approval]]\ntool = "exec"\nmatch = "rm -rf /*"\naction = "deny"\n'
          '[[approval]]\ntool = "write"\n')
ASKED = {"command": "rm -f ./nothing; echo original >> ran"}
CHANGED = {"command": "echo changed >> ran; echo did it"}


def call(name, **given):
    return {"name": name, "input": given}


def script(m):
    work = f"while [ ! -e go ]; do sleep 0.05; done; echo went on #{m}"
    return [
        {"when": {"user": "one", "round": 1}, "steps": [{"calls": [call("exec", **ASKED)]}]},
        {"when": {"user": "behind", "round": 1}, "steps": [{"calls": [call("exec", command=work), call("exec", **ASKED)]}]},
        {"when": {"user": "file", "round": 1}, "steps": [{"calls": [call("write", path="a.txt", text="from the model")]}]},
        {"when": {"user": "inner", "round": 1}, "steps": [{"calls": [call("exec", **ASKED)]}]},
        {"when": {"user": "below", "round": 1}, "steps": [{"calls": [call("spawn_agent", task="inner")]}]},
        {"when": {"result": ""}, "text": "Done: {{results}}"},
        {"text": "You said {{text}}."},
    ]


@pytest.fixture
def c():
    with TurnCluster(script(marker()), CONFIG) as cluster:
        yield cluster


def asked(c, turn):
    one, = until(lambda: c.below(turn, status="paused"), "a call to wait for a human")
    return one["id"]


def approve(c, id, **body):
    return c.api("POST", f"/v1/operations/{id}/approve", body)


def ran(c):
    path = os.path.join(c.workspace, "ran")
    return open(path).read().split() if os.path.exists(path) else []


def refused(answer, status, code, pointer):
    assert answer.status == status and answer.json["code"] == code, answer.body
    assert [e["pointer"] for e in answer.json["errors"]] == [pointer], answer.body


def test_the_call_runs_with_the_changed_input_and_the_model_is_told(c):
    turn = c.say("a", "one")
    id = asked(c, turn)
    done = approve(c, id, input=CHANGED, by={"id": "ann", "name": "Ann"}, reason="not the rm")
    assert done.status == 200, done.body
    assert done.json["tool"]["input"] == ASKED and done.json["tool"]["changed"] == {"input": CHANGED, "by": {"id": "ann", "name": "Ann"}}
    ended = c.ended(turn)
    assert ended["status"] == "completed" and ran(c) == ["changed"], ended
    # The model reads that a person changed it, and to what; the stored result is the tool's own.
    assert "changed_input" in ended["turn"]["text"] and "echo changed" in ended["turn"]["text"], ended
    result, = c.results("a", turn)
    assert result["ok"] and "did it" in str(result) and "changed_input" not in result["result"], result
    made, = [x for m in c.of_turn("a", turn) for x in m["tool_calls"]]
    assert made["input"] == ASKED and made["changed"]["input"] == CHANGED, made
    resolved, = c.events(turn, "approval_resolved")
    assert resolved["data"]["decision"] == "approved" and resolved["data"]["input"] == CHANGED, resolved
    started, = c.events(turn, "tool_start")
    assert started["data"]["input"] == CHANGED, started
    task, = c.below(turn, kind="task")
    assert "echo changed" in str(task["task"]), task
    entry, = [e for e in c.api("GET", "/v1/events?types=audit&limit=1000").json["events"] if e["data"]["action"] == "approve"]
    assert entry["data"]["by"]["id"] == "ann" and "input changed from sha256 " in entry["data"]["target"], entry
    assert "echo" not in json.dumps(entry), "the audit has no texts"
    # A later turn reads it, too, and so does one after a restart.
    c.restart()
    assert c.operation(id)["tool"]["changed"]["input"] == CHANGED
    c.next_message_is_taken("a")
    c.check_scope("a")


def test_a_repeat_is_the_same_decision_only_with_the_same_input(c):
    turn = c.say("a", "one")
    id = asked(c, turn)
    assert approve(c, id, input=CHANGED).status == 200
    c.ended(turn)
    assert approve(c, id, input=CHANGED).status == 200
    for other in ({"input": {"command": "echo other >> ran"}}, {}):
        late = approve(c, id, **other)
        assert late.status == 409 and late.json["code"] == "not_paused", late.body
    assert approve(c, id, input=CHANGED, always={"for_ms": 1000}).status == 422
    assert ran(c) == ["changed"] and len(c.events(turn, "approval_resolved")) == 1
    # The call's own input is not a change.
    turn = c.say("b", "one")
    id = asked(c, turn)
    done = approve(c, id, input=ASKED)
    assert done.status == 200 and "changed" not in done.json["tool"], done.body
    assert c.ended(turn)["status"] == "completed" and ran(c) == ["changed", "original"]
    assert approve(c, id).status == 200


def test_a_change_that_is_denied_or_does_not_fit_decides_nothing(c):
    turn = c.say("a", "one")
    id = asked(c, turn)
    refused(approve(c, id, input={"command": "cd /; rm -rf /srv"}), 403, "forbidden", "/input")
    refused(approve(c, id, input={"command": 7}), 422, "invalid_field", "/input/command")
    refused(approve(c, id, input={"command": "ls", "colour": "red"}), 422, "invalid_field", "/input/colour")
    refused(approve(c, id, input={"command": "ls", "argv": ["ls"]}), 422, "invalid_field", "/input")
    refused(approve(c, id, input=[1]), 422, "invalid_field", "/input")
    refused(approve(c, id, input=CHANGED, always={"for_ms": 1000}), 422, "invalid_field", "/always")
    deny = c.api("POST", f"/v1/operations/{id}/deny", {"input": CHANGED})
    assert deny.status == 422, deny.body
    assert c.operation(id)["status"] == "paused" and not c.events(turn, "approval_resolved")
    assert approve(c, id, input=CHANGED).status == 200
    assert c.ended(turn)["status"] == "completed" and ran(c) == ["changed"]
    c.check_scope("a")


def test_always_does_not_stand_for_a_changed_call(c):
    turn = c.say("a", "one")
    id = asked(c, turn)
    assert approve(c, id, input=CHANGED).status == 200
    c.ended(turn)
    assert approve(c, id, always={"for_ms": 60_000}).status in (409, 422)
    assert c.api("GET", "/v1/approvals/rules").json["rules"] == []


def test_a_changed_input_survives_a_kill_and_runs_once(c):
    turn = c.say("a", "behind")
    id = asked(c, turn)
    assert approve(c, id, input=CHANGED).status == 200
    # exec runs alone: the approved call waits for the first one.
    until(lambda: len(c.below(turn, kind="task")) == 1, "the first call's command")
    assert c.operation(id)["status"] == "running"
    for _ in range(2):
        c.restart()
        assert c.operation(id)["tool"]["changed"]["input"] == CHANGED and ran(c) == []
    open(os.path.join(c.workspace, "go"), "w").close()
    ended = c.ended(turn)
    assert ended["status"] == "completed" and ran(c) == ["changed"], (ended, ran(c))
    assert "changed_input" in ended["turn"]["text"], ended
    started = [e["data"]["input"] for e in c.events(turn, "tool_start")]
    assert len(started) == 2 and started[1] == CHANGED, started
    c.check_scope("a")


def test_a_cancel_after_the_change_wins(c):
    turn = c.say("a", "behind")
    id = asked(c, turn)
    assert approve(c, id, input=CHANGED).status == 200
    assert c.cancel(operation=turn)["status"] == "settled"
    assert c.ended(turn)["status"] == "cancelled" and ran(c) == []
    c.restart()
    assert ran(c) == [] and c.operation(id)["status"] == "cancelled"
    c.check_scope("a")


def test_a_call_of_a_sub_agent_and_of_a_file_tool(c):
    turn = c.say("a", "below")
    assert approve(c, asked(c, turn), input=CHANGED).status == 200
    assert c.ended(turn)["status"] == "completed" and ran(c) == ["changed"]
    turn = c.say("b", "file")
    assert approve(c, asked(c, turn), input={"path": "b.txt", "text": "from a person"}).status == 200
    assert c.ended(turn)["status"] == "completed"
    assert open(os.path.join(c.workspace, "b.txt")).read() == "from a person"
    assert not os.path.exists(os.path.join(c.workspace, "a.txt"))
    c.check_scope("a"), c.check_scope("b")


def test_the_command_takes_json_a_file_and_standard_input(c):
    for scope, given, stdin in (("a", json.dumps(CHANGED), None), ("b", "@" + os.path.join(c.directory, "input.json"), None),
                                ("c", "@-", json.dumps(CHANGED).encode())):
        with open(os.path.join(c.directory, "input.json"), "w") as f:
            json.dump(CHANGED, f)
        turn = c.say(scope, "one")
        id = asked(c, turn)
        for wrong in ("{", "[]", "@/nothing/there"):
            assert c.quell("approve", id, "--input", wrong).returncode == 2
        done = c.quell("approve", id, "--input", given, stdin=stdin, check=0)
        assert b"another input" in done.stdout, done.stdout
        c.ended(turn)
    assert ran(c) == ["changed"] * 3
    assert b"echo changed" in c.quell("show", id, check=0).stdout


def test_the_clients_approve_with_an_input_and_deny(c):
    turns = {word: c.say(f"clients/{word}", "one") for word in ("py", "no", "ts")}
    calls = {word: asked(c, turn) for word, turn in turns.items()}
    with quell.Client(c.url, c.token) as client:
        with pytest.raises(quell.Invalid):
            client.approve(calls["py"], input={"command": 7})
        assert client.approve(calls["py"], input=CHANGED, by={"id": "ann"})["tool"]["changed"]["by"]["id"] == "ann"
        assert client.deny(calls["no"], reason="not today")["status"] == "failed"
    program = (f"import {{ Client }} from {json.dumps('file://' + TYPESCRIPT)};\n"
               f"const client = new Client({json.dumps({'url': c.url, 'token': c.token})});\n"
               f"const call = await client.approve({json.dumps(calls['ts'])}, {{ input: {json.dumps(CHANGED)} }});\n"
               "console.log(call.tool.changed.input.command); client.close();\n")
    done = subprocess.run(["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == CHANGED["command"], done
    for turn in turns.values():
        assert c.ended(turn)["status"] == "completed"
    assert ran(c) == ["changed"] * 2
