"""Messages: from "stop" to fenced beside a commit, with and without a message id; and messages decided per second, every second one of them a stop in an idle scope."""
import json
import os
import sys
import tempfile

from support import Client, Stepper, compare, compare_rates, median, requests, say, until
from turns import CONFIG, TurnCluster

MANNERS = '\n[chat]\nacknowledgement_model = "none"\n'
SCRIPT = {"answers": [{"when": {"user": "endless"}, "steps": [{"endless": "on ", "delay_ms": 1000}]}, {"text": "ok"}]}


def said(scope, text, **more):
    return {"scope": scope, "text": text, "author": {"id": "bench"}, "agent": "instant", **more}


def running(cluster, scope):
    turns = cluster.get_json(f"/v1/operations?scope={scope}&status=running&kind=model_call")["operations"]
    return bool(turns)


def stops(cluster, rounds):
    commits, client = Stepper("commit", cluster.state), Client(cluster)
    for name, with_id in (("without a message id", False), ("with one, looked up first", True)):
        bare, whole = [], []
        for i in range(rounds + 5):
            scope = f"stop/{'id' if with_id else 'plain'}/{i}"
            client.post("/v1/messages", said(scope, "endless"))
            until(lambda: running(cluster, scope), "the turn to stream")
            step = commits.steps(3)[1]
            answer, wall_ms = client.post("/v1/messages", said(scope, "stop", **({"id": f"m-{i}"} if with_id else {})))
            assert answer["decision"] == "cancel", answer
            if i >= 5:
                bare.append(step), whole.append(wall_ms)
        compare(f"a message that says stop, to fenced, at the client, {name}", whole, bare, "commit", 4)
    commits.close()


def decided(cluster, count):
    """Ignored messages cost no row: this measures one decision of each kind that is stored."""
    for name, text in (("ordinary messages", "hello"), ("a cancel word where nothing is active", "stop")):
        rates, limits = [], []
        for i in range(3):
            commits = Stepper("commit", cluster.state)
            limits.append(1000 / median(commits.steps(200)))
            commits.close()
            lines = ["POST /v1/messages " + json.dumps(said(f"flood/{name[0]}/{i}-{n}", text)) for n in range(count)]
            rates.append(count / requests(cluster.url, cluster.token, lines, 64))
            until(lambda: not cluster.get_json("/v1/operations?status=live&limit=1")["operations"], "all turns to end", 120)
        compare_rates(f"messages decided a second, 64 at once: {name}", rates, limits, "single commits")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        script, config = os.path.join(folder, "script.json"), os.path.join(folder, "quelld.toml")
        with open(script, "w") as f:
            json.dump(SCRIPT, f)
        with open(config, "w") as f:
            f.write(CONFIG.format(script=script, port=9) + MANNERS)
        with TurnCluster(config) as c:
            say("    stops")
            stops(c, int(sys.argv[1]) if len(sys.argv) > 1 else 60)
            say("    floods")
            decided(c, int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
