"""The Secrets, ConfigMaps and claims that a pod names, found in one place for all who ask.

Follows the visitors of pkg/api/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames). Called by
the Node authorizer, by admission and by offline checks, which also read objects that no server has
validated: members of wrong types are no references.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from inkube.schemas.objects import Object

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a kubelet's mirror of a static pod."""
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_VOLUMES = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
    ("azureFile", "Secret", "secretName"),
    ("csi.nodePublishSecretRef", "Secret", "name"),
    *(
        (f"{source}.secretRef", "Secret", "name")
        for source in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
    ),
)
"""Path of a reference in a volume, its kind, and the member with the name."""
_PROJECTED = (("configMap", "ConfigMap", "name"), ("secret", "Secret", "name"))
_ENV = (("configMapKeyRef", "ConfigMap", "name"), ("secretKeyRef", "Secret", "name"))
_ENV_FROM = (("configMapRef", "ConfigMap", "name"), ("secretRef", "Secret", "name"))
_Path = tuple[str | int, ...]


class Reference(NamedTuple):
    """An object in the namespace of a pod that the pod names."""

    kind: str
    path: _Path
    """From the spec of the pod to `value`."""
    value: Object
    member: str
    """The member of `value` with the name."""

    @property
    def name(self) -> str:
        """The name; "" without one."""
        name = self.value.get(self.member)
        return name if isinstance(name, str) else ""


def is_mirror(pod: Object) -> bool:
    """Return whether the pod is a kubelet's mirror of a static pod."""
    return MIRROR in (pod["metadata"].get("annotations") or {})


def of_spec(spec: Object) -> Iterator[Reference]:
    """Yield the references in the spec of a pod: those of volumes, of containers, and the
    imagePullSecrets."""
    for at, volume in items(spec.get("volumes")):
        yield from _in(volume, _VOLUMES, ("volumes", at))
        projected = volume.get("projected")
        for number, each in items(projected.get("sources") if isinstance(projected, dict) else ()):
            yield from _in(each, _PROJECTED, ("volumes", at, "projected", "sources", number))
    for group in CONTAINERS:
        for at, container in items(spec.get(group)):
            for number, variable in items(container.get("env")):
                source = variable.get("valueFrom")
                yield from _in(source, _ENV, (group, at, "env", number, "valueFrom"))
            for number, each in items(container.get("envFrom")):
                yield from _in(each, _ENV_FROM, (group, at, "envFrom", number))
    for at, each in items(spec.get("imagePullSecrets")):
        yield Reference("Secret", ("imagePullSecrets", at), each, "name")


def _in(value: Any, rows: Iterable[tuple[str, str, str]], path: _Path) -> Iterator[Reference]:
    for row, kind, name in rows:
        found, members = value, row.split(".")
        for member in members:
            found = found.get(member) if isinstance(found, dict) else None
        if isinstance(found, dict):
            yield Reference(kind, (*path, *members), found, name)


def items(value: Any) -> Iterable[tuple[int, Object]]:
    """Return the objects of a list with their indexes."""
    each = value if isinstance(value, list) else ()
    return ((at, item) for at, item in enumerate(each) if isinstance(item, dict))
