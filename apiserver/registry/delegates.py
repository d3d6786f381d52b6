"""Versions of groups that other servers serve: aggregated API servers.

The room `aggregation` creates delegates and keeps them current. `app` forwards requests to them,
and discovery lists them. This module contains only the protocol that these use.
"""

from typing import Any, Protocol

from inkube.schemas import aggregation
from inkube.schemas.objects import Object


class Delegate(Protocol):
    """The server of one version of a group."""

    registration: "aggregation.Registration"
    forwards: bool
    """Whether requests are forwarded; False if this process should serve the version and does
    not."""

    async def __call__(self, request: Any, info: Any, user: Any) -> Any:
        """Respond to a request (of aiohttp) for this version, with any method."""
        ...

    def version_discovery(self) -> Object | None:
        """Return an APIVersionDiscovery, marked Stale if the server did not respond lately."""
        ...

    def openapi_paths(self) -> dict[str, str]:
        """Return the entries of the server's OpenAPI v3 index for this version: path → relative
        URL."""
        ...

    async def openapi_v2(self) -> Object | None:
        """Return the parts of its OpenAPI v2 document for this group, or None
        without a document."""
        ...
