"""RBAC's PolicyRules as pure functions: whether a rule allows an action, and whether rules cover
others.

Rules are plain objects in their stored form. Follows pkg/apis/rbac/v1/evaluation_helpers.go and
k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from inkube.apiserver.auth.attributes import Attributes
from inkube.schemas.golang import quote

Rule = dict[str, Any]
EVERYTHING: Rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
EVERY_PATH: Rule = {"nonResourceURLs": ["*"], "verbs": ["*"]}
_ALL = "*"
MAX_PARTS = 10_000
"""The most combinations of groups, resources, verbs and names that are compared one by one."""
_PRINTED_MEMBERS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


class TooManyParts(Exception):
    """Rules have more combinations than MAX_PARTS."""


class PreparedRule:
    """A rule for many decisions: each takes look-ups, whatever the number of its names."""

    __slots__ = ("_groups", "_names", "_resources", "_urls", "_verbs")

    def __init__(self, rule: Rule) -> None:
        self._verbs = _as_set(rule, "verbs")
        self._groups = _as_set(rule, "apiGroups")
        self._resources = _as_set(rule, "resources")
        self._names = frozenset(_members(rule, "resourceNames"))
        self._urls = _members(rule, "nonResourceURLs")

    def allows(self, attributes: Attributes) -> bool:
        """Return whether the rule grants the action (`RuleAllows`)."""
        if self._verbs is not None and attributes.verb not in self._verbs:
            return False
        if not attributes.is_resource:
            return any(_url_covers(url, attributes.path) for url in self._urls)
        if self._groups is not None and attributes.group not in self._groups:
            return False
        if self._resources is not None and not self._has_resource(self._resources, attributes):
            return False
        return not self._names or attributes.name in self._names

    @staticmethod
    def _has_resource(resources: frozenset[str], attributes: Attributes) -> bool:
        if attributes.combined_resource in resources:
            return True
        return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources


def _as_set(rule: Rule, member: str) -> frozenset[str] | None:
    """Return the values of a member; None if they contain all."""
    values = frozenset(_members(rule, member))
    return None if _ALL in values else values


def _members(rule: Rule, member: str) -> Sequence[str]:
    return rule.get(member) or ()


def _url_covers(owner: str, url: str) -> bool:
    return owner in (_ALL, url) or (owner.endswith(_ALL) and url.startswith(owner.rstrip(_ALL)))


def uncovered(granted: Sequence[Rule], required: Iterable[Rule]) -> list[Rule]:
    """Return the smallest parts of the wanted rules that no owned rule covers (`Covers`).

    The parts of a rule that one owned rule covers completely are not made. Raises TooManyParts
    above MAX_PARTS.
    """
    parts: list[Rule] = []
    for rule in required:
        if any(covers(owner, rule) for owner in granted):
            continue
        if len(parts) + count_parts(rule) > MAX_PARTS:
            raise TooManyParts
        parts += break_down(rule)
    return [part for part in parts if not any(covers(owner, part) for owner in granted)]


def count_parts(rule: Rule) -> int:
    """Return the number of rules into which `break_down` divides a rule."""
    verbs = len(_members(rule, "verbs"))
    of_resources = len(_members(rule, "apiGroups")) * len(_members(rule, "resources")) * verbs
    named = max(1, len(_members(rule, "resourceNames")))
    return of_resources * named + len(_members(rule, "nonResourceURLs")) * verbs


def break_down(rule: Rule) -> Iterator[Rule]:
    """Yield a rule as rules with one group, resource, verb and name each, or one URL and verb
    each."""
    names = _members(rule, "resourceNames")
    for group, resource, verb in product(
        *(_members(rule, member) for member in ("apiGroups", "resources", "verbs"))
    ):
        part: Rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        if names:
            yield from ({**part, "resourceNames": [name]} for name in names)
        else:
            yield part
    for url, verb in product(_members(rule, "nonResourceURLs"), _members(rule, "verbs")):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def covers(owner: Rule, part: Rule) -> bool:
    """Return whether a rule allows everything that a part allows (`ruleCovers`)."""
    names = _members(owner, "resourceNames")
    part_names = _members(part, "resourceNames")
    if names and (not part_names or not set(part_names) <= set(names)):
        return False
    return (
        _has_all(owner, part, "verbs")
        and _has_all(owner, part, "apiGroups")
        and _resources_cover(owner, part)
        and all(
            any(_url_covers(mine, url) for mine in _members(owner, "nonResourceURLs"))
            for url in _members(part, "nonResourceURLs")
        )
    )


def _has_all(owner: Rule, part: Rule, member: str) -> bool:
    mine = _members(owner, member)
    return _ALL in mine or set(_members(part, member)) <= set(mine)


def _resources_cover(owner: Rule, part: Rule) -> bool:
    if _has_all(owner, part, "resources"):
        return True
    mine = _members(owner, "resources")
    for path in _members(part, "resources"):
        _, slash, subresource = path.partition("/")
        if path not in mine and not (slash and f"*/{subresource}" in mine):
            return False
    return True


def compact(parts: Iterable[Rule]) -> list[Rule]:
    """Return rules in which those for one resource are joined, with all their verbs
    (`CompactRules`)."""
    unmerged, merged = [], dict[tuple[Any, ...], Rule]()
    for rule in parts:
        names = _members(rule, "resourceNames")
        if len(names) > 1 or rule.get("nonResourceURLs") or not _is_single(rule):
            unmerged.append(rule)
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], tuple(names))
        if key in merged:
            merged[key]["verbs"] += rule["verbs"]
        else:
            merged[key] = {**rule, "verbs": list(rule["verbs"])}
    return unmerged + list(merged.values())


def _is_single(rule: Rule) -> bool:
    return len(_members(rule, "apiGroups")) == 1 == len(_members(rule, "resources"))


def text(rule: Rule) -> str:
    """Return a rule as text: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`
    (`CompactString`)."""
    members = [
        f"{title}:{quoted(_members(rule, member))}"
        for member, title in _PRINTED_MEMBERS
        if _members(rule, member)
    ]
    return "{" + ", ".join(members) + "}"


def quoted(texts: Iterable[str]) -> str:
    """`["a" "b"]`: Go's `%q` of a slice of strings."""
    return "[" + " ".join(map(quote, texts)) + "]"
