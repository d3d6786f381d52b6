"""Pods, as stored objects. core.pods.rules, core.containers.rules, core.volumes.rules and
core.podupdates.rules contain the rules for fields.

Follows pkg/registry/core/pod/strategy.go.
"""

from inkube.schemas.builtin import podqos
from inkube.schemas.builtin.rules.calls import core_pods
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep, reset_metadata
from inkube.schemas.builtin.strategies.pods import apparmor
from inkube.schemas.builtin.strategies.pods import updates as podupdates
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context

_CLASS_STAYS = 32
"""The minor since which a status keeps its QoS class, which must not change."""
_ANNOTATES_APP_ARMOR = 33
"""The last minor in which a new pod gets annotations with the AppArmor profiles of its fields."""


class Pods(BuiltinStrategy):
    """The strategy of Pods. Images, deadlines and tolerations of a spec can change, other fields
    cannot."""

    @cached_property
    def _keeps_class(self) -> bool:
        """Whether a status keeps its QoS class in this minor version."""
        return self.definition.minor >= _CLASS_STAYS

    @cached_property
    def _annotates(self) -> bool:
        """Whether new pods get annotations with their AppArmor profiles in this minor version."""
        return self.definition.minor <= _ANNOTATES_APP_ARMOR

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec = obj["spec"]
        obj["status"] = {"phase": "Pending", "qosClass": podqos.of_spec(spec)}
        _end_in_time(spec)
        core_pods.select_by_label_keys(spec, obj["metadata"].get("labels") or {})
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [_gated(context.now)]
        for warning in apparmor.settle(obj, annotates=self._annotates):
            context.warn(warning)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _end_in_time(obj["spec"])

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_status(context, obj, old)
        for member in ("deletionTimestamp", "ownerReferences"):
            keep(obj["metadata"], old["metadata"], member)
        status, before = obj.setdefault("status", {}), old.get("status") or {}
        podupdates.keep_in_status(status, before, keeps_class=self._keeps_class)
        self.rules.drop("core.v1.PodStatus", status, before)

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        spec = podupdates.PARTS[context.subresource](obj["spec"], old["spec"])
        if spec is not None:
            reset_metadata(obj, old)
            obj["spec"] = spec
        keep(obj, old, "status")
        if self.definition.generation and not same(obj["spec"], old["spec"]):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check_graceful_delete(self, obj: Object, requested_seconds: int | None) -> int | None:
        """Return the grace period in seconds, or 0 for a pod that has no node or is terminal
        (podStrategy.CheckGracefulDelete)."""
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        period = (
            spec.get("terminationGracePeriodSeconds", 0)
            if requested_seconds is None
            else requested_seconds
        )
        return period if period >= 0 else 1


def _end_in_time(spec: Object) -> None:
    """Replace a negative grace period by one second, in place."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _gated(now: str) -> Object:
    """Return the condition of a pod with scheduling gates (applySchedulingGatedCondition)."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
