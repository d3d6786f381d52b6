"""The APIServices of handlers in this process (`Options.aggregated`), which a start creates."""

from collections.abc import Mapping
from typing import Any

from inkube.apiserver.client import InProcessClient
from inkube.controllers.client import ignoring
from inkube.schemas import status
from inkube.schemas.aggregation import MANAGED, registrations

_RESOURCE = "apiregistration.k8s.io/v1/apiservices"
_VERSION_PRIORITY = 100


def check(handlers: Mapping[str, Any]) -> None:
    """Check that the names are names of APIServices. Raises ValueError."""
    for name in handlers:
        version, _, group = name.partition(".")
        if not version or not group:
            raise ValueError(f"{name!r} is not the name of an APIService; write VERSION.GROUP")


async def register(client: InProcessClient, handlers: Mapping[str, Any]) -> None:
    """Create the missing APIService of each handler, and remove those of earlier handlers."""
    for old in (await client.list(_RESOURCE)).items:
        meta = old["metadata"]
        if (meta.get("labels") or {}).get(MANAGED) == "true" and meta["name"] not in handlers:
            await client.delete(_RESOURCE, meta["name"])
    for name in handlers:
        version, _, group = name.partition(".")
        body = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {MANAGED: "true"}},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": registrations.CUSTOM_PRIORITY,
                "versionPriority": _VERSION_PRIORITY,
            },
        }
        with ignoring(status.Reason.ALREADY_EXISTS):
            await client.create(body)
