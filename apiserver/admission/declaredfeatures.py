"""Changes of pods that need a feature which their node does not declare.

Follows plugin/pkg/admission/nodedeclaredfeatures and component-helpers/nodedeclaredfeatures of
Kubernetes 1.36.
"""

from collections.abc import Callable

from inkube.apiserver.registry import OfStore, Write, keys, refused
from inkube.schemas import quantity
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object


class NodeDeclaredFeatures(OfStore):
    """Refuses a changed spec of a pod if its node does not declare what the change needs."""

    name = "NodeDeclaredFeatureValidator"
    kinds = (("", "pods"),)
    operations = ("UPDATE",)

    async def validate(self, write: Write) -> None:
        if write.request.subresource not in ("", "resize"):
            return
        pod, old = write.new["spec"], (write.old or {})["spec"]
        holder = pod.get("nodeName")
        if not holder or pod is old:
            return
        needed = [name for name, needs in _FEATURES.items() if needs(old, pod)]
        if not needed:
            return
        entry = self._store.get(keys.key("nodes", "", holder))
        if entry is None:
            raise refused(write, f"node {quote(holder)} not found")
        declared = (entry.value.get("status") or {}).get("declaredFeatures") or ()
        missing = [name for name in needed if name not in declared]
        if missing:
            raise refused(
                write,
                f"pod update requires features {', '.join(missing)} which are not available"
                f" on node {quote(holder)}",
            )


def _resizes_pod(old: Object, new: Object) -> bool:
    """Return whether the resources of the pod itself change."""
    return _amounts(old.get("resources")) != _amounts(new.get("resources"))


def _resizes_init_container(old: Object, new: Object) -> bool:
    """Return whether the resources of an init container that ends change."""
    pairs = zip(old.get("initContainers") or (), new.get("initContainers") or (), strict=False)
    return any(
        before.get("restartPolicy") != "Always"
        and _amounts(before.get("resources")) != _amounts(after.get("resources"))
        for before, after in pairs
    )


def _amounts(resources: Object | None) -> Object:
    """Return the resources with comparable quantities."""
    return {
        kind: {name: quantity.parse(amount) for name, amount in amounts.items()}
        for kind in ("limits", "requests")
        if (amounts := (resources or {}).get(kind))
    }


_FEATURES: dict[str, Callable[[Object, Object], bool]] = {
    "InPlacePodLevelResourcesVerticalScaling": _resizes_pod,
    "InPlacePodVerticalScalingInitContainers": _resizes_init_container,
}
"""Feature → whether a change of a spec needs it, sorted by name."""
