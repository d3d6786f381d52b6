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
_PRINTED_MEMBERS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


def allows(rule: Rule, attributes: Attributes) -> bool:
    """Whether the rule grants the action (`RuleAllows`)."""
    if not _has(rule, "verbs", attributes.verb):
        return False
    if not attributes.is_resource:
        return any(_url_covers(url, attributes.path) for url in _members(rule, "nonResourceURLs"))
    if not _has(rule, "apiGroups", attributes.group) or not _resource_matches(rule, attributes):
        return False
    names = _members(rule, "resourceNames")
    return not names or attributes.name in names


def _members(rule: Rule, member: str) -> Sequence[str]:
    return rule.get(member) or ()


def _has(rule: Rule, member: str, value: str) -> bool:
    values = _members(rule, member)
    return value in values or _ALL in values


def _resource_matches(rule: Rule, attributes: Attributes) -> bool:
    if _has(rule, "resources", attributes.combined_resource):
        return True
    return bool(attributes.subresource) and f"*/{attributes.subresource}" in _members(
        rule, "resources"
    )


def _url_covers(owner: str, url: str) -> bool:
    return owner in (_ALL, url) or (owner.endswith(_ALL) and url.startswith(owner.rstrip(_ALL)))


def uncovered(granted: Sequence[Rule], required: Iterable[Rule]) -> list[Rule]:
    """Return the smallest parts of the wanted rules that no owned rule covers (`Covers`)."""
    return [
        part
        for rule in required
        for part in break_down(rule)
        if not any(covers(owner, part) for owner in granted)
    ]


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
