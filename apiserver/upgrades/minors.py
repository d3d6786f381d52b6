"""The two minors: which versions of kinds end between them, and which minor the data is of.

What both minors serve comes from their discovery data. Beta versions that a cluster can switch on
are in no discovery data; they come from the table of removals.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from inkube.apiserver.registry import keys
from inkube.schemas import builtin, caches, offline, releases
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Object
from inkube.storage import Record

_IMAGE = re.compile(r"kube-apiserver:v?(1\.\d+)")
_VERSION = re.compile(r"v?(1\.\d+)(\.|\D|$)")
_OPENSHIFT = re.compile(r"4\.(\d+)\.")
_OPENSHIFT_BASE = 13
"""OpenShift 4.x is Kubernetes 1.(13 + x), from 4.3 on."""
_GATES = "--feature-gates="


class Minors(NamedTuple):
    """The minor of the cluster, and the later one."""

    old: int
    new: int

    def ends(self, gvk: GVK) -> bool:
        """Return whether the later minor does not serve a version that the earlier one can
        serve."""
        if gvk in _kinds(self.old):
            return gvk not in _kinds(self.new)
        removal = offline.removal_of(gvk)
        return removal is not None and removal.is_between(self.old, self.new)

    def ends_version(self, api_version: str) -> bool:
        """Return whether the later minor serves no kind of a version of a group."""
        old, new = ({each.api_version for each in _kinds(minor)} for minor in self)
        if api_version in old:
            return api_version not in new
        removal = offline.removal_of_version(api_version)
        return removal is not None and removal.is_between(self.old, self.new)

    def ends_resource(self, resource: GVR) -> bool:
        """Return whether `ends` holds for the kind of a built-in resource."""
        for minor in (self.new, self.old):
            definition = builtin.by_name(minor).get((resource.group, resource.resource))
            if definition is not None:
                return self.ends(GVK(resource.group, resource.version, definition.names.kind))
        return False


@caches.of_values(len(releases.RECORDED))
def _kinds(minor: int) -> frozenset[GVK]:
    """Return the versions of built-in kinds that a minor serves."""
    return frozenset(
        GVK(each.group, version.name, each.names.kind)
        for each in builtin.definitions(minor)
        for version in each.versions
        if version.served
    )


class Origin(NamedTuple):
    """What the data says about its cluster."""

    minor: str = ""
    """`1.31`, "" if the data does not say it."""
    evidence: str = ""
    """The object or the file that says it."""
    gates: Mapping[str, bool] = {}
    """The feature gates that its API server sets."""


def origin(records: Sequence[Record]) -> Origin:
    """Return what the data says about the version and the feature gates of its cluster.

    The version is that of the dump, the image of the API server, OpenShift's own, or the newest of
    the kubelets, in this order.
    """
    newest = {row.key: row for row in records}
    objects = {key: orjson.loads(row.data) for key, row in newest.items() if _can_say(row)}
    servers = [each for key, each in objects.items() if key.startswith(keys.prefix("pods"))]
    gates = dict(gate for pod in servers for gate in _gates(pod))
    found = next((each for each in _versions_in(objects, servers)), ("", ""))
    return Origin(*found, gates)


_SPEAKING = (
    keys.CAPTURED, keys.prefix("nodes"), keys.prefix("clusterversions", "config.openshift.io"),
)  # fmt: skip


def _can_say(row: Record) -> bool:
    is_server = row.key.startswith(keys.prefix("pods")) and b"kube-apiserver" in row.data
    return not row.deleted and (is_server or row.key.startswith(_SPEAKING))


def _versions_in(
    objects: Mapping[str, Object], servers: Sequence[Object]
) -> Iterator[tuple[str, str]]:
    for dump in reversed((objects.get(keys.CAPTURED) or {}).get("dumps") or ()):
        if match := _VERSION.match(str(dump.get("kubernetes", ""))):
            yield match[1], f"the dump {dump.get('name')}"
    for pod in servers:
        for container in pod["spec"].get("containers") or ():
            if match := _IMAGE.search(str(container.get("image", ""))):
                yield match[1], f"the image of Pod {pod['metadata']['name']}"
    for key, obj in objects.items():
        desired = ((obj.get("status") or {}).get("desired") or {}).get("version")
        if "/clusterversions/" in key and (match := _OPENSHIFT.match(str(desired))):
            yield f"1.{_OPENSHIFT_BASE + int(match[1])}", f"ClusterVersion {desired}"
    yield from _of_kubelets(objects)


def _of_kubelets(objects: Mapping[str, Object]) -> Iterator[tuple[str, str]]:
    """Yield the minor of the newest kubelet and its Node: no API server may be older."""
    found = []
    for key, obj in objects.items():
        info = (obj.get("status") or {}).get("nodeInfo") or {}
        match = _VERSION.match(str(info.get("kubeletVersion", "")))
        if key.startswith(keys.prefix("nodes")) and match:
            found.append((int(match[1].removeprefix("1.")), obj["metadata"]["name"]))
    if found:
        minor, name = max(found)
        yield f"1.{minor}", f"the kubelet of Node {name}"


def _gates(pod: Object) -> Iterator[tuple[str, bool]]:
    for container in pod["spec"].get("containers") or ():
        for word in [*(container.get("command") or ()), *(container.get("args") or ())]:
            if isinstance(word, str) and word.startswith(_GATES):
                yield from parsed_gates(word.removeprefix(_GATES)).items()


def parsed_gates(text: str) -> dict[str, bool]:
    """Read `A=true,B=false`. Raises ValueError."""
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = part.partition("=")
        if value.lower() not in ("true", "false"):
            raise ValueError(f"{part!r} is not a feature gate such as SomeGate=true")
        found[name] = value.lower() == "true"
    return found


def known(minor: str, source: Origin) -> str:
    """Return the minor to rehearse from. Raises ValueError if it is unknown or not supported."""
    if minor:
        releases.parse(minor)
        return minor
    if not source.minor:
        raise ValueError("the data does not say its version of Kubernetes: name it with --from")
    try:
        releases.parse(source.minor)
    except ValueError as error:
        raise ValueError(
            f"the cluster is of Kubernetes {source.minor} ({source.evidence}), which inkube does "
            f"not know: --from 1.{releases.RECORDED[0].minor} compares from its oldest version on"
        ) from error
    return source.minor
