"""Repositories that sync the same files: same location, same branch, overlapping paths.

Of two such repositories, the one that already syncs keeps the location: it was checked at its
present generation without an overlap. Of two new ones, the older one keeps it. So a new repository
never breaks a working one, and a dry run returns the same result as the controller later.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inkube import kinds
from inkube.client import Object
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.types import Repository
from inkube.formats import fielderrors
from inkube.kinds import Change, Environment, Index, Key

ANY = "*"
"""Represents every branch; a branch cannot have this name."""


class Rank(NamedTuple):
    """The repository with the smaller rank keeps the location."""

    is_unchecked: bool
    is_overlapped: bool
    created: str
    name: str


class Site(NamedTuple):
    """The location of files: a repository (or the disk of the server) of a namespace, a branch and
    a path.

    The branch "" is the default branch. Its name is unknown, so it can be the same as any other
    branch.
    """

    scope: str
    branch: str
    path: tuple[str, ...]

    def index_values(self) -> Iterator[str]:
        """Yield the entries of this site in the index: its own, and "below" entries for every
        directory above it."""
        for branch in {ANY, self.branch}:
            yield self._entry(branch, "at", len(self.path))
            for depth in range(len(self.path)):
                yield self._entry(branch, "below", depth)

    def looked_up_under(self) -> Iterator[str]:
        """Yield the index entries of all sites that can overlap it: at or above it, and below
        it."""
        for branch in {self.branch, ""} if self.branch else {ANY}:
            for depth in range(len(self.path) + 1):
                yield self._entry(branch, "at", depth)
            yield self._entry(branch, "below", len(self.path))

    def _entry(self, branch: str, relation: str, depth: int) -> str:
        return f"{self.scope} {branch} {relation} {'/'.join(self.path[:depth])}"


def _site(obj: Object) -> Site | None:
    spec = obj.get("spec") or {}
    kind = spec.get("type", "")
    block = spec.get(kind) or {}
    where = "local" if kind == "local" else urls.normalised(str(block.get("url", "")))
    if not where:
        return None
    if kind == "github":  # GitHub's paths are case-insensitive
        where = where.lower()
    path = tuple(part for part in str(block.get("path", "")).split("/") if part)
    branch = str(block.get("branch", ""))
    return Site(f"{obj['metadata'].get('namespace', '')} {where}", branch, path)


def _index_values(obj: Object) -> Iterable[str]:
    site = _site(obj)
    return site.index_values() if site is not None else ()


class Overlap(NamedTuple):
    """A repository that keeps the location: with the same path, or with an overlapping one."""

    name: str
    is_duplicate: bool


async def overlaps_of(
    repository: Repository, env: Environment, old: Repository | None, branch: str
) -> list[Overlap]:
    """Return the repositories that keep the location instead of this one. `branch` replaces an
    empty branch."""
    own_rank, path = _rank(repository, old), _path(repository)
    return [
        Overlap(other.metadata.name, _path(other) == path)
        for other in await _neighbours(repository, env)
        if other.metadata.name != repository.metadata.name
        and not other.metadata.deletion_timestamp
        and _same_branch(repository, other, branch)
        and _rank(other, None) < own_rank
    ]


def _path(repository: Repository) -> list[str]:
    block = repository.spec.remote or repository.spec.local
    return [part for part in block.path.split("/") if part] if block is not None else []


def neighbours_of(change: Change, env: Environment) -> list[Key]:
    """Return the repositories to check again because a repository moved to or from a location."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.get("spec") == new.get("spec"):
        return []
    index = env.informers.of(Repository.gvr).index(_index_values)
    found = {key for obj in (old, new) if obj is not None for key in _overlapping(index, obj)}
    return sorted(found - {Key.of(change.object)})


def _overlapping(index: Index, obj: Object) -> set[Key]:
    site = _site(obj)
    if site is None:
        return set()
    return {key for entry in site.looked_up_under() for key in index.keys(entry)}


async def _neighbours(repository: Repository, env: Environment) -> list[Repository]:
    """Return all repositories with an overlapping location, from up-to-date data."""
    own = _as_object(repository)
    informer = env.informers.of(Repository.gvr)
    if env.informers.is_running:
        await informer.caught_up()
        keys = sorted(_overlapping(informer.index(_index_values), own))
        found = [obj for key in keys if (obj := informer.get(key)) is not None]
    else:
        wanted = Index(_index_values)
        listed = {Key.of(obj): obj for obj in (await env.client.list(Repository.gvr)).items}
        for obj in listed.values():
            wanted.update(Change(None, obj))
        found = [listed[key] for key in sorted(_overlapping(wanted, own))]
    return [kinds.parse(Repository, obj) for obj in found]


def _same_branch(repository: Repository, other: Repository, branch: str) -> bool:
    first, second = repository.spec.remote, other.spec.remote
    if first is None or second is None:
        return first is second
    return (first.branch or branch) == (second.branch or branch)


def _rank(repository: Repository, old: Repository | None) -> Rank:
    """Return the rank of a repository. `old` is set in a dry run: an object that moves to another
    location does not keep it before its check."""
    known = old if old is not None else repository
    moved = old is not None and _location(old) != _location(repository)
    errors = known.status.field_errors
    is_unknown = errors is None or not known.status.observed_generation
    is_overlapped = is_unknown or any(
        error.type == fielderrors.Type.DUPLICATE for error in errors or ()
    )
    is_current = known.status.observed_generation == known.metadata.generation and not is_overlapped
    created = repository.metadata.creation_timestamp or "9999"
    return Rank(moved or not is_current, is_overlapped, created, repository.metadata.name)


def _location(repository: Repository) -> object:
    block = repository.spec.remote or repository.spec.local
    return repository.spec.type, block.model_dump() if block is not None else None


def _as_object(repository: Repository) -> Object:
    return {
        "metadata": {"namespace": repository.metadata.namespace},
        "spec": kinds.dump(repository.spec),
    }
