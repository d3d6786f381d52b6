"""The HTTP side of admission webhooks: one POST, its time limit, its authority, its failures.

Failures read as Go's do. Follows apiserver/pkg/util/webhook/client.go. A service is looked up and
refused: there is no cluster network to reach it through.
"""

import asyncio
import math

import aiohttp

from inkube.apiserver import http
from inkube.apiserver.registry import keys
from inkube.schemas.golang.gotext import quote
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import replies
from inkube.schemas.webhooks.replies import ReplyError
from inkube.storage.store import BaseStore

MAX_ANSWER = 16 * 1024 * 1024
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}


class WebhookCaller:
    """Sends reviews. The client is made on first use."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Let go of every connection."""
        if self._session is not None:
            await self._session.close()

    async def post(
        self,
        client: Object,
        review: bytes,
        *,
        version: str,
        seconds: float,
        kind: replies.Kind = replies.ADMISSION,
    ) -> Object:
        """The decoded review of the answer. Raises ReplyError."""
        url = f"{self._address(client)}?timeout={math.ceil(seconds)}s"
        service = client.get("service")
        if service is not None:
            raise ReplyError(f'Post "{url}": {self._no_service(service)}')
        try:
            async with asyncio.timeout(seconds):
                code, body, media = await self._exchange(client, url, review)
        except TimeoutError as error:
            raise ReplyError(f'Post "{url}": context deadline exceeded') from error
        return replies.document(code, body, content_type=media, version=version, kind=kind)

    async def _exchange(self, client: Object, url: str, review: bytes) -> tuple[int, bytes, str]:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=_HEADERS, timeout=aiohttp.ClientTimeout())
        try:
            context = http.outgoing.context(client.get("caBundle") or "")
            async with self._session.post(url, data=review, ssl=context) as response:
                body = await response.content.read(MAX_ANSWER)
                while body and not response.content.at_eof() and len(body) < MAX_ANSWER:
                    body += await response.content.read(MAX_ANSWER - len(body))
                return response.status, body, response.headers.get("Content-Type", "")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ReplyError(f'Post "{url}": {http.outgoing.trouble(error)}') from error

    def _address(self, client: Object) -> str:
        service = client.get("service")
        if service is None:
            return str(client["url"])
        path = str(service.get("path") or "").lstrip("/")
        port = service.get("port") or 443
        return f"https://{service['name']}.{service['namespace']}.svc:{port}/{path}"

    def _no_service(self, service: Object) -> str:
        name = quote(service["name"])
        found = self._store.get(keys.key("services", service["namespace"], service["name"]))
        if found is None:
            return f"service {name} not found"
        return (
            f"service {name} cannot be reached: this server is in no cluster network; "
            "use clientConfig.url"
        )
