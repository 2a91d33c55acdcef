"""Agents with a workspace for each conversation, on real workers."""
import hashlib
import json
import os

from harness.cluster import marker
from harness.recorded_cluster import RecordedCluster

EVERYWHERE = ("find / -xdev -path /proc -prune -o -path /sys -prune -o -type f -size -64k -newer /workspace/.begun -print0 2>/dev/null | "
              "xargs -0 -r grep -l -s -F {0} 2>/dev/null; "
              "for d in $(awk '{{print $5}}' /proc/self/mountinfo | grep -v -e ^/proc -e ^/sys -e '^/dev$' -e '^/$'); do "
              "find $d -xdev -type f -size -64k -newer /workspace/.begun -print0 2>/dev/null | xargs -0 -r grep -l -s -F {0} 2>/dev/null; "
              "done; echo searched")


class World(RecordedCluster):
    """Agents: `own` (per scope), `brief` (a small quota, kept for two seconds), `turn` (per turn), `all` (shared)."""

    def __init__(self, agent="", **options):
        head = '[[agents]]\nmodel = "recorded"\ntools = ["exec", "read", "write", "list", "search", "spawn_agent"]\n'
        agents = (f'{head}name = "own"\n{agent}\n'
                  f'{head}name = "small"\nworkspace_quota = "256KiB"\n'
                  f'{head}name = "brief"\nworkspace_retention = "2s"\n'
                  f'{head}name = "turn"\nworkspace_mode = "per-turn"\n'
                  f'{head}name = "all"\nworkspace = "WORKSPACE"\n')
        super().__init__(agents, **options)

    def ask(self, text, *steps, scope="room", agent="own"):
        self.model.plan[text] = list(steps)
        return self.say(scope, text, agent=agent)

    def done(self, text, *steps, scope="room", agent="own", seconds=240):
        """The results of the calls of a turn that completes."""
        turn = self.ask(text, *steps, scope=scope, agent=agent)
        assert self.ended(turn, seconds)["status"] == "completed", self.operation(turn)
        self.check_scope(scope)
        return [r["result"] for r in self.results(scope, turn)]

    def run(self, line, scope="room", agent="own", **more):
        result, = self.done(marker("say"), [("exec", {"command": line, **more})], scope=scope, agent=agent)
        assert result["ok"], result
        return result["result"]

    def out(self, line, scope="room", agent="own", **more):
        return self.run(line, scope, agent, **more)["stdout"]

    def directories(self, worker="w1"):
        at = os.path.join(self.workers[worker].state, "workspaces")
        return sorted(n for n in os.listdir(at) if not n.startswith("."))

    def place_of(self, scope, worker="w1"):
        found = [n for n in self.directories(worker) if n.startswith("w-" + scope.replace("/", "%") + "~")]
        return os.path.join(self.workers[worker].state, "workspaces", found[-1]) if found else None

    def workers_of(self, scope):
        return {o["worker"] for o in self.operations(scope=scope, kind="task") if o["worker"]}

    def row_of(self, scope):
        """Where quelld keeps which worker has the workspace."""
        return os.path.join(self.state, "workspaces", hashlib.sha256(scope.encode()).hexdigest())

    def used_at(self, scope):
        with open(self.row_of(scope)) as f:
            return json.load(f)["used_at_ms"]

    def pretend_unused(self, scope, days):
        """quelld's row says that the workspace was used last so many days ago. Only between turns."""
        with open(self.row_of(scope)) as f:
            row = json.load(f)
        row["used_at_ms"] -= days * 24 * 3600 * 1000
        with open(self.row_of(scope) + ".aged", "w") as f:
            json.dump(row, f)
        os.rename(self.row_of(scope) + ".aged", self.row_of(scope))
