"""A server that runs a command at its only path, with the streams that a test selects."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from inkube.apiserver.streaming import commands
from inkube.schemas.status import StatusError

Serving = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def serving() -> Serving:
    """Return `served`: `async with serving(run, stdin=True)` yields the URL of a server that runs
    the command."""

    @asynccontextmanager
    async def served(run: commands.Run, **wanted: bool) -> AsyncIterator[str]:
        options = commands.StreamOptions(**wanted)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await commands.serve(request, options, run)
            except StatusError as error:
                body: Any = error.body()
                return web.json_response(body, status=error.code)

        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/exec"
        finally:
            await runner.cleanup()

    return served
