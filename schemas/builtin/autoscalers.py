"""The two shapes of HorizontalPodAutoscalers: v2, which is stored, and v1.

v1 has fields for the CPU utilization only. Annotations contain the other metrics, the status and
the behavior, in the JSON of types that OpenAPI does not show: autoscaling/v1 MetricSpec and
MetricStatus, and the internal HorizontalPodAutoscalerBehavior, which has no JSON names. Follows
pkg/apis/autoscaling/v1/conversion.go and pkg/apis/autoscaling/helpers.go.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.gotypes import decoding, types
from inkube.schemas.objects import Object

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_DEFAULT_UTILIZATION = 80
_STORED = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"


class _Member(NamedTuple):
    """One member of a source of a metric: its name in v1, and its path in v2."""

    name: str
    path: tuple[str, ...]
    zero: str | None = None
    """The value in v1 if v2 has none: these quantities of v1 are no pointers."""


class _Source(NamedTuple):
    """A source of a metric: its members in the order of Go's struct in v1."""

    members: tuple[_Member, ...]
    value_path: str
    """`target` of a spec, `current` of a status."""


_NAME = _Member("metricName", ("metric", "name"))
_SELECTOR = _Member("selector", ("metric", "selector"))
_TARGET = _Member("target", ("describedObject",))
_RESOURCE = _Member("name", ("name",))
_CONTAINER = _Member("container", ("container",))


def _sources(holder: str) -> dict[str, _Source]:
    """Return the sources of metrics by their member; `holder` is `target` or `current`."""
    least = None if holder == "target" else "0"  # only specs have pointers there
    plain = _Member(f"{holder}Value", (holder, "value"), "0")
    average = _Member(f"{holder}AverageValue", (holder, "averageValue"))
    always = average._replace(zero="0")
    used = _Member(f"{holder}AverageUtilization", (holder, "averageUtilization"))
    of_object = average._replace(name="averageValue")
    external = plain._replace(zero=least)
    of_resource = average._replace(zero=least)
    selector = _SELECTOR._replace(name="metricSelector")
    members = {
        "object": (_TARGET, _NAME, plain, _SELECTOR, of_object),
        "pods": (_NAME, always, _SELECTOR),
        "resource": (_RESOURCE, used, of_resource),
        "containerResource": (_RESOURCE, used, of_resource, _CONTAINER),
        "external": (_NAME, selector, external, average),
    }
    return {name: _Source(each, holder) for name, each in members.items()}


_SPECS, _STATUSES = _sources("target"), _sources("current")


def convert(obj: Object, api_version: str) -> Object:
    """Convert an autoscaler of one version to the other one."""
    return to_v1(obj) if api_version == "autoscaling/v1" else to_v2(obj)


def to_v1(obj: Object) -> Object:
    """Convert to v1. Annotations contain what v1 has no fields for."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = _without_round_trips(obj)
    metrics = spec.pop("metrics", None) or []
    cpu = [metric for metric in metrics if _utilization(metric, "target") is not None]
    if cpu:
        spec["targetCPUUtilizationPercentage"] = _utilization(cpu[0], "target")
    current = status.pop("currentMetrics", None) or []
    used = [found for each in current if (found := _utilization(each, "current")) is not None]
    if used:
        status["currentCPUUtilizationPercentage"] = used[-1]
    others = [_metric_to_v1(metric, _SPECS) for metric in metrics if metric not in cpu]
    _put(annotations, _METRICS, others)
    _put(annotations, _CURRENT, [_metric_to_v1(metric, _STATUSES) for metric in current])
    _put(annotations, _CONDITIONS, status.pop("conditions", None))
    _put(annotations, _BEHAVIOR, _behavior_to_go(spec.pop("behavior", None)))
    status.setdefault("currentReplicas", 0)
    return _put_together(obj, spec, status, annotations)


def to_v2(obj: Object) -> Object:
    """Convert to v2. Annotations that cannot be read, or whose values do not fit the types, are
    dropped like the others."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    read = _readings(obj)
    metrics = _decoded("spec", "metrics", _metrics_to_v2(read(_METRICS), _SPECS)) or []
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is None and not metrics:
        utilization = _DEFAULT_UTILIZATION
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    spec["metrics"] = metrics
    behavior = _decoded("spec", "behavior", _behavior_from_go(read(_BEHAVIOR)))
    if behavior:
        spec["behavior"] = behavior
    used = status.pop("currentCPUUtilizationPercentage", None)
    current = _decoded("status", "currentMetrics", _metrics_to_v2(read(_CURRENT), _STATUSES))
    if used is not None and current is None:
        current = [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": used}},
            }
        ]
    status["currentMetrics"] = current or None
    conditions = _decoded("status", "conditions", read(_CONDITIONS))
    if conditions:
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return _put_together(obj, spec, status, _without_round_trips(obj))


def _utilization(metric: Object, holder: str) -> Any:
    """Return the average utilization of a metric for the CPU of pods, else None."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    return (resource.get(holder) or {}).get("averageUtilization")


def _metric_to_v1(metric: Object, sources: dict[str, _Source]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for name, source in sources.items():
        given = metric.get(name)
        if given is None:
            continue
        made[name] = {}
        for member in source.members:
            value: Any = given
            for key in member.path:
                value = (value or {}).get(key)
            if value is None:
                value = member.zero
            if value is not None:
                made[name][member.name] = value
    return made


def _metrics_to_v2(metrics: Any, sources: dict[str, _Source]) -> Any:
    if not isinstance(metrics, list):
        return metrics
    return [_metric_to_v2(each, sources) if isinstance(each, dict) else each for each in metrics]


def _metric_to_v2(metric: Object, sources: dict[str, _Source]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for name, source in sources.items():
        given = metric.get(name)
        if not isinstance(given, dict):
            made[name] = given
            continue
        found: Object = {source.value_path: {}}
        for member in source.members:
            value = given.get(member.name, member.zero)
            if value is None:
                continue
            *outer, key = member.path
            holder = found
            for each in outer:
                holder = holder.setdefault(each, {})
            holder[key] = value
        if source.value_path == "target":
            found["target"] = {"type": _target_type(name, found["target"]), **found["target"]}
        made[name] = found
    return made


def _target_type(source: str, target: Object) -> str:
    """Return the type of a target, which v1 does not have."""
    if "averageUtilization" in target:
        return "Utilization"
    if source in ("object", "external") and "averageValue" not in target:
        return "Value"
    return "AverageValue"


_RULES = ("ScaleUp", "ScaleDown")
_OF_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_OF_POLICY = ("Type", "Value", "PeriodSeconds")


def _behavior_to_go(behavior: Object | None) -> Object | None:
    """Return the behavior with all fields of the internal structs, by their Go names."""
    if behavior is None:
        return None
    return {name: _rules_to_go(behavior.get(_json_name(name))) for name in _RULES}


def _rules_to_go(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    made = _with_go_names(rules, _OF_RULES)
    if made["Policies"] is not None:
        made["Policies"] = [_with_go_names(each, _OF_POLICY) for each in made["Policies"]]
    return made


def _behavior_from_go(behavior: Any) -> Object | None:
    if not isinstance(behavior, dict):
        return None
    made: Object = {}
    for name, rules in _with_json_names(behavior, _RULES).items():
        if not isinstance(rules, dict):
            made[name] = rules
            continue
        found = _with_json_names(rules, _OF_RULES)
        policies = found.get("policies")
        if isinstance(policies, list):
            found["policies"] = [
                _with_json_names(each, _OF_POLICY) if isinstance(each, dict) else each
                for each in policies
            ]
        made[name] = found
    return made or None


def _with_go_names(struct: Object, names: tuple[str, ...]) -> Object:
    return {name: struct.get(_json_name(name)) for name in names}


def _with_json_names(struct: Object, names: tuple[str, ...]) -> Object:
    """Return the members of a struct by their JSON names; Go reads names in any case."""
    given = {key.lower(): value for key, value in struct.items()}
    found = {_json_name(name): given.get(name.lower()) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _json_name(name: str) -> str:
    return name[:1].lower() + name[1:]


def _decoded(part: str, member: str, value: Any) -> Any:
    """Return a member of the spec or the status by its type, None if the value does not fit. Go
    ignores such an annotation."""
    try:
        made = decoding.decode(types.of(_STORED), {part: {member: value}}).object
    except DecodeError:
        return None
    return made[part].get(member)


def _put(annotations: Object, key: str, value: Any) -> None:
    if value:
        annotations[key] = gotext.escaped_html(orjson.dumps(value).decode())


def _readings(obj: Object) -> Callable[[str], Any]:
    """Return a function that returns the JSON value of an annotation, None if it cannot be read."""
    annotations = obj["metadata"].get("annotations") or {}

    def read(key: str) -> Any:
        try:
            return orjson.loads(annotations.get(key) or "null")
        except orjson.JSONDecodeError:
            return None

    return read


def _without_round_trips(obj: Object) -> Object:
    annotations = obj["metadata"].get("annotations") or {}
    ours = (_METRICS, _CURRENT, _BEHAVIOR, _CONDITIONS)
    return {key: value for key, value in annotations.items() if key not in ours}


def _put_together(obj: Object, spec: Object, status: Object, annotations: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata, "spec": spec, "status": status}
