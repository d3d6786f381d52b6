"""aiohttp's server, as it takes bytes here: the bounds of a request and the class of requests.

`root.listening` and the workers' private port make one each. How connections are served is chosen
here and known nowhere else: by the loop of `fast` where this version of aiohttp has been tested
with it, else by aiohttp's own.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import aiohttp
from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from yarl import URL

from inkube.apiserver.http import bodies, fast, logs, plain
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.cors import Origins
from inkube.apiserver.http.httprequest import Request
from inkube.apiserver.http.httpresponse import Writer

logger = logging.getLogger(__name__)

MAX_HEADER = 64 * 1024  # a URL with a long selector, a token with many groups
Serving = Literal["fast", "plain"]
"""How connections are served; `fast` where it can be."""


def make(
    handler: Callable[..., Any], origins: Origins, budget: Budget, serving: Serving = "fast"
) -> web.Server:
    """A server whose requests `handler` answers; `origins` are the pages that may send them,
    `budget` counts what waits for clients who do not read."""
    return _kind(serving)(
        handler,
        budget,
        _request_factory(origins),
        access_log=None,
        auto_decompress=False,  # as the reference: no body is unpacked, so none is a bomb
        logger=logs.Protocol(logging.getLogger("inkube.protocol")),
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
    )


def _kind(serving: Serving) -> type[plain.Server]:
    if serving == "plain":
        return plain.Server
    if not fast.is_tested(aiohttp.__version__):
        logger.info(
            "aiohttp %s has not been tested with the faster loop for connections; its own serves",
            aiohttp.__version__,
        )
        return plain.Server
    return fast.Server


def _request_factory(origins: Origins) -> Callable[..., Request]:
    """Requests whose body may be as large as kube-apiserver's."""
    loop = asyncio.get_running_loop()
    kind: type[Request] = Request
    allowed = origins or None
    if allowed is not None:
        kind = type("OriginRequest", (Request,), {"origins": allowed})

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        _: AbstractStreamWriter | None,
        task: asyncio.Task[None],
    ) -> Request:
        url: URL | None = message.url
        if url is None:  # of a CONNECT to nowhere, by aiohttp's parser
            message = message._replace(path="/", url=URL("/"))
        writer = Writer(protocol, loop)
        if allowed is not None:
            origin = message.headers.get(hdrs.ORIGIN, "")
            writer.tell = partial(allowed.tell, origin)
        made = kind(message, payload, protocol, writer, task, loop, client_max_size=bodies.MAX_BODY)
        made.head = message
        return made

    return make
