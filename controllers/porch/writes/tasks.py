"""The four tasks, which produce the files of a revision.

Each raises StatusError with the text of the violated rule. Blocking operations run in the threads
of `depots`.
"""

from functools import partial
from typing import NamedTuple

from inkube.client import Client, Object
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.files import merge, packages
from inkube.controllers.porch.files.documents import Files, Unreadable
from inkube.controllers.porch.files.kptfile import (
    CONFLICTS,
    NAME,
    Edit,
    Kptfile,
    Upstream,
    edit,
    remove_condition,
    rename,
    set_upstream,
    with_condition,
)
from inkube.controllers.porch.git.content import HEADS, TAGS, Store
from inkube.controllers.porch.git.depots import Depot, Depots, SecretMissing, SecretUnfit
from inkube.controllers.porch.git.layout import PUBLISHED
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.provisioning import NotAuthorized, RepositoryNotFound, TooMuch
from inkube.formats import fielderrors
from inkube.kinds import FieldError, OutsideError, StatusError

LINES = {
    "init": "Creating new empty revision",
    "clone": "Creating new revision by cloning",
    "edit": "Creating new revision by copying previous revision",
    "upgrade": "Upgrading revision",
}


class _Source(NamedTuple):
    """The files of a directory, and its location in git."""

    files: Files
    upstream: Upstream


class Tasks:
    """Runs one task of a revision: the task that creates the revision, or one that is added to a
    Draft."""

    def __init__(self, client: Client, depots: Depots, refusals: Refusals, at: int = 0) -> None:
        self._client, self._depots, self._refusals = client, depots, refusals
        self._at, self._field = at, f"spec.tasks[{at}]"

    async def run(self, obj: Object, depot: Depot, before: Files | None = None) -> Files:
        """Return the files that the task produces from the files `before`; init keeps existing
        files."""
        task = obj["spec"]["tasks"][self._at]
        kind: str = task["type"]
        match kind:
            case "init":
                return packages.with_kptfile(before or {}, obj["spec"]["packageName"], task["init"])
            case "clone":
                return await self._clone(obj, task["clone"], depot)
            case "edit":
                return await self._edit(obj, task["edit"])
            case _:
                upgrade = task["upgrade"]
                upgrade["strategy"] = upgrade.get("strategy") or merge.STRATEGIES[0]
                return await self._upgrade(obj, upgrade)

    # clone

    async def _clone(self, obj: Object, clone: Object, depot: Depot) -> Files:
        spec = obj["spec"]
        upstream = clone.get("upstreamRef") or {}
        field = f"{self._field}.clone.upstreamRef"
        if upstream.get("upstreamRef") is not None:
            source = await self._by_name(obj, upstream["upstreamRef"], f"{field}.upstreamRef.name")
        elif upstream.get("git") is not None:
            source = await self._by_git(obj, upstream["git"], f"{field}.git")
        elif upstream.get("oci") is not None:
            raise self._invalid(
                obj, fielderrors.invalid(f"{field}.oci", "", "clone from OCI is not implemented")
            )
        else:
            why = "invalid clone source (neither of git, oci, nor upstream were specified)"
            raise self._refusals.bad(fielderrors.required(field, why))
        try:
            files = await self._depots.work(
                lambda: packages.cloned_package(source.files, spec["packageName"], source.upstream)
            )
            if depot.deployment:
                data = {
                    "name": spec["packageName"],
                    "package-path": depot.layout.path(spec["packageName"]),
                }
                files = packages.with_context(files, data)
        except Unreadable as error:
            raise self._invalid(obj, fielderrors.invalid(field, "", str(error))) from error
        return files

    async def _by_name(self, obj: Object, reference: Object, field: str) -> _Source:
        name = reference.get("name") or ""
        if not name:
            raise self._refusals.bad(fielderrors.required(field, "upstreamRef.name is required"))
        found = await self._get_revision(obj, name, field)
        if revisions.is_placeholder(found):
            raise self._placeholder(obj, "upstream", found, field)
        return await self.source(found)

    async def _by_git(self, obj: Object, git: Object, field: str) -> _Source:
        """Return a directory of any git repository."""
        url, directory = git.get("repo") or "", (git.get("directory") or "").strip("/")
        if not url:
            raise self._invalid(obj, fielderrors.required(f"{field}.repo", "the URL is needed"))
        namespace = obj["metadata"]["namespace"]
        secret = git.get("secretRef")
        try:
            store, _ = await self._depots.source(url, secret, namespace)
            ref, commit = await self._depots.run(
                url, lambda: _resolve(store, directory, git.get("ref") or "")
            )
            if not commit:
                why = f"ref {git.get('ref') or ''} not found"
                raise self._invalid(obj, fielderrors.not_found(f"{field}.ref", git.get("ref"), why))
            files = await self._depots.run(url, lambda: read(store, commit, directory))
        except SecretMissing as error:
            name = (secret or {}).get("name")
            where = f"{field}.secretRef.name"
            missing = fielderrors.not_found(where, name, "the secret is not there")
            raise self._invalid(obj, missing) from error
        except (NotAuthorized, SecretUnfit) as error:
            where = f"{field}.secretRef.name" if secret else f"{field}.repo"
            why = str(error) or "not authorized"
            raise self._invalid(obj, fielderrors.invalid(where, url, why)) from error
        except RepositoryNotFound as error:
            wrong = fielderrors.invalid(f"{field}.repo", url, "repository not found")
            raise self._invalid(obj, wrong) from error
        except OutsideError as error:
            wrong = fielderrors.invalid(f"{field}.repo", url, f"unreachable: {error.reason}")
            raise self._invalid(obj, wrong) from error
        except TooMuch as error:
            raise self._invalid(
                obj, fielderrors.invalid(f"{field}.directory", directory, str(error))
            ) from error
        if files is None or NAME not in files:
            why = "the directory must hold a Kptfile at this ref"
            raise self._invalid(obj, fielderrors.invalid(f"{field}.directory", directory, why))
        return _Source(files, Upstream(url, directory, ref, commit))

    # edit

    async def _edit(self, obj: Object, task: Object) -> Files:
        field = f"{self._field}.edit.sourceRef.name"
        name = (task.get("sourceRef") or {}).get("name") or ""
        if not name:
            raise self._refusals.bad(fielderrors.required(field, "sourceRef.name is required"))
        found = await self._get_revision(obj, name, field)
        self._check_package(obj, found, field)
        if revisions.is_placeholder(found):
            raise self._placeholder(obj, "source", found, field)
        if not revisions.is_published(found):
            why = "source revision must be published"
            raise self._invalid(obj, fielderrors.invalid(field, name, why))
        return (await self.source(found)).files

    # upgrade

    async def _upgrade(self, obj: Object, task: Object) -> Files:
        names = await self.upgrade_sources(obj, task)
        strategy = task["strategy"]
        if strategy not in merge.STRATEGIES:
            choices = " ".join(merge.STRATEGIES)
            sentence = f'invalid strategy "{strategy}"; must be one of: [{choices}]'
            where = f"{self._field}.upgrade.strategy"
            wrong = fielderrors.invalid(where, strategy, sentence)
            raise self._refusals.bad(wrong._replace(supported=tuple(merge.STRATEGIES)))
        old, new, local = [await self.source(each) for each in names]
        spec = obj["spec"]

        def merged() -> Files:
            result = merge.merge(old.files, new.files, local.files, strategy)
            said = f"{len(result.conflicts)} fields: " + "; ".join(result.conflicts)
            changes: list[Edit] = [
                partial(rename, Kptfile.of(local.files).name),
                partial(set_upstream, new.upstream),
                with_condition(CONFLICTS, True, "ConflictingChanges", said)
                if result.conflicts
                else partial(remove_condition, CONFLICTS),
            ]
            return edit(result.files, *changes)

        try:
            return await self._depots.work(merged)
        except merge.Modified as error:
            why = "local package files are modified; use a different update strategy"
            wrong = fielderrors.invalid(f"{self._field}.upgrade.strategy", strategy, why)
            raise self._invalid(obj, wrong) from error
        except Unreadable as error:
            wrong = fielderrors.invalid(f"{self._field}.upgrade", spec["packageName"], str(error))
            raise self._invalid(obj, wrong) from error

    async def upgrade_sources(self, obj: Object, task: Object) -> list[Object]:
        """Return the old upstream, the new upstream and the local revision of an upgrade. Each must
        be named, exist and be published (G1, G2). Raises StatusError."""
        found = []
        members = ("oldUpstreamRef", "newUpstreamRef", "localPackageRevisionRef")
        for member in members:
            if not (task.get(member) or {}).get("name"):
                field, why = f"{self._field}.upgrade.{member}.name", f"{member}.name is required"
                raise self._refusals.bad(fielderrors.required(field, why))
        for member in members:
            name = task[member]["name"]
            field = f"{self._field}.upgrade.{member}.name"
            each = await self._get_revision(obj, name, field)
            if revisions.is_placeholder(each) and member != members[0]:
                kind = "target upstream" if member == members[1] else "source"
                raise self._placeholder(obj, kind, each, field)
            if member == members[2]:
                self._check_package(obj, each, field)
            if not self._is_source(each):
                why = (
                    "all source PackageRevisions of upgrade task must be published, "
                    f'"{name}" is not'
                )
                raise self._invalid(obj, fielderrors.invalid(field, name, why))
            found.append(each)
        return found

    def _is_source(self, revision: Object) -> bool:
        """Return whether an upgrade can use a revision. Upstream also uses one that is proposed for
        deletion."""
        lifecycle = revision["spec"].get("lifecycle")
        return revisions.is_published(revision) and (
            lifecycle == PUBLISHED or self._refusals.upstream
        )

    # shared by the tasks

    def _check_package(self, obj: Object, source: Object, field: str) -> None:
        """Check that a source is a revision of the same package. Raises StatusError."""
        spec, other = obj["spec"], source["spec"]
        if all(spec[member] == other[member] for member in ("repository", "packageName")):
            return
        package = f"{spec['repository']}/{spec['packageName']}"
        why = f"source revision must be from same package {package}"
        name = source["metadata"]["name"]
        raise self._invalid(obj, fielderrors.invalid(field, name, why))

    async def local_source(self, obj: Object) -> str:
        """Return the commit of the revision that an edit or an upgrade continues, "" for other
        tasks. The entries of its package that clients do not see stay."""
        task = obj["spec"]["tasks"][self._at]
        member = {"edit": "sourceRef", "upgrade": "localPackageRevisionRef"}.get(task["type"])
        if member is None:
            return ""
        name = task[task["type"]][member]["name"]
        found = await storedobjects.revision(self._client, name, obj["metadata"]["namespace"])
        return revisions.commit_of(found) if found is not None else ""

    async def _get_revision(self, obj: Object, name: str, field: str) -> Object:
        found = await storedobjects.revision(self._client, name, obj["metadata"]["namespace"])
        if found is None:
            why = f"package revision {name} not found"
            raise self._invalid(obj, fielderrors.not_found(field, name, why))
        return found

    async def source(self, revision: Object) -> _Source:
        """Return the files of a revision, and their location in git."""
        files = await self.files(revision)
        git = revision["status"]["selfLock"]["git"]
        return _Source(files, Upstream(git["repo"], git["directory"], git["ref"], git["commit"]))

    async def files(self, revision: Object) -> Files:
        """Return the files of a revision; {} if its Repository does not exist. Raises the errors of
        hosts."""
        meta, spec = revision["metadata"], revision["spec"]
        repository = await storedobjects.repository(
            self._client, spec["repository"], meta["namespace"]
        )
        if repository is None:
            return {}
        depot = await self._depots.open(repository)
        commit = revisions.commit_of(revision)
        path = depot.layout.path(spec["packageName"])
        return await self._depots.run(depot.url, lambda: read(depot.store, commit, path)) or {}

    def _placeholder(self, obj: Object, kind: str, revision: Object, field: str) -> StatusError:
        name = revision["metadata"]["name"]
        place = f"{revision['spec']['repository']}/{name}"
        why = f"{kind} revision may not be the placeholder package revision {place}"
        return self._invalid(obj, fielderrors.invalid(field, name, why))

    def _invalid(self, obj: Object, error: FieldError) -> StatusError:
        return self._refusals.invalid(obj["metadata"]["name"], error)


def only_new(spec: Object, at: int) -> FieldError:
    """Return the error of rule C1: a clone would create another revision of an existing package."""
    why = (
        f'`clone` cannot create a new revision for package "{spec["packageName"]}" that already '
        f'exists in repo "{spec["repository"]}"; make subsequent revisions using `copy`'
    )
    return fielderrors.invalid(f"spec.tasks[{at}].type", "clone", why)


def read(store: Store, commit: str, path: str) -> Files | None:
    """Return the files of a directory at a commit; None if the directory does not exist. Blocks."""
    store.fetch([commit])
    directory = store.directory(store.head(commit).tree, path)
    return None if directory is None else store.files(directory)


def read_all(store: Store, commit: str, path: str) -> tuple[Files, list[str]]:
    """Return the files of a directory at a commit, and the names of its hidden entries. Blocks."""
    files = read(store, commit, path)
    directory = store.directory(store.head(commit).tree, path)
    return files or {}, [] if directory is None else store.hidden(directory)


def _resolve(store: Store, directory: str, ref: str) -> tuple[str, str]:
    """Return the name of a ref and its commit; "" as the commit if the ref does not exist.
    Blocks."""
    refs = store.refs()
    names = []
    if directory and ref:
        below = f"{directory}/{ref}"
        names += [(f"{TAGS}{below}", below), (f"{HEADS}{below}", below)]
    wanted = ref or "main"
    names += [(f"{TAGS}{wanted}", wanted), (f"{HEADS}{wanted}", wanted)]
    for full, name in names:
        if full in refs:
            return name, refs[full]
    if len(ref) == 40 and all(letter in "0123456789abcdef" for letter in ref):
        store.fetch(refs.values())
        if store.has(ref):
            return ref, ref
    return ref, ""
