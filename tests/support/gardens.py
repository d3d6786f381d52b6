"""Small controllers for the kind Boat, as coroutines: what an exploration has to tell apart."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
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

    async def changes(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """Yield every object of a collection, then each change of one, until the watch ends."""
        found = await self.ask("GET", path)
        for obj in found["items"]:
            yield "ADDED", obj
        version = found["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version}
        async with self._session.get(path, params=query) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"], event["object"]


Reconcile = Callable[[Api, str, Any], Awaitable[None]]
"""Handles an event (ADDED, MODIFIED, DELETED) of a boat. Errors make the controller list again."""


def controller(reconcile: Reconcile) -> Coroutine:
    """A controller that calls `reconcile` for each boat and each change of one."""

    async def work(kubeconfig: Path) -> None:
        async with ClientSession(_server(kubeconfig), read_bufsize=2**20) as session:
            api = Api(session)
            while True:
                with contextlib.suppress(Refused, OSError, ValueError):
                    async for kind, boat in api.changes(BOATS):
                        await reconcile(api, kind, boat)
                await asyncio.sleep(RETRY_SECONDS)

    work.__qualname__ = getattr(reconcile, "__name__", "reconcile")
    return Coroutine(work)


def _server(kubeconfig: Path) -> str:
    config = yaml.safe_load(kubeconfig.read_text())
    return str(config["clusters"][0]["cluster"]["server"])


def hold_of(boat: Any) -> Any:
    """The ConfigMap that belongs to a boat."""
    meta = boat["metadata"]
    owner = {
        "apiVersion": "example.com/v1", "kind": "Boat", "name": meta["name"], "uid": meta["uid"],
    }  # fmt: skip
    return {
        "metadata": {"name": f"{meta['name']}-hold", "ownerReferences": [owner]},
        "data": {"sails": str(boat["spec"]["sails"])},
    }


async def right(api: Api, kind: str, boat: Any) -> None:
    """Level-based: compares what should be with what is, at each event."""
    if kind == "DELETED" or "deletionTimestamp" in boat["metadata"]:
        return
    wanted = hold_of(boat)
    path = f"{MAPS}/{wanted['metadata']['name']}"
    found = await api.find(path)
    if found is None:
        await api.ask("POST", MAPS, wanted)
    elif found["metadata"]["ownerReferences"][0]["uid"] != boat["metadata"]["uid"]:
        await api.ask("DELETE", path)
        await api.ask("POST", MAPS, wanted)
    elif found["data"] != wanted["data"]:
        await api.ask("PATCH", path, {"data": wanted["data"]})
    if boat.get("status", {}).get("phase") != "Afloat":
        place = f"{BOATS}/{boat['metadata']['name']}/status"
        await api.ask("PATCH", place, {"status": {"phase": "Afloat"}})


async def creates_once(api: Api, kind: str, boat: Any) -> None:
    """Takes an existing ConfigMap for an error, so a crash between its two writes is for good."""
    if kind == "DELETED" or "deletionTimestamp" in boat["metadata"]:
        return
    if boat.get("status", {}).get("phase") != "Afloat":
        await api.ask("POST", MAPS, hold_of(boat))
        place = f"{BOATS}/{boat['metadata']['name']}/status"
        await api.ask("PATCH", place, {"status": {"phase": "Afloat"}})
