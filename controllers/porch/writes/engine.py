"""The transactions around writes of package revisions: rules that depend on state, git, the commit.

`Engine.revision` is the transaction of PackageRevision (including its `approval`), and
`Engine.resources` that of PackageRevisionResources. A second write of the same revision is
rejected; a second write to the same Repository waits (`Origin.locked`). The steps of each write are
in `creation`, `lifecycle`, `deletion` and `resources`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from inkube.controllers.porch import refusals
from inkube.controllers.porch.git.depots import Depots
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.rules import Rules
from inkube.controllers.porch.writes.acceptance import Acceptance
from inkube.controllers.porch.writes.addition import Addition
from inkube.controllers.porch.writes.creation import Creation
from inkube.controllers.porch.writes.deletion import Deletion
from inkube.controllers.porch.writes.lifecycle import Lifecycle
from inkube.controllers.porch.writes.origin import Origin
from inkube.controllers.porch.writes.publication import Publication
from inkube.controllers.porch.writes.readiness import Readiness
from inkube.controllers.porch.writes.resources import Resources
from inkube.kinds import Busy, Environment, Locks, Service, Write


class Engine:
    """Combines the parts that writes need; a server has one instance."""

    def __init__(self, options: Options, depots: Depots) -> None:
        self.options = options
        self.depots = depots
        self.rules = Rules(options)
        self.locks = Locks()
        refused = self.rules.refusals
        self.origin = Origin(depots, self.locks, refused)
        self.readiness = Readiness(refused)
        acceptance = Acceptance(options, depots, refused)
        publication = Publication(options, depots, self.origin)
        self._creation = Creation(depots, self.origin, self.readiness, acceptance, refused)
        addition = Addition(depots, self.origin, acceptance, refused)
        self._lifecycle = Lifecycle(depots, self.origin, acceptance, publication, addition)
        self._deletion = Deletion(depots, self.origin, refused)
        self.files = Resources(depots, self.origin, self.readiness, acceptance, refused)

    @asynccontextmanager
    async def revision(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction of PackageRevision for a create, deletion or update, under the lock of
        the revision."""
        if write.operation == "create":
            inner = self._creation.transaction(write, env)
        elif write.operation == "delete" or write.goes:
            inner = self._deletion.transaction(write, env)
        else:
            inner = self._lifecycle.transaction(write, env)
        async with self._locked(write), inner:
            yield

    @asynccontextmanager
    async def resources(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction of PackageRevisionResources, under the lock of the revision."""
        async with self._locked(write, refusals.RESOURCES), self.files.transaction(write, env):
            yield

    @asynccontextmanager
    async def _locked(self, write: Write, resource: str = "") -> AsyncIterator[None]:
        """V3: allow one write of a revision at a time, including dry runs. Raises StatusError
        409."""
        try:
            async with self.locks.attempt(("revision", write.namespace, write.name)):
                yield
        except Busy:
            where = f'"{write.namespace}/{write.name}"'
            if resource:
                what = f"on package revision resources {where}"
                raise refusals.busy(write.name, what, resource) from None
            if write.operation == "create":
                spec = (write.obj or {})["spec"]
                what = (
                    f'to create package revision with details namespace="{write.namespace}", '
                    f'repository="{spec["repository"]}", package="{spec["packageName"]}",'
                    f'workspace="{spec["workspaceName"]}"'
                )
                raise refusals.busy(refusals.NEW, what) from None
            raise refusals.busy(write.name, f"on package revision {where}") from None

    def forget(self, namespace: str, name: str) -> None:
        """Forget a deleted Repository."""
        self.readiness.forget(namespace, name)
        self.origin.forget(namespace, name)


ENGINE: Service[Engine] = Service("porch")
