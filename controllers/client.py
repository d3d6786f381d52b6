"""The only interface between controllers and the API: a protocol that the in-process client
implements.

Every call passes through the same pipeline as an HTTP request, and raises
`schemas.status.StatusError` if an HTTP response would be a Status. Objects are plain dicts. The
caller can change the result of a call.
"""

from collections.abc import AsyncIterator, Iterable
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object as Object
from inkube.schemas.status import StatusError

PatchType = Literal["json", "merge", "strategic", "apply"]


class Event(NamedTuple):
    """One change: `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class ObjectList(list[Object]):
    """The objects that a list found, and its revision: `resource_version`, to watch from."""

    def __init__(self, items: Iterable[Object], resource_version: str) -> None:
        super().__init__(items)
        self.resource_version = resource_version

    @property
    def items(self) -> list[Object]:
        """The objects themselves, as the list of an API has them."""
        return self


class Selection(NamedTuple):
    """The objects of a list or watch: a namespace and selectors; "" selects all."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class HasResource(Protocol):
    """A class of objects, such as a kind declared in Python."""

    gvr: ClassVar[GVR]


Kind = GVR | str | type[HasResource]
"""A resource: `apps/v1/deployments` or `v1/configmaps`, its GVR, or a kind declared in Python.
Clients of a server also take `deployments`, `deployments.apps`, `Deployment` and `deploy`."""


def gvr_of(kind: Kind) -> GVR:
    """Return the resource that a caller names. Raises ValueError."""
    if isinstance(kind, GVR):
        return kind
    return GVR.parse(kind) if isinstance(kind, str) else kind.gvr


def selection_of(namespace: str | Selection, labels: str = "", fields: str = "") -> Selection:
    """Return the selection of a list or watch from its arguments."""
    if isinstance(namespace, Selection):
        return namespace
    return Selection(namespace, labels, fields)


class Client(Protocol):
    """A client inside the server. For `resource`, see Kind.

        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        found = await client.get("v1/configmaps", "a")
        await client.patch("v1/configmaps", "a", patch={"data": {"key": "value"}})
        for obj in await client.list("v1/configmaps", labels="tier=web"):
            await client.delete("v1/configmaps", obj["metadata"]["name"])

    The clients of `APIServer`, of the fixtures and of controllers have the same methods. Without a
    namespace, a call for one object is about the namespace `default`, and `list` and `watch` are
    about all namespaces. `kube.client` does not need `await`.
    """

    async def get(
        self, resource: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        """Return the object; with `subresource="scale"`, its autoscaling/v1 Scale.

        pod = await client.get("v1/pods", "web-0", "shop")
        """
        ...

    async def list(
        self, resource: Kind, namespace: str | Selection = "", *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return all objects, or those of a namespace, at one revision: a list with a
        `resource_version`. `labels` and `fields` are selectors.

            ready = await client.list("v1/pods", "shop", fields="status.phase=Running")
        """
        ...

    def watch(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> AsyncIterator[Event]:
        """Return every change after `resource_version`, bookmarks included; without a version, the
        objects that exist first. Raises StatusError 410 when the version was compacted.

            async for event in client.watch("v1/pods", resource_version=found.resource_version):
                print(event.type, event.object["metadata"]["name"])
        """
        ...

    async def revision(self, resource: Kind, namespace: str = "") -> str:
        """Return the revision of the resource's newest change, or of that in a namespace, deletions
        included.

        Watchers of the resource or namespace receive an event or bookmark of at least this
        revision, also with selectors.
        """
        ...

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create the object and return it as it is stored; with `dry_run`, as it would be."""
        ...

    async def update(self, obj: Object, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace the object, or its subresource, and return it. A resourceVersion in the object
        must be the newest.

            await client.update({**pod, "status": {"phase": "Running"}}, subresource="status")
        """
        ...

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
        """Change the object in place, and return it. With `subresource="scale"`, this is its
        autoscaling/v1 Scale.

        `patch` contains the members to change (`type` "merge", where null removes a member, or
        "strategic"), a list of operations ("json"), or all members that `field_manager` wants
        ("apply", where `force` takes members over from other managers).
        """
        ...

    async def delete(
        self, resource: Kind, name: str, namespace: str = "", *, options: Object | None = None
    ) -> Object:
        """Delete the object; `options` is a DeleteOptions. Return the object or a Status.

        await client.delete("v1/pods", "web-0", options={"gracePeriodSeconds": 0})
        """
        ...


class ignoring:  # noqa: N801 # read like `contextlib.suppress`
    """Ignores a StatusError of the block if its code or its reason is one of these.

    404 is the code of an object that was deleted meanwhile, 409 that of one that was changed or
    exists already: an event follows.

        with ignoring(404):
            await client.delete("v1/pods", "web-0", "shop")
    """

    def __init__(self, *expected: int | str) -> None:
        self._expected = expected

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> bool:
        return isinstance(error, StatusError) and (
            error.code in self._expected or error.reason in self._expected
        )


async def get_or_none(
    client: Client, resource: Kind, name: str, namespace: str = ""
) -> Object | None:
    """Return an object; None if it does not exist. Raises StatusError for other reasons."""
    with ignoring(404):
        return await client.get(resource, name, namespace)
    return None


async def apply_status(
    client: Client, resource: Kind, obj: Object, status: Object, *, manager: str
) -> None:
    """Apply a controller's part of a status, also members that others own. Does nothing if the
    object was deleted."""
    body = {name: obj[name] for name in ("apiVersion", "kind")}
    meta = obj["metadata"]
    with ignoring(404):
        await client.patch(
            resource, meta["name"], meta.get("namespace", ""), patch={**body, "status": status},
            type="apply", subresource="status", field_manager=manager, force=True,
        )  # fmt: skip
