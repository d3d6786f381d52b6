"""Irregular rules of autoscaling: bounds that depend on each other, and one source per metric."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object

_SOURCES = ("object", "external", "pods", "resource", "containerResource")
"""The sources of a metric, in the order of upstream's checks."""


def idles_without_events(frame: Frame) -> bool:
    """Return whether minReplicas is 0 without a metric that can scale up from 0 (Object or
    External)."""
    kinds = {metric.get("type") for metric in frame.obj.get("metrics") or ()}
    return frame.obj.get("minReplicas") == 0 and not kinds & {"Object", "External"}


def target_group(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the target has an API group, unless it is a ReplicationController
    (ValidateAPIVersion). An update can keep an invalid version."""
    why = _version_problem(value)
    before = (frame.old or {}).get("scaleTargetRef") or {}
    if not why or (frame.updates and _version_problem(before)):
        return []
    return [fielderrors.invalid(f"{path}.apiVersion", value.get("apiVersion", ""), why)]


def _version_problem(target: Object) -> str:
    version = target.get("apiVersion", "")
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if split_api_version(version)[0] or target.get("kind") == "ReplicationController":
        return ""
    return "apiVersion must specify API group"


def is_first_source(name: str, frame: Frame) -> bool:
    """Return whether a source is the first one that is set. The other sources are not validated."""
    return next((each for each in _SOURCES if frame.obj.get(each) is not None), "") == name


def other_sources(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the source for the metric's type is set, and no other."""
    kind = value.get("type", "")
    expected = kind[:1].lower() + kind[1:]
    known = tuple(sorted(each[0].upper() + each[1:] for each in _SOURCES))
    errors: list[FieldError] = []
    if kind not in known:
        expected = ""
        errors.append(fielderrors.not_supported(f"{path}.type", kind, known))
    elif value.get(expected) is None:
        why = "must populate information for the given metric source"
        errors.append(fielderrors.required(f"{path}.{expected}", why))
    given = [each for each in _SOURCES if value.get(each) is not None]
    if len(given) == 1:
        return errors
    why = "must populate the given metric source only"
    return errors + [
        fielderrors.forbidden(f"{path}.{each}", why) for each in given if each != expected
    ]


def scaling_rules(behavior: Object) -> None:
    """Set the defaults of GenerateHPAScaleUpRules and GenerateHPAScaleDownRules."""
    up = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    down = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    for member, policies, window in (("scaleUp", up, 0), ("scaleDown", down, None)):
        found = behavior.get(member) or {}
        found.setdefault("selectPolicy", "Max")
        if window is not None:
            found.setdefault("stabilizationWindowSeconds", window)
        if found.get("policies") is None:
            found["policies"] = policies
        behavior[member] = found
