"""The parts of a pod that a write to one of its subresources changes.

Follows pkg/registry/core/pod/strategy.go. core.podupdates.rules contains the permitted changes.
"""

from collections.abc import Callable

from inkube.schemas.builtin.strategies.base import keep
from inkube.schemas.objects import Object


def keep_in_status(status: Object, old: Object, *, keeps_class: bool = True) -> None:
    """Keep qosClass and observed generations of the old status if the new one omits them, in
    place."""
    if keeps_class and not status.get("qosClass"):
        keep(status, old, "qosClass")
    if not status.get("observedGeneration"):
        keep(status, old, "observedGeneration")
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        generations = known.setdefault(condition.get("type", ""), [])
        generations.append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", ""), [])
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _ephemeral(spec: Object, old: Object) -> Object | None:
    made = dict(old)
    keep(made, spec, "ephemeralContainers")
    return made


def _resized(spec: Object, old: Object) -> Object | None:
    """Return the old spec with new resources, or None if the names or the order of containers
    changed."""
    made = dict(old)
    for member in ("containers", "initContainers"):
        new, present = spec.get(member) or [], old.get(member) or []
        if [one.get("name") for one in new] != [one.get("name") for one in present]:
            return None
        if present:
            made[member] = [_with_resources(*pair) for pair in zip(new, present, strict=True)]
    keep(made, spec, "resources")
    return made


def _with_resources(new: Object, old: Object) -> Object:
    made = dict(old)
    for member in ("resources", "resizePolicy"):
        keep(made, new, member)
    return made


PARTS: dict[str, Callable[[Object, Object], Object | None]] = {
    "ephemeralcontainers": _ephemeral,
    "resize": _resized,
}
"""Subresource → a function from the new and the old spec to the spec to store. If the function
returns None, the new spec is stored."""
