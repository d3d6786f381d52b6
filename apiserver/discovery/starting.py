"""The responses of a starting server: alive, not ready, and its progress.

The port is opened before any data is read. So a client that polls `/readyz` can see the progress
instead of a refused connection, and a port in use is reported before a large file is loaded.
"""

from collections.abc import Awaitable, Callable

from aiohttp import web

from inkube.apiserver.discovery.health import Health, checks
from inkube.apiserver.discovery.stages import LOADING, Stage
from inkube.apiserver.http import negotiation, requests, responses
from inkube.apiserver.registry import User
from inkube.schemas import status

_NOBODY = User("system:anonymous")
Stages = Callable[[], Stage | None]
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Starting:
    """Answers every request until there is an application."""

    def __init__(self, stage: Stages) -> None:
        self._stage = stage
        # who waits for /healthz waits for the same: it has the checks of a start there, too
        self._health = Health(self._failures, strict=("healthz", "readyz"))
        self._app: Handler | None = None

    def hand_over(self, app: Handler) -> None:
        """From now on the application answers, also on connections that came before."""
        self._app = app

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Health checks are answered, all else has to come again."""
        if self._app is not None:
            return await self._app(request)
        info = requests.read(request)
        answer: web.StreamResponse
        if info.path.split("/")[1:2] in [[name] for name in checks()]:
            answer = await self._health(request, info, _NOBODY)
        else:
            failure = status.unavailable(f"the server is starting: {self._failures()[LOADING]}")
            failure.headers["Retry-After"] = "1"
            answer = responses.error(failure, negotiation.PLAIN)
        answer.headers["Connection"] = "close"
        answer.force_close()
        return answer

    def _failures(self) -> dict[str, str]:
        stage = self._stage()
        return {LOADING: str(stage or "starting")}
