"""The HTTP client for webhooks: sends one POST and returns the decoded review.

It applies the time limit and the CA bundle of the webhook. Error texts equal those of Go's HTTP
client. `serviceaddresses` finds the address of a Service, which must present a certificate for
`NAME.NAMESPACE.svc`. Follows apiserver/pkg/util/webhook, client.go and authentication.go.
"""

import asyncio
import math
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from inkube.apiserver import auth, http
from inkube.apiserver.serviceaddresses import ServiceAddresses, UnresolvedError
from inkube.schemas import releases
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import ReplyError, replies

MAX_RESPONSE = 16 * 1024 * 1024
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}


class Loopback(NamedTuple):
    """How a server calls itself: as `system:apiserver`, whatever credentials and certificates its
    clients need."""

    url: str
    token: str


def whole_seconds(seconds: float) -> int:
    """Return how long a webhook has at most, in whole seconds. The error of a difference of times,
    which is less than a microsecond, must not add a second."""
    return math.ceil(round(seconds, 6))


class WebhookCaller:
    """Sends reviews with the User-Agent of kube-apiserver of a release.

    The first request creates the HTTP client.
    """

    def __init__(
        self,
        services: ServiceAddresses,
        loopback: Loopback,
        release: releases.Release = releases.NEWEST,
    ) -> None:
        self._services = services
        self._loopback = loopback
        headers = {**_HEADERS, "User-Agent": f"kube-apiserver/{release} (inkube)"}
        self._connections = http.dialing.Connections.with_headers(headers)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def post(
        self,
        client: Object,
        review: bytes,
        *,
        version: str,
        seconds: float,
        kind: replies.Kind = replies.ADMISSION,
        users: "auth.webhookusers.Users | None" = None,
    ) -> Object:
        """Send a review as one of the users, and return the decoded review of the response.

        `seconds` limits the whole exchange. Raises ReplyError.
        """
        target = _target(client)
        url = f"{target}?timeout={whole_seconds(seconds)}s"
        try:
            async with asyncio.timeout(seconds):
                code, body, media = await self._exchange(client, url, review, users)
        except TimeoutError as error:
            raise ReplyError(f'Post "{url}": context deadline exceeded') from error
        return replies.document(code, body, content_type=media, version=version, kind=kind)

    async def _exchange(
        self, client: Object, url: str, review: bytes, users: "auth.webhookusers.Users | None"
    ) -> tuple[int, bytes, str]:
        try:
            asked, options = self._request(client, URL(url), users)
            async with self._connections.session.post(asked, data=review, **options) as response:
                body = await http.dialing.read_body(response, MAX_RESPONSE)
                return response.status, body, response.headers.get("Content-Type", "")
        except UnresolvedError as error:
            raise ReplyError(f'Post "{url}": {error}') from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ReplyError(f'Post "{url}": {http.dialing.dial_error(error)}') from error

    def _request(
        self, client: Object, url: URL, users: "auth.webhookusers.Users | None"
    ) -> tuple[URL, dict[str, Any]]:
        """Return the URL and the options of a request. Raises UnresolvedError, ssl.SSLError,
        ValueError."""
        service = client.get("service")
        if service is None:
            return url, _identified(url, client, users)
        assert url.port is not None
        if self._services.is_own(service["namespace"], service["name"], url.port):
            headers = {"Authorization": f"Bearer {self._loopback.token}"}
            # the address is that of this process, so any certificate on it is its own
            return URL(self._loopback.url).join(url.relative()), {"ssl": False, "headers": headers}
        return self._of_service(service, url, _identified(url, client, users))

    def _of_service(
        self, service: Object, url: URL, options: dict[str, Any]
    ) -> tuple[URL, dict[str, Any]]:
        """Return the address of a Service as a URL, and the options for the request to it.

        The options contain the Host header and the name that the certificate must have. Raises
        UnresolvedError.
        """
        assert url.host is not None
        assert url.port is not None
        found = self._services.find(service["namespace"], service["name"], url.port)
        place = URL(f"https://{found}")
        headers = {**options.get("headers", {}), "Host": f"{url.host}:{url.port}"}
        where = url.with_host(place.host or "").with_port(place.port)
        return where, {**options, "headers": headers, "server_hostname": url.host}


def _identified(
    url: URL, client: Object, users: "auth.webhookusers.Users | None"
) -> dict[str, Any]:
    """Return the options of a request that trust the webhook, and say who asks."""
    bundle = client.get("caBundle") or ""
    if users is None:
        return {"ssl": http.dialing.context(bundle)}
    found = users.find(url.host or "", url.port or 0)
    return {"ssl": found.context(bundle), "headers": found.headers}


def _target(client: Object) -> str:
    service = client.get("service")
    if service is None:
        return str(client["url"])
    path = str(service.get("path") or "").lstrip("/")
    port = service.get("port") or 443
    return f"https://{service['name']}.{service['namespace']}.svc:{port}/{path}"
