"""The effects of an Injection on one request: a delay, a rejection, a cut connection, a slow
response."""

from collections.abc import Awaitable, Callable, Iterator

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from inkube.apiserver.faults.injections import Injection
from inkube.apiserver.http import BodyResponse, Piece, Request, budget

PIECES = 10  # per second: the number of pieces of a slow response
Serve = Callable[[], Awaitable[web.StreamResponse]]
Sleep = Callable[[float], Awaitable[None]]


class Disconnection(web.StreamResponse):
    """A response that resets the connection instead of starting. Its code in logs is 0."""

    def __init__(self) -> None:
        super().__init__(status=0)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Reset the connection. Raises ConnectionResetError, which the caller can ignore."""
        budget.abort(request.transport)
        raise ConnectionResetError("cut by a Fault")


class SlowResponse(BodyResponse):
    """A response with a limited number of bytes per second."""

    def __init__(self, response: BodyResponse, rate: int, sleep: Sleep) -> None:
        super().__init__(response.body, response.headers, response.status)
        self._rate = rate
        self._sleep = sleep

    def whole(self, request: Request) -> None:
        """Do nothing: it is never sent in one piece."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the response in pieces, and wait between them."""
        writer, size = self._writer, max(1, self._rate // PIECES)
        if writer is None:
            return
        for piece in _small_pieces(self._pieces(), size) if self._has_body else ():
            await self._sleep(len(piece) / self._rate)
            await writer.write(piece)
            await writer.drain()
        await writer.write_eof()


def _small_pieces(parts: Iterator[Piece], size: int) -> Iterator[bytes]:
    for part in parts:
        for start in range(0, len(part), size):
            yield bytes(part[start : start + size])


async def apply(
    injection: Injection, serve: Serve, sleep: Sleep, *, is_long_running: bool
) -> web.StreamResponse:
    """Serve a request with injected faults. Raises the StatusError of a fault.

    A `is_long_running` request has sent its response at its end, so it can be rejected only before.
    """
    if injection.delay:
        await sleep(injection.delay)
    await injection.hold(is_after=False)
    if is_long_running or not injection.carried_out:
        _raise_refusal(injection)
        if injection.disconnects:
            return Disconnection()
    response = await serve()
    if not is_long_running:
        await injection.hold(is_after=True)
    if injection.carried_out and not is_long_running:
        _raise_refusal(injection)
        if injection.disconnects:
            return Disconnection()
    if injection.rate and isinstance(response, BodyResponse):
        return SlowResponse(response, injection.rate, sleep)
    return response


def _raise_refusal(injection: Injection) -> None:
    if injection.refusal is not None:
        raise injection.refusal
