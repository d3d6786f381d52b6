"""Warnings about valid but surprising members of pods and templates. Follows
pkg/api/pod/warnings.go."""

from collections.abc import Iterator

from inkube.schemas import quantity
from inkube.schemas.builtin import resourcenames
from inkube.schemas.builtin.strategies import naming
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object

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
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_VOLUMES = {
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SOURCES_OF_FILES = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("downwardAPI", "DownwardAPI", ""),
)
"""Volumes whose items are files: the member, and the kind and member of its source."""
_NODES = "affinity.nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MEMBERS = ("initContainers", "containers")
_IN_BYTES = ("memory", "ephemeral-storage")


def of_name(name: str, where: str) -> list[str]:
    """A warning about a name that is not a DNS label, but is used in hostnames."""
    problems = naming.label(name)
    if not problems:
        return []
    listed = " ".join(problems)
    advice = f"which can result in surprising behavior; a DNS label is recommended: [{listed}]"
    return [f"metadata.name: this is used in {where}, {advice}"]


def of_owner(obj: Object) -> list[str]:
    """A warning about the name of an owner, with which the names of its pods start."""
    return of_name(obj["metadata"].get("name", ""), "Pod names and hostnames")


def of_pod(obj: Object) -> list[str]:
    """Warnings about a new pod."""
    annotations = obj["metadata"].get("annotations") or {}
    return of_template(obj.get("spec") or {}, annotations, "spec", "metadata")


def of_template(spec: Object, annotations: dict[str, str], path: str, metadata: str) -> list[str]:
    """Warnings about a spec and its annotations. `path` and `metadata` are the paths of both."""
    return [
        *_of_annotations(annotations, f"{metadata}.annotations"),
        *_of_labels(spec, path),
        *_of_spread(spec, path),
        *_of_volumes(spec, path),
        *_of_aliases(spec, path),
        *_of_containers(spec, path),
        *_of_ports(spec, path),
        *_of_time(spec, path),
        *_of_paths(spec),
        *_of_pod_terms(spec, path),
    ]


def of_spec(given: Object, path: str) -> list[str]:
    """Warnings about a whole template of a workload at `path`."""
    annotations = (given.get("metadata") or {}).get("annotations") or {}
    return of_template(given.get("spec") or {}, annotations, f"{path}.spec", f"{path}.metadata")


def _use_instead(label: str) -> str:
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'


def _of_labels(spec: Object, path: str) -> Iterator[str]:
    for label in sorted(spec.get("nodeSelector") or {}):
        if label in _LABELS:
            yield f"{path}.nodeSelector[{label}]: {_use_instead(label)}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = [
        (f"{path}.{_NODES}.{_REQUIRED}.nodeSelectorTerms[{index}]", term)
        for index, term in enumerate((nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ())
    ]
    terms += [
        (f"{path}.{_NODES}.{_PREFERRED}[{index}].preference", term.get("preference") or {})
        for index, term in enumerate(nodes.get(_PREFERRED) or ())
    ]
    for place, term in terms:
        for index, expression in enumerate(term.get("matchExpressions") or ()):
            label = expression.get("key", "")
            if label in _LABELS:
                where = f"{place}.matchExpressions[{index}].key"
                yield f"{where}: {label} is {_use_instead(label)}"


def _of_spread(spec: Object, path: str) -> Iterator[str]:
    for index, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        place, label = f"{path}.topologySpreadConstraints[{index}]", one.get("topologyKey", "")
        if label in _LABELS:
            yield f"{place}.topologyKey: {label} is {_use_instead(label)}"
        if one.get("labelSelector") is None:
            yield f"{place}.labelSelector: a null labelSelector results in matching no pod"


def _of_annotations(annotations: dict[str, str], path: str) -> Iterator[str]:
    for key in sorted(annotations):
        if key.startswith(_APP_ARMOR):
            yield f'{path}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
        since, member = _ANNOTATIONS.get(key, ("", ""))
        if key.startswith(_SECCOMP):
            since, member = _ANNOTATIONS["seccomp.security.alpha.kubernetes.io/pod"]
        if since:
            yield f'{path}[{key}]: non-functional in {since}+; use the "{member}" field instead'


def _of_volumes(spec: Object, path: str) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for source in [each for each in _VOLUMES if each in volume]:
            if volume[source] is not None:
                yield f"{path}.volumes[{index}].{source}: {_VOLUMES[source]}"
        claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
        place = f"{path}.volumes[{index}].ephemeral.volumeClaimTemplate.spec.resources.requests"
        yield from fractions(requests, "storage", place)


def _of_aliases(spec: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        address = alias.get("ip", "")
        if address in seen:
            shown = gotext.quote(address)
            yield f"{path}.hostAliases[{index}].ip: duplicate ip {shown}"
        seen.add(address)
    seen = set()
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        name, place = secret.get("name", ""), f"{path}.imagePullSecrets[{index}].name"
        if not name:
            yield f'{place}: invalid empty name ""'
        elif name in seen:
            yield f"{place}: duplicate name {gotext.quote(name)}"
        seen.add(name)


def _of_containers(spec: Object, path: str) -> Iterator[str]:
    for member in _MEMBERS:
        for index, container in enumerate(spec.get(member) or ()):
            place = f"{path}.{member}[{index}]"
            for kind in ("limits", "requests"):
                amounts = (container.get("resources") or {}).get(kind) or {}
                for name in _IN_BYTES:
                    yield from fractions(amounts, name, f"{place}.resources.{kind}")
            yield from _of_variables(container, place)


def fractions(amounts: Object, name: str, path: str) -> Iterator[str]:
    """A warning about an amount that is not a whole number of bytes."""
    amount = amounts.get(name)
    if amount is not None and not resourcenames.is_whole(quantity.parse(amount)):
        shown = gotext.quote(amount)
        yield f"{path}[{name}]: fractional byte value {shown} is invalid, must be an integer"


def _of_variables(container: Object, path: str) -> Iterator[str]:
    """Warnings about repeated variables. A definition that refers to another variable is valid."""
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name", "")
        if name in seen and not variable.get("value", "").count("$("):
            shown = gotext.quote(name)
            yield (
                f"{path}.env[{index}]: hides previous definition of {shown}, which may be dropped "
                "when using apply"
            )
        seen.add(name)


def _of_ports(spec: Object, path: str) -> Iterator[str]:
    """Warnings about duplicate and overlapping ports of containers."""
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for index, container in enumerate(spec.get("containers") or ()):
        for at, port in enumerate(container.get("ports") or ()):
            place = f"{path}.containers[{index}].ports[{at}]"
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
    """A ContainerPort as Go's %+v prints it."""
    members = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    numbers = ("hostPort", "containerPort")
    values = (port.get(member, 0 if member in numbers else "") for member in members)
    pairs = zip(members, values, strict=True)
    return "{" + " ".join(f"{name[0].upper()}{name[1:]}:{value}" for name, value in pairs) + "}"


def _of_time(spec: Object, path: str) -> Iterator[str]:
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        place = f"{path}.terminationGracePeriodSeconds"
        yield f"{place}: must be >= 0; negative values are invalid and will be treated as 1"


def _of_paths(spec: Object) -> Iterator[str]:
    """Warnings about files of a volume with equal or nested paths
    (warningsForOverlappingVirtualPaths)."""
    for volume in spec.get("volumes") or ():
        name = volume.get("name", "")
        for member, kind, key in _SOURCES_OF_FILES:
            source = volume.get(member)
            if not source:
                continue
            what = f"{kind} {gotext.quote(source.get(key, ''))}" if key else kind
            found = [(each.get("path", ""), "") for each in source.get("items") or ()]
            for text in _overlaps(found):
                yield f"volume {gotext.quote(name)} ({what}): overlapping paths: {text}"
        if volume.get("projected") is not None:
            yield from _of_projected(volume["projected"], gotext.quote(name))


def _of_projected(projected: Object, name: str) -> Iterator[str]:
    found: list[tuple[str, str]] = []
    for source in projected.get("sources") or ():
        if not any(given is not None for given in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
        for member, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
            given = source.get(member) or {}
            what = f"{kind} {gotext.quote(given.get('name', ''))}"
            found += [(item.get("path", ""), what) for item in given.get("items") or ()]
        fields = (source.get("downwardAPI") or {}).get("items") or ()
        found += [(item.get("path", ""), "DownwardAPI") for item in fields]
        if source.get("serviceAccountToken") is not None:
            found.append((source["serviceAccountToken"].get("path", ""), "ServiceAccountToken"))
    for text in _overlaps(found):
        yield f"volume {name} (Projected): overlapping paths: {text}"


def _overlaps(paths: list[tuple[str, str]]) -> Iterator[str]:
    """Yield each pair of a path and an earlier path that is equal, above or below it."""
    known: dict[str, list[tuple[str, str]]] = {}
    for path, source in paths:
        plain = path.rstrip("/")
        for other in _colliding(plain, known):
            yield f"{_told(plain, source)} with {_told(*other)}"
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


def _told(path: str, source: str) -> str:
    return f"{gotext.quote(path)} ({source})" if source else gotext.quote(path)


def _of_pod_terms(spec: Object, path: str) -> Iterator[str]:
    """Warnings about affinity terms without a selector, which match no pods."""
    affinity = spec.get("affinity") or {}
    for member in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(member) or {}
        places = [
            (f"{_REQUIRED}[{index}]", term) for index, term in enumerate(given.get(_REQUIRED) or ())
        ]
        places += [
            (f"{_PREFERRED}[{index}].podAffinityTerm", term.get("podAffinityTerm") or {})
            for index, term in enumerate(given.get(_PREFERRED) or ())
        ]
        for place, term in places:
            if term.get("labelSelector") is None:
                where = f"{path}.affinity.{member}.{place}.labelSelector"
                yield f"{where}: a null labelSelector results in matching no pod"


def _place(port: Object) -> tuple[str, int]:
    return port.get("hostIP", ""), port.get("hostPort", 0)


def _overlap(port: Object, other: Object) -> bool:
    if not port.get("hostPort") or not other.get("hostPort"):
        return True
    same_port = port["hostPort"] == other["hostPort"]
    return same_port and not (port.get("hostIP") and other.get("hostIP"))
