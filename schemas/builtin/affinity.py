"""The terms of a pod's affinity to other pods."""

from collections.abc import Iterator

from inkube.schemas.objects import Object


def pod_terms(spec: Object) -> Iterator[Object]:
    """Yield every PodAffinityTerm of a PodSpec: affinity and anti-affinity, required and
    preferred."""
    affinity = spec.get("affinity") or {}
    for member in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(member) or {}
        yield from given.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in given.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
