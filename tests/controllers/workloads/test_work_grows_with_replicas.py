"""The work grows linearly with the replicas, measured in writes and reconciles, not in seconds."""

import asyncio

import workloads as w
from patience import SECONDS

from inkube import APIServer

SIZES = (20, 120)
PER_POD = 8
"""The revisions per pod: created, bound, Scheduled, running, marked, Failed, without grace,
deleted."""


async def rolled_over(replicas):
    """Return the number of revisions and reconciles of one rollover, and the writes after it
    settled."""
    async with APIServer(workloads=True) as server:
        await server.client.create(w.workload("Deployment", replicas=replicas))
        await server.settled(SECONDS)
        revision, reconciles = server.store.revision, server.manager.reconcile_count()
        patch = {"spec": {"template": w.template("i:2")}}
        await server.client.patch(w.DEPLOYMENTS, "web", "default", patch=patch)
        await server.settled(SECONDS)
        found = await server.client.get(w.DEPLOYMENTS, "web", "default")
        assert found["status"]["updatedReplicas"] == found["status"]["replicas"] == replicas
        done = server.store.revision - revision, server.manager.reconcile_count() - reconciles
        for _ in range(200):
            await asyncio.sleep(0)
        await server.settled(SECONDS)
        return (*done, server.store.revision - revision - done[0])


async def test_a_rollover_writes_and_looks_in_proportion_to_its_replicas():
    few, many = [await rolled_over(replicas) for replicas in SIZES]
    growth = SIZES[1] / SIZES[0]
    assert many[0] <= growth * few[0], "revisions"
    assert many[1] <= growth * few[1], "reconciles"
    assert many[0] <= (PER_POD + 1) * SIZES[1], "what sums up writes once for many pods"
    assert (few[2], many[2]) == (0, 0), "settled means that nothing more is written"
