"""NodeRestriction admission: a node changes its own Node, lease, CSINode and pods only.

A node is a user `system:node:NAME` of the group `system:nodes`. Follows
plugin/pkg/admission/noderestriction and pkg/auth/nodeidentifier.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from inkube.apiserver import auth
from inkube.apiserver.auth import Attributes, Authorizer, decided
from inkube.apiserver.registry import Plugin, Write, keys, refused
from inkube.schemas import releases, status
from inkube.schemas.builtin import gates, pem, podreferences
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object
from inkube.storage import Store

_IN_TREE = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
"""The CSI drivers that replace types of volumes (csi-translation-lib/plugins)."""
_RESTRICTED = "node-restriction.kubernetes.io"
_OWN_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
"""The labels of Kubernetes that a kubelet may set (kubelet/pkg/apis/well_known_labels.go)."""
_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_REFERENCES = 34
"""The minor since which mirror pods name no objects at all."""
_EARLIER = {
    "serviceaccounts": "a service account",
    "secrets": "secrets",
    "configmaps": "configmaps",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "clustertrustbundles": "clustertrustbundles",
}
"""The objects that mirror pods did not name before, with their names in the texts."""
_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}
"""Sources of volumes that need the API, with their names in the texts."""


class NodeRestriction(Plugin):
    """Refuses writes of nodes to what is not their own."""

    name = "NodeRestriction"
    only_refuses = True
    operations = ("CREATE", "UPDATE", "DELETE")

    def __init__(
        self, store: Store, authorizer: Authorizer, minor: int = releases.NEWEST.minor
    ) -> None:
        self._store = store
        self._authorizer = authorizer
        self._restricts_audiences = gates.is_on("ServiceAccountNodeAudienceRestriction", minor)
        self._refuses_all = minor >= _REFERENCES
        self._checks: Mapping[tuple[str, str], Callable[[Write, str], None]] = {
            ("", "pods"): self._check_pod,
            ("", "nodes"): self._check_node,
            ("", "persistentvolumeclaims"): _check_claim,
            ("", "serviceaccounts"): self._check_token,
            ("coordination.k8s.io", "leases"): _check_lease,
            ("storage.k8s.io", "csinodes"): _check_csi_node,
            ("resource.k8s.io", "resourceslices"): _check_slice,
            ("certificates.k8s.io", "certificatesigningrequests"): _check_signing_request,
        }

    async def mutate(self, write: Write) -> None:
        user, resource = write.request.user, write.request.resource
        node = auth.nodes.name_of(user)
        if node is None:
            return
        if not node:
            raise refused(write, f"could not determine node from user {quote(user.name)}")
        check = self._checks.get((resource.group, resource.plural))
        if check is not None:
            check(write, node)
        if _is_token_request(write) and self._restricts_audiences:
            await self._check_audience(write)

    def _check_pod(self, write: Write, node: str) -> None:
        subresource = write.request.subresource
        if subresource == "status":
            _check_status_of_pod(write, node)
        elif subresource == "eviction":
            if _node_of(self._pod(write, write.name)) != node:
                why = f"node {node} can only evict pods with spec.nodeName set to itself"
                raise refused(write, why)
        elif subresource:
            raise refused(
                write,
                f"unexpected pod subresource {quote(subresource)}, only 'status' and 'eviction' "
                "are allowed",
            )
        elif write.operation == "CREATE":
            self._check_mirror(write, node, write.object or {})
        elif write.operation == "DELETE":
            if _node_of(write.old or {}) != node:
                raise _only(write, node, "delete pods with spec.nodeName set to itself")
        else:
            raise refused(
                write,
                f"unexpected operation {quote(write.operation)}, node {quote(node)} can only "
                "create and delete mirror pods",
            )

    def _check_mirror(self, write: Write, node: str, pod: Object) -> None:
        meta, named = pod["metadata"], quote(node)
        if not podreferences.is_mirror(pod):
            raise refused(
                write,
                f"pod does not have {quote(podreferences.MIRROR)} annotation, node {named} can "
                "only create mirror pods",
            )
        if _node_of(pod) != node:
            raise _only(write, node, "create pods with spec.nodeName set to itself")
        owners = meta.get("ownerReferences") or []
        if len(owners) > 1:
            raise _only(write, node, "create pods with a single owner reference set to itself")
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise _only(write, node, "create pods with an owner reference set to itself")
        if not owner.get("controller"):
            raise _only(write, node, "create pods with a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            why = f"node {named} must not set blockOwnerDeletion on an owner reference"
            raise refused(write, why)
        self._check_uid(write, node, owner.get("uid", ""))
        self._check_references(write, node, pod["spec"])

    def _check_uid(self, write: Write, node: str, uid: str) -> None:
        actual = self._stored("nodes", node)["metadata"]["uid"]
        if uid != actual:
            raise refused(write, f"node {node} UID mismatch: expected {uid} got {actual}")

    def _check_references(self, write: Write, node: str, spec: Object) -> None:
        found = _api_objects(spec)
        if not self._refuses_all:
            found = (_EARLIER[each] for each in found if each in _EARLIER)
        for each in found:
            raise refused(write, f"node {quote(node)} can not create pods that reference {each}")

    def _pod(self, write: Write, name: str) -> Object:
        """Return a pod in the namespace of the request. Raises StatusError 404."""
        return self._stored("pods", name, namespace=write.request.namespace)

    def _stored(self, plural: str, name: str, group: str = "", namespace: str = "") -> Object:
        """Return a stored object. Raises StatusError 404, with the singular as in the errors of
        client-go's listers."""
        entry = self._store.get(keys.key(plural, namespace, name))
        if entry is None:
            raise status.not_found(group, plural.removesuffix("s"), name)
        found: Object = entry.value
        return found

    def _check_node(self, write: Write, node: str) -> None:
        named, new, old = quote(node), write.object, write.old
        if write.name != node:
            raise refused(write, f"node {named} is not allowed to modify node {quote(write.name)}")
        if new is None:
            return
        before, config = _config_source(old or {}), _config_source(new)
        if config is not None and config != before:
            verb = "create pods with a" if old is None else "update configSource to a new"
            raise refused(write, f"node {named} is not allowed to {verb} non-nil configSource")
        forbidden = ", ".join(sorted(_forbidden(_changed(_labels(new), _labels(old or {})))))
        if old is None:
            if forbidden:
                why = f"node {named} is not allowed to set the following labels: {forbidden}"
                raise refused(write, why)
            return
        if _taints(new) != _taints(old):
            raise refused(write, f"node {named} is not allowed to modify taints")
        if _owners(new) != _owners(old):
            raise refused(write, f"node {named} is not allowed to modify ownerReferences")
        if forbidden:
            raise refused(write, f"is not allowed to modify labels: {forbidden}")

    def _check_token(self, write: Write, node: str) -> None:
        if not _is_token_request(write):
            return
        reference = ((write.object or {}).get("spec") or {}).get("boundObjectRef") or {}
        kind = reference.get("apiVersion"), reference.get("kind")
        if kind != ("v1", "Pod") or not reference.get("name"):
            raise refused(write, "node requested token not bound to a pod")
        uid = reference.get("uid", "")
        if not uid:
            raise refused(write, "node requested token with a pod binding without a uid")
        pod = self._pod(write, reference["name"])
        if uid != pod["metadata"]["uid"]:
            raise refused(
                write,
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated",
            )
        if _node_of(pod) != node:
            why = "node requested token bound to a pod scheduled on a different node"
            raise refused(write, why)

    async def _check_audience(self, write: Write) -> None:
        """Allow the audience that a volume of the pod names, and those that the node is authorized
        for."""
        spec = (write.object or {}).get("spec") or {}
        audiences = spec.get("audiences") or [""]
        if len(audiences) > 1:
            raise refused(write, "node may only request 0 or 1 audiences")
        audience, request = audiences[0], write.request
        pod = self._pod(write, spec["boundObjectRef"]["name"])
        try:
            if self._names_audience(pod, audience):
                return
        except LookupError as error:
            raise refused(write, f"error validating audience {quote(audience)}: {error}") from error
        verb = "request-serviceaccounts-token-audience"
        action = Attributes(
            request.user, verb, "", "v1", audience, "", request.namespace, request.name
        )
        if not (await decided(self._authorizer, action)).allowed:
            raise refused(
                write,
                f"audience {quote(audience)} not found in pod spec volume, {request.user.name} is "
                "not authorized to request tokens for this audience",
            )

    def _names_audience(self, pod: Object, audience: str) -> bool:
        """Return whether a volume of a pod, or its CSI driver, names an audience; "" is that of
        the server. Raises LookupError if none does and objects behind volumes are missing."""
        missing = []
        for volume in pod["spec"].get("volumes") or ():
            try:
                if audience in self._audiences_of(pod, volume):
                    return True
            except status.StatusError as error:
                missing.append(error.message)
        if missing:
            raise LookupError(auth.aggregate(missing))
        return False

    def _audiences_of(self, pod: Object, volume: Object) -> Iterator[str]:
        """Yield the audiences of the tokens of a volume. Raises StatusError 404."""
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"].get("audience") or ""
        driver = self._driver_of(pod, volume)
        if driver:
            spec = self._stored("csidrivers", driver, "storage.k8s.io").get("spec") or {}
            for each in spec.get("tokenRequests") or ():
                yield each.get("audience") or ""

    def _driver_of(self, pod: Object, volume: Object) -> str:
        """Return the CSI driver of a volume, or of the volume behind a claim; "" without one.
        Raises StatusError 404."""
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if "ephemeral" in volume:
            name = f"{pod['metadata']['name']}-{volume['name']}"
        if not name:
            return _driver(volume)
        namespace = pod["metadata"]["namespace"]
        claim = self._stored("persistentvolumeclaims", name, namespace=namespace)
        bound = (claim.get("spec") or {}).get("volumeName") or ""
        return _driver(self._stored("persistentvolumes", bound)["spec"])


def _driver(source: Object) -> str:
    """Return the CSI driver of a volume of a pod, or of the spec of a PersistentVolume."""
    own = (source.get("csi") or {}).get("driver")
    return own or next((driver for member, driver in _IN_TREE.items() if member in source), "")


def _is_token_request(write: Write) -> bool:
    request = write.request
    return (request.resource.plural, request.subresource) == ("serviceaccounts", "token") and (
        write.operation == "CREATE"
    )


def _check_signing_request(write: Write, node: str) -> None:
    """Allow requests for certificates of kubelets only with the name of the node."""
    spec = (write.object or {}).get("spec") or {}
    signers = (auth.signers.KUBELET_SERVING, auth.signers.KUBELET_CLIENT)
    if write.operation != "CREATE" or spec.get("signerName") not in signers:
        return
    block = pem.first_block(spec.get("request"))
    if block is None:
        raise refused(write, "unable to parse csr: PEM block type must be CERTIFICATE REQUEST")
    try:
        name = auth.signers.common_name(block[1])
    except ValueError as error:
        raise refused(write, f"unable to parse csr: {error}") from error
    if name != f"{auth.nodes.PREFIX}{node}":
        raise refused(write, f"can only create a node CSR with CN={auth.nodes.PREFIX}{node}")


def _check_status_of_pod(write: Write, node: str) -> None:
    old, new = write.old or {}, write.object or {}
    named = quote(node)
    if write.operation != "UPDATE":
        raise refused(write, f"unexpected operation {quote(write.operation)}")
    if _node_of(old) != node:
        raise _only(write, node, "update pod status for pods with spec.nodeName set to itself")
    if _labels(old) != _labels(new):
        raise refused(write, f"node {named} cannot update labels through pod status")
    if _claims(old) != _claims(new):
        raise refused(write, f"node {named} cannot update resource claim statues")
    if _extended_claim(old) != _extended_claim(new):
        raise refused(write, f"node {named} cannot update extended resource claim status")


def _check_claim(write: Write, node: str) -> None:
    if write.request.subresource != "status":
        raise refused(write, "may only update PVC status")
    if write.operation != "UPDATE":
        raise refused(write, f"unexpected operation {quote(write.operation)}")
    if _without_progress(write.object or {}) != _without_progress(write.old or {}):
        raise refused(
            write,
            f"node {quote(node)} is not allowed to update fields other than status.quantity and "
            "status.conditions",
        )


def _check_lease(write: Write, node: str) -> None:
    if write.request.namespace != auth.nodes.LEASES:
        why = f"can only access leases in the {quote(auth.nodes.LEASES)} system namespace"
        raise refused(write, why)
    if write.name != node:
        why = "can only access node lease with the same name as the requesting node"
        raise refused(write, why)


def _check_csi_node(write: Write, node: str) -> None:
    if write.name != node:
        why = "can only access CSINode with the same name as the requesting node"
        raise refused(write, why)


def _check_slice(write: Write, node: str) -> None:
    state = write.old if write.operation == "DELETE" else write.object
    if write.operation == "UPDATE" or ((state or {}).get("spec") or {}).get("nodeName") == node:
        return
    verb = write.operation.lower()
    why = f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
    raise refused(write, why)


def _only(write: Write, node: str, allowed: str) -> status.StatusError:
    return refused(write, f"node {quote(node)} can only {allowed}")


def _api_objects(spec: Object) -> Iterator[str]:
    """Yield the objects that a pod names, as texts print them (podutil.HasAPIObjectReference)."""
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    kinds = {each.kind for each in podreferences.of_spec(spec) if each.name}
    if "Secret" in kinds:
        yield "secrets"
    if "ConfigMap" in kinds:
        yield "configmaps"
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes") or ():
        yield from (what for source, what in _VOLUMES.items() if source in volume)
        for each in (volume.get("projected") or {}).get("sources") or ():
            yield from (what for source, what in _PROJECTED.items() if source in each)


def _node_of(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _labels(obj: Object) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("labels") or {}


def _owners(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []


def _taints(node: Object) -> list[Object]:
    return (node.get("spec") or {}).get("taints") or []


def _claims(pod: Object) -> list[Object]:
    return (pod.get("status") or {}).get("resourceClaimStatuses") or []


def _extended_claim(pod: Object) -> Object:
    return (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}


def _config_source(node: Object) -> Object | None:
    return (node.get("spec") or {}).get("configSource")


def _without_progress(claim: Object) -> Object:
    """Return a claim without the members that a kubelet may change."""
    ignored = ("resourceVersion", "managedFields")
    progress = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
    found = claim.get("status") or {}
    return {
        **claim,
        "metadata": {key: value for key, value in claim["metadata"].items() if key not in ignored},
        "status": {key: value for key, value in found.items() if key not in progress},
    }


def _changed(new: Mapping[str, str], old: Mapping[str, str]) -> set[str]:
    return {key for key in {*new, *old} if new.get(key) != old.get(key)}


def _forbidden(labels: Iterable[str]) -> Iterable[str]:
    """Yield the labels that a node may not set."""
    for label in labels:
        domain = label.partition("/")[0] if "/" in label else ""
        is_of_kubernetes = _is_in(domain, "kubernetes.io", "k8s.io")
        is_own = label in _OWN_LABELS or _is_in(domain, *_OWN_DOMAINS)
        if _is_in(domain, _RESTRICTED) or (is_of_kubernetes and not is_own):
            yield label


def _is_in(domain: str, *parents: str) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)
