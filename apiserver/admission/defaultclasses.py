"""Admission that sets default classes, the finalizer of storage objects, and the first taint of
nodes.

Follows plugin/pkg/admission/storage/{setdefault,storageobjectinuseprotection}, storage/persistent-
volume/resize, network/defaultingressclass and nodetaint.
"""

from inkube.apiserver.registry import OfStore, Plugin, Write, keys, refused
from inkube.schemas import quantity
from inkube.schemas.objects import Object
from inkube.storage import Store

_CLAIMS = ("", "persistentvolumeclaims")
_FINALIZERS = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def _default(store: Store, plural: str, *annotations: str) -> str | None:
    """Return the name of the newest class that an annotation marks as the default, or None. Of
    classes with the same age, the first by name wins."""
    marked = [
        entry.value["metadata"]
        for entry in store.list(keys.prefix(plural))
        if any(
            (entry.value["metadata"].get("annotations") or {}).get(annotation) == "true"
            for annotation in annotations
        )
    ]
    newest = max((meta["creationTimestamp"] for meta in marked), default=None)
    return min((m["name"] for m in marked if m["creationTimestamp"] == newest), default=None)


class DefaultStorageClass(OfStore):
    """Sets the default storage class of claims without a class."""

    name = "DefaultStorageClass"
    kinds = (_CLAIMS,)
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        claim = write.object
        if claim is None or write.request.subresource or _class_of(claim) is not None:
            return
        name = _default(
            self._store,
            "storageclasses",
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        )
        if name is not None:
            claim["spec"]["storageClassName"] = name


def _class_of(claim: Object) -> str | None:
    annotations: dict[str, str] = claim["metadata"].get("annotations") or {}
    name: str | None = (claim.get("spec") or {}).get("storageClassName")
    return annotations.get(_BETA_CLASS, name)


class StorageProtection(Plugin):
    """Adds a finalizer to claims and volumes, which protects them while they are in use."""

    name = "StorageObjectInUseProtection"
    kinds = _FINALIZERS
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        obj, resource = write.object, write.request.resource
        if obj is None or write.request.subresource:
            return
        finalizers = obj["metadata"].get("finalizers") or []
        wanted = _FINALIZERS[resource.group, resource.plural]
        if wanted not in finalizers:
            obj["metadata"]["finalizers"] = [*finalizers, wanted]


class ClaimResize(OfStore):
    """Refuses to enlarge claims, unless they are bound and their class allows it."""

    name = "PersistentVolumeClaimResize"
    kinds = (_CLAIMS,)
    operations = ("UPDATE",)

    async def validate(self, write: Write) -> None:
        claim, old, request = write.object, write.old, write.request
        if claim is None or old is None or request.subresource or _size(claim) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise refused(write, "Only bound persistent volume claims can be expanded")
        if not self._may_grow(_class_of(claim), _class_of(old)):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize"
            )
            raise refused(write, why)

    def _may_grow(self, name: str | None, old: str | None) -> bool:
        if not name or name != old:
            return False
        entry = self._store.get(keys.key("storageclasses", "", name))
        return entry is not None and bool(entry.value.get("allowVolumeExpansion"))


def _size(claim: Object) -> quantity.Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return quantity.parse(requests.get("storage", "0"))


class DefaultIngressClass(OfStore):
    """Sets the default class of Ingresses without a class."""

    name = "DefaultIngressClass"
    kinds = (("networking.k8s.io", "ingresses"),)
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        ingress = write.object
        if ingress is None or write.request.subresource:
            return
        annotations = ingress["metadata"].get("annotations") or {}
        spec = ingress.setdefault("spec", {})
        if "ingressClassName" in spec or "kubernetes.io/ingress.class" in annotations:
            return
        name = _default(
            self._store, "ingressclasses", "ingressclass.kubernetes.io/is-default-class"
        )
        if name is not None:
            spec["ingressClassName"] = name


class TaintNewNodes(Plugin):
    """Adds the taint "not ready" to new nodes; a controller removes it (TaintNodesByCondition)."""

    name = "TaintNodesByCondition"
    kinds = (("", "nodes"),)
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        node = write.object
        if node is None or write.request.subresource:
            return
        spec = node.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(
            (taint.get("key"), taint.get("effect")) == tuple(_NOT_READY.values())
            for taint in taints
        ):
            spec["taints"] = [*taints, dict(_NOT_READY)]
