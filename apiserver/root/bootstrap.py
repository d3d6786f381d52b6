"""What a new server starts with: the built-in kinds and the namespaces every cluster has."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.apiserver.root.client import InProcessClient
from inkube.schemas import builtin, status
from inkube.schemas.builtin import behaviours, served
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Strategy
from inkube.storage.store import BaseStore

MakeStrategy = Callable[[], Strategy]
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def install_builtin(
    resources: Resources, own: Mapping[tuple[str, str], MakeStrategy] | None = None
) -> None:
    """Serve every built-in kind. The events of both groups are the same objects.

    `own` makes what differs from server to server, by group and plural.
    """
    made: dict[tuple[str, str], Resource] = {}
    for definition in builtin.definitions():
        name = definition.group, definition.names.plural
        make = (own or {}).get(name) or partial(behaviours.of, *name)
        stored_as = made["", "events"] if name == ("events.k8s.io", "events") else None
        made[name] = Resource(definition, make, serve=served.of, stored_as=stored_as)
    resources.install(*made.values())


def services_of(store: BaseStore, cidr: str) -> Strategy:
    """How services behave whose addresses are from a range. Raises ValueError."""

    def taken() -> set[str]:
        found = (entry.value["spec"] for entry in store.list(keys.prefix("services")))
        return {spec.get("clusterIP", "") for spec in found}

    kind = behaviours.of("", "services")
    assert isinstance(kind, behaviours.services.Services), "services behave as such"
    return kind.placed(behaviours.services.ServiceRange(cidr), taken)


async def first_objects(client: InProcessClient) -> None:
    """Make the namespaces that are missing."""
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    await asyncio.gather(*(_ensure(client, body) for body in namespaces))


async def _ensure(client: InProcessClient, body: Object) -> None:
    try:
        await client.create(body)
    except status.StatusError as error:
        if error.reason != status.Reason.ALREADY_EXISTS:
            raise
