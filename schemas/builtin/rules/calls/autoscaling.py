"""What is irregular in autoscaling: bounds that depend on each other, a metric's one source."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin import resourcenames
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object

_SOURCES = ("object", "external", "pods", "resource", "containerResource")
"""In the order in which upstream looks at them."""


def was_at_zero(frame: Frame) -> bool:
    """Whether an update leaves the least number of replicas at 0."""
    return frame.old is not None and frame.old.get("minReplicas") == 0


def below_least(frame: Frame) -> bool:
    """Whether the most replicas are fewer than the least."""
    least: int = frame.obj.get("minReplicas", 1)
    most: int = frame.obj.get("maxReplicas", 0)
    return most < least


def idles_without_events(frame: Frame) -> bool:
    """Whether nothing would tell when to come back from no replicas."""
    kinds = {metric.get("type") for metric in frame.obj.get("metrics") or ()}
    return frame.obj.get("minReplicas") == 0 and not kinds & {"Object", "External"}


def target_group(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """ValidateAPIVersion: only a ReplicationController is of the core group. What an update leaves
    as it was may stay."""
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
    """Whether a source is the first that is there: the others are not judged."""
    return next((each for each in _SOURCES if frame.obj.get(each) is not None), "") == name


def other_sources(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """The type's source has to be there, and no other."""
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


def resource_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Of containers."""
    return resourcenames.check_of_container(value, path)


def scaling_rules(behavior: Object) -> None:
    """GenerateHPAScaleUpRules, GenerateHPAScaleDownRules."""
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
