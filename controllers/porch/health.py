"""Later problems of a package revision: its Repository fails, or its upstream is deleted.

They are written to `status.fieldErrors`, only if they changed, because clients depend on stable
resourceVersions.
"""

from collections.abc import Iterable
from typing import Any

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.types import GROUP, PackageRevision, Repository
from inkube.controllers.porch.writes import readiness
from inkube.controllers.porch.writes.engine import Engine
from inkube.formats import fielderrors
from inkube.kinds import Change, Controller, Environment, Key, Record, Result, Watch


def controller(engine: Engine, env: Environment) -> Controller:
    """Return a controller that checks all revisions of a Repository after a change of a
    dependency."""
    informer = env.informers.of(PackageRevision.gvr)

    def of_repository(change: Change) -> Iterable[Key]:
        if change.new is None or (
            change.old is not None and _ready(change.old) == _ready(change.new)
        ):
            return []
        return [Key.of(change.new)]

    def of_upstream(change: Change) -> Iterable[Key]:
        """Return Repositories with revisions that were created from a deleted or recreated
        revision."""
        if change.old is not None and change.new is not None:
            return []
        meta = change.object["metadata"]
        return {
            Key(meta["namespace"], each["spec"]["repository"])
            for each in informer.items(meta["namespace"])
            if any(name == meta["name"] for _, name in revisions.upstream_names(each))
        }

    async def reconcile(key: Key) -> Result | None:
        async with engine.origin.locked(key.namespace, key.name):
            await _reconcile(key, env)
        return None

    watches = (Watch(Repository.gvr, of_repository), Watch(PackageRevision.gvr, of_upstream))
    return Controller(f"{PackageRevision.gvr.resource}.{GROUP} health", reconcile, watches)


async def _reconcile(key: Key, env: Environment) -> None:
    repository = await storedobjects.repository(env.client, key.name, key.namespace)
    if repository is None or repository["metadata"].get("deletionTimestamp"):
        return
    names: set[str] | None = None
    records = []
    for obj in await storedobjects.of_repository(env.client, key.namespace, key.name):
        if names is None and revisions.upstream_names(obj):
            everything = await storedobjects.of_namespace(env.client, key.namespace)
            names = {each["metadata"]["name"] for each in everything}
        wanted = _errors(obj, repository, names or set())
        status = obj.setdefault("status", {})
        if status.get("fieldErrors", []) != wanted:
            status["fieldErrors"] = wanted
            records.append(Record("update", obj))
    await storedobjects.commit(env, records)


def _errors(obj: Object, repository: Object, names: set[str]) -> list[Object]:
    found = []
    ready = _ready(repository)
    if ready is not None and ready[0] == "False":
        found.append(readiness.unready(repository["metadata"]["name"], ready[1]))
    found += [
        fielderrors.not_found(field, name, f"package revision {name} not found")
        for field, name in revisions.upstream_names(obj)
        if name not in names
    ]
    return [error.item() for error in found]


def _ready(repository: Object) -> tuple[Any, Any] | None:
    found = readiness.condition(repository)
    return None if found is None else (found["status"], found["message"])
