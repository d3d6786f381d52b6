"""Requests to the REST APIs of GitHub, GitLab and Bitbucket: JSON over guarded connections.

Redirects are followed only to the same origin. A rate limit is remembered until it ends, because
earlier requests would only prolong it. Errors of the connection are raised as
`checks.OutsideError`; the caller interprets every other response, including 4xx.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit

import aiohttp

from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.hosts import (
    NotAuthorized,
    RepositoryNotFound,
    late,
    limited,
    refusal,
    untrusted,
)
from inkube.controllers.provisioning.outside.ssrf import Guard, GuardedResolver, refuse_literal
from inkube.kinds import Clock, Memo, OutsideError, Unavailable, Unreachable

T = TypeVar("T")
MAX_CACHED = 1024
"""The maximum number of entries in each cache: rate limits, and caches of callers of `remember`."""
LARGEST = 4 * 1024 * 1024
"""The maximum size of a response in bytes."""
REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class RestResponse:
    """A response: its status code, headers and JSON body."""

    code: int
    headers: Mapping[str, str]
    body: Any

    def object(self) -> dict[str, Any]:
        """Return the body of a 200 response that is an object. Raises NotAuthorized,
        RepositoryNotFound."""
        found: dict[str, Any] = self._of_type(dict)
        return found

    def items(self) -> list[dict[str, Any]]:
        """Return the body of a 200 response that is a list of objects. Raises NotAuthorized,
        RepositoryNotFound."""
        return [each for each in self._of_type(list) if isinstance(each, dict)]

    def _of_type(self, expected: type) -> Any:
        if self.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise NotAuthorized(self.code)
        if self.code != HTTPStatus.OK or not isinstance(self.body, expected):
            raise RepositoryNotFound
        return self.body


class RestClient:
    """Sends requests to APIs; `close` ends its connections. The guard does not check `trusted_urls`
    URLs."""

    def __init__(
        self, guard: Guard, clock: Clock, *, timeout: float, trusted_urls: tuple[str, ...] = ()
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._trusted_urls = trusted_urls
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._limits: OrderedDict[str, datetime] = OrderedDict()

    async def close(self) -> None:
        """Close all connections."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()

    def now(self) -> datetime:
        """Return the current time."""
        return self._clock.now()

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Any = None,
        *,
        form: Mapping[str, str] | None = None,
    ) -> RestResponse:
        """Send one request and follow redirects. Raises OutsideError for rate limits, 5xx and
        errors of the connection.

        `body` is sent as JSON, `form` is sent as an HTML form.
        """
        content = {"data": form} if form is not None else {"json": body}
        asker = headers.get("Authorization", "") + headers.get("PRIVATE-TOKEN", "")
        known = hashlib.sha256(f"{urlsplit(url).netloc} {asker}".encode()).hexdigest()
        self._refuse_while_limited(known, url)
        answer = await self._send(method, url, headers, content)
        for _ in range(REDIRECTS):
            location = urljoin(url, answer.headers.get("Location", ""))
            if answer.code not in (301, 302, 307, 308) or not same_origin(url, location):
                break
            answer = await self._send(method, location, headers, content)
        self._note_limit(known, url, answer)
        return answer

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], content: dict[str, Any]
    ) -> RestResponse:
        host = urls.host_of(url)
        headers = {"User-Agent": "inkube", **headers}
        try:
            session = self._session(url)
            async with session.request(
                method, url, headers=headers, allow_redirects=False, **content
            ) as response:
                return await _read(response, host)
        except OutsideError:
            raise
        except TimeoutError as error:
            raise late(host) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise untrusted(host) from error
        except aiohttp.ClientConnectorDNSError as error:
            raise Unreachable(host, f"host {host} not found") from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(host, f"host {host} refused the connection") from error
        except aiohttp.ClientError as error:
            raise Unreachable(host, f"host {host} closed the connection") from error

    def _session(self, url: str) -> aiohttp.ClientSession:
        """Return the session for a URL: URLs of the operator are trusted, hosts of users pass the
        guard. Raises Unreachable."""
        is_trusted = any(same_origin(trusted, url) for trusted in self._trusted_urls)
        if not is_trusted:
            refuse_literal(self._guard, urls.host_of(url))
        if is_trusted not in self._sessions:
            resolver = None if is_trusted else GuardedResolver(self._guard)
            self._sessions[is_trusted] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, limit=32), timeout=self._timeout
            )
        return self._sessions[is_trusted]

    def _refuse_while_limited(self, known: str, url: str) -> None:
        until = self._limits.get(known)
        if until is not None and until > self.now():
            raise limited(urls.host_of(url), until)

    def _note_limit(self, known: str, url: str, response: RestResponse) -> None:
        host = urls.host_of(url)
        if response.code == 429 or (response.code == 403 and _is_limit(response)):
            until = _limited_until(response, self.now())
            if until is not None:
                remember(self._limits, known, until)
            raise limited(host, until)
        if response.code >= 500:
            raise refusal(host, response.code)


async def _read(response: aiohttp.ClientResponse, host: str) -> RestResponse:
    raw = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        raw += chunk
        if len(raw) > LARGEST:
            raise Unavailable(host, "answered more than expected")
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        body = None
    return RestResponse(response.status, response.headers, body)


class RestSession(ABC):
    """The common part of sessions for one repository. Responses are remembered for the session."""

    branches: str
    """The path of the branches, below that of the repository."""
    commit: tuple[str, str]
    """The member with the commit of a branch, and the member of its name in that."""

    def __init__(self) -> None:
        self._memo = Memo()

    @abstractmethod
    async def fetch(self, path: str) -> RestResponse:
        """Send a GET for a path below the repository. Raises OutsideError."""

    async def head(self, branch: str) -> str | None:
        found = await self._branch(branch)
        outer, inner = self.commit
        return str((found.get(outer) or {}).get(inner, "")) if found is not None else None

    async def branch_names(self) -> list[str]:
        """Return the first hundred branches."""
        answer = await self.fetch(f"{self.branches}?per_page=100")
        return sorted(str(each.get("name", "")) for each in answer.items())

    async def _repository(self) -> dict[str, Any]:
        return await self._memo("repository", lambda: self._object(""))

    async def _branch(self, branch: str) -> dict[str, Any] | None:
        """Return a branch; None if it does not exist."""
        return await self._memo(("branch", branch), lambda: self._fetch_branch(branch))

    async def _fetch_branch(self, branch: str) -> dict[str, Any] | None:
        try:
            return await self._object(f"{self.branches}/{quote(branch, safe='')}")
        except RepositoryNotFound:
            return None

    async def _object(self, path: str) -> dict[str, Any]:
        return (await self.fetch(path)).object()


def _is_limit(response: RestResponse) -> bool:
    return response.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in response.headers


def _limited_until(response: RestResponse, now: datetime) -> datetime | None:
    """Return the time when the limit ends; the header contains a time or a number of seconds. None
    if it contains neither."""
    retry = response.headers.get("Retry-After", "")
    reset = (
        response.headers.get("X-RateLimit-Reset") or response.headers.get("RateLimit-Reset") or ""
    )
    if retry.isdecimal():
        return now + timedelta(seconds=int(retry))
    if reset.isdecimal():
        return datetime.fromtimestamp(int(reset), UTC)
    return None


def moment(text: Any, otherwise: datetime) -> datetime:
    """Return the time in an RFC 3339 text; `otherwise` for any other text."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return otherwise


def same_origin(url: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port."""
    first, second = urlsplit(url), urlsplit(other)
    return (first.scheme, first.netloc) == (second.scheme, second.netloc)


def remember(known: "OrderedDict[str, T]", key: str, value: T) -> None:
    """Add a value, and keep the newest `MAX_CACHED` values."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > MAX_CACHED:
        known.popitem(last=False)
