"""Carries out the steps of a user and the disturbances of a plan, on a server in this process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from inkube.apiserver import manifests
from inkube.apiserver.explore.actions import Action
from inkube.apiserver.explore.observations import Lease
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.states import IGNORED, LABEL, State, kind_of, state_of
from inkube.apiserver.registry import keys
from inkube.apiserver.server import APIServer
from inkube.apiserver.testing import ObjectChange
from inkube.controllers.client import ignoring
from inkube.controllers.clock import FakeClock
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage import Change

FAULTS = "world.inkube.dev/v1/faults"


async def act(server: APIServer, action: Action) -> None:
    """Carry out a step of the user. Raises StatusError, ManifestError."""
    client = server.client
    for part in action.parts:
        await act(server, part)
    for obj in action.objects:
        placed = manifests.with_namespace(client, obj)
        await manifests.apply(client, manifests.Manifest(action.text, placed))
    if action.patch is not None:
        target = action.patch
        await client.patch(
            target.resource, target.name, target.namespace, patch=target.patch, type=target.type
        )
    if action.delete is not None:
        with ignoring(404):
            await client.delete(action.delete.resource, action.delete.name, action.delete.namespace)
    if action.advance:
        advance(server, action.advance)
    if action.wait:
        await asyncio.sleep(action.wait)


def advance(server: APIServer, seconds: float) -> None:
    """Move the clock of a server."""
    clock = server.clock
    assert isinstance(clock, FakeClock), "runs have a clock that moves"
    clock.advance(seconds)


async def interfere(server: APIServer, plan: Plan) -> None:
    """Do what somebody else does to the object of a held request."""
    client, (resource, namespace, name) = server.client, plan.target
    with contextlib.suppress(StatusError):  # the object is gone: that is the other race
        if plan.then == "label":
            patch = {"metadata": {"labels": {LABEL: "yes"}}}
            await client.patch(resource, name, namespace, patch=patch)
        elif plan.then == "delete":
            await client.delete(resource, name, namespace)
        elif plan.foreign is not None:
            version, _, plural = resource.rpartition("/")
            served = server.resources.get(split_api_version(version)[0], plural)
            kind = served.definition.names.kind if served is not None else ""
            await client.create({"apiVersion": version, "kind": kind, **plan.foreign})


async def withdraw(server: APIServer, plan: Plan) -> None:
    """Delete the object of somebody else, unless it is gone, or was changed by anybody."""
    with contextlib.suppress(StatusError):
        now = (await server.client.get(*_place(plan)))["metadata"]
        if LABEL in now.get("labels", {}) and len(now["managedFields"]) == 1:
            preconditions = {"uid": now["uid"], "resourceVersion": now["resourceVersion"]}
            options = {"preconditions": preconditions}
            await server.client.delete(*_place(plan), options=options)


def _place(plan: Plan) -> tuple[str, str, str]:
    resource, namespace, name = plan.target
    return resource, name, namespace


def unlabelled(changes: Iterable[ObjectChange], steps: Iterable[Action]) -> list[str]:
    """Return the objects of the user from which a change removed the label of somebody else."""
    own = {_identity(obj) for step in steps for obj in step.applied()}
    labelled: set[str] = set()
    found: dict[str, None] = {}
    for change in changes:
        obj = change.object
        uid = obj["metadata"]["uid"]
        if LABEL in (obj["metadata"].get("labels") or {}):
            labelled.add(uid)
        elif uid in labelled and _identity(obj) in own:
            found[named(obj)] = None
    return list(found)


def _identity(obj: Object) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return obj["kind"], meta.get("namespace") or "default", meta["name"]


def end_watches(server: APIServer, resource: str) -> None:
    """End the open watches of a resource (`deployments.apps`)."""
    plural, _, group = resource.partition(".")
    served = server.resources.get(group, plural)
    if served is not None:
        served.end_watches()


def end_all_watches(server: APIServer) -> None:
    """End the open watches of all clients."""
    for group, resource in {(each.group, each.resource) for each in server.streams.open()}:
        end_watches(server, f"{resource}.{group}")


LEASES = "coordination.k8s.io/v1/leases"
SOMEBODY = "explore"
"""The holder of a lease that a controller has lost."""


async def take_lease(server: APIServer, namespace: str, name: str) -> float | None:
    """Let somebody else hold a lease, for longer than a run. Returns the seconds for which its
    holder may still think that it leads; None if nobody holds it."""
    with contextlib.suppress(StatusError):
        spec = (await server.client.get(LEASES, name, namespace))["spec"]
        if spec.get("holderIdentity"):
            await _hold_lease(server, namespace, name, SOMEBODY, 3600)
            return float(spec.get("leaseDurationSeconds") or 0)
    return None


async def release_lease(server: APIServer, namespace: str, name: str) -> None:
    """Let nobody hold a lease, as client-go does at the end of a leader."""
    await _hold_lease(server, namespace, name, "", 1)


async def _hold_lease(
    server: APIServer, namespace: str, name: str, holder: str, seconds: int
) -> None:
    now = server.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}
    patch = {"spec": {**spec, "acquireTime": now}}
    await server.client.patch(LEASES, name, namespace, patch=patch)


def lease_seconds(server: APIServer, leases: Collection[Lease]) -> float:
    """Return the longest time that a controller waits for one of its leases, after a kill."""
    stored = [entry.value for entry in server.store.list(keys.prefix("leases"))]
    own = [
        each
        for each in stored
        if Lease(each["metadata"]["namespace"], each["metadata"]["name"]) in leases
        and each["spec"].get("holderIdentity") != SOMEBODY
    ]
    seconds = [float(each["spec"].get("leaseDurationSeconds") or 0) for each in own]
    return max(seconds, default=0.0)


@asynccontextmanager
async def faults(server: APIServer, specs: Sequence[Object]) -> AsyncIterator[list[str]]:
    """Create Faults, yield their names, and delete them at the end."""
    client, names = server.client, []
    for spec in specs:
        body = {
            "apiVersion": "world.inkube.dev/v1",
            "kind": "Fault",
            "metadata": {"generateName": "explore-"},
            "spec": spec,
        }
        names.append((await client.create(body))["metadata"]["name"])
    try:
        yield names
    finally:
        for name in names:
            await end_fault(server, name)


async def end_fault(server: APIServer, name: str) -> None:
    """Delete a Fault, if it exists: the requests that it holds continue."""
    with contextlib.suppress(StatusError):  # a held one is deleted already
        await server.client.delete(FAULTS, name)


class Changes:
    """Counts the changes that belong to the end state: no leases, no events."""

    def __init__(self) -> None:
        self.number = 0

    def add(self, changes: Sequence[Change]) -> None:
        """Count committed changes. The store calls this."""
        self.number += sum(kind_of(each.entry.value) not in IGNORED for each in changes)


@contextmanager
def counted(server: APIServer) -> Iterator[Changes]:
    """Count the changes of a server from now on."""
    found = Changes()
    with contextlib.closing(server.store.follow(keys.ROOT, found.add, on_relist=lambda: None)):
        yield found


def objects(server: APIServer) -> list[bytes]:
    """Return all stored objects."""
    return [entry.data for entry in server.store.list(keys.ROOT)]


def state(server: APIServer, ignored: frozenset[str]) -> State:
    """Return the state of all objects."""
    return state_of(objects(server), ignored)


def named(obj: Object) -> str:
    """`PersistentVolumeClaim default/data`."""
    meta = obj["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {where}{meta['name']}"
