"""The rule that no container may be privileged, on servers with `allow_privileged=False`.

It is a part of validation in kube-apiserver (ValidateSecurityContext), so its errors are added to
those of the kind.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from inkube.apiserver.admission.podsecurity import TEMPLATES
from inkube.apiserver.registry import Plugin, Write
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError

_PODS = ("", "pods")
PLACES = {_PODS: (), **TEMPLATES}
"""Kinds with pods, and the paths of their pods."""
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


class Unprivileged(Plugin):
    """Refuses pods and pod templates with privileged containers."""

    kinds = PLACES
    operations = ("CREATE", "UPDATE")

    async def validate(self, write: Write) -> None:
        errors = list(_errors(write))
        if errors:
            resource = write.request.resource
            raise status.invalid(resource.group, resource.kind, write.name, errors)

    async def supplement(self, write: Write, errors: Sequence[FieldError]) -> Sequence[FieldError]:
        return list(_errors(write))


def _errors(write: Write) -> Iterator[FieldError]:
    request = write.request
    if request.subresource not in ("", "ephemeralcontainers"):
        return
    path = PLACES[request.resource.group, request.resource.plural]
    pod: Any = write.object
    for member in path:
        pod = (pod or {}).get(member)
    spec = (pod or {}).get("spec") or {}
    at = ".".join((*path, "spec"))
    for kind in _CONTAINERS:
        for index, container in enumerate(spec.get(kind) or ()):
            if (container.get("securityContext") or {}).get("privileged"):
                place = f"{at}.{kind}[{index}].securityContext.privileged"
                yield fielderrors.forbidden(place, "disallowed by cluster policy")
