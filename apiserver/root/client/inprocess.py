"""The in-process client: controllers' `Client` over the same registry as HTTP."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import orjson

from inkube.apiserver import registry
from inkube.apiserver.handlers import data_of
from inkube.apiserver.http import read_delete_options
from inkube.apiserver.registry import (
    Call,
    DeleteOptions,
    ListOptions,
    Outcome,
    Registry,
    Resources,
    User,
    WriteOptions,
    changes,
    conversions,
    intake,
    listing,
)
from inkube.apiserver.watching import SLOW, Watcher, bookmark, copy_of, last_state, too_old
from inkube.controllers.client import Event, Object, ObjectList, PatchType, Selection
from inkube.schemas import status
from inkube.schemas.meta import GVR, split_api_version
from inkube.storage import Entry
from inkube.storage import errors as storage_errors

ALL = Selection()
_OF_STATUS = ("apiVersion", "kind", "metadata", "status")
CONTROLLER = User("system:apiserver", groups=("system:masters",))


class InProcessClient:
    """See `controllers.client.Client`. `manager` is who owns the fields it writes."""

    def __init__(
        self, registry: Registry, resources: Resources, *, manager: str = "inkube"
    ) -> None:
        self._registry = registry
        self._resources = resources
        self._manager = manager

    def is_namespaced(self, group: str, kind: str) -> bool:
        """Whether objects of the kind live in namespaces; False for unknown kinds."""
        resource = self._resources.by_kind(group, kind)
        return resource is not None and resource.namespaced

    def plural(self, group: str, kind: str) -> str:
        """What a kind's resource is called; "" for unknown kinds."""
        resource = self._resources.by_kind(group, kind)
        return "" if resource is None else resource.plural

    def resource_of(self, obj: Object) -> GVR:
        """The resource of an object, by its apiVersion and kind. Raises StatusError."""
        group, version = split_api_version(obj.get("apiVersion", ""))
        resource = self._resources.by_kind(group, obj.get("kind", ""))
        if resource is None:
            raise status.resource_not_found(_no_kind(obj))
        return GVR(group, version, resource.plural)

    async def get(
        self, resource: GVR | str, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        call = self._call("get", resource, namespace, name, subresource)
        await self._registry.store.current()
        entry = self._registry.get(call)
        [shown] = await self._registry.shown(call, [entry])
        return self._as_asked(call, call.copy(shown))

    async def list(self, resource: GVR | str, selection: Selection = ALL) -> ObjectList:
        call = self._call("list", resource, selection.namespace)
        options = ListOptions(labels=selection.labels, fields=selection.fields)
        page = await listing.find(self._registry, call, options)
        items = [self._copy(call, entry) for entry in page.entries]
        return ObjectList(items, str(page.revision))

    def watch(
        self, resource: GVR | str, selection: Selection = ALL, *, resource_version: str = ""
    ) -> AsyncGenerator[Event, None]:
        call = self._call("watch", resource, selection.namespace)
        options = ListOptions(
            labels=selection.labels,
            fields=selection.fields,
            resource_version=resource_version,
            watch=True,
            bookmarks=True,
        )
        return self._events(Watcher(self._registry, call, options))

    async def _events(self, watcher: Watcher) -> AsyncGenerator[Event, None]:
        """Events as they are published; every object is a copy of its own."""
        call = watcher.call
        resource, served = call.resource, call.served
        subscription, found = await watcher.begin()
        resource.watchers.add(subscription.close)
        with subscription, ExitStack() as stack:
            stack.callback(resource.watchers.discard, subscription.close)
            for entry in found:
                yield Event("ADDED", self._copy(call, entry))
            if watcher.tells_end:
                yield Event("BOOKMARK", bookmark(call, watcher.start, end=True))
            try:
                async for change in subscription:
                    [change] = await conversions.shown_changes(resource, served, [change])
                    kind = watcher.type_of(change)
                    if kind == "DELETED":
                        yield Event(kind, copy_of(last_state(call, change)))
                    elif kind:
                        yield Event(kind, self._copy(call, change.entry))
            except storage_errors.SlowConsumer as error:
                raise status.expired(SLOW) from error
            except storage_errors.Compacted as error:
                raise too_old(watcher.start, error.compacted) from error

    async def revision(self, resource: GVR | str) -> str:
        return str(self._registry.store.newest(self._call("list", resource, "").key))

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        call, obj = self._own("create", obj, dry_run=dry_run)
        obj = intake.admit(call, obj, [])
        intake.check_namespace(call, obj)
        with _worded(call):
            return await self._result(call, await self._registry.create(call, obj))

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        is_status = subresource == "status"
        if is_status:  # no other part counts, and the kinds' definitions have a large one
            obj = {name: obj[name] for name in _OF_STATUS if name in obj}
        call, obj = self._own("update", obj, subresource=subresource, dry_run=dry_run)
        obj = intake.admit(call, obj, [])
        intake.check_namespace(call, obj)
        change = changes.put_status(obj) if is_status else changes.put(call, obj)
        with _worded(call):
            return await self._result(call, await self._registry.update(call, change))

    async def patch(
        self,
        resource: GVR | str,
        name: str,
        namespace: str = "",
        *,
        patch: Any,
        type: PatchType = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> Object:
        call = self._call("patch", resource, namespace, name, subresource)
        call.options = WriteOptions(field_manager=field_manager, validation="Ignore", force=force)
        call.manager = field_manager or self._manager
        if subresource == "scale":
            change = registry.scaling.patch(call, type, patch, self._registry.stamps)
        elif type == "apply":
            change = changes.apply(call, patch, self._registry.stamps)
        else:
            change = changes.patch(call, type, changes.Patch(patch, []))
        with _worded(call):
            return await self._result(call, await self._registry.update(call, change))

    async def delete(
        self, resource: GVR | str, name: str, namespace: str = "", *, options: Object | None = None
    ) -> Object:
        call = self._call("delete", resource, namespace, name)
        chosen = DeleteOptions()
        if options:
            chosen, _ = read_delete_options({}, options)  # type: ignore[arg-type] # body wins
        with _worded(call):
            return await self._result(call, await self._registry.delete(call, chosen))

    def _own(
        self, verb: str, obj: Object, *, subresource: str = "", dry_run: bool = False
    ) -> tuple[Call, Object]:
        """The call an object names itself, and a copy of the object to work on."""
        gvr = self.resource_of(obj)
        meta = obj.get("metadata") or {}
        is_namespaced = self.is_namespaced(gvr.group, obj["kind"])
        if verb == "create" and is_namespaced and not meta.get("namespace"):
            kind = obj["kind"]
            raise status.bad_request(
                f"{kind} objects live in a namespace: write metadata.namespace, such as default"
            )
        name = meta.get("name", "")
        call = self._call(verb, gvr, meta.get("namespace", ""), name, subresource)
        call.options = WriteOptions(dry_run=dry_run)
        return call, orjson.loads(orjson.dumps(obj))

    def _call(
        self, verb: str, resource: GVR | str, namespace: str, name: str = "", subresource: str = ""
    ) -> Call:
        gvr = GVR.parse(resource) if isinstance(resource, str) else resource
        found = self._resources.get(gvr.group, gvr.resource)
        served = found.served(gvr.version) if found is not None else None
        if found is None or served is None:
            raise status.resource_not_found(_no_resource(gvr))
        where = namespace if found.namespaced else ""
        if found.is_namespaces:
            where = ""
        if subresource == "scale" and served.version.scale is None:
            raise found.wording.no_subresource(served.gvr, name)
        return Call(
            verb, found, served, where, name, subresource, user=CONTROLLER, manager=self._manager
        )

    def _as_asked(self, call: Call, obj: Object) -> Object:
        return (
            registry.scales.to_scale(call, obj, owned=True) if call.subresource == "scale" else obj
        )

    def _copy(self, call: Call, entry: Entry) -> Object:
        return orjson.loads(data_of(call, entry))  # type: ignore[no-any-return]

    async def _result(self, call: Call, outcome: Outcome) -> Object:
        [shown] = await self._registry.shown(call, [outcome.entry])
        return self._as_asked(call, self._copy(call, shown))


@contextmanager
def _worded(call: Call) -> Iterator[None]:
    """Refuse as the kind's clients over HTTP read it. Raises StatusError."""
    try:
        yield
    except status.StatusError as error:
        call.resource.wording.refusal(error)
        raise


def _no_kind(obj: Object) -> str:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not version or not kind:
        return "an object says its apiVersion and kind"
    return (
        f"no kind {kind} is served in {version}; a CRD that declares one has to be created first, "
        "and is served once the server has settled"
    )


def _no_resource(gvr: GVR) -> str:
    return (
        f"nothing is served as {gvr}; resources are written group/version/plural, such as "
        "apps/v1/deployments, or v1/configmaps, and those of a CRD are served once it is "
        "established and the server has settled"
    )
