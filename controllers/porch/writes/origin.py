"""The git repository of a Repository for writes: open, read refs, save, push.

If the commit of the objects fails, the push is reverted; an error of git becomes an error of the
write. Callers hold the lock of the Repository (`alone`), except for `open`.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from inkube.client import Object
from inkube.controllers.porch import refusals, revisions, troubles
from inkube.controllers.porch import sync as syncing
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git import commits, layout
from inkube.controllers.porch.git.content import PushRejected, RefMoved, Refs, Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.porch.writes import readiness
from inkube.kinds import Environment, Locks, StatusError, Write, status

logger = logging.getLogger(__name__)


class Origin:
    """Opens repositories, and stores the last known heads of their main branches."""

    def __init__(self, depots: Depots, locks: Locks, refusals: Refusals) -> None:
        self._depots, self._locks, self._refusals = depots, locks, refusals
        self._heads: dict[tuple[str, str], str] = {}
        """The last known commit of the main branch, by Repository."""

    @asynccontextmanager
    async def locked(self, namespace: str, name: str) -> AsyncIterator[None]:
        """Hold the lock of a Repository; wait until it is free."""
        async with self._locks.hold(("repository", namespace, name)):
            yield

    async def open(self, write: Write, repository: Object) -> Depot:
        """Open the git repository of a Repository. Raises StatusError 422."""
        try:
            return await self._depots.open(repository)
        except troubles.OPEN_ERRORS as error:
            raise self.unreachable(write, repository["metadata"]["name"], error) from error

    def unreachable(self, write: Write, name: str, error: Exception) -> StatusError:
        """422: the git repository of the Repository cannot be used."""
        return self._refusals.invalid(write.name, readiness.unready(name, troubles.cause(error)))

    async def refs(
        self, write: Write, env: Environment, repository: Object, depot: Depot, package: str
    ) -> Refs:
        """Return the refs that concern a package. If the main branch changed outside of this
        server, the Repository is synced first. Raises StatusError 422."""
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
        except (*troubles.REQUEST_ERRORS, syncing.BranchNotFound) as error:
            raise self.unreachable(write, name, error) from error
        return refs

    def note_head(self, namespace: str, name: str, head: str) -> None:
        """Record that this server moved the main branch of a Repository."""
        self._heads[namespace, name] = head

    def forget(self, namespace: str, name: str) -> None:
        """Forget the last known head of the main branch."""
        self._heads.pop((namespace, name), None)

    async def save(
        self, write: Write, depot: Depot, draft: Object, files: Files, head: str, *, line: str = ""
    ) -> str:
        """Commit the files of a Draft on top of its commit `head`, without a push.

        `line` describes the change. Without it, the files were only rendered, and if no file
        differs, no commit is created. A dry run returns `head`.
        """
        if write.dry_run:
            return head
        package, workspace = draft["spec"]["packageName"], draft["spec"]["workspaceName"]
        tasks = revisions.tasks_of(draft)
        text = layout.message(line or "Rendering package", package, workspace, 0, tasks)
        make = commits.commit_files if line else commits.commit_changes
        return await self._depots.run(
            depot.url, partial(make, depot, head, package, files, text=text, user=write.user)
        )

    @asynccontextmanager
    async def push(
        self, write: Write, depot: Depot, updates: Sequence[Update], *, patient: bool = False
    ) -> AsyncIterator[None]:
        """Push, and revert the push if the following code fails.

        Raises StatusError 403, 409 and 503; if `patient`, Moved instead of 409.
        """
        if write.dry_run or not updates:
            yield
            return
        try:
            await self._depots.run(depot.url, lambda: depot.push(list(updates)))
        except RefMoved as error:
            if patient:
                raise
            raise self._refusals.conflict(write.name, f"{error} was changed in git") from error
        except PushRejected as error:
            raise refusals.forbidden(write.name, str(error)) from error
        except troubles.REQUEST_ERRORS as error:
            why = f"the repository cannot be written: {troubles.cause(error)}"
            raise status.unavailable(why) from error
        try:
            yield
        except BaseException:
            await self._revert(depot, updates)
            raise

    async def _revert(self, depot: Depot, updates: Sequence[Update]) -> None:
        back = [Update(each.ref, each.new, each.old) for each in reversed(updates)]
        try:
            await self._depots.run(depot.url, lambda: depot.push(back))
        except (RefMoved, PushRejected, *troubles.REQUEST_ERRORS) as error:
            # the next sync updates the objects to the pushed state
            logger.warning(
                "a push to %s could not be taken back: %s", depot.url, troubles.cause(error)
            )
