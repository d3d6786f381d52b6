"""Requests to an API server over HTTP: a fork, or the cluster to which a plan is applied."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import aiohttp

from inkube.schemas.objects import Object

APPLY = "application/apply-patch+yaml"


class PlanError(Exception):
    """A plan that cannot be made, read or applied."""


class Answer(NamedTuple):
    """The response to a request: code, body, warnings."""

    code: int
    body: Object
    warnings: list[str]


class Requests:
    """Sends requests with an HTTP client, which authenticates. `url` is the server's address.

    With a `user`, the requests have the rights of this user.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str = "",
        *,
        user: str = "",
        groups: Iterable[str] = (),
    ) -> None:
        self._session = session
        self._url = url
        self._headers = [("Impersonate-User", user)] if user else []
        self._headers += [("Impersonate-Group", each) for each in groups] if user else []

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        media: str = "",
    ) -> Answer:
        """Send a request; a PATCH is a server-side apply by default. Raises PlanError if the server
        does not answer."""
        kind = media or (APPLY if method == "PATCH" else "application/json")
        data = None if body is None else json.dumps(body)
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=data,
                params=query,
                headers=[("Content-Type", kind), *self._headers],
            ) as answer:
                found = [_warning(each) for each in answer.headers.getall("Warning", ())]
                return Answer(answer.status, _object(await answer.read(), answer.status), found)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise PlanError(f"{method} {path}: {error or type(error).__name__}") from error


def _object(body: bytes, code: int) -> Object:
    """Return the object of a response. Proxies answer errors as text."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    text = body[:500].decode(errors="replace").strip()
    if code < 400:
        raise PlanError(f"the server has answered {code} with a text that is no object: {text}")
    return {"kind": "Status", "code": code, "message": text}


def _warning(header: str) -> str:
    """Return the text of a Warning header: `299 - "text"`."""
    _, _, text = header.partition('"')
    return text.rpartition('"')[0].replace('\\"', '"').replace("\\\\", "\\")
