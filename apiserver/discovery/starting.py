"""The responses of a starting server: alive, not ready, and its progress.

The port is opened before any data is read. So a client that polls `/readyz` can see the progress
instead of a refused connection, and a port in use is reported before a large file is loaded.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from inkube.apiserver.discovery.health import Health, checks
from inkube.apiserver.discovery.stages import LOADING, Stage
from inkube.apiserver.http import negotiation, requests, responses
from inkube.apiserver.registry import User
from inkube.schemas import status

_ANONYMOUS = User("system:anonymous")
Stages = Callable[[], Stage | None]
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class StartupHandler:
    """Responds to every request until the application is ready."""

    def __init__(self, stage: Stages) -> None:
        self._failures = partial(_failures, stage)
        # /healthz has the checks of a start too, because clients also wait for it
        self._health = Health(self._failures, strict=("healthz", "readyz"))
        self._app: Handler | None = None

    def set_app(self, app: Handler) -> None:
        """From now on, pass requests to the application, also on earlier connections."""
        self._app = app

    def clear_app(self) -> None:
        """Pass no more requests to the application, because the server has stopped."""
        self._app = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Respond to health checks. Other requests are rejected, and must be sent again."""
        if self._app is not None:
            return await self._app(request)
        info = requests.read(request)
        response: web.StreamResponse
        if info.path.split("/")[1:2] in [[name] for name in checks()]:
            response = await self._health(request, info, _ANONYMOUS)
        else:
            failure = status.unavailable(f"the server is starting: {self._failures()[LOADING]}")
            failure.headers["Retry-After"] = "1"
            response = responses.error(failure, negotiation.COMPACT_JSON)
        response.headers["Connection"] = "close"
        response.force_close()
        return response


def _failures(stage: Stages) -> dict[str, str]:
    return {LOADING: str(stage() or "starting")}
