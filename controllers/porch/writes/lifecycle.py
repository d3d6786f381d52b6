"""The update of a PackageRevision, of the object itself or of `approval`.

A changed Draft is a commit on its branch, and a change of lifecycle moves a branch: Draft ⇄
Proposed here, Proposed → Published in `publication`; Published ⇄ DeletionProposed creates or
deletes a marker branch. `rules` defines the allowed changes (L4 to L9, A1 to A4); this module
checks S2 and S3 (`acceptance`). `addition` runs the tasks that an update adds to a Draft.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.files import kptfile
from inkube.controllers.porch.git.content import Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.git.layout import DELETION_PROPOSED, DRAFT, FINAL, PROPOSED, PUBLISHED
from inkube.controllers.porch.types import CONFIG
from inkube.controllers.porch.writes.acceptance import Acceptance
from inkube.controllers.porch.writes.addition import Addition
from inkube.controllers.porch.writes.origin import Origin
from inkube.controllers.porch.writes.publication import Publication
from inkube.controllers.porch.writes.tasks import read
from inkube.formats import same
from inkube.kinds import Environment, Write, status


class Lifecycle:
    """Moves a revision from one state to the next."""

    def __init__(
        self,
        depots: Depots,
        origin: Origin,
        acceptance: Acceptance,
        publication: Publication,
        addition: Addition,
    ) -> None:
        self._depots, self._origin = depots, origin
        self._acceptance, self._publication = acceptance, publication
        self._addition = addition

    @asynccontextmanager
    async def transaction(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction around the commit of an update: its files, then the moved branches.
        Raises StatusError."""
        obj, old = write.obj, write.old
        assert obj is not None, "an update has both"
        assert old is not None, "an update has both"
        _keep_tasks(write, obj, old)
        before, now = old["spec"]["lifecycle"], obj["spec"]["lifecycle"]
        name = old["spec"]["repository"]
        repository = await storedobjects.repository(env.client, name, write.namespace)
        edits = before == DRAFT and (_adds(obj, old) or bool(_edits(obj, old)))
        if repository is None and _adds(obj, old):
            raise status.not_found(CONFIG, "repositories", name)
        if repository is None or not (now != before or edits):
            await write.confirm()
            revisions.settle(obj)
            yield
            return
        async with self._origin.locked(write.namespace, name):
            await write.confirm()
            depot = await self._origin.open(write, repository)
            if write.subresource == "approval" and (before, now) == (PROPOSED, PUBLISHED):
                inner = self._publication.transaction(write, env, repository, depot)
            elif before in FINAL:
                inner = self._mark(write, depot, obj, old)
            else:
                inner = self._work(write, env, depot, obj, old)
            async with inner:
                yield

    @asynccontextmanager
    async def _work(
        self, write: Write, env: Environment, depot: Depot, obj: Object, old: Object
    ) -> AsyncIterator[None]:
        """Change a Draft, propose it, or return a proposed revision to Draft."""
        spec, before = obj["spec"], old["spec"]
        package, workspace = before["packageName"], before["workspaceName"]
        at = depot.layout.draft_branch(before["lifecycle"], package, workspace)
        to = depot.layout.draft_branch(spec["lifecycle"], package, workspace)
        head = commit = revisions.commit_of(old)
        if before["lifecycle"] == DRAFT:
            path = depot.layout.path(package)
            files = await self._depots.run(depot.url, partial(read, depot.store, head, path)) or {}
            files, commit = await self._addition.carried_out(write, env, depot, files, head)
            edits = _edits(obj, old)
            rendered = await self._acceptance.render(
                write.name, kptfile.edit(files, *edits) if edits else files
            )
            commit = await self._origin.save(write, depot, obj, rendered.files, commit)
            revisions.describe(obj, depot, rendered.files, depot.layout.ref_name(to), commit)
        else:
            revisions.place(obj, depot, depot.layout.ref_name(to), commit)
            revisions.settle(obj)
        async with self._origin.push(write, depot, _moves(at, to, head, commit)):
            yield

    @asynccontextmanager
    async def _mark(
        self, write: Write, depot: Depot, obj: Object, old: Object
    ) -> AsyncIterator[None]:
        """Published ⇄ DeletionProposed: create or delete the marker branch."""
        branch = depot.layout.deletion(old["spec"]["packageName"], revisions.revision_of(old))
        refs = await self._depots.run(depot.url, lambda: depot.store.refs([branch]))
        there, commit = refs.get(branch, ""), revisions.commit_of(old)
        wanted = commit if obj["spec"]["lifecycle"] == DELETION_PROPOSED else ""
        revisions.settle(obj)
        updates = [Update(branch, there, wanted)] if there != wanted else []
        async with self._origin.push(write, depot, updates):
            yield


def _keep_tasks(write: Write, obj: Object, old: Object) -> None:
    """Keep the stored tasks if an update contains no tasks. The client receives a warning if this
    keeps some."""
    spec, tasks = obj["spec"], revisions.tasks_of(old)
    if revisions.tasks_of(obj):
        return
    if tasks:
        spec["tasks"] = tasks
        write.warn("spec.tasks cannot be removed; they stay as they are")
    else:
        spec.pop("tasks", None)


def _adds(obj: Object, old: Object) -> bool:
    """Return whether the update adds tasks."""
    return len(revisions.tasks_of(obj)) > len(revisions.tasks_of(old))


def _edits(obj: Object, old: Object) -> list[kptfile.Edit]:
    """Return the changes of an update of a Draft to its Kptfile."""
    spec, before = obj["spec"], old["spec"]
    changes: list[kptfile.Edit] = []
    if not same(spec.get("packageMetadata"), before.get("packageMetadata")):
        changes.append(partial(kptfile.replace_metadata, spec.get("packageMetadata") or {}))
    if not same(spec.get("readinessGates"), before.get("readinessGates")):
        changes.append(partial(kptfile.replace_gates, spec.get("readinessGates") or []))
    conditions = (obj.get("status") or {}).get("conditions")
    if not same(conditions, (old.get("status") or {}).get("conditions")):
        changes.append(partial(kptfile.replace_conditions, conditions or []))
    return changes


def _moves(at: str, to: str, head: str, commit: str) -> list[Update]:
    """Return the updates that move a revision from the head of one branch to a commit on another or
    the same branch."""
    if at == to:
        return [Update(at, head, commit)] if head != commit else []
    return [Update(to, "", commit), Update(at, head, "")]
