"""The one view controllers have of the API: a protocol that the in-process client fulfils.

Every call passes through the same pipeline as an HTTP request and raises
`schemas.status.StatusError` where HTTP would answer a Status. Objects are plain dicts; what a call
returns belongs to the caller, who may change it.
"""

from collections.abc import AsyncIterator
from typing import Any, Literal, NamedTuple, Protocol

from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object as Object

PatchType = Literal["json", "merge", "strategic", "apply"]


class Event(NamedTuple):
    """One change: `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class ObjectList(NamedTuple):
    """The result of a list, and its revision."""

    items: list[Object]
    resource_version: str


class Selection(NamedTuple):
    """Which objects a list or watch is about; "" means all."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Client(Protocol):
    """`resource` is a GVR or its text form, `apps/v1/deployments` or `v1/configmaps`."""

    async def get(
        self, resource: GVR | str, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        """The object as it is now; with `subresource="scale"`, its autoscaling/v1 Scale."""
        ...

    async def list(self, resource: GVR | str, selection: Selection = ...) -> ObjectList:
        """All objects of the selection at one revision."""
        ...

    def watch(
        self, resource: GVR | str, selection: Selection = ..., *, resource_version: str = ""
    ) -> AsyncIterator[Event]:
        """Every change after `resource_version`; raises StatusError 410 when that was compacted."""
        ...

    async def revision(self, resource: GVR | str) -> str:
        """The revision of the resource's newest change, deletions included.

        Watchers of the resource receive an event or bookmark of at least this revision.
        """
        ...

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create it; the object names its own apiVersion, kind and namespace."""
        ...

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace it, or its subresource. A resourceVersion in the object must be the newest."""
        ...

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
        """Change it in place; `json` takes a list of operations, the others an object.

        With `subresource="scale"`, what is changed and returned is its autoscaling/v1 Scale.
        """
        ...

    async def delete(
        self, resource: GVR | str, name: str, namespace: str = "", *, options: Object | None = None
    ) -> Object:
        """Delete it; `options` is a DeleteOptions. Returns the object or a Status."""
        ...
