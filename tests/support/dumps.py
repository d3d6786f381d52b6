"""Dumps of a running server, laid out as the tools lay theirs out.

Each function takes the objects and the logs of a server, and writes a folder or returns a text. The
layouts are those of the sources that `apiserver/dumps/layouts.py` names.
"""

import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]


class Log(NamedTuple):
    """The log of a container."""

    namespace: str
    pod: str
    container: str
    text: bytes
    is_previous: bool = False


class Listed(NamedTuple):
    """A kind of a server, with its objects."""

    group: str
    version: str
    plural: str
    kind: str
    items: list[Object]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def listed(self, items: list[Object]) -> Object:
        return {
            "kind": f"{self.kind}List",
            "apiVersion": self.api_version,
            "metadata": {},
            "items": items,
        }

    def by_namespace(self) -> dict[str, list[Object]]:
        found: dict[str, list[Object]] = {}
        for item in self.items:
            found.setdefault(item["metadata"].get("namespace", ""), []).append(item)
        return found


LOGS = [
    Log(
        "default",
        "web",
        "main",
        b"".join(b"2026-11-26T20:%02d:00.5Z line %d\n" % (n, n) for n in range(60)),
    ),
    Log("default", "web", "main", b"2026-11-26T19:00:00Z crashed\n", is_previous=True),
    Log("default", "web", "side", b"no times here\nsecond line"),
]


async def kinds_of(web: Any) -> list[Listed]:
    """Return every stored kind of a server with its objects, over HTTP."""
    found = []
    for group, version, resources in await _resources(web):
        for each in resources:
            if "/" in each["name"] or "watch" not in each["verbs"] or group == "events.k8s.io":
                continue
            root = f"/apis/{group}/{version}" if group else f"/api/{version}"
            answer = (await web.ask("GET", f"{root}/{each['name']}")).json
            head = {"apiVersion": f"{group}/{version}" if group else version, "kind": each["kind"]}
            items = [{**head, **item} for item in answer["items"]]
            found.append(Listed(group, version, each["name"], each["kind"], items))
    return found


async def _resources(web: Any) -> list[tuple[str, str, list[Object]]]:
    found = [("", "v1", (await web.ask("GET", "/api/v1")).json["resources"])]
    for group in (await web.ask("GET", "/apis")).json["groups"]:
        version = group["preferredVersion"]["version"]
        path = f"/apis/{group['name']}/{version}"
        found.append((group["name"], version, (await web.ask("GET", path)).json["resources"]))
    return found


def kubectl_yaml(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`kubectl get … -A -o yaml`"""
    items = [item for kind in kinds for item in kind.items]
    listed = {
        "apiVersion": "v1",
        "items": items,
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return _write(folder / "all.yaml", _yaml(listed))


def kubectl_json(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`kubectl get … -A -o json`"""
    items = [item for kind in kinds for item in kind.items]
    listed = {
        "apiVersion": "v1",
        "items": items,
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return _write(folder / "all.json", json.dumps(listed, indent=4))


def must_gather(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`oc adm must-gather`: lists of namespaced kinds, a file for each other object."""
    root = folder / "must-gather.local.1" / "quay-io-openshift-sha256-abc"
    for kind in kinds:
        group = kind.group or "core"
        for namespace, items in kind.by_namespace().items():
            if namespace and kind.plural != "pods":
                path = root / "namespaces" / namespace / group / f"{kind.plural}.yaml"
                _write(path, _yaml(kind.listed(items)))
                continue
            for item in items:
                name = item["metadata"]["name"]
                path = root / "cluster-scoped-resources" / group / kind.plural / f"{name}.yaml"
                if namespace:
                    path = root / "namespaces" / namespace / "pods" / name / f"{name}.yaml"
                _write(path, f"---\n{_yaml(item)}")
    for log in logs:
        pod = root / "namespaces" / log.namespace / "pods" / log.pod
        which = "previous" if log.is_previous else "current"
        _write(pod / log.container / log.container / "logs" / f"{which}.log", log.text)
    _write(root / "version", "openshift/must-gather\n4.19.0\n")
    _write(root / "event-filter.html", "<html></html>")
    return folder / "must-gather.local.1"


_OF_BUNDLES = {
    "persistentvolumes": "pvs", "persistentvolumeclaims": "pvcs", "ingresses": "ingress",
    "networkpolicies": "network-policy", "resourcequotas": "resource-quota",
    "storageclasses": "storage-classes", "ingressclasses": "ingress-classes",
    "customresourcedefinitions": "custom-resource-definitions",
    "poddisruptionbudgets": "pod-disruption-budgets",
}  # fmt: skip


def support_bundle(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`kubectl support-bundle`: lists as JSON, custom resources as arrays, in a .tar.gz."""
    root = folder / "support-bundle-2026-11-26T20_00_00" / "cluster-resources"
    for kind in kinds:
        name = _OF_BUNDLES.get(kind.plural, kind.plural)
        is_custom = "example" in kind.group
        for namespace, items in kind.by_namespace().items():
            if is_custom:
                path = root / "custom-resources" / f"{kind.plural}.{kind.group}"
                path = path / f"{namespace}.json" if namespace else path.with_suffix(".json")
                _write(path, json.dumps(items, indent=2))
            else:
                path = root / name / f"{namespace}.json" if namespace else root / f"{name}.json"
                _write(path, json.dumps(kind.listed(items), indent=2))
    _write(root / "pods-errors.json", "[]")
    for log in logs:
        name = f"{log.container}-previous.log" if log.is_previous else f"{log.container}.log"
        _write(root / "pods" / "logs" / log.namespace / log.pod / name, log.text)
    _write(
        root.parent / "version.yaml", "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n"
    )
    return packed(root.parent)


def crust_gather(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`kubectl crust-gather collect`: a YAML file for each object, in a .zip."""
    root = _crust_gather(kinds, logs, folder, group_ends_with="/")
    target = folder / "crust-gather.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*.*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return target


def new_crust_gather(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`kubectl crust-gather collect` of later versions, in a .tar.gz: the group is in the folder of
    the version, and each file of the archive ends with a zero (writer.rs counts one byte more)."""
    root = _crust_gather(kinds, logs, folder, group_ends_with="-")
    for path in root.rglob("*.yaml"):
        path.write_bytes(path.read_bytes() + b"\0")
    return packed(root)


def _crust_gather(
    kinds: list[Listed], logs: list[Log], folder: Path, *, group_ends_with: str
) -> Path:
    root = folder / "crust-gather"
    for kind in kinds:
        for namespace, items in kind.by_namespace().items():
            home = root / "namespaces" / namespace if namespace else root / "cluster"
            for item in items:
                name = item["metadata"]["name"]
                version = kind.api_version.replace("/", group_ends_with)
                path = home / version / kind.kind.lower() / f"{name}.yaml"
                _write(path, _yaml(item))
    for log in logs:
        which = "previous" if log.is_previous else "current"
        pod = root / "namespaces" / log.namespace / "v1" / "pod" / log.pod
        _write(pod / log.container / f"{which}.log", log.text)
    return root


def velero(kinds: list[Listed], logs: list[Log], folder: Path) -> Path:
    """`velero backup download`: a JSON file for each object, in a .tar.gz."""
    root = folder / "backup"
    for kind in kinds:
        full = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        for item in kind.items:
            meta = item["metadata"]
            place = f"namespaces/{meta['namespace']}" if meta.get("namespace") else "cluster"
            for version in ("", f"{kind.version}-preferredversion/"):
                path = root / "resources" / full / version / place / f"{meta['name']}.json"
                _write(path, json.dumps(item))
    _write(root / "metadata" / "version", "1.1.0\n")
    return packed(root)


def shown(kinds: list[Listed]) -> dict[tuple[str, str, str, str], Any]:
    """Return every object by group, kind, namespace and name; Secrets left out."""
    return {
        (
            kind.group,
            kind.kind,
            item["metadata"].get("namespace", ""),
            item["metadata"]["name"],
        ): item
        for kind in kinds
        for item in kind.items
        if kind.kind != "Secret"
    }


def packed(folder: Path) -> Path:
    """Return the folder as a .tar.gz."""
    target = folder.with_name(f"{folder.name}.tar.gz")
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, folder.name)
    return target


ALL = {each.__name__: each for each in (
    kubectl_yaml, kubectl_json, must_gather, support_bundle, crust_gather, new_crust_gather, velero,
)}  # fmt: skip
WITH_LOGS = {"must_gather", "support_bundle", "crust_gather", "new_crust_gather"}
TOOLS = {
    "kubectl_yaml": "lists of kubectl", "kubectl_json": "lists of kubectl",
    "must_gather": "must-gather", "support_bundle": "support bundle",
    "crust_gather": "crust-gather", "new_crust_gather": "crust-gather",
    "velero": "Velero backup",
}  # fmt: skip


def _write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _yaml(value: Object) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=True)
    return text
