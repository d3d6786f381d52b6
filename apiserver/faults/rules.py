"""Compiled faults: those that match a request, and their effects. Pure except for counters.

`Rules` caches the faults that can match requests, by verb, group, resource and subresource. A
request without such faults costs one look-up.
"""

import fnmatch
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkube.apiserver.faults.injections import Injection, Watching
from inkube.schemas import selectors, status
from inkube.schemas.objects import Object

Labels = dict[str, str]
REMEMBERED = 1024
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
    """One fault. `matched` and `injected` count the requests that it matched and changed."""

    def __init__(self, fault: Object) -> None:
        spec = fault["spec"]
        self.name: str = fault["metadata"]["name"]
        self.version = version_of(fault)
        counted = fault.get("status") or {}
        self.matched: int = counted.get("matched", 0)
        self.injected: int = counted.get("injected", 0)
        self._spec: Object = spec
        self._match: Object = spec.get("match") or {}
        self._when: Object = spec.get("when") or {}
        agents = self._match.get("userAgents") or ()
        patterns = [re.compile(fnmatch.translate(pattern)) for pattern in agents]
        self._agents = patterns
        self._chance = random.Random(self._when.get("seed", 0))  # noqa: S311 # to be the same again
        labels = self._match.get("labelSelector")
        self._labels = selectors.parse_labels(labels) if labels else ()

    @property
    def needs_labels(self) -> bool:
        """Whether the labels of the object are needed to decide."""
        return bool(self._labels)

    def may_concern(self, asked: RequestFacts) -> bool:
        """Return whether verb, resource and type of effect match. The result is the same for all
        such requests."""
        match, spec = self._match, self._spec
        if asked.inside and not spec.get("controllers"):
            return False
        if not _names(match.get("verbs"), asked.verb):
            return False
        if not asked.resource:
            return bool(match.get("nonResourceURLs"))
        if match.get("nonResourceURLs") and not match.get("resources"):
            return False
        if not _names(match.get("apiGroups"), asked.group):
            return False
        if not _names_resource(match.get("resources"), asked.resource, asked.subresource):
            return False
        if spec.get("delay") or spec.get("answer") or spec.get("cut") or spec.get("slow"):
            return True
        watches = spec.get("watch") and asked.verb == "watch"
        return bool(watches or (spec.get("stale") and asked.verb in _READS))

    def fits(self, asked: RequestFacts, labels: Labels | None) -> bool:
        """Return whether all other conditions match, after `may_concern` returned True."""
        match = self._match
        if not asked.resource:
            if not any(_names_path(url, asked.path) for url in match["nonResourceURLs"]):
                return False
        elif not (
            _lists(match.get("namespaces"), asked.namespace)
            and _lists(match.get("names"), asked.name)
        ):
            return False
        if not _lists(match.get("users"), asked.user):
            return False
        groups = match.get("groups")
        if groups and not set(groups) & set(asked.groups):
            return False
        if self._agents and not any(pattern.match(asked.agent) for pattern in self._agents):
            return False
        return not self._labels or (labels is not None and selectors.matches(self._labels, labels))

    def strikes(self) -> bool:
        """Count a matching request, and return whether this one fails."""
        when = self._when
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

    def injection(self, asked: RequestFacts) -> Injection:
        """The effect of this fault on a request."""
        spec = self._spec
        delay = spec.get("delay") or {}
        seconds = delay.get("seconds", 0.0)
        if delay.get("jitterSeconds"):
            seconds += self._chance.uniform(0.0, delay["jitterSeconds"])
        answer, cut = spec.get("answer"), spec.get("cut")
        moment = cut or (answer or {}).get("moment")
        watch = spec.get("watch") if asked.verb == "watch" else None
        stale = spec.get("stale") if asked.verb in _READS else None
        return Injection(
            names=(self.name,),
            delay=seconds,
            refusal=None if answer is None else _refusal(answer, asked),
            cut=cut is not None,
            carried_out=moment == "AfterWrite",
            watching=None if watch is None else _watching(watch),
            stale=0 if stale is None else stale["changes"],
            rate=(spec.get("slow") or {}).get("bytesPerSecond", 0),
        )


class Rules:
    """All faults, in the order of their creation."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._known: dict[tuple[str, str, str, str, bool], Sequence[Rule]] = {}

    def concerning(self, asked: RequestFacts) -> Sequence[Rule]:
        """Return the faults that can match such a request; in most cases none."""
        sort = asked.verb, asked.group, asked.resource, asked.subresource, asked.inside
        found = self._known.get(sort)
        if found is None:
            found = tuple(rule for rule in self.rules if rule.may_concern(asked))
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[sort] = found
        return found


def meet(
    rules: Sequence[Rule],
    asked: RequestFacts,
    labels: Labels | None,
    matched: Callable[[str], None],
) -> Injection | None:
    """The combined effect of the faults on a request, in order, until one responds or cuts the
    connection.

    `matched` is called with the name of each matching fault.
    """
    met: Injection | None = None
    for rule in rules:
        if not rule.fits(asked, labels):
            continue
        struck = rule.strikes()
        matched(rule.name)
        if not struck:
            continue
        found = rule.injection(asked)
        met = found if met is None else met.and_then(found)
        if met.ends:
            break
    return met


def _names(wanted: Sequence[str] | None, given: str) -> bool:
    return not wanted or given in wanted or "*" in wanted


def _lists(wanted: Sequence[str] | None, given: str) -> bool:
    return not wanted or given in wanted


def _names_resource(wanted: Sequence[str] | None, resource: str, subresource: str) -> bool:
    """Return whether a resource matches a list, with the syntax of RBAC rules."""
    if not wanted or "*" in wanted:
        return True
    if not subresource:
        return resource in wanted
    return f"{resource}/{subresource}" in wanted or f"*/{subresource}" in wanted


def _names_path(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else url == path


def _refusal(answer: Object, asked: RequestFacts) -> status.StatusError:
    code: int = answer["code"]
    reason = answer.get("reason") or _REASONS.get(code, status.Reason.UNKNOWN)
    what = f"{asked.verb} {asked.resource or asked.path}"
    message = answer.get("message") or f"{what}: refused on purpose, by a Fault"
    details: Object = dict(answer.get("details") or {})
    seconds = answer.get("retryAfterSeconds", 0)
    if seconds:
        details["retryAfterSeconds"] = seconds
    error = status.StatusError(code, reason, message, details=details or None)
    if seconds:
        error.headers["Retry-After"] = str(seconds)
    return error


def _watching(watch: Object) -> Watching:
    return Watching(
        watch.get("events"), watch.get("end", "Cut"), watch.get("withoutBookmarks", False)
    )
