"""Rules for updates of pods, their statuses and sizes that the table cannot express."""

from collections.abc import Iterator

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import addresses, podqos, podrestarts
from inkube.schemas.builtin.podreferences import MIRROR
from inkube.schemas.builtin.rules.calls import core_pods
from inkube.schemas.builtin.rules.calls.core_containers import APP_ARMOR_KEY
from inkube.schemas.builtin.rules.frames import Frame
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
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_RESIZABLE = ("cpu", "memory")
_TERM = "core.NodeSelectorTerm"
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
"""Fields of a spec that can change, in addition to images and the grace period."""
_GRACE = "terminationGracePeriodSeconds"


# the pod itself


def kept_annotations(value: dict[str, str] | None, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors for changed AppArmor and mirror annotations, and again those for the annotations
    themselves (ValidatePodSpecificAnnotationUpdates)."""
    new, before = value or {}, _annotations_before(frame)
    for key in sorted({*new, *before}):
        if new.get(key) == before.get(key):
            continue
        verb = "remove or update" if key in before else "add"
        if key.startswith(APP_ARMOR_KEY):
            why = f"may not {verb} AppArmor annotations"
            yield fielderrors.forbidden(f"{path}[{key}]", why)
        elif key == MIRROR:
            why = f"may not {verb} mirror pod annotation"
            yield fielderrors.forbidden(f"{path}[{key}]", why)
    yield from core_pods.annotation_errors(new, frame.root.obj["spec"], path)


def _annotations_before(frame: Frame) -> dict[str, str]:
    found: dict[str, str] = _before(frame)["metadata"].get("annotations") or {}
    return found


def _before(frame: Frame) -> Object:
    """Return the pod before the update, which rules for updates always have."""
    return frame.root.old or {}


def _pairs(frame: Frame, member: str) -> tuple[list[Object], list[Object]]:
    """Return the items of a list, and its items before the update."""
    return frame.obj.get(member) or [], (frame.old or {}).get(member) or []


def loses_tolerations(frame: Frame) -> bool:
    """Return whether an update removes or changes tolerations, except their tolerationSeconds."""
    new, before = _pairs(frame, "tolerations")
    kept = [_identity(toleration) for toleration in new]
    return not all(_identity(toleration) in kept for toleration in before)


def _identity(toleration: Object) -> Object:
    return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}


def known_gate(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return an error for an added scheduling gate (validateOnlyDeletedSchedulingGates)."""
    name = value.get("name", "")
    if any(gate.get("name", "") == name for gate in (frame.old or {}).get("schedulingGates") or ()):
        return []
    why = f"only deletion is allowed, but found new scheduling gate '{name}'"
    return [fielderrors.forbidden(f"{path}.name", why)]


def fixed(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return errors for changes of all other fields. A pod with scheduling gates can restrict its
    selection of nodes further."""
    before = frame.old or {}
    if same(value, before):
        return []
    new, old = _fixed_part(value, before), _fixed_part(before, before)
    errors = _gated(new, old) if before.get("schedulingGates") else []
    if not same(new, old):
        why = internal.difference(_FIXED, "core.PodSpec", before, _munged(value, before))
        errors.append(fielderrors.forbidden(path, why))
    return errors


def _fixed_part(spec: Object, before: Object) -> Object:
    """Return a spec without the fields that can change."""
    kept = {member: value for member, value in spec.items() if member not in _FREE}
    for member in ("containers", "initContainers"):
        if kept.get(member):
            kept[member] = [_without_image(container) for container in kept[member]]
    if kept.get("affinity"):
        kept["affinity"] = {**kept["affinity"]}
    if (before.get(_GRACE) or 0) < 0 and kept.get(_GRACE) == 1:
        kept[_GRACE] = before[_GRACE]
    return kept


def _without_image(container: Object) -> Object:
    return {member: value for member, value in container.items() if member != "image"}


def _munged(spec: Object, before: Object) -> Object:
    """Return a spec with the old values of the fields that can change, for the text of the
    differences."""
    made: Object = {**spec}
    for member in _FREE:
        _keep(made, before, member)
    for member in ("containers", "initContainers"):
        pairs = zip(spec.get(member) or (), before.get(member) or (), strict=True)
        if spec.get(member):
            made[member] = [{**new, "image": old.get("image", "")} for new, old in pairs]
    if (before.get(_GRACE) or 0) < 0 and made.get(_GRACE) == 1:
        made[_GRACE] = before[_GRACE]
    if before.get("schedulingGates"):
        _keep(made, before, "nodeSelector")
        affinity = dict(spec.get("affinity") or {})
        _keep(affinity, before.get("affinity") or {}, "nodeAffinity")
        made["affinity"] = affinity or None
    return made


def _gated(fixed: Object, before: Object) -> list[FieldError]:
    """Return errors for a gated pod whose selection of nodes changes except by further
    restrictions.

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
    """Check that a change only adds expressions to non-empty terms
    (validateNodeAffinityMutation)."""
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


def _keep(obj: Object, old: Object, member: str) -> None:
    """Set a member to its old value, or remove it."""
    obj[member] = old.get(member)
    if obj[member] is None:
        del obj[member]


# ephemeral containers


def is_mirror(frame: Frame) -> bool:
    """Return whether the pod is a static pod of a node."""
    return MIRROR in _annotations_before(frame)


def kept_containers(value: list[Object] | None, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors for ephemeral containers that an update removes or changes."""
    known = {one.get("name"): one for one in value or ()}
    for container in _before(frame)["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        shown = f"existing ephemeral containers {gotext.quote(name)} may not be"
        if name not in known:
            yield fielderrors.forbidden(path, f"{shown} removed\n")
        elif not same(known[name], container):
            why = internal.difference(
                f"{shown} changed\n", "core.EphemeralContainer", container, known[name]
            )
            yield fielderrors.forbidden(path, why)


# sizes


def has_own_resources(frame: Frame) -> bool:
    """Return whether the pod as a whole has requests or limits, now or before the update."""
    specs = (frame.root.obj["spec"], _before(frame)["spec"])
    return any(amounts for spec in specs for amounts in (spec.get("resources") or {}).values())


def is_windows(frame: Frame) -> bool:
    """Return whether the pod runs on Windows."""
    return bool((_before(frame)["spec"].get("os") or {}).get("name") == "windows")


def changes_quality(frame: Frame) -> bool:
    """Return whether an update changes the quality of service."""
    before = _before(frame)
    known = (before.get("status") or {}).get("qosClass") or podqos.of_spec(before["spec"])
    return bool(podqos.of_spec(frame.obj["spec"]) != known)


def shows_no_resources(frame: Frame) -> bool:
    """Return whether the first running container has no resources in its status, as on nodes that
    cannot resize pods (isPodResizeRequestSupported)."""
    observed = (_before(frame).get("status") or {}).get("containerStatuses") or ()
    running = [each for each in observed if (each.get("state") or {}).get("running") is not None]
    return bool(running) and running[0].get("resources") is None


def changes_names(member: str, frame: Frame) -> bool:
    """Return whether an update changes the names of containers, or their order."""
    new, before = _pairs(frame, member)
    return [one.get("name") for one in new] != [one.get("name") for one in before]


def _amounts(container: Object | None, member: str) -> dict[str, str]:
    return _members((container or {}).get("resources"), member)


def loses_resources(member: str, frame: Frame) -> bool:
    """Return whether an update removes cpu or memory from requests or limits."""
    gone = _amounts(frame.old, member).keys() - _amounts(frame.obj, member).keys()
    return not gone.isdisjoint(_RESIZABLE)


def lowers_memory(frame: Frame) -> bool:
    """Return whether an update decreases the limit of memory of a container that
    does not restart."""
    new, old = (_amounts(one, "limits").get("memory") for one in (frame.obj, frame.old))
    if new is None or old is None or _restarts(frame.obj):
        return False
    return quantity.parse(new) < quantity.parse(old)


def bounds_memory(frame: Frame) -> bool:
    """Return whether an update adds a limit of memory to a container that does not restart."""
    new, old = (_amounts(one, "limits").get("memory") for one in (frame.obj, frame.old))
    return new is not None and old is None and not _restarts(frame.obj)


def _restarts(container: Object) -> bool:
    policies = {one.get("resourceName"): one for one in container.get("resizePolicy") or ()}
    return bool(policies.get("memory", {}).get("restartPolicy") == "RestartContainer")


def resizable(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return an error if resources of a container other than cpu and memory change."""
    if same(*map(_without_resizable, (value, _old_of(value, "containers", frame)))):
        return []
    return [fielderrors.forbidden(path, "only cpu and memory resources are mutable")]


def init_resizable(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return an error if resources of a sidecar other than cpu and memory change, or any resources
    of another init container."""
    before = _old_of(value, "initContainers", frame)
    if before.get("restartPolicy") == "Always":
        why = "only cpu and memory resources for sidecar containers are mutable"
        kept = same(*map(_without_resizable, (value, before)))
    else:
        why, kept = "resources for non-sidecar init containers are immutable", same(value, before)
    return [] if kept else [fielderrors.forbidden(path, why)]


def _old_of(container: Object, member: str, frame: Frame) -> Object:
    """Return the container with the same name before the update."""
    old = (frame.old or {}).get(member) or ()
    return next(one for one in old if one.get("name") == container.get("name"))


def _without_resizable(container: Object) -> Object:
    resources = container.get("resources")
    fixed = {member: _unresizable(resources, member) for member in ("limits", "requests")}
    return {**container, "resources": {**(resources or {}), **fixed}}


def pod_resources_resized(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return errors for resources of the whole pod that an update removes, and for changes of
    others than cpu and memory (validatePodLevelResourcesResize)."""
    new, old = value.get("resources"), (frame.old or {}).get("resources")
    if new is None and old is not None:
        return [fielderrors.forbidden(f"{path}.resources", "pod-level resources cannot be removed")]
    errors = [
        fielderrors.forbidden(
            f"{path}.resources.{member}", f"pod-level resource {member} cannot be removed"
        )
        for member in ("requests", "limits")
        if _members(old, member).keys() - _members(new, member).keys()
    ]
    fixed = ({m: _unresizable(each, m) for m in ("requests", "limits")} for each in (new, old))
    if not same(*fixed) or not same(*((each or {}).get("claims") for each in (new, old))):
        why = "only cpu and memory resources are mutable at pod-level"
        errors.append(fielderrors.forbidden(path, why))
    return errors


def in_their_order(_value: Object, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors for containers that an update adds, removes, renames or moves."""
    for member in ("containers", "initContainers"):
        new, before = _pairs(frame, member)
        if len(new) != len(before):
            why = f"{member} may not be added or removed on resize"
            yield fielderrors.forbidden(f"{path}.{member}", why)
            continue
        for index, (one, other) in enumerate(zip(new, before, strict=True)):
            if one.get("name") != other.get("name"):
                why = f"{member} may not be renamed or reordered on resize"
                yield fielderrors.forbidden(f"{path}.{member}[{index}].name", why)


def keeps_resources(value: Object, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors for requests and limits of a container that an update removes
    (validateContainerResize)."""
    before = _old_of(value, _list_of(path), frame)
    for member in ("requests", "limits"):
        if _amounts(before, member).keys() - _amounts(value, member).keys():
            why = f"resource {member} cannot be removed"
            yield fielderrors.forbidden(f"{path}.resources.{member}", why)


def resized(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Return an error if anything of a container changes but its cpu and memory."""
    before = _old_of(value, "containers", frame)
    if same(_with_old_resources(value), _with_old_resources(before)):
        return []
    return [fielderrors.forbidden(path, "only cpu and memory resources are mutable")]


def init_resized(value: Object, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors if anything of an init container changes but its cpu and memory, or if its
    resize restarts it, although it is no sidecar."""
    before = _old_of(value, "initContainers", frame)
    if not same(_with_old_resources(value), _with_old_resources(before)):
        why = "only cpu and memory resources for init or sidecar containers are mutable"
        yield fielderrors.forbidden(path, why)
    policies = value.get("resizePolicy") or ()
    restarts = any(one.get("restartPolicy") == "RestartContainer" for one in policies)
    if restarts and value.get("restartPolicy") != "Always" and not same(value, before):
        why = (
            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        )
        yield fielderrors.forbidden(path, why)


def _list_of(path: str) -> str:
    """`spec.containers[0]` → `containers`."""
    return path.rpartition("[")[0].rpartition(".")[2]


def _members(resources: Object | None, member: str) -> dict[str, str]:
    found: dict[str, str] = (resources or {}).get(member) or {}
    return found


def _unresizable(resources: Object | None, member: str) -> dict[str, str]:
    """Return the requests or limits of other resources than cpu and memory."""
    amounts = _members(resources, member)
    return {name: amount for name, amount in amounts.items() if name not in _RESIZABLE}


def _with_old_resources(container: Object) -> Object:
    """Return a container without the cpu and memory of its resources, and without its claims, which
    upstream ignores here (dropCPUMemoryResourcesFromContainer)."""
    made = _without_resizable(container)
    made["resources"].pop("claims", None)
    return made


# statuses


def conditions(value: list[Object], path: str, _frame: Frame) -> Iterator[FieldError]:
    """Yield errors for conditions with a negative generation, or with a type that is not a
    qualified name (validatePodConditions)."""
    for index, one in enumerate(value):
        kind, generation = one.get("type", ""), one.get("observedGeneration", 0)
        if generation < 0:
            place = f"{path}[{index}].observedGeneration"
            yield fielderrors.invalid(place, generation, "must be a non-negative integer")
        if kind not in _SYSTEM_CONDITIONS:
            for why in names.label_key(kind):
                yield fielderrors.invalid(f"{path}[{index}].Type", kind, why)


def is_bound(frame: Frame) -> bool:
    """Return whether the pod had a node before, and its status now nominates one."""
    return bool(_before(frame)["spec"].get("nodeName") and frame.obj.get("nominatedNodeName"))


def ended(
    policies: str, value: list[Object] | None, path: str, frame: Frame
) -> Iterator[FieldError]:
    """Yield errors for terminated containers that run again, unless a policy restarts them
    (ValidateContainerStateTransition). `policies`: `all` if containers can have their own, `some`
    before the gate ContainerRestartRules was on, when only a container that has one shows it."""
    return _transitions(policies, value, path, frame, "containers")


def init_ended(
    policies: str, value: list[Object] | None, path: str, frame: Frame
) -> Iterator[FieldError]:
    """Yield the same errors for init containers, except sidecars."""
    return _transitions(policies, value, path, frame, "initContainers")


def ephemeral_ended(value: list[Object] | None, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield errors for terminated ephemeral containers that run again, because they
    never restart."""
    for index, _ in _running_again(value, path, frame):
        yield _ran_again(path, index)


def _transitions(
    policies: str, value: list[Object] | None, path: str, frame: Frame, member: str
) -> Iterator[FieldError]:
    spec = _before(frame)["spec"]
    if podrestarts.can_restart_all(spec):
        return
    policy = spec.get("restartPolicy", "")
    containers = {one["name"]: one for one in spec.get(member) or ()}
    has_own = policies == "all" or any(one.get("restartPolicy") for one in spec["containers"])
    unknown: Object | None = None if has_own else {}
    for index, old in _running_again(value, path, frame):
        container = containers.get(old.get("name", ""), unknown)
        code = old["state"]["terminated"].get("exitCode", 0)
        if container is None or not podrestarts.action(container, policy, code):
            yield _ran_again(path, index)


def _running_again(
    value: list[Object] | None, path: str, frame: Frame
) -> Iterator[tuple[int, Object]]:
    """Yield the old statuses of containers that were terminated and are not any more, with their
    indexes."""
    now = {one.get("name"): one.get("state") or {} for one in value or ()}
    for index, old in enumerate((frame.old or {}).get(path.rpartition(".")[2]) or ()):
        was = (old.get("state") or {}).get("terminated")
        new = now.get(old.get("name"))
        if was is not None and new is not None and new.get("terminated") is None:
            yield index, old


def _ran_again(path: str, index: int) -> FieldError:
    why = "may not be transitioned to non-terminated state"
    return fielderrors.forbidden(f"{path}[{index}].state", why)


def is_claimed(frame: Frame) -> bool:
    """Return whether the pod has a claim with the name in a claim's status."""
    claims = frame.root.obj["spec"].get("resourceClaims") or ()
    return any(claim.get("name") == frame.obj.get("name", "") for claim in claims)


_UNKNOWN_CONTAINER = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_UNKNOWN_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests "
    "or spec.containers.resources.requests"
)


def extended_claim(value: Object, path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield the errors of the claim that was created for a pod's extended resources
    (validatePodExtendedResourceClaimStatus)."""
    mappings, place = value.get("requestMappings") or [], f"{path}.requestMappings"
    if not mappings:
        yield fielderrors.required(place, "at least one request mapping is required")
    requests = _requests_of_containers(frame.root.obj["spec"])
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        members = ("containerName", "resourceName", "requestName")
        container, resource, request = key = tuple(mapping.get(each, "") for each in members)
        if container not in requests:
            yield fielderrors.invalid(
                f"{place}[{index}].containerName", container, _UNKNOWN_CONTAINER
            )
        elif resource not in requests[container]:
            yield fielderrors.invalid(f"{place}[{index}].resourceName", resource, _UNKNOWN_RESOURCE)
        for why in names.dns1123_label(request):
            yield fielderrors.invalid(f"{path}.requestName", request, why)
        if key in seen:
            for member, text in zip(members, key, strict=True):
                yield fielderrors.duplicate(f"{place}[{index}].{member}", text)
        seen.add(key)
    name = value.get("resourceClaimName", "")
    if not name:
        yield fielderrors.required(f"{path}.resourceClaimName")
    else:
        for why in names.dns1123_subdomain(name):
            yield fielderrors.invalid(f"{path}.resourceClaimName", name, why)


def _requests_of_containers(spec: Object) -> dict[str, dict[str, str]]:
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return {one["name"]: _members(one.get("resources"), "requests") for one in every}


_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_MESSAGE_SIZE = 1024
_NO_CLAIM = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
    "or 'claim:<claimName>' if request is empty"
)
_NO_REQUEST = "must match one of the container's resource requests"


def devices(member: str, value: list[Object], path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield the errors of the devices in statuses of the containers in a member of the spec
    (validateContainerStatusAllocatedResourcesStatus)."""
    containers = frame.root.obj["spec"].get(member) or ()
    known = {one["name"]: one.get("resources") or {} for one in containers}
    for index, status in enumerate(value):
        resources = known.get(status.get("name", ""))
        for at, one in enumerate(status.get("allocatedResourcesStatus") or ()):
            place = f"{path}[{index}].allocatedResourcesStatus[{at}]"
            if resources is not None:
                yield from _device_name(one.get("name", ""), resources, f"{place}.name")
            yield from _health(one.get("resources") or [], f"{place}.resources")


def _device_name(name: str, resources: Object, path: str) -> Iterator[FieldError]:
    is_claim = name.startswith("claim:")
    claims = (
        "claim:" + "/".join(filter(None, (claim.get("name", ""), claim.get("request"))))
        for claim in resources.get("claims") or ()
    )
    if name not in (claims if is_claim else _members(resources, "requests")):
        yield fielderrors.invalid(path, name, _NO_CLAIM if is_claim else _NO_REQUEST)


def _health(value: list[Object], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, one in enumerate(value):
        place, health, message = f"{path}[{index}]", one.get("health", ""), one.get("message")
        if health not in _HEALTH:
            yield fielderrors.not_supported(f"{place}.health", health, _HEALTH)
        if message == "":
            yield fielderrors.required(f"{place}.message", "must be non-empty if specified")
        elif message and len(message.encode()) > _MESSAGE_SIZE:
            yield fielderrors.too_long(f"{place}.message", _MESSAGE_SIZE)
        if one.get("resourceID", "") in seen:
            yield fielderrors.duplicate(f"{place}.resourceID", one.get("resourceID", ""))
        seen.add(one.get("resourceID", ""))


def ips(member: str, value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check `podIP` or `hostIP` of a status with its list (validatePodIPs, validateHostIPs)."""
    return addresses.of_pod(value, member)


def ips_once(member: str, value: Object, _path: str, _frame: Frame) -> Iterator[FieldError]:
    """Yield errors for IPs that a list of a status contains twice."""
    return addresses.repeated(value, member)
