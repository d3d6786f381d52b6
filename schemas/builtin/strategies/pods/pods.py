"""Pods and pod templates, as stored objects.

Follows pkg/registry/core/pod/strategy.go and core validation ValidatePodUpdate.
"""

from inkube.schemas import quantity
from inkube.schemas.builtin.rules.calls import core_pods
from inkube.schemas.builtin.strategies.base import (
    BuiltinStrategy,
    keep,
    reset_metadata,
    was_counted,
)
from inkube.schemas.builtin.strategies.pods import updates as podupdates
from inkube.schemas.builtin.strategies.pods import warnings as podwarnings
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.quantity import Quantity
from inkube.schemas.strategy import Context

_CLASS_STAYS = 32
"""The minor since which the QoS class of a status is kept and may not change."""


class Pods(BuiltinStrategy):
    """Pods. Images, deadlines and tolerations of a spec can change, other fields cannot."""

    @cached_property
    def _keeps_class(self) -> bool:
        """Whether the QoS class of a status stays as it is."""
        return self.definition.minor >= _CLASS_STAYS

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec = obj["spec"]
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        _end_in_time(spec)
        core_pods.select_by_label_keys(spec, obj["metadata"].get("labels") or {})
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [_gated(context.now)]

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _end_in_time(obj["spec"])

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_status(context, obj, old)
        for member in ("deletionTimestamp", "ownerReferences"):
            keep(obj["metadata"], old["metadata"], member)
        told, before = obj.setdefault("status", {}), old.get("status") or {}
        podupdates.keep_in_status(told, before, keeps_class=self._keeps_class)

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        spec = podupdates.PARTS[context.subresource](obj["spec"], old["spec"])
        if spec is not None:
            reset_metadata(obj, old)
            obj["spec"] = spec
        keep(obj, old, "status")
        if self.definition.generation and not same(obj["spec"], old["spec"]):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check_graceful_delete(self, obj: Object, asked: int | None) -> int | None:
        """podStrategy.CheckGracefulDelete: the grace period in seconds; 0 for a pod that has no
        node or is terminal."""
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        period = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
        return period if period >= 0 else 1

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        name = obj["metadata"].get("name", "")
        found = podwarnings.of_pod(obj)
        return podwarnings.of_name(name, "the Pod's hostname") + found

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return super().check_update(obj, old) + podupdates.validate(obj, old)

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return podupdates.validate_status(obj, old, keeps_class=self._keeps_class)

    def check_part(self, name: str, obj: Object, old: Object) -> list[FieldError]:
        if name == "ephemeralcontainers":
            found = podupdates.validate_ephemeral(obj, old)
            return super().check_update(obj, old) + found
        classes = qos_class(obj["spec"]), qos_class(old["spec"])
        return super().check_update(obj, old) + podupdates.validate_resize(obj, old, classes)


def _end_in_time(spec: Object) -> None:
    """Replace a negative grace period by one second, in place."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _gated(now: str) -> Object:
    """The condition of a pod with scheduling gates (applySchedulingGatedCondition)."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


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


class PodTemplates(BuiltinStrategy):
    """Pod templates that are stored as objects."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return podwarnings.of_spec(obj.get("template") or {}, "template")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return self.warnings_on_create(context, obj) if was_counted(obj, old) else []
