"""HorizontalPodAutoscalers and PodDisruptionBudgets.

Follows pkg/apis/autoscaling/v2/defaults.go, pkg/apis/autoscaling/validation, pkg/apis/policy.
"""

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import split_api_version
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_CPU: Object = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


class Autoscalers(BuiltinStrategy):
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
        if most == 0:
            why = "must be set and greater than 0"
            errors.append(fielderrors.required("spec.maxReplicas", why))
        elif most < 0:
            errors.append(fielderrors.invalid("spec.maxReplicas", most, "must be greater than 0"))
        if most < least:
            why = "must be greater than or equal to `minReplicas`"
            errors.append(fielderrors.invalid("spec.maxReplicas", most, why))
        target = spec.get("scaleTargetRef") or {}
        for member in ("kind", "name"):
            place, value = f"spec.scaleTargetRef.{member}", target.get(member, "")
            if value:
                errors += checks.named(value, place, names.path_segment)
            else:
                errors.append(fielderrors.required(place))
        errors += _target_group(target, "spec.scaleTargetRef")
        metrics = spec.get("metrics") or []
        for index, metric in enumerate(metrics):
            errors += _metric(metric, f"spec.metrics[{index}]")
        if least == 0 and not any(one.get("type") in ("External", "Object") for one in metrics):
            why = "must specify at least one Object or External metric to support scaling to zero"
            errors.append(fielderrors.forbidden("spec.metrics", f"{why} replicas"))
        for direction, rules in (spec.get("behavior") or {}).items():
            errors += _rules(rules, f"spec.behavior.{direction}")
        return errors


def _target_group(target: Object, path: str) -> list[FieldError]:
    """Only controllers of the core group need not say theirs."""
    version = target.get("apiVersion", "")
    if not version or target.get("kind") == "ReplicationController":
        return []
    place = f"{path}.apiVersion"
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        return [fielderrors.invalid(place, version, why)]
    if split_api_version(version)[0]:
        return []
    return [fielderrors.invalid(place, version, "apiVersion must specify API group")]


_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_POLICIES, _SELECTED = ("Percent", "Pods"), ("Disabled", "Max", "Min")
_EVICTIONS = ("AlwaysAllow", "IfHealthyBudget")
_MAX_WINDOW, _MAX_PERIOD = 3600, 1800


def _metric(metric: Object, path: str) -> list[FieldError]:
    """One source, of the type it says. An unknown type is told of twice, as upstream does."""
    kind = metric.get("type", "")
    if not kind:
        return [fielderrors.required(f"{path}.type", "must specify a metric source type")]
    errors = []
    if kind not in _SOURCES:
        errors += 2 * [fielderrors.not_supported(f"{path}.type", kind, tuple(_SOURCES))]
    for other, member in _SOURCES.items():
        source, place = metric.get(member), f"{path}.{member}"
        if source is not None:
            errors += _source(other, source, place)
            if other != kind and kind in _SOURCES:
                why = "must populate the given metric source only"
                errors.append(fielderrors.forbidden(place, why))
        elif other == kind:
            why = "must populate information for the given metric source"
            errors.append(fielderrors.required(place, why))
    return errors


def _source(kind: str, source: Object, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    errors = _target(target, f"{path}.target")
    if kind in ("ContainerResource", "Resource"):
        if not source.get("name"):
            errors.append(fielderrors.required(f"{path}.name", "must specify a resource name"))
        if kind == "ContainerResource" and not source.get("container"):
            errors.append(fielderrors.required(f"{path}.container", "must specify a container"))
        either, both = "averageUtilization", "averageValue"
        texts = "a target raw value", "a target utilization"
    else:
        errors += _identifier(source.get("metric") or {}, f"{path}.metric")
        either, both = "averageValue", "value"
        texts = "a target value for metric", "a per-pod target"
    if kind == "Pods":
        value = target.get("averageValue")
        if value is None:
            why = "must specify a positive target averageValue"
            errors.append(fielderrors.required(f"{path}.target.averageValue", why))
        return errors
    if target.get(either) is None and target.get(both) is None:
        why = f"must set either {texts[0]} or {texts[1]}"
        errors.append(fielderrors.required(f"{path}.target.{either}", why))
    elif target.get(either) is not None and target.get(both) is not None:
        why = f"may not set both {texts[0]} and {texts[1]}"
        errors.append(fielderrors.forbidden(f"{path}.target.{both}", why))
    return errors


def _identifier(metric: Object, path: str) -> list[FieldError]:
    name = metric.get("name", "")
    if not name:
        return [fielderrors.required(f"{path}.name", "must specify a metric name")]
    return checks.named(name, f"{path}.name", names.path_segment)


def _target(target: Object, path: str) -> list[FieldError]:
    kind, errors = target.get("type", ""), []
    if not kind:
        errors.append(fielderrors.required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        why = "must be either Utilization, Value, or AverageValue"
        errors.append(fielderrors.invalid(f"{path}.type", kind, why))
    for member in ("value", "averageValue"):
        value = target.get(member)
        if value is not None and quantity.parse(value).sign != 1:
            errors.append(fielderrors.invalid(f"{path}.{member}", value, "must be positive"))
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        why = "must be greater than 0"
        errors.append(fielderrors.invalid(f"{path}.averageUtilization", percent, why))
    return errors


def _rules(rules: Object, path: str) -> list[FieldError]:
    errors = []
    window, selected = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy", "")
    if window is not None and not 0 <= window <= _MAX_WINDOW:
        bound = (
            "greater than or equal to zero"
            if window < 0
            else f"less than or equal to {_MAX_WINDOW}"
        )
        place = f"{path}.stabilizationWindowSeconds"
        errors.append(fielderrors.invalid(place, window, f"must be {bound}"))
    if selected not in _SELECTED:
        errors.append(fielderrors.not_supported(f"{path}.selectPolicy", selected, _SELECTED))
    policies = rules.get("policies") or []
    if not policies:
        why = "must specify at least one Policy"
        errors.append(fielderrors.required(f"{path}.policies", why))
    for index, policy in enumerate(policies):
        place, kind = f"{path}.policies[{index}]", policy.get("type", "")
        value, period = policy.get("value", 0), policy.get("periodSeconds", 0)
        if kind not in _POLICIES:
            errors.append(fielderrors.not_supported(f"{place}.type", kind, _POLICIES))
        if value <= 0:
            errors.append(fielderrors.invalid(f"{place}.value", value, "must be greater than zero"))
        if not 0 < period <= _MAX_PERIOD:
            bound = "greater than zero" if period <= 0 else f"less than or equal to {_MAX_PERIOD}"
            errors.append(fielderrors.invalid(f"{place}.periodSeconds", period, f"must be {bound}"))
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
        if rules.get("policies") is None:
            rules["policies"] = policies
        behavior[member] = rules


class DisruptionBudgets(BuiltinStrategy):
    """One of two bounds, and a selector."""

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
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _EVICTIONS:
            place = "spec.unhealthyPodEvictionPolicy"
            errors.append(fielderrors.not_supported(place, policy, _EVICTIONS))
        return errors + checks.label_selector(spec.get("selector"), "spec.selector")

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        """Counts are not negative, conditions are whole."""
        told = obj.get("status") or {}
        errors = super().check_status(obj, old)
        return errors + checks.conditions(told.get("conditions") or [], "status.conditions")
