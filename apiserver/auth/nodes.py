"""The Node authorizer: a kubelet reads only what the pods on its node need.

An object is related to a node through a pod that is bound to it, and through the claims and volumes
of this pod. The relations are looked up in memory for each action: kubelets of tests are few.
Loaded only with this mode. Follows plugin/pkg/auth/authorizer/node (node_authorizer.go, graph.go).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.authorizer import YES, HeldRules
from inkube.apiserver.auth.rules import PreparedRule, Rule
from inkube.apiserver.registry import User, keys
from inkube.schemas import releases, selectors, status
from inkube.schemas.builtin import podreferences
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

PREFIX: Final = "system:node:"
GROUP: Final = "system:nodes"
LEASES: Final = "kube-node-lease"
_SELECTORS: Final = 32
"""The minor since which kubelets read only their own node and pods (AuthorizeNodeWithSelectors)."""
_OWN_OBJECT: Final = ("get", "create", "update", "patch", "delete")
_NO: Final = Decision(False)
_KINDS: Final = {"secrets": "Secret", "configmaps": "ConfigMap"}


def name_of(user: User) -> str | None:
    """Return the name of the node whose kubelet a user is; "" if it is unknown, None for others
    (nodeidentifier)."""
    if not user.name.startswith(PREFIX) or GROUP not in user.groups:
        return None
    return user.name.removeprefix(PREFIX)


class NodeAuthorizer:
    """Decides about actions of kubelets; it has no opinion about other users.

    `rules` returns the rules for resources that are the same for all nodes.
    """

    def __init__(
        self,
        store: BaseStore,
        rules: Callable[[], Sequence[Rule]],
        minor: int = releases.NEWEST.minor,
    ) -> None:
        uses_selectors = minor >= _SELECTORS
        self._relations = _Relations(store)
        self._rules = rules
        self._prepared: Sequence[PreparedRule] | None = None
        self._uses_selectors = uses_selectors
        self._checks: Mapping[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("", "secrets"): self._read_in_namespace,
            ("", "configmaps"): self._read_in_namespace,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._create_token,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
            **({("", "nodes"): _node, ("", "pods"): self._pod} if uses_selectors else {}),
        }

    def decide(self, attributes: Attributes) -> Decision:
        """Return the decision about an action of a kubelet."""
        node = name_of(attributes.user)
        if node is None:
            return _NO
        if not node:
            return Decision(False, f"unknown node for user {quote(attributes.user.name)}")
        check = self._checks.get((attributes.group, attributes.resource))
        if check is not None and attributes.is_resource:
            return check(node, attributes)
        if self._prepared is None:
            self._prepared = tuple(map(PreparedRule, self._rules()))
        return YES if any(rule.allows(attributes) for rule in self._prepared) else _NO

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return no rules: those of a kubelet depend on its pods."""
        if name_of(user) is None:
            return HeldRules([])
        failure = "node authorizer does not support user rule resolution"
        return HeldRules([], failure, is_incomplete=True)

    def _read_in_namespace(self, node: str, action: Attributes) -> Decision:
        if action.verb not in ("get", "list", "watch"):
            return Decision(False, "can only read resources of this type")
        if action.subresource:
            return Decision(False, "cannot read subresource")
        if not action.namespace:
            return Decision(False, "can only read namespaced object of this type")
        return self._related(node, action)

    def _claim(self, node: str, action: Attributes) -> Decision:
        if action.subresource != "status":
            return self._get(node, action)
        if action.verb not in ("update", "patch"):
            return Decision(False, "can only get/update/patch this type")
        return self._related(node, action)

    def _get(self, node: str, action: Attributes) -> Decision:
        if action.verb != "get":
            return Decision(False, "can only get individual resources of this type")
        if action.subresource:
            return Decision(False, "cannot get subresource")
        return self._related(node, action)

    def _create_token(self, node: str, action: Attributes) -> Decision:
        if action.verb != "create" or not action.name:
            return Decision(False, "can only create tokens for individual service accounts")
        if action.subresource != "token":
            return Decision(False, "can only create token subresource of serviceaccount")
        return self._related(node, action)

    def _slice(self, node: str, action: Attributes) -> Decision:
        if action.subresource:
            return Decision(False, "cannot authorize ResourceSlice subresources")
        if action.verb == "create":
            return YES  # admission checks the node in the object
        if action.verb in ("get", "update", "patch", "delete"):
            return self._related(node, action)
        if action.verb not in ("watch", "list", "deletecollection"):
            return Decision(
                False,
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, "
                "create, update, patch, delete, deletecollection",
            )
        if not self._uses_selectors or _selects(action, "spec.nodeName", node):
            return YES
        why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
        return Decision(False, why)

    def _pod(self, node: str, action: Attributes) -> Decision:
        if action.subresource:
            # admission limits a node to its own pods
            allowed = {"status": ("update", "patch"), "eviction": ("create",)}
            return YES if action.verb in allowed.get(action.subresource, ()) else _NO
        if action.verb == "get":
            return self._get(node, action)
        if action.verb in ("list", "watch"):
            if _selects(action, "spec.nodeName", node):
                return YES
            if action.name:
                return self._related(node, action)
            return Decision(False, "can only list/watch pods with spec.nodeName field selector")
        return YES if action.verb in ("create", "delete") else _NO

    def _related(self, node: str, action: Attributes) -> Decision:
        if not action.name:
            return Decision(False, "No Object name found")
        if self._relations.hold(node, action.resource, action.namespace, action.name):
            return YES
        why = f"no relationship found between node '{node}' and this object"
        return Decision(False, why)


def _lease(node: str, action: Attributes) -> Decision:
    if action.verb not in _OWN_OBJECT:
        return Decision(False, "can only get, create, update, patch, or delete a node lease")
    if action.namespace != LEASES:
        return Decision(False, f"can only access leases in the {quote(LEASES)} system namespace")
    if action.verb != "create" and action.name != node:
        why = "can only access node lease with the same name as the requesting node"
        return Decision(False, why)
    return YES


def _csi_node(node: str, action: Attributes) -> Decision:
    if action.verb not in _OWN_OBJECT:
        return Decision(False, "can only get, create, update, patch, or delete a CSINode")
    if action.subresource:
        return Decision(False, "cannot authorize CSINode subresources")
    if action.verb != "create" and action.name != node:
        why = "can only access CSINode with the same name as the requesting node"
        return Decision(False, why)
    return YES


def _node(node: str, action: Attributes) -> Decision:
    if action.subresource == "status":
        return YES if action.verb in ("update", "patch") else _NO
    if action.subresource:
        return _NO
    if action.verb in ("create", "update", "patch"):
        return YES  # admission limits a node to its own object
    if action.verb not in ("get", "list", "watch"):
        return _NO
    if action.name == node:
        return YES
    what = f"'{action.name}'" if action.name else "all nodes"
    return Decision(False, f"node '{node}' cannot read {what}, only its own Node object")


def _selects(action: Attributes, path: str, value: str) -> bool:
    """Return whether the field selector of an action allows only this value of a field."""
    try:
        terms = selectors.parse_fields(action.field_selector)
    except status.StatusError:
        return False  # the handler refuses it
    return any(term.path == path and term.value == value and not term.negated for term in terms)


class _Relations:
    """The objects that are related to a node, in one store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def hold(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether an object is related to a node."""
        if resource == "persistentvolumes":
            return self._has_volume(node, name)
        if resource in ("volumeattachments", "resourceslices"):
            entry = self._store.get(keys.key(resource, "", name))
            return entry is not None and (entry.value.get("spec") or {}).get("nodeName") == node
        if any(name in _names(resource, pod) for pod in self._pods(node, namespace)):
            return True
        return resource == "secrets" and self._is_of_volume(node, namespace, name)

    def _pods(self, node: str, namespace: str) -> Iterator[Object]:
        for entry in self._store.list(keys.key("pods", namespace, "")):
            pod: Object = entry.value
            if (pod.get("spec") or {}).get("nodeName") == node:
                yield pod

    def _has_volume(self, node: str, name: str) -> bool:
        entry = self._store.get(keys.key("persistentvolumes", "", name))
        claim = ((entry.value.get("spec") or {}).get("claimRef") or {}) if entry else {}
        namespace, claim_name = claim.get("namespace", ""), claim.get("name", "")
        return bool(claim) and self.hold(node, "persistentvolumeclaims", namespace, claim_name)

    def _is_of_volume(self, node: str, namespace: str, name: str) -> bool:
        """Return whether a volume of the node refers to a secret."""
        for entry in self._store.list(keys.prefix("persistentvolumes")):
            volume: Object = entry.value
            own = ((volume.get("spec") or {}).get("claimRef") or {}).get("namespace", "")
            if (namespace, name) in set(_secrets_of_volume(volume, own)):
                meta = volume["metadata"]
                if self._has_volume(node, meta["name"]):
                    return True
        return False


def _names(resource: str, pod: Object) -> Iterable[str]:
    """Return the names of the objects of a kind that a pod refers to. The kubelet of a mirror pod
    has created it: it gives no rights."""
    meta, spec = pod["metadata"], pod["spec"]
    if resource == "pods":
        return (meta["name"],)
    if podreferences.is_mirror(pod):
        return ()
    if resource == "serviceaccounts":
        return filter(None, (spec.get("serviceAccountName"),))
    if resource in _KINDS:
        references = podreferences.of_spec(spec)
        return (each.name for each in references if each.kind == _KINDS[resource])
    if resource == "persistentvolumeclaims":
        return _claims(pod)
    return _resource_claims(pod) if resource == "resourceclaims" else ()


def _claims(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"].get("claimName", "")
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _resource_claims(pod: Object) -> Iterator[str]:
    current = pod.get("status") or {}
    generated = {
        each["name"]: each.get("resourceClaimName")
        for each in current.get("resourceClaimStatuses") or ()
    }
    for claim in pod["spec"].get("resourceClaims") or ():
        yield claim.get("resourceClaimName") or generated.get(claim["name"]) or ""
    yield (current.get("extendedResourceClaimStatus") or {}).get("resourceClaimName", "")


def _secrets_of_volume(volume: Object, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the secrets of a volume (pkg/api/v1/persistentvolume)."""
    for source in (volume.get("spec") or {}).values():
        if not isinstance(source, dict):
            continue
        for key, found in source.items():
            if key.lower().endswith("secretref") and isinstance(found, dict):
                yield found.get("namespace") or namespace, found.get("name", "")
        if "secretName" in source and "shareName" in source:
            yield source.get("secretNamespace") or namespace, source["secretName"]
