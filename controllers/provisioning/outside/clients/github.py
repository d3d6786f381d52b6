"""GitHub's REST API, the part that inkube uses: apps, repositories, branches, commits, webhooks.

GitHub REST API, version 2022-11-28; Enterprise servers serve the same API below `/api/v3`.
"""

import hashlib
from collections import OrderedDict
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.clients import appkeys, rest
from inkube.controllers.provisioning.outside.clients.rest import (
    RestClient,
    RestResponse,
    RestSession,
)
from inkube.controllers.provisioning.outside.contents import Commit
from inkube.controllers.provisioning.outside.hosts import (
    App,
    AppNotFound,
    Hook,
    InstallationNotFound,
    InstallationToken,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
    Target,
)
from inkube.kinds import Memo

PAGES = 30
"""The maximum number of pages of repositories of an installation, with 100 repositories each."""
COMMITS = 100
"""The maximum number of commits of a branch that are read, the latest ones."""
_TOKEN_MARGIN = timedelta(minutes=5)


class GitHub:
    """Opens sessions with GitHub and with Enterprise servers."""

    def __init__(self, url: str, rest: RestClient) -> None:
        self._url = url.rstrip("/")
        self._rest = rest
        self._tokens: OrderedDict[str, InstallationToken] = OrderedDict()

    def repository(self, target: Target) -> "GitHubSession":
        """Return a session for one repository."""
        return GitHubSession(self, self._base_for(target), target)

    def app(self, app: App) -> "GitHubAppSession":
        """Return a session for one app."""
        base = f"{app.server_url}/api/v3" if app.server_url else self._url
        return GitHubAppSession(self, base, app)

    def now(self) -> datetime:
        """Return the current time."""
        return self._rest.now()

    async def request(self, method: str, url: str, bearer: str, body: Any = None) -> RestResponse:
        """Send one request. Raises OutsideError."""
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        return await self._rest.request(method, url, headers, body)

    async def installation_token(self, base: str, app: App) -> InstallationToken:
        """Return a token of the installation, reused until shortly before it expires.

        Raises NotAuthorized if GitHub rejects app, key or installation, and OutsideError.
        """
        identity = f"{base} {app.app_id} {app.installation_id} {app.private_key}"
        known = hashlib.sha256(identity.encode()).hexdigest()
        token = self._tokens.get(known)
        if token is None or token.expires - _TOKEN_MARGIN <= self.now():
            token = await self._new_token(base, app, None)
            rest.remember(self._tokens, known, token)
        return token

    async def token_for(self, target: Target) -> InstallationToken:
        """Return a new token of the target's app, limited to the target. Raises NotAuthorized,
        OutsideError."""
        app = target.credentials.app
        assert app is not None, "asked for repositories that log in with an app"
        names = [urls.path_of(urls.normalised(target.url)).rpartition("/")[2]]
        return await self._new_token(self._base_for(target), app, {"repositories": names})

    async def token_of(self, target: Target) -> str:
        """Return the token for git operations: that of the target, or one of the installation of
        its app. Raises NotAuthorized, OutsideError."""
        app = target.credentials.app
        if app is None:
            return target.credentials.token
        return (await self.installation_token(self._base_for(target), app)).value

    async def _new_token(self, base: str, app: App, body: Any) -> InstallationToken:
        try:
            signed = appkeys.sign(app.app_id, app.private_key, self.now().timestamp())
        except KeyRefused as error:
            raise NotAuthorized from error
        path = f"{base}/app/installations/{app.installation_id}/access_tokens"
        answer = await self.request("POST", path, signed, body)
        if answer.code != HTTPStatus.CREATED or not isinstance(answer.body, dict):
            raise NotAuthorized(answer.code)
        hence = self.now() + timedelta(minutes=10)
        expires = rest.moment(answer.body.get("expires_at"), hence)
        permissions = answer.body.get("permissions") or {}
        return InstallationToken(str(answer.body["token"]), expires, permissions)

    def _base_for(self, target: Target) -> str:
        """Return the API of the host of a repository: Enterprise servers have their own."""
        if target.type == "github":
            return self._url
        if target.server_url:
            return f"{target.server_url.rstrip('/')}/api/v3"
        parts = urlsplit(target.url)
        return f"{parts.scheme}://{parts.netloc}/api/v3"


class GitHubSession(RestSession):
    """A session for one repository."""

    branches = "/branches"
    commit = ("commit", "sha")

    def __init__(self, github: GitHub, base: str, target: Target) -> None:
        super().__init__()
        self._github = github
        self._base = base
        self._target = target

    async def default_branch(self) -> str:
        return str((await self._repository()).get("default_branch") or "")

    async def is_protected(self, branch: str) -> bool:
        """Return whether the branch is protected, as far as GitHub reports it."""
        found = await self._branch(branch)
        return bool(found and found.get("protected"))

    async def may_write(self) -> bool:
        """Return whether the token can push."""
        app = self._target.credentials.app
        if app is not None:
            token = await self._github.installation_token(self._base, app)
            return token.permissions.get("contents") == "write"
        permissions = (await self._repository()).get("permissions") or {}
        return bool(permissions.get("push"))

    async def history(self, branch: str) -> list[Commit]:
        answer = await self.fetch(f"/commits?sha={quote(branch, safe='')}&per_page={COMMITS}")
        return [_commit(each, self._github.now()) for each in answer.items()]

    async def put_hook(self, hook: Hook, hook_id: int | None) -> int:
        config = {"url": hook.url, "content_type": "json", "secret": hook.secret}
        body = {"name": "web", "active": True, "events": list(hook.events), "config": config}
        if hook_id is not None:
            answer = await self._request("PATCH", f"/hooks/{hook_id}", body)
            if answer.code != HTTPStatus.NOT_FOUND:
                return int(answer.object()["id"])
        answer = await self._request("POST", "/hooks", body)
        if answer.code == HTTPStatus.CREATED and isinstance(answer.body, dict):
            return int(answer.body["id"])
        if answer.code == HTTPStatus.NOT_FOUND:  # GitHub's response if the token has no access
            raise NotAuthorized(HTTPStatus.FORBIDDEN)
        return int(answer.object()["id"])

    async def remove_hook(self, hook_id: int) -> None:
        answer = await self._request("DELETE", f"/hooks/{hook_id}")
        if answer.code not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND):
            answer.object()

    async def fetch(self, path: str) -> RestResponse:
        return await self._request("GET", path)

    async def _request(self, method: str, path: str, body: Any = None) -> RestResponse:
        try:
            owner, name = urls.owner_and_name(self._target.url)
        except ValueError as error:
            raise RepositoryNotFound from error
        url = f"{self._base}/repos/{quote(owner, safe='')}/{quote(name, safe='')}{path}"
        token = await self._github.token_of(self._target)
        return await self._github.request(method, url, token, body)


def _commit(item: dict[str, Any], now: datetime) -> Commit:
    commit, account = item.get("commit") or {}, item.get("author") or {}
    author = commit.get("author") or {}
    when = rest.moment(author.get("date"), now)
    return Commit(
        ref=str(item.get("sha", "")),
        message=str(commit.get("message", "")),
        author=str(author.get("name", "")),
        created=int(when.timestamp() * 1000),
        username=str(account.get("login") or ""),
        avatar=str(account.get("avatar_url") or ""),
    )


class GitHubAppSession:
    """A session for one app."""

    def __init__(self, github: GitHub, base: str, app: App) -> None:
        self._github = github
        self._base = base
        self._app = app
        self._memo = Memo()

    async def permissions(self) -> dict[str, str]:
        body = await self._memo("app", self._fetch_app)
        return dict(body.get("permissions") or {})

    async def installation_permissions(self) -> dict[str, str]:
        answer = await self._request(f"/app/installations/{self._app.installation_id}")
        if answer.code != HTTPStatus.OK or not isinstance(answer.body, dict):
            raise InstallationNotFound
        return dict(answer.body.get("permissions") or {})

    async def installations(self) -> list[str]:
        answer = await self._request("/app/installations?per_page=100")
        listed = answer.body if isinstance(answer.body, list) else []
        return [str(each.get("id", "")) for each in listed if isinstance(each, dict)]

    async def repositories(self) -> list[str]:
        """Return the repositories of the installation, at most PAGES pages. Raises
        NotAuthorized."""
        await self.installation_permissions()
        token = await self._github.installation_token(self._base, self._app)
        found: list[str] = []
        for page in range(1, PAGES + 1):
            url = f"{self._base}/installation/repositories?per_page=100&page={page}"
            answer = await self._github.request("GET", url, token.value)
            if answer.code != HTTPStatus.OK or not isinstance(answer.body, dict):
                raise NotAuthorized(answer.code)
            listed = answer.body.get("repositories") or []
            found += [str(each.get("full_name", "")) for each in listed]
            if len(listed) < 100:
                break
        return found

    async def _fetch_app(self) -> dict[str, Any]:
        answer = await self._request("/app")
        if answer.code == HTTPStatus.NOT_FOUND:
            raise AppNotFound
        if answer.code != HTTPStatus.OK or not isinstance(answer.body, dict):
            raise KeyRefused
        return answer.body

    async def _request(self, path: str) -> RestResponse:
        now = self._github.now().timestamp()
        signed = appkeys.sign(self._app.app_id, self._app.private_key, now)
        return await self._github.request("GET", f"{self._base}{path}", signed)
