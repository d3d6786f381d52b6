"""Warnings about pods and templates that the table cannot express."""

from collections.abc import Iterator

from inkube.schemas import quantity
from inkube.schemas.builtin import addresses, resourcenames
from inkube.schemas.builtin.rules import compiler
from inkube.schemas.builtin.rules.calls.core_containers import (
    APP_ARMOR_KEY,
    app_armor_of,
    app_armor_warning,
)
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_LISTING = ("configMap", "secret", "downwardAPI")
"""Sources of a projected volume that can list their files."""
_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": ("v1.16", "priorityClassName"),
    "seccomp.security.alpha.kubernetes.io/pod": ("v1.27", "seccompProfile"),
    "security.alpha.kubernetes.io/sysctls": ("v1.11", "sysctls"),
    "security.alpha.kubernetes.io/unsafe-sysctls": ("v1.11", "sysctls"),
}
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_WITH_ITEMS = (
    ("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"),
    ("downwardAPI", "DownwardAPI", ""),
)  # fmt: skip
"""Members of volumes that contain files, their kinds in warnings, and the members
with their names."""
_IN_BYTES = ("memory", "ephemeral-storage")


# names


def host_name(value: str, _path: str, _frame: Frame) -> list[str]:
    """Return a warning if the name of a pod, its default hostname, is not a DNS label."""
    return _of_name(value, "the Pod's hostname")


def name_of_pods(value: str, _path: str, _frame: Frame) -> list[str]:
    """Return a warning if a name that is the start of the names of pods is not a DNS label."""
    return _of_name(value, "Pod names and hostnames")


def _of_name(name: str, where: str) -> list[str]:
    problems = names.label(name)
    if not problems:
        return []
    listed = " ".join(problems)
    advice = f"which can result in surprising behavior; a DNS label is recommended: [{listed}]"
    return [f"metadata.name: this is used in {where}, {advice}"]


def old_template(_value: Object, _path: str, frame: Frame) -> list[str]:
    """Return warnings about the old template of a ReplicationController, because upstream checks it
    in place of the new template."""
    template = ((frame.old or {}).get("spec") or {}).get("template") or {}
    inner = Frame(template, "spec.template.", None, None, updates=False, minor=frame.minor)
    found: list[str] = compiler.rules("core.v1.PodTemplateSpec", "warnings", frame.minor).run(inner)
    return found


# labels and annotations


def _use_instead(label: str) -> str:
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'


def node_labels(value: dict[str, str], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about deprecated labels in a nodeSelector."""
    return (
        f"{path}[{label}]: {_use_instead(label)}" for label in sorted(value) if label in _LABELS
    )


def deprecated_label(value: str, path: str, _frame: Frame) -> list[str]:
    """Return a warning about a deprecated label of nodes."""
    return [f"{path}: {value} is {_use_instead(value)}"] if value in _LABELS else []


def annotations(value: dict[str, str], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about annotations that fields replace."""
    for key in sorted(value):
        since, member = _ANNOTATIONS.get(key, ("", ""))
        if key.startswith(_SECCOMP):
            since, member = _ANNOTATIONS["seccomp.security.alpha.kubernetes.io/pod"]
        if since:
            yield f'{path}[{key}]: non-functional in {since}+; use the "{member}" field instead'


def app_armor_annotation(value: Object, _path: str, frame: Frame) -> Iterator[str]:
    """Yield a warning about an annotation for a container of a template without an AppArmor
    profile. The preparation of pods warns about their annotations."""
    spec = frame.up
    template = None if spec is None else spec.up
    if spec is None or template is None or not template.prefix:
        return
    key = f"{APP_ARMOR_KEY}{value.get('name', '')}"
    text = ((template.obj.get("metadata") or {}).get("annotations") or {}).get(key)
    if text is None or (value.get("securityContext") or {}).get("appArmorProfile") is not None:
        return
    whole = (spec.obj.get("securityContext") or {}).get("appArmorProfile")
    if whole is None or whole != app_armor_of(text):
        yield app_armor_warning(f"{template.prefix}metadata.annotations[{key}]")


# lists and amounts


def odd_addresses(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return the warnings about addresses that are not in their canonical form."""
    found: list[str] = []
    servers = (value.get("dnsConfig") or {}).get("nameservers") or ()
    for index, each in enumerate(servers):
        found += addresses.warnings(each, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(value.get("hostAliases") or ()):
        found += addresses.warnings(alias.get("ip", ""), f"{path}.hostAliases[{index}].ip")
    return found


def addresses_apart(value: list[Object], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about repeated addresses of hostAliases."""
    seen: set[str] = set()
    for index, alias in enumerate(value):
        address = alias.get("ip", "")
        if address in seen:
            yield f"{path}[{index}].ip: duplicate ip {gotext.quote(address)}"
        seen.add(address)


def secrets_apart(value: list[Object], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about empty and repeated names of imagePullSecrets."""
    seen: set[str] = set()
    for index, secret in enumerate(value):
        name, place = secret.get("name", ""), f"{path}[{index}].name"
        if not name:
            yield f'{place}: invalid empty name ""'
        elif name in seen:
            yield f"{place}: duplicate name {gotext.quote(name)}"
        seen.add(name)


def whole_storage(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return a warning about storage that is not a whole number of bytes."""
    return fractions(value, "storage", path)


def whole_bytes(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return warnings about amounts of a container that are not whole numbers of bytes."""
    return [text for name in _IN_BYTES for text in fractions(value, name, path)]


def fractions(amounts: Object, name: str, path: str) -> list[str]:
    """Return a warning about an amount that is not a whole number of bytes."""
    amount = amounts.get(name)
    if amount is None or resourcenames.is_whole(quantity.parse(amount)):
        return []
    shown = gotext.quote(amount)
    return [f"{path}[{name}]: fractional byte value {shown} is invalid, must be an integer"]


def variables_apart(value: list[Object], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about repeated variables. A definition that refers to another variable is
    valid."""
    seen: set[str] = set()
    for index, variable in enumerate(value):
        name = variable.get("name", "")
        if name in seen and not variable.get("value", "").count("$("):
            shown = gotext.quote(name)
            yield (
                f"{path}[{index}]: hides previous definition of {shown}, which may be dropped "
                "when using apply"
            )
        seen.add(name)


# ports and paths


def ports_apart(value: list[Object], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about duplicate and overlapping ports of containers."""
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for index, container in enumerate(value):
        for at, port in enumerate(container.get("ports") or ()):
            place = f"{path}[{index}].ports[{at}]"
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for where, other in others:
                if _place(port) == _place(other):
                    yield f"{place}: duplicate port definition with {where}"
                elif _overlap(port, other):
                    yield f"{place}: overlapping port definition with {where}"
            others.append((place, port))
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{place}: hostIP set without hostPort: {_shown(port)}"


def _shown(port: Object) -> str:
    """Return a ContainerPort in the format of Go's %+v."""
    members = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    numbers = ("hostPort", "containerPort")
    values = (port.get(member, 0 if member in numbers else "") for member in members)
    pairs = zip(members, values, strict=True)
    return "{" + " ".join(f"{name[0].upper()}{name[1:]}:{value}" for name, value in pairs) + "}"


def paths_apart(value: list[Object], _path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about files of a volume with equal or nested paths
    (warningsForOverlappingVirtualPaths)."""
    return _paths_apart(value, repeats=False)


def paths_apart_repeating(value: list[Object], _path: str, _frame: Frame) -> Iterator[str]:
    """Yield the warnings of minors before 1.34. These count the files of a projected source again
    for each later source without files, because upstream kept the variable."""
    return _paths_apart(value, repeats=True)


def _paths_apart(volumes: list[Object], *, repeats: bool) -> Iterator[str]:
    for volume in volumes:
        for member, kind, key in _WITH_ITEMS:
            source = volume.get(member)
            if source is None or not source.get("items"):
                continue
            what = f"{kind} {gotext.quote(source.get(key, ''))}" if key else kind
            found = [(each.get("path", ""), "") for each in source["items"]]
            for text in _overlaps(found, {}):
                yield f"volume {_name(volume)} ({what}): overlapping paths: {text}"
        if volume.get("projected") is not None:
            yield from _of_projected(volume["projected"], _name(volume), repeats=repeats)


def _name(volume: Object) -> str:
    return gotext.quote(volume.get("name", ""))


def _of_projected(projected: Object, name: str, *, repeats: bool) -> Iterator[str]:
    known: dict[str, list[tuple[str, str]]] = {}
    last: list[tuple[str, str]] = []
    for source in projected.get("sources") or ():
        if not any(given is not None for given in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
            continue
        if not repeats or _lists_files(source):
            last = list(_projected_paths(source))
        for text in _overlaps(last, known):
            yield f"volume {name} (Projected): overlapping paths: {text}"


def _lists_files(source: Object) -> bool:
    """Return whether a projected source lists its files. An empty list counts."""
    lists = ((source.get(name) or {}).get("items") for name in _LISTING)
    return source.get("serviceAccountToken") is not None or any(one is not None for one in lists)


def _projected_paths(source: Object) -> Iterator[tuple[str, str]]:
    """Yield each path of a projected source, with the name of the source."""
    for member, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        given = source.get(member) or {}
        what = f"{kind} {gotext.quote(given.get('name', ''))}"
        yield from ((item.get("path", ""), what) for item in given.get("items") or ())
    fields = (source.get("downwardAPI") or {}).get("items") or ()
    yield from ((item.get("path", ""), "DownwardAPI") for item in fields)
    if source.get("serviceAccountToken") is not None:
        yield source["serviceAccountToken"].get("path", ""), "ServiceAccountToken"


def _overlaps(
    paths: list[tuple[str, str]], known: dict[str, list[tuple[str, str]]]
) -> Iterator[str]:
    """Yield each pair of a path and an earlier path that is equal, above or below it. Adds the
    paths to `known`."""
    for path, source in paths:
        plain = path.rstrip("/")
        for other in _colliding(plain, known):
            yield f"{_quoted(plain, source)} with {_quoted(*other)}"
        parts = plain.split("/")
        for end in range(1, len(parts) + 1):
            known.setdefault("/".join(parts[:end]), []).append((plain, source))


def _colliding(path: str, known: dict[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """Yield the earlier paths that collide with a path. `known`: a path or one of its parent
    folders → the paths."""
    yield from known.get(path, ())
    parts = path.split("/")
    for end in range(1, len(parts)):
        folder = "/".join(parts[:end])
        yield from (each for each in known.get(folder, ()) if each[0] == folder)


def _quoted(path: str, source: str) -> str:
    return f"{gotext.quote(path)} ({source})" if source else gotext.quote(path)


def _place(port: Object) -> tuple[str, int]:
    return port.get("hostIP", ""), port.get("hostPort", 0)


def _overlap(port: Object, other: Object) -> bool:
    if not port.get("hostPort") or not other.get("hostPort"):
        return True
    same_port = port["hostPort"] == other["hostPort"]
    return same_port and not (port.get("hostIP") and other.get("hostIP"))
