"""Defaults of pod specs, wherever they stand: pods, templates, jobs.

Follows pkg/apis/core/v1/defaults.go and zz_generated.defaults.go.
"""

from inkube.schemas.builtin import affinity
from inkube.schemas.objects import Object

_FILE_MODE = 0o644
_POD: Object = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_CONTAINER: Object = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Object = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
                  "failureThreshold": 3}  # fmt: skip
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def fill(target: Object, defaults: Object) -> None:
    """Give members that are missing, null or "" their default."""
    for member, value in defaults.items():
        if target.get(member) in (None, ""):
            target[member] = value


def pod_spec(spec: Object) -> None:
    """Everything that both pods and templates default; idempotent."""
    fill(spec, _POD)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    _account(spec)
    for member in CONTAINERS:
        for container in spec.get(member) or []:
            _container(container, host=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or []:
        _volume(volume)


def _account(spec: Object) -> None:
    """serviceAccount is the old name of serviceAccountName; both are sent."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _container(container: Object, *, host: bool) -> None:
    if container.get("imagePullPolicy") in (None, ""):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    fill(container, _CONTAINER)
    for port in container.get("ports") or []:
        fill(port, {"protocol": "TCP"})
        if host and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)
    for member in _PROBES:
        if container.get(member) is not None:
            _probe(container[member])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _http(handler)
    for variable in container.get("env") or []:
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            fill(reference, {"apiVersion": "v1"})


def pull_policy(image: str) -> str:
    """Always for the tag `latest` or none at all, else IfNotPresent."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"


def _probe(probe: Object) -> None:
    for member, value in _PROBE.items():
        if not probe.get(member):
            probe[member] = value
    _http(probe)
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _http(handler: Object) -> None:
    if handler.get("httpGet") is not None:
        fill(handler["httpGet"], {"path": "/", "scheme": "HTTP"})


def _volume(volume: Object) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
    for member in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(member) is not None:
            volume[member].setdefault("defaultMode", _FILE_MODE)
    _field_paths((volume.get("downwardAPI") or {}).get("items") or [])
    for source in (volume.get("projected") or {}).get("sources") or []:
        _field_paths((source.get("downwardAPI") or {}).get("items") or [])
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is not None:
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    if volume.get("image") is not None:
        fill(volume["image"], {"pullPolicy": pull_policy(volume["image"].get("reference", ""))})


def _field_paths(items: list[Object]) -> None:
    for item in items:
        if item.get("fieldRef") is not None:
            fill(item["fieldRef"], {"apiVersion": "v1"})


def requests_from_limits(spec: Object) -> None:
    """Pods ask for what limits them where they do not say (SetDefaults_Pod)."""
    for member in ("initContainers", "containers"):
        for container in spec.get(member) or []:
            resources = container.get("resources") or {}
            limits = resources.get("limits") or {}
            if limits:
                resources["requests"] = {**limits, **(resources.get("requests") or {})}


def select_by_label_keys(spec: Object, labels: dict[str, str]) -> None:
    """Selectors of a new pod take up the values its own labels have under given keys.

    podStrategy mutatePodAffinity, mutateTopologySpreadConstraints.
    """
    for term in affinity.pod_terms(spec):
        _select(term, "matchLabelKeys", "In", labels)
        _select(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _select(constraint, "matchLabelKeys", "In", labels)


def _select(term: Object, member: str, operator: str, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    made = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for key in term.get(member) or ()
        if key in labels
    ]
    if made:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *made]
