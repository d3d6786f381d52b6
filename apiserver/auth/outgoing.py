"""Calls of the servers that help to decide about requests: JWT issuers and webhooks.

The HTTP client is created with the first call. Answers are bounded in time and size.
"""

import asyncio
import ssl
from typing import Any

import aiohttp
import orjson

from inkube.apiserver import http
from inkube.schemas import releases, webhooks
from inkube.schemas.objects import Object

MAX_ANSWER = 4 * 1024 * 1024
_GATEWAY_TIMEOUT = 504


class CallError(Exception):
    """A call failed, or its answer is not JSON. `code` is that of an HTTP error, or 0;
    `is_timeout` tells whether it took too long."""

    def __init__(self, text: str, code: int = 0, *, is_timeout: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.is_timeout = is_timeout or code == _GATEWAY_TIMEOUT


class Outgoing:
    """Calls other servers with the User-Agent of kube-apiserver of a release."""

    def __init__(self, release: releases.Release = releases.NEWEST) -> None:
        headers = {"User-Agent": f"kube-apiserver/{release} (inkube)"}
        self._connections = http.dialing.Connections.with_headers(headers)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def get(self, url: str, context: ssl.SSLContext, seconds: float) -> Object:
        """Return the JSON object at an address. Raises CallError."""
        return (await self.get_with_body(url, context, seconds))[0]

    async def get_with_body(
        self, url: str, context: ssl.SSLContext, seconds: float
    ) -> tuple[Object, bytes]:
        """Return the JSON object at an address, and its bytes. Raises CallError."""
        where, code, reason, body, _ = await self._call("GET", url, context, seconds, {})
        if not 200 <= code < 300:
            text = body[:200].decode("utf-8", "replace")
            raise CallError(f"{where}: {code} {reason}: {text}", code)
        return _decoded(where, body), body

    async def get_text(
        self, url: str, context: ssl.SSLContext, seconds: float, token: str = ""
    ) -> str:
        """Return the text at an address, which is asked with a token if there is one. Raises
        CallError."""
        options = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
        where, code, reason, body, _ = await self._call("GET", url, context, seconds, options)
        if not 200 <= code < 300:
            raise CallError(f"{where}: {code} {reason}", code)
        return body.decode("utf-8", "replace")

    async def post(
        self,
        url: str,
        context: ssl.SSLContext | bool,
        seconds: float,
        document: Object,
        options: Any = None,
    ) -> Object:
        """Send a JSON object, and return that of the answer. `options` are those of aiohttp.
        Raises CallError, with client-go's text for the code of an error."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        made = {**(options or {})}
        made["headers"] = {**headers, **made.get("headers", {})}
        made["data"] = orjson.dumps(document)
        where, code, _, body, media = await self._call("POST", url, context, seconds, made)
        if not 200 <= code < 300:
            raise CallError(webhooks.replies.failure(code, body, media), code)
        return _decoded(where, body)

    async def _call(
        self,
        method: str,
        url: str,
        context: ssl.SSLContext | bool,
        seconds: float,
        options: dict[str, Any],
    ) -> tuple[str, int, str, bytes, str]:
        """Return what was called, and the code, the reason, the body and the media type of the
        answer."""
        where = f'{method.capitalize()} "{url}"'
        try:
            async with (
                asyncio.timeout(seconds),
                self._connections.session.request(method, url, ssl=context, **options) as response,
            ):
                body = await http.dialing.read_body(response, MAX_ANSWER)
                code, reason = response.status, response.reason
                media = response.headers.get("Content-Type", "")
        except TimeoutError as error:
            raise CallError(f"{where}: context deadline exceeded", is_timeout=True) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallError(f"{where}: {http.dialing.dial_error(error)}") from error
        return where, code, reason or "", body, media


def _decoded(where: str, body: bytes) -> Object:
    if not body:
        return {}
    try:
        document = orjson.loads(body)
    except ValueError as error:
        raise CallError(f"{where}: the answer is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CallError(f"{where}: the answer is not an object")
    return document
