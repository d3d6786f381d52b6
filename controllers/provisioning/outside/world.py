"""The scripted world: who answers for a host or an app, and what was done there.

The kinds are `world_types`, which are read when a check asks, so an edit holds from the next check
on. Commits and tokens are remembered here, for as long as the server lives.
"""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkube.controllers.checks import Unreachable
from inkube.controllers.client import Client
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.contents import Commit, Edit
from inkube.controllers.provisioning.outside.hosts import NotAuthorized, refusal
from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp, RegisteredHook
from inkube.schemas import models
from inkube.schemas.clock import Clock
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

BRANCHES = 1_000
TOKENS = 10_000
TOKEN_SECONDS = 3600.0
"""How many tokens the world remembers, and how long one holds."""
COMMITS = 100
"""So many commits of so many branches are remembered, the latest."""
TRIES = 20
"""So often an edit of a GitHost is made anew because another came before it."""


class Issued(NamedTuple):
    """A token the world gave: for which repository of which host, until when."""

    host: str
    path: str
    may_write: bool
    ends: float


class World:
    """Finds who answers for a host or an app; None means nobody here does."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._history: OrderedDict[tuple[str, str, str], deque[Commit]] = OrderedDict()
        self._issued: OrderedDict[str, Issued] = OrderedDict()

    async def find_host(self, name: str) -> GitHost | None:
        """The host of that name."""
        return await self._find(GitHost, name)

    async def find_app(self, app_id: str) -> GitHubApp | None:
        """The app of that ID."""
        return await self._find(GitHubApp, app_id)

    async def endure(self, host: GitHost) -> None:
        """Misbehave as the host's outage says. Raises what its code stands for."""
        outage = host.spec.outage
        if outage is None:
            return
        if outage.delay_milliseconds:
            await self._clock.sleep(outage.delay_milliseconds / 1000)
        if outage.code is not None:
            raise refusal(host.metadata.name, outage.code)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now().timestamp()

    def note(self, place: tuple[str, str, str], head: str, message: str = "initial") -> None:
        """Remember a head of (host, path, branch) as a commit, unless it is the newest."""
        seen = self._history.setdefault(place, deque(maxlen=COMMITS))
        self._history.move_to_end(place)
        while len(self._history) > BRANCHES:
            self._history.popitem(last=False)
        if not seen or seen[0].ref != head:
            seen.appendleft(Commit(head, message, "inkube", int(self.now() * 1000)))

    def history(self, place: tuple[str, str, str]) -> list[Commit]:
        """The commits seen there, the newest first."""
        return list(self._history.get(place, ()))

    def issue(self, host: str, path: str, *, may_write: bool) -> str:
        """A token for one repository of a host, which is accepted for an hour."""
        value = secrets.token_urlsafe(24)
        ends = self.now() + TOKEN_SECONDS
        self._issued[value] = Issued(host, path, may_write, ends)
        while len(self._issued) > TOKENS:
            self._issued.popitem(last=False)
        return value

    def issued(self, value: str, host: str, path: str) -> Issued | None:
        """What is known of a token that was given for that place and still holds."""
        found = self._issued.get(value)
        is_good = found is not None and found[:2] == (host, path) and found.ends > self.now()
        return found if is_good else None

    async def exchange(self, host: str, code: str) -> str | None:
        """The token for a code of OAuth: a token's value stands for itself. None: nobody's host.

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
        """Change what a host keeps of webhooks, in its status."""

        def changed(obj: Object) -> None:
            before = models.parse(GitHost, obj).status.webhooks or []
            hooks = [models.dump(each) for each in change(list(before))]
            obj["status"] = {**(obj.get("status") or {}), "webhooks": hooks}

        await self._update(host, changed, subresource="status")

    async def edit(
        self, host: str, path: str, branch: str, edits: Sequence[Edit], base: str
    ) -> None:
        """Change the files of a repository by an update of its GitHost."""

        def changed(obj: Object) -> None:
            spec = models.parse(GitHost, obj).spec
            for repository in spec.repositories:
                if urls.normalised(repository.path.strip("/")) == path:
                    repository.change(branch, edits, base)
            obj["spec"]["repositories"] = [models.dump(each) for each in spec.repositories]

        await self._update(host, changed)

    async def _update(
        self, host: str, change: Callable[[Object], None], subresource: str = ""
    ) -> None:
        """Change a GitHost in place, anew on the newer one where somebody else edited it; who is
        always late is told so after TRIES. Raises StatusError."""
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

    async def _find(self, model: type[models.R], name: str) -> "models.R | None":
        if not name:
            return None
        try:
            return models.parse(model, await self._client.get(model.gvr, name))
        except models.Unreadable as error:
            raise Unreachable(name, f"the world's {name} cannot be understood") from error
        except StatusError as error:
            if error.code in (400, 404):
                return None
            raise
