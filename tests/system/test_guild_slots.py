"""Slots of workers are shared among guilds: a guild of many people does not keep another one waiting."""
import os

from harness.cluster import Cluster
from harness.waiting import until


def test_the_first_task_of_another_guild_waits_behind_one_of_a_guild_with_many_channels_and_people():
    with Cluster(workers=1, slots=1) as c:
        gate = os.path.join(c.directory, "gate")
        first = c.start("sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done", scope="discord/g1/c0")
        c.wait_status(first["id"], "running")
        flood = [c.start("true", scope=f"discord/g1/c{i}", owner={"id": f"p{i}", "name": f"P{i}"})["id"] for i in range(60)]
        late = [c.start("true", scope=f"discord/g2/c{i}", owner={"id": f"q{i}", "name": f"Q{i}"})["id"] for i in range(3)]
        with open(gate, "w"):
            pass
        until(lambda: not c.operations(scope="discord", status="live"), "everything to have run")
        started = {o["id"]: o["started_at"] for o in c.operations(scope="discord")}
        order = sorted(flood + late, key=lambda id: started[id])
        # Each of them behind one more task of the other guild, and one that had its turn already.
        assert [order.index(id) <= 2 * n + 2 for n, id in enumerate(late)] == [True] * 3, [order.index(id) for id in late]
