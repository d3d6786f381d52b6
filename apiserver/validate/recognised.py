"""Files and documents that are no manifests, although they look like some.

A repository contains kustomizations, patches, charts, values and configurations of tools. They
are named in the summary, and not checked as objects.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import yaml

from inkube.apiserver.validate.files import STDIN
from inkube.schemas import builtin
from inkube.schemas.meta import split_api_version
from inkube.schemas.offline import Read, Unreadable

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CHART = "Chart.yaml"
_OF_CHARTS = re.compile(r"(Chart|values[^/]*|requirements|ci/[^/]*)\.(yaml|yml|lock|json)|.*\.tpl")
_INDEX = "index.yaml"
_OF_INDEX = re.compile(rb"^entries\s*:", re.MULTILINE)
_TEMPLATE = re.compile(rb"\{\{")
TEMPLATE = "template"
_PLACEHOLDERS = ("{{", "${")
_PATCHES = frozenset({"patch", "patches"})
"""Names of folders with patches."""
_LOCAL = "config.kubernetes.io/local-config"
_TOOLS = {
    "apiserver.config.k8s.io": "configuration of kube-apiserver",
    "apiserver.k8s.io": "configuration of kube-apiserver",
    "audit.k8s.io": "configuration of kube-apiserver",
    "builtin": "kustomize plugin",
    "chainsaw.kyverno.io": "test of Chainsaw",
    "cli.kyverno.io": "test of Kyverno",
    "client.authentication.k8s.io": "kubeconfig",
    "controller-runtime.sigs.k8s.io": "configuration of a component",
    "ctlptl.dev": "configuration of ctlptl",
    "eksctl.io": "configuration of eksctl",
    "k3d.io": "configuration of k3d",
    "kind.x-k8s.io": "configuration of kind",
    "kpt.dev": "configuration of kpt",
    "krew.googlecontainertools.github.com": "plugin of Krew",
    "kubeadm.k8s.io": "configuration of kubeadm",
    "kubecontrollermanager.config.k8s.io": "configuration of a component",
    "kubelet.config.k8s.io": "configuration of the kubelet",
    "kubeproxy.config.k8s.io": "configuration of kube-proxy",
    "kubescheduler.config.k8s.io": "configuration of kube-scheduler",
    "kustomize.config.k8s.io": "kustomization",
    "kuttl.dev": "test of kuttl",
    "skaffold": "configuration of Skaffold",
    "test.inkube.dev": "test of inkube",
}
"""API groups that no server has, and what their files are."""
_CONFIGURATIONS = {
    ("v1", "Config"): "kubeconfig",
    ("v1", "Policy"): "configuration of kube-scheduler",
}
"""Files of tools with the version of Kubernetes' core group."""


class Folders:
    """What the folders of one run contain: charts and kustomizations, each read once."""

    def __init__(self) -> None:
        self._charts: dict[PurePath, bool] = {}
        self._kustomizations: dict[Path, Mapping[str, Any]] = {}
        self._inputs: dict[Path, frozenset[Path]] = {}

    def file_kind(self, path: str, body: bytes) -> str:
        """Return what a file is if it is no manifest, from its place and content; "" for a
        manifest."""
        if path == STDIN:
            return ""
        file = PurePath(path)
        if file.name in _KUSTOMIZATIONS:
            return "kustomization"
        if file.name == _INDEX and _OF_INDEX.search(body):
            return "file of a Helm repository"
        chart = next((parent for parent in file.parents if self._has_chart(parent)), None)
        if chart is not None:
            within = file.relative_to(chart).as_posix()
            if _OF_CHARTS.fullmatch(within):
                return "file of a Helm chart"
            if within.startswith("templates/") and _TEMPLATE.search(body):
                return "Helm template"
        return "patch" if self._is_patch(file) else ""

    def completes(self, path: str) -> bool:
        """Return whether a kustomization next to the file, or one that uses it, can add what its
        objects lack."""
        return path != STDIN and bool(self._kustomization(Path(path).resolve().parent))

    def _has_chart(self, folder: PurePath) -> bool:
        if folder not in self._charts:
            self._charts[folder] = (Path(folder) / _CHART).is_file()
        return self._charts[folder]

    def _is_patch(self, file: PurePath) -> bool:
        """Return whether a kustomization in this folder or above uses the file for something else
        than an object."""
        whole = Path(file).resolve()
        named = any(whole in self._inputs_of(parent) for parent in whole.parents)
        return named or file.parent.name in _PATCHES

    def _inputs_of(self, folder: Path) -> frozenset[Path]:
        """Return the files that the kustomization of a folder uses for something else than
        objects."""
        if folder not in self._inputs:
            named = _named(self._kustomization(folder))
            self._inputs[folder] = frozenset((folder / each).resolve() for each in named)
        return self._inputs[folder]

    def _kustomization(self, folder: Path) -> Mapping[str, Any]:
        """Return the kustomization of a folder, {} without one that can be read."""
        if folder not in self._kustomizations:
            files = (folder / name for name in _KUSTOMIZATIONS)
            found = next((file for file in files if file.is_file()), None)
            self._kustomizations[folder] = {} if found is None else _mapping(found)
        return self._kustomizations[folder]


def document_kind(read: Read) -> str:
    """Return what an object is if no server has its kind; "" for an object of a server."""
    version = read.value.get("apiVersion") or ""
    group, _ = split_api_version(version)
    if any(mark in str(read.metadata.get("name")) for mark in _PLACEHOLDERS):
        return TEMPLATE
    notes = read.metadata.get("annotations")
    if isinstance(notes, dict) and str(notes.get(_LOCAL)).lower() == "true":
        return "local configuration"
    known = _CONFIGURATIONS.get((version, read.value["kind"]))
    known = known or _TOOLS.get(group) or _TOOLS.get(version, "")
    return known or ("object of another program" if _is_foreign(group, read.value["kind"]) else "")


def _is_foreign(group: str, kind: str) -> bool:
    """Return whether no server can have a kind: groups of custom resources have a dot. Misspelled
    groups of Kubernetes, and those of its kinds, are not foreign."""
    if not group or "." in group:
        return False
    defined = builtin.definitions()
    groups = {each.group for each in defined if "." not in each.group}
    near = difflib.get_close_matches(group.lower(), [*groups, "extensions"], 1)
    return not near and kind.lower() not in {each.names.kind.lower() for each in defined}


def text_kind(part: Unreadable) -> str:
    """Return what a document without an object is; "" if it has to be one."""
    if part.code == "syntax" and _TEMPLATE.search(part.read.document.body):
        return TEMPLATE
    return "file without objects" if part.is_other else ""


def _mapping(file: Path) -> Mapping[str, Any]:
    try:
        value = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, OSError, ValueError):
        return {}
    return value if isinstance(value, Mapping) else {}


_PATHS = {
    "patches": ("path",),
    "patchesJson6902": ("path",),
    "replacements": ("path",),
    "configMapGenerator": ("files", "envs", "env"),
    "secretGenerator": ("files", "envs", "env"),
    "helmCharts": ("valuesFile", "additionalValuesFiles"),
    "patchesStrategicMerge": (),
    "configurations": (),
    "crds": (),
    "transformers": (),
    "generators": (),
    "validators": (),
    "openapi": ("path",),
}
"""Members of a kustomization: lists of files, or of objects with these members."""


def _named(value: Mapping[str, Any]) -> Iterator[str]:
    for member, inner in _PATHS.items():
        for each in _listed(value.get(member)):
            if isinstance(each, str):
                yield each.rpartition("=")[2]
            elif isinstance(each, Mapping):
                named = (_listed(each.get(name)) for name in inner)
                yield from (str(file).rpartition("=")[2] for files in named for file in files)


def _listed(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)
