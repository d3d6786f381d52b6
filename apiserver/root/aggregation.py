"""Aggregated API servers: the part that the first APIService for another server creates.

It loads the room `aggregation` and the controller of availability. Each handler of this process
gets an APIService.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from inkube.apiserver import aggregation
from inkube.apiserver.auth import Identity
from inkube.apiserver.registry import Resources, ServiceAddresses
from inkube.controllers.client import Client
from inkube.controllers.core import apiservices
from inkube.controllers.manager import Manager
from inkube.schemas import status
from inkube.schemas.aggregation import MANAGED, priorities
from inkube.storage import Store

_VERSION_PRIORITY = 100


def new_aggregator(
    store: Store,
    services: ServiceAddresses,
    resources: Resources,
    manager: Manager,
    *,
    identity: Callable[[], Identity],
    publish: Callable[[], Awaitable[None]],
) -> "aggregation.Aggregator":
    """Return an aggregator and start to watch its servers' availability. The caller starts and
    closes it."""
    aggregator = aggregation.Aggregator(store, services, resources, identity, publish)
    apiservices.add(manager, aggregator)
    return aggregator


def check(handlers: Mapping[str, Any]) -> None:
    """Check that the names are names of APIServices. Raises ValueError."""
    for name in handlers:
        version, _, group = name.partition(".")
        if not version or not group:
            raise ValueError(f"{name!r} is not the name of an APIService; write VERSION.GROUP")


async def register(client: Client, handlers: Mapping[str, Any]) -> None:
    """Create the missing APIService of each handler, and remove those of earlier handlers."""
    for old in (await client.list(apiservices.RESOURCE)).items:
        meta = old["metadata"]
        if (meta.get("labels") or {}).get(MANAGED) == "true" and meta["name"] not in handlers:
            await client.delete(apiservices.RESOURCE, meta["name"])
    for name in handlers:
        version, _, group = name.partition(".")
        body = {
            "apiVersion": apiservices.RESOURCE.api_version,
            "kind": "APIService",
            "metadata": {"name": name, "labels": {MANAGED: "true"}},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": priorities.CUSTOM,
                "versionPriority": _VERSION_PRIORITY,
            },
        }
        try:
            await client.create(body)
        except status.StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise
