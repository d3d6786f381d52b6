"""HorizontalPodAutoscalers and PodDisruptionBudgets.

Follows pkg/apis/autoscaling/v2/defaults.go, pkg/apis/autoscaling/validation, pkg/apis/policy.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import Behaviour
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_CPU: Object = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


class Autoscalers(Behaviour):
    """Bounds of replicas and what they follow."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        if obj.get("apiVersion") == "autoscaling/v1":
            spec.setdefault("targetCPUUtilizationPercentage", 80)
        elif not spec.get("metrics"):
            target = dict(_CPU["resource"]["target"])
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        behavior = spec.get("behavior")
        if behavior is not None:
            _fill_behavior(behavior)

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
        errors = []
        if least < 1:
            why = "must be greater than or equal to 1"
            errors.append(fielderrors.invalid("spec.minReplicas", least, why))
        if most < 1:
            errors.append(fielderrors.invalid("spec.maxReplicas", most, "must be greater than 0"))
        if most < least:
            why = "must be greater than or equal to `minReplicas`"
            errors.append(fielderrors.invalid("spec.maxReplicas", most, why))
        target = spec.get("scaleTargetRef") or {}
        errors += [
            fielderrors.required(f"spec.scaleTargetRef.{member}")
            for member in ("kind", "name")
            if not target.get(member)
        ]
        return errors


def _fill_behavior(behavior: Object) -> None:
    up = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    down = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    for member, policies, window in (("scaleUp", up, 0), ("scaleDown", down, None)):
        rules = behavior.get(member) or {}
        rules.setdefault("selectPolicy", "Max")
        if window is not None:
            rules.setdefault("stabilizationWindowSeconds", window)
        if not rules.get("policies"):
            rules["policies"] = policies
        behavior[member] = rules


class DisruptionBudgets(Behaviour):
    """One of two bounds, and a selector."""

    generation = ("spec",)
    unconditional_update = False

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        bounds = ("minAvailable", "maxUnavailable")
        if all(spec.get(member) is not None for member in bounds):
            why = "minAvailable and maxUnavailable cannot be both set"
            errors.append(fielderrors.invalid("spec", spec, why))
        for member in bounds:
            errors += checks.count_or_percent(spec.get(member), f"spec.{member}")
            errors += checks.at_most_all(spec.get(member), f"spec.{member}")
        return errors + checks.label_selector(spec.get("selector"), "spec.selector")
