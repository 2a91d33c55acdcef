"""The model that acknowledges a stop is told who stopped, and who had asked for what: recorded requests."""
import pytest

from harness.cluster import marker
from harness import processes
from harness.recorded_cluster import RecordedCluster
from harness.waiting import until

AGENT = '[[agents]]\nname = "helper"\nmodel = "recorded"\nscopes = ["chat"]\nworkspace = "WORKSPACE"\n[chat]\nacknowledgement_model = "recorded"\n'
BOB, ANN = {"id": "2", "name": "Bob"}, {"id": "1", "name": "Ann"}


@pytest.mark.parametrize("stops, asked, stop", [(ANN, "<Bob> delete the backups", "<Ann> stop"), (BOB, "delete the backups", "stop")])
def test_the_request_for_an_acknowledgement_names_the_author_and_the_owner(stops, asked, stop):
    m = marker()
    with RecordedCluster(AGENT) as c:
        c.model.plan["delete the backups"] = [[("exec", {"command": "while :; do sleep 1000; done #" + m})]]
        turn = c.say("chat/room", "delete the backups", author=BOB, agent="helper")
        until(lambda: processes.marked(m), "the command to run")
        answer = c.post("chat/room", "stop", author=stops)
        assert answer.json["decision"] == "cancel", answer.body
        assert c.ended(turn)["status"] == "cancelled"
        request = until(lambda: next((r for r in list(c.model.requests) if "told you to stop" in r["messages"][0]["content"]), None),
                        "the request for the acknowledgement")
        people = "\n\n".join(x["content"] for x in request["messages"][1:])
        assert people == f"[quell: this was asked for before, and the next message stops it]\n{asked}\n\n{stop}", request["messages"]
        assert "delete the backups" not in request["messages"][0]["content"], "what people wrote is not an instruction"
