"""What a pod's affinity asks of other pods."""

from collections.abc import Iterator

from inkube.schemas.objects import Object


def pod_terms(spec: Object) -> Iterator[Object]:
    """Every PodAffinityTerm of a PodSpec: of affinity and anti-affinity, required and preferred."""
    affinity = spec.get("affinity") or {}
    for member in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(member) or {}
        yield from given.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in given.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
