"""The processor time of workloads of 500 pods, compared with that of such pods without controllers.

The server runs in this process, so that the processor time of the process is that of the server.
The pods for comparison are created, updated and deleted through the in-process client of a second
server without controllers, some before each phase and some after it: machines differ by a factor of
three, and a busy machine takes twice as long for the same work. Python's garbage collector visits
all objects before each measurement: such a visit takes up to 0.2 s, and would else be part of one
measurement or of the next.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple

from benchmarks import figures, objects
from benchmarks.figures import Figure
from benchmarks.objects import Object
from inkube import APIServer
from inkube.controllers.client import Client

PODS = 500
PLAIN = 200
WITHIN = 300
DEPLOYMENTS = "apps/v1/deployments"
ROLLOVER = f"rollover of {PODS} replicas"
MOST = {ROLLOVER: 6.0}
"""Measured in turns, three times each: 8.1 to 8.2 when each reconcile counted all pods, 3.9 to 4.4
since rosters count them (`controllers/workloads/rosters.py`) and controllers combine changes; 5.3
to 5.5 since kubelets write the end of containers before a pod is deleted, as upstream's do."""


class Took(NamedTuple):
    """Processor seconds of a phase, and of the same number of plain pods around it, and its
    revisions."""

    cpu: float
    plain: float
    revisions: int


def measure() -> Iterable[Figure]:
    found = asyncio.run(_lived())
    for what, took in found.items():
        note = f"{took.cpu:.2f} s, {took.plain:.2f} s; {took.revisions:,} revisions"
        yield Figure(what, took.cpu / took.plain, f"x {PODS} plain pods", MOST.get(what), note=note)
    yield Figure("processor time of a rollover", found[ROLLOVER].cpu, "s", at_most=3)


async def _lived() -> dict[str, Took]:
    """Return the cost of each phase in the life of a Deployment, then of a Job. Each phase ends
    when all controllers are idle."""
    async with APIServer(controllers=False) as quiet, APIServer(workloads=True) as server:
        client, phases = server.client, _Phases(server, quiet.client)
        await server.settled(within=WITHIN)
        await phases.run("first roll-out", client.create(_deployment()))
        await phases.run(ROLLOVER, _patched(client, {"template": _template("web", "2")}))
        await phases.run("scaled to 0", _patched(client, {"replicas": 0}))
        await phases.run(f"scaled to {PODS}", _patched(client, {"replicas": PODS}))
        await phases.run("deleted", client.delete(DEPLOYMENTS, "web", "default"))
        await phases.run(f"Job of {PODS}", client.create(_job()))
        done = await client.get("batch/v1/jobs", "done", "default")
        assert done["status"]["succeeded"] == PODS, "settled was too early"
    return phases.found


class _Phases:
    """The measurements so far."""

    def __init__(self, server: APIServer, quiet: Client) -> None:
        self.found: dict[str, Took] = {}
        self._server = server
        self._quiet = quiet

    async def run(self, what: str, act: Awaitable[Any]) -> None:
        """Run an action, and wait until the controllers are idle."""
        before = await _plain(self._quiet)
        gc.collect()
        revision, began = self._server.store.revision, time.process_time()
        await act
        await self._server.settled(within=WITHIN)
        cpu, revisions = time.process_time() - began, self._server.store.revision - revision
        plain = (before + await _plain(self._quiet)) / 2 * PODS / PLAIN
        self.found[what] = Took(cpu, plain, revisions)


async def _plain(client: Client) -> float:
    """Return the processor seconds of pods that are created, updated and deleted without
    controllers."""
    names = [f"plain-{n}" for n in range(PLAIN)]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    gc.collect()
    began = time.process_time()
    for name in names:
        template = _template("plain", "1")
        labels, spec = template["metadata"]["labels"], template["spec"]
        await client.create(objects.new("v1", "Pod", name, "default", labels, spec=spec))
    for name in names:
        await client.patch(
            "v1/pods", name, "default",
            patch={"status": status}, type="strategic", subresource="status",
        )  # fmt: skip
    for name in names:
        await client.delete("v1/pods", name, "default", options={"gracePeriodSeconds": 0})
    return time.process_time() - began


def _patched(client: Client, spec: Object) -> Awaitable[Any]:
    return client.patch(DEPLOYMENTS, "web", "default", patch={"spec": spec})


def _deployment() -> Object:
    spec = {
        "replicas": PODS,
        "selector": {"matchLabels": {"app": "web"}},
        "template": _template("web", "1"),
    }
    return objects.new("apps/v1", "Deployment", "web", "default", spec=spec)


def _job() -> Object:
    template = _template("done", "1")
    template["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": "0s"}
    template["spec"]["restartPolicy"] = "Never"
    spec = {"completions": PODS, "parallelism": PODS // 10, "template": template}
    return objects.new("batch/v1", "Job", "done", "default", spec=spec)


def _template(app: str, version: str) -> Object:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": f"registry.example/{app}:{version}"}]},
    }


if __name__ == "__main__":
    figures.main(measure)
