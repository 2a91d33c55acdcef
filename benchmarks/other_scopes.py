"""Cancels of scopes that have nothing to do with the work that loads the cluster; each comes alone."""
from support import Client, compare, idle_task, pause

GAP_S = 0.02


class Cancels:
    """Each scope has one waiting task and exists before its cancel is measured."""

    def __init__(self, cluster, scope="other"):
        self.client, self.scope, self.made, self.used = Client(cluster), scope, 0, 0

    def prepare(self, count):
        """Has at least as many scopes ready."""
        while self.made - self.used < count:
            self.client.post("/v1/operations", idle_task(f"{self.scope}/s{self.made}"))
            self.made += 1

    def one(self):
        """Milliseconds from the request to the answer, which is fenced, at the client."""
        pause(GAP_S)
        assert self.used < self.made, "more cancels than scopes were made"
        answer, took_ms = self.client.post("/v1/cancels", {"scope": f"{self.scope}/s{self.used}", "wait": "fenced"})
        assert answer["report"]["operations"] == 1, answer
        self.used += 1
        return took_ms

    def some(self, count):
        return [self.one() for _ in range(count)]


def rows(beside, loaded, quiet, goal):
    """The median and the worst cancel beside those of the quiet cluster; the worst of more samples would be worse, so as many are compared."""
    count = min(len(loaded), len(quiet))
    compare(f"cancel of another scope beside {beside}", loaded, quiet, "in quiet", goal)
    compare(f"the worst cancel of another scope beside {beside}", loaded[:count], quiet[:count], "in quiet", goal, of=max, limit_of=max)
