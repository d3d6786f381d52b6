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
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""Deprecated labels of nodes (pkg/api/node/util.go, deprecatedNodeLabels)."""
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": ("v1.16", "priorityClassName"),
    "security.alpha.kubernetes.io/sysctls": ("v1.11", "sysctls"),
    "security.alpha.kubernetes.io/unsafe-sysctls": ("v1.11", "sysctls"),
}
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
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


def selected_labels(value: Object, path: str, frame: Frame) -> Iterator[str]:
    """Yield warnings about deprecated labels of nodes in a LabelSelector
    (GetWarningsForNodeSelector)."""
    for index, expression in enumerate(value.get("matchExpressions") or ()):
        key = expression.get("key", "")
        yield from deprecated_label(key, f"{path}.matchExpressions[{index}].key", frame)
    for label in sorted(value.get("matchLabels") or ()):
        if label in _LABELS:
            yield f"{path}.matchLabels.{label}: {_LABELS[label]}"


def deprecated_label(value: str, path: str, _frame: Frame) -> list[str]:
    """Return a warning about a deprecated label of nodes."""
    return [f"{path}: {value} is {_LABELS[value]}"] if value in _LABELS else []


def topology_label(value: str, path: str, _frame: Frame) -> list[str]:
    """Return a warning about a deprecated label of nodes, which names the label only by its
    path."""
    return [f"{path}: {_LABELS[value]}"] if value in _LABELS else []


def terms_of_volume(terms: list[Object], path: str) -> Iterator[str]:
    """Yield warnings about deprecated labels in the nodeSelectorTerms of a volume, and about values
    that a label cannot have, which only pods refuse (GetWarningsForNodeSelectorTerm)."""
    for number, term in enumerate(terms):
        for at, expression in enumerate(term.get("matchExpressions") or ()):
            place, key = f"{path}[{number}].matchExpressions[{at}]", expression.get("key", "")
            if key in _LABELS:
                yield f"{place}.key: {key} is {_LABELS[key]}"
            for index, value in enumerate(expression.get("values") or ()):
                for why in names.label_value(value):
                    yield f"{place}.values[{index}]: {value} is invalid, {why}"


def annotations(_value: Object, _path: str, frame: Frame) -> Iterator[str]:
    """Yield warnings about annotations that fields replace."""
    prefix, given = _annotations(frame)
    for key, (since, member) in _ANNOTATIONS.items():
        if key in given:
            yield _replaced(f"{prefix}[{key}]", since, member)


def seccomp_annotation(value: Object, _path: str, frame: Frame) -> Iterator[str]:
    """Yield a warning about the annotation for a pod without a seccomp profile."""
    prefix, given = _annotations(frame)
    if _SECCOMP in given and _profile(value) is None:
        yield _replaced(f"{prefix}[{_SECCOMP}]", "v1.27", "seccompProfile")


def seccomp_annotation_of_container(value: Object, _path: str, frame: Frame) -> Iterator[str]:
    """Yield a warning about the annotation for a container without a seccomp profile."""
    assert frame.up is not None, "a container is in a spec"
    prefix, given = _annotations(frame.up)
    key = f"{_SECCOMP_CONTAINER}{value.get('name', '')}"
    if key in given and _profile(value) is None:
        yield _replaced(f"{prefix}[{key}]", "v1.27", "seccompProfile")


def _annotations(spec: Frame) -> tuple[str, dict[str, str]]:
    """Return the path of the annotations of a spec's pod or template, and the annotations."""
    holder = spec.up
    if holder is None:
        return "metadata.annotations", {}
    found = (holder.obj.get("metadata") or {}).get("annotations") or {}
    return f"{holder.prefix}metadata.annotations", found


def _profile(holder: Object) -> Object | None:
    found: Object | None = (holder.get("securityContext") or {}).get("seccompProfile")
    return found


def _replaced(place: str, since: str, member: str) -> str:
    return f'{place}: non-functional in {since}+; use the "{member}" field instead'


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


def odd_ip(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return the warnings about an address of a pod that is not in its canonical form."""
    return addresses.warnings(value.get("ip") or "", f"{path}.ip")


def whole_storage(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return a warning about storage that is not a whole number of bytes."""
    return fractions(value, "storage", path)


def whole_bytes(value: Object, path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about amounts of a container that are not whole numbers of bytes."""
    resources = value.get("resources") or {}
    for name in _IN_BYTES:
        for member in ("limits", "requests"):
            given = resources.get(member) or {}
            yield from fractions(given, name, f"{path}.resources.{member}")


def whole_overhead(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return warnings about amounts of a pod's overhead that are not whole numbers of bytes."""
    return [text for name in _IN_BYTES for text in fractions(value, name, path)]


def fractions(amounts: Object, name: str, path: str) -> list[str]:
    """Return a warning about an amount that is not a whole number of bytes."""
    amount = amounts.get(name)
    if amount is None or resourcenames.is_whole(quantity.parse(amount)):
        return []
    shown = gotext.quote(amount)
    return [f"{path}[{name}]: fractional byte value {shown} is invalid, must be an integer"]


def variables_apart(value: list[Object], path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about repeated variables. A definition is valid if it uses the previous one in
    a longer value."""
    seen: set[str] = set()
    for index, variable in enumerate(value):
        name, text = variable.get("name", ""), variable.get("value", "")
        previous = f"$({name})"
        extends = previous in text and text != previous and variable.get("valueFrom") is None
        if name in seen and not extends:
            shown = gotext.quote(name)
            yield (
                f"{path}[{index}]: hides previous definition of {shown}, which may be dropped "
                "when using apply"
            )
        seen.add(name)


# ports and paths


def ports_apart(value: Object, path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about duplicate and overlapping ports of all containers of a pod."""
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for place, port in _ports(value, path):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{place}: hostIP set without hostPort: {_shown(port)}"
        others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for where, other in others:
            how = _conflict(port, other)
            if how:
                yield f"{place}: {how} port definition with {where}"
        others.append((place, port))


def _ports(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    """Yield the ports of all containers with their paths, in the order of
    VisitContainersWithPath."""
    for member in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(member) or ()):
            for at, port in enumerate(container.get("ports") or ()):
                yield f"{path}.{member}[{index}].ports[{at}]", port


def _conflict(port: Object, other: Object) -> str:
    """Return how two ports of one number and protocol conflict, "" if they do not."""
    if _place(port) == _place(other):
        return "duplicate"
    if not port.get("hostPort") or not other.get("hostPort"):
        return "overlapping"
    is_one_open = bool(port.get("hostIP")) != bool(other.get("hostIP"))
    if port["hostPort"] == other["hostPort"] and is_one_open:
        return "dangerously ambiguous"
    return ""


def _shown(port: Object) -> str:
    """Return a ContainerPort in the format of Go's %+v."""
    members = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    numbers = ("hostPort", "containerPort")
    values = (port.get(member, 0 if member in numbers else "") for member in members)
    pairs = zip(members, values, strict=True)
    return "{" + " ".join(f"{name[0].upper()}{name[1:]}:{value}" for name, value in pairs) + "}"


def paths_apart(how: str, value: list[Object], _path: str, _frame: Frame) -> Iterator[str]:
    """Yield warnings about files of a volume with equal or nested paths
    (warningsForOverlappingVirtualPaths). `how` is `repeating` before 1.34: the files of a projected
    source count again for each later source without files, because upstream kept the variable."""
    repeats = how == "repeating"
    for volume in value:
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
