"""The keys of objects, and definitions for kinds that have none in the dump.

A kind is built in, or a CRD of the dump defines it. Any other kind gets a CRD whose schema
preserves everything, so that its objects are served as they are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from inkube.apiserver.dumps.findings import Findings, Unread
from inkube.apiserver.dumps.staging import KindName, SeenKind, Staging
from inkube.apiserver.registry import keys
from inkube.schemas import builtin, crds, versions
from inkube.schemas.golang import DecodeError
from inkube.schemas.objects import Object

CRD = KindName("apiextensions.k8s.io", "CustomResourceDefinition")
SECRET = KindName("", "Secret")
MADE = "inkube.dev/made-for"
"""The annotation of a definition that an import has generated; its value says why."""
_WITHOUT_DEFINITION = "kind-without-definition"
_CRD_KEYS = keys.prefix("customresourcedefinitions")
_PLURALS = {
    KindName("metrics.k8s.io", "NodeMetrics"): "nodes",
    KindName("metrics.k8s.io", "PodMetrics"): "pods",
}
"""Plurals that cannot be guessed from a kind."""


class Stored(NamedTuple):
    """How a kind is stored: the prefix of its keys, and the apiVersion, or "" for any."""

    prefix: str
    api_version: str = ""


class Kinds:
    """The kinds of a dump."""

    def __init__(self, staging: Staging, findings: Findings, now: str) -> None:
        """`now` is the time of generated definitions, in RFC 3339."""
        self._now = now
        self._kinds = dict(_built_in())
        self.generated: list[Object] = []
        """The definitions of kinds without one."""
        self._unusable = set[str]()
        """The names of definitions that a server could not have accepted."""
        for found in staging.objects(CRD):
            self._define(found.object)
        for unusable in sorted(self._unusable):
            findings.add("a definition without the members that every definition has", unusable)
        for name, seen in staging.kinds.items():
            if name not in self._kinds and seen.count:
                self._make(name, seen, findings)

    def __contains__(self, name: KindName) -> bool:
        return name in self._kinds

    def prefix(self, name: KindName) -> str:
        """Return the prefix of the keys of a kind, or "" for a kind that cannot be served."""
        found = self._kinds.get(name)
        return "" if found is None else found.prefix

    def stored(self, name: KindName, obj: Object) -> tuple[str, Object]:
        """Return the key of an object, and the object as it is stored. Raises Unread."""
        kind = self._kinds.get(name)
        if kind is None:
            raise Unread(f"the kind {name.kind}, which no server of this version knows")
        if name == CRD and obj["metadata"]["name"] in self._unusable:
            raise Unread("a definition without the members that every definition has")
        if name == CRD and not obj.get("status"):
            obj = _accepted(obj, self._now)
        if kind.api_version:
            obj = builtin.conversion.convert(obj, kind.api_version)
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or ""
        path = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        return kind.prefix + path, obj

    def _define(self, crd: Object) -> None:
        if crd.get("apiVersion") != f"{CRD.group}/v1":
            return
        if not _is_usable(crd):
            self._unusable.add(crd["metadata"]["name"])
            return
        names = crd["spec"]["names"]
        name = KindName(crd["spec"]["group"], names["kind"])
        self._kinds.setdefault(name, Stored(keys.prefix(names["plural"], name.group)))

    def _make(self, name: KindName, seen: SeenKind, findings: Findings) -> None:
        if any((each.group, each.names.kind) == name for each in builtin.definitions()):
            findings.add(f"{name.kind}, which a server does not store", "", seen.count)
        elif not name.group:
            place = f"{seen.count} objects"
            findings.add(f"the kind {name.kind}, which no server of this version knows", place)
        else:
            self._define_freely(name, seen)

    def _define_freely(self, name: KindName, seen: SeenKind) -> None:
        plural = _PLURALS.get(name) or min(seen.plurals, default="") or _guess(name.kind)
        self._kinds[name] = Stored(keys.prefix(plural, name.group))
        self.generated.append(_accepted(_definition(name, plural, seen), self._now))

    def made_keys(self) -> Iterator[tuple[str, Object]]:
        """Yield the keys of the generated definitions, and the definitions."""
        for crd in self.generated:
            yield _CRD_KEYS + crd["metadata"]["name"], crd


def _built_in() -> Iterator[tuple[KindName, Stored]]:
    for definition in builtin.definitions():
        kind = definition.names.kind
        if "watch" in definition.verbs:
            version = definition.gvk(definition.storage_version.name).api_version
            stored = Stored(
                keys.prefix(definition.names.plural), builtin.conversion.STORED.get(kind, version)
            )
            yield KindName(definition.group, kind), stored


def _guess(kind: str) -> str:
    """Return the plural of a kind, as apimachinery/pkg/api/meta/restmapper.go
    (UnsafeGuessKindToResource)."""
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word.removesuffix('y')}ies" if word.endswith("y") else f"{word}s"


def _definition(name: KindName, plural: str, seen: SeenKind) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    ordered = sorted(seen.versions, key=versions.preference)
    names = {
        "kind": name.kind, "listKind": f"{name.kind}List",
        "plural": plural, "singular": name.kind.lower(),
    }  # fmt: skip
    return {
        "apiVersion": f"{CRD.group}/v1",
        "kind": CRD.kind,
        "metadata": {
            "name": f"{plural}.{name.group}",
            "annotations": {
                MADE: _WITHOUT_DEFINITION,
                "api-approved.kubernetes.io": "unapproved, made for a dump",
            },
        },
        "spec": {
            "group": name.group,
            "names": names,
            "scope": "Namespaced" if seen.is_namespaced else "Cluster",
            "conversion": {"strategy": "None"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == ordered[0],
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in ordered
            ],
        },
    }


def _is_usable(crd: Object) -> bool:
    """Return whether a definition has members of the right types, a group, names and one stored
    version. A server that starts with it needs no more."""
    try:
        spec = crds.decode(crd)[0]["spec"]
    except DecodeError:
        return False
    names = spec.get("names") or {}
    is_named = spec.get("group") and names.get("kind") and names.get("plural")
    stored = [each for each in spec.get("versions") or () if each.get("storage")]
    return (
        bool(is_named) and len(stored) == 1 and all(each.get("name") for each in spec["versions"])
    )


def _accepted(crd: Object, now: str) -> Object:
    """Return a definition without a status as a server keeps it."""
    crds.default(crd)
    stored = [each["name"] for each in crd["spec"]["versions"] if each.get("storage")]
    crd["status"] = {"storedVersions": stored, "conditions": []}
    crd["status"] = crds.next_status(crd, (), now)
    return crd
