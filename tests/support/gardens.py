"""Small controllers for the kind Boat, as coroutines: what an exploration has to tell apart."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from aiohttp import ClientSession

from inkube.apiserver.explore.controllers import Coroutine

BOATS = "/apis/example.com/v1/namespaces/default/boats"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
RETRY_SECONDS = 0.05
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Boat", "plural": "boats", "singular": "boat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"sails": {"type": "integer", "default": 1}},
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}
BOAT: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "anna", "namespace": "default"},
    "spec": {"sails": 2},
}


class Refused(Exception):
    """An error of the server, with its code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Api:
    """What the controllers send: one method for each verb. Raises Refused, and OSError."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; a PATCH is a merge patch."""
        headers = MERGE if method == "PATCH" else None
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            if answer.status >= 400:
                raise Refused(answer.status)
            return await answer.json()

    async def find(self, path: str) -> Any:
        """Return an object, or None."""
        try:
            return await self.ask("GET", path)
        except Refused as error:
            if error.code != 404:
                raise
            return None

    async def changes(
        self, path: str, on_list: "OnList | None" = None, *, resyncs: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """Yield every object of a collection, then each change of one, until the watch ends."""
        found = await self.ask("GET", path)
        if on_list is not None:
            await on_list(self, found["items"])
        for obj in found["items"]:
            yield "ADDED", obj
        version = found["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version}
        if resyncs:  # list again after a second
            query["timeoutSeconds"] = "1"
        async with self._session.get(path, params=query) as answer:
            if answer.status >= 400:
                raise Refused(answer.status)
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"], event["object"]


Reconcile = Callable[[Api, str, Any], Awaitable[None]]
"""Handles an event (ADDED, MODIFIED, DELETED) of a boat. Errors make the controller list again."""
OnList = Callable[[Api, Any], Awaitable[None]]
"""Handles all boats of a list, before their events."""
ON_LIST: dict[Reconcile, OnList] = {}
"""What some of the controllers also do with each list."""
RESYNCED: set[Reconcile] = set()
"""The controllers that look at all boats again each second: another client can change what they do
not watch."""
LED: dict[Reconcile, bool] = {}
"""The controllers that need a lease, and whether they stop working without it."""


def controller(reconcile: Reconcile) -> Coroutine:
    """Return a controller that calls `reconcile` for each boat and each change of one."""

    async def loop(api: Api) -> None:
        while True:
            with contextlib.suppress(Refused, OSError, ValueError):
                on_list, resyncs = ON_LIST.get(reconcile), reconcile in RESYNCED
                async for kind, boat in api.changes(BOATS, on_list, resyncs=resyncs):
                    await reconcile(api, kind, boat)
            await asyncio.sleep(RETRY_SECONDS)

    async def work(kubeconfig: Path) -> None:
        async with ClientSession(server_of(kubeconfig), read_bufsize=2**20) as session:
            api = Api(session)
            if reconcile in LED:
                await _led(api, loop, stops=LED[reconcile])
            else:
                await loop(api)

    work.__qualname__ = getattr(reconcile, "__name__", "reconcile")
    return Coroutine(work)


LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE_SECONDS = 1


async def _led(api: Api, loop: Callable[[Api], Awaitable[None]], *, stops: bool) -> None:
    """Work while this is the leader, or, if it does not stop, from the first time on."""
    identity, task = str(uuid.uuid4()), None
    while True:
        is_leader = False
        with contextlib.suppress(Refused, OSError):
            is_leader = await _renew(api, identity)
        if is_leader and task is None:
            task = asyncio.ensure_future(loop(api))
        elif not is_leader and task is not None and stops:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            task = None
        await asyncio.sleep(LEASE_SECONDS / 5)


async def _renew(api: Api, identity: str) -> bool:
    """Take the lease, or keep it. Returns whether this is the leader."""
    now = datetime.now(UTC)
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": now.isoformat().replace("+00:00", "Z"),
    }
    lease = await api.find(f"{LEASES}/gardener")
    if lease is None:
        await api.ask("POST", LEASES, {"metadata": {"name": "gardener"}, "spec": spec})
        return True
    held = lease["spec"]
    if held["holderIdentity"] not in (identity, ""):
        until = datetime.fromisoformat(held["renewTime"])
        if now < until + timedelta(seconds=held["leaseDurationSeconds"]):
            return False
    await api.ask("PUT", f"{LEASES}/gardener", {**lease, "spec": {**held, **spec}})
    return True


def server_of(kubeconfig: Path) -> str:
    """Return the address in a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    return str(config["clusters"][0]["cluster"]["server"])


def hold_of(boat: Any) -> Any:
    """Return the ConfigMap that belongs to a boat."""
    meta = boat["metadata"]
    owner = {
        "apiVersion": "example.com/v1", "kind": "Boat", "name": meta["name"], "uid": meta["uid"],
    }  # fmt: skip
    return {
        "metadata": {"name": f"{meta['name']}-hold", "ownerReferences": [owner]},
        "data": {"sails": str(boat["spec"]["sails"])},
    }


def is_gone(kind: str, boat: Any) -> bool:
    """Return whether a boat is deleted, or about to be."""
    return kind == "DELETED" or "deletionTimestamp" in boat["metadata"]


def phase_of(boat: Any) -> str:
    """Return the phase in the status of a boat, or ""."""
    return str(boat.get("status", {}).get("phase", ""))


async def set_status(api: Api, boat: Any, status: Any) -> None:
    """Change members of the status of a boat."""
    await api.ask("PATCH", f"{BOATS}/{boat['metadata']['name']}/status", {"status": status})


async def set_phase(api: Api, boat: Any) -> None:
    """Note that a boat is done."""
    await set_status(api, boat, {"phase": "Afloat"})


async def right(api: Api, kind: str, boat: Any) -> None:
    """Level-based: compares what should be with what is, at each event."""
    if is_gone(kind, boat):
        return
    wanted = hold_of(boat)
    path = f"{MAPS}/{wanted['metadata']['name']}"
    found = await api.find(path)
    if found is None:
        await api.ask("POST", MAPS, wanted)
    elif found["metadata"].get("ownerReferences", [{}])[0].get("uid") != boat["metadata"]["uid"]:
        await api.ask("DELETE", path)
        await api.ask("POST", MAPS, wanted)
    elif found["data"] != wanted["data"]:
        await api.ask("PATCH", path, {"data": wanted["data"]})
    if phase_of(boat) != "Afloat":
        await set_phase(api, boat)


async def creates_once(api: Api, kind: str, boat: Any) -> None:
    """Takes an existing ConfigMap for an error, so a crash between its two writes is for good."""
    if is_gone(kind, boat):
        return
    if phase_of(boat) != "Afloat":
        await api.ask("POST", MAPS, hold_of(boat))
        await set_phase(api, boat)


async def remembers_in_status(api: Api, kind: str, boat: Any) -> None:
    """Trusts its own status instead of the ConfigMap, which another client can delete."""
    if is_gone(kind, boat) or phase_of(boat) == "Afloat":
        return
    await set_phase(api, boat)
    if await api.find(f"{MAPS}/{hold_of(boat)['metadata']['name']}") is None:
        await api.ask("POST", MAPS, hold_of(boat))


async def only_creates(api: Api, kind: str, boat: Any) -> None:
    """Applies the spec at creation only: a change of the spec while it is down is lost."""
    if is_gone(kind, boat):
        return
    found = await api.find(f"{MAPS}/{hold_of(boat)['metadata']['name']}")
    if found is None:
        await api.ask("POST", MAPS, hold_of(boat))
    elif kind == "MODIFIED" and phase_of(boat) == "Afloat":
        await api.ask(
            "PATCH", f"{MAPS}/{found['metadata']['name']}", {"data": hold_of(boat)["data"]}
        )
    if phase_of(boat) != "Afloat":
        await set_phase(api, boat)


async def indexes_by_name(api: Api, kind: str, boat: Any) -> None:
    """Knows objects by name alone: it takes the ConfigMap of an earlier boat for that of a new one
    if it was down while the boat was deleted and created again."""
    wanted = hold_of(boat)
    [owner] = wanted["metadata"].pop("ownerReferences")
    wanted["data"]["boat"] = owner["uid"]
    path = f"{MAPS}/{wanted['metadata']['name']}"
    if kind == "DELETED":
        if await api.find(path) is not None:
            await api.ask("DELETE", path)
    elif await api.find(path) is None:
        await api.ask("POST", MAPS, wanted)


async def cleans_on_event(api: Api, kind: str, boat: Any) -> None:
    """Deletes a ConfigMap without owner at the event of a deletion: one that it does not see
    leaves the ConfigMap behind."""
    wanted = hold_of(boat)
    del wanted["metadata"]["ownerReferences"]
    path = f"{MAPS}/{wanted['metadata']['name']}"
    if kind == "DELETED":
        if await api.find(path) is not None:
            await api.ask("DELETE", path)
    elif await api.find(path) is None:
        await api.ask("POST", MAPS, wanted)


FINALIZER = "example.com/hold"


async def removes_the_finalizer_first(api: Api, kind: str, boat: Any) -> None:
    """Removes its finalizer before it cleans up: a crash in between leaves the ConfigMap."""
    await _with_finalizer(api, kind, boat, cleans_first=False)


async def cleans_before_the_finalizer(api: Api, kind: str, boat: Any) -> None:
    """The right order of the same."""
    await _with_finalizer(api, kind, boat, cleans_first=True)


async def _with_finalizer(api: Api, kind: str, boat: Any, *, cleans_first: bool) -> None:
    wanted = hold_of(boat)
    del wanted["metadata"]["ownerReferences"]
    path, place = f"{MAPS}/{wanted['metadata']['name']}", f"{BOATS}/{boat['metadata']['name']}"

    async def clean() -> None:
        if await api.find(path) is not None:
            await api.ask("DELETE", path)

    async def release() -> None:
        await api.ask("PATCH", place, {"metadata": {"finalizers": None}})

    if kind == "DELETED":
        return
    finalizers = boat["metadata"].get("finalizers", [])
    if "deletionTimestamp" in boat["metadata"]:
        if FINALIZER in finalizers:
            for step in (clean, release) if cleans_first else (release, clean):
                await step()
        return
    if FINALIZER not in finalizers:
        await api.ask("PATCH", place, {"metadata": {"finalizers": [FINALIZER]}})
    if await api.find(path) is None:
        await api.ask("POST", MAPS, wanted)


async def writes_without_change(api: Api, kind: str, boat: Any) -> None:
    """Writes its status at each event, with a value that is never the same: a hot loop as soon as
    anything wakes it a second time."""
    if is_gone(kind, boat):
        return
    status = boat.get("status", {})
    if status.get("sails") != boat["spec"]["sails"] or status.get("looks", 0) > 1:
        await set_status(
            api, boat, {"sails": boat["spec"]["sails"], "looks": status.get("looks", 0) + 1}
        )


async def gives_up(api: Api, kind: str, boat: Any) -> None:
    """Ignores every error of a write, and never tries again."""
    if is_gone(kind, boat):
        return
    with contextlib.suppress(Refused, OSError):
        if await api.find(f"{MAPS}/{hold_of(boat)['metadata']['name']}") is None:
            await api.ask("POST", MAPS, hold_of(boat))
        if phase_of(boat) != "Afloat":
            await set_phase(api, boat)


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def claim_of(boat: Any) -> Any:
    """Return the claim that belongs to a boat."""
    size = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": f"{boat['metadata']['name']}-claim"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": size},
    }


async def collects_by_a_list(api: Api, kind: str, boat: Any) -> None:
    """Deletes the claims of boats that a list does not show: one that is too old costs a boat its
    claim, and the data in it."""
    if is_gone(kind, boat):
        if kind == "DELETED":
            await _collect(api, (await api.ask("GET", BOATS))["items"])
    elif await api.find(f"{CLAIMS}/{claim_of(boat)['metadata']['name']}") is None:
        await api.ask("POST", CLAIMS, claim_of(boat))


async def _collect(api: Api, boats: Any) -> None:
    kept = {claim_of(boat)["metadata"]["name"] for boat in boats}
    for claim in (await api.ask("GET", CLAIMS))["items"]:
        name = claim["metadata"]["name"]
        if name not in kept:
            await api.ask("DELETE", f"{CLAIMS}/{name}")


ON_LIST[collects_by_a_list] = _collect


async def retries_at_once(api: Api, kind: str, boat: Any) -> None:
    """Repeats a failed write without a pause."""
    if is_gone(kind, boat):
        return
    while await api.find(f"{MAPS}/{hold_of(boat)['metadata']['name']}") is None:
        with contextlib.suppress(Refused):
            await api.ask("POST", MAPS, hold_of(boat))
    if phase_of(boat) != "Afloat":
        await set_phase(api, boat)


async def leads_for_good(api: Api, kind: str, boat: Any) -> None:
    """Goes on with its work after it has lost its lease."""
    await right(api, kind, boat)


async def leads(api: Api, kind: str, boat: Any) -> None:
    """Stops its work without the lease."""
    await right(api, kind, boat)


RESYNCED.add(cleans_before_the_finalizer)
LED |= {leads_for_good: False, leads: True}
