"""The pods that a kubelet ends to admit a critical pod for which its node has no room.

It prefers pods of the lowest class of service, then as few as possible, then small ones. Follows
pkg/kubelet/preemption.
"""

from collections.abc import Iterable, Mapping

from inkube.controllers.workloads.capacity import CPU, PODS, Amounts, PodOnNode

CRITICAL = 2_000_000_000
"""The lowest priority of critical pods (SystemCriticalPriority)."""
REASON = "Preempting"
MESSAGE = "Preempted in order to admit critical pod"
DISRUPTION = "Pod was preempted by Kubelet to accommodate a critical pod."
_CLASSES = ("BestEffort", "Burstable", "Guaranteed")
_MIRROR = "kubernetes.io/config.mirror"


def is_critical(pod: PodOnNode) -> bool:
    """Return whether a pod is critical: one of the node itself, or with a system priority."""
    notes = pod.pod["metadata"].get("annotations") or {}
    return _MIRROR in notes or pod.priority >= CRITICAL


def victims(pod: PodOnNode, others: Iterable[PodOnNode], lacking: Amounts) -> list[PodOnNode]:
    """Return the pods whose end frees what a pod lacks; none if no pods are enough."""
    by_class: dict[str, list[PodOnNode]] = {name: [] for name in _CLASSES}
    for each in others:
        if _is_preemptable(pod, each):
            by_class[_service_class(each)].append(each)
    lower, middle, upper = by_class.values()
    last = _nearest(upper, _without(lacking, [*lower, *middle]))
    if last is None:
        return []
    second = _nearest(middle, _without(lacking, [*lower, *last]))
    if second is None:
        return []
    first = _nearest(lower, _without(lacking, [*second, *last]))
    return [] if first is None else [*first, *second, *last]


def _is_preemptable(pod: PodOnNode, other: PodOnNode) -> bool:
    return (is_critical(pod) and not is_critical(other)) or pod.priority > other.priority


def _service_class(pod: PodOnNode) -> str:
    found: str = (pod.pod.get("status") or {}).get("qosClass") or "Burstable"
    return found


def _nearest(pods: list[PodOnNode], lacking: Amounts) -> list[PodOnNode] | None:
    """Return pods that are enough, each the one that leaves the least; None if all are not
    (getPodsToPreemptByDistance)."""
    left, chosen = list(pods), []
    while lacking:
        if not left:
            return None
        best = min(left, key=lambda pod: (_distance(lacking, pod), *_size(pod)))
        left.remove(best)
        chosen.append(best)
        lacking = _without(lacking, [best])
    return chosen


def _distance(lacking: Amounts, pod: PodOnNode) -> float:
    missing = ((need, max(need - _freed(pod, name), 0)) for name, need in lacking.items())
    return sum((rest / need) ** 2 for need, rest in missing)


def _size(pod: PodOnNode) -> tuple[int, int]:
    return _freed(pod, "memory"), _freed(pod, CPU)


def _without(lacking: Mapping[str, int], pods: Iterable[PodOnNode]) -> Amounts:
    """Return what is still lacking after the end of pods."""
    ended = list(pods)
    rest = {
        name: need - sum(_freed(each, name) for each in ended) for name, need in lacking.items()
    }
    return {name: need for name, need in rest.items() if need > 0}


def _freed(pod: PodOnNode, name: str) -> int:
    return 1 if name == PODS else pod.requests.get(name, 0)
