"""What workloads of 500 pods cost: processor time, beside that of such pods without controllers.

One process, so that its processor time is the server's. The pods beside which it is measured are
created, given a status and deleted through the in-process client of a server where nothing else
runs, before and after: machines differ threefold, and are busy with other things at times.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple

from benchmarks import figures
from benchmarks.figures import Figure
from inkube import APIServer
from inkube.controllers.client import Client

PODS = 500
WITHIN = 300
DEPLOYMENTS = "apps/v1/deployments"
ROLLOVER = f"rollover of {PODS} replicas"
MOST: dict[str, float] = {}


class Took(NamedTuple):
    """Processor seconds, and revisions that were written."""

    cpu: float
    revisions: int


def measure() -> Iterable[Figure]:
    """See the module."""
    before = asyncio.run(_plain())
    found = asyncio.run(_lived())
    plain = min(before, asyncio.run(_plain()))
    for what, took in found.items():
        note = f"{took.cpu:.2f} s for {took.revisions:,} revisions"
        yield Figure(what, took.cpu / plain, f"x {PODS} plain pods", MOST.get(what), note=note)
    note = f"{PODS} plain pods {plain:.2f} s"
    yield Figure("processor time of a rollover", found[ROLLOVER].cpu, "s", at_most=3, note=note)


async def _plain() -> float:
    """Processor seconds of pods that are created, patched and deleted, and of nothing else."""
    async with APIServer(controllers=False) as server:
        client, names = server.client, [f"plain-{n}" for n in range(PODS)]
        began = time.process_time()
        for name in names:
            pod = {"apiVersion": "v1", "kind": "Pod", **_template("plain", "1")}
            pod["metadata"] |= {"name": name, "namespace": "default"}
            await client.create(pod)
        for name in names:
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            await client.patch(
                "v1/pods", name, "default",
                patch={"status": status}, type="strategic", subresource="status",
            )  # fmt: skip
        for name in names:
            await client.delete("v1/pods", name, "default", options={"gracePeriodSeconds": 0})
        return time.process_time() - began


async def _lived() -> dict[str, Took]:
    """Each phase in the life of a Deployment, then a Job; each ends when all have settled."""
    found: dict[str, Took] = {}
    async with APIServer(workloads=True) as server:
        client = server.client
        await server.settled(within=WITHIN)
        await _timed(server, found, "first roll-out", client.create(_deployment()))
        rolled = _patched(client, {"template": _template("web", "2")})
        await _timed(server, found, ROLLOVER, rolled)
        await _timed(server, found, "scaled to 0", _patched(client, {"replicas": 0}))
        await _timed(server, found, f"scaled to {PODS}", _patched(client, {"replicas": PODS}))
        await _timed(server, found, "deleted", client.delete(DEPLOYMENTS, "web", "default"))
        await _timed(server, found, f"Job of {PODS}", client.create(_job()))
        done = await client.get("batch/v1/jobs", "done", "default")
        assert done["status"]["succeeded"] == PODS, "settled was too early"
    return found


async def _timed(server: APIServer, found: dict[str, Took], what: str, act: Awaitable[Any]) -> None:
    revision, began = server.store.revision, time.process_time()
    await act
    await server.settled(within=WITHIN)
    found[what] = Took(time.process_time() - began, server.store.revision - revision)


def _patched(client: Client, spec: dict[str, Any]) -> Awaitable[Any]:
    return client.patch(DEPLOYMENTS, "web", "default", patch={"spec": spec})


def _deployment() -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": {"app": "web"}},
            "template": _template("web", "1"),
        },
    }


def _job() -> dict[str, Any]:
    template = _template("done", "1")
    template["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": "0s"}
    template["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "done", "namespace": "default"},
        "spec": {"completions": PODS, "parallelism": PODS // 10, "template": template},
    }


def _template(app: str, version: str) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": f"registry.example/{app}:{version}"}]},
    }


if __name__ == "__main__":
    figures.main(measure)
