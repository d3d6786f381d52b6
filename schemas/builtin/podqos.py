"""The quality of service of pods (component-helpers/resource/qos.go)."""

from inkube.schemas import quantity
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity


def of_spec(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort (ComputePodQOS). The resources of the pod as a
    whole decide if it has any."""
    own = spec.get("resources")
    holders = [spec] if own is not None else _containers(spec)
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources") or {}
        asked, bound = (_computed(resources.get(member) or {}) for member in ("requests", "limits"))
        for total, amounts in ((requests, asked), (limits, bound)):
            for name, amount in amounts.items():
                total[name] = total[name].add(amount) if name in total else amount
        guaranteed = guaranteed and bound.keys() == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _containers(spec: Object) -> list[Object]:
    return [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]


def _computed(amounts: dict[str, str]) -> dict[str, Quantity]:
    found = {name: quantity.parse(amounts[name]) for name in ("cpu", "memory") if name in amounts}
    return {name: amount for name, amount in found.items() if amount.sign > 0}
