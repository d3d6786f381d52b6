"""The scripted world: responses for hosts and apps, and the changes that were made there.

Its kinds are in `world_types`. Each check reads them again, so an edit takes effect at the next
check. Commits and tokens are kept in memory as long as the server runs.
"""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from inkube import kinds
from inkube.client import Client, Object
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.contents import Commit, Edit
from inkube.controllers.provisioning.outside.hosts import NotAuthorized, refusal
from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp, RegisteredHook
from inkube.kinds import Clock, Reason, StatusError, Unreachable

R = TypeVar("R", bound=kinds.Resource)
BRANCHES = 1_000
TOKENS = 10_000
TOKEN_SECONDS = 3600.0
"""The maximum number of tokens that the world keeps, and the lifetime of a token in seconds."""
COMMITS = 100
"""The maximum number of commits per branch that are kept, the latest ones, for at most BRANCHES
branches."""
TRIES = 20
"""The number of attempts to edit a GitHost if other clients edit it at the same time."""


class IssuedToken(NamedTuple):
    """A token that the world issued: its host and repository, its permission, its expiration
    time."""

    host: str
    path: str
    may_write: bool
    ends: float


class World:
    """Finds the object that represents a host or an app; None if the world does not contain one."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._history: OrderedDict[tuple[str, str, str], deque[Commit]] = OrderedDict()
        self._issued_tokens: OrderedDict[str, IssuedToken] = OrderedDict()

    async def find_host(self, name: str) -> GitHost | None:
        """Return the host with that name."""
        return await self._find(GitHost, name)

    async def find_app(self, app_id: str) -> GitHubApp | None:
        """Return the app with that ID."""
        return await self._find(GitHubApp, app_id)

    async def endure(self, host: GitHost) -> None:
        """Apply the outage of the host: wait for its delay. Raises the error of its status code."""
        outage = host.spec.outage
        if outage is None:
            return
        if outage.delay_milliseconds:
            await self._clock.sleep(outage.delay_milliseconds / 1000)
        if outage.code is not None:
            raise refusal(host.metadata.name, outage.code)

    def now(self) -> float:
        """Return the current time in seconds since the epoch."""
        return self._clock.now().timestamp()

    def note(self, branch_key: tuple[str, str, str], head: str, message: str = "initial") -> None:
        """Add a head of (host, path, branch) to the history as a commit, unless it is the newest
        one."""
        seen = self._history.setdefault(branch_key, deque(maxlen=COMMITS))
        self._history.move_to_end(branch_key)
        while len(self._history) > BRANCHES:
            self._history.popitem(last=False)
        if not seen or seen[0].ref != head:
            seen.appendleft(Commit(head, message, "inkube", int(self.now() * 1000)))

    def history(self, branch_key: tuple[str, str, str]) -> list[Commit]:
        """Return the recorded commits of a branch, the newest first."""
        return list(self._history.get(branch_key, ()))

    def issue(self, host: str, path: str, *, may_write: bool) -> str:
        """Issue a token for one repository of a host, valid for TOKEN_SECONDS."""
        value = secrets.token_urlsafe(24)
        ends = self.now() + TOKEN_SECONDS
        self._issued_tokens[value] = IssuedToken(host, path, may_write, ends)
        while len(self._issued_tokens) > TOKENS:
            self._issued_tokens.popitem(last=False)
        return value

    def token_data(self, value: str, host: str, path: str) -> IssuedToken | None:
        """Return the data of a valid token that was issued for that repository; None for other
        tokens."""
        found = self._issued_tokens.get(value)
        is_good = found is not None and found[:2] == (host, path) and found.ends > self.now()
        return found if is_good else None

    async def exchange(self, host: str, code: str) -> str | None:
        """Exchange an OAuth code for a token: the code is the token itself. None if the host is not
        scripted.

        Raises NotAuthorized, OutsideError.
        """
        found = await self.find_host(host)
        if found is None:
            return None
        await self.endure(found)
        tokens = {token.value for token in found.spec.tokens}
        if tokens and code not in tokens:
            raise NotAuthorized
        return code

    async def set_hooks(
        self, host: str, change: Callable[[list[RegisteredHook]], list[RegisteredHook]]
    ) -> None:
        """Change the webhooks in the status of a host."""

        def change_hooks(obj: Object) -> None:
            before = kinds.parse(GitHost, obj).status.webhooks or []
            hooks = [kinds.dump(each) for each in change(list(before))]
            obj["status"] = {**(obj.get("status") or {}), "webhooks": hooks}

        await self._update(host, change_hooks, subresource="status")

    async def edit(
        self, host: str, path: str, branch: str, edits: Sequence[Edit], base: str
    ) -> None:
        """Change the files of a repository by an update of its GitHost."""

        def change_files(obj: Object) -> None:
            spec = kinds.parse(GitHost, obj).spec
            for repository in spec.repositories:
                if urls.normalised(repository.path.strip("/")) == path:
                    repository.change(branch, edits, base)
            obj["spec"]["repositories"] = [kinds.dump(each) for each in spec.repositories]

        await self._update(host, change_files)

    async def _update(
        self, host: str, change: Callable[[Object], None], subresource: str = ""
    ) -> None:
        """Change a GitHost in place; repeat the change on the newer version if another client
        edited it, at most TRIES times. Raises StatusError."""
        for attempt in range(1, TRIES + 1):
            obj = await self._client.get(GitHost.gvr, host)
            change(obj)
            try:
                await self._client.update(obj, subresource=subresource)
            except StatusError as error:
                if error.reason != Reason.CONFLICT or attempt == TRIES:
                    raise
                continue
            return

    async def _find(self, model: type[R], name: str) -> "R | None":
        if not name:
            return None
        try:
            return kinds.parse(model, await self._client.get(model.gvr, name))
        except kinds.Unreadable as error:
            raise Unreachable(name, f"the world's {name} cannot be understood") from error
        except StatusError as error:
            if error.code in (400, 404):
                return None
            raise
