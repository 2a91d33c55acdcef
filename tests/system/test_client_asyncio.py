"""The Python client (clients/python) with the real controller, in asyncio: interrupts, crashes of the controller, many operations at once, races."""
import asyncio
import os
import threading

import pytest

from harness.cluster import Cluster
from harness.python_client import client, cluster, quell, terminal_events  # noqa: F401
from harness.waiting import until


def sockets_of_this_process():
    return sum(os.readlink(f"/proc/self/fd/{fd}").startswith("socket:") for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}"))


def test_a_cancel_reaches_asyncio_and_only_the_body_is_interrupted(cluster, client):
    async def main():
        async def cancel_soon(op):
            return await asyncio.to_thread(client.cancel, operation=op, reason="enough")
        with pytest.raises(quell.Cancelled, match="enough"):
            async with client.operation("sleep", scope="py/aio") as op:
                canceller = asyncio.create_task(cancel_soon(op))
                await asyncio.sleep(60)
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(0)  # the calling task is not cancelled
        return op, await canceller
    op, cancel = asyncio.run(main())
    assert op.status == "cancelled" and cancel["report"]["receipts"]["cooperative"] == 1
    assert cluster.operation(op.id)["stop"]["reason"] == "enough"


def test_an_asyncio_body_that_cleans_up_is_stopped_only_when_it_has(cluster, client):
    async def main():
        cleaned = []
        with pytest.raises(quell.Cancelled):
            async with client.operation("careful", scope="py/careful", grace_ms=20000) as op:
                asyncio.get_running_loop().run_in_executor(None, lambda: client.cancel(operation=op, wait="fenced"))
                try:
                    await asyncio.sleep(60)
                finally:
                    cleaned.append(await asyncio.to_thread(lambda: cluster.operation(op.id)["status"]))
        return op, cleaned
    op, cleaned = asyncio.run(main())
    assert cleaned == ["cancelling"] and cluster.operation(op.id)["status"] == "cancelled"


def test_a_task_that_its_own_program_cancels_takes_the_operation_and_its_children_along(cluster, client):
    async def main():
        begun, ids = asyncio.Event(), []

        async def work():
            async with client.operation("outer", scope="py/own") as outer:
                async with client.operation("inner") as inner:
                    ids.extend([outer.id, inner.id])
                    begun.set()
                    await asyncio.sleep(60)
        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ids
    for id in asyncio.run(main()):
        assert cluster.wait_status(id, "cancelled")["stop"]["receipt"] == "cooperative"


def test_an_asyncio_timeout_around_an_operation_still_is_a_timeout(cluster, client):
    async def main():
        async with asyncio.timeout(60) as limit:
            async with client.operation("slow", scope="py/timeout") as op:
                ids.append(op.id)
                limit.reschedule(asyncio.get_running_loop().time() + 0.2)
                await asyncio.sleep(60)
    ids = []
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert cluster.wait_status(ids[0], "cancelled")


def test_a_controller_that_is_killed_and_comes_back_keeps_the_operations_and_their_cancels():
    with Cluster(workers=0) as c, quell.Client(c.url, c.token, lease_ms=20000) as client:
        async def main():
            outcomes = []

            async def work(i):
                try:
                    async with client.operation("long", scope=f"py/crash/{i}") as op:
                        begun.append(op)
                        await everybody.wait()
                        if i < 3:
                            await ended.wait()
                            op.result = i
                        else:
                            await asyncio.sleep(120)
                    outcomes.append((i, "returned"))
                except quell.Cancelled as e:
                    outcomes.append((i, e.reason))
            begun, ended, everybody = [], asyncio.Event(), asyncio.Barrier(7)
            tasks = [asyncio.create_task(work(i)) for i in range(6)]
            await asyncio.wait_for(everybody.wait(), 60)
            await asyncio.to_thread(c.kill_controller)
            ended.set()  # three end while the controller is down: their reports wait for it
            await asyncio.sleep(0)
            await asyncio.to_thread(c.start_controller)
            for i in range(3, 6):
                await asyncio.to_thread(client.cancel, scope=f"py/crash/{i}", reason="after the crash")
            await asyncio.gather(*tasks)
            return begun, outcomes
        # start_controller's process dies with the thread that started it: so the loop runs in its own thread, and this one starts the programs.
        begun, outcomes = in_main_thread(c, main)
        assert sorted(outcomes) == [(0, "returned"), (1, "returned"), (2, "returned")] + [(i, "after the crash") for i in (3, 4, 5)]
        for op in begun:
            assert c.operation(op.id)["status"] == op.status
        assert sorted(o.status for o in begun) == ["cancelled"] * 3 + ["completed"] * 3


def in_main_thread(c, main):
    """Runs the coroutine in a thread; its kill_controller and start_controller calls run here."""
    import queue
    asked, real = queue.Queue(), {name: getattr(c, name) for name in ("kill_controller", "start_controller")}

    def ask(name):
        def call():
            done = threading.Event()
            asked.put((name, done))
            assert done.wait(120)
        return call
    for name in real:
        setattr(c, name, ask(name))
    out = []
    thread = threading.Thread(target=lambda: (out.append(asyncio.run(main())), asked.put(None)), daemon=True)
    thread.start()
    while (order := asked.get(timeout=120)) is not None:
        real[order[0]]()
        order[1].set()
    thread.join(60)
    for name in real:
        delattr(c, name)
    return out[0]


def test_200_operations_share_one_signal_stream(cluster, client):
    async def main():
        everybody = asyncio.Barrier(201)

        async def work(i):
            try:
                async with client.operation("many", scope=f"py/many/{i % 10}") as op:
                    await everybody.wait()
                    await asyncio.sleep(120)
            except quell.Cancelled:
                return op
        before = sockets_of_this_process()
        tasks = [asyncio.create_task(work(i)) for i in range(200)]
        await asyncio.wait_for(everybody.wait(), 60)
        used = sockets_of_this_process() - before
        done = await asyncio.to_thread(client.cancel, scope="py/many", grace_ms=60000)
        return used, done, await asyncio.gather(*tasks)
    used, done, ended = asyncio.run(main())
    assert used <= 16 + 2 + 1, "one connection for each thread that asks, one for the signals, one for the heartbeat"
    assert done["status"] == "settled" and done["report"]["operations"] == done["report"]["receipts"]["cooperative"] == 200
    assert all(op.status == "cancelled" for op in ended)


def test_a_cancel_that_races_an_end_leaves_one_terminal_status_that_both_sides_agree_on(cluster, client):
    async def main():
        async def work(i):
            cancelled = False
            try:
                async with client.operation("race", scope=f"py/race/{i}", grace_ms=60000) as op:
                    if i % 10:
                        asyncio.get_running_loop().run_in_executor(None, lambda: client.cancel(operation=op, wait="fenced"))
                    # The work: from an end before the cancel, over an immediate one, to an endless sleep.
                    await asyncio.sleep(60 if i % 10 == 9 else 0.004 * max(i % 10 - 1, 0))
            except quell.Cancelled:
                cancelled = True
            if i % 10 == 0:
                await asyncio.to_thread(client.cancel, operation=op, wait="fenced")
            return op, cancelled
        return [end for first in range(0, 100, 10) for end in await asyncio.gather(*map(work, range(first, first + 10)))]
    ended = asyncio.run(main())
    until(lambda: not list(client.cancels(status="open")), "all cancels to settle")
    for op, cancelled in ended:
        stored = cluster.operation(op.id)
        assert stored["status"] == op.status == ("cancelled" if cancelled else "completed"), (stored, cancelled)
        assert len(terminal_events(cluster, op.id)) == 1
    assert {c for _, c in ended} == {True, False}, "both kinds of end were met"
