"""aiohttp's server, as it takes bytes here: the bounds of a request and the class of requests.

`root.listening` and the workers' private port make one each.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from yarl import URL

from inkube.apiserver.http import bodies, connections, logs
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.cors import Origins
from inkube.apiserver.http.incoming import Request

MAX_HEADER = 64 * 1024  # a URL with a long selector, a token with many groups


def make(handler: Callable[..., Any], origins: Origins, budget: Budget) -> web.Server:
    """A server whose requests `handler` answers; `origins` are the pages that may send them,
    `budget` counts what waits for clients who do not read."""
    return connections.Server(
        handler,
        budget,
        request_factory=_request_factory(origins),
        access_log=None,
        auto_decompress=False,  # as the reference: no body is unpacked, so none is a bomb
        logger=logs.Protocol(logging.getLogger("inkube.protocol")),
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
    )


def _request_factory(origins: Origins) -> Callable[..., Request]:
    """Requests whose body may be as large as kube-apiserver's."""
    loop = asyncio.get_running_loop()
    kind: type[Request] = Request
    if origins:
        kind = type("OriginRequest", (Request,), {"origins": origins})

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> Request:
        if cast("URL | None", message.url) is None:  # of a CONNECT to nowhere, by aiohttp's parser
            message = message._replace(path="/", url=URL("/"))
        return kind(message, payload, protocol, writer, task, loop, client_max_size=bodies.MAX_BODY)

    return make
