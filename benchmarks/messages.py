"""Messages: from "stop" to fenced beside a commit, with and without a message id; and messages decided per second, every second one of them a stop in an idle scope."""
import asyncio
import json
import os
import sys
import tempfile
import time

from support import Client, Stepper, median, record, say, until
from turns import CONFIG, TurnCluster, post_all

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
        record(f"a message that says stop, to fenced, at the client, {name}", f"{median(whole):.2f} ms", f"commit {median(bare):.2f} ms",
               f"{median(whole) / median(bare):.2f} x", "<= 4 x", median(whole) / median(bare) <= 4)
    commits.close()


def decided(cluster, count):
    """Ignored messages cost no row: this measures one decision of each kind that is stored."""
    commits = Stepper("commit", cluster.state)
    began = time.monotonic()
    commits.steps(500)
    single = 500 / (time.monotonic() - began)
    commits.close()
    for name, text in (("ordinary messages", "hello"), ("a cancel word where nothing is active", "stop")):
        bodies = [said(f"flood/{name[0]}/{i}", text) for i in range(count)]
        began = time.monotonic()
        asyncio.run(post_all(cluster, bodies, 64))
        rate = count / (time.monotonic() - began)
        record(f"messages decided a second, 64 at once: {name}", f"{rate:,.0f}/s", f"single commits {single:,.0f}/s", f"{rate / single:.0%}", "", True)
        until(lambda: not cluster.get_json("/v1/operations?status=live&limit=1")["operations"], "all turns to end", 120)


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
