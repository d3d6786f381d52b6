"""LimitRanger admission: what containers get and may ask for in a namespace with limit ranges.

Follows plugin/pkg/admission/limitranger. Bounds of whole pods and of volume claims are not judged.
"""

from collections.abc import Iterator
from typing import Any

from inkube.apiserver.admission import Attributes, Operation, Plugin
from inkube.apiserver.resources import Resource
from inkube.schemas import quantity, status
from inkube.storage.store import Store

Object = dict[str, Any]
ANNOTATION = "kubernetes.io/limit-ranger"
_PREFIX = "/registry/limitranges/"


class LimitRanger(Plugin):
    """Fills in the requests and limits of new pods, and refuses those out of bounds."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.builtin and resource.plural == "pods" and operation == "CREATE"

    async def mutate(self, attributes: Attributes) -> None:
        pod = attributes.object
        for limits in self._limits(attributes):
            if pod is not None:
                _fill_pod(pod, limits)

    async def validate(self, attributes: Attributes) -> None:
        pod, call = attributes.object, attributes.call
        for limits in self._limits(attributes):
            errors = [error for each in _containers(pod or {}) for error in _check(each[1], limits)]
            if errors:
                text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
                raise status.forbidden(call.resource.group, call.resource.plural, call.name, text)

    def _limits(self, attributes: Attributes) -> Iterator[list[Object]]:
        """The container limits of each limit range in the namespace."""
        for entry in self._store.list(f"{_PREFIX}{attributes.call.namespace}/"):
            limits = (entry.value.get("spec") or {}).get("limits") or []
            yield [limit for limit in limits if limit.get("type") == "Container"]


def _containers(pod: Object) -> Iterator[tuple[str, Object]]:
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or []:
        yield "container", container
    for container in spec.get("initContainers") or []:
        yield "init container", container


def _fill_pod(pod: Object, limits: list[Object]) -> None:
    notes = []
    for role, container in _containers(pod):
        resources = container.setdefault("resources", {})
        for member, source, word in (
            ("requests", "defaultRequest", "request"),
            ("limits", "default", "limit"),
        ):
            added = _fill(resources, member, [limit.get(source) or {} for limit in limits])
            if added:
                notes.append(f"{', '.join(added)} {word} for {role} {container.get('name', '')}")
    if notes:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        pod["metadata"]["annotations"] = {**annotations, ANNOTATION: text}


def _fill(resources: Object, member: str, defaults: list[Object]) -> list[str]:
    """Add what is missing; the names of what was added, sorted."""
    present = resources.get(member) or {}
    wanted = {name: amount for default in reversed(defaults) for name, amount in default.items()}
    added = sorted(name for name in wanted if name not in present)
    if added:
        resources[member] = {**present, **{name: wanted[name] for name in added}}
    return added


def _check(container: Object, limits: list[Object]) -> Iterator[str]:
    resources = container.get("resources") or {}
    requests, caps = resources.get("requests") or {}, resources.get("limits") or {}
    for limit in limits:
        for name, bound in sorted((limit.get("min") or {}).items()):
            yield from _too_little(name, bound, requests.get(name), caps.get(name))
        for name, bound in sorted((limit.get("max") or {}).items()):
            yield from _too_much(name, bound, requests.get(name), caps.get(name))


def _too_little(name: str, bound: str, request: str | None, cap: str | None) -> Iterator[str]:
    text = f"minimum {name} usage per Container is {bound}"
    if request is None:
        yield f"{text}.  No request is specified"
    elif quantity.parse(request) < quantity.parse(bound):
        yield f"{text}, but request is {request}"
    elif cap is not None and quantity.parse(cap) < quantity.parse(bound):
        yield f"{text}, but limit is {cap}"


def _too_much(name: str, bound: str, request: str | None, cap: str | None) -> Iterator[str]:
    text = f"maximum {name} usage per Container is {bound}"
    if cap is None:
        yield f"{text}.  No limit is specified"
    elif quantity.parse(cap) > quantity.parse(bound):
        yield f"{text}, but limit is {cap}"
    elif request is not None and quantity.parse(request) > quantity.parse(bound):
        yield f"{text}, but request is {request}"
