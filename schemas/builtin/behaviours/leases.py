"""Leases and priority classes: small kinds with a few fixed rules.

Follows pkg/apis/coordination/validation and pkg/apis/scheduling/validation.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import Behaviour
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_MAX_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class Leases(Behaviour):
    """PUT creates; durations are positive."""

    create_on_update = True
    unconditional_update = False

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        duration = spec.get("leaseDurationSeconds")
        if duration is not None and duration <= 0:
            why = "must be greater than 0"
            errors.append(fielderrors.invalid("spec.leaseDurationSeconds", duration, why))
        errors += checks.not_negative(spec, "spec", "leaseTransitions")
        if spec.get("preferredHolder") and not spec.get("strategy"):
            why = "may only be specified when `strategy` is defined"
            errors.append(fielderrors.forbidden("spec.preferredHolder", why))
        return errors


class PriorityClasses(Behaviour):
    """The value is for good; names that begin with `system-` are reserved."""

    generation = ()

    def default(self, obj: Object) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def check(self, obj: Object) -> list[FieldError]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        errors = []
        if name.startswith("system-"):
            why = _reserved(name, obj)
            if why:
                errors.append(fielderrors.forbidden("metadata.name", why))
        elif value > _MAX_PRIORITY:
            why = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
            errors.append(fielderrors.forbidden("value", why))
        policies = ("PreemptLowerPriority", "Never")
        return errors + checks.one_of(obj.get("preemptionPolicy"), "preemptionPolicy", policies)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = []
        if obj.get("value") != old.get("value"):
            errors.append(fielderrors.forbidden("value", "may not be changed in an update."))
        return errors + checks.immutable(obj, old, "", "preemptionPolicy")


def _reserved(name: str, obj: Object) -> str:
    if name not in SYSTEM_PRIORITIES:
        why = f"{name} is not a known system priority class"
    elif obj.get("value") != SYSTEM_PRIORITIES[name]:
        why = f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
    elif obj.get("globalDefault"):
        why = f"globalDefault of {name} PriorityClass must be false"
    else:
        return ""
    prefix = "priority class names with 'system-' prefix are reserved for system use only. error: "
    return prefix + why
