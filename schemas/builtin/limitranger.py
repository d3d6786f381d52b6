"""The LimitRanger admission plugin as pure functions: defaults of pods, bounds of pods and claims.

The server gives it the LimitRanges of the namespace. Follows
plugin/pkg/admission/limitranger/admission.go.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from inkube.schemas import quantity
from inkube.schemas.quantity import Quantity

Object = dict[str, Any]
_ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = (("containers", "container"), ("initContainers", "init container"))


def fill(pod: Object, ranges: Iterable[Object]) -> None:
    """Give a new pod's containers the defaults of the ranges, and note that in an annotation."""
    for limit_range in ranges:
        limits, requests = _defaults(limit_range)
        notes = [
            note
            for member, word in _LISTS
            for container in (pod.get("spec") or {}).get(member) or []
            for note in _fill_container(container, word, limits, requests)
        ]
        if notes:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)


def _items(limit_range: Object) -> list[Object]:
    return (limit_range.get("spec") or {}).get("limits") or []


def _defaults(limit_range: Object) -> tuple[dict[str, str], dict[str, str]]:
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for item in _items(limit_range):
        if item.get("type") == "Container":
            limits.update(item.get("default") or {})
            requests.update(item.get("defaultRequest") or {})
    return limits, requests


def _fill_container(
    container: Object, word: str, limits: dict[str, str], requests: dict[str, str]
) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for member, defaults in (("requests", requests), ("limits", limits)):
        given = resources.get(member) or {}
        missing = sorted(defaults.keys() - given.keys())
        if missing:
            resources[member] = {**given, **{name: defaults[name] for name in missing}}
            kind = member.removesuffix("s")
            yield f"{', '.join(missing)} {kind} for {word} {container.get('name', '')}"


def violations(obj: Object, ranges: Iterable[Object]) -> list[str]:
    """What of a pod or a claim lies outside the ranges; each a text of the plugin's."""
    found: list[str] = []
    for limit_range in ranges:
        for item in _items(limit_range):
            for amounts in _subjects(obj, item.get("type", "")):
                found.extend(_outside(item, *amounts))
    return found


_Amounts = dict[str, Quantity]


def _subjects(obj: Object, kind: str) -> Iterator[tuple[_Amounts, _Amounts]]:
    """Requests and limits of what the item speaks of."""
    spec = obj.get("spec") or {}
    if kind == "PersistentVolumeClaim" and obj.get("kind") == kind:
        yield _amounts(spec, "requests"), {}
    if obj.get("kind") != "Pod":
        return
    containers = spec.get("containers") or []
    if kind == "Container":
        for container in [*containers, *(spec.get("initContainers") or [])]:
            yield _amounts(container, "requests"), _amounts(container, "limits")
    if kind == "Pod":
        yield _total(containers, "requests"), _total(containers, "limits")


def _amounts(holder: Object, member: str) -> _Amounts:
    given = (holder.get("resources") or {}).get(member) or {}
    return {name: quantity.parse(text) for name, text in given.items()}


def _total(containers: list[Object], member: str) -> _Amounts:
    total: _Amounts = {}
    for container in containers:
        for name, amount in _amounts(container, member).items():
            total[name] = total[name].add(amount) if name in total else amount
    return total


def _outside(item: Object, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    kind = item.get("type", "")
    for name, text in sorted((item.get("min") or {}).items()):
        rule = f"minimum {name} usage per {kind} is {text}"
        yield from _below(rule, text, requests.get(name), limits.get(name))
    for name, text in sorted((item.get("max") or {}).items()):
        rule = f"maximum {name} usage per {kind} is {text}"
        if kind == "PersistentVolumeClaim":
            request = requests.get(name)
            if request is not None and request > quantity.parse(text):
                yield f"{rule}, but request is {request}"
        else:
            yield from _above(rule, text, requests.get(name), limits.get(name))


def _below(rule: str, text: str, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    least = quantity.parse(text)
    if request is None:
        yield f"{rule}.  No request is specified"
    elif request < least:
        yield f"{rule}, but request is {request}"
    if limit is not None and limit < least:
        yield f"{rule}, but limit is {limit}"


def _above(rule: str, text: str, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    most = quantity.parse(text)
    if limit is None:
        yield f"{rule}.  No limit is specified"
    elif limit > most:
        yield f"{rule}, but limit is {limit}"
    if request is not None and request > most:
        yield f"{rule}, but request is {request}"
