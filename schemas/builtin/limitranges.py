"""Limit ranges: what containers of a new pod get, and what they may not ask for; pure functions.

Bounds of whole pods and of volume claims are not judged. Follows
plugin/pkg/admission/limitranger/admission.go.
"""

from collections.abc import Iterator

from inkube.schemas import quantity
from inkube.schemas.objects import Object

_ANNOTATION = "kubernetes.io/limit-ranger"


def fill(pod: Object, limit_range: Object) -> None:
    """Give a new pod's containers the defaults of a range, and note that in an annotation."""
    limits, notes = _limits(limit_range), []
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
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: text}


def violations(pod: Object, limit_range: Object) -> list[str]:
    """What of a pod's containers lies outside a range, in the plugin's words."""
    limits = _limits(limit_range)
    return [text for _, container in _containers(pod) for text in _outside(container, limits)]


def _limits(limit_range: Object) -> list[Object]:
    """What the range says of containers."""
    limits = (limit_range.get("spec") or {}).get("limits") or []
    return [limit for limit in limits if limit.get("type") == "Container"]


def _containers(pod: Object) -> Iterator[tuple[str, Object]]:
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or []:
        yield "container", container
    for container in spec.get("initContainers") or []:
        yield "init container", container


def _fill(resources: Object, member: str, defaults: list[Object]) -> list[str]:
    """Add what is missing; the names of what was added, sorted."""
    present = resources.get(member) or {}
    wanted = {name: amount for default in reversed(defaults) for name, amount in default.items()}
    added = sorted(name for name in wanted if name not in present)
    if added:
        resources[member] = {**present, **{name: wanted[name] for name in added}}
    return added


def _outside(container: Object, limits: list[Object]) -> Iterator[str]:
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
