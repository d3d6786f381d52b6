"""The checks of the Pod Security Standards, one function each, in the order of their names.

A check receives a `Pod` and returns a violation or None: a reason, and the detail in parentheses.
If a version of Kubernetes changed a check, the new function is registered from that version on.
Follows k8s.io/pod-security-admission/policy/check_*.go; the identifiers are its names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from inkube.schemas.builtin.podsecurity.standards import Level, Standard
from inkube.schemas.objects import Object

T = TypeVar("T")


class Violation(NamedTuple):
    """A violation of a check: `reason (detail)`."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


@dataclass(frozen=True)
class Pod:
    """A pod or a pod template, in the form that checks need."""

    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    containers: list[Object] = field(init=False)
    """Init, regular and ephemeral containers, in upstream's order."""

    def __post_init__(self) -> None:
        kinds = ("initContainers", "containers", "ephemeralContainers")
        found = [one for kind in kinds for one in self.spec.get(kind) or ()]
        object.__setattr__(self, "containers", found)

    @property
    def security(self) -> Mapping[str, Any]:
        """The security context of the pod itself."""
        return self.spec.get("securityContext") or {}

    @property
    def is_windows(self) -> bool:
        """Whether the pod runs on Windows."""
        return bool((self.spec.get("os") or {}).get("name") == "windows")

    @property
    def has_own_users(self) -> bool:
        """Whether the pod has its own user namespace, so that its users are not users of the
        node."""
        return self.spec.get("hostUsers") is False

    def failing(self, test: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        """Return the names of the containers whose security context fails a test."""
        return [one["name"] for one in self.containers if test(_security(one))]

    def setters(self, test: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        """Return where the security context fails a test, as the text of an error: the pod, then
        the containers."""
        own = ["pod"] if test(self.security) else []
        names = self.failing(test)
        return [*own, _named(names)] if names else own

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the pod."""
        return self.metadata.get("annotations") or {}


Check = Callable[[Pod], Violation | None]


class Definition(NamedTuple):
    """A check of one level, in its form since a version."""

    identifier: str
    level: Level
    since: int
    """The minor version of Kubernetes 1 since which this form applies."""
    check: Check
    overrides: tuple[str, ...] = ()
    """Checks of lower levels that this one includes."""


def _security(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return container.get("securityContext") or {}


def quoted(texts: Iterable[str]) -> str:
    """Return `"a", "b"`: the texts in the format %q of Go, joined by commas."""
    return ", ".join(f'"{text}"' for text in texts)


def plural(word: str, count: int) -> str:
    """Return the word, with an s unless the count is 1."""
    return word if count == 1 else f"{word}s"


def _named(names: list[str]) -> str:
    return f"{plural('container', len(names))} {quoted(names)}"


def _violating(
    objects: Iterable[Mapping[str, Any]], find: Callable[[Mapping[str, Any]], Iterable[T]]
) -> tuple[list[str], set[T]]:
    """Return the names of the containers or volumes in which `find` finds values, and all these
    values."""
    names: list[str] = []
    values: set[T] = set()
    for one in objects:
        found = set(find(one))
        if found:
            names.append(one["name"])
            values |= found
    return names, values


def _use(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def _added_beyond(allowed: frozenset[str]) -> Callable[[Mapping[str, Any]], Iterable[str]]:
    """Return a function that finds a container's added capabilities that are not allowed."""

    def find(container: Mapping[str, Any]) -> Iterable[str]:
        wanted = (_security(container).get("capabilities") or {}).get("add") or ()
        return [each for each in wanted if each not in allowed]

    return find


_APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


def _apparmor(pod: Pod) -> Violation | None:
    def kind(security: Mapping[str, Any]) -> str | None:
        found: str | None = (security.get("appArmorProfile") or {}).get("type")
        return found

    setters, values = _wrong_kinds(pod, kind, (None, "RuntimeDefault", "Localhost"))
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR_ANNOTATION)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if annotations:
        setters.append(plural("annotation", len(annotations)))
        values += annotations
    if not setters:
        return None
    return Violation(
        plural("forbidden AppArmor profile", len(values)),
        f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}",
    )


def _wrong_kinds(
    pod: Pod, kind: Callable[[Mapping[str, Any]], str | None], allowed: tuple[str | None, ...]
) -> tuple[list[str], list[str]]:
    """Return where forbidden profiles are set (the pod or containers), and these profiles."""
    values: set[str] = set()

    def is_bad(security: Mapping[str, Any]) -> bool:
        found = kind(security)
        if found not in allowed:
            values.add(str(found))
        return found not in allowed

    return pod.setters(is_bad), sorted(values)


_BASELINE_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip


def _capabilities_baseline(pod: Pod) -> Violation | None:
    names, added = _violating(pod.containers, _added_beyond(_BASELINE_CAPABILITIES))
    if not names:
        return None
    return Violation(
        "non-default capabilities",
        f"{_named(names)} must not include {quoted(sorted(added))} in "
        "securityContext.capabilities.add",
    )


def _host_namespaces(pod: Pod) -> Violation | None:
    members = ("hostNetwork", "hostPID", "hostIPC")
    used = [f"{member}=true" for member in members if pod.spec.get(member)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_path_volumes(pod: Pod) -> Violation | None:
    names = [one["name"] for one in pod.spec.get("volumes") or () if "hostPath" in one]
    if not names:
        return None
    return Violation("hostPath volumes", f"{plural('volume', len(names))} {quoted(names)}")


def _host_ports(pod: Pod) -> Violation | None:
    def used(container: Mapping[str, Any]) -> Iterable[int]:
        return [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]

    names, ports = _violating(pod.containers, used)
    if not names:
        return None
    shown = f"{plural('hostPort', len(ports))} {', '.join(sorted(map(str, ports)))}"
    return Violation("hostPort", f"{_named(names)} {_use(names)} {shown}")


def _handlers(container: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        yield container.get(probe) or {}
    lifecycle = container.get("lifecycle") or {}
    for hook in ("postStart", "preStop"):
        yield lifecycle.get(hook) or {}


def _host_probes(pod: Pod) -> Violation | None:
    def used(container: Mapping[str, Any]) -> Iterable[str]:
        return [
            action["host"]
            for handler in _handlers(container)
            for action in (handler.get("httpGet") or {}, handler.get("tcpSocket") or {})
            if action.get("host")
        ]

    names, hosts = _violating(pod.containers, used)
    if not names:
        return None
    return Violation(
        "probe or lifecycle host",
        f"{_named(sorted(names))} {_use(names)} probe or lifecycle {plural('host', len(hosts))} "
        f"{quoted(sorted(hosts))}",
    )


def _privileged(pod: Pod) -> Violation | None:
    names = pod.failing(lambda security: bool(security.get("privileged")))
    if not names:
        return None
    return Violation("privileged", f"{_named(names)} must not set securityContext.privileged=true")


def _proc_mount(pod: Pod) -> Violation | None:
    def unmasked(container: Mapping[str, Any]) -> Iterable[str]:
        kind = _security(container).get("procMount")
        return [] if kind in (None, "", "Default") else [kind]

    names, kinds = _violating(pod.containers, unmasked)
    if not names:
        return None
    return Violation(
        "procMount",
        f"{_named(names)} must not set securityContext.procMount to {quoted(sorted(kinds))}",
    )


_SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))


def _selinux(pod: Pod, types: frozenset[str] = _SELINUX_TYPES) -> Violation | None:
    wrong_types: set[str] = set()
    members: set[str] = set()

    def is_bad(security: Mapping[str, Any]) -> bool:
        options = security.get("seLinuxOptions") or {}
        kind = options.get("type") or ""
        if kind not in types:
            wrong_types.add(kind)
        set_members = {member for member in ("user", "role") if options.get(member)}
        members.update(set_members)
        return kind not in types or bool(set_members)

    bad = pod.setters(is_bad)
    if not bad:
        return None
    found = []
    if wrong_types:
        word = "type" if len(wrong_types) == 1 else "types"
        found.append(f"{word} {quoted(sorted(wrong_types))}")
    if "user" in members:
        found.append("user may not be set")
    if "role" in members:
        found.append("role may not be set")
    return Violation(
        "seLinuxOptions", f"{' and '.join(bad)} set forbidden securityContext.seLinuxOptions: "
        + "; ".join(found),
    )  # fmt: skip


def _selinux_1_31(pod: Pod) -> Violation | None:
    return _selinux(pod, _SELINUX_TYPES | {"container_engine_t"})


def _seccomp_annotations(pod: Pod) -> Violation | None:
    """Before 1.19, annotations contained the profile."""
    keys = ["seccomp.security.alpha.kubernetes.io/pod"]
    keys += [f"container.seccomp.security.alpha.kubernetes.io/{c['name']}" for c in pod.containers]
    found = {
        f'{key}="{pod.annotations[key]}"'
        for key in keys
        if key in pod.annotations
        and pod.annotations[key] not in ("runtime/default", "docker/default")
        and not pod.annotations[key].startswith("localhost/")
    }
    if not found:
        return None
    word = plural("annotation", len(found))
    return Violation("seccompProfile", f"forbidden {word} {', '.join(sorted(found))}")


def _seccomp_kind(security: Mapping[str, Any]) -> str | None:
    kind: str | None = (security.get("seccompProfile") or {}).get("type")
    return kind


def _seccomp_baseline(pod: Pod) -> Violation | None:
    setters, values = _wrong_kinds(pod, _seccomp_kind, (None, "RuntimeDefault", "Localhost"))
    return _seccomp_violation(setters, values) if setters else None


def _seccomp_violation(setters: list[str], values: list[str]) -> Violation:
    return Violation(
        "seccompProfile",
        f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to "
        + quoted(values),
    )


_SYSCTLS = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
))  # fmt: skip
_SYSCTLS_1_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_1_29 = _SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_1_32 = _SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _sysctls(allowed: frozenset[str]) -> Check:
    def check(pod: Pod) -> Violation | None:
        names = [one["name"] for one in pod.security.get("sysctls") or ()]
        beyond = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(beyond)) if beyond else None

    return check


def _windows_host_process(pod: Pod) -> Violation | None:
    def is_bad(security: Mapping[str, Any]) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    bad = pod.setters(is_bad)
    if not bad:
        return None
    return Violation(
        "hostProcess",
        f"{' and '.join(bad)} must not set securityContext.windowsOptions.hostProcess=true",
    )


def _privilege_escalation(pod: Pod) -> Violation | None:
    names = pod.failing(lambda security: security.get("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false",
    )


def _unless_windows(check: Check) -> Check:
    """Since 1.25, checks that do not apply to Windows skip its pods."""
    return lambda pod: None if pod.is_windows else check(pod)


def _capabilities_restricted(pod: Pod) -> Violation | None:
    keeping = pod.failing(
        lambda security: "ALL" not in ((security.get("capabilities") or {}).get("drop") or ())
    )
    adding, added = _violating(pod.containers, _added_beyond(frozenset(("NET_BIND_SERVICE",))))
    details = []
    if keeping:
        details.append(f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        details.append(
            f"{_named(adding)} must not include {quoted(sorted(added))} in "
            "securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip


def _restricted_volumes(pod: Pod) -> Violation | None:
    def beyond(volume: Mapping[str, Any]) -> Iterable[str]:
        return [member for member in volume if member != "name" and member not in _VOLUMES]

    names, kinds = _violating(pod.spec.get("volumes") or (), beyond)
    if not names:
        return None
    return Violation(
        "restricted volume types",
        f"{plural('volume', len(names))} {quoted(names)} {_use(names)} restricted volume "
        f"{plural('type', len(kinds))} {quoted(sorted(kinds))}",
    )


def _run_as_non_root(pod: Pod) -> Violation | None:
    bad = pod.setters(lambda security: security.get("runAsNonRoot") is False)
    if bad:
        return Violation(
            "runAsNonRoot != true",
            f"{' and '.join(bad)} must not set securityContext.runAsNonRoot=false",
        )
    if pod.security.get("runAsNonRoot") is True:
        return None
    implicit = pod.failing(lambda security: security.get("runAsNonRoot") is None)
    if not implicit:
        return None
    return Violation(
        "runAsNonRoot != true",
        f"pod or {_named(implicit)} must set securityContext.runAsNonRoot=true",
    )


def _run_as_user(pod: Pod) -> Violation | None:
    bad = pod.setters(lambda security: security.get("runAsUser") == 0)
    if not bad:
        return None
    return Violation("runAsUser=0", f"{' and '.join(bad)} must not set runAsUser=0")


def _unless_own_users(check: Check) -> Check:
    """Since 1.35, checks of root users skip pods with their own user namespace."""
    return lambda pod: None if pod.has_own_users else check(pod)


def _seccomp_restricted(pod: Pod) -> Violation | None:
    setters, values = _wrong_kinds(pod, _seccomp_kind, (None, "RuntimeDefault", "Localhost"))
    if setters:
        return _seccomp_violation(setters, values)
    if _seccomp_kind(pod.security) is not None:
        return None
    missing = pod.failing(lambda security: _seccomp_kind(security) is None)
    if not missing:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {_named(missing)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
    )


def _defined(
    identifier: str, level: Level, *versions: tuple[int, Check], overrides: tuple[str, ...] = ()
) -> list[Definition]:
    return [Definition(identifier, level, minor, check, overrides) for minor, check in versions]


_BASELINE, _RESTRICTED = Level.BASELINE, Level.RESTRICTED
DEFINITIONS: tuple[Definition, ...] = (
    *_defined("appArmorProfile", _BASELINE, (0, _apparmor)),
    *_defined("capabilities_baseline", _BASELINE, (0, _capabilities_baseline)),
    *_defined("hostNamespaces", _BASELINE, (0, _host_namespaces)),
    *_defined("hostPathVolumes", _BASELINE, (0, _host_path_volumes)),
    *_defined("hostPorts", _BASELINE, (0, _host_ports)),
    *_defined("hostProbesAndHostLifecycle", _BASELINE, (34, _host_probes)),
    *_defined("privileged", _BASELINE, (0, _privileged)),
    *_defined("procMount", _BASELINE, (0, _proc_mount), (35, _unless_own_users(_proc_mount))),
    *_defined("seLinuxOptions", _BASELINE, (0, _selinux), (31, _selinux_1_31)),
    *_defined("seccompProfile_baseline", _BASELINE, (0, _seccomp_annotations),
              (19, _seccomp_baseline)),
    *_defined("sysctls", _BASELINE, (0, _sysctls(_SYSCTLS)), (27, _sysctls(_SYSCTLS_1_27)),
              (29, _sysctls(_SYSCTLS_1_29)), (32, _sysctls(_SYSCTLS_1_32))),
    *_defined("windowsHostProcess", _BASELINE, (0, _windows_host_process)),
    *_defined("allowPrivilegeEscalation", _RESTRICTED, (8, _privilege_escalation),
              (25, _unless_windows(_privilege_escalation))),
    *_defined("capabilities_restricted", _RESTRICTED, (22, _capabilities_restricted),
              (25, _unless_windows(_capabilities_restricted)),
              overrides=("capabilities_baseline",)),
    *_defined("procMount_restricted", _RESTRICTED, (35, _proc_mount), overrides=("procMount",)),
    *_defined("restrictedVolumes", _RESTRICTED, (0, _restricted_volumes),
              overrides=("hostPathVolumes",)),
    *_defined("runAsNonRoot", _RESTRICTED, (0, _run_as_non_root),
              (35, _unless_own_users(_run_as_non_root))),
    *_defined("runAsUser", _RESTRICTED, (23, _run_as_user),
              (35, _unless_own_users(_run_as_user))),
    *_defined("seccompProfile_restricted", _RESTRICTED, (19, _seccomp_restricted),
              (25, _unless_windows(_seccomp_restricted)),
              overrides=("seccompProfile_baseline",)),
)  # fmt: skip


def _effective(standard: Standard) -> list[Definition]:
    """Return the definitions that apply: of each check, the newest one up to the version."""
    newest: dict[str, Definition] = {}
    for definition in DEFINITIONS:
        if definition.level <= standard.level and definition.since <= standard.version:
            newest[definition.identifier] = definition
    overridden = {name for one in newest.values() for name in one.overrides}
    return [one for one in newest.values() if one.identifier not in overridden]


def violations(
    standard: Standard, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> list[Violation]:
    """Return the violations of the standard by a pod with this metadata and spec."""
    pod = Pod(metadata, spec)
    found = (definition.check(pod) for definition in _effective(standard))
    return [one for one in found if one is not None]
