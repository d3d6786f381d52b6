"""Resizes of pods that their node cannot carry out.

Follows plugin/pkg/admission/podresize of Kubernetes 1.36.
"""

from inkube.apiserver.registry import OfStore, Write, keys, refused
from inkube.schemas import quantity, status
from inkube.schemas.builtin import quotas
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object

_OS = "kubernetes.io/os"
_UNITS = {"cpu": quantity.MILLI, "memory": 0}
"""The resources that are compared, and the powers of ten that the message counts them in."""


class PodResizeValidator(OfStore):
    """Refuses a changed resize of a pod on a node that is not Linux, or that is too small."""

    name = "PodResizeValidator"
    kinds = (("", "pods"),)
    operations = ("UPDATE",)

    async def validate(self, write: Write) -> None:
        if write.request.subresource != "resize":
            return
        pod, old = write.new, write.old or {}
        holder = pod["spec"].get("nodeName")
        if not holder or _generation(pod) == _generation(old):
            return
        entry = self._store.get(keys.key("nodes", "", holder))
        if entry is None:
            raise refused(write, f"node {quote(holder)} not found")
        _check_platform(write, entry.value)
        _check_capacity(write, entry.value)


def _generation(pod: Object) -> int:
    return int((pod.get("metadata") or {}).get("generation", 0))


def _check_platform(write: Write, node: Object) -> None:
    system = (node["metadata"].get("labels") or {}).get(_OS, "linux")
    if system != "linux":
        name = quote(node["metadata"]["name"])
        why = f"pod resize is only supported on linux nodes, node {name} is {quote(system)}"
        raise _refused(write, why, "UnsupportedPlatform")


def _check_capacity(write: Write, node: Object) -> None:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    requests = quotas.pod_total(write.new["spec"], "requests")
    beyond = []
    for name, scale in _UNITS.items():
        asked, given = requests.get(name, quantity.ZERO), quantity.parse(allocatable.get(name, "0"))
        if asked > given:
            beyond.append(
                f"{name}, requested: {asked.scaled(scale)}, allocatable: {given.scaled(scale)}"
            )
    if beyond:
        why = f"node didn't have enough allocatable resources: {'; '.join(beyond)}"
        raise _refused(write, why, "NodeCapacity")


def _refused(write: Write, why: str, cause: str) -> status.StatusError:
    error = refused(write, why)
    error.details = {**(error.details or {}), "causes": [{"reason": cause}]}
    return error
