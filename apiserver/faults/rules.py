"""Compiled faults: those that match a request, and their effects. Pure except for counters.

`Rules` caches the faults that can match requests, by verb, group, resource and subresource. A
request without such faults costs one look-up.
"""

import fnmatch
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkube.apiserver.faults.injections import Gate, Hold, Injection, WatchFault
from inkube.apiserver.http import requests
from inkube.schemas import selectors, status
from inkube.schemas.definitions import Names
from inkube.schemas.notation import Notation
from inkube.schemas.objects import Object

Labels = dict[str, str]
Find = Callable[[str, str], Names | None]
"""(group, plural) → the names of a served resource, or None."""
MAX_CACHED = 1024
"""The most cached combinations. Clients choose paths, so the cache needs a limit."""
_READS = frozenset({"get", "list"})
_REASONS = {
    400: status.Reason.BAD_REQUEST,
    401: status.Reason.UNAUTHORIZED,
    403: status.Reason.FORBIDDEN,
    404: status.Reason.NOT_FOUND,
    409: status.Reason.CONFLICT,
    410: status.Reason.EXPIRED,
    422: status.Reason.INVALID,
    429: status.Reason.TOO_MANY_REQUESTS,
    500: status.Reason.INTERNAL_ERROR,
    503: status.Reason.SERVICE_UNAVAILABLE,
    504: status.Reason.TIMEOUT,
}


class RequestFacts(NamedTuple):
    """The facts about a request that faults match. `verb` is the HTTP method in lower case if the
    request is not about a resource."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    groups: Sequence[str] = ()
    agent: str = ""
    path: str = ""
    """The path, or "" for requests with a resource."""
    inside: bool = False
    """Whether a controller of this server sends the request."""


def version_of(fault: Object) -> tuple[str, int]:
    """Return the identity of a fault and its spec. Another spec starts new counts."""
    metadata = fault["metadata"]
    return metadata["uid"], metadata["generation"]


class Rule:
    """One fault. `matched` and `injected` count the requests that it matched and changed, `gate`
    holds those that wait. `notify` is called with the name of the fault when their number
    changes."""

    def __init__(self, fault: Object, notify: Callable[[str], None] = lambda name: None) -> None:
        spec = fault["spec"]
        self.name: str = fault["metadata"]["name"]
        self.gate = Gate(lambda: notify(self.name))
        self.version = version_of(fault)
        counted = fault.get("status") or {}
        self.matched: int = counted.get("matched", 0)
        self.injected: int = counted.get("injected", 0)
        self._spec: Object = spec
        self._match: Object = spec.get("match") or {}
        self._conditions: Object = spec.get("when") or {}
        agents = self._match.get("userAgents") or ()
        patterns = [re.compile(fnmatch.translate(pattern)) for pattern in agents]
        self._agents = patterns
        self._chance = random.Random(self._conditions.get("seed", 0))  # noqa: S311 # to be the same again
        labels = self._match.get("labelSelector")
        self._labels = selectors.parse_labels(labels) if labels else ()

    def needs_metadata(self, facts: RequestFacts) -> bool:
        """Return whether the labels of the object are needed to decide, or the name of a new
        object, which is not in the path."""
        return bool(self._labels or (self._match.get("names") and not facts.name))

    @property
    def resources(self) -> Sequence[str]:
        """The resources that it selects, as users write them; empty for all."""
        found: Sequence[str] = self._match.get("resources") or ()
        return found

    def may_match(self, facts: RequestFacts, names: Names | None = None) -> bool:
        """Return whether verb, resource and type of effect match. The result is the same for all
        such requests. `names` are those of the resource, as far as they are known."""
        match, spec = self._match, self._spec
        if facts.inside and not spec.get("controllers"):
            return False
        if not _matches_any(match.get("verbs"), facts.verb):
            return False
        if not facts.resource:
            return bool(match.get("nonResourceURLs"))
        if match.get("nonResourceURLs") and not match.get("resources"):
            return False
        if not _matches_any(match.get("apiGroups"), facts.group):
            return False
        if not _matches_resource(self.resources, facts, names):
            return False
        if any(spec.get(effect) for effect in ("delay", "hold", "answer", "cut", "slow")):
            return True
        watches = spec.get("watch") and facts.verb == "watch"
        return bool(watches or (spec.get("stale") and facts.verb in _READS))

    def matches(self, facts: RequestFacts, labels: Labels | None) -> bool:
        """Return whether all other conditions match, after `may_match` returned True."""
        match = self._match
        if not facts.resource:
            if not any(requests.is_path(url, facts.path) for url in match["nonResourceURLs"]):
                return False
        elif not (
            _lists(match.get("namespaces"), facts.namespace)
            and _lists(match.get("names"), facts.name)
        ):
            return False
        if not _lists(match.get("users"), facts.user):
            return False
        groups = match.get("groups")
        if groups and not set(groups) & set(facts.groups):
            return False
        if self._agents and not any(pattern.match(facts.agent) for pattern in self._agents):
            return False
        return not self._labels or (labels is not None and selectors.matches(self._labels, labels))

    def strikes(self) -> bool:
        """Count a matching request, and return whether this one fails."""
        when = self._conditions
        self.matched += 1
        times = when.get("times")
        if times is not None and self.injected >= times:
            return False
        turn = self.matched - when.get("skip", 0)
        if turn < 1 or (turn - 1) % when.get("every", 1):
            return False
        probability = when.get("probability", 1.0)
        if probability < 1.0 and self._chance.random() >= probability:
            return False
        self.injected += 1
        return True

    def injection(self, facts: RequestFacts) -> Injection:
        """Return the effect of this fault on a request."""
        spec = self._spec
        delay = spec.get("delay") or {}
        seconds = delay.get("seconds", 0.0)
        if delay.get("jitterSeconds"):
            seconds += self._chance.uniform(0.0, delay["jitterSeconds"])
        answer, cut = spec.get("answer"), spec.get("cut")
        moment = cut or (answer or {}).get("moment")
        hold = spec.get("hold")
        watch = spec.get("watch") if facts.verb == "watch" else None
        stale = spec.get("stale") if facts.verb in _READS else None
        return Injection(
            names=(self.name,),
            delay=seconds,
            holds=() if hold is None else (self._hold(hold),),
            refusal=None if answer is None else _refusal(answer, facts),
            disconnects=cut is not None,
            carried_out=moment == "AfterWrite",
            watch_fault=None if watch is None else _watch_fault(watch),
            stale_changes=0 if stale is None else stale["changes"],
            rate=(spec.get("slow") or {}).get("bytesPerSecond", 0),
        )

    def _hold(self, hold: Object) -> Hold:
        return Hold(self.gate, hold["seconds"], hold["moment"] == "AfterWrite")


class Rules:
    """All faults, in the order of their creation."""

    def __init__(self, rules: Sequence[Rule], find: Find | None = None) -> None:
        self.rules = rules
        self._find = find
        self._rules_by_facts: dict[tuple[str, str, str, str, bool], Sequence[Rule]] = {}

    def candidates(self, facts: RequestFacts) -> Sequence[Rule]:
        """Return the faults that can match such a request; in most cases none."""
        sort = facts.verb, facts.group, facts.resource, facts.subresource, facts.inside
        found = self._rules_by_facts.get(sort)
        if found is None:
            names = self._find(facts.group, facts.resource) if self._find is not None else None
            found = tuple(rule for rule in self.rules if rule.may_match(facts, names))
            if facts.resource and names is None and self._find is not None:
                return found  # its names are known as soon as it is served
            if len(self._rules_by_facts) >= MAX_CACHED:
                self._rules_by_facts.clear()
            self._rules_by_facts[sort] = found
        return found


def combined_injection(
    rules: Sequence[Rule],
    facts: RequestFacts,
    labels: Labels | None,
    on_match: Callable[[str], None],
) -> Injection | None:
    """Return the combined effect of the faults on a request, in order, until one responds or cuts
    the connection.

    `on_match` is called with the name of each matching fault.
    """
    met: Injection | None = None
    for rule in rules:
        if not rule.matches(facts, labels):
            continue
        struck = rule.strikes()
        on_match(rule.name)
        if not struck:
            continue
        found = rule.injection(facts)
        met = found if met is None else met.and_then(found)
        if met.ends:
            break
    return met


def _matches_any(patterns: Sequence[str] | None, value: str) -> bool:
    return not patterns or value in patterns or "*" in patterns


def _lists(values: Sequence[str] | None, value: str) -> bool:
    return not values or value in values


def _matches_resource(patterns: Sequence[str], facts: RequestFacts, names: Names | None) -> bool:
    """Return whether a resource matches a list, with the syntax of RBAC rules (`*`, `*/status`), or
    with that of `schemas.notation`."""
    if not patterns or "*" in patterns:
        return True
    end = f"/{facts.subresource}" if facts.subresource else ""
    if end and f"*{end}" in patterns:
        return True
    if f"{facts.resource}{end}" in patterns:
        return True
    return any(_is_named(Notation.parse(each), facts, names) for each in patterns)


def _is_named(notation: Notation, facts: RequestFacts, names: Names | None) -> bool:
    return notation.subresource == facts.subresource and notation.means(
        facts.group, names or Names(facts.resource, "")
    )


def _refusal(answer_spec: Object, facts: RequestFacts) -> status.StatusError:
    code: int = answer_spec["code"]
    reason = answer_spec.get("reason") or _REASONS.get(code, status.Reason.UNKNOWN)
    what = f"{facts.verb} {facts.resource or facts.path}"
    message = answer_spec.get("message") or f"{what}: refused on purpose, by a Fault"
    details: Object = dict(answer_spec.get("details") or {})
    seconds = answer_spec.get("retryAfterSeconds", 0)
    if seconds:
        details["retryAfterSeconds"] = seconds
    error = status.StatusError(code, reason, message, details=details or None)
    if seconds:
        error.headers["Retry-After"] = str(seconds)
    return error


def _watch_fault(watch: Object) -> WatchFault:
    return WatchFault(
        watch.get("events"), watch.get("end", "Cut"), watch.get("withoutBookmarks", False),
        watch.get("mergeSeconds", 0.0), watch.get("repeat", 0),
    )  # fmt: skip
