"""The permitted changes of a pod: by an update of the pod, and by writes to its subresources.

Follows core validation (ValidatePodUpdate, ValidatePodStatusUpdate, ValidatePodResize,
ValidatePodEphemeralContainersUpdate) and the strategies of pkg/registry/core/pod.
"""

from collections.abc import Callable
from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.calls import core_containers
from inkube.schemas.builtin.strategies import addresses, checks, naming
from inkube.schemas.builtin.strategies.base import keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)\n"
)
_ADDITIONS_ONLY = "existing toleration can not be modified except its tolerationSeconds"
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_RESIZABLE = ("cpu", "memory")
_TERM = "core.NodeSelectorTerm"
_MIRROR = "kubernetes.io/config.mirror"


def keep_in_status(told: Object, old: Object, *, keeps_class: bool = True) -> None:
    """Keep qosClass and observed generations of the old status if the new one omits them, in
    place."""
    if keeps_class and not told.get("qosClass"):
        keep(told, old, "qosClass")
    if not told.get("observedGeneration"):
        keep(told, old, "observedGeneration")
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        generations = known.setdefault(condition.get("type", ""), [])
        generations.append(condition.get("observedGeneration", 0))
    for condition in told.get("conditions") or ():
        generations = known.get(condition.get("type", ""), [])
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _ephemeral(spec: Object, old: Object) -> Object | None:
    made = dict(old)
    keep(made, spec, "ephemeralContainers")
    return made


def _resized(spec: Object, old: Object) -> Object | None:
    """The old spec with new resources; None if the names or order of containers changed."""
    made = dict(old)
    for member in ("containers", "initContainers"):
        new, present = spec.get(member) or [], old.get(member) or []
        if [one.get("name") for one in new] != [one.get("name") for one in present]:
            return None
        if present:
            made[member] = [_with_resources(*pair) for pair in zip(new, present, strict=True)]
    keep(made, spec, "resources")
    return made


def _with_resources(new: Object, old: Object) -> Object:
    made = dict(old)
    for member in ("resources", "resizePolicy"):
        keep(made, new, member)
    return made


PARTS: dict[str, Callable[[Object, Object], Object | None]] = {
    "ephemeralcontainers": _ephemeral,
    "resize": _resized,
}
"""Subresource → a function from the new and the old spec to the spec to store. None keeps the new
spec."""


def validate(obj: Object, old: Object) -> list[FieldError]:
    """The errors of an update of the pod: changes of fields that must not change."""
    spec, before = obj["spec"], old["spec"]
    errors = _annotations(obj, old)
    for member in ("containers", "initContainers"):
        new, present = spec.get(member) or [], before.get(member) or []
        if len(new) != len(present):
            why = "pod updates may not add or remove containers"
            return [*errors, fielderrors.forbidden(f"spec.{member}", why)]
        for index, container in enumerate(new):
            errors += core_containers.blanks(
                container.get("image", ""), f"spec.{member}[{index}].image"
            )
    deadline = spec.get("activeDeadlineSeconds")
    if deadline != before.get("activeDeadlineSeconds"):
        found = _deadline(deadline, before)
        errors += found
        if found and deadline is not None:
            return errors
    errors += _tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    errors += _gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if same(spec, before):
        return errors
    fixed, kept = _fixed_part(spec, before), _fixed_part(before, before)
    if before.get("schedulingGates"):
        errors += _gated(fixed, kept)
    if not same(fixed, kept):
        why = internal.difference(_FIXED, "core.PodSpec", before, _munged(spec, before))
        errors.append(fielderrors.forbidden("spec", why))
    return errors


def _annotations(obj: Object, old: Object) -> list[FieldError]:
    """Errors for changed AppArmor and mirror annotations (ValidatePodSpecificAnnotationUpdates)."""
    new, before = (one["metadata"].get("annotations") or {} for one in (obj, old))
    errors = []
    profile = "container.apparmor.security.beta.kubernetes.io/"
    for key in sorted({*new, *before}):
        if new.get(key) == before.get(key):
            continue
        verb = "remove or update" if key in before else "add"
        place = f"metadata.annotations[{key}]"
        if key.startswith(profile):
            errors.append(fielderrors.forbidden(place, f"may not {verb} AppArmor annotations"))
        elif key == _MIRROR:
            why = f"may not {verb} mirror pod annotation"
            errors.append(fielderrors.forbidden(place, why))
    return errors


def _deadline(value: int | None, before: Object) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    old = before.get("activeDeadlineSeconds")
    if value is None:
        why = "must not update from a positive integer to nil value"
        return [fielderrors.invalid(path, None, why)]
    if not 0 <= value <= 2**31 - 1:
        why = "must be between 0 and 2147483647, inclusive"
        return [fielderrors.invalid(path, value, why)]
    if old is not None and value > old:
        why = "must be less than or equal to previous value"
        return [fielderrors.invalid(path, value, why)]
    return []


def _tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    def identity(toleration: Object) -> Object:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    kept = [identity(toleration) for toleration in new]
    if all(identity(toleration) in kept for toleration in old):
        return []
    return [fielderrors.forbidden("spec.tolerations", _ADDITIONS_ONLY)]


def _gates(new: list[Object], old: list[Object]) -> list[FieldError]:
    """Errors for added scheduling gates (validateOnlyDeletedSchedulingGates)."""
    known = {gate.get("name") for gate in old}
    return [
        fielderrors.forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _fixed_part(spec: Object, before: Object) -> Object:
    """A spec without the fields that can change."""
    free = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
    fixed = {member: value for member, value in spec.items() if member not in free}
    for member in ("containers", "initContainers"):
        if fixed.get(member):
            fixed[member] = [_without_image(container) for container in fixed[member]]
    if fixed.get("affinity"):
        fixed["affinity"] = {**fixed["affinity"]}
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and fixed.get(grace) == 1:
        fixed[grace] = before[grace]
    return fixed


def _without_image(container: Object) -> Object:
    return {member: value for member, value in container.items() if member != "image"}


def _munged(spec: Object, before: Object) -> Object:
    """A spec with the old values of the fields that can change, for the text of the differences."""
    made: Object = {**spec}
    for member in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        keep(made, before, member)
    for member in ("containers", "initContainers"):
        pairs = zip(spec.get(member) or (), before.get(member) or (), strict=True)
        if spec.get(member):
            made[member] = [{**new, "image": old.get("image", "")} for new, old in pairs]
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and made.get(grace) == 1:
        made[grace] = before[grace]
    if before.get("schedulingGates"):
        keep(made, before, "nodeSelector")
        affinity = dict(spec.get("affinity") or {})
        keep(affinity, before.get("affinity") or {}, "nodeAffinity")
        made["affinity"] = affinity or None
    return made


def _gated(fixed: Object, before: Object) -> list[FieldError]:
    """Errors for a gated pod whose selection of nodes changes except by further restrictions.

    Removes nodeSelector and nodeAffinity from both specs, in place.
    """
    errors = []
    new, old = fixed.pop("nodeSelector", None), before.pop("nodeSelector", None) or {}
    if any((new or {}).get(key) != value for key, value in old.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(fielderrors.invalid("spec.nodeSelector", new, why))
    affinities = []
    for one in (fixed, before):
        affinity = one.get("affinity") or {}
        affinities.append(affinity.pop("nodeAffinity", None) or {})
        if not affinity:
            one.pop("affinity", None)
    if affinities[0] != affinities[1]:
        errors += _narrower(*affinities)
    return errors


def _narrower(new: Object, old: Object) -> list[FieldError]:
    """validateNodeAffinityMutation: a change can only add expressions to non-empty terms."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    path = f"spec.affinity.nodeAffinity.{required}.nodeSelectorTerms"
    terms = (old.get(required) or {}).get("nodeSelectorTerms") or []
    if not terms:
        return []
    now = (new.get(required) or {}).get("nodeSelectorTerms")
    if now is None or len(now) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [fielderrors.invalid(path, internal.items(_TERM, now), why)]
    errors = []
    for index, (term, before) in enumerate(zip(now, terms, strict=True)):
        if not before.get("matchExpressions") and not before.get("matchFields"):
            if term.get("matchExpressions") or term.get("matchFields"):
                why = "cannot add to an empty node selector term"
                errors.append(
                    fielderrors.invalid(f"{path}[{index}]", internal.value(_TERM, term), why)
                )
            continue
        for member in ("matchExpressions", "matchFields"):
            parts = term.get(member) or []
            if (before.get(member) or []) != parts[: len(before.get(member) or [])]:
                why = "only additions are allowed (no mutations or deletions)"
                errors.append(
                    fielderrors.invalid(f"{path}[{index}]", internal.value(_TERM, term), why)
                )
                break
    return errors


def validate_ephemeral(obj: Object, old: Object) -> list[FieldError]:
    """The errors of a write to /ephemeralcontainers, which can only add containers."""
    if _MIRROR in (old["metadata"].get("annotations") or {}):
        return [fielderrors.forbidden("", "static pods do not support ephemeral containers")]
    path = "spec.ephemeralContainers"
    known = {one.get("name"): one for one in obj["spec"].get("ephemeralContainers") or ()}
    errors = []
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        shown = f"existing ephemeral containers {gotext.quote(name)} may not be"
        if name not in known:
            errors.append(fielderrors.forbidden(path, f"{shown} removed\n"))
        elif not same(known[name], container):
            told = internal.difference(
                f"{shown} changed\n", "core.EphemeralContainer", container, known[name]
            )
            errors.append(fielderrors.forbidden(path, told))
    return errors


def validate_resize(obj: Object, old: Object, classes: tuple[str, str]) -> list[FieldError]:
    """The errors of a write to /resize, which can change cpu and memory, but not remove them.

    `classes` are the new and the old QoS class.
    """
    spec, before = obj["spec"], old["spec"]
    if _MIRROR in (old["metadata"].get("annotations") or {}):
        return [fielderrors.forbidden("", "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [fielderrors.forbidden("", "windows pods cannot be resized")]
    errors = []
    if classes[0] != classes[1]:
        why = "Pod QOS Class may not change as a result of resizing"
        shown = (obj.get("status") or {}).get("qosClass", "")
        errors.append(fielderrors.invalid("spec", shown, why))
    for member in ("containers", "initContainers"):
        new, present = spec.get(member) or [], before.get(member) or []
        if [one.get("name") for one in new] != [one.get("name") for one in present]:
            why = f"{member} may not be added, removed, renamed or reordered"
            return [*errors, fielderrors.forbidden("spec", why)]
        for index, pair in enumerate(zip(new, present, strict=True)):
            sidecar = pair[1].get("restartPolicy") == "Always"
            if member == "containers" or sidecar:
                errors += _resize(*pair, f"spec.{member}[{index}].resources")
                errors += _only_resizable(*pair, sidecar=sidecar)
            elif not same(*pair):
                why = "resources for non-sidecar init containers are immutable"
                errors.append(fielderrors.forbidden("spec", why))
    return errors


def _resize(new: Object, old: Object, path: str) -> list[FieldError]:
    """validateContainerResize: errors for removed requests or limits."""
    errors = []
    for member in ("limits", "requests"):
        now = (new.get("resources") or {}).get(member) or {}
        gone = sorted(((old.get("resources") or {}).get(member) or {}).keys() - now.keys())
        for name in gone:
            if name in _RESIZABLE:
                why = f"resource {member} cannot be removed"
                errors.append(fielderrors.forbidden(f"{path}.{member}", why))
                break
    return errors


def _only_resizable(new: Object, old: Object, *, sidecar: bool) -> list[FieldError]:
    fixed, before = (_without_resizable(one) for one in (new, old))
    if same(fixed, before):
        return []
    whose = " for sidecar containers" if sidecar else ""
    return [fielderrors.forbidden("spec", f"only cpu and memory resources{whose} are mutable")]


def _without_resizable(container: Object) -> Object:
    resources = {
        member: {
            name: amount
            for name, amount in ((container.get("resources") or {}).get(member) or {}).items()
            if name not in _RESIZABLE
        }
        for member in ("limits", "requests")
    }
    return {**container, "resources": {**(container.get("resources") or {}), **resources}}


def validate_status(obj: Object, old: Object, *, keeps_class: bool = True) -> list[FieldError]:
    """The errors of a write to /status."""
    spec, told, before = obj["spec"], obj.get("status") or {}, old.get("status") or {}
    errors = _annotations(obj, old)
    for index, condition in enumerate(told.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            place = f"metadata.conditions[{index}].Type"
            errors += checks.named(kind, place, names.label_key)
    nominated = told.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        errors += checks.named(nominated, "status.nominatedNodeName", naming.subdomain)
    if keeps_class:
        errors += checks.immutable(told, before, "status.", "qosClass")
    restarts = old["spec"].get("restartPolicy")
    sidecars = {
        one["name"]
        for one in old["spec"].get("initContainers") or ()
        if one.get("restartPolicy") == "Always"
    }
    for member, policy in (
        ("containerStatuses", restarts),
        ("initContainerStatuses", restarts),
        ("ephemeralContainerStatuses", "Never"),
    ):
        skipped = sidecars if member == "initContainerStatuses" else set()
        errors += _transitions(told, before, member, policy, skipped)
    claims = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    errors += _claim_statuses(told.get("resourceClaimStatuses") or [], claims)
    errors += addresses.of_pod(told, "podIP")
    errors += addresses.of_pod(told, "hostIP")
    return errors


def _transitions(
    told: Object, before: Object, member: str, policy: str | None, skipped: set[str]
) -> list[FieldError]:
    """Errors for terminated containers that run again, unless the policy restarts them."""
    if policy == "Always":
        return []
    now = {one.get("name"): one for one in told.get(member) or ()}
    errors = []
    for index, old in enumerate(before.get(member) or ()):
        ended = (old.get("state") or {}).get("terminated")
        if ended is None or (ended.get("exitCode", 0) and policy == "OnFailure"):
            continue
        new = now.get(old.get("name"))
        if new is None or old.get("name") in skipped or (new.get("state") or {}).get("terminated"):
            continue
        why = "may not be transitioned to non-terminated state"
        errors.append(fielderrors.forbidden(f"status.{member}[{index}].state", why))
    return errors


def _claim_statuses(statuses: list[Object], claims: set[Any]) -> list[FieldError]:
    errors = []
    for index, one in enumerate(statuses):
        place = f"status.resourceClaimStatuses[{index}].name"
        if one.get("name") not in claims:
            why = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(fielderrors.invalid(place, one.get("name", ""), why))
        claim = one.get("resourceClaimName")
        if claim is not None:
            errors += checks.named(claim, place, naming.subdomain)
    paths = [f"status.resourceClaimStatuses[{index}].name" for index in range(len(statuses))]
    return errors + checks.duplicates([one.get("name") for one in statuses], paths)
