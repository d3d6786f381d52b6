"""The controller of CustomResourceDefinitions.

It combines kube-apiserver's naming, establishing, approval and finalizing controllers: it accepts
names, maintains the conditions, adds kinds to the table of served kinds, and removes the objects of
a deleted CRD before the CRD itself. `schemas.crds` contains the decisions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

from inkube.controllers.client import Client, Object, ignoring
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import crds
from inkube.schemas.clock import Clock
from inkube.schemas.crds import conditions
from inkube.schemas.definitions import Definition
from inkube.schemas.meta import GVR, format_time
from inkube.schemas.objects import same

NAME = "crds"
RESOURCE = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_NAMES = ("plural", "singular", "kind", "listKind")
RECHECK = 0.5
"""Seconds until instances that finalizers hold are counted again."""


class Table(Protocol):
    """The table of served kinds; calls take effect immediately."""

    def install(self, definition: Definition, *, since: int = 0, is_removed: bool = False) -> None:
        """Serve a definition, in place of the one with the same group and plural.

        Objects stored up to the revision `since` can have another schema. They are converted to
        this schema when they are read. Versions of the group with built-in kinds are not served,
        unless `is_removed`: the definition then only serves the removal of its objects.
        """
        ...

    def serves(self, resource: GVR) -> bool:
        """Return whether the version of a kind is served."""
        ...

    def uninstall(self, group: str, plural: str) -> None:
        """Stop serving a definition."""
        ...


class _Installed(NamedTuple):
    """The input of the installed definition."""

    spec: Object
    names: Object
    terminating: bool
    since: int
    """The revision of the definition that came with this spec."""


class CRDController:
    """Updates the table and the status of every CRD to match its spec."""

    def __init__(self, client: Client, table: Table, *, clock: Clock, informer: Informer) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._informer = informer
        self._by_name = informer.index(_accepted_names)
        self._by_awaited_group = informer.index(_awaited_group)
        self._written: dict[str, Object] = {}
        """CRDs that this controller wrote and that the informer may not have yet."""
        self._installed: dict[str, _Installed] = {}
        self._served: dict[str, int] = {}
        """Name of a CRD → the revision that was handled last."""

    async def reconcile(self, key: Key) -> Result | None:
        """Take one step for the status, the service or the removal of one CRD."""
        crd = self._newest(key.name)
        if crd is None:
            self._retire(key.name)
            return None
        if "deletionTimestamp" in crd["metadata"]:
            return await self._remove(crd)
        status = crds.next_status(crd, self._competitors(crd["spec"]), self._now())
        if status is not None:
            crd = await self._write({**crd, "status": status})
        self.serve(crd)
        return None

    def serve(self, crd: Object) -> None:
        """Install the definition of an established CRD, unless it is already installed or a newer
        one was handled, and remove that of another CRD. Replaces the spec of `crd` with an equal
        stored spec, to save memory."""
        status, name, since = crd["status"], crd["metadata"]["name"], _revision(crd)
        before, looked = self._installed.get(name), self._served.get(name, 0)
        if since <= looked:
            if since == looked and before is not None:
                crd["spec"] = before.spec
            return
        self._served[name] = since
        if not conditions.is_true(status, conditions.ESTABLISHED):
            if self._installed.pop(name, None):
                self._uninstall(name)
            return
        terminating = conditions.is_true(status, conditions.TERMINATING)
        if before is not None and same(before.spec, crd["spec"]):
            since = before.since
            crd["spec"] = before.spec  # equal: schemas are large, and the informer has this one
        now = _Installed(crd["spec"], status["acceptedNames"], terminating, since)
        if now != before:
            self._table.install(crds.to_definition(crd), since=since)
            self._installed[name] = now

    def forget(self) -> None:
        """Forget handled revisions, because the store was read again and can have older ones."""
        self._served.clear()

    def affected_keys(self, change: Change) -> Iterator[Key]:
        """Yield the changed CRD, and the CRDs of its group that wait for names."""
        yield Key.of(change.object)
        yield from self._by_awaited_group.keys(change.object["spec"]["group"])

    def _newest(self, name: str) -> Object | None:
        """Return the newer one of the CRD written here and the CRD of the informer."""
        seen = self._informer.get(Key("", name))
        written = self._written.get(name)
        if written is None:
            return seen
        if seen is not None and _revision(seen) >= _revision(written):
            del self._written[name]
            return seen
        if self._informer.version >= _revision(written):
            del self._written[name]
            return seen
        return written

    def _competitors(self, spec: Object) -> Iterable[Object]:
        """Return the CRDs of the group that have, or can have by now, a name that this spec
        wants."""
        group = spec["group"]
        wanted = _qualified_names(group, spec["names"])
        names = {key.name for value in wanted for key in self._by_name.keys(value)}
        names |= {name for name, crd in self._written.items() if crd["spec"]["group"] == group}
        return [crd for name in names if (crd := self._newest(name)) is not None]

    async def _write(self, crd: Object) -> Object:
        """Write status and metadata. Returns the written CRD, which is the newest one now."""
        written = await self._client.update(crd, subresource="status")
        written["spec"] = crd["spec"]  # the same object in memory: schemas are large
        self._written[crd["metadata"]["name"]] = written
        return written

    async def _remove(self, crd: Object) -> Result | None:
        """Take one step for the removal of a CRD in deletion: remove its instances, then itself."""
        self.serve(crd)
        if crds.FINALIZER not in (crd["metadata"].get("finalizers") or ()):
            return None
        before = crd["status"]
        crd = {**crd, "metadata": {**crd["metadata"]}, "status": _copy_status(before)}
        if conditions.is_true(crd["status"], conditions.ESTABLISHED):
            crds.note_deletion_progress(crd, self._now())
            if crd["status"] != before:
                crd = await self._write(crd)
            if await self._remove_instances(crd):
                return Result(requeue_after=RECHECK)
            crd = {**crd, "metadata": {**crd["metadata"]}, "status": _copy_status(crd["status"])}
        crds.finish_delete(crd, self._now())
        with ignoring(404):
            await self._client.update(crd, subresource="status")
        self._retire(crd["metadata"]["name"])
        return None

    async def _remove_instances(self, crd: Object) -> int:
        """Delete every instance. Returns the number of instances that finalizers still hold."""
        resource = self._reachable(crds.to_definition(crd))
        for instance in (await self._client.list(resource)).items:
            metadata = instance["metadata"]
            if "deletionTimestamp" in metadata:
                continue
            with ignoring(404):
                await self._client.delete(resource, metadata["name"], metadata.get("namespace", ""))
        return len((await self._client.list(resource)).items)

    def _reachable(self, definition: Definition) -> GVR:
        """Return a served version, preferably the storage version, which needs no conversion.

        If all versions are unserved, the storage version is served for the removal.
        """
        stored = definition.storage_version
        for version in (stored, *definition.served()):
            resource = definition.gvr(version.name)
            if self._table.serves(resource):
                return resource
        only = (replace(stored, served=True),)
        self._table.install(replace(definition, versions=only), is_removed=True)
        return definition.gvr(stored.name)

    def _retire(self, name: str) -> None:
        self._installed.pop(name, None)
        self._served.pop(name, None)
        self._written.pop(name, None)
        self._uninstall(name)

    def _uninstall(self, name: str) -> None:
        plural, _, group = name.partition(".")
        self._table.uninstall(group, plural)

    def _now(self) -> str:
        return format_time(self._clock.now())


def add(manager: Manager, table: Table, client: Client) -> CRDController:
    """Add the controller to the manager, with one worker, so that it accepts the names of one CRD
    at a time."""
    known = manager.informers.of(RESOURCE)
    controller = CRDController(client, table, clock=manager.clock, informer=known)
    manager.add(
        Controller(
            NAME,
            controller.reconcile,
            (Watch(RESOURCE, keys=controller.affected_keys),),
            concurrency=1,
            everywhere=True,
            gives_time=True,
        )
    )
    return controller


def _awaited_group(crd: Object) -> Iterator[str]:
    """Yield the group of a CRD whose names are not accepted."""
    if not conditions.is_true(crd["status"], conditions.NAMES_ACCEPTED):
        yield crd["spec"]["group"]


def _accepted_names(crd: Object) -> Iterator[str]:
    yield from _qualified_names(
        crd["spec"]["group"], (crd.get("status") or {}).get("acceptedNames") or {}
    )


def _qualified_names(group: str, names: Object) -> set[str]:
    """Return all names of a kind and its resource, each with the group."""
    alternatives = (*(names.get("shortNames") or ()), *(names.get(member) for member in _NAMES))
    return {f"{group}/{name}" for name in alternatives if name}


def _revision(crd: Object) -> int:
    return int(crd["metadata"]["resourceVersion"])


def _copy_status(status: Object) -> Object:
    """Return a copy of a status whose conditions the caller can change."""
    return {**status, "conditions": [dict(c) for c in status.get("conditions") or ()]}
