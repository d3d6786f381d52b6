"""Object counts of resource quotas: which objects a name counts, and what one object uses.

Compute resources (cpu, memory, storage) and quotas with scopes are not judged. Follows
apiserver/pkg/quota/v1 and pkg/quota/v1/evaluator/core.
"""

from collections.abc import Iterable

from inkube.schemas import quantity
from inkube.schemas.objects import Object

_COUNT = "count/"
_CORE = frozenset({
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas",
    "secrets", "services",
})  # fmt: skip
"""Plurals of the core group that are quota names themselves."""
_SERVICES = ("services.nodeports", "services.loadbalancers")


def limits(quota: Object) -> dict[str, str]:
    """What a quota limits; nothing that is judged here if it is for some pods only."""
    spec = quota.get("spec") or {}
    if spec.get("scopes") or spec.get("scopeSelector"):
        return {}
    return spec.get("hard") or {}


def counted(name: str) -> tuple[str, str] | None:
    """The group and plural whose objects a quota name counts; None for what is not counted."""
    if name.startswith(_COUNT):
        plural, _, group = name.removeprefix(_COUNT).partition(".")
        return group, plural
    if name in _SERVICES:
        return "", "services"
    return ("", name) if name in _CORE else None


def is_plain(name: str) -> bool:
    """Whether every object it counts uses one."""
    return name != "pods" and name not in _SERVICES


def usage(name: str, obj: Object) -> int:
    """How much of a quota name one of the objects it counts uses."""
    if name in _SERVICES:
        return _service_usage(name, obj.get("spec") or {})
    if name == "pods":
        return int((obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed"))
    return 1


def total(name: str, objects: Iterable[Object]) -> int:
    """How much all of these use."""
    return sum(usage(name, obj) for obj in objects)


def exceeded(
    hard: dict[str, str], used: dict[str, int], requested: dict[str, int]
) -> dict[str, tuple[int, int, str]]:
    """What would go beyond its limit: requested, used and limited amounts by name."""
    return {
        name: (amount, used[name], hard[name])
        for name, amount in sorted(requested.items())
        if amount > 0 and quantity.Quantity(used[name] + amount) > quantity.parse(hard[name])
    }


def refusal(quota: str, beyond: dict[str, tuple[int, int, str]]) -> str:
    """The reference's words for it."""
    parts = [
        ",".join(f"{name}={amounts[index]}" for name, amounts in beyond.items())
        for index in range(3)
    ]
    return f"exceeded quota: {quota}, requested: {parts[0]}, used: {parts[1]}, limited: {parts[2]}"


def _service_usage(name: str, spec: Object) -> int:
    kind, ports = spec.get("type", "ClusterIP"), len(spec.get("ports") or [])
    if name == "services.loadbalancers":
        return int(kind == "LoadBalancer")
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        return sum(1 for port in spec.get("ports") or [] if port.get("nodePort"))
    return ports if kind in ("NodePort", "LoadBalancer") else 0
