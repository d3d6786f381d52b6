"""The deletion of a PackageRevision: deletes its branch or tag, or, for the placeholder, its files
on the main branch.

It checks D1 (a published revision must be proposed for deletion first) and D2 (no revision was
created from it), unless the namespace or the Repository is being deleted. In that case, git keeps
all content.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from inkube.client import Object, get_or_none
from inkube.controllers.porch import refusals, revisions, storedobjects
from inkube.controllers.porch.git import commits
from inkube.controllers.porch.git.content import Refs, Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.git.layout import FINAL, PLACEHOLDER, PUBLISHED
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.porch.writes.origin import Origin
from inkube.kinds import Environment, Record, Write, status


class Deletion:
    """Deletes revisions in git, together with their objects."""

    def __init__(self, depots: Depots, origin: Origin, refusals: Refusals) -> None:
        self._depots, self._origin, self._refusals = depots, origin, refusals

    @asynccontextmanager
    async def transaction(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction around the commit of a deletion: check references to the revision, then
        delete its branch or tag. Raises StatusError."""
        old = write.old
        assert old is not None, "what is deleted is there"
        name, package = old["spec"]["repository"], old["spec"]["packageName"]
        repository = await storedobjects.repository(env.client, name, write.namespace)
        if repository is not None and repository["metadata"].get("deletionTimestamp"):
            repository = None
        is_ending = await _is_ending(env, write.namespace)
        if write.operation == "delete" and not is_ending and repository is not None:
            await _check(write, env, old)
        async with self._origin.locked(write.namespace, name):
            await write.confirm()
            if not write.goes:
                yield
                return
            siblings = await storedobjects.of_package(env.client, write.namespace, name, package)
            others = [each for each in siblings if each["metadata"]["name"] != write.name]
            write.records += [Record("update", each) for each in revisions.relabelled(others)]
            write.records += await storedobjects.summary_record(
                env.client, write.namespace, name, package, others
            )
            if is_ending or repository is None:
                yield
                return
            depot = await self._origin.open(write, repository)
            updates = await self._updates(write, depot, old)
            async with self._origin.push(write, depot, updates):
                yield

    async def _updates(self, write: Write, depot: Depot, old: Object) -> list[Update]:
        """Return the updates of refs for a deletion."""
        spec, commit = old["spec"], revisions.commit_of(old)
        package, number = spec["packageName"], revisions.revision_of(old)
        deletion = depot.layout.deletion(package, number)
        refs = await self._depots.run(
            depot.url, lambda: depot.store.refs([deletion, depot.layout.main])
        )
        marks = [Update(deletion, refs[deletion], "")] if deletion in refs else []
        if number == PLACEHOLDER and revisions.ref_of(old) == depot.layout.branch:
            return [*await self._off_main(write, depot, package, refs), *marks]
        if spec["lifecycle"] in FINAL:
            ref = f"refs/tags/{revisions.ref_of(old)}"
        else:
            ref = depot.layout.draft_branch(spec["lifecycle"], package, spec["workspaceName"])
        there = await self._depots.run(depot.url, lambda: depot.store.refs([ref]))
        if there.get(ref, "") not in ("", commit):
            raise self._refusals.conflict(write.name, status.STALE)
        own = [Update(ref, commit, "")] if ref in there else []
        return [*own, *marks]

    async def _off_main(self, write: Write, depot: Depot, package: str, refs: Refs) -> list[Update]:
        """Return the update of main to a commit without the package; [] for a dry run or a missing
        branch."""
        main = refs.get(depot.layout.main, "")
        if not main or write.dry_run:
            return []
        make = partial(commits.commit_removal, depot, main, package, user=write.user)
        return [Update(depot.layout.main, main, await self._depots.run(depot.url, make))]


async def _is_ending(env: Environment, namespace: str) -> bool:
    """Return whether the namespace is being deleted or does not exist."""
    found = await get_or_none(env.client, "v1/namespaces", namespace)
    return found is None or "deletionTimestamp" in found["metadata"]


async def _check(write: Write, env: Environment, old: Object) -> None:
    """Check D1 and D2. Raises StatusError 403."""
    if old["spec"]["lifecycle"] == PUBLISHED:  # D1
        raise refusals.forbidden(
            write.name,
            "published PackageRevisions must be proposed for deletion by setting "
            "spec.lifecycle to 'DeletionProposed' prior to deletion",
        )
    for other in await storedobjects.of_namespace(env.client, write.namespace):  # D2
        if revisions.is_placeholder(other) or other["metadata"]["name"] == write.name:
            continue
        if any(name == write.name for _, name in revisions.upstream_names(other)):
            why = "cannot delete package revision, it is referenced as upstream by: "
            raise refusals.forbidden(write.name, why + other["metadata"]["name"])
