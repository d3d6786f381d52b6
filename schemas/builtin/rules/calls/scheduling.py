"""Irregular rules of scheduling.k8s.io: names and values of system priority classes."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

HIGHEST = 1_000_000_000
"""The highest priority that users may define (HighestUserDefinablePriority)."""
SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


def name_and_value(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that a name with the prefix `system-` is known and has its value
    (IsKnownSystemPriorityClass)."""
    name, number = value["metadata"].get("name", ""), value.get("value", 0)
    if name.startswith("system-"):
        why = _reserved(name, value)
        return [fielderrors.forbidden("metadata.name", why)] if why else []
    if number > HIGHEST:
        why = f"maximum allowed value of a user defined priority is {HIGHEST}"
        return [fielderrors.forbidden("value", why)]
    return []


def _reserved(name: str, value: Object) -> str:
    if name not in SYSTEM_PRIORITIES:
        why = f"{name} is not a known system priority class"
    elif value.get("value") != SYSTEM_PRIORITIES[name]:
        why = f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
    elif value.get("globalDefault"):
        why = f"globalDefault of {name} PriorityClass must be false"
    else:
        return ""
    prefix = "priority class names with 'system-' prefix are reserved for system use only. error: "
    return prefix + why
