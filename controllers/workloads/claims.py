"""Ownership: controllers adopt objects that match their selector, and release other objects.

Follows pkg/controller/controller_ref_manager.go.
"""

from collections.abc import Callable, Iterable, Iterator

from inkube.client import Client, Object, get_or_none, ignoring
from inkube.controllers.workloads import pods
from inkube.formats import controller_reference, selectors
from inkube.kinds import Change, Informer, Key

Labels = dict[str, str]


def controller_of(obj: Object) -> Object | None:
    """Return the owner reference of the object's controller, or None without one."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Object = reference
            return found
    return None


def named_owners(change: Change, kind: str) -> Iterator[Key]:
    """Yield the controllers of one kind that an object names, before and after a change; one that
    it names both times once."""
    before = None
    for state in (change.old, change.new):
        reference = controller_of(state) if state is not None else None
        if reference is None or reference["kind"] != kind or reference["name"] == before:
            continue
        before = reference["name"]
        yield Key(change.object["metadata"].get("namespace", ""), before)


def adopters(
    change: Change, owners: Informer, selector: Callable[[Object], Object]
) -> Iterator[Object]:
    """Yield the owners that can adopt a changed object without a controller.

    `selector` returns the LabelSelector of an owner.
    """
    stray = change.new
    if stray is None or controller_of(stray) is not None or pods.is_deleting(stray):
        return
    labels = stray["metadata"].get("labels")
    for owner in owners.items(stray["metadata"]["namespace"]) if labels else ():
        if selectors.selects(selector(owner), labels):
            yield owner


def own_selector(owner: Object) -> Object:
    """Return `spec.selector`, if it is a LabelSelector."""
    found: Object = owner["spec"].get("selector") or {}
    return found


def matcher(selector: Object) -> Callable[[Labels], bool]:
    """Return the selector as a function of labels. It is fast for selectors with
    only matchLabels."""
    if selector.get("matchExpressions"):
        return selectors.matcher(selector)
    wanted = (selector.get("matchLabels") or {}).items()
    return lambda labels: wanted <= labels.items()


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Return whether the owner with this uid controls the object."""
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


class Claims:
    """Claims objects of one resource for owners of another."""

    def __init__(self, client: Client, resource: str, owners: str) -> None:
        self._client = client
        self._resource = resource
        self._owners = owners

    async def claim(
        self, owner: Object, selector: Object, candidates: Iterable[Object]
    ) -> list[Object]:
        """Return the objects that the owner controls. Adopts matching objects without a controller,
        and releases controlled objects that no longer match."""
        kept = []
        may_adopt: bool | None = None
        uid, leaving = owner["metadata"]["uid"], "deletionTimestamp" in owner["metadata"]
        selects = matcher(selector)
        for obj in candidates:
            meta = obj["metadata"]
            fits = selects(meta.get("labels") or {})
            reference = controller_of(obj)
            if reference is not None:
                if reference["uid"] != uid:
                    continue
                if fits:
                    kept.append(obj)
                elif not leaving:
                    await self._release(owner, obj)
                continue
            if not fits or leaving or "deletionTimestamp" in meta:
                continue
            if may_adopt is None:
                may_adopt = await self._is_still_there(owner)
            adopted = await self._adopt(owner, obj) if may_adopt else None
            if adopted is not None:
                kept.append(adopted)
        return kept

    async def _is_still_there(self, owner: Object) -> bool:
        meta = owner["metadata"]
        fresh = await get_or_none(self._client, self._owners, meta["name"], meta["namespace"])
        if fresh is None:
            return False
        own = fresh["metadata"]
        return own["uid"] == meta["uid"] and "deletionTimestamp" not in own

    async def _adopt(self, owner: Object, obj: Object) -> Object | None:
        meta = obj["metadata"]
        references = [*(meta.get("ownerReferences") or ()), controller_reference(owner)]
        return await self._patch(obj, references)

    async def _release(self, owner: Object, obj: Object) -> None:
        uid = owner["metadata"]["uid"]
        left = [ref for ref in obj["metadata"]["ownerReferences"] if ref["uid"] != uid]
        await self._patch(obj, left)

    async def _patch(self, obj: Object, references: list[Object]) -> Object | None:
        """Write the owner references. Returns None if the object was deleted or changed
        meanwhile: an event about it follows."""
        meta = obj["metadata"]
        body = {
            "metadata": {
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
                "ownerReferences": references or None,
            }
        }
        with ignoring(404, 409, 422):
            return await self._client.patch(
                self._resource, meta["name"], meta["namespace"], patch=body
            )
        return None
