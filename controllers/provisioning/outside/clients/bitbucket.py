"""Bitbucket Cloud's REST API (2.0), the part that inkube uses: repositories, branches, commits.

developer.atlassian.com/cloud/bitbucket/rest. API tokens are sent with the e-mail address of the
account as Basic credentials; access tokens of repositories and workspaces are Bearer credentials.
"""

import base64
from datetime import datetime
from typing import Any
from urllib.parse import quote

from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.clients import rest
from inkube.controllers.provisioning.outside.clients.rest import (
    RestClient,
    RestResponse,
    RestSession,
)
from inkube.controllers.provisioning.outside.contents import Commit
from inkube.controllers.provisioning.outside.hosts import Target

COMMITS = 100
_WRITE_PERMISSIONS = ("write", "admin")


class BitbucketSession(RestSession):
    """A session for one repository."""

    branches = "/refs/branches"
    commit = ("target", "hash")

    def __init__(self, rest: RestClient, base: str, target: Target) -> None:
        super().__init__()
        self._rest = rest
        self._target = target
        path = quote(urls.path_of(urls.normalised(target.url)))
        self._root = base.rstrip("/")
        self._path = path
        self._base = f"{self._root}/repositories/{path}"

    async def default_branch(self) -> str:
        main = (await self._repository()).get("mainbranch") or {}
        return str(main.get("name") or "")

    async def branch_names(self) -> list[str]:
        """Return the first hundred branches."""
        found = await self._values(f"{self._base}{self.branches}?pagelen=100")
        return sorted(str(each.get("name", "")) for each in found)

    async def is_protected(self, branch: str) -> bool:
        """Return False: Bitbucket shows restrictions only to administrators, so only a push reveals
        them."""
        return False

    async def may_write(self) -> bool:
        """Return whether the owner of the token can write to the repository."""
        where = f'repository.full_name="{self._path}"'
        query = f"q={quote(where)}"
        found = await self._values(f"{self._root}/user/permissions/repositories?{query}")
        return any(each.get("permission") in _WRITE_PERMISSIONS for each in found)

    async def history(self, branch: str) -> list[Commit]:
        path = f"{self._base}/commits/{quote(branch, safe='')}?pagelen={COMMITS}"
        return [_commit(each, self._rest.now()) for each in await self._values(path)]

    async def fetch(self, path: str) -> RestResponse:
        return await self._fetch(f"{self._base}{path}")

    async def _values(self, url: str) -> list[dict[str, Any]]:
        found = (await self._fetch(url)).object().get("values")
        return [each for each in found or [] if isinstance(each, dict)]

    async def _fetch(self, url: str) -> RestResponse:
        credentials = self._target.credentials
        headers = {"Accept": "application/json"}
        if credentials.email and credentials.token:
            pair = f"{credentials.email}:{credentials.token}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        elif credentials.token:
            headers["Authorization"] = f"Bearer {credentials.token}"
        return await self._rest.request("GET", url, headers)


def _commit(item: dict[str, Any], now: datetime) -> Commit:
    author = item.get("author") or {}
    account = author.get("user") or {}
    name = str(account.get("display_name") or str(author.get("raw", "")).partition(" <")[0])
    when = int(rest.moment(item.get("date"), now).timestamp() * 1000)
    nickname = str(account.get("nickname") or "")
    message = str(item.get("message", ""))
    return Commit(str(item.get("hash", "")), message, name, when, nickname)
