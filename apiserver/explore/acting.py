"""Carries out the steps of a user and the disturbances of a plan, on a server in this process."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from inkube.apiserver import manifests
from inkube.apiserver.explore.actions import Action, Target
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.states import LABEL, State, state_of
from inkube.apiserver.registry import keys
from inkube.apiserver.server import APIServer
from inkube.apiserver.testing import ObjectChange
from inkube.controllers.clock import FakeClock
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

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
        await _delete(server, action.delete)
    if action.advance:
        advance(server, action.advance)


async def _delete(server: APIServer, target: Target) -> None:
    try:
        await server.client.delete(target.resource, target.name, target.namespace)
    except StatusError as error:
        if error.reason != Reason.NOT_FOUND:
            raise


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
