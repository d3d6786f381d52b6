"""The actions of jobs. Input: an action and a repository. Output: an Outcome.

Pulls read and compare files; deletions and moves commit and then pull. The server has no database
of resources to export, so pushes and migrations do nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inkube.client import Object
from inkube.controllers.provisioning import manifests, places
from inkube.controllers.provisioning.jobs.types import JobSpec, ResourceReference
from inkube.controllers.provisioning.manifests import KINDS, DeclaredResource, FileProblem
from inkube.controllers.provisioning.outside.contents import Edit, File, Tree
from inkube.controllers.provisioning.pulls import PullResult, Pulls
from inkube.controllers.provisioning.types import Repository
from inkube.kinds import Key, Progress, Run

SUCCESS_MESSAGE = "completed successfully"
MOST_ERRORS = 20
"""The maximum number of errors and warnings that a job lists. A job with this many errors ends with
"too many errors"."""
BATCH = 50
"""The number of files that are read before other tasks can run."""


@dataclass(slots=True)
class Outcome:
    """The result of a job. `pulled`: the present resources, if the job read them."""

    state: str = "success"
    message: str = SUCCESS_MESSAGE
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    summary: list[Object] = field(default_factory=list)
    head: str = ""
    pulled: Sequence[DeclaredResource] | None = None
    url: Object = field(default_factory=dict)

    @classmethod
    def failed(cls, cause: str) -> "Outcome":
        """Return the outcome of a job that failed before it did anything."""
        return cls("error", cause, [cause])

    def members(self) -> Object:
        """Return the members of the job's status other than state and message, without empty
        ones."""
        found: Object = {"errors": self.errors, "warnings": self.warnings}
        found |= {"summary": self.summary, "url": self.url}
        return {name: value for name, value in found.items() if value}


async def carry_out(
    spec: JobSpec, run: Run[Repository], pulls: Pulls, progress: Progress
) -> Outcome:
    """Run the action. Raises OutsideError, the errors of `hosts` and `places`,
    CredentialsMissing."""
    if spec.action == "pull":
        is_incremental = spec.pull is not None and spec.pull.incremental
        return await _pull(run, pulls, progress, is_incremental=is_incremental)
    if spec.action == "pr" and spec.pr is not None:
        return await _look_at(spec.pr.ref, run, pulls, progress)
    if spec.action in ("delete", "move"):
        return await _change(spec, run, pulls, progress)
    if spec.action in ("releaseResources", "deleteResources"):
        pulls.forget(_key(run))
    return Outcome()


def record_pull(
    pulls: Pulls, key: Key, repository: Object, outcome: Outcome, now: int
) -> PullResult:
    """Record the resources that a pull found, with the generation of the repository. Without found
    resources, the recorded ones stay."""
    metadata = repository["metadata"]
    before = pulls.of(key, metadata["uid"])
    resources = outcome.pulled
    if resources is None:
        resources = before.resources if before is not None else ()
    pulled = PullResult(metadata["uid"], metadata["generation"], resources, now)
    pulls.keep(key, pulled)
    return pulled


async def _pull(
    run: Run[Repository], pulls: Pulls, progress: Progress, *, is_incremental: bool = False
) -> Outcome:
    repository = run.object
    if repository.spec.sync is None or not repository.spec.sync.enabled:
        return Outcome.failed("sync is not enabled")
    tree = await places.tree(run)
    pulled = pulls.of(_key(run), repository.metadata.uid)
    last = repository.status.sync.last_ref if repository.status.sync is not None else ""
    if is_incremental and pulled is not None and tree.head == last:
        return Outcome(head=tree.head)
    outcome = await _read(tree, run, pulls, progress)
    most = pulls.most_resources
    if most and outcome.pulled is not None and len(outcome.pulled) > most:
        text = f"Resource quota exceeded: {len(outcome.pulled)}/{most} resources"
        outcome.state, outcome.message = "error", text
        outcome.errors = [text, *outcome.errors][:MOST_ERRORS]
    return outcome


async def _look_at(ref: str, run: Run[Repository], pulls: Pulls, progress: Progress) -> Outcome:
    """Return the changes that a pull of another branch would make; the result is not recorded."""
    outcome = await _read(await places.tree(run, ref), run, pulls, progress)
    outcome.pulled = None
    outcome.url = places.urls_of(run.object, ref)
    return outcome


async def _read(tree: Tree, run: Run[Repository], pulls: Pulls, progress: Progress) -> Outcome:
    """Read every file and compare the resources with the last pull."""
    repository = run.object
    reading = manifests.ManifestReader(places.scope_of(repository))
    files = tree.below(repository.spec.path)
    for count, file in enumerate(files):
        if count and count % BATCH == 0:
            await run.env.pacer.wait()
            await progress.report(count, of=len(files), message="reading files")
        reading.add(file)
    found, pulled = reading.resources(), pulls.of(_key(run), repository.metadata.uid)
    outcome = compare(found, reading.troubles, pulled.resources if pulled is not None else ())
    outcome.head, outcome.pulled = tree.head, found
    return outcome


def compare(
    current: Sequence[DeclaredResource],
    troubles: Iterable[FileProblem],
    previous: Sequence[DeclaredResource],
) -> Outcome:
    """Return the changes per kind, and the problems of files."""
    outcome, tally = Outcome(), _Tally()
    old = {each.identity: each for each in previous}
    for each in current:
        known = old.pop(each.identity, None)
        action = "create" if known is None else "noop" if known.state == each.state else "update"
        tally.count(each.group, each.kind, action)
    for gone in old.values():
        tally.count(gone.group, gone.kind, "delete")
    for trouble in troubles:
        text = trouble.text()
        kind = "warning" if trouble.is_warning else "error"
        items = outcome.warnings if trouble.is_warning else outcome.errors
        if len(items) < MOST_ERRORS:
            items.append(text)
            tally.count(trouble.group, trouble.kind, kind, text)
    outcome.summary = tally.summary()
    if len(outcome.errors) >= MOST_ERRORS:
        outcome.state, outcome.message = "error", "completed with too many errors"
    elif outcome.errors:
        outcome.state, outcome.message = "error", "completed with errors"
    elif outcome.warnings:
        outcome.state, outcome.message = "warning", "completed with warnings"
    return outcome


class _Tally:
    """Counts actions per kind; zeros are omitted."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Object] = {}

    def count(self, group: str, kind: str, action: str, text: str = "") -> None:
        counts = self._counts.setdefault((group, kind), {"total": 0})
        counts["total"] += 1
        counts[action] = counts.get(action, 0) + 1
        if text:
            counts.setdefault(f"{action}s", []).append(text)

    def summary(self) -> list[Object]:
        found = []
        for (group, kind), counts in sorted(self._counts.items()):
            named = {"group": group, "kind": kind} if kind else {}
            found.append({**named, **counts})
        return found


async def _change(spec: JobSpec, run: Run[Repository], pulls: Pulls, progress: Progress) -> Outcome:
    """Delete or move files in one commit; then pull, if the commit is on the configured branch."""
    options = spec.delete if spec.action == "delete" else spec.move
    assert options is not None, "a rule of jobs"
    configured = places.configured_branch(run.object)
    branch = options.ref or configured
    tree = await places.tree(run, options.ref)
    base = run.object.spec.path
    files = {file.path: file for file in tree.below(base)}
    edits: list[Edit] = []
    errors: list[str] = []
    pulled = pulls.of(_key(run), run.object.metadata.uid)
    known = pulled.resources if pulled is not None else ()
    for path in [*options.paths, *_paths_of(options.resources, known, errors, spec.action)]:
        below = path if path.endswith("/") else f"{path}/"
        chosen = [file for name, file in files.items() if name == path or name.startswith(below)]
        if not chosen:
            errors.append(f"file not found (file: {path}, name: , action: {spec.action})")
        for file in chosen:
            edits += _edits(spec, file, path, base)
    outcome = Outcome()
    if edits:
        message = f"{spec.action} {len(edits)} files"
        outcome.head = await places.commit(run, options.ref, edits, message)
    if edits and branch == configured and run.object.spec.sync and run.object.spec.sync.enabled:
        fresh = Run(run.raw, run.env, model=Repository)
        try:
            outcome = await _pull(fresh, pulls, progress)
        finally:
            await fresh.memo.close()
    if edits:
        outcome.url = places.urls_of(run.object, options.ref)
    if errors:
        outcome.errors = [*errors, *outcome.errors][:MOST_ERRORS]
        outcome.state = "error"
        outcome.message = "completed with errors"
    return outcome


def _edits(spec: JobSpec, file: File, path: str, base: str) -> list[Edit]:
    prefix = f"{base}/" if base else ""
    edits = [Edit(f"{prefix}{file.path}", None)]
    if spec.action == "move" and spec.move is not None:
        parent = path.rstrip("/").rpartition("/")[0]
        kept = file.path.removeprefix(f"{parent}/") if parent else file.path
        target = spec.move.target_path.strip("/")
        edits.append(Edit(f"{prefix}{target}/{kept}" if target else f"{prefix}{kept}", file.data))
    return edits


def _paths_of(
    references: Sequence[ResourceReference],
    resources: Sequence[DeclaredResource],
    errors: list[str],
    action: str,
) -> list[str]:
    """Return the files of the referenced resources, according to the last pull. Missing resources
    are added to `errors`."""
    paths = []
    for reference in references:
        group = reference.group or next(
            (group for group, kind in KINDS if kind == reference.kind), ""
        )
        wanted = (group, reference.kind, reference.name)
        path = next(
            (each.path for each in resources if (each.group, each.kind, each.name) == wanted), ""
        )
        if path:
            paths.append(path)
        else:
            errors.append(f"resource not found (file: , name: {reference.name}, action: {action})")
    return paths


def _key(run: Run[Repository]) -> Key:
    return Key(run.object.metadata.namespace, run.object.metadata.name)
