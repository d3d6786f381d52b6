"""`/inkube/v1/…`: wait until idle, move the clock, reset, take and restore snapshots, fork.

Every change is a POST with a JSON object, which can be omitted if it has no required members. Its
Content-Type must be JSON.
Errors are Statuses.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import orjson
from aiohttp import web
from multidict import CIMultiDict

from inkube.apiserver.http import BodyResponse, RequestInfo, bodies, negotiation, responses
from inkube.apiserver.registry import User
from inkube.schemas import status
from inkube.schemas.lazy import Lazy
from inkube.schemas.objects import Object

ROOT = "/inkube/v1"
DEFAULT_SECONDS = 60.0
"""The default time limit in seconds for a server to become idle."""
LONGEST = 600.0
"""The longest permitted time limit in seconds."""
FURTHEST = 10 * 365 * 86_400.0
"""The most seconds by which one request moves a clock: ten years."""
LONGEST_NAME = 64
LARGEST = 64 * 1024
FILE = "application/vnd.sqlite3"

Endpoint = Callable[[web.BaseRequest, RequestInfo, User], Awaitable[web.StreamResponse]]


class Fork(NamedTuple):
    """Another server that began with the state of this one."""

    name: str
    url: str
    kubeconfig: str


class Actions(Protocol):
    """The operations on a server; `actions` implements them. All raise StatusError."""

    async def settled(self, within: float) -> int:
        """Wait for the controllers, and return the revision. Raises 504 after the time limit."""
        ...

    async def advance(self, seconds: float) -> int:
        """Move the clock, wait for the timers that become due, and return the revision."""
        ...

    async def reset(self) -> int:
        """Restore the state of the start, and return the revision."""
        ...

    async def snapshot(self, name: str) -> int:
        """Store the state as a named snapshot, and return its revision."""
        ...

    async def restore(self, name: str) -> int:
        """Restore the state of a snapshot, and return the revision. Raises 404."""
        ...

    async def file(self, name: str) -> bytes:
        """Return a snapshot as a data file. Raises 404."""
        ...

    def forget(self, name: str) -> None:
        """Delete a snapshot. Raises 404."""
        ...

    def snapshots(self) -> Mapping[str, int]:
        """Return the names and revisions of all snapshots."""
        ...

    async def fork(self, name: str, snapshot: str) -> Fork:
        """Start another server, from a snapshot or, if that is "", from the current state."""
        ...

    async def end(self, name: str) -> None:
        """Stop a fork. Raises 404."""
        ...

    def forks(self) -> Sequence[Fork]:
        """Return the running forks."""
        ...

    def now(self) -> datetime:
        """Return the time of the server's clock."""
        ...


class Control:
    """Serves all paths below ROOT. `others` serve paths that only begin with the same text."""

    def __init__(self, actions: Actions, others: Mapping[str, Lazy[Endpoint]]) -> None:
        self._actions = actions
        self._others = others
        self._posts: dict[str, Callable[[Object], Awaitable[Object]]] = {
            "settled": self._settled,
            "advance": self._advance,
            "reset": self._reset,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "fork": self._fork,
        }
        self._get_handlers: dict[str, Callable[[], Object]] = {
            "": self._overview,
            "snapshot": self._snapshots,
            "fork": self._forks,
        }

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to one request. Raises StatusError."""
        path = info.path.rstrip("/")
        for start, other in self._others.items():
            if path == start or path.startswith(f"{start}/"):
                return await other()(request, info, user)
        action, _, name = path.removeprefix(ROOT).removeprefix("/").partition("/")
        if not path.startswith(ROOT) or (action not in self._posts and action):
            return responses.plain_not_found()
        if name:
            return await self._serve_named(info.method, action, name)
        if info.method == "GET" and action in self._get_handlers:
            return responses.render(self._get_handlers[action](), negotiation.COMPACT_JSON)
        if info.method == "POST" and action in self._posts:
            answer = await self._posts[action](await _read(request))
            return responses.render(answer, negotiation.COMPACT_JSON)
        raise status.method_not_allowed()

    async def _serve_named(self, method: str, action: str, name: str) -> web.StreamResponse:
        if (method, action) == ("GET", "snapshot"):
            headers = {"Content-Type": FILE, "Cache-Control": "no-cache, private"}
            return BodyResponse(await self._actions.file(name), CIMultiDict(headers))
        if (method, action) == ("DELETE", "snapshot"):
            self._actions.forget(name)
        elif (method, action) == ("DELETE", "fork"):
            await self._actions.end(name)
        else:
            raise status.method_not_allowed()
        return responses.render({"name": name}, negotiation.COMPACT_JSON)

    async def _settled(self, body: Object) -> Object:
        within = _seconds(body, "within", DEFAULT_SECONDS, LONGEST)
        _check_empty(body)
        return {"revision": str(await self._actions.settled(within))}

    async def _advance(self, body: Object) -> Object:
        seconds = _seconds(body, "seconds", None, FURTHEST)
        _check_empty(body)
        revision = await self._actions.advance(seconds)
        return {"revision": str(revision), "time": _text(self._actions.now())}

    async def _reset(self, body: Object) -> Object:
        _check_empty(body)
        return {"revision": str(await self._actions.reset())}

    async def _snapshot(self, body: Object) -> Object:
        name = _name(body, "name")
        _check_empty(body)
        return {"name": name, "revision": str(await self._actions.snapshot(name))}

    async def _restore(self, body: Object) -> Object:
        name = _name(body, "name")
        _check_empty(body)
        return {"name": name, "revision": str(await self._actions.restore(name))}

    async def _fork(self, body: Object) -> Object:
        name = _name(body, "name")
        snapshot = _name(body, "snapshot") if "snapshot" in body else ""
        _check_empty(body)
        return _fork_item(await self._actions.fork(name, snapshot))

    def _overview(self) -> Object:
        return {"time": _text(self._actions.now()), **self._snapshots(), **self._forks()}

    def _snapshots(self) -> Object:
        found = self._actions.snapshots().items()
        return {"snapshots": [{"name": name, "revision": str(at)} for name, at in found]}

    def _forks(self) -> Object:
        return {"forks": [{"name": each.name, "url": each.url} for each in self._actions.forks()]}


async def _read(request: web.BaseRequest) -> Object:
    """Return the parameters in a body. Raises StatusError 400, 413, 415."""
    body = await bodies.read(request)
    bodies.require_json(request, body)
    if len(body) > LARGEST:
        raise status.too_large(f"parameters have at most {LARGEST} bytes")
    try:
        value: Any = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise status.bad_request(f"parameters are a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise status.bad_request("parameters are a JSON object")
    return value


def _seconds(body: Object, name: str, default: float | None, maximum: float) -> float:
    value = body.pop(name, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= maximum:
        raise status.bad_request(f"{name}: expected a number of seconds from 0 to {maximum:g}")
    return float(value)


def _name(body: Object, member: str) -> str:
    value = body.pop(member, None)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or "/" in value:
        raise status.bad_request(
            f"{member}: expected a name of 1 to {LONGEST_NAME} characters without a slash"
        )
    return value


def _check_empty(body: Object) -> None:
    if body:
        raise status.bad_request(f"unknown parameter: {', '.join(sorted(body))}")


def _fork_item(fork: Fork) -> Object:
    return {"name": fork.name, "url": fork.url, "kubeconfig": fork.kubeconfig}


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
