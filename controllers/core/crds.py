"""The controller of CustomResourceDefinitions.

It combines kube-apiserver's naming, establishing, approval and finalizing controllers: it accepts
names, maintains the conditions, adds kinds to the table of served kinds, and removes the objects of
a deleted CRD before the CRD itself. `schemas.crds` contains the decisions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

from inkube.controllers.client import Client, Object
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import crds
from inkube.schemas.clock import Clock
from inkube.schemas.crds import conditions
from inkube.schemas.definitions import Definition
from inkube.schemas.meta import GVR, format_time
from inkube.schemas.objects import same
from inkube.schemas.status import StatusError

NAME = "crds"
RESOURCE = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_NAMES = ("plural", "singular", "kind", "listKind")
RECHECK = 0.5
"""Seconds until instances that finalizers hold are counted again."""


class Table(Protocol):
    """The table of served kinds; calls take effect immediately."""

    def install(self, definition: Definition, *, since: int = 0, is_removed: bool = False) -> None:
        """Serve it, in place of what was served under its group and plural.

        Objects stored up to the revision `since` may be of another schema, and are brought to this
        one when they are read. Versions that built-in kinds of the group have are not served,
        unless `is_removed`: the definition is only there to remove its objects.
        """
        ...

    def serves(self, resource: GVR) -> bool:
        """Whether that version of a kind is served."""
        ...

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer."""
        ...


class _Installed(NamedTuple):
    """The input of the installed definition."""

    spec: Object
    names: Object
    terminating: bool
    since: int
    """The revision of the definition that came with this spec."""


class CRDController:
    """Keeps the table and the status of every CRD in line with its spec."""

    def __init__(self, client: Client, table: Table, *, clock: Clock, known: Informer) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._known = known
        self._by_name = known.index("accepted names", _accepted_names)
        self._waiting = known.index("waiting for names", _awaited_group)
        self._written: dict[str, Object] = {}
        """CRDs as this controller wrote them, where the informer may not show it yet."""
        self._installed: dict[str, _Installed] = {}
        self._served: dict[str, int] = {}
        """The revision of the definition that was looked at last."""

    async def reconcile(self, key: Key) -> Result | None:
        """Bring one CRD's status, service or removal a step further."""
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
        """Install the CRD's definition if it is established, not installed as it is, and no newer
        one was seen. Puts a spec in its place that is equal and kept already."""
        status, name, since = crd["status"], crd["metadata"]["name"], _revision(crd)
        before, looked = self._installed.get(name), self._served.get(name, 0)
        if since <= looked:
            if since == looked and before is not None:
                crd["spec"] = before.spec
            return
        if not conditions.is_true(status, conditions.ESTABLISHED):
            return
        self._served[name] = since
        terminating = conditions.is_true(status, conditions.TERMINATING)
        if before is not None and same(before.spec, crd["spec"]):
            since = before.since
            crd["spec"] = before.spec  # equal; schemas are large, and the informer holds one too
        now = _Installed(crd["spec"], status["acceptedNames"], terminating, since)
        if now != before:
            self._table.install(crds.to_definition(crd), since=since)
            self._installed[name] = now

    def forget(self) -> None:
        """The store was read anew: what was looked at last may be newer than what there is."""
        self._served.clear()

    def concerned(self, change: Change) -> Iterator[Key]:
        """The changed CRD, and those of its group that wait for names."""
        yield Key.of(change.object)
        yield from self._waiting.keys(change.object["spec"]["group"])

    def _newest(self, name: str) -> Object | None:
        """The CRD as last written here or seen by the informer, whichever is newer."""
        seen = self._known.get(Key("", name))
        written = self._written.get(name)
        if written is None:
            return seen
        if seen is not None and _revision(seen) >= _revision(written):
            del self._written[name]
            return seen
        if self._known.version >= _revision(written):
            del self._written[name]
            return seen
        return written

    def _competitors(self, spec: Object) -> Iterable[Object]:
        """The CRDs of a group that have one of the names this one wants, or may have by now."""
        group = spec["group"]
        wanted = _qualified(group, spec["names"])
        names = {key.name for value in wanted for key in self._by_name.keys(value)}
        names |= {name for name, crd in self._written.items() if crd["spec"]["group"] == group}
        return [crd for name in names if (crd := self._newest(name)) is not None]

    async def _write(self, crd: Object) -> Object:
        """Write status and metadata; the answer is the newest CRD from now on."""
        written = await self._client.update(crd, subresource="status")
        written["spec"] = crd["spec"]  # the same, in memory too: schemas are large
        self._written[crd["metadata"]["name"]] = written
        return written

    async def _remove(self, crd: Object) -> Result | None:
        """A step towards the end of a CRD that is being deleted: its instances go first."""
        self.serve(crd)
        if crds.FINALIZER not in (crd["metadata"].get("finalizers") or ()):
            return None
        before = crd["status"]
        crd = {**crd, "metadata": {**crd["metadata"]}, "status": _copied(before)}
        if conditions.is_true(crd["status"], conditions.ESTABLISHED):
            crds.note_deletion_progress(crd, self._now())
            if crd["status"] != before:
                crd = await self._write(crd)
            if await self._remove_instances(crd):
                return Result(requeue_after=RECHECK)
            crd = {**crd, "metadata": {**crd["metadata"]}, "status": _copied(crd["status"])}
        crds.finish_delete(crd, self._now())
        try:
            await self._client.update(crd, subresource="status")
        except StatusError as error:
            if error.code != 404:
                raise
        self._retire(crd["metadata"]["name"])
        return None

    async def _remove_instances(self, crd: Object) -> int:
        """Delete every instance; how many are left because something holds them."""
        resource = self._reachable(crds.to_definition(crd))
        for instance in (await self._client.list(resource)).items:
            metadata = instance["metadata"]
            if "deletionTimestamp" in metadata:
                continue
            try:
                await self._client.delete(resource, metadata["name"], metadata.get("namespace", ""))
            except StatusError as error:
                if error.code != 404:
                    raise
        return len((await self._client.list(resource)).items)

    def _reachable(self, definition: Definition) -> GVR:
        """A served version, the stored one before others, which would have to be converted.

        Where none is served, the storage version is for the purpose.
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
        plural, _, group = name.partition(".")
        self._table.uninstall(group, plural)

    def _now(self) -> str:
        return format_time(self._clock.now())


def add(manager: Manager, table: Table) -> CRDController:
    """Let the manager run the controller. One worker: names are accepted one CRD at a time."""
    known = manager.informers.of(RESOURCE)
    controller = CRDController(manager.client, table, clock=manager.clock, known=known)
    manager.add(
        Controller(
            NAME,
            controller.reconcile,
            (Watch(RESOURCE, keys=controller.concerned),),
            concurrency=1,
            everywhere=True,
            gives_time=True,
        )
    )
    return controller


def _awaited_group(crd: Object) -> Iterator[str]:
    """The group of a CRD whose names are not accepted."""
    if not conditions.is_true(crd["status"], conditions.NAMES_ACCEPTED):
        yield crd["spec"]["group"]


def _accepted_names(crd: Object) -> Iterator[str]:
    yield from _qualified(
        crd["spec"]["group"], (crd.get("status") or {}).get("acceptedNames") or {}
    )


def _qualified(group: str, names: Object) -> set[str]:
    """Each name of a kind together with its group; those of its kind and of its resource alike."""
    told = (*(names.get("shortNames") or ()), *(names.get(member) for member in _NAMES))
    return {f"{group}/{name}" for name in told if name}


def _revision(crd: Object) -> int:
    return int(crd["metadata"]["resourceVersion"])


def _copied(status: Object) -> Object:
    """A status whose conditions may be changed."""
    return {**status, "conditions": [dict(c) for c in status.get("conditions") or ()]}
