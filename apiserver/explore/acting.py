"""Carries out the steps of a user and the disturbances of a plan, on a server in this process."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from inkube.apiserver import manifests
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.scenarios import Action, Target
from inkube.apiserver.explore.states import LABEL, State, state_of
from inkube.apiserver.registry import keys
from inkube.apiserver.server import APIServer
from inkube.controllers.clock import FakeClock
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

FAULTS = "world.inkube.dev/v1/faults"


async def act(server: APIServer, action: Action) -> None:
    """Carry out a step of the user. Raises StatusError."""
    client = server.client
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


def state(server: APIServer, ignored: frozenset[str]) -> State:
    """Return the state of all objects."""
    return state_of((entry.data for entry in server.store.list(keys.ROOT)), ignored)


def named(obj: Object) -> str:
    """`PersistentVolumeClaim default/data`."""
    meta = obj["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {where}{meta['name']}"
