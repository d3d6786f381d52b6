"""`/debug/requests`: finished requests as a stream of `audit.k8s.io/v1` events, one line each.

Requests are kept while at least one client listens: the newest ones, up to a limit. A new client
first receives these. Bodies that are long or contain secrets are left out, with an annotation.
Requests of the console itself are left out.
"""

import asyncio
from collections import deque

import orjson
from aiohttp import web

from inkube.apiserver import http
from inkube.apiserver.http import RequestInfo, guards, responses
from inkube.apiserver.registry import User
from inkube.schemas import status

PATH = "/debug/requests"
MAX_RECORDS = 500
"""The most events that are kept."""
KEPT_BYTES = 8 * 1024 * 1024
"""The most bytes of all kept events."""
LONGEST_BODY = 32 * 1024
"""The largest body in an event, in bytes."""
LISTENERS = 32
STALL_SECONDS = 60.0
"""Seconds without progress after which a client that does not read is disconnected."""
BEAT = 15.0
"""Seconds without events after which an empty line checks whether the client is still connected."""
LEFT_OUT = "console.inkube.dev/left-out"
_HIDDEN = frozenset({"secrets", "serviceaccounts/token", "tokenreviews"})
_EXCLUDED_PATHS = ("/console", PATH)


class RequestLog:
    """The events of a server, and the clients that read them; see the module's docstring."""

    def __init__(self, recorders: "list[http.audit.Listener]") -> None:
        self._recorders = recorders
        """Called for each finished request; it has `_recorder` while clients read."""
        self._recorder = self.record
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self._total = 0
        """The number of all events so far, which is also the number of the newest event."""
        self._news = asyncio.Event()
        self._listeners = 0
        self._closed = False

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Stream events until the client disconnects or the server stops. Raises StatusError 405,
        429."""
        if info.method != "GET":
            raise status.method_not_allowed()
        if self._listeners >= LISTENERS:
            raise guards.too_many_requests()
        response = responses.stream()
        response.enable_chunked_encoding()
        self._arrive()
        try:
            await response.prepare(request)
            await self._send_records(response)
            await response.write_eof()
        except (ConnectionError, TimeoutError):
            return response
        finally:
            self._leave()
        return response

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        self._news.set()

    def record(
        self, request: "http.audit.FinishedRequest", context: "http.audit.RequestContext"
    ) -> None:
        """Keep the event of one finished request."""
        if request.info.path.startswith(_EXCLUDED_PATHS):
            return
        event = http.audit.event(request, context, "RequestResponse")
        left_out = []
        for member, body, add in (
            ("requestObject", request.request, http.audit.add_request),
            ("responseObject", request.response, http.audit.add_response),
        ):
            if _is_hidden(request.info):
                left_out += [f"{member}: {len(body)} bytes of a secret"] if body else []
            elif len(body) > LONGEST_BODY:
                left_out.append(f"{member}: {len(body)} bytes")
            else:
                add(event, request, context, omits=True)
        if left_out:
            event["annotations"][LEFT_OUT] = "; ".join(left_out)
        self._append(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))

    def _append(self, line: bytes) -> None:
        self._events.append(line)
        self._bytes += len(line)
        self._total += 1
        while len(self._events) > MAX_RECORDS or self._bytes > KEPT_BYTES:
            self._bytes -= len(self._events.popleft())
        self._news.set()

    def _arrive(self) -> None:
        if not self._listeners:
            self._recorders.append(self._recorder)
        self._listeners += 1

    def _leave(self) -> None:
        self._listeners -= 1
        if not self._listeners:
            self._recorders.remove(self._recorder)
            self._events.clear()  # later events would not follow directly
            self._bytes = 0

    async def _send_records(self, response: web.StreamResponse) -> None:
        """Write events as they arrive. A client that is too slow for the kept events misses the
        oldest ones."""
        seen = self._total - len(self._events)
        await response.write(b"\n")  # the first bytes make aiohttp send the headers
        while not self._closed:
            self._news.clear()
            oldest = self._total - len(self._events)
            new = [line for at, line in enumerate(self._events, oldest) if at >= seen]
            seen = self._total
            if new:
                async with asyncio.timeout(STALL_SECONDS):
                    await response.write(b"".join(new))
                continue
            try:
                async with asyncio.timeout(BEAT):
                    await self._news.wait()
            except TimeoutError:
                await response.write(b"\n")


def _is_hidden(info: RequestInfo) -> bool:
    whole = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    return info.resource in _HIDDEN or whole in _HIDDEN
