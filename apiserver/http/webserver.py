"""Creates aiohttp's server: the limits of a request, the class of requests, the connection loop.

`listening` and the private port of workers create one each. Only this module selects the loop
that serves connections: that of `fast` if it was tested with this version of aiohttp, else
aiohttp's own.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import aiohttp
from aiohttp import hdrs
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from yarl import URL

from inkube.apiserver.http import bodies, fast, logs, plain
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.cors import AddedHeaders, Origins
from inkube.apiserver.http.httprequest import Request
from inkube.apiserver.http.httpresponse import Writer

logger = logging.getLogger(__name__)

MAX_HEADER = 64 * 1024  # a URL with a long selector, a token with many groups


def server(
    handler: Callable[..., Any],
    origins: Origins,
    budget: Budget,
    connection_loop: plain.ConnectionLoop = "fast",
    strict_transport: Sequence[str] = (),
) -> plain.Server:
    """Return a server that calls `handler` for each request. `origins` are the allowed origins of
    web pages. `budget` counts unsent bytes of clients that do not read. `strict_transport` are
    the directives of `Strict-Transport-Security`."""
    return _kind(connection_loop)(
        handler,
        budget,
        _request_factory(AddedHeaders(origins, strict_transport)),
        access_log=None,
        auto_decompress=False,  # as the reference: a compressed body could expand without limit
        logger=logs.Protocol(logging.getLogger("inkube.protocol")),
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
    )


def _kind(connection_loop: plain.ConnectionLoop) -> type[plain.Server]:
    if connection_loop == "plain":
        return plain.Server
    if not fast.is_tested(aiohttp.__version__):
        logger.info(
            "aiohttp %s has not been tested with the faster loop for connections; its own serves",
            aiohttp.__version__,
        )
        return plain.Server
    return fast.Server


def _request_factory(headers: AddedHeaders) -> Callable[..., Request]:
    """Return a function that creates requests, with kube-apiserver's limit of the body."""
    loop = asyncio.get_running_loop()
    kind: type[Request] = Request
    added = headers or None
    if added is not None:
        kind = type("HeadedRequest", (Request,), {"added_headers": added})

    def create(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: plain.Connection,
        _: AbstractStreamWriter | None,
        task: asyncio.Task[None],
    ) -> Request:
        url: URL | None = message.url
        if url is None:  # aiohttp's parser, for a CONNECT without a target
            message = message._replace(path="/", url=URL("/"))
        writer = Writer(protocol, loop)
        if added is not None:
            origin = message.headers.get(hdrs.ORIGIN, "")
            writer.add_headers = partial(added.add_to, origin=origin)
        request = kind(
            message, payload, protocol, writer, task, loop, client_max_size=bodies.MAX_BODY
        )
        request.head = message
        if protocol.notes_requests:
            protocol.note(request)
        return request

    return create
