"""Admission of pods that kube-apiserver runs only on request: pull policies, topologies, selectors
and tolerations of namespaces, and tolerations for extended resources.

Follows plugin/pkg/admission/{alwayspullimages,antiaffinity,podnodeselector,
podtolerationrestriction,extendedresourcetoleration}.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import orjson

from inkube.apiserver.registry import Plugin, Write, keys, refused
from inkube.schemas import fielderrors, status
from inkube.schemas.builtin import podqos, resourcenames, tolerations
from inkube.schemas.metadata import names as syntax
from inkube.schemas.objects import Object
from inkube.storage import Store

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_HOSTNAME = "kubernetes.io/hostname"
_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}


class _OfPods(Plugin):
    """The part that these plugins share: they see whole pods, no subresources."""

    kinds = (("", "pods"),)
    operations: Collection[str] = ("CREATE", "UPDATE")


def _pod(write: Write) -> Object | None:
    """Return the pod of a write; None if the write is about a subresource."""
    return None if write.request.subresource else write.object


class AlwaysPullImages(_OfPods):
    """Sets the pull policy of every image to Always."""

    name = "AlwaysPullImages"

    async def mutate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is None or _has_old_images_only(pod, write.old):
            return
        for _, holder, member in _pulled(pod["spec"]):
            holder[member] = "Always"

    async def validate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is None or _has_old_images_only(pod, write.old):
            return
        for path, holder, member in _pulled(pod["spec"]):
            policy = holder.get(member, "")
            if policy != "Always":
                error = fielderrors.not_supported(f"{path}.{member}", policy, ["Always"])
                raise refused(write, error.text())


def _pulled(spec: Object) -> Iterator[tuple[str, Object, str]]:
    """Yield the path and the object of each image, and its member with the pull policy."""
    for kind in _CONTAINERS:
        for index, container in enumerate(spec.get(kind) or ()):
            yield f"spec.{kind}[{index}]", container, "imagePullPolicy"
    for index, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}].image", volume["image"], "pullPolicy"


def _has_old_images_only(pod: Object, old: Object | None) -> bool:
    return old is not None and _images(pod) <= _images(old)


def _images(pod: Object) -> set[str]:
    return {
        holder.get("reference" if member == "pullPolicy" else "image", "")
        for _, holder, member in _pulled(pod["spec"])
    }


class HardTopologies(_OfPods):
    """Refuses pods with a required anti-affinity over more than one node."""

    name = "LimitPodHardAntiAffinityTopology"

    async def validate(self, write: Write) -> None:
        affinity = ((_pod(write) or {}).get("spec") or {}).get("affinity") or {}
        terms = (affinity.get("podAntiAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        for term in terms or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                why = (
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but "
                    f"only key {_HOSTNAME} is allowed"
                )
                raise refused(write, why)


class NamespaceSelectors(_OfPods):
    """Adds the node selector of the namespace to pods, and refuses pods that contradict it.

    `selectors` are the texts of the configuration: the allowed selector by namespace, and
    `clusterDefaultNodeSelector` for namespaces without one of their own.
    """

    name = "PodNodeSelector"
    operations = ("CREATE",)

    def __init__(self, store: Store, selectors: Mapping[str, str]) -> None:
        self._store = store
        self._selectors = selectors

    async def mutate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is not None:
            selector = self._checked(write, pod)
            if selector:
                pod["spec"]["nodeSelector"] = {
                    **selector,
                    **(pod["spec"].get("nodeSelector") or {}),
                }
            self._check_allowed(write, pod)

    async def validate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is not None:
            self._checked(write, pod)
            self._check_allowed(write, pod)

    def _checked(self, write: Write, pod: Object) -> Mapping[str, str]:
        """Return the selector of the namespace. Raises StatusError 403 if the pod contradicts
        it."""
        notes = _annotations(self._store, write)
        text = notes.get(_SELECTOR, self._selectors.get("clusterDefaultNodeSelector", ""))
        selector = _parsed(text)
        own = pod["spec"].get("nodeSelector") or {}
        if any(own.get(key, value) != value for key, value in selector.items()):
            why = "pod node label selector conflicts with its namespace node label selector"
            raise refused(write, why)
        return selector

    def _check_allowed(self, write: Write, pod: Object) -> None:
        allowed = _parsed(self._selectors.get(write.request.namespace, ""))
        own = pod["spec"].get("nodeSelector") or {}
        if allowed and not own.items() <= allowed.items():
            why = "pod node label selector labels conflict with its namespace whitelist"
            raise refused(write, why)


def _parsed(text: str) -> Mapping[str, str]:
    """Parse `a=b,c=d`. Raises StatusError 500 (labels.ConvertSelectorToLabelsMap)."""
    found: dict[str, str] = {}
    for requirement in text.split(",") if text else ():
        parts = requirement.split("=")
        if len(parts) != 2:
            raise status.unknown(f"invalid selector: [{' '.join(parts)}]")
        key, value = (part.strip() for part in parts)
        wrong = [*syntax.label_key(key), *syntax.label_value(value)]
        if wrong:
            raise status.unknown(f"invalid selector {requirement!r}: {'; '.join(wrong)}")
        found[key] = value
    return found


class NamespaceTolerations(_OfPods):
    """Adds the default tolerations of the namespace to new pods, and refuses pods with tolerations
    that the namespace does not allow.

    `default` and `allowed` apply to namespaces without annotations.
    """

    name = "PodTolerationRestriction"

    def __init__(
        self, store: Store, default: Sequence[Object] = (), allowed: Sequence[Object] = ()
    ) -> None:
        self._store = store
        self._default = default
        self._allowed = allowed

    async def mutate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is None:
            return
        wanted = pod["spec"].get("tolerations") or ()
        if write.operation == "CREATE":
            own = _tolerations(_annotations(self._store, write), _DEFAULTS)
            wanted = tolerations.merge(wanted, self._default if own is None else own)
        if podqos.of_spec(pod["spec"]) != "BestEffort":
            wanted = tolerations.merge(wanted, [_MEMORY])
        if wanted:
            pod["spec"]["tolerations"] = list(wanted)

    async def validate(self, write: Write) -> None:
        pod = _pod(write)
        present = () if pod is None else pod["spec"].get("tolerations") or ()
        if not present:
            return
        own = _tolerations(_annotations(self._store, write), _ALLOWED)
        scope, allowed = ("cluster", self._allowed) if own is None else ("namespace", own)
        if allowed and not all(
            any(tolerations.covers(wide, each) for wide in allowed) for each in present
        ):
            raise status.unknown(
                f"pod tolerations (possibly merged with {scope} default tolerations) conflict with "
                f"its {scope} whitelist"
            )


def _tolerations(notes: Mapping[str, str], annotation: str) -> Sequence[Object] | None:
    """Return the tolerations in an annotation, or None without it. Raises StatusError 500."""
    text = notes.get(annotation, "")
    if not text:
        return None
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise status.unknown(f"annotation {annotation} of the namespace: {error}") from error
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise status.unknown(f"annotation {annotation} of the namespace is no list of tolerations")
    return found


def _annotations(store: Store, write: Write) -> Mapping[str, str]:
    """Return the annotations of the namespace of a write. Raises StatusError 404."""
    entry = store.get(keys.key("namespaces", "", write.request.namespace))
    if entry is None:
        raise status.not_found("", "namespaces", write.request.namespace)
    return entry.value["metadata"].get("annotations") or {}


class ExtendedResourceTolerations(_OfPods):
    """Adds a toleration for each extended resource that containers request."""

    name = "ExtendedResourceToleration"

    async def mutate(self, write: Write) -> None:
        pod = _pod(write)
        if pod is None:
            return
        spec = pod["spec"]
        requested = {
            resource
            for kind in ("containers", "initContainers")
            for container in spec.get(kind) or ()
            for resource in (container.get("resources") or {}).get("requests") or ()
            if resourcenames.is_extended(resource)
        }
        for resource in sorted(requested):
            needed = {"key": resource, "operator": "Exists", "effect": "NoSchedule"}
            present = spec.get("tolerations") or []
            if needed not in present:
                spec["tolerations"] = [*present, needed]
