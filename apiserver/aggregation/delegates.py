"""One version of a group that another server serves: a `registry.delegates.Delegate`.

Its discovery documents are fetched when it becomes available, and kept: the version of an
unavailable server is still listed, as stale. OpenAPI v2 is fetched on demand. Follows
kube-aggregator/pkg/apiserver/handler_discovery.go and pkg/controllers/openapi.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from inkube.apiserver import auth, http
from inkube.apiserver.aggregation.upstreams import Upstream
from inkube.apiserver.http import RequestInfo, responses
from inkube.apiserver.registry import User
from inkube.apiserver.streaming import UnreachableError, proxying
from inkube.schemas.aggregation import Registration, discovery
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object
from inkube.schemas.openapi import aggregated

CHECK_SECONDS = 5.0
"""Time limit of an availability check, in seconds."""
DISCOVERY_SECONDS = 5.0
"""Time limit of a request for discovery, in seconds (discoveryManager:
fetchFreshDiscoveryForService)."""
DOCUMENT_SECONDS = 30.0
"""Time limit of a request for OpenAPI, in seconds."""
MAX_DOCUMENT = 32 * 1024 * 1024
"""The largest document of another server, in bytes."""
AGGREGATOR = User("system:kube-aggregator", groups=("system:masters",))


class Local:
    """An APIService without a service: this server serves the group, so no requests are
    forwarded."""

    forwards = False

    def __init__(self, registration: Registration) -> None:
        self.registration = registration

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Never called, because `forwards` is false."""
        return responses.plain_not_found()

    def version_discovery(self) -> Object | None:
        """Return None, because discovery lists the group anyway."""
        return None

    def openapi_paths(self) -> dict[str, str]:
        """Return no paths, because the server's own documents contain them."""
        return {}

    async def openapi_v2(self) -> Object | None:
        """Return None, because the server's own document contains the group."""
        return None


class Remote:
    """One version of a group that another server serves."""

    forwards = True

    def __init__(
        self,
        registration: Registration,
        upstream: Upstream,
        trouble: Callable[[], None],
        *,
        is_local: bool = False,
    ) -> None:
        self.registration = registration
        self.upstream = upstream
        self._trouble = trouble
        self._is_local = is_local
        self._version_discovery: Object = {"version": registration.version}
        self._freshness = discovery.STALE
        self._paths: dict[str, str] = {}
        self._openapi: Object | None = None
        self._etag = ""

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Forward a request. Returns 503 if the server is not known to be available."""
        if not self.registration.available and not self._is_local:
            return proxying.plain_text("service unavailable", 503)
        if not proxying.is_canonical(info.path):
            return responses.plain_not_found()
        changes = proxying.Changes(
            auth.frontproxy.is_identity_header, auth.frontproxy.headers(user)
        )
        return await proxying.forward(
            self.upstream, request, info, changes, unreachable=self._unavailable
        )

    def _unavailable(self, message: str) -> web.StreamResponse:
        self._trouble()
        return proxying.plain_text(message, 503)

    def version_discovery(self) -> Object | None:
        return {**self._version_discovery, "freshness": self._freshness}

    def openapi_paths(self) -> dict[str, str]:
        return self._paths

    async def openapi_v2(self) -> Object | None:
        """Return the server's OpenAPI v2 document, or the last fetched one if it does not
        respond."""
        headers = {"Accept": "application/json"}
        if self._etag:
            headers["If-None-Match"] = self._etag
        with contextlib.suppress(*_FAILURES):
            code, found, answered = await self._fetch("/openapi/v2", headers)
            if code == 200 and isinstance(found, dict):
                self._openapi = aggregated.of_group(found, self._prefix)
                self._etag = answered.get("ETag", "")
        return self._openapi

    async def check(self) -> str:
        """Return why the server does not respond to discovery, with Go's text, or "" if it
        responds."""
        try:
            base = self.upstream.base()
        except UnreachableError as error:
            return str(error)
        url = base + self._prefix
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                headers = auth.frontproxy.headers(AGGREGATOR)
                asked = self.upstream.request(
                    "GET", base, self._prefix, check=True, headers=headers
                )
                async with asked as answer:
                    if 200 <= answer.status < 300:
                        return ""
                    why = f"bad status from {url}: {answer.status}"
        except TimeoutError:
            late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            why = f"Get {quote(url)}: {late}"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = f"Get {quote(url)}: {http.dialing.dial_error(error)}"
        return f"failing or missing response from {url}: {why}"

    async def refresh(self) -> bool:
        """Fetch the discovery of the server. Returns whether it changed."""
        before = (self._version_discovery, self._freshness, self._paths)
        try:
            self._version_discovery = await self._fetch_discovery()
            self._freshness = discovery.CURRENT
        except _FAILURES:
            self._freshness = discovery.STALE
        with contextlib.suppress(*_FAILURES):
            code, found, _ = await self._fetch("/openapi/v3", {"Accept": "application/json"})
            paths = aggregated.paths_of(found, self._prefix) if code == 200 else {}
            self._paths = paths
        return before != (self._version_discovery, self._freshness, self._paths)

    @property
    def is_current(self) -> bool:
        """Whether the server responded to the last request for its discovery."""
        return self._freshness == discovery.CURRENT

    def is_stale(self) -> bool:
        """Mark the documents as stale. Returns whether they were not stale before."""
        was, self._freshness = self._freshness, discovery.STALE
        return was != self._freshness

    @property
    def _prefix(self) -> str:
        return f"/apis/{self.registration.group}/{self.registration.version}"

    async def _fetch_discovery(self) -> Object:
        """Return the version from aggregated discovery, else from its resource list, else without
        resources."""
        group, version = self.registration.group, self.registration.version
        seconds = DISCOVERY_SECONDS
        code, found, headers = await self._fetch("/apis", {"Accept": discovery.ACCEPT}, seconds)
        if code == 200 and "as=APIGroupDiscoveryList" in headers.get("Content-Type", ""):
            return discovery.version_in(found, group, version) or {"version": version}
        if code == 503:
            raise UnreachableError("bad status from /apis: 503")
        accept = {"Accept": "application/json"}
        code, found, _ = await self._fetch(self._prefix, accept, seconds)
        if code != 200:
            raise UnreachableError(f"bad status from {self._prefix}: {code}")
        return discovery.from_resource_list(found, group, version) or {"version": version}

    async def _fetch(
        self, path: str, accept: dict[str, str], seconds: float = DOCUMENT_SECONDS
    ) -> tuple[int, Any, Any]:
        """Return status, JSON and headers of a document. The JSON is None if the document is not
        JSON. Raises one of _FAILURES."""
        base = self.upstream.base()
        headers = auth.frontproxy.headers(AGGREGATOR)
        headers.update(accept)
        async with (
            asyncio.timeout(seconds),
            self.upstream.request("GET", base, path, headers=headers) as answer,
        ):
            body = bytearray()
            async for piece in answer.content.iter_any():
                body += piece
                if len(body) > MAX_DOCUMENT:
                    raise UnreachableError(f"{path} has more than {MAX_DOCUMENT} bytes")
            found = None
            with contextlib.suppress(orjson.JSONDecodeError):
                found = orjson.loads(body)
            return answer.status, found, answer.headers


_FAILURES = (UnreachableError, aiohttp.ClientError, OSError, ValueError, TimeoutError)
