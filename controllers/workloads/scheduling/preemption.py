"""Preemption: the choice of pods to delete so that a pod with a higher priority fits.

Follows pkg/scheduler/framework/preemption and plugins/defaultpreemption.
"""

import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.capacity import Node, PodOnNode
from inkube.controllers.workloads.scheduling.filters import FittingNodes, PendingPod, Refusal
from inkube.controllers.workloads.scheduling.nodes import Nodes

NO_CLAIMS = "no new claims to deallocate"
"""What the plugin of dynamic resources says of a pod without claims, before the preemption."""
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"
_OFFSET = 2**31
"""What makes every priority positive, so that each victim counts."""


class Victims(NamedTuple):
    """A node, the pods to delete on it, and the number of violations of disruption budgets."""

    node: Node
    pods: list[PodOnNode]
    violations: int

    def cost(self) -> tuple[object, ...]:
        """Return a sort key. The node with the lowest cost is chosen (pickOneNodeForPreemption):
        fewer pods are better than lower priorities of the others, and late starts are better."""
        priorities = sorted((each.priority for each in self.pods), reverse=True)
        total = sum(each + _OFFSET for each in priorities)
        started = min(
            (_start(each) for each in self.pods if each.priority == priorities[0]),
            default=math.inf,
        )
        return self.violations, priorities[:1], total, -started, self.node.name


Budgets = Callable[[Object], list[tuple[str, int]]]
"""A pod → its disruption budgets: the uid and the allowed disruptions of each."""


def _start(each: PodOnNode) -> float:
    """Return the seconds of the time at which a pod started, infinity before that."""
    text = (each.pod.get("status") or {}).get("startTime")
    return pods.moment(text).timestamp() if text else math.inf


def not_helpful(count: int) -> str:
    """Return the message for a pod that no deletion helps."""
    return f"preemption: 0/{count} nodes are available: {count} {_NOT_HELPFUL}."


def choose_victims(
    wish: PendingPod, nodes: Nodes, fitting: FittingNodes, budgets: Budgets
) -> tuple[Victims | None, str]:
    """Return the victims and "", or None and a message with the reason."""
    if wish.spec.get("preemptionPolicy") == "Never":
        return None, "preemption: not eligible due to preemptionPolicy=Never."
    found, why = [], []
    for node in nodes:
        if not fitting.refusals[node.name].curable:
            why.append(_NOT_HELPFUL)
            continue
        victims = _victims_on(wish, node, budgets)
        if isinstance(victims, Victims):
            found.append(victims)
        else:
            why += victims.reasons
    if found:
        return min(found, key=Victims.cost), ""
    counts = Counter(why)
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return None, f"preemption: 0/{len(nodes)} nodes are available: {told}."


def _victims_on(wish: PendingPod, node: Node, budgets: Budgets) -> Victims | Refusal:
    """Remove all pods with a lower priority, then keep as many as possible (SelectVictimsOnNode).

    Returns the refusal of the node if the pod does not fit even without them.
    """
    lesser = [each for each in node.pods.values() if each.priority < wish.as_placed.priority]
    if not lesser:
        return Refusal((_NO_VICTIMS,))
    gone = {each.uid for each in lesser}
    refused = _refusal_without(wish, node, gone)
    if refused is not None:
        return refused
    left: dict[str, int] = {}
    breaking: list[PodOnNode] = []
    harmless: list[PodOnNode] = []
    for each in sorted(lesser, key=_importance):
        broken = False
        for uid, allowed in budgets(each.pod):
            left[uid] = left.get(uid, allowed) - 1
            broken = broken or left[uid] < 0
        (breaking if broken else harmless).append(each)
    victims, violations = [], 0
    for each in [*breaking, *harmless]:
        gone.discard(each.uid)
        if _refusal_without(wish, node, gone) is not None:
            gone.add(each.uid)
            victims.append(each)
            violations += each in breaking
    return Victims(node, victims, violations)


def _importance(each: PodOnNode) -> tuple[int, str]:
    """Return a sort key by priority (the highest first), then by start time (MoreImportantPod)."""
    return -each.priority, (each.pod.get("status") or {}).get("startTime") or "~"


def _refusal_without(wish: PendingPod, node: Node, victims: set[str]) -> Refusal | None:
    return wish.refusal(node.without(victims))
