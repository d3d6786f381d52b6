"""Repository of config.porch.kpt.dev: its rules, its status, and the schedule of its syncs."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from inkube.client import Object, Selection, ignoring
from inkube.controllers.porch import storedobjects, sync, troubles
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.depots import SecretMissing, SecretUnfit
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.types import CONFIG, Repository
from inkube.controllers.porch.writes.engine import ENGINE, Engine
from inkube.controllers.provisioning import NotAuthorized, RepositoryNotFound, TooMuch, urls
from inkube.formats import cron, format_time, names
from inkube.kinds import (
    Controller,
    Environment,
    FieldError,
    Finding,
    Invalid,
    Key,
    KindModule,
    NotFound,
    NotSupported,
    OutsideError,
    Part,
    Problem,
    Required,
    Result,
    Rule,
    StatusError,
    Watch,
    Write,
    check,
    conditions,
    validator,
)
from inkube.kinds import status as statuses

FINALIZER = "config.porch.kpt.dev/repository"
MIGRATION = "porch.kpt.dev/v1alpha2-migration"
_NO_OCI = "oci repositories cannot be read by this server"
_CONTENT = "The 'content' field is deprecated, its only valid value is 'Package'"
_NAME = "metadata.name must conform to the RFC1123 DNS label standard"
EXHAUSTED_SECONDS = 600.0
"""Seconds until a repository that exceeds the limits is read again, unless its Repository
changes."""
_CONCURRENCY = 8


def module(options: Options, engine: Engine) -> KindModule[Repository]:
    """Return the kind with its rules, checks and controllers."""
    return KindModule(
        Repository,
        parts=(Part("", _prepare),),
        validators=_validators(options),
        checks=(readable,),
        needs=(ENGINE,),
        reports_checks=False,
        transaction=partial(_transaction, engine),
        extra_controllers=lambda env: [_Reconciler(options, engine, env).controller()],
        works_alone=True,
    )


def _prepare(obj: Object, old: Object | None) -> None:
    """Add the finalizer that keeps a Repository until its revisions are removed from the API, and
    the default of `spec.content`."""
    if old is None:
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
    if not (obj.get("spec") or {}).get("content"):
        obj.setdefault("spec", {})["content"] = "Package"


def _validators(options: Options) -> Sequence[Rule[Repository]]:
    @validator(Repository, field="spec.git.repo")
    def repo_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        git = repository.spec.git
        if git is None:
            return
        if not git.repo:
            yield Required("the URL of the repository is needed")
        elif git.repo.startswith("file://"):
            why = urls.wrong_with_file_url(
                git.repo, options.local_folders, anywhere=options.allow_private_hosts
            )
            if why:
                yield Invalid(why)
        elif why := urls.wrong_with_url(git.repo):
            yield Invalid(why, value=urls.without_credentials(git.repo))

    return (
        name_is_a_label, content_is_package, type_and_block, repo_well_formed, branch_well_formed,
        directory_well_formed, schedule_parses, time_parses, immutable_fields,
    )  # fmt: skip


@validator(Repository, field="metadata.name")
def name_is_a_label(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The name must be a DNS label, because the names of revisions begin with it."""
    if names.label(repository.metadata.name):
        yield Invalid(_NAME)


@validator(Repository, field="spec.content")
def content_is_package(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The content must be `Package`, the only valid value."""
    if repository.spec.content not in ("", "Package"):
        yield Invalid(_CONTENT)


@validator(Repository, field="spec.type")
def type_and_block(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The type must be git or oci, with the block of that name."""
    spec = repository.spec
    if spec.type not in ("git", "oci"):
        yield NotSupported('supported values: "git", "oci"')
    elif spec.type == "git" and spec.git is None:
        yield Required("is needed by type git", field="spec.git")
    elif spec.type == "oci" and spec.oci is None:
        yield Required("is needed by type oci", field="spec.oci")


@validator(Repository, field="spec.git.branch")
def branch_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The branch must be DNS labels joined by slashes."""
    git = repository.spec.git
    if git is None:
        return
    if not git.branch:
        yield Required("the branch must not be empty")
    elif any(names.label(part) for part in git.branch.split("/")):
        yield Invalid("must be RFC 1123 labels with / between them")


@validator(Repository, field="spec.git.directory")
def directory_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The directory must be DNS labels joined by slashes; it may begin with a slash."""
    git = repository.spec.git
    if git is None or git.directory in ("", "/"):
        return
    if any(names.label(part) for part in git.directory.removeprefix("/").split("/")):
        yield Invalid("must be RFC 1123 labels with / between them")


@validator(Repository, field="spec.sync.schedule")
def schedule_parses(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The schedule must have the five fields of cron."""
    options = repository.spec.sync
    if options is None or not options.schedule:
        return
    try:
        cron.parse(options.schedule)
    except ValueError as error:
        yield Invalid(f"invalid cron expression: {error}")


@validator(Repository, field="spec.sync.runOnceAt")
def time_parses(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The time must be in the format of RFC 3339."""
    options = repository.spec.sync
    if options is not None and options.run_once_at and _time(options.run_once_at) is None:
        yield Invalid("must be a time of RFC 3339, as 2026-01-31T12:00:00Z")


@validator(Repository, field="spec")
def immutable_fields(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """The fields that locate the packages are immutable."""
    if old is None:
        return
    for path in ("spec.type", "spec.git.repo", "spec.git.branch", "spec.git.directory"):
        if _member(old, path) and _member(old, path) != _member(repository, path):
            yield Invalid(f"{path} is immutable", field=path)
    if _member(old, "spec.oci.registry") not in ("", _member(repository, "spec.oci.registry")):
        yield Invalid("spec.oci.registry is immutable", field="spec.oci.registry")


def _member(repository: Any, path: str) -> str:
    for name in path.split("."):
        repository = getattr(repository, name, None)
    return layout.directory(repository or "") if path.endswith("directory") else repository or ""


@asynccontextmanager
async def _transaction(engine: Engine, write: Write, env: Environment) -> AsyncIterator[None]:
    """Reject Repositories that share packages with another one."""
    if write.obj is None or write.operation == "delete" or write.goes:
        await write.confirm()
        yield
        return
    if (write.obj["metadata"].get("annotations") or {}).get(MIGRATION) == "true":
        write.warn(f"annotation {MIGRATION} has no effect: v1alpha2 is not served")
    if write.old is not None:
        await write.confirm()
        yield
        return
    async with engine.locks.hold("repositories"):
        for other in (await env.client.list(Repository.gvr, Selection())).items:
            if _overlap(write.obj, other):
                own = other["metadata"]
                place = f"{own['namespace']}/{own['name']}"
                sentence = f"Repository conflict with existing repository: {place}"
                if engine.options.porch_errors == "upstream":
                    raise statuses.bad_request(sentence)
                raise statuses.conflict(CONFIG, "repositories", write.name, sentence)
        yield


def _overlap(repository: Object, other: Object) -> bool:
    here, there = repository["spec"].get("git"), other["spec"].get("git")
    same_object = all(
        repository["metadata"].get(m) == other["metadata"][m] for m in ("name", "namespace")
    )
    if not here or not there or same_object:
        return False
    if urls.normalised(here["repo"]) != urls.normalised(there["repo"]):
        return False
    if (here.get("branch") or "main") != (there.get("branch") or "main"):
        return False
    mine, theirs = (layout.directory(each.get("directory") or "") for each in (here, there))
    if mine == theirs:
        return bool(repository["metadata"].get("namespace") == other["metadata"]["namespace"])
    return urls.overlaps(mine, theirs)


@check(Repository, field="spec.git.repo")
async def readable(repository: Repository, run: Any) -> AsyncIterator[Problem]:
    """The secret must exist, the credentials must be accepted, and repository and branch must
    exist."""
    if repository.spec.type == "oci":
        yield Invalid(_NO_OCI, field="spec.type")
    if repository.spec.git is None:
        return
    engine = run.env.service(ENGINE)
    try:
        depot = await engine.depots.open(run.raw)
        refs = await engine.depots.run(depot.url, depot.store.refs)
        if depot.layout.main not in refs and not repository.spec.git.create_branch:
            raise sync.BranchNotFound(refs)
    except troubles.READ_ERRORS as error:
        yield problem_of(error, run.raw)


def problem_of(error: Exception, repository: Object) -> Problem:
    """Return the reason why a repository cannot be read, as a problem of the responsible field."""
    secret = (repository["spec"]["git"].get("secretRef") or {}).get("name") or ""
    field = "spec.git.repo"
    if isinstance(error, SecretMissing):
        return NotFound(troubles.cause(error), field="spec.git.secretRef.name")
    if secret and isinstance(error, NotAuthorized | SecretUnfit):
        field = "spec.git.secretRef.name"
    if isinstance(error, sync.BranchNotFound):
        field = "spec.git.branch"
    return Invalid(troubles.cause(error), field=field)


class _Reconciler:
    """Syncs Repositories and writes the result to their status."""

    def __init__(self, options: Options, engine: Engine, env: Environment) -> None:
        self._options, self._engine, self._env = options, engine, env
        self._sync_results: dict[Key, tuple[object, sync.SyncResult]] = {}
        """The result of the last sync of each Repository, and the state of the Repository at that
        time."""

    def controller(self) -> Controller:
        """Return the controller to run."""
        secrets = Watch("v1/secrets", lambda change: self._keys_using(change.object))
        watches = (Watch(Repository.gvr), secrets)
        name = f"{Repository.gvr.resource}.{CONFIG} sync"
        return Controller(name, self.reconcile, watches, concurrency=_CONCURRENCY)

    def _keys_using(self, secret: Object) -> list[Key]:
        """Return the Repositories that use a Secret as credentials."""
        own = secret["metadata"]
        informer = self._env.informers.of(Repository.gvr)
        return [
            Key.of(each)
            for each in informer.items()
            if each["metadata"].get("namespace") == own.get("namespace")
            and ((each["spec"].get("git") or {}).get("secretRef") or {}).get("name") == own["name"]
        ]

    async def reconcile(self, key: Key) -> Result | None:
        """Sync or remove one Repository."""
        obj = await storedobjects.repository(self._env.client, key.name, key.namespace)
        if obj is None:
            self._engine.forget(key.namespace, key.name)
            self._sync_results.pop(key, None)
            return None
        if obj["metadata"].get("deletionTimestamp"):
            await self._unregister(key, obj)
            return None
        if obj["spec"].get("git") is None:
            await self._write_status(obj, [Invalid(_NO_OCI).at("spec.type", "oci")], {})
            self._engine.readiness.mark_synced(key.namespace, key.name)
            return None
        if not (obj.get("status") or {}).get("conditions"):
            obj = await self._begin(obj)
        wait = self._wait(obj)
        if wait > 0:
            self._engine.readiness.mark_synced(key.namespace, key.name)
            return Result(wait)
        return await self._sync(key, obj)

    async def _unregister(self, key: Key, obj: Object) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            return
        async with self._engine.origin.locked(key.namespace, key.name):
            await sync.forget(self._env, key.namespace, key.name)
        left = [each for each in finalizers if each != FINALIZER]
        patch = {"metadata": {"finalizers": left or None, "uid": obj["metadata"]["uid"]}}
        with ignoring(404):
            await self._env.client.patch(Repository.gvr, key.name, key.namespace, patch=patch)
        self._engine.forget(key.namespace, key.name)

    async def _begin(self, obj: Object) -> Object:
        finding = Finding("Ready", False, "Reconciling", "Repository reconciliation in progress")
        made = conditions(obj, [finding], self._env.clock.now())
        return await self._patch(obj, {"conditions": made})

    def _wait(self, obj: Object) -> float:
        """Return seconds until the next sync; 0 if it is due."""
        observed, options = obj.get("status") or {}, obj["spec"].get("sync") or {}
        now = self._env.clock.now()
        if observed.get("observedGeneration") != obj["metadata"].get("generation"):
            return 0
        soonest = _time(observed.get("nextFullSyncTime"))
        once = _time(options.get("runOnceAt"))
        due = [each for each in (soonest, once) if each is not None]
        if not due:
            return 0
        return max(0.0, (min(due) - now).total_seconds())

    async def _sync(self, key: Key, obj: Object) -> Result:
        now = self._env.clock.now()
        once = _time((obj["spec"].get("sync") or {}).get("runOnceAt"))
        members: Object = {}
        if once is not None and once <= now:
            members["observedRunOnceAt"] = obj["spec"]["sync"]["runOnceAt"]
            patch = {"spec": {"sync": {"runOnceAt": None}}}
            obj = await self._env.client.patch(Repository.gvr, key.name, key.namespace, patch=patch)
        errors: list[FieldError] = []
        unreadable: list[tuple[str, str]] = []
        delay = self._options.porch_sync_interval or self._env.recheck.healthy
        async with self._engine.origin.locked(key.namespace, key.name):
            try:
                depot = await self._engine.depots.open(obj)
                known = self._sync_results.get(key)
                before = known[1] if known and known[0] == _state(obj) else None
                found = await sync.sync(self._env, self._engine.depots, obj, depot, before)
            except troubles.READ_ERRORS as error:
                errors = [problem_of(error, obj).at("spec.git.repo")]
                delay = min(_patience(error), self._env.recheck.unhealthy)
                if isinstance(error, TooMuch):
                    delay = EXHAUSTED_SECONDS
            else:
                self._sync_results[key] = (_state(obj), found)
                unreadable = found.unreadable
                members["packageCount"] = found.packages
                members["gitCommitHash"] = found.head
                members["lastFullSyncTime"] = format_time(now)
                delay = min(delay, self._scheduled(obj, now, delay))
        members["nextFullSyncTime"] = format_time(now + timedelta(seconds=max(1, delay)))
        for where, why in unreadable:
            await self._env.events.warning(obj, "PackageUnreadable", f"{where}: {why}")
        await self._write_status(obj, errors, members)
        self._engine.readiness.mark_synced(key.namespace, key.name)
        return Result(delay)

    @staticmethod
    def _scheduled(obj: Object, now: datetime, default: float) -> float:
        schedule = (obj["spec"].get("sync") or {}).get("schedule")
        if not schedule or now.tzinfo is None:
            return default
        following = cron.parse(schedule).after(now, now.tzinfo)
        return default if following is None else (following - now).total_seconds()

    async def _write_status(
        self, obj: Object, errors: Sequence[FieldError], members: Object
    ) -> None:
        if errors:
            finding = Finding("Ready", False, "Error", errors[0].detail)
        else:
            finding = Finding("Ready", True, "Ready", "Repository Ready")
        wanted: Object = {
            **members,
            "fieldErrors": [error.item() for error in errors],
            "observedGeneration": obj["metadata"].get("generation", 0),
            "conditions": conditions(obj, [finding], self._env.clock.now()),
        }
        await self._patch(obj, wanted)

    async def _patch(self, obj: Object, members: Object) -> Object:
        observed = obj.get("status") or {}
        changed = {name: value for name, value in members.items() if observed.get(name) != value}
        if not changed:
            return obj
        own = obj["metadata"]
        try:
            return await self._env.client.patch(
                Repository.gvr,
                own["name"],
                own["namespace"],
                patch={"metadata": {"uid": own["uid"]}, "status": changed},
                subresource="status",
            )
        except StatusError as error:
            if error.code in (404, 409):
                return obj  # deleted, or replaced by another object of its name
            raise


def _state(obj: Object) -> object:
    """Return the state of a Repository that a sync depends on, besides git."""
    return obj["metadata"]["uid"], obj["metadata"].get("generation")


_PATIENCE = {
    OutsideError.RATE_LIMITED: 300,
    OutsideError.UNTRUSTED: 300,
    OutsideError.TIMED_OUT: 60,
}


def _patience(error: Exception) -> float:
    """Return seconds until the next attempt to read a repository that cannot be read, by the kind
    of the error."""
    if isinstance(error, NotAuthorized | SecretMissing | SecretUnfit):
        return 600
    if isinstance(error, RepositoryNotFound | sync.BranchNotFound):
        return 120
    return _PATIENCE.get(error.cause, 30) if isinstance(error, OutsideError) else 30


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
