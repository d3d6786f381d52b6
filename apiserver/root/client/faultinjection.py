"""The client of the server's own controllers, with the faults that select controllers."""

from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from inkube.apiserver import faults
from inkube.apiserver.faults import Faults, Injection
from inkube.apiserver.root.client.inprocess import CONTROLLER, InProcessClient
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
from inkube.schemas import status
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR, split_api_version

T = TypeVar("T")
DISCONNECTED = "the connection was cut, by a Fault"


class FaultInjectingClient:
    """A `controllers.client.Client` that wraps another one. Without faults, it forwards every
    call."""

    def __init__(self, client: InProcessClient, faults: Faults, clock: Clock) -> None:
        self._client = client
        self._faults = faults
        self._clock = clock

    def is_namespaced(self, group: str, kind: str) -> bool:
        """Return whether objects of the kind belong to namespaces."""
        return self._client.is_namespaced(group, kind)

    async def get(
        self, resource: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        work = self._client.get(resource, name, namespace, subresource=subresource)
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "get", resource, namespace, name, subresource)

    async def list(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
    ) -> ObjectList:
        selection = selection_of(namespace, labels, fields)
        work = self._client.list(resource, selection)
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "list", resource, selection.namespace)

    async def watch(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> AsyncGenerator[Event, None]:
        selection = selection_of(namespace, labels, fields)
        events = self._client.watch(resource, selection, resource_version=resource_version)
        injection = self._injection("watch", resource, selection.namespace)
        if injection is not None:
            await self._wait(injection)
            _raise_fault(injection)
        watch_fault = None if injection is None else injection.watch_fault
        sent_events = 0
        try:
            async for event in events:
                if (
                    watch_fault is not None
                    and event.type == "BOOKMARK"
                    and watch_fault.without_bookmarks
                ):
                    continue
                if watch_fault is not None and watch_fault.events is not None:
                    if sent_events >= watch_fault.events:
                        if watch_fault.end == "Expired":
                            raise status.expired("too old resource version, by a Fault")
                        return
                    sent_events += event.type != "BOOKMARK"
                yield event
        finally:
            await events.aclose()

    async def revision(self, resource: Kind) -> str:
        return await self._client.revision(resource)

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        work = self._client.create(obj, dry_run=dry_run)
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "create", *self._reference(obj))

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        work = self._client.update(obj, subresource=subresource, dry_run=dry_run)
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "update", *self._reference(obj), subresource)

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
        work = self._client.patch(
            resource,
            name,
            namespace,
            patch=patch,
            type=type,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
        )
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "patch", resource, namespace, name, subresource)

    async def delete(
        self, resource: Kind, name: str, namespace: str = "", *, options: Object | None = None
    ) -> Object:
        work = self._client.delete(resource, name, namespace, options=options)
        if self._faults.rules is None:
            return await work
        return await self._with_faults(work, "delete", resource, namespace, name)

    def _reference(self, obj: Object) -> tuple[GVR, str, str]:
        """Return the resource, the namespace and the name of an object."""
        group, version = split_api_version(obj.get("apiVersion", ""))
        meta = obj.get("metadata") or {}
        plural = self._client.plural(group, obj.get("kind", ""))
        return GVR(group, version, plural), meta.get("namespace", ""), meta.get("name", "")

    def _injection(
        self,
        verb: str,
        resource: Kind,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> Injection | None:
        if self._faults.rules is None:
            return None
        gvr = gvr_of(resource)
        facts = faults.rules.RequestFacts(
            verb,
            gvr.group,
            gvr.resource,
            subresource,
            namespace,
            name,
            CONTROLLER.name,
            CONTROLLER.groups,
            inside=True,
        )
        return self._faults.injection_for_client(facts)

    async def _with_faults(
        self,
        work: Coroutine[Any, Any, T],
        verb: str,
        resource: Kind,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> T:
        """Do the work, or what a matching fault requests instead. Raises StatusError."""
        injection = self._injection(verb, resource, namespace, name, subresource)
        if injection is None:
            return await work
        try:
            await self._wait(injection)
            if not injection.carried_out:
                _raise_fault(injection)
            result = await work
            await injection.hold(is_after=True)
        finally:
            work.close()
        _raise_fault(injection)
        return result

    async def _wait(self, injection: Injection) -> None:
        if injection.delay:
            await self._clock.sleep(injection.delay)
        await injection.hold(is_after=False)


def _raise_fault(injection: Injection) -> None:
    if injection.refusal is not None:
        raise injection.refusal
    if injection.disconnects:
        raise status.unavailable(DISCONNECTED)
