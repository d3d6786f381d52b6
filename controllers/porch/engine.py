"""What happens around each write of a package revision: rules that ask, git, the commit.

`Engine.revision` is the transaction of PackageRevision (its `approval` included) and
`Engine.resources` that of PackageRevisionResources. One at a time per revision, refused; one at a
time per Repository, waited for. What was pushed is taken back when the commit fails.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from inkube.controllers.checks import OutsideError
from inkube.controllers.environment import Environment
from inkube.controllers.locks import Busy, Locks
from inkube.controllers.porch import kptfile, layout, packages, refusals, render, revisions, stock
from inkube.controllers.porch import sync as syncing
from inkube.controllers.porch.content import Moved, Refs, Refused, Update
from inkube.controllers.porch.depots import Depot, Depots, SecretMissing, SecretUnfit
from inkube.controllers.porch.documents import Files, Unreadable
from inkube.controllers.porch.kptfile import Kptfile
from inkube.controllers.porch.layout import (
    DELETION_PROPOSED,
    DRAFT,
    FINAL,
    PLACEHOLDER,
    PROPOSED,
    PUBLISHED,
)
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.render import Rendered
from inkube.controllers.porch.rules import Rules
from inkube.controllers.porch.tasks import LINES, Tasks
from inkube.controllers.porch.types import PUSH_ON_FAILURE
from inkube.controllers.provisioning.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.records import Record
from inkube.controllers.transactions import Write
from inkube.schemas import fielderrors, meta, status
from inkube.schemas.objects import Object, same
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)
FIRST_SYNC = 10.0
"""Seconds that a create waits for the first sync of its Repository."""
TRIES = 3
"""So often a push is made anew when main moved."""
RESOURCES = "packagerevisionresources"
_NOT_PUSHED = (
    "error rendering package in kpt function pipeline. Package NOT pushed to remote. Fix locally "
    "(until 'kpt fn render' succeeds) and retry. Details: "
)
_PUSHED = (
    "error rendering package in kpt function pipeline. Package pushed to remote despite render "
    "failure. Details: "
)


class Engine:
    """One for a server."""

    def __init__(self, options: Options, depots: Depots) -> None:
        self.options = options
        self.depots = depots
        self.rules = Rules(options)
        self.refusals = self.rules.refusals
        self.locks = Locks()
        self.synced: dict[tuple[str, str], asyncio.Event] = {}
        """By Repository: its first sync has ended, well or not."""
        self._heads: dict[tuple[str, str], str] = {}
        """The main branches' commits as last seen."""

    def tasks(self, env: Environment) -> Tasks:
        """Who runs tasks."""
        return Tasks(env.client, self.depots, self.refusals)

    # the transactions

    @asynccontextmanager
    async def revision(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """See transactions: PackageRevision."""
        async with self._alone(write):
            if write.operation == "create":
                inner = self._create(write, env)
            elif write.operation == "delete" or write.goes:
                inner = self._delete(write, env)
            else:
                inner = self._update(write, env)
            async with inner:
                yield

    @asynccontextmanager
    async def resources(self, write: Write, env: Environment) -> AsyncIterator[None]:
        """See transactions: PackageRevisionResources."""
        async with self._alone(write, RESOURCES), self._files_of(write, env):
            yield

    @asynccontextmanager
    async def _alone(self, write: Write, resource: str = "") -> AsyncIterator[None]:
        """V3: one write of a revision at a time, dry runs included."""
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

    @asynccontextmanager
    async def of_repository(self, namespace: str, name: str) -> AsyncIterator[None]:
        """The lock of a Repository: waited for."""
        async with self.locks.hold(("repository", namespace, name)):
            yield

    # create

    @asynccontextmanager
    async def _create(self, write: Write, env: Environment) -> AsyncIterator[None]:
        obj = write.obj
        assert obj is not None, "a create has an object"
        spec = obj["spec"]
        if not spec.get("tasks"):  # T2
            description = f"{spec['packageName']} description"
            spec["tasks"] = [{"type": "init", "init": {"description": description}}]
        repository = await self._ready(write, env, spec["repository"])
        async with self.of_repository(write.namespace, spec["repository"]):
            depot = await self._open(write, repository)
            refs = await self._look(write, env, repository, depot, spec["packageName"])
            siblings = await stock.of_package(
                env.client, write.namespace, spec["repository"], spec["packageName"]
            )
            await self._may_be_created(write, env, siblings)
            await write.confirm()
            tasks = self.tasks(env)
            try:
                files = await tasks.run(obj, depot)
            except (NotAuthorized, RepositoryNotFound, OutsideError) as error:
                raise self._unreachable(write, spec["repository"], error) from error
            kind = spec["tasks"][0]["type"]
            if kind == "upgrade":
                upgrade = spec["tasks"][0]["upgrade"]
                upgrade["strategy"] = upgrade.get("strategy") or "resource-merge"
            files = self._completed(files, spec)
            rendered = await self._rendered(write, depot, files)
            async with self._new_branch(write, depot, refs, rendered, LINES[kind]):
                write.records += await stock.summary_record(
                    env.client, write.namespace, spec["repository"], spec["packageName"],
                    [*siblings, obj],
                )  # fmt: skip
                yield

    @staticmethod
    def _completed(files: Files, spec: Object) -> Files:
        """The files with what the request says of the Kptfile."""
        changes = []
        if kptfile.NAME not in files:
            return files
        if spec.get("packageMetadata"):
            changes.append(kptfile.merged_metadata(spec["packageMetadata"]))
        if spec.get("readinessGates"):
            changes.append(kptfile.replaced_gates(spec["readinessGates"]))
        return kptfile.edit(files, *changes) if changes else files

    async def _ready(self, write: Write, env: Environment, name: str) -> Object:
        """R1, and the Repository's health."""
        found = await stock.repository(env.client, name, write.namespace)
        if found is None or found["metadata"].get("deletionTimestamp"):
            raise status.not_found("config.porch.kpt.dev", "repositories", name)
        if _ready(found) is None:
            await self._first_sync(write.namespace, name)
            found = await stock.repository(env.client, name, write.namespace) or found
        ready = _ready(found)
        if ready is not None and ready["status"] == "True":
            return found
        message = "it was not synced yet" if ready is None else ready.get("message", "")
        why = f"repository {name} is not ready: {message}"
        error = fielderrors.invalid("spec.repository", name, why)
        raise self.refusals.invalid(write.name, error)

    async def _first_sync(self, namespace: str, name: str) -> None:
        event = self.synced.setdefault((namespace, name), asyncio.Event())
        try:
            async with asyncio.timeout(FIRST_SYNC):
                await event.wait()
        except TimeoutError:
            return

    async def _may_be_created(
        self, write: Write, env: Environment, siblings: Sequence[Object]
    ) -> None:
        """U1, C1, P1, P2, the parent."""
        obj = write.obj
        assert obj is not None, "a create has an object"
        spec = obj["spec"]
        package, repository = spec["packageName"], spec["repository"]
        workspace = spec["workspaceName"]
        if any(each["spec"]["workspaceName"] == workspace for each in siblings):
            raise self.refusals.conflict(
                write.name,
                "package revision workspaceNames must be unique; package revision with name "
                f"{package} in repo {repository} with workspaceName {workspace} already exists",
            )
        kind = spec["tasks"][0]["type"]
        if kind == "clone" and siblings:
            why = (
                f'`clone` cannot create a new revision for package "{package}" that already '
                f'exists in repo "{repository}"; make subsequent revisions using `copy`'
            )
            field = "spec.tasks[0].type"
            raise self.refusals.invalid(write.name, fielderrors.invalid(field, kind, why))
        if kind in ("init", "clone"):
            if siblings:
                why = f'package "{package}" already exists in repository "{repository}"'
                raise self.refusals.conflict(write.name, why)
            for other in await stock.packages(env.client, write.namespace, repository):
                old = other["spec"]["packageName"]
                if old.startswith(f"{package}/") or package.startswith(f"{old}/"):
                    why = (
                        f'package path "{package}" conflicts with existing package "{old}": '
                        "packages cannot be nested"
                    )
                    raise self.refusals.conflict(write.name, why)
        parent = (spec.get("parent") or {}).get("name")
        if parent and await stock.revision(env.client, parent, write.namespace) is None:
            error = fielderrors.not_found("spec.parent.name", parent, "parent not found")
            raise self.refusals.invalid(write.name, error)

    @asynccontextmanager
    async def _new_branch(
        self, write: Write, depot: Depot, refs: Refs, rendered: Rendered, line: str
    ) -> AsyncIterator[None]:
        """Commit and push the branch of a new revision."""
        obj = write.obj
        assert obj is not None, "a create has an object"
        spec = obj["spec"]
        package, workspace = spec["packageName"], spec["workspaceName"]
        branch = depot.layout.working(spec["lifecycle"], package, workspace)
        main = refs.get(depot.layout.main, "")
        task = spec["tasks"][0]
        text = layout.message(line, package, workspace, 0, task)

        def committed() -> str:
            store = depot.store
            root = store.head(main).tree if main else None
            own = store.write(rendered.files, None)
            tree = store.replace(root, depot.layout.path(package), own)
            parents = [main] if main else []
            return store.commit(tree, parents, text, depot.signature(write.user))

        commit = "0" * 40
        if not write.dry_run:
            await self.depots.run(depot.url, lambda: depot.store.fetch([main] if main else []))
            commit = await self.depots.run(depot.url, committed)
        obj["status"] = {"deployment": depot.deployment}
        self._mirror(obj, depot, rendered.files, depot.layout.shown(branch), commit)
        async with self._pushed(write, depot, [Update(branch, "", commit)]):
            yield

    def _mirror(self, obj: Object, depot: Depot, files: Files, ref: str, commit: str) -> None:
        revisions.mirror(obj, Kptfile.of(files))
        revisions.place(obj, depot, ref, commit)
        revisions.settle(obj)

    # rendering

    async def _rendered(
        self, write: Write, depot: Depot, files: Files, kind: str = refusals.KIND
    ) -> Rendered:
        """S2 and S3: a package, rendered. Raises StatusError 422."""
        wrong = list(packages.wrong_with(files))
        if wrong:
            errors = [
                fielderrors.invalid(f"spec.resources[{name}]", name, why) for name, why in wrong
            ]
            raise self.refusals.invalid(write.name, *errors, kind=kind)
        skip = self.options.functions == "skip"
        try:
            done = await self.depots.work(lambda: render.render(files, skip_unknown=skip))
        except Unreadable as error:
            wrong_file = fielderrors.invalid("spec.resources", "", str(error))
            raise self.refusals.invalid(write.name, wrong_file, kind=kind) from error
        if done.error and kind == refusals.KIND:
            raise self._render_failed(write, _NOT_PUSHED + done.error, kind)
        return done

    def _render_failed(self, write: Write, text: str, kind: str) -> StatusError:
        field = "spec.resources" if kind != refusals.KIND else "spec"
        error = fielderrors.FieldError(fielderrors.Type.INVALID, field, detail=text)
        return self.refusals.invalid(write.name, error, kind=kind)

    # update of the object, and approval

    @asynccontextmanager
    async def _update(self, write: Write, env: Environment) -> AsyncIterator[None]:
        obj, old = write.obj, write.old
        assert obj is not None, "an update has both"
        assert old is not None, "an update has both"
        spec, before = obj["spec"], old["spec"]
        if not same(spec.get("tasks"), before.get("tasks")):
            if "tasks" in before:
                spec["tasks"] = before["tasks"]
            else:
                spec.pop("tasks", None)
            write.warn("spec.tasks cannot be changed after creation; the change has no effect")
        repository = await stock.repository(env.client, before["repository"], write.namespace)
        moves = spec["lifecycle"] != before["lifecycle"]
        edits = before["lifecycle"] == DRAFT and self._edits(obj, old)
        if repository is None or not (moves or edits):
            await write.confirm()
            revisions.settle(obj)
            yield
            return
        async with self.of_repository(write.namespace, before["repository"]):
            await write.confirm()
            depot = await self._open(write, repository)
            if (
                write.subresource == "approval"
                and spec["lifecycle"] == PUBLISHED != before["lifecycle"]
                and before["lifecycle"] == PROPOSED
            ):
                inner = self._publish(write, env, repository, depot)
            elif before["lifecycle"] in FINAL:
                inner = self._mark(write, depot)
            else:
                inner = self._work(write, depot, edits=edits)
            async with inner:
                yield

    @staticmethod
    def _edits(obj: Object, old: Object) -> bool:
        """Whether an update of a Draft changes its Kptfile."""
        spec, before = obj["spec"], old["spec"]
        conditions = (obj.get("status") or {}).get("conditions")
        if not same(conditions, (old.get("status") or {}).get("conditions")):
            return True
        return any(
            not same(spec.get(member), before.get(member))
            for member in ("packageMetadata", "readinessGates")
        )

    @asynccontextmanager
    async def _work(self, write: Write, depot: Depot, *, edits: bool) -> AsyncIterator[None]:
        """A Draft that changes, is proposed, or a proposed one that becomes a Draft again."""
        obj, old = write.obj, write.old
        assert obj is not None, "an update has both"
        assert old is not None, "an update has both"
        spec, before = obj["spec"], old["spec"]
        package, workspace = before["packageName"], before["workspaceName"]
        at = depot.layout.working(before["lifecycle"], package, workspace)
        to = depot.layout.working(spec["lifecycle"], package, workspace)
        head = commit = revisions.commit_of(old)
        if before["lifecycle"] == DRAFT:
            files = await self._read(depot, package, head)
            if edits:
                files = self._edited(files, obj, old)
            rendered = await self._rendered(write, depot, files)
            text = layout.message("Rendering package", package, workspace, 0, _task(old))
            commit = await self._committed(write, depot, package, head, rendered.files, text)
            self._mirror(obj, depot, rendered.files, depot.layout.shown(to), commit)
        else:
            revisions.place(obj, depot, depot.layout.shown(to), commit)
            revisions.settle(obj)
        updates = (
            [Update(at, head, commit)]
            if at == to
            else [
                Update(to, "", commit),
                Update(at, head, ""),
            ]
        )
        if at == to and head == commit:
            updates = []
        async with self._pushed(write, depot, updates):
            yield

    @staticmethod
    def _edited(files: Files, obj: Object, old: Object) -> Files:
        spec, before = obj["spec"], old["spec"]
        changes = []
        if not same(spec.get("packageMetadata"), before.get("packageMetadata")):
            changes.append(kptfile.replaced_metadata(spec.get("packageMetadata") or {}))
        if not same(spec.get("readinessGates"), before.get("readinessGates")):
            changes.append(kptfile.replaced_gates(spec.get("readinessGates") or []))
        conditions = (obj.get("status") or {}).get("conditions")
        if not same(conditions, (old.get("status") or {}).get("conditions")):
            changes.append(kptfile.replaced_conditions(conditions or []))
        return kptfile.edit(files, *changes)

    async def _read(self, depot: Depot, package: str, commit: str) -> Files:
        def read() -> Files:
            store = depot.store
            store.fetch([commit])
            own = store.directory(store.head(commit).tree, depot.layout.path(package))
            return {} if own is None else store.files(own)

        return await self.depots.run(depot.url, read)

    async def _committed(
        self, write: Write, depot: Depot, package: str, head: str, files: Files, text: str
    ) -> str:
        """A commit of these files on top of a branch's head; the head itself if nothing differs."""

        def committed() -> str:
            store = depot.store
            root = store.head(head).tree
            path = depot.layout.path(package)
            base = store.directory(root, path)
            own = store.write(files, base)
            if own == base:
                return head
            tree = store.replace(root, path, own)
            return store.commit(tree, [head], text, depot.signature(write.user))

        return head if write.dry_run else await self.depots.run(depot.url, committed)

    @asynccontextmanager
    async def _publish(
        self, write: Write, env: Environment, repository: Object, depot: Depot
    ) -> AsyncIterator[None]:
        """Proposed → Published: a commit on main, a tag, the label, the placeholder."""
        obj, old = write.obj, write.old
        assert obj is not None, "an approval has both"
        assert old is not None, "an approval has both"
        if self.options.enforce_readiness:
            self._check_gates(write, obj)
        spec = obj["spec"]
        package, workspace = spec["packageName"], spec["workspaceName"]
        head = revisions.commit_of(old)
        for attempt in range(TRIES):
            refs = await self._look(write, env, repository, depot, package)
            siblings = await stock.of_package(
                env.client, write.namespace, spec["repository"], package
            )
            taken = [revisions.revision_of(each) for each in siblings]
            number = 1 + max([0, *taken, *_numbers(refs, depot, package)])
            text = layout.message(
                f"Approving package revision {package}/{number}", package, workspace, number,
                _task(old),
            )  # fmt: skip
            main = refs.get(depot.layout.main, "")
            commit = await self._on_main(write, depot, package, main, head, text)
            tag = depot.layout.tag(package, number)
            proposed = depot.layout.working(PROPOSED, package, workspace)
            updates = [
                Update(depot.layout.main, main, commit),
                Update(tag, "", commit),
                Update(proposed, head, ""),
            ]
            try:
                async with self._pushed(write, depot, updates, patient=attempt < TRIES - 1):
                    self._heads[write.namespace, spec["repository"]] = commit
                    await self._published(write, env, depot, siblings, number, commit)
                    yield
                return
            except Moved:
                self._heads.pop((write.namespace, spec["repository"]), None)
                continue

    def _check_gates(self, write: Write, obj: Object) -> None:
        conditions = (obj.get("status") or {}).get("conditions") or []
        good = {each["type"] for each in conditions if each["status"] == "True"}
        for gate in obj["spec"].get("readinessGates") or ():
            if gate["conditionType"] not in good:
                why = f"readiness gate {gate['conditionType']} has no condition with status True"
                field = "spec.readinessGates"
                error = fielderrors.invalid(field, gate["conditionType"], why)
                raise refusals.invalid(write.name, error)

    async def _on_main(
        self, write: Write, depot: Depot, package: str, main: str, head: str, text: str
    ) -> str:
        """The draft's directory in a new commit on the current main branch."""

        def committed() -> str:
            store = depot.store
            store.fetch([each for each in (main, head) if each])
            path = depot.layout.path(package)
            own = store.directory(store.head(head).tree, path)
            root = store.head(main).tree if main else None
            tree = store.replace(root, path, own)
            parents = [main] if main else []
            return store.commit(tree, parents, text, depot.signature(write.user))

        return head if write.dry_run else await self.depots.run(depot.url, committed)

    async def _published(
        self,
        write: Write,
        env: Environment,
        depot: Depot,
        siblings: Sequence[Object],
        number: int,
        commit: str,
    ) -> None:
        """What a publication changes of the object and of others."""
        obj = write.obj
        assert obj is not None, "an approval has an object"
        spec, told = obj["spec"], obj["status"]
        spec["revision"] = number
        told["publishedBy"] = write.user
        told["publishTimestamp"] = meta.format_time(env.clock.now())
        tag = depot.layout.shown(depot.layout.tag(spec["packageName"], number))
        revisions.place(obj, depot, tag, commit)
        revisions.settle(obj)
        others = [each for each in siblings if each["metadata"]["name"] != write.name]
        changed = revisions.relabelled([*others, obj])
        placeholder = next((each for each in others if revisions.is_placeholder(each)), None)
        write.records += [Record("update", each) for each in changed if each is not obj]
        write.records.append(_placeholder(obj, depot, placeholder, commit))
        write.records += await stock.summary_record(
            env.client, write.namespace, spec["repository"], spec["packageName"], [*others, obj]
        )

    @asynccontextmanager
    async def _mark(self, write: Write, depot: Depot) -> AsyncIterator[None]:
        """Published ⇄ DeletionProposed: a branch that says so."""
        obj, old = write.obj, write.old
        assert obj is not None, "an update has both"
        assert old is not None, "an update has both"
        number, package = revisions.revision_of(old), old["spec"]["packageName"]
        branch = depot.layout.deletion(package, number)
        refs = await self.depots.run(depot.url, lambda: depot.store.refs([branch]))
        there, commit = refs.get(branch, ""), revisions.commit_of(old)
        wanted = commit if obj["spec"]["lifecycle"] == DELETION_PROPOSED else ""
        revisions.settle(obj)
        updates = [Update(branch, there, wanted)] if there != wanted else []
        async with self._pushed(write, depot, updates):
            yield

    # delete

    @asynccontextmanager
    async def _delete(self, write: Write, env: Environment) -> AsyncIterator[None]:
        old = write.old
        assert old is not None, "what is deleted is there"
        spec = old["spec"]
        repository = await stock.repository(env.client, spec["repository"], write.namespace)
        ending = await self._is_ending(env, write.namespace)
        gone = repository is None or bool(repository["metadata"].get("deletionTimestamp"))
        if write.operation == "delete" and not ending and not gone:
            await self._may_be_deleted(write, env, old)
        async with self.of_repository(write.namespace, spec["repository"]):
            await write.confirm()
            if not write.goes:
                yield
                return
            siblings = await stock.of_package(
                env.client, write.namespace, spec["repository"], spec["packageName"]
            )
            others = [each for each in siblings if each["metadata"]["name"] != write.name]
            write.records += [Record("update", each) for each in revisions.relabelled(others)]
            write.records += await stock.summary_record(
                env.client, write.namespace, spec["repository"], spec["packageName"], others
            )
            if ending or gone or repository is None:
                yield
                return
            depot = await self._open(write, repository)
            updates = await self._removal(write, depot, old)
            async with self._pushed(write, depot, updates):
                yield

    @staticmethod
    async def _is_ending(env: Environment, namespace: str) -> bool:
        try:
            found = await env.client.get("v1/namespaces", namespace)
        except StatusError as error:
            if error.code == 404:
                return True
            raise
        return bool(found["metadata"].get("deletionTimestamp"))

    async def _may_be_deleted(self, write: Write, env: Environment, old: Object) -> None:
        """D1 and D2."""
        if old["spec"]["lifecycle"] == PUBLISHED:
            raise refusals.forbidden(
                write.name,
                "published PackageRevisions must be proposed for deletion by setting "
                "spec.lifecycle to 'DeletionProposed' prior to deletion",
            )
        for other in await stock.of_namespace(env.client, write.namespace):
            if revisions.is_placeholder(other) or other["metadata"]["name"] == write.name:
                continue
            if any(name == write.name for _, name in revisions.upstream_names(other)):
                why = "cannot delete package revision, it is referenced as upstream by: "
                raise refusals.forbidden(write.name, why + other["metadata"]["name"])

    async def _removal(self, write: Write, depot: Depot, old: Object) -> list[Update]:
        """What a deletion changes in git."""
        spec, commit = old["spec"], revisions.commit_of(old)
        package, number = spec["packageName"], revisions.revision_of(old)
        deletion = depot.layout.deletion(package, number)
        refs = await self.depots.run(
            depot.url, lambda: depot.store.refs([deletion, depot.layout.main])
        )
        marks = [Update(deletion, refs[deletion], "")] if deletion in refs else []
        if number == PLACEHOLDER and revisions.ref_of(old) == depot.layout.branch:
            return [*await self._off_main(write, depot, package, refs), *marks]
        if spec["lifecycle"] in FINAL:
            ref = f"refs/tags/{revisions.ref_of(old)}"
        else:
            ref = depot.layout.working(spec["lifecycle"], package, spec["workspaceName"])
        there = await self.depots.run(depot.url, lambda: depot.store.refs([ref]))
        if there.get(ref, "") not in ("", commit):
            raise self.refusals.conflict(write.name, status.STALE)
        own = [Update(ref, commit, "")] if ref in there else []
        return [*own, *marks]

    async def _off_main(self, write: Write, depot: Depot, package: str, refs: Refs) -> list[Update]:
        main = refs.get(depot.layout.main, "")
        if not main or write.dry_run:
            return []

        def committed() -> str:
            store = depot.store
            store.fetch([main])
            root = store.head(main).tree
            tree = store.replace(root, depot.layout.path(package), None)
            text = f"Delete {package}\n"
            return store.commit(tree, [main], text, depot.signature(write.user))

        commit = await self.depots.run(depot.url, committed)
        return [Update(depot.layout.main, main, commit)]

    # resources

    @asynccontextmanager
    async def _files_of(self, write: Write, env: Environment) -> AsyncIterator[None]:
        obj, old, record = write.obj, write.old, write.record
        assert obj is not None, "a view is updated only"
        assert old is not None, "a view is updated only"
        assert record is not None, "a view is updated only"
        spec, kind = old["spec"], "PackageRevisionResources"
        lifecycle = spec["lifecycle"]
        if lifecycle != DRAFT:  # S1
            why = (
                f'cannot update a package revision with lifecycle value "{lifecycle}"; '
                "package must be Draft"
            )
            error = fielderrors.invalid("spec.lifecycle", lifecycle, why)
            raise self.refusals.invalid(write.name, error, kind=kind)
        repository = await self._ready(write, env, spec["repository"])
        async with self.of_repository(write.namespace, spec["repository"]):
            await write.confirm()
            depot = await self._open(write, repository)
            files = dict(obj["spec"].get("resources") or {})
            rendered = await self._rendered(write, depot, files, kind)
            failure: StatusError | None = None
            if rendered.error:
                annotations = old["metadata"].get("annotations") or {}
                if annotations.get(PUSH_ON_FAILURE) != "true" or write.dry_run:
                    raise self._render_failed(write, _NOT_PUSHED + rendered.error, kind)
                failure = self._render_failed(write, _PUSHED + rendered.error, kind)
            package, workspace = spec["packageName"], spec["workspaceName"]
            head = revisions.commit_of(old)
            text = layout.message("Rendering package", package, workspace, 0, _task(old))
            commit = await self._committed(write, depot, package, head, rendered.files, text)
            branch = depot.layout.working(DRAFT, package, workspace)
            self._mirror(record, depot, rendered.files, revisions.ref_of(old), commit)
            if not same(record["spec"], spec):
                record["metadata"]["generation"] = record["metadata"].get("generation", 0) + 1
                revisions.settle(record)
            shown_spec = resources_spec(record, rendered.files)
            obj["spec"], obj["status"] = shown_spec, {"renderStatus": rendered.status}
            updates = [Update(branch, head, commit)] if head != commit else []
            async with self._pushed(write, depot, updates):
                yield
            if failure is not None:
                raise failure

    # git

    async def _open(self, write: Write, repository: Object) -> Depot:
        name = repository["metadata"]["name"]
        try:
            return await self.depots.open(repository)
        except (
            NotAuthorized, RepositoryNotFound, OutsideError, SecretMissing, SecretUnfit,
        ) as error:  # fmt: skip
            raise self._unreachable(write, name, error) from error

    def _unreachable(self, write: Write, name: str, error: Exception) -> StatusError:
        why = f"repository {name} is not ready: {cause(error)}"
        return self.refusals.invalid(write.name, fielderrors.invalid("spec.repository", name, why))

    async def _look(
        self, write: Write, env: Environment, repository: Object, depot: Depot, package: str
    ) -> Refs:
        """The refs that concern a package; where somebody pushed to main, the rest is synced."""
        name = repository["metadata"]["name"]
        try:
            refs = await self.depots.run(
                depot.url, lambda: depot.store.refs(depot.layout.refs_of(package))
            )
            key = (write.namespace, name)
            head = refs.get(depot.layout.main, "")
            if not write.dry_run and self._heads.get(key, head) != head:
                await syncing.sync(env, self.depots, repository, depot)
            self._heads[key] = head
        except (NotAuthorized, RepositoryNotFound, OutsideError) as error:
            raise self._unreachable(write, name, error) from error
        except syncing.BranchNotFound as error:
            raise self._unreachable(write, name, error) from error
        return refs

    @asynccontextmanager
    async def _pushed(
        self, write: Write, depot: Depot, updates: list[Update], *, patient: bool = False
    ) -> AsyncIterator[None]:
        """Push, and take it back if what follows fails. Raises Moved for who is `patient`."""
        if write.dry_run or not updates:
            yield
            return
        try:
            await self.depots.run(depot.url, lambda: depot.push(updates))
        except Moved as error:
            if patient:
                raise
            raise self.refusals.conflict(write.name, f"{error} was changed in git") from error
        except Refused as error:
            raise refusals.forbidden(write.name, str(error)) from error
        except (NotAuthorized, RepositoryNotFound, OutsideError) as error:
            raise status.unavailable(f"the repository cannot be written: {cause(error)}") from error
        try:
            yield
        except BaseException:
            await self._take_back(depot, updates)
            raise

    async def _take_back(self, depot: Depot, updates: Sequence[Update]) -> None:
        back = [Update(each.ref, each.new, each.old) for each in reversed(updates)]
        try:
            await self.depots.run(depot.url, lambda: depot.push(back))
        except (Moved, Refused, NotAuthorized, RepositoryNotFound, OutsideError) as error:
            # the next sync makes objects of what is there
            logger.warning("a push to %s could not be taken back: %s", depot.url, cause(error))


def resources_spec(revision: Object, files: Files) -> Object:
    """The spec of a PackageRevisionResources."""
    own = revision["spec"]
    members = ("packageName", "workspaceName", "revision", "repository")
    spec: Object = {member: own[member] for member in members if member in own}
    return {**spec, "resources": dict(sorted(files.items()))}


def cause(error: Exception) -> str:
    """What went wrong with a repository, in the words of conditions."""
    if isinstance(error, NotAuthorized):
        return "not authorized"
    if isinstance(error, RepositoryNotFound):
        return "repository not found"
    if isinstance(error, syncing.BranchNotFound):
        return "branch not found"
    if isinstance(error, SecretMissing):
        return f"secret {error} not found"
    if isinstance(error, OutsideError):
        return f"unreachable: {error.reason}"
    return str(error)


def _ready(repository: Object) -> Object | None:
    """The Ready condition of a Repository that was looked at; None before that."""
    for each in (repository.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready" and each["reason"] != "Reconciling":
            return dict(each)
    return None


def _task(obj: Object) -> Object | None:
    tasks = obj["spec"].get("tasks")
    return tasks[0] if tasks else None


def _numbers(refs: Refs, depot: Depot, package: str) -> list[int]:
    """Revisions that are tagged, whoever did it."""
    prefix = depot.layout.tag(package, 0).removesuffix("v0")
    return [layout.revision_of(ref.removeprefix(prefix)) for ref in refs if ref.startswith(prefix)]


def _placeholder(obj: Object, depot: Depot, old: Object | None, commit: str) -> Record:
    """The revision that shows the main branch, after a publication."""
    spec = {**obj["spec"], "workspaceName": depot.layout.branch, "revision": PLACEHOLDER}
    spec["lifecycle"] = PUBLISHED
    name = layout.name_of(spec["repository"], spec["packageName"], spec["workspaceName"])
    own = dict(obj["metadata"]) if old is None else old["metadata"]
    metadata: Object = {"name": name, "namespace": own["namespace"], "generation": 1}
    if old is not None:
        metadata = {**own, "generation": own.get("generation", 0) + 1}
    made: Object = {
        "apiVersion": revisions.API,
        "kind": "PackageRevision",
        "metadata": metadata,
        "spec": spec,
        "status": {key: value for key, value in obj["status"].items() if key != "fieldErrors"},
    }
    revisions.place(made, depot, depot.layout.branch, commit)
    revisions.settle(made)
    return Record("create" if old is None else "update", made)
