"""Limit ranges: defaults for the containers of new pods, limits of the requests of pods and claims.

Pure functions. Follows plugin/pkg/admission/limitranger/admission.go.
"""

from collections.abc import Iterator

from inkube.schemas import quantity
from inkube.schemas.builtin import quotas
from inkube.schemas.objects import Object

_ANNOTATION = "kubernetes.io/limit-ranger"


def fill(pod: Object, limit_range: Object) -> None:
    """Set the defaults of a range in a new pod's containers, and note that in an annotation."""
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


def violations(obj: Object, limit_range: Object) -> list[str]:
    """Return the errors of a pod or a claim outside a range, with the plugin's texts."""
    if obj.get("kind") == "PersistentVolumeClaim":
        limits = _limits(limit_range, "PersistentVolumeClaim")
        return list(_outside((obj.get("spec") or {}).get("resources") or {}, limits))
    limits = _limits(limit_range)
    found = [
        text
        for _, container in _containers(obj)
        for text in _outside(container.get("resources") or {}, limits)
    ]
    return found + list(_pod_outside(obj, _limits(limit_range, "Pod")))


def _pod_outside(pod: Object, limits: list[Object]) -> Iterator[str]:
    """Yield the errors for the sum of a pod's containers."""
    if not limits:
        return
    sums = {
        member: {
            name: quantity.canonical(amount)
            for name, amount in quotas.pod_total(pod.get("spec") or {}, member).items()
        }
        for member in ("requests", "limits")
    }
    yield from _outside(sums, limits)


def _limits(limit_range: Object, kind: str = "Container") -> list[Object]:
    """Return the limits of the range for containers, pods or claims."""
    limits = (limit_range.get("spec") or {}).get("limits") or []
    return [limit for limit in limits if limit.get("type") == kind]


def _containers(pod: Object) -> Iterator[tuple[str, Object]]:
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or []:
        yield "container", container
    for container in spec.get("initContainers") or []:
        yield "init container", container


def _fill(resources: Object, member: str, defaults: list[Object]) -> list[str]:
    """Add missing amounts. Returns the sorted names of added ones."""
    present = resources.get(member) or {}
    wanted = {name: amount for default in reversed(defaults) for name, amount in default.items()}
    added = sorted(name for name in wanted if name not in present)
    if added:
        resources[member] = {**present, **{name: wanted[name] for name in added}}
    return added


def _outside(resources: Object, limits: list[Object]) -> Iterator[str]:
    requests, caps = resources.get("requests") or {}, resources.get("limits") or {}
    for limit in limits:
        kind = limit["type"]
        for name, bound in sorted((limit.get("min") or {}).items()):
            text = f"minimum {name} usage per {kind} is {bound}"
            yield from _too_little(text, bound, requests.get(name), caps.get(name))
        for name, bound in sorted((limit.get("max") or {}).items()):
            text = f"maximum {name} usage per {kind} is {bound}"
            asked, cap = requests.get(name), caps.get(name)
            yield from _too_much(text, bound, asked, cap, is_claim=kind == _CLAIM)
        for name, bound in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
            text = f"{name} max limit to request ratio per {kind} is {bound}"
            yield from _too_far(text, bound, requests.get(name), caps.get(name))


_CLAIM = "PersistentVolumeClaim"


def _too_little(text: str, bound: str, request: str | None, cap: str | None) -> Iterator[str]:
    if request is None:
        yield f"{text}.  No request is specified"
    elif quantity.parse(request) < quantity.parse(bound):
        yield f"{text}, but request is {request}"
    elif cap is not None and quantity.parse(cap) < quantity.parse(bound):
        yield f"{text}, but limit is {cap}"


def _too_much(
    text: str, bound: str, request: str | None, cap: str | None, *, is_claim: bool
) -> Iterator[str]:
    if cap is None and not is_claim:
        yield f"{text}.  No limit is specified"
    elif cap is not None and quantity.parse(cap) > quantity.parse(bound):
        yield f"{text}, but limit is {cap}"
    elif request is not None and quantity.parse(request) > quantity.parse(bound):
        yield f"{text}, but request is {request}"


def _too_far(text: str, bound: str, request: str | None, cap: str | None) -> Iterator[str]:
    """Check the ratio of limit to request (limitRequestRatioConstraint)."""
    if request is None or cap is None:
        missing = "request" if request is None else "limit"
        yield f"{text}, but no {missing} is specified or {missing} is 0"
        return
    least, most, ratio = (quantity.parse(one) for one in (request, cap, bound))
    if least.sign <= 0 or most.sign <= 0:
        yield f"{text}, but no {'request' if least.sign <= 0 else 'limit'} is specified or it is 0"
        return
    found = _number(most) / _number(least)
    if found > _number(ratio):
        yield f"{text}, but provided ratio is {found:f}"


def _number(amount: quantity.Quantity) -> float:
    return float(amount.value) * float(10**amount.scale)
