"""GitHub's REST API, as far as the checks ask it: apps, installations, repositories, branches.

GitHub REST API, version 2022-11-28. Redirects are followed on the same host only. A rate limit is
remembered until it ends: asking before that would only prolong it.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import aiohttp

from inkube.controllers import provisioning
from inkube.controllers.checks import OutsideError, Unavailable, Unreachable
from inkube.controllers.environment import Memo
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.hosts import (
    GITHUB,
    App,
    AppNotFound,
    InstallationNotFound,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
    Target,
    refusal,
)
from inkube.controllers.provisioning.options import GITHUB_API
from inkube.controllers.provisioning.ssrf import Guard, GuardedResolver, refuse_literal
from inkube.schemas.clock import Clock

REMEMBERED = 1024
"""Rate limits and installation tokens that are kept, each."""
LARGEST = 4 * 1024 * 1024
"""Bytes of one answer."""
REDIRECTS = 3
PAGES = 30
"""Of 100 repositories each that an installation may reach."""
_TOKEN_MARGIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class InstallationToken:
    """What an installation may be asked with, until when, and what it permits."""

    value: str = field(repr=False)
    expires: datetime
    permissions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the API: its code, headers and JSON body."""

    code: int
    headers: Mapping[str, str]
    body: Any


class GitHub:
    """Opens conversations with GitHub; `close` it to end its connections."""

    def __init__(self, url: str, guard: Guard, clock: Clock, *, timeout: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._guard = guard
        self._clock = clock
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._limits: OrderedDict[str, datetime] = OrderedDict()
        self._tokens: OrderedDict[str, InstallationToken] = OrderedDict()

    def repository(self, target: Target) -> "GitHubSession":
        """A conversation about one repository."""
        return GitHubSession(self, self._base_for(target.url), target)

    def app(self, app: App) -> "GitHubAppSession":
        """A conversation about one app."""
        return GitHubAppSession(self, self._url, app)

    async def close(self) -> None:
        """End all connections."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()

    def now(self) -> datetime:
        """The time of day."""
        return self._clock.now()

    async def ask(self, method: str, url: str, bearer: str) -> Answer:
        """One request, redirects followed. Raises OutsideError for 429, 5xx and silence."""
        known = hashlib.sha256(f"{urlsplit(url).netloc} {bearer}".encode()).hexdigest()
        self._refuse_while_limited(known, url)
        answer = await self._send(method, url, bearer)
        for _ in range(REDIRECTS):
            location = urljoin(url, answer.headers.get("Location", ""))
            if answer.code not in (301, 302, 307, 308) or not _same_origin(url, location):
                break
            answer = await self._send(method, location, bearer)
        self._note_limit(known, url, answer)
        return answer

    async def installation_token(self, base: str, app: App) -> InstallationToken:
        """A token of the installation, used until shortly before it expires.

        Raises NotAuthorized when app, key or installation are refused, and OutsideError.
        """
        identity = f"{base} {app.app_id} {app.installation_id} {app.private_key}"
        known = hashlib.sha256(identity.encode()).hexdigest()
        token = self._tokens.get(known)
        if token is None or token.expires - _TOKEN_MARGIN <= self.now():
            token = await self._new_token(base, app)
            _remember(self._tokens, known, token)
        return token

    async def token_of(self, target: Target) -> str:
        """What git is to be asked with: the target's token, or one of its app's installation."""
        app = target.credentials.app
        if app is None:
            return target.credentials.token
        return (await self.installation_token(self._base_for(target.url), app)).value

    async def _new_token(self, base: str, app: App) -> InstallationToken:
        try:
            signed = provisioning.appkeys.sign(app.app_id, app.private_key, self.now().timestamp())
        except KeyRefused as error:
            raise NotAuthorized from error
        path = f"{base}/app/installations/{app.installation_id}/access_tokens"
        answer = await self.ask("POST", path, signed)
        if answer.code != 201 or not isinstance(answer.body, dict):
            raise NotAuthorized
        expires = _moment(answer.body.get("expires_at"), self.now())
        permissions = answer.body.get("permissions") or {}
        return InstallationToken(str(answer.body["token"]), expires, permissions)

    async def _send(self, method: str, url: str, bearer: str) -> Answer:
        host = urls.host_of(url)
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "inkube",
        }
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        try:
            session = self._session(url)
            async with session.request(
                method, url, headers=headers, allow_redirects=False
            ) as response:
                return await _read(response, host)
        except OutsideError:
            raise
        except TimeoutError as error:
            raise Unavailable(host, "did not answer in time") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise Unreachable(host, f"the certificate of {host} is not trusted") from error
        except aiohttp.ClientConnectorDNSError as error:
            raise Unreachable(host, f"host {host} not found") from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(host, f"host {host} refused the connection") from error
        except aiohttp.ClientError as error:
            raise Unreachable(host, f"host {host} closed the connection") from error

    def _session(self, url: str) -> aiohttp.ClientSession:
        """The operator's own API URL is trusted; hosts that users name pass the guard."""
        is_trusted = _same_origin(self._url, url) and self._url != GITHUB_API
        if not is_trusted:
            refuse_literal(self._guard, urls.host_of(url))
        if is_trusted not in self._sessions:
            resolver = None if is_trusted else GuardedResolver(self._guard)
            self._sessions[is_trusted] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, limit=32), timeout=self._timeout
            )
        return self._sessions[is_trusted]

    def _base_for(self, url: str) -> str:
        """The API of the host a repository lies on: Enterprise servers have their own."""
        host = urls.host_of(url)
        if host in (GITHUB, f"www.{GITHUB}") or self._url != GITHUB_API:
            return self._url
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc}/api/v3"

    def _refuse_while_limited(self, known: str, url: str) -> None:
        until = self._limits.get(known)
        if until is not None and until > self.now():
            raise Unavailable(urls.host_of(url), "has reached its rate limit", until=until)

    def _note_limit(self, known: str, url: str, answer: Answer) -> None:
        host = urls.host_of(url)
        if answer.code == 429 or (answer.code == 403 and _is_limit(answer)):
            until = _limited_until(answer, self.now())
            if until is None:
                raise Unavailable(host, "has reached its rate limit (429 Too Many Requests)")
            _remember(self._limits, known, until)
            raise Unavailable(host, "has reached its rate limit", until=until)
        if answer.code >= 500:
            raise refusal(host, answer.code)


class GitHubSession:
    """A conversation about one repository."""

    def __init__(self, github: GitHub, base: str, target: Target) -> None:
        self._github = github
        self._base = base
        self._target = target
        self._memo = Memo()

    async def default_branch(self) -> str:
        """As GitHub has it."""
        return str((await self._repository()).get("default_branch") or "")

    async def head(self, branch: str) -> str | None:
        """The commit of a branch."""
        return await self._memo(("head", branch), lambda: self._ask_branch(branch))

    async def may_write(self) -> bool:
        """May the token push?"""
        app = self._target.credentials.app
        if app is not None:
            token = await self._github.installation_token(self._base, app)
            return token.permissions.get("contents") == "write"
        permissions = (await self._repository()).get("permissions") or {}
        return bool(permissions.get("push"))

    async def _repository(self) -> dict[str, Any]:
        return await self._memo("repository", self._ask_repository)

    async def _ask_repository(self) -> dict[str, Any]:
        answer = await self._ask("")
        if answer.code in (401, 403):
            raise NotAuthorized
        if answer.code != 200 or not isinstance(answer.body, dict):
            raise RepositoryNotFound
        return answer.body

    async def _ask_branch(self, branch: str) -> str | None:
        answer = await self._ask(f"/branches/{quote(branch, safe='')}")
        if answer.code != 200 or not isinstance(answer.body, dict):
            return None
        return str((answer.body.get("commit") or {}).get("sha", ""))

    async def _ask(self, path: str) -> Answer:
        try:
            owner, name = urls.owner_and_name(self._target.url)
        except ValueError as error:
            raise RepositoryNotFound from error
        url = f"{self._base}/repos/{quote(owner, safe='')}/{quote(name, safe='')}{path}"
        return await self._github.ask("GET", url, await self._bearer())

    async def _bearer(self) -> str:
        app = self._target.credentials.app
        if app is None:
            return self._target.credentials.token
        return (await self._github.installation_token(self._base, app)).value


class GitHubAppSession:
    """A conversation about one app."""

    def __init__(self, github: GitHub, base: str, app: App) -> None:
        self._github = github
        self._base = base
        self._app = app
        self._memo = Memo()

    async def permissions(self) -> dict[str, str]:
        """Those of the app."""
        body = await self._memo("app", self._ask_app)
        return dict(body.get("permissions") or {})

    async def installation_permissions(self) -> dict[str, str]:
        """Those of the installation."""
        answer = await self._ask(f"/app/installations/{self._app.installation_id}")
        if answer.code != 200 or not isinstance(answer.body, dict):
            raise InstallationNotFound
        return dict(answer.body.get("permissions") or {})

    async def repositories(self) -> list[str]:
        """Those of the installation, page by page."""
        await self.installation_permissions()
        token = await self._github.installation_token(self._base, self._app)
        found: list[str] = []
        for page in range(1, PAGES + 1):
            url = f"{self._base}/installation/repositories?per_page=100&page={page}"
            answer = await self._github.ask("GET", url, token.value)
            if answer.code != 200 or not isinstance(answer.body, dict):
                raise NotAuthorized
            listed = answer.body.get("repositories") or []
            found += [str(each.get("full_name", "")) for each in listed]
            if len(listed) < 100:
                break
        return found

    async def _ask_app(self) -> dict[str, Any]:
        answer = await self._ask("/app")
        if answer.code == 404:
            raise AppNotFound
        if answer.code != 200 or not isinstance(answer.body, dict):
            raise KeyRefused
        return answer.body

    async def _ask(self, path: str) -> Answer:
        now = self._github.now().timestamp()
        signed = provisioning.appkeys.sign(self._app.app_id, self._app.private_key, now)
        return await self._github.ask("GET", f"{self._base}{path}", signed)


async def _read(response: aiohttp.ClientResponse, host: str) -> Answer:
    raw = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        raw += chunk
        if len(raw) > LARGEST:
            raise Unavailable(host, "answered more than expected")
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        body = None
    return Answer(response.status, response.headers, body)


def _is_limit(answer: Answer) -> bool:
    return answer.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in answer.headers


def _limited_until(answer: Answer, now: datetime) -> datetime | None:
    """When the limit ends; the header names a moment or a number of seconds."""
    retry, reset = (
        answer.headers.get("Retry-After", ""),
        answer.headers.get("X-RateLimit-Reset", ""),
    )
    if retry.isdecimal():
        return now + timedelta(seconds=int(retry))
    if reset.isdecimal():
        return datetime.fromtimestamp(int(reset), UTC)
    return None


def _moment(text: Any, now: datetime) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return now + timedelta(minutes=10)


def _same_origin(one: str, other: str) -> bool:
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc) == (second.scheme, second.netloc)


def _remember(known: "OrderedDict[str, Any]", key: str, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > REMEMBERED:
        known.popitem(last=False)
