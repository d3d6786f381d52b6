"""Irregular rules of apps: selectors of templates, update strategies, volume claims of pods."""

import re
from typing import Any

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.conversion import TEMPLATE_GENERATION
from inkube.schemas.builtin.rules import compiler
from inkube.schemas.builtin.rules.calls import core_podwarnings, meta
from inkube.schemas.builtin.rules.frames import Frame, child
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_QUARTER = "25%"
_READABLE = "selector is readable"
_MANY_DIGITS = 19
"""As many as an int64 has: enough to compare with 0."""
_MAY_CHANGE = (
    "replicas", "ordinals", "template", "updateStrategy",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip

# ---------------------------------------------------------------------- selectors and templates


def is_readable(frame: Frame) -> bool:
    """Return whether the selector has no errors (LabelSelectorAsSelector). A missing selector has
    none."""
    known: bool | None = frame.facts.get(_READABLE)
    if known is None:
        known = frame.facts[_READABLE] = meta.is_readable(frame.obj.get("selector"))
    return known


def selects_all(frame: Frame) -> bool:
    """Return whether the selector exists, but has no requirements."""
    selector = frame.obj.get("selector")
    return selector is not None and not any(selector.values())


def selected(template: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the selector matches the labels of the pod template. A missing selector matches
    none."""
    selector, labels = frame.obj.get("selector"), (template.get("metadata") or {}).get("labels")
    if selector is not None and selectors.selects(selector, labels or {}):
        return []
    why = "`selector` does not match template `labels`"
    return [fielderrors.invalid(f"{path}.metadata.labels", labels, why)]


def template_with_claims(template: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check a template with the volumes of the volume claim templates before its own ones of other
    names, and without the subdomain and host name, which the controller replaces."""
    spec = {**(template.get("spec") or {})}
    spec.pop("subdomain", None)
    spec.pop("hostname", None)
    claims = frame.obj.get("volumeClaimTemplates") or ()
    names = dict.fromkeys((claim.get("metadata") or {}).get("name", "") for claim in claims)
    if names:
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        own = [each for each in spec.get("volumes") or () if each.get("name", "") not in names]
        spec["volumes"] = [*added, *own]
    template = {**template, "spec": spec}
    found = compiler.rules("core.v1.PodTemplateSpec/stateful", "", frame.minor)
    old = (frame.old or {}).get("template")
    errors: list[FieldError] = found.run(child(template, f"{path}.", old, frame))
    return errors


# ------------------------------------------------------------------------ strategies of updates


def quarters(strategy: Object) -> None:
    """Set the default of maxUnavailable and maxSurge: 25%."""
    rolling = _rolling(strategy)
    for member in ("maxUnavailable", "maxSurge"):
        if rolling.get(member) is None:
            rolling[member] = _QUARTER


def one_at_a_time(strategy: Object) -> None:
    """Set the defaults of a DaemonSet's rolling update: maxUnavailable 1, maxSurge 0. Without such
    updates, the numbers that a rolling update lacks are 0, as the internal type has them."""
    rolls = strategy.get("type") == "RollingUpdate"
    if not rolls and strategy.get("rollingUpdate") is None:
        return
    rolling = _rolling(strategy)
    for member, value in (("maxUnavailable", int(rolls)), ("maxSurge", 0)):
        if rolling.get(member) is None:
            rolling[member] = value


def partition(strategy: Object) -> None:
    """Set the default partition 0, so that an update changes all pods."""
    rolling = _rolling(strategy)
    if rolling.get("partition") is None:
        rolling["partition"] = 0


def _rolling(strategy: Object) -> Object:
    if strategy.get("rollingUpdate") is None:
        strategy["rollingUpdate"] = {}
    found: Object = strategy["rollingUpdate"]
    return found


def deployment_strategy(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Report an unknown type of strategy. The error shows the whole strategy."""
    shown = internal.value("apps.DeploymentStrategy", value)
    return [fielderrors.not_supported(path, shown, ("Recreate", "RollingUpdate"))]


def daemonset_strategy(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Report an unknown type of update strategy of a DaemonSet. The error shows the whole
    strategy."""
    shown = internal.value("apps.DaemonSetUpdateStrategy", value)
    return [fielderrors.not_supported(path, shown, ("RollingUpdate", "OnDelete"))]


def moves_nothing(frame: Frame) -> bool:
    """Return whether both maxUnavailable and maxSurge are 0."""
    return not _count(frame.obj, "maxUnavailable") and not _count(frame.obj, "maxSurge")


def _count(rolling: Object, member: str) -> int:
    """Return a number or the number of percent; 0 for other text (getIntOrPercentValue)."""
    value = rolling.get(member) or 0
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    is_number = re.fullmatch("[0-9]+" if value != digits else "[+-]?[0-9]+", digits, re.ASCII)
    return int(digits[:_MANY_DIGITS]) if is_number else 0


def one_way(rolling: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that exactly one of maxUnavailable and maxSurge of a DaemonSet is not 0."""
    gone, more = (_count(rolling, member) for member in ("maxUnavailable", "maxSurge"))
    if gone and more:
        why = "may not be set when maxUnavailable is non-zero"
        return [fielderrors.invalid(f"{path}.maxSurge", rolling["maxSurge"], why)]
    if not gone and not more:
        why = "cannot be 0 when maxSurge is 0"
        return [fielderrors.required(f"{path}.maxUnavailable", why)]
    return []


# ----------------------------------------------------------------------------------- counters


# ------------------------------------------------------------------- stateful sets, revisions


def claims(spec: Object) -> None:
    """Set apiVersion and kind of volume claim templates, and the phase Pending."""
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        status = claim.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"


def template_generation(obj: Object) -> None:
    """Set the annotation with the generation of a DaemonSet's template. The field manager of the
    create owns it, because the conversion to v1 writes it
    (Convert_apps_DaemonSet_To_v1_DaemonSet)."""
    meta = obj.setdefault("metadata", {})
    if TEMPLATE_GENERATION not in (meta.get("annotations") or {}):
        meta["annotations"] = {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: "0"}


def statefulset_kept(also: str, value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Report all changes of immutable fields as one error. `also`: one more field that can
    change."""
    spec, before = (
        {k: v for k, v in (each.get("spec") or {}).items() if k not in (*_MAY_CHANGE, also)}
        for each in (value, frame.old or {})
    )
    if same(spec, before):
        return []
    why = (
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"
    )
    return [fielderrors.forbidden("spec", why)]


def data(value: Any, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a new ControllerRevision has data, and that it is an object."""
    if value is None:
        return [fielderrors.required(path, "data is mandatory")]
    if not isinstance(value, dict):
        return [fielderrors.required(path, "data must be a valid JSON object")]
    return []


def whole_storage(value: list[Object], path: str, frame: Frame) -> list[str]:
    """Return warnings about storage of claim templates that is not a whole number of bytes. The
    path differs between creates and updates, as upstream."""
    inner = ".Spec" if frame.updates else ""
    found: list[str] = []
    for index, claim in enumerate(value):
        requests = (claim["spec"].get("resources") or {}).get("requests") or {}
        place = f"{path}[{index}]{inner}.resources.requests"
        found += core_podwarnings.fractions(requests, "storage", place)
    return found
