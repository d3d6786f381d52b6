"""Security contexts of pods and containers, and what pods of an operating system may say.

Follows core validation ValidateSecurityContext, validatePodSpecSecurityContext, validateWindows,
validateLinux, validateHostUsers.
"""

import re

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object

_IDS = "must be between 0 and 2147483647, inclusive"
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_MAX_SYSCTL = 253
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE = 4095
_GO_MEMBERS = (
    "capabilities", "privileged", "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup",
    "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount",
    "seccompProfile", "appArmorProfile",
)  # fmt: skip
_IPC = ("kernel.sem", "kernel.msg", "kernel.shm", "fs.mqueue.")
_NO_WINDOWS_POD = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy",
    "sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)  # fmt: skip
_NO_WINDOWS_CONTAINER = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser",
    "runAsGroup",
)  # fmt: skip
_WINDOWS = "cannot be set for a windows pod"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def of_container(given: Object | None, path: str, *, host_users: bool) -> list[FieldError]:
    """ValidateSecurityContext."""
    if given is None:
        return []
    errors = _ids(given, path, "runAsUser", "runAsGroup")
    mount = given.get("procMount")
    if mount is not None:
        errors += checks.one_of(mount, f"{path}.procMount", ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            why = "`hostUsers` must be false to use `Unmasked`"
            errors.append(fielderrors.invalid(f"{path}.procMount", mount, why))
    errors += seccomp(given.get("seccompProfile"), f"{path}.seccompProfile")
    if given.get("allowPrivilegeEscalation") is False:
        shown = fielderrors.Verbatim(_shown(given))
        forbids = "cannot set `allowPrivilegeEscalation` to false and"
        if given.get("privileged"):
            errors.append(fielderrors.invalid(path, shown, f"{forbids} `privileged` to true"))
        if "CAP_SYS_ADMIN" in ((given.get("capabilities") or {}).get("add") or ()):
            why = f"{forbids} `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(fielderrors.invalid(path, shown, why))
    return errors + app_armor(given.get("appArmorProfile"), f"{path}.appArmorProfile")


def _shown(given: Object) -> str:
    """A container's security context as Go prints it: names of Go, all members."""
    members = []
    for member in _GO_MEMBERS:
        value = given.get(member)
        if isinstance(value, dict):
            value = {_go_name(key): inner for key, inner in value.items()}
        members.append(
            f'"{_go_name(member).replace("SeLinux", "SELinux")}":{gotext.compact_json(value)}'
        )
    return "{" + ",".join(members) + "}"


def _go_name(member: str) -> str:
    return member[:1].upper() + member[1:]


def _ids(given: Object, path: str, *members: str) -> list[FieldError]:
    return [
        fielderrors.invalid(f"{path}.{member}", given[member], _IDS)
        for member in members
        if given.get(member) is not None and not 0 <= given[member] <= 2**31 - 1
    ]


def seccomp(profile: Object | None, path: str) -> list[FieldError]:
    """validateSeccompProfileField."""
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    errors = []
    if not kind:
        why = "type is required when seccompProfile is set"
        errors.append(fielderrors.required(f"{path}.type", why))
    elif kind not in _PROFILES:
        errors.append(fielderrors.not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            why = "must be set when seccomp type is Localhost"
            errors.append(fielderrors.required(f"{path}.localhostProfile", why))
        else:
            errors += checks.descending(local, f"{path}.localhostProfile")
    elif local is not None:
        shown = fielderrors.Verbatim(
            f'{{"Type":{gotext.quote(kind)},"LocalhostProfile":{gotext.quote(local)}}}'
        )
        why = "can only be set when seccomp type is Localhost"
        errors.append(fielderrors.invalid(f"{path}.localhostProfile", shown, why))
    return errors


def app_armor(profile: Object | None, path: str) -> list[FieldError]:
    """ValidateAppArmorProfileField."""
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    place = f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None or not local:
            return [fielderrors.required(place, "must be set when AppArmor type is Localhost")]
        errors = []
        if local.strip() != local:
            why = "must not be padded with whitespace"
            errors.append(fielderrors.invalid(place, local, why))
        if len(local.encode()) > _MAX_PROFILE:
            errors.append(fielderrors.too_long(place, _MAX_PROFILE))
        return errors
    if not kind:
        return [
            fielderrors.required(f"{path}.type", "type is required when appArmorProfile is set")
        ]
    if kind not in _PROFILES:
        return [fielderrors.not_supported(f"{path}.type", kind, _PROFILES)]
    if local is not None:
        why = "can only be set when AppArmor type is Localhost"
        return [fielderrors.invalid(place, local, why)]
    return []


def of_pod(spec: Object, path: str) -> list[FieldError]:
    """validatePodSpecSecurityContext; the namespaces of the host stand in the spec."""
    given = spec.get("securityContext") or {}
    place = f"{path}.securityContext"
    errors = _ids(given, place, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(given.get("supplementalGroups") or ()):
        if not 0 <= group <= 2**31 - 1:
            errors.append(fielderrors.invalid(f"{place}.supplementalGroups[{index}]", group, _IDS))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(fielderrors.invalid(f"{place}.shareProcessNamespace", True, why))
    errors += _sysctls(given.get("sysctls") or [], spec, f"{place}.sysctls")
    for member, choices in (
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        value = given.get(member)
        if value is not None and value not in choices:
            errors.append(fielderrors.not_supported(f"{place}.{member}", value, choices))
    errors += seccomp(given.get("seccompProfile"), f"{place}.seccompProfile")
    errors += app_armor(given.get("appArmorProfile"), f"{place}.appArmorProfile")
    return errors + _host_users(spec, path)


def _sysctls(sysctls: list[Object], spec: Object, path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, place = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            errors.append(fielderrors.required(place))
        elif len(name) > _MAX_SYSCTL or not re.fullmatch(_SYSCTL, name):
            why = f"must have at most {_MAX_SYSCTL} characters and match regex {_SYSCTL}"
            errors.append(fielderrors.invalid(place, name, why))
        elif name in seen:
            errors.append(fielderrors.duplicate(place, name))
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            why = "may not be specified when 'hostNetwork' is true"
            errors.append(fielderrors.invalid(place, name, why))
        elif spec.get("hostIPC") and dotted.startswith(_IPC):
            why = "may not be specified when 'hostIPC' is true"
            errors.append(fielderrors.invalid(place, name, why))
        seen.add(name)
    return errors


def _host_users(spec: Object, path: str) -> list[FieldError]:
    if spec.get("hostUsers") is not False:
        return []
    why = "when `hostUsers` is false"
    return [
        fielderrors.forbidden(f"{path}.{shown}", why)
        for member, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"),
                              ("hostIPC", "HostIPC"))
        if spec.get(member)
    ]  # fmt: skip


def of_system(spec: Object, path: str) -> list[FieldError]:
    """validateOS, and what a pod of another operating system cannot have."""
    system = spec.get("os")
    if system is None:
        return []
    name = system.get("name", "")
    if not name:
        return [fielderrors.required(f"{path}.os.name", "cannot be empty")]
    if name not in ("linux", "windows"):
        return [fielderrors.not_supported(f"{path}.os.name", name, ("linux", "windows"))]
    contexts = [
        (one.get("securityContext") or {}, f"{path}.{member}[{index}].securityContext")
        for member in _CONTAINERS
        for index, one in enumerate(spec.get(member) or ())
    ]
    own, place = spec.get("securityContext") or {}, f"{path}.securityContext"
    if name == "linux":
        return [
            fielderrors.forbidden(
                f"{where}.windowsOptions", "windows options cannot be set for a linux pod"
            )
            for given, where in [(own, place), *contexts]
            if given.get("windowsOptions") is not None
        ]
    errors = [
        fielderrors.forbidden(f"{place}.{member}", _WINDOWS)
        for member in _NO_WINDOWS_POD
        if own.get(member) not in (None, [])
    ]
    errors += [
        fielderrors.forbidden(f"{path}.{member}", _WINDOWS)
        for member in ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
        if spec.get(member) not in (None, False) or (member == "hostUsers" and member in spec)
    ]
    return errors + [
        fielderrors.forbidden(f"{where}.{member}", _WINDOWS)
        for given, where in contexts
        for member in _NO_WINDOWS_CONTAINER
        if given.get(member) is not None
    ]
