"""The in-process client: the `Client` of controllers, with the same registry as HTTP."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, get_args

import orjson

from inkube.apiserver import registry
from inkube.apiserver.client.faultinjection import FaultInjection, cut_off
from inkube.apiserver.faults import Injection
from inkube.apiserver.handlers import data_of
from inkube.apiserver.http import bodies, read_delete_options
from inkube.apiserver.registry import (
    DeleteOptions,
    ListOptions,
    Patch,
    Registry,
    Request,
    Resources,
    Sent,
    User,
    WriteOptions,
    changes,
    conversions,
    intake,
    listing,
    patches,
)
from inkube.apiserver.watching import SLOW, Watcher, bookmark, earlier, too_old
from inkube.controllers.client import (
    Event,
    Kind,
    Object,
    ObjectList,
    PatchType,
    Selection,
    gvr_of,
    selection_of,
)
from inkube.schemas import models, status
from inkube.schemas.meta import GVR, split_api_version
from inkube.schemas.notation import Notation
from inkube.storage import Change, Entry
from inkube.storage import errors as storage_errors

NAMESPACE = "default"
"""The namespace of objects and calls without a namespace."""
_PATCH_TYPES: tuple[str, ...] = get_args(PatchType)
_OF_STATUS = ("apiVersion", "kind", "metadata", "status")
CONTROLLER = User("system:apiserver", groups=("system:masters",))


class InProcessClient:
    """The client of controllers and of embedding programs (`controllers.client.Client`).

    `manager` is the field manager of its writes. `default_namespace` is the namespace of every
    call without one, lists and watches included. `faults` fails requests of the server's
    controllers on purpose."""

    def __init__(
        self,
        registry: Registry,
        resources: Resources,
        *,
        manager: str = "inkube",
        default_namespace: str = "",
        faults: FaultInjection | None = None,
    ) -> None:
        self._registry = registry
        self._resources = resources
        self._manager = manager
        self._default_namespace = default_namespace
        self._faults = faults

    def in_namespace(self, default_namespace: str) -> "InProcessClient":
        """Return the same client with another `default_namespace`."""
        return InProcessClient(
            self._registry,
            self._resources,
            manager=self._manager,
            default_namespace=default_namespace,
            faults=self._faults,
        )

    def is_namespaced(self, group: str, kind: str) -> bool:
        """Return whether objects of the kind belong to namespaces. Returns False for unknown
        kinds."""
        resource = self._resources.by_kind(group, kind)
        return resource is not None and resource.namespaced

    def plural(self, group: str, kind: str) -> str:
        """Return the plural name of a kind's resource, or "" for unknown kinds."""
        resource = self._resources.by_kind(group, kind)
        return "" if resource is None else resource.plural

    def resource_of(self, obj: Object) -> GVR:
        """Return the resource of an object, from its apiVersion and kind. Raises StatusError."""
        group, version = split_api_version(obj.get("apiVersion", ""))
        resource = self._resources.by_kind(group, obj.get("kind", ""))
        if resource is None or not version:
            raise status.resource_not_found(_no_kind(obj))
        return GVR(group, version, resource.plural)

    async def get(
        self, resource: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        request = self._request("get", resource, self._namespace(namespace), name, subresource)
        async with self._served(request):
            await self._registry.store.current()
            return await self._shown(request, self._registry.get(request))

    async def list(
        self, resource: Kind, namespace: str | Selection = "", *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        selection = selection_of(namespace, labels, fields)
        request = self._request("list", resource, selection.namespace or self._default_namespace)
        options = ListOptions(labels=selection.labels, fields=selection.fields)
        async with self._served(request):
            page = await listing.find(self._registry, request, options)
            items = [self._copy(request, entry) for entry in page.entries]
        return ObjectList(items, str(page.revision))

    def watch(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> AsyncGenerator[Event, None]:
        selection = selection_of(namespace, labels, fields)
        request = self._request("watch", resource, selection.namespace or self._default_namespace)
        options = ListOptions(
            labels=selection.labels,
            fields=selection.fields,
            resource_version=resource_version,
            watch=True,
            bookmarks=True,
        )
        with _errors_of(request):
            return self._watched(Watcher(self._registry, request, options))

    async def _watched(self, watcher: Watcher) -> AsyncGenerator[Event, None]:
        """Yield events, as long as the faults permit."""
        injection = self._injection(watcher.request)
        fault = None if injection is None else injection.watch_fault
        if injection is not None and self._faults is not None:
            await self._faults.begin(injection._replace(carried_out=False))
        if fault is not None and fault.repeat:
            request, options = watcher.request, watcher.options
            options = earlier(self._registry, request, options, fault.repeat)
            watcher = Watcher(self._registry, request, options)
        events = self._events(watcher)
        if fault is not None:
            events = cut_off(events, fault)
        async with contextlib.aclosing(events):
            async for event in events:
                yield event

    async def _events(self, watcher: Watcher) -> AsyncGenerator[Event, None]:
        """Yield events as they are published, each with a copy of the object."""
        request = watcher.request
        resource, served = request.resource, request.served
        with _errors_of(request):
            subscription, initial = await watcher.subscribe()
        resource.watchers.add(subscription.close)
        with subscription, _errors_of(request), ExitStack() as stack:
            stack.callback(resource.watchers.discard, subscription.close)
            for entry in initial:
                yield Event("ADDED", self._copy(request, entry))
            if watcher.marks_end:
                yield Event("BOOKMARK", bookmark(request, watcher.start, end=True))
            try:
                async for change in subscription:
                    [change] = await conversions.shown_changes(resource, served, [change])
                    yield self._event(watcher, change)
            except storage_errors.SlowConsumer as error:
                raise status.expired(SLOW) from error
            except storage_errors.Compacted as error:
                raise too_old(watcher.start, error.compacted) from error

    def _event(self, watcher: Watcher, change: Change) -> Event:
        """Return a change as an event: a bookmark if the watcher does not select its object, so
        that the caller knows how far it has read."""
        request, kind = watcher.request, watcher.type_of(change)
        if not kind:
            return Event("BOOKMARK", bookmark(request, change.revision))
        if kind == "DELETED":
            return Event(kind, self._last(request, change))
        return Event(kind, self._copy(request, change.entry))

    async def revision(self, resource: Kind, namespace: str = "") -> str:
        return str(self._registry.store.newest(self._request("list", resource, namespace).key))

    async def create(self, obj: "Object | models.Resource", *, dry_run: bool = False) -> Object:
        request, sent = self._request_of("create", _as_dict(obj), dry_run=dry_run)
        async with self._served(request):
            body = intake.accept(request, sent)
            return await self._write(request, changes.Create(request, body))

    async def update(
        self, obj: "Object | models.Resource", *, subresource: str = "", dry_run: bool = False
    ) -> Object:
        is_status = subresource == "status"
        original = _as_dict(obj)
        if is_status:  # an update of status ignores other members, and the spec of a CRD is large
            original = {name: original[name] for name in _OF_STATUS if name in original}
        request, sent = self._request_of(
            "update", original, subresource=subresource, dry_run=dry_run
        )
        async with self._served(request):
            body = intake.accept(request, sent)
            change = changes.PutStatus if is_status else changes.Put
            return await self._write(request, change(request, body))

    async def patch(
        self,
        resource: Kind,
        name: str,
        namespace: str = "",
        *,
        patch: Any,
        type: PatchType = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> Object:
        if type not in _PATCH_TYPES:
            names = ", ".join(_PATCH_TYPES)
            raise ValueError(f"client.patch: type is one of {names}, not {type!r}")
        request = self._request("patch", resource, self._namespace(namespace), name, subresource)
        options = WriteOptions(field_manager=field_manager, validation="Ignore", force=force)
        request = request._replace(options=options, manager=field_manager or self._manager)
        size = len(orjson.dumps(patch))
        _check_size(request, size)
        async with self._served(request):
            document = Patch(bodies.applied(patch) if type == "apply" else patch, [], size=size)
            if subresource == "scale":
                return await self._write(request, registry.scaling.of(type, document))
            return await self._write(request, patches.of(request, type, document))

    async def delete(
        self, resource: Kind, name: str, namespace: str = "", *, options: Object | None = None
    ) -> Object:
        request = self._request("delete", resource, self._namespace(namespace), name)
        delete_options = DeleteOptions()
        if options:
            delete_options, _ = read_delete_options({}, options)  # type: ignore[arg-type] # body wins
        async with self._served(request):
            return await self._write(request, changes.Delete(delete_options))

    def _namespace(self, namespace: str) -> str:
        return namespace or self._default_namespace or NAMESPACE

    def _request_of(
        self, verb: str, obj: Object, *, subresource: str = "", dry_run: bool = False
    ) -> tuple[Request, Sent]:
        """Return the request for the object's own namespace and name, and a copy of the object."""
        body = orjson.dumps(obj)
        copy: Object = orjson.loads(body)
        gvr = self.resource_of(copy)
        meta = copy.get("metadata") or {}
        if self.is_namespaced(gvr.group, copy["kind"]) and not meta.get("namespace"):
            meta = copy["metadata"] = {**meta, "namespace": self._namespace("")}
        name = meta.get("name", "")
        request = self._request(verb, gvr, meta.get("namespace", ""), name, subresource)
        _check_size(request, len(body))
        return request._replace(options=WriteOptions(dry_run=dry_run)), Sent(copy, len(body))

    def _request(
        self, verb: str, resource: Kind, namespace: str, name: str = "", subresource: str = ""
    ) -> Request:
        gvr = self._gvr(resource)
        served_resource = self._resources.get(gvr.group, gvr.resource)
        served = served_resource.served(gvr.version) if served_resource is not None else None
        if served_resource is None or served is None:
            raise status.resource_not_found(_no_resource(gvr))
        if not served_resource.definition.is_stored:
            error = served_resource.wording.method_not_allowed(served.gvr, verb)
            error.message += "; its objects are not stored: send it over HTTP"
            raise error
        version = served.version
        parts = {"": True, "status": version.status, "scale": version.scale}
        if not parts.get(subresource, version.subresource(subresource)):
            raise served_resource.wording.no_subresource(served.gvr, name)
        return intake.request(
            verb,
            served_resource,
            served,
            CONTROLLER,
            namespace=namespace,
            name=name,
            subresource=subresource,
            manager=self._manager,
        )

    def _gvr(self, kind: Kind) -> GVR:
        """Return the resource that a caller names in any notation. Raises StatusError."""
        if not isinstance(kind, str):
            return gvr_of(kind)
        wanted = Notation.parse(kind)
        if wanted.version and self._resources.get(wanted.group or "", wanted.name) is not None:
            return gvr_of(kind)
        found = self._resources.named(kind)
        if found is not None:
            version = wanted.version or found.storage.version.name
            return GVR(found.group, version, found.plural)
        if wanted.version:
            return gvr_of(kind)
        raise status.resource_not_found(_no_resource(kind))

    async def _shown(self, request: Request, entry: Entry) -> Object:
        """Return a copy of a stored object in the form of the request."""
        [converted] = await self._registry.shown(request, [entry])
        obj = self._copy(request, converted)
        if request.subresource == "scale":
            return registry.scales.to_scale(request, obj)
        return obj

    def _copy(self, request: Request, entry: Entry) -> Object:
        return orjson.loads(data_of(request, entry))  # type: ignore[no-any-return]

    def _last(self, request: Request, change: Change) -> Object:
        """Return the object of a DELETED event, as `watching.last_state`, as a copy."""
        obj = self._copy(request, change.previous or change.entry)
        obj["metadata"]["resourceVersion"] = str(change.revision)
        return obj

    async def _write(self, request: Request, change: registry.Change) -> Object:
        outcome = await self._registry.write(request, change)
        return await self._shown(request, outcome.entry)

    def _injection(self, request: Request) -> Injection | None:
        return None if self._faults is None else self._faults.of(request)

    @asynccontextmanager
    async def _served(self, request: Request) -> AsyncIterator[None]:
        """Apply the faults of a request around its work, and raise the errors that clients receive
        over HTTP. Raises StatusError."""
        injection = self._injection(request)
        if injection is None or self._faults is None:
            with _errors_of(request):
                yield
            return
        await self._faults.begin(injection)
        with _errors_of(request):
            yield
        await self._faults.end(injection)


@contextmanager
def _errors_of(request: Request) -> Iterator[None]:
    """Raise the errors that clients of the kind receive over HTTP. Raises StatusError."""
    try:
        yield
    except storage_errors.StorageError as error:
        raise registry.failures.as_status(error) from error
    except status.StatusError as error:
        request.resource.wording.refusal(error)
        raise


def _check_size(request: Request, size: int) -> None:
    """Apply the limit of bodies. Raises StatusError 413."""
    limit = request.resource.definition.max_body
    if size > (limit or bodies.MAX_BODY):
        raise bodies.too_large(limit)


def _as_dict(obj: "Object | models.Resource") -> Object:
    if isinstance(obj, dict):
        return obj
    if isinstance(obj, Mapping):
        return dict(obj)
    gvk = getattr(type(obj), "gvk", None)
    if gvk is None:
        raise TypeError(f"an object is a dict or a model of its kind, not {obj!r:.200}")
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **models.dump(obj)}


def _no_kind(obj: Object) -> str:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not version or not kind:
        return "an object says its apiVersion and kind"
    return (
        f"no kind {kind} is served in {version}; a CRD that declares one has to be created first, "
        "and is served once the server has settled"
    )


def _no_resource(gvr: GVR | str) -> str:
    return (
        f"nothing is served as {gvr}; resources are written group/version/plural, such as "
        "apps/v1/deployments, or v1/configmaps, and those of a CRD are served once it is "
        "established and the server has settled"
    )
