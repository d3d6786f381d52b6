"""Repositories that want to sync the same files: same place, same branch, overlapping paths.

Of two such repositories the one that syncs already keeps the place: it was checked at its present
generation and no rival was found. Between two new ones the older has it. So a rival never breaks
a repository that works, and a dry run says the same as the controller will.
"""

from collections.abc import Iterable
from typing import NamedTuple

from inkube.controllers.client import Object
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Change, Key
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.types import Repository
from inkube.schemas import models
from inkube.schemas.fielderrors import Type

INDEX = "provisioning place"


class Rank(NamedTuple):
    """The smaller one keeps the place."""

    is_unchecked: bool
    has_rival: bool
    created: str
    name: str


def places(obj: Object) -> Iterable[str]:
    """Where an object's files lie, by namespace; for the index over all repositories."""
    spec = obj.get("spec") or {}
    kind = spec.get("type", "")
    block = spec.get(kind) or {}
    where = "local" if kind == "local" else urls.normalised(str(block.get("url", "")))
    if kind == "github":  # its paths are the same in any case
        where = where.lower()
    return (f"{obj['metadata'].get('namespace', '')} {where}",) if where else ()


async def rival_of(
    repository: Repository, env: Environment, old: Repository | None, branch: str
) -> str | None:
    """The name of the repository that has the place already. `branch` is the one looked up."""
    own_rank = _rank(repository, old)
    for other in await _neighbours(repository, env):
        if other.metadata.name == repository.metadata.name or other.metadata.deletion_timestamp:
            continue
        if _collide(repository, other, branch) and _rank(other, None) < own_rank:
            return other.metadata.name
    return None


def neighbours_of(change: Change, env: Environment) -> list[Key]:
    """Who must be checked again because a repository moved in or out of a place."""
    old = set(places(change.old)) if change.old is not None else set()
    new = set(places(change.new)) if change.new is not None else set()
    if change.old is not None and change.new is not None and _same_spec(change.old, change.new):
        return []
    index = env.informers.of(Repository.gvr).index(INDEX, places)
    own = Key.of(change.object)
    return [key for place in sorted(old | new) for key in index.keys(place) if key != own]


def _same_spec(old: Object, new: Object) -> bool:
    return bool(old.get("spec") == new.get("spec"))


async def _neighbours(repository: Repository, env: Environment) -> list[Repository]:
    """Everybody at the same place, as of now."""
    wanted = list(places(_plain(repository)))
    if not wanted:
        return []
    informer = env.informers.of(Repository.gvr)
    if env.informers.is_running:
        await informer.caught_up()
        keys = informer.index(INDEX, places).keys(wanted[0])
        found = [obj for key in keys if (obj := informer.get(key)) is not None]
    else:
        listed = await env.client.list(Repository.gvr)
        found = [obj for obj in listed.items if wanted[0] in places(obj)]
    return [models.parse(Repository, obj) for obj in found]


def _collide(one: Repository, other: Repository, branch: str) -> bool:
    if one.spec.type == "local" and one.spec.local and other.spec.local:
        return urls.overlaps(one.spec.local.path, other.spec.local.path)
    first, second = one.spec.remote, other.spec.remote
    if first is None or second is None:
        return False
    same_branch = (first.branch or branch) == (second.branch or branch)
    return same_branch and urls.overlaps(first.path, second.path)


def _rank(repository: Repository, old: Repository | None) -> Rank:
    """`old` is there in a dry run: an object that moves to another place has no claim to it yet."""
    known = old if old is not None else repository
    moved = old is not None and _place(old) != _place(repository)
    errors = known.status.field_errors
    has_rival = errors is None or any(error.type == Type.DUPLICATE for error in errors)
    is_current = known.status.observed_generation == known.metadata.generation and not has_rival
    created = repository.metadata.creation_timestamp or "9999"
    return Rank(moved or not is_current, has_rival, created, repository.metadata.name)


def _place(repository: Repository) -> object:
    block = repository.spec.remote or repository.spec.local
    return repository.spec.type, block.model_dump() if block is not None else None


def _plain(repository: Repository) -> Object:
    return {
        "metadata": {"namespace": repository.metadata.namespace},
        "spec": models.dump(repository.spec),
    }
