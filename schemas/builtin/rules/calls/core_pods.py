"""Irregular rules of pod specs: those about several fields, or about the metadata."""

import re
from collections import Counter
from collections.abc import Iterator

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import affinity, metadata, podreferences, resourcenames
from inkube.schemas.builtin.podreferences import MIRROR
from inkube.schemas.builtin.rules import formats
from inkube.schemas.builtin.rules.calls import core_requirements
from inkube.schemas.builtin.rules.calls.core_containers import (
    APP_ARMOR_KEY,
    claims_of,
    spec_of,
)
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_VISITED = ("initContainers", "containers", "ephemeralContainers")
"""The lists of containers, in the order of VisitContainersWithPath."""
_MOST_CHARACTERS = 2048
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_IS_SYSCTL = re.compile(_SYSCTL[1:-1])
_LONGEST_SYSCTL = 253
_IPC = ("kernel.sem", "kernel.msg", "kernel.shm", "fs.mqueue.")
_NO_WINDOWS_POD = (
    "appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "seccompProfile",
    "fsGroup", "fsGroupChangePolicy", "sysctls", "shareProcessNamespace", "runAsUser", "runAsGroup",
    "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_OF_SPEC = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})
"""Fields that are in the security context in the internal type, and in the spec in v1."""
_NO_WINDOWS_CONTAINER = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser",
    "runAsGroup",
)  # fmt: skip
_OWN_USERS = "when `hostUsers` is false"
_WINDOWS = "cannot be set for a windows pod"
_MATCH = "must not be specified when labelSelector is not set"


def pod_of(frame: Frame) -> Frame | None:
    """Return the frame of the enclosing pod, or None in a template."""
    found = spec_of(frame).up
    return found if found is not None and not found.prefix else None


def is_static(frame: Frame) -> bool:
    """Return whether the enclosing pod is a node's mirror of a static pod."""
    pod = pod_of(frame)
    return pod is not None and podreferences.is_mirror(pod.obj)


# defaults


def pod(obj: Object) -> None:
    """Set defaults of pods that templates do not have (SetDefaults_Pod). Limits are also
    requests, of containers and of the whole pod."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("enableServiceLinks", True)
    _default_host_ports(spec)
    for member in ("initContainers", "containers"):
        for container in spec.get(member) or ():
            given = container.get("resources") or {}
            if given.get("limits"):
                given["requests"] = {**given["limits"], **(given.get("requests") or {})}
    if spec.get("resources"):
        _default_whole(spec)
    settle_addresses(obj.get("status") or {})


def _default_whole(spec: Object) -> None:
    """Set defaults of the resources of the whole pod (defaultHugePagePodLimits,
    defaultPodRequests): the sums of the containers, then its own limits as requests."""
    given = spec["resources"]
    bounds = dict(given.get("limits") or {})
    for name, total in sorted(_added(spec, "limits").items()):
        if name.startswith(resourcenames.HUGE):
            bounds.setdefault(name, str(total))
    if bounds:
        given["limits"] = bounds
    requests = dict(given.get("requests") or {})
    if not bounds:
        return
    for name, total in sorted(_added(spec, "requests").items()):
        if name in ("cpu", "memory"):
            requests.setdefault(name, str(total))
    for name, amount in bounds.items():
        if name in ("cpu", "memory") or name.startswith(resourcenames.HUGE):
            requests.setdefault(name, amount)
    if requests:
        given["requests"] = requests


def settle_addresses(status: Object) -> None:
    """Keep podIP and the first of podIPs equal. If they differ, podIP is used
    (Convert_v1_PodStatus)."""
    one, many = status.get("podIP") or "", status.get("podIPs") or []
    if one and (not many or many[0].get("ip", "") != one):
        status["podIPs"] = [{"ip": one}]
    elif many and not one:
        status["podIP"] = many[0].get("ip", "")


def account(spec: Object) -> None:
    """Set both serviceAccountName and its deprecated name serviceAccount."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_host_ports(spec: Object) -> None:
    """Set the default of hostPort in the network of the host: the container's port. Templates have
    no such default (DefaultHostNetworkHostPortsInPodTemplates)."""
    if not spec.get("hostNetwork"):
        return
    for member in _VISITED:
        for container in spec.get(member) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def select_by_label_keys(spec: Object, labels: dict[str, str]) -> None:
    """Add the values of a new pod's labels with the given keys to its selectors.

    Follows podStrategy mutatePodAffinity, mutateTopologySpreadConstraints.
    """
    for term in affinity.pod_terms(spec):
        _select(term, "matchLabelKeys", "In", labels)
        _select(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _select(constraint, "matchLabelKeys", "In", labels)


def _select(term: Object, member: str, operator: str, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    made = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for key in term.get(member) or ()
        if key in labels
    ]
    if made:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *made]


# metadata


def annotations(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the annotations that have a meaning for pods (ValidatePodSpecificAnnotations)."""
    given = value.get("annotations") or {}
    return annotation_errors(given, frame.obj.get("spec") or {}, f"{path}.annotations")


def template_metadata(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the labels and annotations of a template. As upstream, the paths do not contain
    `metadata`."""
    place, spec = path.rpartition(".")[0], frame.obj.get("spec") or {}
    errors = metadata.template(value, place)
    given = value.get("annotations") or {}
    return errors + annotation_errors(given, spec, f"{place}.annotations")


def annotation_errors(annotations: dict[str, str], spec: Object, path: str) -> list[FieldError]:
    """Return the errors of the annotations that have a meaning for pods."""
    errors = []
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(fielderrors.invalid(f"{path}[{MIRROR}]", annotations[MIRROR], why))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        place = f"{path}[{_DELETION_COST}]"
        errors.append(fielderrors.invalid(place, cost, "must be a 32bit integer"))
    for key, profile in sorted(annotations.items()):
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            errors += _seccomp(profile, f"{path}.{key}")
    known = {one.get("name") for member in _VISITED for one in spec.get(member) or ()}
    for key, profile in sorted(annotations.items()):
        if key.startswith(APP_ARMOR_KEY):
            errors += _app_armor(key.removeprefix(APP_ARMOR_KEY), profile, f"{path}[{key}]", known)
    return errors


def _is_int32(text: str) -> bool:
    """Return whether a text is an int32 as Go prints it, without a plus sign and leading zeros
    (helper.GetDeletionCostFromPodAnnotations)."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or (digits[0] == "0" and digits != "0"):
        return False
    return -(2**31) <= int(text) < 2**31


def _seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if not profile.startswith("localhost/"):
        return [fielderrors.invalid(path, profile, "must be a valid seccomp profile")]
    local = profile.removeprefix("localhost/")
    problems = formats.FORMATS["descending-path"](local)
    return [fielderrors.invalid(path, local, why) for why in problems]


def _app_armor(name: str, profile: str, path: str, known: set[str | None]) -> list[FieldError]:
    errors = []
    if name not in known:
        errors.append(fielderrors.invalid(path, name, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(
        "localhost/"
    ):
        why = f'invalid AppArmor profile name: "{profile}"'
        errors.append(fielderrors.invalid(path, profile, why))
    return errors


def matching_annotations(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that annotations and fields name the same profiles (ValidatePodCreate)."""
    given = frame.obj["metadata"].get("annotations") or {}
    if not given:
        return []
    return [*seccomp_annotations(value, given, path), *_app_armor_annotations(value, given, path)]


def template_annotations(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that seccomp annotations and fields of a template name the same profiles."""
    given = (frame.obj.get("metadata") or {}).get("annotations") or {}
    return list(seccomp_annotations(value, given, path)) if given else []


def seccomp_annotations(
    spec: Object, annotations: dict[str, str], path: str
) -> Iterator[FieldError]:
    """Check that seccomp annotations match the fields (validateSeccompAnnotationsAndFields)."""
    places = [(_SECCOMP_POD, spec, path)]
    places += [
        (f"{_SECCOMP_CONTAINER}{one.get('name', '')}", one, place)
        for one, place in _visited(spec, path)
    ]
    for key, owner, place in places:
        profile = (owner.get("securityContext") or {}).get("seccompProfile")
        if profile is not None and key in annotations:
            where = f"{place}.securityContext.seccompProfile"
            default = ("runtime/default", "docker/default")
            yield from _mismatch(profile, annotations[key], where, "seccomp", default)


def _app_armor_annotations(
    spec: Object, annotations: dict[str, str], path: str
) -> Iterator[FieldError]:
    """Check that AppArmor annotations match the fields
    (validateAppArmorAnnotationsAndFieldsMatchOnCreate)."""
    if (spec.get("os") or {}).get("name") == "windows":
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    for one, place in _visited(spec, path):
        profile = (one.get("securityContext") or {}).get("appArmorProfile") or whole
        key = f"{APP_ARMOR_KEY}{one.get('name', '')}"
        if profile is not None and key in annotations:
            where = f"{place}.securityContext.appArmorProfile"
            default = ("runtime/default",)
            yield from _mismatch(profile, annotations[key], where, "apparmor", default)


def _mismatch(
    profile: Object, annotation: str, path: str, module: str, default: tuple[str, ...]
) -> Iterator[FieldError]:
    kind = profile.get("type")
    differs = False
    if kind == "Unconfined":
        differs = annotation != "unconfined"
    elif kind == "RuntimeDefault":
        differs = annotation not in default
    elif kind == "Localhost":
        differs = not annotation.startswith("localhost/")
        if not differs and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
            why = f"{module} profile in annotation and field must match"
            yield fielderrors.forbidden(f"{path}.localhostProfile", why)
    if differs:
        why = f"{module} type in annotation and field must match"
        yield fielderrors.forbidden(f"{path}.type", why)


def _visited(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Yield every container with its path."""
    for member in _VISITED:
        for index, container in enumerate(spec.get(member) or ()):
            yield container, f"{path}.{member}[{index}]"


# the pod itself


def only_new(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Refuse fields that only an update can set (ValidatePodCreate)."""
    errors = []
    if value.get("ephemeralContainers"):
        why = "cannot be set on create"
        errors.append(fielderrors.forbidden(f"{path}.ephemeralContainers", why))
    if value.get("nodeName") and value.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(fielderrors.forbidden(f"{path}.nodeName", why))
    return errors


def tokens_without_account(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a pod with projected tokens has a service account (validatePodMetadataAndSpec)."""
    if value.get("serviceAccountName"):
        return []
    why = "must not be specified when serviceAccountName is not set"
    return [
        fielderrors.forbidden(
            f"{path}.volumes[{index}].projected.sources[{at}].serviceAccountToken", why
        )
        for index, volume in enumerate(value.get("volumes") or ())
        for at, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


# claims and resources


def overhead(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the overhead as limits of a container (validateOverhead)."""
    return core_requirements.of_container({"limits": value}, path)


def pod_resources(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that a pod's own resources are enough for its containers (validatePodResources)."""
    spec = frame.obj
    if (spec.get("os") or {}).get("name") == "windows":
        return [fielderrors.forbidden(path, "may not be set for a windows pod")]
    errors = []
    if value.get("claims"):
        why = "claims may not be set for Resources at pod-level"
        errors.append(fielderrors.forbidden(f"{path}.claims", why))
    errors += core_requirements.of_container(value, path, claims_of(spec), whole_pod=True)
    return errors + _consistent(value, spec, path)


def _consistent(resources: Object, spec: Object, path: str) -> list[FieldError]:
    """Compare the pod's own resources with those of its containers
    (validatePodResourceConsistency)."""
    errors = []
    requests, limits_ = resources.get("requests") or {}, resources.get("limits") or {}
    for name, total in sorted(_added(spec, "requests").items()):
        if name in requests and total > quantity.parse(requests[name]):
            why = f"must be greater than or equal to aggregate container requests of {total}"
            place = f"{path}.requests[{name}]"
            errors.append(fielderrors.invalid(place, requests[name], why))
    for name, total in sorted(_added(spec, "limits").items()):
        is_huge = name.startswith("hugepages-")
        if is_huge and name in limits_ and total > quantity.parse(limits_[name]):
            why = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(fielderrors.invalid(f"{path}.limits[{name}]", limits_[name], why))
    for index, container in enumerate(spec.get("containers") or ()):
        own = (container.get("resources") or {}).get("limits") or {}
        for name, amount in sorted(own.items()):
            most = limits_.get(name)
            if most is not None and quantity.parse(amount) > quantity.parse(most):
                why = f"must be less than or equal to pod limits of {most}"
                place = f"{path}.containers[{index}][{name}].limits"
                errors.append(fielderrors.invalid(place, amount, why))
    return errors


def _added(spec: Object, member: str) -> dict[str, Quantity]:
    """Return the sum of the resources of a pod's containers (AggregateContainerRequests)."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, container, member)
    beside: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        alone = dict(beside)
        if container.get("restartPolicy") == "Always":
            _add(total, container, member)
            _add(beside, container, member)
            alone = beside
        else:
            _add(alone, container, member)
        for name, amount in alone.items():
            most[name] = max(most.get(name, amount), amount)
    for name, amount in most.items():
        total[name] = max(total.get(name, amount), amount)
    return total


def _add(total: dict[str, Quantity], container: Object, member: str) -> None:
    for name, amount in ((container.get("resources") or {}).get(member) or {}).items():
        parsed = quantity.parse(amount)
        total[name] = total[name].add(parsed) if name in total else parsed


# networks and names


def ports_of_host(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that ports of the host equal the ports of containers in the network of the host
    (validatePodHostNetworkDeps). Templates can omit the port of the host."""
    whole = pod_of(frame) is not None
    why = "must match `containerPort` when `hostNetwork` is true"
    return [
        fielderrors.invalid(f"{path}.containers[{at}].ports[{index}].hostPort", outer, why)
        for at, container in enumerate(value.get("containers") or ())
        for index, port in enumerate(container.get("ports") or ())
        for outer in (port.get("hostPort", 0),)
        if (whole or outer) and outer != port.get("containerPort", 0)
    ]


def short_searches(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the length of all search paths together (validatePodDNSConfig)."""
    if len(" ".join(value).encode()) <= _MOST_CHARACTERS:
        return []
    why = f"must not have more than {_MOST_CHARACTERS} characters (including spaces) in the "
    return [fielderrors.invalid(path, value, f"{why}search list")]


def search(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check a search path, which can end with a dot, or be one."""
    text = value.removesuffix(".")
    problems = formats.FORMATS["search-domain"](text) if value != "." else []
    return [fielderrors.invalid(path, text, why) for why in problems]


def file_key_volumes(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that variables from files use emptyDir volumes (validateFileKeyRefVolumes)."""
    known = {each.get("name", ""): each for each in value.get("volumes") or ()}
    errors = []
    for container, place in _visited(value, path):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            where = f"{place}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in known:
                errors.append(fielderrors.not_found(where, name))
            elif known[name].get("emptyDir") is None:
                why = "referenced volume must be of type emptyDir"
                errors.append(fielderrors.invalid(where, name, why))
    return errors


# security


def shared_processes(_value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Refuse shareProcessNamespace with hostPID. The path is in the security context, as in the
    internal type."""
    spec = spec_of(frame).obj
    if not spec.get("shareProcessNamespace") or not spec.get("hostPID"):
        return []
    why = "ShareProcessNamespace and HostPID cannot both be enabled"
    return [fielderrors.invalid(f"{path}.shareProcessNamespace", True, why)]


def sysctl(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check one sysctl of validateSysctls. The pod must not share its namespace with the host."""
    name, place, spec = value.get("name", ""), f"{path}.name", spec_of(frame).obj
    taken = frame.facts.setdefault("sysctls", set())
    errors = []
    if not name:
        errors.append(fielderrors.required(place))
    elif len(name) > _LONGEST_SYSCTL or not _IS_SYSCTL.fullmatch(name):
        why = f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTL}"
        errors.append(fielderrors.invalid(place, name, why))
    elif name in taken:
        errors.append(fielderrors.duplicate(place, name))
    taken.add(name)
    dotted = name.replace("/", ".")
    for member, beginning in (("hostNetwork", "net."), ("hostIPC", _IPC)):
        if spec.get(member) and dotted.startswith(beginning):
            why = f"may not be specified when '{member}' is true"
            errors.append(fielderrors.invalid(place, name, why))
            break
    return errors


def no_devices(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Refuse block devices of a pod in its own user namespace (validateHostUsers)."""
    return [
        fielderrors.forbidden(f"{place}.volumeDevices", _OWN_USERS)
        for container, place in _visited(value, path)
        if container.get("volumeDevices")
    ]


def windows_processes(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that either all containers or no containers are host processes, which need the network
    of the host (validateWindowsHostProcessPod)."""
    whole = _host_process(value)
    every = list(_visited(value, path))
    errors: list[FieldError] = []
    count = 0
    for container, place in every:
        own = _host_process(container)
        if whole is not None and own is not None and whole != own:
            said = "true" if whole else "false"
            why = f"pod hostProcess value must be identical if both are specified, was {said}"
            where = f"{place}.securityContext.windowsOptions.hostProcess"
            errors.append(fielderrors.invalid(where, own, why))
        count += bool(whole if own is None else own)
    if count and count != len(every):
        why = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        errors.append(fielderrors.invalid(path, "", why))
    if count and not value.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(fielderrors.invalid(f"{path}.hostNetwork", False, why))
    return errors


def _host_process(owner: Object) -> bool | None:
    options = (owner.get("securityContext") or {}).get("windowsOptions") or {}
    found: bool | None = options.get("hostProcess")
    return found


def operating_system(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the operating system, and refuse fields that it does not have (validateOS)."""
    name = value["os"].get("name", "")
    if name not in ("linux", "windows"):
        return []
    contexts = [
        (container.get("securityContext") or {}, f"{place}.securityContext")
        for container, place in _visited(value, path)
    ]
    own, place = value.get("securityContext") or {}, f"{path}.securityContext"
    if name == "linux":
        why = "windows options cannot be set for a linux pod"
        return [
            fielderrors.forbidden(f"{where}.windowsOptions", why)
            for given, where in [(own, place), *contexts]
            if given.get("windowsOptions") is not None
        ]
    errors = []
    for member in _NO_WINDOWS_POD:
        owner, where = (value, path) if member in _OF_SPEC else (own, place)
        given = owner.get(member)
        if given or (given is not None and member not in ("hostPID", "hostIPC", "sysctls")):
            errors.append(fielderrors.forbidden(f"{where}.{member}", _WINDOWS))
    return errors + [
        fielderrors.forbidden(f"{where}.{member}", _WINDOWS)
        for given, where in contexts
        for member in _NO_WINDOWS_CONTAINER
        if given.get(member) is not None
    ]


# placement


def label_keys(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the keys of labels in a pod affinity term
    (ValidateMatchLabelKeysAndMismatchLabelKeys)."""
    selector = value.get("labelSelector")
    match, mismatch = value.get("matchLabelKeys") or [], value.get("mismatchLabelKeys") or []
    errors: list[FieldError] = []
    for member, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            errors.append(fielderrors.forbidden(f"{path}.{member}", _MATCH))
            continue
        for index, key in enumerate(keys):
            place = f"{path}.{member}[{index}]"
            errors += [fielderrors.invalid(place, key, why) for why in names.label_key(key)]
    places = {key: index for index, key in enumerate(match)}
    seen = set((selector or {}).get("matchLabels") or ())
    for each in (selector or {}).get("matchExpressions") or ():
        key = each.get("key", "")
        if key in places and key in seen:
            why = "exists in both matchLabelKeys and labelSelector"
            errors.append(fielderrors.invalid(f"{path}[{places[key]}]", key, why))
        seen.add(key)
    others = set(mismatch)
    why = "exists in both matchLabelKeys and mismatchLabelKeys"
    return errors + [
        fielderrors.invalid(f"{path}.matchLabelKeys[{index}]", key, why)
        for index, key in enumerate(match)
        if key in others
    ]


def spread_once(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Report a constraint if a later one has its key and action
    (ValidateSpreadConstraintNotRepeat)."""
    spec = spec_of(frame)
    to_come = spec.facts.get("constraints")
    if to_come is None:
        every = spec.obj.get("topologySpreadConstraints") or ()
        to_come = spec.facts["constraints"] = Counter(map(_pair, every))
    pair = _pair(value)
    to_come[pair] -= 1
    if not to_come[pair]:
        return []
    place = f"{path}.{{topologyKey, whenUnsatisfiable}}"
    return [fielderrors.duplicate(place, f"{{{pair[0]}, {pair[1]}}}")]


def _pair(constraint: Object) -> tuple[str, str]:
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")


def domains_that_schedule(value: int, path: str, frame: Frame) -> list[FieldError]:
    """Refuse minDomains unless the constraint is DoNotSchedule."""
    action = frame.obj.get("whenUnsatisfiable", "")
    if action == "DoNotSchedule":
        return []
    why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
    return [fielderrors.invalid(path, value, why)]


def tolerated_value_whole(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the same before 1.32, when the error about a value for `Exists` showed the whole
    toleration."""
    errors = tolerated_value(value, path, frame)
    if value.get("operator") != "Exists":
        return errors
    shown = internal.value("core.Toleration", value)
    return [error._replace(value=shown) for error in errors]


def tolerated_value(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check a toleration's operator with its value. Errors of the value have the path of the
    operator."""
    operator, text, place = value.get("operator", ""), value.get("value", ""), f"{path}.operator"
    if operator in ("", "Equal"):
        problems = names.label_value(text)
        return [fielderrors.invalid(place, text, ";".join(problems))] if problems else []
    if operator == "Exists":
        why = "value must be empty when `operator` is 'Exists'"
        return [fielderrors.invalid(place, text, why)] if text else []
    compares = ("Lt", "Gt") if operator in ("Lt", "Gt") else ()  # the gate of Lt and Gt is off
    return [fielderrors.not_supported(place, operator, ("Equal", "Exists", *compares))]
