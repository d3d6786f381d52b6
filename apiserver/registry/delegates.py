"""Versions of groups that somebody else answers for: aggregated API servers.

The room `aggregation` makes them and keeps them current; `app` passes requests on to them, and
discovery tells of them. Here is only what these see of one.
"""

from typing import Any, Protocol

from inkube.schemas import aggregation
from inkube.schemas.objects import Object


class Delegate(Protocol):
    """Who answers for one version of a group."""

    registration: "aggregation.Registration"
    answers: bool
    """Whether requests are passed on; False for what this process was to serve and does not."""

    async def __call__(self, request: Any, info: Any, user: Any) -> Any:
        """Answer a request (of aiohttp) in this version, whatever its method."""
        ...

    def discovered(self) -> Object | None:
        """An APIVersionDiscovery, Stale where the server did not answer lately."""
        ...

    def openapi_paths(self) -> dict[str, str]:
        """What the server's index of OpenAPI v3 says of this version: path → relative URL."""
        ...

    async def openapi_v2(self) -> Object | None:
        """Its OpenAPI v2 as far as it is about this group; None where there is none."""
        ...
