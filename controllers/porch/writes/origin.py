"""The git of a Repository as writes use it: opened, looked at, saved to, pushed to.

What was pushed is taken back when the commit of the objects fails; what git refuses becomes a
refusal of the write. Who calls holds the Repository's lock (`alone`), except to open.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from inkube.controllers.environment import Environment
from inkube.controllers.locks import Locks
from inkube.controllers.porch import refusals, revisions, troubles
from inkube.controllers.porch import sync as syncing
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git import commits, layout
from inkube.controllers.porch.git.content import Moved, Refs, Refused, Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.porch.writes import readiness
from inkube.controllers.transactions import Write
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)


class Origin:
    """Opens repositories, and knows where their main branches were."""

    def __init__(self, depots: Depots, locks: Locks, refusals: Refusals) -> None:
        self._depots, self._locks, self._refusals = depots, locks, refusals
        self._heads: dict[tuple[str, str], str] = {}
        """By Repository: its main branch's commit as last seen."""

    @asynccontextmanager
    async def alone(self, namespace: str, name: str) -> AsyncIterator[None]:
        """The lock of a Repository: waited for."""
        async with self._locks.hold(("repository", namespace, name)):
            yield

    async def open(self, write: Write, repository: Object) -> Depot:
        """The Repository's git. Raises StatusError 422."""
        try:
            return await self._depots.open(repository)
        except troubles.OPENING as error:
            raise self.unreachable(write, repository["metadata"]["name"], error) from error

    def unreachable(self, write: Write, name: str, error: Exception) -> StatusError:
        """422: the Repository's git does not answer as it should."""
        return self._refusals.invalid(write.name, readiness.unready(name, troubles.cause(error)))

    async def look(
        self, write: Write, env: Environment, repository: Object, depot: Depot, package: str
    ) -> Refs:
        """The refs that concern a package; where somebody pushed to main, the rest is synced.

        Raises StatusError 422.
        """
        name = repository["metadata"]["name"]
        try:
            refs = await self._depots.run(
                depot.url, lambda: depot.store.refs(depot.layout.refs_of(package))
            )
            key = (write.namespace, name)
            head = refs.get(depot.layout.main, "")
            if not write.dry_run and self._heads.get(key, head) != head:
                await syncing.sync(env, self._depots, repository, depot)
            self._heads[key] = head
        except (*troubles.ASKING, syncing.BranchNotFound) as error:
            raise self.unreachable(write, name, error) from error
        return refs

    def moved(self, namespace: str, name: str, head: str) -> None:
        """We ourselves moved the main branch of a Repository."""
        self._heads[namespace, name] = head

    def forget(self, namespace: str, name: str) -> None:
        """Where main is has to be seen anew, or is of no interest any more."""
        self._heads.pop((namespace, name), None)

    async def save(
        self, write: Write, depot: Depot, draft: Object, files: Files, head: str, *, line: str = ""
    ) -> str:
        """A commit of a Draft's files on top of one of its own, not pushed.

        `line` says what was done: without it the files were only rendered, and where none differs
        there is no new commit.
        """
        if write.dry_run:
            return head
        package, workspace = draft["spec"]["packageName"], draft["spec"]["workspaceName"]
        tasks = revisions.tasks_of(draft)
        text = layout.message(line or "Rendering package", package, workspace, 0, tasks)
        make = commits.added if line else commits.changed
        return await self._depots.run(
            depot.url, partial(make, depot, head, package, files, text=text, user=write.user)
        )

    @asynccontextmanager
    async def pushed(
        self, write: Write, depot: Depot, updates: Sequence[Update], *, patient: bool = False
    ) -> AsyncIterator[None]:
        """Push, and take it back if what follows fails.

        Raises StatusError 403, 409 (for who is `patient` Moved instead) and 503.
        """
        if write.dry_run or not updates:
            yield
            return
        try:
            await self._depots.run(depot.url, lambda: depot.push(list(updates)))
        except Moved as error:
            if patient:
                raise
            raise self._refusals.conflict(write.name, f"{error} was changed in git") from error
        except Refused as error:
            raise refusals.forbidden(write.name, str(error)) from error
        except troubles.ASKING as error:
            why = f"the repository cannot be written: {troubles.cause(error)}"
            raise status.unavailable(why) from error
        try:
            yield
        except BaseException:
            await self._take_back(depot, updates)
            raise

    async def _take_back(self, depot: Depot, updates: Sequence[Update]) -> None:
        back = [Update(each.ref, each.new, each.old) for each in reversed(updates)]
        try:
            await self._depots.run(depot.url, lambda: depot.push(back))
        except (Moved, Refused, *troubles.ASKING) as error:
            # the next sync makes objects of what is there
            logger.warning(
                "a push to %s could not be taken back: %s", depot.url, troubles.cause(error)
            )
