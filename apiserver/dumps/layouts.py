"""What the path of a file says: which tool wrote it, the plural of a kind, the pod of a log.

Objects tell their kind and their name themselves, so most of a layout is not needed to read them.
Layouts are the tools' own:

    must-gather            github.com/openshift/oc, pkg/cli/admin/inspect
    support bundle         github.com/replicatedhq/troubleshoot, pkg/constants/constants.go
    crust-gather           github.com/crust-gather/crust-gather, src/gather/representation.rs
    Velero                 velero.io/docs, output-file-format
    kubectl cluster-info   k8s.io/kubectl, pkg/cmd/clusterinfo/clusterinfo_dump.go
"""

import re
from typing import NamedTuple

from inkube.schemas import builtin
from inkube.schemas.objects import Object

MUST_GATHER, BUNDLE, CRUST = "must-gather", "support bundle", "crust-gather"
VELERO, CLUSTER_INFO = "Velero backup", "kubectl cluster-info dump"
LISTS, ETCD, DATA_FILE = "lists of kubectl", "etcd snapshot", "data file of inkube"


class Place(NamedTuple):
    """What a path says; members that it does not say are empty."""

    tool: str = ""
    plural: str = ""
    group: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    is_log: bool = False
    is_previous: bool = False


def _compiled(text: str) -> "re.Pattern[str]":
    words = {"NS": "(?P<namespace>[^/]+)", "POD": "(?P<pod>[^/]+)", "NAME": "[^/]+"}
    words |= {"PLURAL": "(?P<plural>[a-z0-9-]+)", "GROUP": "(?P<group>[a-z0-9.-]+)"}
    words |= {"WHICH": "(?P<which>current|previous)", "CONTAINER": "(?P<container>[^/]+?)"}
    pattern = re.sub(r"[A-Z]{2,}", lambda match: words[match[0]], text)
    return re.compile(rf"(?:^|/){pattern}$")


_PATHS = tuple(
    (tool, _compiled(path))
    for tool, path in (
        (
            MUST_GATHER,
            r"namespaces/NS/pods/POD/CONTAINER/(?P=container)/logs/WHICH(\.insecure)?\.log",
        ),
        (CRUST, r"namespaces/NS/v1/pod/POD/CONTAINER/WHICH\.log"),
        (BUNDLE, r"cluster-resources/pods/logs/NS/POD/CONTAINER-logs-errors\.(log|json)"),
        (BUNDLE, r"cluster-resources/pods/logs/NS/POD/CONTAINER(?P<which>-previous)?\.log"),
        (BUNDLE, r"cluster-resources/custom-resources/PLURAL\.GROUP(/NAME)?\.(json|yaml)"),
        (BUNDLE, r"cluster-resources/PLURAL(/NAME)?\.json"),
        (VELERO, r"resources/PLURAL(\.GROUP)?(/NAME)?/(namespaces/NS|cluster)/NAME\.json"),
        (MUST_GATHER, r"cluster-scoped-resources/GROUP/PLURAL(/NAME)?\.yaml"),
        # the group is a folder, or with newer versions a part of that of the version
        (CRUST, r"(cluster|namespaces/NS)(/NAME)?/([a-z0-9.-]+-)?v\d\w*/NAME/NAME\.(yaml|json)"),
        (MUST_GATHER, r"namespaces/NS/GROUP/PLURAL(/NAME)?\.yaml"),
        (MUST_GATHER, r"namespaces/NS/(?P=namespace)\.yaml"),
        (MUST_GATHER, r"namespaces/NS/pods/POD/(?P=pod)\.yaml"),
        (CLUSTER_INFO, r"NS/POD/logs\.txt"),
    )
)
_OWN_PLURALS = {
    "pvs": "persistentvolumes", "pvcs": "persistentvolumeclaims", "ingress": "ingresses",
    "network-policy": "networkpolicies", "resource-quota": "resourcequotas",
    "storage-classes": "storageclasses", "ingress-classes": "ingressclasses",
    "custom-resource-definitions": "customresourcedefinitions",
    "pod-disruption-budgets": "poddisruptionbudgets",
    "validating-webhook-configurations": "validatingwebhookconfigurations",
    "mutating-webhook-configurations": "mutatingwebhookconfigurations",
}  # fmt: skip
"""The names of a support bundle that are no plurals."""


def place_of(path: str) -> Place:
    """Return what a path says."""
    for tool, pattern in _PATHS:
        match = pattern.search(path)
        if match is None:
            continue
        found = match.groupdict()
        which = found.pop("which", None) or ""
        members = {name: text for name, text in found.items() if text}
        plural = members.pop("plural", "")
        is_log = path.endswith((".log", "/logs.txt")) and "-logs-errors." not in path
        return Place(
            tool=tool,
            plural=_OWN_PLURALS.get(plural, plural),
            group="" if members.get("group") == "core" else members.pop("group", ""),
            is_log=is_log,
            is_previous="previous" in which,
            **{name: text for name, text in members.items() if name != "group"},
        )
    return Place()


def is_of_objects(path: str) -> bool:
    """Return whether the name of a file says that it contains objects."""
    return path.endswith((".json", ".yaml", ".yml", ".jsonl"))


def is_version(path: str) -> bool:
    """Return whether a file contains the response of `/version`, as in a support bundle."""
    return path.endswith("cluster-info/cluster_version.json")


def kind_of(plural: str) -> Object:
    """Return the apiVersion and the kind of a built-in plural: {} for others."""
    for definition in builtin.definitions():
        if definition.names.plural == plural and "list" in definition.verbs:
            gvk = definition.gvk(definition.storage_version.name)
            return {"apiVersion": gvk.api_version, "kind": gvk.kind}
    return {}
