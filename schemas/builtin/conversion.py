"""Built-in kinds with two shapes: events of both groups, autoscalers v1 and v2; and annotations
that internal types do not have.

One shape is stored, the first one in `STORED`, and `convert` returns the other. All other kinds
have one version, and stay as they are. Follows pkg/apis/events/v1/conversion.go; `autoscalers` has
the other kind.
"""

from inkube.schemas import lazy
from inkube.schemas.objects import Object

STORED = {"Event": "v1", "HorizontalPodAutoscaler": "autoscaling/v2"}
"""The apiVersion in which objects of these kinds are stored."""
_AUTOSCALERS = ("inkube.schemas.builtin.autoscalers", "convert")
"""Loaded with the first autoscaler of v1: a start needs none."""
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


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation of a DaemonSet that is a field of its internal type."""
_WRITTEN_TO_V1 = {
    ("apps/v1", "DaemonSet"): frozenset({TEMPLATE_GENERATION}),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): frozenset(
        f"autoscaling.alpha.kubernetes.io/{name}"
        for name in ("metrics", "current-metrics", "behavior", "conditions")
    ),
}
"""Annotations that only exist in v1, where they are made from fields of the internal type
(pkg/apis/apps/v1/conversion.go, pkg/apis/autoscaling/v1/conversion.go)."""


def internal_metadata(obj: Object) -> Object:
    """Return the metadata of an object in the form of the internal type. It can be shared."""
    metadata: Object = obj["metadata"]
    written = _WRITTEN_TO_V1.get((obj.get("apiVersion", ""), obj.get("kind", "")))
    if not written or not metadata.get("annotations"):
        return metadata
    annotations = {k: v for k, v in metadata["annotations"].items() if k not in written}
    metadata = {**metadata, "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    return metadata


def convert(obj: Object, api_version: str) -> Object:
    """Return the object in another apiVersion of its kind, or the same object if nothing
    changes."""
    if obj.get("apiVersion") == api_version:
        return obj
    kind = (obj.get("kind"), api_version)
    if kind in (("Event", "v1"), ("Event", "events.k8s.io/v1")):
        return _event(obj, api_version)
    if kind[0] == "HorizontalPodAutoscaler" and api_version.startswith("autoscaling/"):
        made = lazy.named(*_AUTOSCALERS)(obj, api_version)
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
