"""Filters and scores of nodes for a pod: the nodes that fit, the reasons of others, the best node.

The filters have upstream's order, and the first filter that refuses a node gives the reason.
Follows the plug-ins of pkg/scheduler/framework/plugins.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import matching
from inkube.controllers.workloads.capacity import CPU, PODS, Node, PodOnNode, clash
from inkube.controllers.workloads.scheduling.nodes import Nodes
from inkube.formats import selectors

_EXCLUDING_EFFECTS = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SPREAD = "node(s) didn't match pod topology spread constraints"


class Refusal(NamedTuple):
    """The reasons against a node; `curable` if it could fit after a deletion of other pods."""

    reasons: tuple[str, ...]
    curable: bool = False


class FittingNodes(NamedTuple):
    """The nodes that fit, and the refusals of other nodes by name."""

    nodes: list[Node]
    refusals: dict[str, Refusal]


NodeFilter = Callable[[Object], str]
"""Node → the reason why the pod's volumes or devices cannot be on the node; "" if they can."""
Namespaces = Callable[[str], dict[str, str]]
"""Name of a namespace → its labels."""


class PendingPod:
    """A pod that needs a node. Counts of other pods for its filters are computed once."""

    def __init__(
        self,
        pod: Object,
        nodes: Nodes,
        *,
        volumes: NodeFilter | None = None,
        devices: NodeFilter | None = None,
        is_provided: Callable[[str], bool] | None = None,
        namespaces: Namespaces = lambda name: {},
    ) -> None:
        self.as_placed = PodOnNode(pod)
        self.spec: Object = pod["spec"]
        self._volumes = volumes
        self._devices = devices
        self._is_provided = is_provided or (lambda resource: False)
        self._namespaces = namespaces
        self._tolerations: list[Object] = self.spec.get("tolerations") or []
        affinity = self.spec.get("affinity") or {}
        self._affinity_terms: list[Object] = (affinity.get("podAffinity") or {}).get(
            _REQUIRED
        ) or []
        self._constraints = [
            each
            for each in self.spec.get("topologySpreadConstraints") or ()
            if each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        ]
        self._nodes = nodes
        self._counts: dict[int, Counter[str]] = {}
        """Identity of a term or constraint → domain → number of matching pods."""
        self._affine: Counter[tuple[str, str | None]] | None = None
        """Label and its value → number of pods that match all affinity terms."""

    def refusal(self, node: Node) -> Refusal | None:
        """Return the first refusal of the node, or None if the pod fits, also after the pods that
        are nominated to the node (RunFilterPluginsWithNominatedPods)."""
        promised = self._nodes.promised(node.name, self.as_placed)
        refused = self._refusal(node.with_pods(promised)) if promised else None
        return refused or self._refusal(node)

    def _refusal(self, node: Node) -> Refusal | None:
        return (
            self._unschedulable(node)
            or self._named(node)
            or self._tainted(node)
            or self._selected(node)
            or self._ports(node)
            or self._resources(node)
            or self._bound_volumes(node)
            or self._spread(node)
            or self._near_others(node)
            or self._allocated_devices(node)
        )

    def _unschedulable(self, node: Node) -> Refusal | None:
        if not node.object["spec"].get("unschedulable"):
            return None
        if matching.tolerates(self._tolerations, _UNSCHEDULABLE):
            return None
        return Refusal(("node(s) were unschedulable",))

    def _named(self, node: Node) -> Refusal | None:
        wanted = self.spec.get("nodeName")
        if not wanted or wanted == node.name:
            return None
        return Refusal(("node(s) didn't match the requested node name",))

    def _tainted(self, node: Node) -> Refusal | None:
        if matching.untolerated_taint(self._tolerations, node.taints, _EXCLUDING_EFFECTS) is None:
            return None
        return Refusal(("node(s) had untolerated taint(s)",))

    def _selected(self, node: Node) -> Refusal | None:
        if matching.fits_node(self.spec, node.object):
            return None
        return Refusal(("node(s) didn't match Pod's node affinity/selector",))

    def _ports(self, node: Node) -> Refusal | None:
        taken = [port for port, count in node.ports.items() if count > 0]
        if any(clash(mine, other) for mine in self.as_placed.ports for other in taken):
            text = "node(s) didn't have free ports for the requested pod ports"
            return Refusal((text,), curable=True)
        return None

    def _resources(self, node: Node) -> Refusal | None:
        reasons, curable = [], True
        room = node.allocatable.get(PODS)
        if room is not None and len(node.pods) + 1 > room:
            reasons.append("Too many pods")
        for name, wanted in self.as_placed.requests.items():
            has = node.allocatable.get(name, 0)
            if wanted and wanted > has - node.requested[name]:
                if not has and self._is_provided(name):  # by devices, which another filter finds
                    continue
                reasons.append(f"Insufficient {name}")
                curable = curable and wanted <= has
        return Refusal(tuple(reasons), curable) if reasons else None

    def _bound_volumes(self, node: Node) -> Refusal | None:
        why = self._volumes(node.object) if self._volumes is not None else ""
        return Refusal((why,)) if why else None

    def _allocated_devices(self, node: Node) -> Refusal | None:
        why = self._devices(node.object) if self._devices is not None else ""
        return Refusal((why,)) if why else None

    def _spread(self, node: Node) -> Refusal | None:
        for constraint in self._constraints:
            domain = node.labels.get(constraint["topologyKey"])
            if domain is None:
                return Refusal((f"{_SPREAD} (missing required label)",))
            counts = self._domains(constraint, node)
            least = min(counts.values(), default=0)
            if len(counts) < (constraint.get("minDomains") or 1):
                least = 0
            own = self._is_counted(constraint, self.as_placed)
            if counts.get(domain, 0) + own - least > constraint["maxSkew"]:
                return Refusal((_SPREAD,), curable=True)
        return None

    def _domains(self, constraint: Object, node: Node) -> Counter[str]:
        """Return the number of pods that match a spread constraint, by eligible domain."""
        counts = self._counts.get(id(constraint))
        key = constraint["topologyKey"]
        if counts is None:
            counts = self._counts[id(constraint)] = Counter()
            for each in self._nodes:
                domain = each.labels.get(key)
                if domain is not None and self._may_spread_to(constraint, each):
                    counts[domain] += sum(
                        self._is_counted(constraint, there) for there in each.pods.values()
                    )
        more = sum(
            sign for each, sign in self._differences(node) if self._is_counted(constraint, each)
        )
        if not more:
            return counts
        counts = Counter(counts)
        counts[node.labels[key]] += more
        return counts

    def _differences(self, node: Node) -> list[tuple[PodOnNode, int]]:
        """Return what distinguishes a hypothetical node from the real one: pods that it lacks
        (`Node.without`) with -1, and pods that it also has (`Node.with_pods`) with 1."""
        real = self._nodes.get(node.name)
        if real is None or real is node:
            return []
        return [
            *((each, -1) for uid, each in real.pods.items() if uid not in node.pods),
            *((each, 1) for uid, each in node.pods.items() if uid not in real.pods),
        ]

    def _may_spread_to(self, constraint: Object, node: Node) -> bool:
        honors_affinity = constraint.get("nodeAffinityPolicy", "Honor") == "Honor"
        if honors_affinity and not matching.fits_node(self.spec, node.object):
            return False
        if constraint.get("nodeTaintsPolicy", "Ignore") != "Honor":
            return True
        return (
            matching.untolerated_taint(self._tolerations, node.taints, _EXCLUDING_EFFECTS) is None
        )

    def _is_counted(self, constraint: Object, each: PodOnNode) -> bool:
        if (
            each.namespace != self.as_placed.namespace
            or "deletionTimestamp" in each.pod["metadata"]
        ):
            return False
        selector = constraint.get("labelSelector")
        if selector is None or not selectors.selects(selector, each.labels):
            return False
        return all(
            key not in self.as_placed.labels or each.labels.get(key) == self.as_placed.labels[key]
            for key in constraint.get("matchLabelKeys") or ()
        )

    def _near_others(self, node: Node) -> Refusal | None:
        if self._affinity_terms and not self._is_near(node):
            return Refusal(("node(s) didn't match pod affinity rules",))
        for term in self.as_placed.anti_affinity:
            if self._has_match(term, node):
                text = "node(s) didn't match pod anti-affinity rules"
                return Refusal((text,), curable=True)
        for other, each in self._exclusive(node):
            for term in each.anti_affinity:
                if _same_domain(term, node, other) and self._concerns(term, each, self.as_placed):
                    text = "node(s) didn't satisfy existing pods anti-affinity rules"
                    return Refusal((text,), curable=True)
        return None

    def _exclusive(self, node: Node) -> Iterator[tuple[Node, PodOnNode]]:
        """Yield the pods with required anti-affinity, with their nodes."""
        differences = self._differences(node)
        gone = {each.uid for each, sign in differences if sign < 0}
        yield from (
            (other, each) for other, each in self._nodes.exclusive() if each.uid not in gone
        )
        yield from ((node, each) for each, sign in differences if sign > 0 and each.anti_affinity)

    def _is_near(self, node: Node) -> bool:
        """Return whether the node's domains have pods that match the affinity terms. Without any
        such pod, a pod that matches its own terms can be the first (satisfyPodAffinity)."""
        places = [_domain(term, node) for term in self._affinity_terms]
        if any(value is None for _, value in places):
            return False
        counts = self._affine_pods()
        more = sum(sign for each, sign in self._differences(node) if self._is_affine(each))
        if more:
            counts = Counter(counts)
            for place in places:
                counts[place] += more
        if all(counts[place] > 0 for place in places):
            return True
        return not any(counts.values()) and self._is_affine(self.as_placed)

    def _affine_pods(self) -> Counter[tuple[str, str | None]]:
        """Return the number of pods that match all affinity terms, by domain."""
        if self._affine is None:
            self._affine = Counter(
                place
                for node in self._nodes
                for each in node.pods.values()
                if self._is_affine(each)
                for term in self._affinity_terms
                if (place := _domain(term, node))[1] is not None
            )
        return self._affine

    def _is_affine(self, other: PodOnNode) -> bool:
        """Return whether a pod matches all affinity terms (podMatchesAllAffinityTerms)."""
        return all(self._concerns(term, self.as_placed, other) for term in self._affinity_terms)

    def _has_match(self, term: Object, node: Node) -> bool:
        """Return whether the node's domain has a pod that matches one of this pod's terms."""
        domain = node.labels.get(term["topologyKey"])
        if domain is None:
            return False
        more = sum(
            sign
            for each, sign in self._differences(node)
            if self._concerns(term, self.as_placed, each)
        )
        return self._matches(term)[domain] + more > 0

    def _matches(self, term: Object) -> Counter[str]:
        """Return the number of pods that match one of this pod's terms, by domain."""
        counts = self._counts.get(id(term))
        if counts is None:
            counts = self._counts[id(term)] = Counter()
            for node in self._nodes:
                domain = node.labels.get(term["topologyKey"])
                if domain is not None:
                    counts[domain] += sum(
                        self._concerns(term, self.as_placed, each) for each in node.pods.values()
                    )
        return counts

    def _concerns(self, term: Object, holder: PodOnNode, other: PodOnNode) -> bool:
        """Return whether a pod affinity term of `holder` matches the other pod."""
        selector = term.get("labelSelector")
        if selector is None or not selectors.selects(selector, other.labels):
            return False
        names = term.get("namespaces") or ()
        of_labels = term.get("namespaceSelector")
        if not names and of_labels is None:
            return holder.namespace == other.namespace
        if other.namespace in names:
            return True
        return of_labels is not None and selectors.selects(
            of_labels, self._namespaces(other.namespace)
        )

    # --- scores of nodes that fit

    def score(self, node: Node) -> float:
        """Return the score of a node; higher is better. It considers free resources, pods with the
        same owner, preferences and taints with PreferNoSchedule."""
        shares = []
        for name in (CPU, "memory"):
            has = node.allocatable.get(name, 0)
            if has:
                asked = self.as_placed.requests.get(name) or _UNSAID[name]
                shares.append(max(has - node.requested[name] - asked, 0) / has)
        score: float = 100 * sum(shares) / len(shares) if shares else 0.0
        if self.as_placed.owner:
            score -= 200 * node.owners[self.as_placed.owner] / (len(node.pods) + 1)
        score += 2 * self._preferred(node)
        avoided = sum(
            taint.get("effect") == "PreferNoSchedule"
            and not matching.tolerates(self._tolerations, taint)
            for taint in node.taints
        )
        return float(score - 300 * avoided)

    def _preferred(self, node: Node) -> float:
        affinity = self.spec.get("affinity") or {}
        total: float = 0.0
        for each in (affinity.get("nodeAffinity") or {}).get(_PREFERRED) or ():
            if matching.fits_term(each["preference"], node.object):
                total += each["weight"]
        for member, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for each in (affinity.get(member) or {}).get(_PREFERRED) or ():
                if self._has_match(each["podAffinityTerm"], node):
                    total += sign * each["weight"]
        return total


_DEVICE_WEIGHT = 200
"""The highest score for devices: 100 with the weight 2 of the plugin DynamicResources."""
_UNSAID = {CPU: 100, "memory": 200 * 2**20}
"""The assumed requests of a pod without requests, so that such pods are distributed
(GetNonzeroRequests)."""


def _domain(term: Object, node: Node) -> tuple[str, str | None]:
    """Return the label of a term and its value on a node, None without it."""
    return term["topologyKey"], node.labels.get(term["topologyKey"])


def _same_domain(term: Object, node: Node, other: Node) -> bool:
    value = node.labels.get(term["topologyKey"])
    return value is not None and other.labels.get(term["topologyKey"]) == value


def fitting_nodes(wish: PendingPod, nodes: Nodes) -> FittingNodes:
    """Apply the filters of a pod to all nodes."""
    fit = FittingNodes([], {})
    for node in nodes:
        refused = wish.refusal(node)
        if refused is None:
            fit.nodes.append(node)
        else:
            fit.refusals[node.name] = refused
    return fit


def best_node(
    wish: PendingPod, candidates: list[Node], device_score: Callable[[str], int] | None = None
) -> Node:
    """Return the node with the highest score; among equal scores, fewest pods, then
    the first name. `device_score` is the score of a node's devices, in units of its own."""
    scores = {node.name: device_score(node.name) if device_score else 0 for node in candidates}
    unit = _DEVICE_WEIGHT / max(1, *scores.values())

    def rank(node: Node) -> tuple[float, int, str]:
        score = wish.score(node) + unit * scores[node.name]
        return -round(score, 6), len(node.pods), node.name

    return min(candidates, key=rank)


def explain(count: int, refusals: Iterable[Refusal], after: str) -> str:
    """Return a message with the reasons and the number of nodes of each, sorted as strings
    (FitError)."""
    reasons = Counter(reason for refused in refusals for reason in refused.reasons)
    told = ", ".join(sorted(f"{n} {reason}" for reason, n in reasons.items()))
    head = f"0/{count} nodes are available:"
    return f"{head} {told}. {after}" if after else f"{head} {told}."
