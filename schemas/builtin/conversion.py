"""Built-in kinds with two shapes: events of both groups, autoscalers v1 and v2.

One shape is stored, the first one in `STORED`, and `convert` returns the other. All other kinds
have one version, and stay as they are. Follows pkg/apis/events/v1/conversion.go and
pkg/apis/autoscaling/v1/conversion.go.
"""

from typing import Any

import orjson

from inkube.schemas.objects import Object

STORED = {"Event": "v1", "HorizontalPodAutoscaler": "autoscaling/v2"}
"""The apiVersion in which objects of these kinds are stored."""
_EVENT_FIELDS = {
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "involvedObject": "regarding",
    "lastTimestamp": "deprecatedLastTimestamp",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
}
_CORE_ALWAYS: Object = {
    "eventTime": None, "firstTimestamp": None, "lastTimestamp": None, "reportingComponent": "",
    "reportingInstance": "", "source": {}, "involvedObject": {},
}  # fmt: skip
_NEW_ALWAYS: Object = {
    "eventTime": None, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None,
    "deprecatedSource": {}, "regarding": {},
}  # fmt: skip
_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def convert(obj: Object, api_version: str) -> Object:
    """Return the object in another apiVersion of its kind, or the same object if nothing
    changes."""
    if obj.get("apiVersion") == api_version:
        return obj
    kind = (obj.get("kind"), api_version)
    if kind in (("Event", "v1"), ("Event", "events.k8s.io/v1")):
        return _event(obj, api_version)
    if kind[0] == "HorizontalPodAutoscaler" and api_version.startswith("autoscaling/"):
        made = _to_v1(obj) if api_version == "autoscaling/v1" else _to_v2(obj)
        return {**made, "apiVersion": api_version}
    return {**obj, "apiVersion": api_version}


def _event(obj: Object, api_version: str) -> Object:
    to_core = api_version == "v1"
    names = {new: old for old, new in _EVENT_FIELDS.items()} if to_core else _EVENT_FIELDS
    made = {names.get(member, member): value for member, value in obj.items()}
    for member, zero in (_CORE_ALWAYS if to_core else _NEW_ALWAYS).items():
        made.setdefault(member, zero)
    if not to_core:
        for member in ("reportingController", "reportingInstance"):
            if not made.get(member):
                made.pop(member, None)
    made["apiVersion"] = api_version
    return made


def _is_plain_cpu(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    return (
        metric.get("type") == "Resource"
        and resource.get("name") == "cpu"
        and target.get("averageUtilization") is not None
    )


def _to_v1(obj: Object) -> Object:
    """Convert to v1, which has a field only for CPU utilisation. Annotations contain the rest."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    metrics = spec.pop("metrics", None) or []
    cpu = [metric for metric in metrics if _is_plain_cpu(metric)][:1]
    others = [metric for metric in metrics if metric not in cpu]
    for metric in cpu:
        utilization = metric["resource"]["target"]["averageUtilization"]
        spec["targetCPUUtilizationPercentage"] = utilization
    _put(annotations, _METRICS, others)
    _put(annotations, _BEHAVIOR, spec.pop("behavior", None))
    _put(annotations, _CURRENT, status.pop("currentMetrics", None))
    _put(annotations, _CONDITIONS, status.pop("conditions", None))
    status.setdefault("currentReplicas", 0)
    return _put_together(obj, spec, status, annotations)


def _to_v2(obj: Object) -> Object:
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    metrics = _take(annotations, _METRICS) or []
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        metrics = [cpu, *metrics]
    if metrics:
        spec["metrics"] = metrics
    behavior = _take(annotations, _BEHAVIOR)
    if behavior:
        spec["behavior"] = behavior
    status["currentMetrics"] = _take(annotations, _CURRENT)
    conditions = _take(annotations, _CONDITIONS)
    if conditions:
        status["conditions"] = conditions
    status.pop("currentCPUUtilizationPercentage", None)
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return _put_together(obj, spec, status, annotations)


def _put(annotations: Object, key: str, value: Any) -> None:
    if value:
        annotations[key] = orjson.dumps(value).decode()


def _take(annotations: Object, key: str) -> Any:
    """Remove an annotation and return its JSON value. One that is not JSON stays."""
    text = annotations.get(key)
    if text is None:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    del annotations[key]
    return value


def _put_together(obj: Object, spec: Object, status: Object, annotations: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata, "spec": spec, "status": status}
