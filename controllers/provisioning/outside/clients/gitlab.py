"""GitLab's REST API (v4), the part that inkube uses: projects, branches, commits.

docs.gitlab.com/api: projects, branches, commits, members. A project is identified by its path with
`%2F` for slashes. Personal, project and group tokens are sent in `PRIVATE-TOKEN`;
GitLab expects OAuth tokens as Bearer credentials.
"""

from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.clients import rest
from inkube.controllers.provisioning.outside.clients.rest import (
    RestClient,
    RestResponse,
    RestSession,
)
from inkube.controllers.provisioning.outside.contents import Commit
from inkube.controllers.provisioning.outside.hosts import Target

DEVELOPER = 30
"""The minimum access level that can push."""
COMMITS = 100


class GitLabSession(RestSession):
    """A session for one project on any host."""

    branches = "/repository/branches"
    commit = ("commit", "id")

    def __init__(self, rest: RestClient, target: Target) -> None:
        super().__init__()
        self._rest = rest
        self._target = target
        parts = urlsplit(target.url)
        path = quote(urls.path_of(urls.normalised(target.url)), safe="")
        self._base = f"{parts.scheme}://{parts.netloc}/api/v4/projects/{path}"

    async def default_branch(self) -> str:
        return str((await self._repository()).get("default_branch") or "")

    async def is_protected(self, branch: str) -> bool:
        found = await self._branch(branch)
        return bool(found and found.get("protected") and not found.get("can_push"))

    async def may_write(self) -> bool:
        """Return whether the project or its group gives the owner of the token sufficient
        access."""
        permissions = (await self._repository()).get("permissions") or {}
        levels = [
            int((permissions.get(name) or {}).get("access_level") or 0)
            for name in ("project_access", "group_access")
        ]
        return max(levels) >= DEVELOPER

    async def history(self, branch: str) -> list[Commit]:
        query = f"ref_name={quote(branch, safe='')}&per_page={COMMITS}"
        answer = await self.fetch(f"/repository/commits?{query}")
        return [_commit(each, self._rest.now()) for each in answer.items()]

    async def fetch(self, path: str) -> RestResponse:
        token = self._target.credentials.token
        headers = {"PRIVATE-TOKEN": token} if token else {}
        return await self._rest.request("GET", f"{self._base}{path}", headers)


def _commit(item: dict[str, Any], now: datetime) -> Commit:
    name = str(item.get("author_name", ""))
    when = rest.moment(item.get("authored_date") or item.get("created_at"), now)
    message = str(item.get("message") or item.get("title") or "")
    return Commit(str(item.get("id", "")), message, name, int(when.timestamp() * 1000))
