"""The namespaces of every cluster, which a start creates."""

import asyncio

from inkube.apiserver.client import InProcessClient
from inkube.apiserver.registry import keys
from inkube.controllers.client import ignoring
from inkube.schemas import status
from inkube.storage import Store

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def create_missing(client: InProcessClient, store: Store) -> None:
    """Create the namespaces that the store lacks. Raises StatusError, StorageError."""
    missing = [name for name in NAMESPACES if store.get(keys.key("namespaces", "", name)) is None]
    if missing:
        await asyncio.gather(*(_ensure(client, name) for name in missing))


async def _ensure(client: InProcessClient, name: str) -> None:
    """Create a namespace, unless another server of the same data was faster."""
    with ignoring(status.Reason.ALREADY_EXISTS):
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
