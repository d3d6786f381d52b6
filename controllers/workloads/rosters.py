"""Rosters: the number and states of an owner's pods, updated with each change of a pod.

A ReplicaSet is reconciled after every few changes of its pods. With a new count at each reconcile,
500 replicas were counted 265 times in one rollover, a quarter of its processor time
(benchmarks/workloads.py). A roster groups the pods of an owner by facts: a query takes one step for
each group, mostly one to six, and a change of a pod takes one step. The informer of pods maintains
the rosters (`Cluster.rosters`), so its objects bound their memory.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.claims import controller_of
from inkube.kinds import Change, Key


class Facts(NamedTuple):
    """The facts of a pod that controllers count."""

    labels: frozenset[tuple[str, str]]
    is_active: bool
    is_terminating: bool
    is_ready: bool

    @classmethod
    def of(cls, pod: Object) -> "Facts":
        """Return the current facts of a pod."""
        labels = pod["metadata"].get("labels") or {}
        deleting, terminal = pods.is_deleting(pod), pods.is_terminal(pod)
        return cls(
            frozenset(labels.items()),
            not (deleting or terminal),
            deleting and not terminal,
            pods.is_ready(pod),
        )


class Roster:
    """The pods of one owner."""

    def __init__(self) -> None:
        self._groups: dict[Facts, dict[Key, None]] = {}
        self.nodes: Counter[str] = Counter()
        """Node → number of active pods on it."""

    def count(self, matches: Callable[[Facts], bool]) -> int:
        """Return the number of pods with wanted facts. Calls `matches` once for each group."""
        return sum(len(keys) for facts, keys in self._groups.items() if matches(facts))

    def keys(self, matches: Callable[[Facts], bool]) -> list[Key]:
        """Return the keys of the pods with wanted facts, sorted."""
        return sorted(key for facts, keys in self._groups.items() if matches(facts) for key in keys)

    def add(self, key: Key, facts: Facts, node: str) -> None:
        """Add a pod with its facts and its node ("": none)."""
        self._groups.setdefault(facts, {})[key] = None
        if node and facts.is_active:
            self.nodes[node] += 1

    def remove(self, key: Key, facts: Facts, node: str) -> None:
        """Remove a pod, with the facts and the node with which it was added."""
        group = self._groups[facts]
        del group[key]
        if not group:
            del self._groups[facts]
        if node and facts.is_active:
            self.nodes[node] -= 1
            if not self.nodes[node]:
                del self.nodes[node]

    @property
    def is_empty(self) -> bool:
        """Whether the roster contains no pods."""
        return not self._groups


_EMPTY = Roster()


class _Membership(NamedTuple):
    owner: str
    facts: Facts
    node: str


class Rosters:
    """The rosters of all owners, by uid. Pods without a controller are in one roster for each
    namespace."""

    def __init__(self) -> None:
        self._rosters: dict[str, Roster] = {}
        self._memberships: dict[Key, _Membership] = {}

    def of(self, uid: str) -> Roster:
        """Return the current roster of an owner. Do not change it."""
        return self._rosters.get(uid, _EMPTY)

    def strays(self, namespace: str) -> Roster:
        """Return the roster of the pods in a namespace that have no controller."""
        return self.of(_strays(namespace))

    def update(self, change: Change) -> None:
        """Move the pod of a change to its current owner and facts. Implements
        `informer.Summary`."""
        key = Key.of(change.object)
        before, now = (
            self._memberships.get(key),
            _membership(change.new) if change.new is not None else None,
        )
        if before == now:
            return
        if before is not None:
            roster = self._rosters[before.owner]
            roster.remove(key, before.facts, before.node)
            if roster.is_empty:
                del self._rosters[before.owner]
            del self._memberships[key]
        if now is not None:
            self._memberships[key] = now
            self._rosters.setdefault(now.owner, Roster()).add(key, now.facts, now.node)


def _membership(pod: Object) -> _Membership:
    reference = controller_of(pod)
    owner = reference["uid"] if reference is not None else _strays(pod["metadata"]["namespace"])
    return _Membership(owner, Facts.of(pod), pod["spec"].get("nodeName") or "")


def _strays(namespace: str) -> str:
    return f"none/{namespace}"
