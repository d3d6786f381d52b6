"""Irregular rules of containers: fields that depend on their pod or on each other, and mounts."""

import re
from collections.abc import Collection
from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin import naming
from inkube.schemas.builtin.rules import formats
from inkube.schemas.builtin.rules.calls import core_requirements
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object

APP_ARMOR_KEY = "container.apparmor.security.beta.kubernetes.io/"
"""The prefix of the annotations with a container's AppArmor profile."""
APP_ARMOR_PROFILES = {"runtime/default": "RuntimeDefault", "unconfined": "Unconfined"}
"""Values of such annotations → types of profiles."""
_PORTS = "must be between 1 and 65535, inclusive"
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_SOURCE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
    "`fileKeyRef`"
)
_TOO_MANY = "may not have more than one field specified at a time"
_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
_RESTARTS = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_RULE_OPERATORS = ("In", "NotIn")
_MOST_RULES, _MOST_CODES = 20, 255
_NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
"""Fields that ephemeral containers cannot have, in the order of the struct."""
_EPHEMERAL = "cannot be set for an Ephemeral Container"
_BLOCKS = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USERS = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_PATH = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = (
    rf"(?:localhost|(?=[^/]*[.:A-Z\[])(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])"
    "(?::[0-9]+)?)"
)
_IMAGE = re.compile(
    rf"(?P<host>{_HOST}/)?(?P<path>{_PATH}(?:/{_PATH})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
"""The form of a reference to an image (distribution/reference)."""
_LONGEST_REPOSITORY = 255
_SIGNALS = frozenset(
    f"SIG{name}"
    for name in (
        "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT",
        "KILL", "PIPE", "POLL", "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM",
        "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ",
        "RTMIN", "RTMAX", *(f"RTMIN+{n}" for n in range(1, 16)),
        *(f"RTMAX-{n}" for n in range(1, 15)),
    )
)  # fmt: skip
_WINDOWS_SIGNALS = frozenset({"SIGKILL", "SIGTERM"})


def spec_of(frame: Frame) -> Frame:
    """Return the frame of the enclosing PodSpec, which has a dnsPolicy since defaulting."""
    found = frame.outer("dnsPolicy")
    assert found is not None, "containers stand in the spec of a pod"
    return found


def pull_policy(container: Object) -> str:
    """Return the default pull policy of a container's image."""
    return policy_of(container.get("image", ""))


def policy_of(image: str) -> str:
    """Return Always for the tag `latest` or without a tag and digest, else IfNotPresent, also for
    invalid references."""
    found = _IMAGE.fullmatch(image)
    if found is None or len(_repository(found)) > _LONGEST_REPOSITORY:
        return "IfNotPresent"
    tag, digest = found["tag"], found["digest"]
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"


def _repository(image: re.Match[str]) -> str:
    """Return the repository path. Without a host and a folder, it is in Docker's library."""
    path = image["path"]
    return path if image["host"] or "/" in path else f"library/{path}"


# names and ports


def name_once(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that no earlier container has the same name."""
    return _once(value, path, spec_of(frame).facts.setdefault("names", set()))


def init_name_once(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that no regular container and no earlier init container has the same name."""
    spec = spec_of(frame)
    taken = spec.facts.get("init names")
    if taken is None:
        taken = spec.facts["init names"] = _names(spec.obj, "containers")
    return _once(value, path, taken)


def _once(value: str, path: str, taken: set[str]) -> list[FieldError]:
    if value in taken:
        return [fielderrors.duplicate(path, value)]
    taken.add(value)
    return []


def _names(spec: Object, *members: str) -> set[str]:
    return {each.get("name", "") for member in members for each in spec.get(member) or ()}


def ephemeral_name_once(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that no other container has the same name, and that the target is not an ephemeral
    container."""
    spec = spec_of(frame)
    others = spec.facts.get("other names")
    if others is None:
        others = spec.facts["other names"] = _names(spec.obj, "containers", "initContainers")
        spec.facts["all names"] = set(others)
    errors = _once(value.get("name", ""), f"{path}.name", spec.facts["all names"])
    target = value.get("targetContainerName")
    if target and target not in others:
        errors.append(fielderrors.not_found(f"{path}.targetContainerName", target))
    return errors


def only_ephemeral(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Refuse fields that ephemeral containers cannot have (validateEphemeralContainers)."""
    errors = [
        fielderrors.forbidden(f"{path}.{member}", _EPHEMERAL)
        for member in _NOT_EPHEMERAL
        if value.get(member)
    ]
    for at, mount in enumerate(value.get("volumeMounts") or ()):
        errors += [
            fielderrors.forbidden(f"{path}.volumeMounts[{at}].{member}", _EPHEMERAL)
            for member in ("subPath", "subPathExpr")
            if mount.get(member)
        ]
    return errors


def port_name(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check the name of a port, and that it is unique in its container."""
    errors = [fielderrors.invalid(path, value, why) for why in naming.port_name(value)]
    assert frame.up is not None, "ports stand in containers"
    return errors or _once(value, path, frame.up.facts.setdefault("ports", set()))


def host_ports(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check that no two containers use the same port of the host (checkHostPortConflicts)."""
    taken: set[str] = set()
    return [
        error
        for index, container in enumerate(value)
        for error in _conflicts(container, f"{path}[{index}]", taken)
    ]


def own_host_ports(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that an init container does not use a port of the host twice. The path has the index 0,
    because upstream checks each init container as a list of one."""
    return _conflicts(value, f"{path.rpartition('[')[0]}[0]", set())


def _conflicts(container: Object, path: str, taken: set[str]) -> list[FieldError]:
    errors = []
    for at, port in enumerate(container.get("ports") or ()):
        if port.get("hostPort"):
            shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            errors += _once(shown, f"{path}.ports[{at}].hostPort", taken)
    return errors


# variables


def one_source(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that a variable has a value or exactly one source (validateEnvVarValueFrom)."""
    given = sum(1 for source in _SOURCES if value.get(source) is not None)
    if not given:
        return [fielderrors.invalid(path, "", _ONE_SOURCE)]
    if frame.obj.get("value"):
        why = "may not be specified when `value` is not empty"
        return [fielderrors.invalid(path, "", why)]
    return [fielderrors.invalid(path, "", _TOO_MANY)] if given > 1 else []


def one_list_of_variables(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that exactly one of the two sources is set. The path is the whole list's
    (ValidateEnvFrom)."""
    given = sum(1 for member in ("configMapRef", "secretRef") if value.get(member) is not None)
    if given == 1:
        return []
    why = _TOO_MANY if given else "must specify one of: `configMapRef` or `secretRef`"
    return [fielderrors.invalid(path.rpartition("[")[0], "", why)]


# mounts and devices


def mounts(value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Check the volume mounts of a container (ValidateVolumeMounts). As upstream, some paths have
    no index."""
    known = spec_of(frame).facts.get("volumes", {})
    container = frame.obj
    devices = {each.get("name"): each.get("devicePath") for each in _devices_of(container)}
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, mount in enumerate(value):
        place = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        if name not in known:
            errors.append(fielderrors.not_found(f"{place}.name", name))
        if not target:
            errors.append(fielderrors.required(f"{place}.mountPath"))
        if target in taken:
            errors.append(fielderrors.invalid(f"{place}.mountPath", target, "must be unique"))
        taken.add(target)
        if name in devices:
            why = "must not already exist in volumeDevices"
            errors.append(fielderrors.invalid(f"{place}.name", name, why))
        if target in devices.values():
            why = "must not already exist as a path in volumeDevices"
            errors.append(fielderrors.invalid(f"{place}.mountPath", target, why))
        errors += _part_of_volume(mount, known, path, place)
        errors += _propagation(mount, container, path)
    return errors


def _devices_of(container: Object) -> list[Object]:
    return container.get("volumeDevices") or []


def _part_of_volume(mount: Object, known: Object, path: str, place: str) -> list[FieldError]:
    part, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    errors: list[FieldError] = []
    if expression and (known.get(mount.get("name", "")) or {}).get("image") is not None:
        why = "not allowed in image volume sources"
        errors.append(fielderrors.invalid(f"{place}.subPathExpr", expression, why))
    errors += _descending(part, f"{path}.subPath")
    if expression and part:
        why = "subPathExpr and subPath are mutually exclusive"
        errors.append(fielderrors.invalid(f"{place}.subPathExpr", expression, why))
    return errors + _descending(expression, f"{path}.subPathExpr")


def _descending(text: str, path: str) -> list[FieldError]:
    check = formats.FORMATS["descending-path"]
    return [fielderrors.invalid(path, text, why) for why in check(text)]


def _propagation(mount: Object, container: Object, path: str) -> list[FieldError]:
    mode, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    errors: list[FieldError] = []
    if mode is not None and mode not in _PROPAGATION:
        errors.append(fielderrors.not_supported(f"{path}.mountPropagation", mode, _PROPAGATION))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(fielderrors.forbidden(f"{path}.mountPropagation", why))
    place = f"{path}.recursiveReadOnly"
    if read_only is not None and read_only not in _READ_ONLY:
        errors.append(fielderrors.not_supported(place, read_only, _READ_ONLY))
    elif read_only in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            why = "may only be specified when readOnly is true"
            errors.append(fielderrors.forbidden(place, why))
        if mode not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            errors.append(fielderrors.forbidden(place, why))
    return errors


def devices(value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Check a container's block devices: their claims, names and paths (ValidateVolumeDevices)."""
    known = spec_of(frame).facts.get("volumes", {})
    mounted = {m.get("name"): m.get("mountPath") for m in frame.obj.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    errors: list[FieldError] = []
    for index, device in enumerate(value):
        name, target = device.get("name", ""), device.get("devicePath", "")
        problems = _device_names(name, known, names)
        place, where = f"{path}[{index}].name", f"{path}[{index}].devicePath"
        if not name:
            errors.append(fielderrors.required(place))
        errors += [fielderrors.invalid(place, name, why) for why in problems]
        if name not in known:
            errors.append(fielderrors.not_found(place, name))
        if not target:
            errors.append(fielderrors.required(where))
        if target in paths:
            errors.append(fielderrors.invalid(where, target, "must be unique"))
        if ".." in target.split("/"):
            errors.append(fielderrors.invalid(where, target, "can not contain backsteps ('..')"))
        else:
            paths.add(target)
        if name in mounted:
            why = "must not already exist in volumeMounts"
            errors.append(fielderrors.invalid(place, name, why))
        if target in mounted.values():
            why = "must not already exist as a path in volumeMounts"
            errors.append(fielderrors.invalid(where, target, why))
        if name:
            names.add(name)
    return errors


def _device_names(name: str, known: dict[str, Object], taken: set[str]) -> list[str]:
    problems = ["must be unique"] if name in taken else []
    volume = known.get(name)
    if volume is not None and not {"persistentVolumeClaim", "ephemeral"} & volume.keys():
        problems.append(_BLOCKS)
    return problems


# resources


def resources(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the resources of a container (ValidateContainerResourceRequirements)."""
    return core_requirements.of_container(value, path, claims_of(spec_of(frame).obj))


def claims_of(spec: Object) -> list[str]:
    """Return the names of a pod's claims to devices."""
    return [each["name"] for each in spec.get("resourceClaims") or () if each.get("name")]


def resize(value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Check the resize policies of a container (validateResizePolicy). As upstream, most errors
    have the path of the whole list."""
    errors: list[FieldError] = []
    never = spec_of(frame).obj.get("restartPolicy") == "Never"
    seen: set[str] = set()
    for index, each in enumerate(value):
        name, policy = each.get("resourceName", ""), each.get("restartPolicy", "")
        errors += _once(name, f"{path}[{index}]", seen)
        errors += _chosen(name, path, ("cpu", "memory"))
        errors += _chosen(policy, path, ("NotRequired", "RestartContainer"))
        if never and policy != "NotRequired":
            why = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            errors.append(fielderrors.invalid(path, policy, why))
    return errors


def _chosen(value: str, path: str, choices: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [fielderrors.required(path)]
    return [] if value in choices else [fielderrors.not_supported(path, value, choices)]


# restarts and life


def restarts_at_start(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the same for an init container before 1.36, when one that always restarts could not
    have rules."""
    if value.get("restartPolicy") != "Always" or not value.get("restartPolicyRules"):
        return restarts("Restart", value, path, frame)
    why = "restartPolicyRules are not allowed for init containers with restart policy Always"
    return [fielderrors.forbidden(f"{path}.restartPolicyRules", why)]


def restarts(actions: str, value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the restart policy of a container and its rules (validateContainerRestartPolicy).
    `actions`: those that are possible, joined by `+`. Before 1.36, the gate
    RestartAllContainersOnContainerExits was off."""
    policy, rules = value.get("restartPolicy"), value.get("restartPolicyRules") or []
    errors: list[FieldError] = []
    place = f"{path}.restartPolicy"
    if policy is None and rules:
        why = "must specify restartPolicy when restart rules are used"
        errors.append(fielderrors.required(place, why))
    elif policy is not None and policy not in _RESTARTS:
        errors.append(fielderrors.not_supported(place, policy, _RESTARTS))
    if len(rules) > _MOST_RULES:
        errors.append(fielderrors.too_long(f"{path}.restartPolicyRules", _MOST_RULES))
    for index, rule in enumerate(rules):
        errors += _restart_rule(rule, f"{path}.restartPolicyRules[{index}]", actions.split("+"))
    return errors


def _restart_rule(rule: Object, path: str, actions: Collection[str]) -> list[FieldError]:
    """Check a rule. The error for its action lists all actions, also those that are not
    possible."""
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    errors = []
    if action not in actions:
        errors.append(fielderrors.not_supported(f"{path}.action", action, _RULE_ACTIONS))
    if codes is None:
        return [*errors, fielderrors.required(f"{path}.exitCodes", "must be specified")]
    operator = codes.get("operator", "")
    if operator not in _RULE_OPERATORS:
        place = f"{path}.exitCodes.operator"
        errors.append(fielderrors.not_supported(place, operator, _RULE_OPERATORS))
    if len(codes.get("values") or ()) > _MOST_CODES:
        errors.append(fielderrors.too_long(f"{path}.exitCodes.values", _MOST_CODES))
    return errors


def within_grace_period(least: str, value: int, path: str, frame: Frame) -> list[FieldError]:
    """Check that a hook sleeps at most for the pod's grace period (validateSleepAction)."""
    grace = spec_of(frame).obj.get("terminationGracePeriodSeconds")
    if grace is None or int(least) <= value <= grace:
        return []
    why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [fielderrors.invalid(path, value, why)]


def stop_signal(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that the operating system of the pod supports a stop signal (validateStopSignal)."""
    system = spec_of(frame).obj.get("os")
    if system is None:
        why = "may not be set for containers with empty `spec.os.name`"
        return [fielderrors.forbidden(path, why)]
    known = _WINDOWS_SIGNALS if system.get("name") == "windows" else _SIGNALS
    return [] if value in known else [fielderrors.not_supported(path, value, sorted(known))]


def port(value: Any, path: str, _frame: Frame) -> list[FieldError]:
    """Check the number or the name of a port (ValidatePortNumOrName)."""
    if isinstance(value, str):
        return [fielderrors.invalid(path, value, why) for why in naming.port_name(value)]
    number = value or 0
    return [] if 1 <= number <= 65535 else [fielderrors.invalid(path, number, _PORTS)]


def header_names(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check the names of HTTP headers. Errors have the path of the whole list."""
    return [
        fielderrors.invalid(path, name, why)
        for header in value
        for name in (header.get("name", ""),)
        for why in naming.http_header(name)
    ]


# security


def escalation(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Refuse settings that contradict allowPrivilegeEscalation: false (ValidateSecurityContext)."""
    if value.get("allowPrivilegeEscalation") is not False:
        return []
    forbids = "cannot set `allowPrivilegeEscalation` to false and"
    problems = [f"{forbids} `privileged` to true"] if value.get("privileged") else []
    added = (value.get("capabilities") or {}).get("add") or ()
    problems += [f"{forbids} `capabilities.Add` CAP_SYS_ADMIN"] * added.count("CAP_SYS_ADMIN")
    shown = internal.value("core.SecurityContext", value) if problems else None
    return [fielderrors.invalid(path, shown, why) for why in problems]


def default_proc_mounts(spec: Object, old: Object | None) -> None:
    """Set each procMount to Default, unless the old pod has another one
    (dropDisabledProcMountField)."""
    if any(context["procMount"] != "Default" for context in _proc_mounts(old or {})):
        return
    for context in _proc_mounts(spec):
        context["procMount"] = "Default"


def _proc_mounts(spec: Object) -> list[Object]:
    """Return the security contexts of containers that have a procMount."""
    contexts = [
        container.get("securityContext") or {}
        for member in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(member) or ()
    ]
    return [context for context in contexts if context.get("procMount") is not None]


def app_armor_of(annotation: str) -> Object | None:
    """Return the profile that an annotation names, or None."""
    if annotation in APP_ARMOR_PROFILES:
        return {"type": APP_ARMOR_PROFILES[annotation]}
    local = annotation.removeprefix("localhost/")
    if local in ("", annotation):
        return None
    return {"type": "Localhost", "localhostProfile": local}


def app_armor_warning(path: str) -> str:
    """Return the warning about an AppArmor annotation."""
    return f'{path}: deprecated since v1.30; use the "appArmorProfile" field instead'


def windows_user(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check a Windows user name, with an optional domain."""
    return [fielderrors.invalid(path, value, f"runAsUserName{why}") for why in _user(value)]


def _user(value: str) -> list[str]:
    if not value:
        return [" cannot be an empty string"]
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        return [" cannot contain control characters"]
    domain, backslash, user = value.partition("\\") if "\\" in value else ("", "", value)
    if "\\" in user:
        return [" cannot contain more than one backslash"]
    problems = []
    if len(domain.encode()) >= _LONGEST_DOMAIN:
        problems.append(f"'s Domain length must be under {_LONGEST_DOMAIN} characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user.encode()) > _LONGEST_USER:
        problems.append(f"'s User length must not be longer than {_LONGEST_USER} characters")
    if user and not user.strip(". "):
        problems.append("'s User cannot contain only periods or spaces")
    if _NOT_IN_USERS.search(user):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems
