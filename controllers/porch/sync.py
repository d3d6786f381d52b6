"""Updates the objects of a Repository to the state of git. The caller holds its lock."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.git import discovery, layout
from inkube.controllers.porch.git.content import Refs, Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.git.discovery import FoundRevision
from inkube.formats import same
from inkube.kinds import Environment, Record


class BranchNotFound(Exception):
    """The branch of the Repository does not exist. For an empty repository, the message contains
    the solution."""

    def __init__(self, refs: Refs) -> None:
        text = "branch not found"
        if not refs:
            text += ": the repository is empty; spec.git.createBranch: true makes its first commit"
        super().__init__(text)


class SyncResult(NamedTuple):
    """The result of a sync."""

    head: str
    packages: int
    unreadable: list[tuple[str, str]]
    digest: str


def digest(refs: Refs) -> str:
    """Return a digest that is the same for equal refs."""
    text = "\n".join(f"{name} {commit}" for name, commit in sorted(refs.items()))
    return hashlib.sha256(text.encode()).hexdigest()


async def sync(
    env: Environment,
    depots: Depots,
    repository: Object,
    depot: Depot,
    previous: SyncResult | None = None,
) -> SyncResult:
    """Read git, and write records for new, changed and removed revisions. Raises BranchNotFound and
    the errors of hosts.

    The result `previous` is returned again if the refs and the number of objects are the same.
    """
    git, meta = repository["spec"]["git"], repository["metadata"]
    refs = await depots.run(depot.url, depot.store.refs)
    if depot.layout.main not in refs:
        if not git.get("createBranch"):
            raise BranchNotFound(refs)
        await depots.run(depot.url, lambda: _begin(depot, meta["name"]))
        refs = await depots.run(depot.url, depot.store.refs)
    objects = await storedobjects.of_repository(env.client, meta["namespace"], meta["name"])
    same_refs = previous is not None and previous.digest == digest(refs)
    if previous is not None and same_refs and previous.packages == len(objects):
        return previous
    known = {
        (revisions.ref_of(obj), revisions.commit_of(obj)): obj["spec"]["workspaceName"]
        for obj in objects
        if not revisions.is_placeholder(obj) and "selfLock" in (obj.get("status") or {})
    }

    await depots.run(depot.url, lambda: depot.store.fetch(refs.values()))
    found = await depots.work(lambda: discovery.discover(depot.store, refs, depot.layout, known))
    records = _records(repository, depot, objects, found.revisions)
    old = await storedobjects.packages(env.client, meta["namespace"], meta["name"])
    count, summaries = _summaries(repository, objects, records, old)
    await storedobjects.commit(env, [*records, *summaries])
    return SyncResult(refs[depot.layout.main], count, found.unreadable, digest(refs))


def _begin(depot: Depot, name: str) -> None:
    """Push the first commit of a branch. Blocks."""
    store = depot.store
    tree = store.write({"README.md": f"# {name}\n"}, None)
    signature = depot.signature("porch")
    commit = store.commit(tree, (), "Create the branch\n", signature)
    depot.push([Update(depot.layout.main, "", commit)])


def _records(
    repository: Object,
    depot: Depot,
    objects: Sequence[Object],
    found_revisions: Sequence[FoundRevision],
) -> list[Record]:
    """Return the records to write for the revisions of a Repository."""
    name = repository["metadata"]["name"]
    before = {obj["metadata"]["name"]: obj for obj in objects}
    now: dict[str, Object] = {}
    originals: dict[str, Object] = {}
    for each in found_revisions:
        own = layout.name_of(name, each.package, each.workspace)
        if own in now or len(own) > 253:
            continue  # two refs of one workspace: the first one is used
        old = before.get(own)
        if old is None:
            now[own] = revisions.object_of(repository, depot, each)
            continue
        originals[own] = old
        copied: Object = {
            **old,
            "metadata": dict(old["metadata"]),
            "spec": dict(old["spec"]),
            "status": dict(old.get("status") or {}),
        }
        revisions.renew(copied, depot, each)
        now[own] = copied
    packages: dict[str, list[Object]] = {}
    for obj in now.values():
        packages.setdefault(obj["spec"]["packageName"], []).append(obj)
    for siblings in packages.values():
        revisions.relabelled(siblings)
    gone = [Record("delete", obj) for own, obj in before.items() if own not in now]
    new = [Record("create", obj) for own, obj in now.items() if own not in before]
    changed = [
        Record("update", obj)
        for own, obj in now.items()
        if own in originals and not same(obj, originals[own])
    ]
    return [*gone, *changed, *new]


def _summaries(
    repository: Object, objects: Sequence[Object], records: Sequence[Record], old: Sequence[Object]
) -> tuple[int, list[Record]]:
    """Return the number of revisions after these records, and the records that update the summaries
    of packages."""
    meta = repository["metadata"]
    alive = {obj["metadata"]["name"]: obj for obj in objects}
    for record in records:
        name = record.object["metadata"]["name"]
        if record.change == "delete":
            alive.pop(name, None)
        else:
            alive[name] = record.object
    packages: dict[str, list[Object]] = {}
    for obj in alive.values():
        packages.setdefault(obj["spec"]["packageName"], []).append(obj)
    made: list[Record] = []
    known = {obj["spec"]["packageName"]: obj for obj in old}
    for package, siblings in packages.items():
        latest = revisions.latest_of(siblings)
        summary = known.get(package)
        if summary is None:
            new = revisions.summary(meta["name"], meta["namespace"], package, latest)
            made.append(Record("create", new))
        elif summary["status"]["latestRevision"] != latest:
            summary["status"]["latestRevision"] = latest
            made.append(Record("update", summary))
    made += [Record("delete", obj) for package, obj in known.items() if package not in packages]
    return len(alive), made


async def forget(env: Environment, namespace: str, name: str) -> None:
    """Remove every object of a Repository from the API; git keeps all content."""
    objects = await storedobjects.of_repository(env.client, namespace, name)
    summaries = await storedobjects.packages(env.client, namespace, name)
    await storedobjects.commit(env, [Record("delete", obj) for obj in (*objects, *summaries)])
