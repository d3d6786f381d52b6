"""The create of a PackageRevision: its task produces the files, which are pushed as a new branch.

Its rules: the default task is init, the Repository is ready, a workspace name is unique in its
package, clone only creates new packages, a package is neither created twice nor nested in another
one. It also checks the parent, and the files (`acceptance`).
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects, troubles
from inkube.controllers.porch.files import kptfile
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git import commits, layout
from inkube.controllers.porch.git.content import Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.porch.writes.acceptance import Acceptance
from inkube.controllers.porch.writes.origin import Origin
from inkube.controllers.porch.writes.readiness import Readiness
from inkube.controllers.porch.writes.tasks import LINES, Tasks, only_new
from inkube.formats import fielderrors
from inkube.kinds import Environment, Write

_UNBORN = "0" * 40
"""The commit in the response to a dry run."""


@dataclass(frozen=True, slots=True)
class Creation:
    """Creates revisions; the fields are the shared parts of the server."""

    depots: Depots
    origin: Origin
    readiness: Readiness
    acceptance: Acceptance
    refusals: Refusals

    @asynccontextmanager
    async def transaction(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction around the commit of a new revision: checks, files, branch. Raises
        StatusError."""
        obj = write.obj
        assert obj is not None, "a create has an object"
        spec = obj["spec"]
        if not spec.get("tasks"):
            description = f"{spec['packageName']} description"
            spec["tasks"] = [{"type": "init", "init": {"description": description}}]
        repository = await self.readiness.ready(write, env, spec["repository"])
        async with self.origin.locked(write.namespace, spec["repository"]):
            depot = await self.origin.open(write, repository)
            refs = await self.origin.refs(write, env, repository, depot, spec["packageName"])
            siblings = await storedobjects.of_package(
                env.client, write.namespace, spec["repository"], spec["packageName"]
            )
            await self._check(write, env, spec, siblings)
            await write.confirm()
            tasks = Tasks(env.client, self.depots, self.refusals)
            made = await self._files(write, tasks, obj, depot)
            source = await tasks.local_source(obj)
            rendered = await self.acceptance.render(write.name, made)
            main = refs.get(depot.layout.main, "")
            async with self._new_branch(write, depot, obj, rendered.files, (main, source)):
                write.records += await storedobjects.summary_record(
                    env.client, write.namespace, spec["repository"], spec["packageName"],
                    [*siblings, obj],
                )  # fmt: skip
                yield

    async def _check(
        self, write: Write, env: Environment, spec: Object, siblings: Sequence[Object]
    ) -> None:
        """Check the rules that depend on the package and its Repository. Raises StatusError."""
        package, repository = spec["packageName"], spec["repository"]
        workspace, kind = spec["workspaceName"], spec["tasks"][0]["type"]
        if any(each["spec"]["workspaceName"] == workspace for each in siblings):
            raise self.refusals.conflict(
                write.name,
                "package revision workspaceNames must be unique; package revision with name "
                f"{package} in repo {repository} with workspaceName {workspace} already exists",
            )
        if kind == "clone" and siblings:
            raise self.refusals.invalid(write.name, only_new(spec, 0))
        if kind in ("init", "clone") and siblings:
            why = f'package "{package}" already exists in repository "{repository}"'
            raise self.refusals.conflict(write.name, why)
        if not siblings:
            await self._check_nesting(write, env, package, repository)
        parent = (spec.get("parent") or {}).get("name")
        if parent and await storedobjects.revision(env.client, parent, write.namespace) is None:
            error = fielderrors.not_found("spec.parent.name", parent, "parent not found")
            raise self.refusals.invalid(write.name, error)

    async def _check_nesting(
        self, write: Write, env: Environment, package: str, repository: str
    ) -> None:
        """Check that no package is inside another one. Raises StatusError."""
        for other in await storedobjects.packages(env.client, write.namespace, repository):
            old = other["spec"]["packageName"]
            if old.startswith(f"{package}/") or package.startswith(f"{old}/"):
                why = (
                    f'package path "{package}" conflicts with existing package "{old}": '
                    "packages cannot be nested"
                )
                raise self.refusals.conflict(write.name, why)

    async def _files(self, write: Write, tasks: Tasks, obj: Object, depot: Depot) -> Files:
        """Return the files that the task produces, with packageMetadata and readinessGates of the
        request in the Kptfile."""
        spec = obj["spec"]
        try:
            files = await tasks.run(obj, depot)
        except troubles.REQUEST_ERRORS as error:
            raise self.origin.unreachable(write, spec["repository"], error) from error
        changes = []
        if spec.get("packageMetadata"):
            changes.append(partial(kptfile.merge_metadata, spec["packageMetadata"]))
        if spec.get("readinessGates"):
            changes.append(partial(kptfile.replace_gates, spec["readinessGates"]))
        return kptfile.edit(files, *changes) if changes and kptfile.NAME in files else files

    @asynccontextmanager
    async def _new_branch(
        self, write: Write, depot: Depot, obj: Object, files: Files, commits_below: tuple[str, str]
    ) -> AsyncIterator[None]:
        """Commit the files on top of main and push them as the branch of the revision.

        `commits_below` are the head of main and the commit on which the files are based, or ""."""
        main, source = commits_below
        spec = obj["spec"]
        package, workspace, task = spec["packageName"], spec["workspaceName"], spec["tasks"][0]
        branch = depot.layout.draft_branch(spec["lifecycle"], package, workspace)
        commit = _UNBORN
        if not write.dry_run:
            text = layout.message(LINES[task["type"]], package, workspace, 0, [task])
            make = partial(
                commits.commit_new, depot, main, package, files,
                source=source, text=text, user=write.user,
            )  # fmt: skip
            needed = [commit for commit in (main, source) if commit]
            await self.depots.run(depot.url, lambda: depot.store.fetch(needed))
            commit = await self.depots.run(depot.url, make)
        obj["status"] = {"deployment": depot.deployment}
        revisions.describe(obj, depot, files, depot.layout.ref_name(branch), commit)
        async with self.origin.push(write, depot, [Update(branch, "", commit)]):
            yield
