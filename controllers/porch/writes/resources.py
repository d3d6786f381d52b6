"""PackageRevisionResources: the files of a PackageRevision, for reads and writes.

A write checks that the revision is a Draft, that the Repository is ready (`readiness`), and the
files (`acceptance`). Files that do not render are still saved if an annotation of the revision
requests it; the response is the error.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects, troubles
from inkube.controllers.porch.files import comments
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git.content import Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.git.layout import DRAFT
from inkube.controllers.porch.refusals import RESOURCES_KIND, Refusals
from inkube.controllers.porch.types import PUSH_ON_FAILURE
from inkube.controllers.porch.writes.acceptance import Acceptance
from inkube.controllers.porch.writes.origin import Origin
from inkube.controllers.porch.writes.readiness import Readiness
from inkube.controllers.porch.writes.tasks import read, read_all
from inkube.controllers.provisioning import TooMuch
from inkube.formats import fielderrors, same
from inkube.kinds import Environment, StatusError, Write, status

_METADATA_MEMBERS = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MEMBERS = ("packageName", "workspaceName", "revision", "repository")


@dataclass(frozen=True, slots=True)
class Resources:
    """Reads and writes the files of revisions; the fields are the shared parts of the server."""

    depots: Depots
    origin: Origin
    readiness: Readiness
    acceptance: Acceptance
    refusals: Refusals

    @asynccontextmanager
    async def transaction(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """The transaction around the commit of changed files: render, then push. Raises
        StatusError."""
        obj, old, record = write.obj, write.old, write.record
        assert obj is not None, "a view is updated only"
        assert old is not None, "a view is updated only"
        assert record is not None, "a view is updated only"
        self._check(write, old)
        name = old["spec"]["repository"]
        repository = await self.readiness.ready(write, env, name)
        async with self.origin.locked(write.namespace, name):
            await write.confirm()
            depot = await self.origin.open(write, repository)
            sent = dict(obj["spec"].get("resources") or {})
            stored, hidden = await self._stored(depot, old)
            files = await self.depots.work(partial(comments.restore, sent, stored))
            rendered = await self.acceptance.try_render(
                write.name, files, RESOURCES_KIND, stored=stored, hidden=hidden
            )
            failure = self._failure(write, old, rendered.error)
            head = revisions.commit_of(old)
            commit = await self.origin.save(write, depot, old, rendered.files, head)
            revisions.describe(record, depot, rendered.files, revisions.ref_of(old), commit)
            if not same(record["spec"], old["spec"]):
                record["metadata"]["generation"] = record["metadata"].get("generation", 0) + 1
                revisions.settle(record)
            obj["spec"] = _spec(record, rendered.files)
            obj["status"] = {"renderStatus": rendered.status}
            package, workspace = old["spec"]["packageName"], old["spec"]["workspaceName"]
            branch = depot.layout.draft_branch(DRAFT, package, workspace)
            updates = [Update(branch, head, commit)] if head != commit else []
            async with self.origin.push(write, depot, updates):
                yield
            if failure is not None:
                raise failure

    async def _stored(self, depot: Depot, old: Object) -> tuple[Files, list[str]]:
        """Return the files until now, and the names of the entries that clients do not see."""
        commit, path = revisions.commit_of(old), depot.layout.path(old["spec"]["packageName"])
        return await self.depots.run(depot.url, partial(read_all, depot.store, commit, path))

    def _check(self, write: Write, old: Object) -> None:
        """Check that the revision is a Draft. Raises StatusError."""
        lifecycle = old["spec"]["lifecycle"]
        if lifecycle == DRAFT:
            return
        why = (
            f'cannot update a package revision with lifecycle value "{lifecycle}"; '
            "package must be Draft"
        )
        error = fielderrors.invalid("spec.lifecycle", lifecycle, why)
        raise self.refusals.invalid(write.name, error, kind=RESOURCES_KIND)

    def _failure(self, write: Write, old: Object, error: str) -> StatusError | None:
        """Return the error to raise after files that do not render are saved; None if they render.
        Raises StatusError if such files are not saved."""
        if not error:
            return None
        annotations = old["metadata"].get("annotations") or {}
        if annotations.get(PUSH_ON_FAILURE) != "true" or write.dry_run:
            raise self.acceptance.failure(write.name, error, RESOURCES_KIND)
        return self.acceptance.failure(write.name, error, RESOURCES_KIND, pushed=True)

    async def show(self, objects: Sequence[Object], env: Environment) -> list[Object]:
        """Return the objects that clients read. A Repository is opened once for all of its
        revisions."""
        groups: dict[tuple[str, str], list[int]] = {}
        for at, obj in enumerate(objects):
            place = (obj["metadata"]["namespace"], obj["spec"]["repository"])
            groups.setdefault(place, []).append(at)
        shown: list[Object] = [{} for _ in objects]
        for (namespace, name), places in groups.items():
            found = await self._files(env, namespace, name, [objects[at] for at in places])
            for at, files in zip(places, found, strict=True):
                shown[at] = _resources_of(objects[at], files)
        return shown

    async def _files(
        self, env: Environment, namespace: str, name: str, objects: Sequence[Object]
    ) -> list[Files]:
        """Return the files of revisions of one Repository; {} for each if the Repository does not
        exist. Raises StatusError 503."""
        owner = await storedobjects.repository(env.client, name, namespace)
        if owner is None:
            return [{} for _ in objects]
        try:
            depot = await self.depots.open(owner)
            made = []
            for obj in objects:
                commit = revisions.commit_of(obj)
                path = depot.layout.path(obj["spec"]["packageName"])
                files = await self.depots.run(depot.url, partial(read, depot.store, commit, path))
                made.append(files or {})
                await asyncio.sleep(0)
            return made
        except (*troubles.OPEN_ERRORS, TooMuch, KeyError) as error:
            is_gone = isinstance(error, KeyError)
            why = "a commit is not there" if is_gone else troubles.cause(error)
            raise status.unavailable(f"repository {name} cannot be read: {why}") from error


def _resources_of(revision: Object, files: Files) -> Object:
    meta = revision["metadata"]
    return {
        "apiVersion": revisions.API,
        "kind": RESOURCES_KIND,
        "metadata": {member: meta[member] for member in _METADATA_MEMBERS if member in meta},
        "spec": _spec(revision, files),
        "status": {"renderStatus": {"error": ""}},
    }


def _spec(revision: Object, files: Files) -> Object:
    own = revision["spec"]
    spec: Object = {member: own[member] for member in _MEMBERS if member in own}
    return {**spec, "resources": dict(sorted(files.items()))}
