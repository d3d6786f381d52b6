"""What objects use of a ResourceQuota, and when that is too much; pure functions.

The server knows which quotas there are and counts under its lock. Follows
pkg/quota/v1/evaluator/core and apiserver/pkg/admission/plugin/resourcequota.
"""

from collections.abc import Iterable
from typing import Any

from inkube.schemas import quantity
from inkube.schemas.quantity import Quantity

Object = dict[str, Any]
Usage = dict[str, Quantity]
_ONE = Quantity(1)
_COUNTED = frozenset({
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas",
    "secrets", "services",
})  # fmt: skip
_COMPUTE = ("cpu", "memory", "ephemeral-storage")


def usage(group: str, plural: str, obj: Object) -> Usage:
    """What one object takes, by the names a quota may bound."""
    qualified = f"{plural}.{group}" if group else plural
    used = {f"count/{qualified}": _ONE}
    if group:
        return used
    if plural in _COUNTED:
        used[plural] = _ONE
    spec = obj.get("spec") or {}
    if plural == "pods":
        used.update(_pod(spec))
    elif plural == "services":
        used.update(_service(spec))
    elif plural == "persistentvolumeclaims":
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        if storage:
            used["requests.storage"] = quantity.parse(storage)
    return used


def _service(spec: Object) -> Usage:
    ports = Quantity(len(spec.get("ports") or []))
    kind = spec.get("type")
    has_ports = kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    )
    return {
        "services.nodeports": ports if has_ports else Quantity(0),
        "services.loadbalancers": _ONE if kind == "LoadBalancer" else Quantity(0),
    }


def _pod(spec: Object) -> Usage:
    """Containers together, or the largest init container."""
    used: Usage = {}
    for member in ("requests", "limits"):
        total = _sum(spec.get("containers") or [], member)
        for container in spec.get("initContainers") or []:
            for name, amount in _sum([container], member).items():
                total[name] = max(total[name], amount) if name in total else amount
        for name, amount in total.items():
            used[f"{member}.{name}"] = amount
            if member == "requests":
                used[name] = amount
    return used


def _sum(containers: Iterable[Object], member: str) -> Usage:
    total: Usage = {}
    for container in containers:
        given = (container.get("resources") or {}).get(member) or {}
        for name in _COMPUTE:
            if name in given:
                amount = quantity.parse(given[name])
                total[name] = total[name].add(amount) if name in total else amount
    return total


def total(objects: Iterable[tuple[str, str, Object]], hard: Iterable[str]) -> dict[str, str]:
    """`status.used` of a quota: all objects' usage of the names it bounds."""
    sums = dict.fromkeys(hard, Quantity(0))
    for group, plural, obj in objects:
        for name, amount in usage(group, plural, obj).items():
            if name in sums:
                sums[name] = sums[name].add(amount)
    return {name: str(amount) for name, amount in sums.items()}


def refusal(quota: Object, requested: Usage) -> str:
    """Why a quota does not allow that much more, "" when it does."""
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    over = [
        name
        for name, amount in sorted(requested.items())
        if name in hard
        and amount.sign > 0
        and quantity.parse(used.get(name, "0")).add(amount) > quantity.parse(hard[name])
    ]
    if not over:
        return ""

    def shown(amounts: Any) -> str:
        return ",".join(f"{name}={amounts.get(name, '0')}" for name in over)

    name = quota["metadata"]["name"]
    return (
        f"exceeded quota: {name}, requested: {shown(requested)}, used: {shown(used)}, "
        f"limited: {shown(hard)}"
    )


def unspecified(quota: Object, pod: Object) -> str:
    """Why a pod that does not say what it takes cannot be counted, "" when it can."""
    hard = (quota.get("status") or {}).get("hard") or {}
    containers = (pod.get("spec") or {}).get("containers") or []
    lacking = []
    for name in sorted(hard):
        wanted = _compute_name(name)
        missing = [one.get("name", "") for one in containers if wanted and not _says(one, *wanted)]
        if missing:
            lacking.append(f"{name} for: {','.join(missing)}")
    if not lacking:
        return ""
    return f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(lacking)}"


def _says(container: Object, member: str, resource: str) -> bool:
    return resource in ((container.get("resources") or {}).get(member) or {})


def _compute_name(name: str) -> tuple[str, str] | None:
    member, _, resource = name.partition(".")
    if member in ("requests", "limits") and resource in ("cpu", "memory"):
        return member, resource
    return ("requests", name) if name in ("cpu", "memory") else None
