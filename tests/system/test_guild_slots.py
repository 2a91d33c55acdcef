"""Slots of workers are shared among guilds: a guild of many people does not keep another one waiting."""
import os

from harness import processes
from harness.cluster import Cluster, marker
from harness.discord import TOKENS, FakeDiscord
from harness.turns import TurnCluster
from harness.waiting import until


class WithBot(TurnCluster):
    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "BOT": TOKENS[0]}, **options)


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


def test_a_call_of_another_guild_of_a_chat_service_does_not_wait_for_all_of_a_loud_one():
    m = marker()
    script = [{"when": {"user": "runs"}, "steps": [{"calls": [{"name": "exec", "input": {"command": f"while :; do sleep 1000; done #{m}"}}]}]},
              {"when": {"user": "quick"}, "steps": [{"calls": [{"name": "exec", "input": {"command": "true"}}]}]}, {"text": "Done."}]
    with FakeDiscord() as d:
        config = f'[discord]\nguilds = ["9", "10"]\nusers = ["5"]\ntoken_env = "BOT"\npublic_key = "{d.key}"\napi_url = "{d.api}"\n'
        with WithBot(script, config, slots=1) as c:
            d.see("IDENTIFY")
            d.message("runs", guild_id="9", channel_id="100")
            until(lambda: processes.marked(m), "the command to run")
            for i in range(12):
                d.message("quick", guild_id="9", channel_id=str(101 + i))
            until(lambda: len(c.operations(scope="discord/9", kind="task", status="live")) == 13, "twelve tasks to wait")
            d.message("quick", guild_id="10", channel_id="200")
            until(lambda: c.operations(scope="discord/10", kind="task", status="live"), "the task of the other guild to wait")
            c.cancel(scope="discord/9/100")
            until(lambda: not c.operations(scope="discord", kind="task", status="live"), "everything to have run")
            tasks = sorted(c.operations(scope="discord", kind="task"), key=lambda t: t["started_at"])
            # The first one ran, and the next one was chosen while nobody else waited.
            assert [t["scope"].split("/")[1] for t in tasks].index("10") <= 2, [t["scope"] for t in tasks]


def forever(c, m, scope):
    return c.start("sh", "-c", "while :; do sleep 1000; done", m, scope=scope)["id"]


def waiting_for(c, id):
    return (c.operation(id)["waiting_for"] or {}).get("detail", "")


def test_a_guild_whose_tasks_run_for_ever_leaves_slots_to_others_also_after_a_restart():
    m = marker()
    with TurnCluster([{"text": "hi"}], "[limits]\nslots_per_guild = 2\n", workers=2, slots=2) as c:
        loud = [forever(c, m, f"discord/g1/c{i}") for i in range(4)]
        for id in loud[:2]:
            c.wait_status(id, "running")
        for id in loud[2:]:
            until(lambda: "limits.slots_per_guild" in waiting_for(c, id), "the others to be told why they wait")
        quiet = [forever(c, m, "discord/g2/c0") for _ in range(2)]
        for id in quiet:
            c.wait_status(id, "running")
        c.cancel(operation=quiet[0])
        c.kill_controller()  # the tasks run on, and their slots still count
        c.start_controller()
        until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "the workers to be back")
        other = forever(c, m, "discord/g3/c0")
        c.wait_status(other, "running")
        until(lambda: all("limits.slots_per_guild" in waiting_for(c, id) for id in loud[2:]), "them to wait still")
        c.cancel(operation=loud[0])
        c.wait_status(loud[2], "running")
        assert c.operation(loud[3])["status"] == "pending"
        assert c.cancel(scope="discord")["report"]["proven"]
    until(lambda: not processes.marked(m), "everything to be gone")


def test_a_guild_has_a_number_of_slots_of_its_own_and_a_reload_changes_it():
    m = marker()
    with TurnCluster([{"text": "hi"}], workers=1, slots=6) as c:
        plain = c.configuration()

        def allow(slots):
            c.configure(plain + (f'\n[[place]]\nscope = "discord/g1"\nslots = {slots}\n' if slots else ""))
            c.quell("reload", check=0)
        loud = [forever(c, m, f"discord/g1/c{i}") for i in range(2)]
        for id in loud:
            c.wait_status(id, "running")
        allow(1)  # nothing that runs is stopped
        loud += [forever(c, m, f"discord/g1/c{i}") for i in range(2)]
        until(lambda: all("[[place]]" in waiting_for(c, id) for id in loud[2:]), "the others to be told why they wait")
        other = forever(c, m, "discord/g2/c0")
        c.wait_status(other, "running")
        c.cancel(operation=loud[0])
        assert [c.operation(id)["status"] for id in loud[1:]] == ["running", "pending", "pending"]
        c.kill_controller()
        c.start_controller()
        until(lambda: all(w["status"] == "ready" for w in c.api("GET", "/v1/workers").json["workers"]), "the workers to be back")
        c.wait_status(forever(c, m, "discord/g2/c0"), "running")
        until(lambda: all("[[place]]" in waiting_for(c, id) for id in loud[2:]), "them to wait still")
        allow(2)
        c.wait_status(loud[2], "running")
        assert c.operation(loud[3])["status"] == "pending"
        allow(None)
        c.wait_status(loud[3], "running")
        assert c.cancel(scope="discord")["report"]["proven"]
    until(lambda: not processes.marked(m), "everything to be gone")
