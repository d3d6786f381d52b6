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
from inkube.controllers.provisioning.outside.clients.rest import RestClient, RestResponse
from inkube.controllers.provisioning.outside.contents import Commit
from inkube.controllers.provisioning.outside.hosts import RepositoryNotFound, Target
from inkube.kinds import Memo

DEVELOPER = 30
"""The minimum access level that can push."""
COMMITS = 100


class GitLabSession:
    """A session for one project on any host."""

    def __init__(self, rest: RestClient, target: Target) -> None:
        self._rest = rest
        self._target = target
        self._memo = Memo()
        parts = urlsplit(target.url)
        path = quote(urls.path_of(urls.normalised(target.url)), safe="")
        self._base = f"{parts.scheme}://{parts.netloc}/api/v4/projects/{path}"

    async def default_branch(self) -> str:
        """Return the default branch according to GitLab; "" if the project has no branches yet."""
        return str((await self._project()).get("default_branch") or "")

    async def head(self, branch: str) -> str | None:
        """Return the commit of a branch; None if the branch does not exist."""
        found = await self._branch(branch)
        return str((found.get("commit") or {}).get("id", "")) if found is not None else None

    async def branch_names(self) -> list[str]:
        """Return the first hundred branches."""
        answer = await self._fetch("/repository/branches?per_page=100")
        return sorted(str(each.get("name", "")) for each in answer.items())

    async def is_protected(self, branch: str) -> bool:
        """Return whether protection rules prevent this token from pushing to the branch."""
        found = await self._branch(branch)
        return bool(found and found.get("protected") and not found.get("can_push"))

    async def may_write(self) -> bool:
        """Return whether the project or its group gives the owner of the token sufficient
        access."""
        permissions = (await self._project()).get("permissions") or {}
        levels = [
            int((permissions.get(name) or {}).get("access_level") or 0)
            for name in ("project_access", "group_access")
        ]
        return max(levels) >= DEVELOPER

    async def history(self, branch: str) -> list[Commit]:
        """Return the latest commits of a branch, at most COMMITS."""
        query = f"ref_name={quote(branch, safe='')}&per_page={COMMITS}"
        answer = await self._fetch(f"/repository/commits?{query}")
        return [_commit(each, self._rest.now()) for each in answer.items()]

    async def _project(self) -> dict[str, Any]:
        return await self._memo("project", self._fetch_project)

    async def _fetch_project(self) -> dict[str, Any]:
        return (await self._fetch("")).object()

    async def _branch(self, branch: str) -> dict[str, Any] | None:
        return await self._memo(("branch", branch), lambda: self._fetch_branch(branch))

    async def _fetch_branch(self, branch: str) -> dict[str, Any] | None:
        try:
            answer = await self._fetch(f"/repository/branches/{quote(branch, safe='')}")
            return answer.object()
        except RepositoryNotFound:
            return None

    async def _fetch(self, path: str) -> RestResponse:
        token = self._target.credentials.token
        headers = {"PRIVATE-TOKEN": token} if token else {}
        return await self._rest.request("GET", f"{self._base}{path}", headers)


def _commit(item: dict[str, Any], now: datetime) -> Commit:
    name = str(item.get("author_name", ""))
    when = rest.moment(item.get("authored_date") or item.get("created_at"), now)
    message = str(item.get("message") or item.get("title") or "")
    return Commit(str(item.get("id", "")), message, name, int(when.timestamp() * 1000))
