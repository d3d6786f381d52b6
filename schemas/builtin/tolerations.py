"""Tolerations: comparison, merging, and the defaults of every pod.

Follows k8s.io/kubernetes/pkg/util/tolerations/tolerations.go and
plugin/pkg/admission/defaulttolerationseconds.
"""

from collections.abc import Sequence

from inkube.schemas.objects import Object

DEFAULT_SECONDS = 300  # that a pod stays on a node that is gone
_CONDITIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def with_defaults(
    present: Sequence[Object], not_ready: int = DEFAULT_SECONDS, unreachable: int = DEFAULT_SECONDS
) -> list[Object]:
    """Return these, and one of some seconds for each condition of a node that they do not
    contain."""
    missing = [
        {
            "key": condition,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": seconds,
        }
        for condition, seconds in zip(_CONDITIONS, (not_ready, unreachable), strict=True)
        if not any(
            each.get("key", "") in ("", condition) and each.get("effect", "") in ("", "NoExecute")
            for each in present
        )
    ]
    return [*present, *missing]


def merge(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Return both lists, without tolerations that others in them cover."""
    everything = [*first, *second]
    merged: list[Object] = []
    for index, one in enumerate(everything):
        after = everything[index + 1 :]
        covered = any(covers(kept, one) for kept in merged) or any(
            other != one and covers(other, one) for other in after
        )
        if not covered:
            merged.append(one)
    return merged


def covers(wide: Object, narrow: Object) -> bool:
    """Return whether `wide` tolerates everything that `narrow` tolerates."""
    if wide == narrow:
        return True
    operator = wide.get("operator", "") or "Equal"
    key, effect = wide.get("key", ""), wide.get("effect", "")
    if key != narrow.get("key", "") and (key or operator != "Exists"):
        return False
    if effect not in ("", narrow.get("effect", "")):
        return False
    seconds, asked = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None and (asked is None or asked > seconds):
        return False
    if operator == "Exists":
        return True
    same_value = wide.get("value", "") == narrow.get("value", "")
    return (narrow.get("operator") or "Equal") == "Equal" and same_value
