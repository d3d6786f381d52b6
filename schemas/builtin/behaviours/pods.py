"""Pods and pod templates, as stored objects: nothing runs them.

The admission plugins Priority and DefaultTolerationSeconds, which every cluster has, are part of
the preparation. Follows pkg/registry/core/pod/strategy.go and core validation ValidatePodUpdate.
"""

import orjson

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import leases, poddefaults, podvalidation
from inkube.schemas.builtin.behaviours.base import Behaviour, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)\n"
)
_ADDITIONS_ONLY = "existing toleration can not be modified except its tolerationSeconds"


class Pods(Behaviour):
    """Images, deadlines and tolerations may change, the rest of a spec may not."""

    generation = ("spec",)
    returns_deleted = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        poddefaults.pod_spec(spec)
        spec.setdefault("enableServiceLinks", True)
        poddefaults.requests_from_limits(spec)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        spec = obj["spec"]
        _prioritise(spec)
        _tolerate(spec)
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """podStrategy.CheckGracefulDelete: only a pod on a node takes its time."""
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        period = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
        return period if period >= 0 else 1

    def check(self, obj: Object) -> list[FieldError]:
        return podvalidation.pod_spec(obj.get("spec") or {}, "spec")

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        found = podvalidation.warnings(obj.get("spec") or {}, "spec")
        if old is not None:
            return found
        name = obj["metadata"].get("name", "")
        return podvalidation.name_warnings(name, "the Pod's hostname") + found

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        if errors:
            return errors
        spec, before = obj["spec"], old["spec"]
        if spec.get("activeDeadlineSeconds") != before.get("activeDeadlineSeconds"):
            errors += _deadline(spec.get("activeDeadlineSeconds"), before)
        errors += _tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
        if not errors and not same(_fixed_part(spec), _fixed_part(before)):
            errors.append(fielderrors.forbidden("spec", _FIXED))
        return errors


def _prioritise(spec: Object) -> None:
    """The Priority plugin, for what it knows without looking at PriorityClasses."""
    name = spec.get("priorityClassName", "")
    spec.setdefault("priority", leases.SYSTEM_PRIORITIES.get(name, 0))
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _tolerate(spec: Object) -> None:
    """The DefaultTolerationSeconds plugin: five minutes on a node that is gone."""
    present = spec.get("tolerations") or []
    for key in _TOLERATED:
        if not any(
            toleration.get("key", "") in ("", key)
            and toleration.get("effect", "") in ("", "NoExecute")
            for toleration in present
        ):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            present = [*present, {**added, "tolerationSeconds": 300}]
    spec["tolerations"] = present


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort (component-helpers qos.go ComputePodQOS)."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        resources = container.get("resources") or {}
        asked, bound = (_computed(resources.get(member) or {}) for member in ("requests", "limits"))
        for total, amounts in ((requests, asked), (limits, bound)):
            for name, amount in amounts.items():
                total[name] = total[name].add(amount) if name in total else amount
        guaranteed = guaranteed and bound.keys() == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _computed(amounts: dict[str, str]) -> dict[str, Quantity]:
    found = {name: quantity.parse(amounts[name]) for name in ("cpu", "memory") if name in amounts}
    return {name: amount for name, amount in found.items() if amount.sign > 0}


def _deadline(value: int | None, before: Object) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    old = before.get("activeDeadlineSeconds")
    if value is None:
        why = "must not update from a positive integer to nil value"
        return [fielderrors.invalid(path, None, why)]
    if old is not None and value > old:
        why = "must be less than or equal to previous value"
        return [fielderrors.invalid(path, value, why)]
    return []


def _tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    def identity(toleration: Object) -> Object:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    kept = [identity(toleration) for toleration in new]
    if all(identity(toleration) in kept for toleration in old):
        return []
    return [fielderrors.forbidden("spec.tolerations", _ADDITIONS_ONLY)]


def _fixed_part(spec: Object) -> Object:
    fixed: Object = orjson.loads(orjson.dumps(spec))
    for member in ("activeDeadlineSeconds", "tolerations"):
        fixed.pop(member, None)
    for member in ("containers", "initContainers"):
        for container in fixed.get(member) or []:
            container.pop("image", None)
    return fixed


class PodTemplates(Behaviour):
    """Templates stored on their own."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        poddefaults.pod_spec(obj.setdefault("template", {}).setdefault("spec", {}))

    def check(self, obj: Object) -> list[FieldError]:
        return podvalidation.template(obj.get("template") or {}, "template")
