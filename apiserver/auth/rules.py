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
_PRINTED = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


def allows(rule: Rule, wanted: Attributes) -> bool:
    """Whether the rule grants the action (`RuleAllows`)."""
    if not _has(rule, "verbs", wanted.verb):
        return False
    if not wanted.is_resource:
        return any(_url_covers(url, wanted.path) for url in _members(rule, "nonResourceURLs"))
    if not _has(rule, "apiGroups", wanted.group) or not _resource_matches(rule, wanted):
        return False
    names = _members(rule, "resourceNames")
    return not names or wanted.name in names


def _members(rule: Rule, member: str) -> Sequence[str]:
    return rule.get(member) or ()


def _has(rule: Rule, member: str, value: str) -> bool:
    found = _members(rule, member)
    return value in found or _ALL in found


def _resource_matches(rule: Rule, wanted: Attributes) -> bool:
    if _has(rule, "resources", wanted.combined):
        return True
    return bool(wanted.subresource) and f"*/{wanted.subresource}" in _members(rule, "resources")


def _url_covers(owner: str, url: str) -> bool:
    return owner in (_ALL, url) or (owner.endswith(_ALL) and url.startswith(owner.rstrip(_ALL)))


def missing(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Return the smallest parts of the wanted rules that no owned rule covers (`Covers`)."""
    return [
        part
        for rule in wanted
        for part in break_down(rule)
        if not any(covers(owner, part) for owner in owned)
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
    wanted = _members(part, "resourceNames")
    if names and (not wanted or not set(wanted) <= set(names)):
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
    kept, joined = [], dict[tuple[Any, ...], Rule]()
    for rule in parts:
        names = _members(rule, "resourceNames")
        if len(names) > 1 or rule.get("nonResourceURLs") or not _is_single(rule):
            kept.append(rule)
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], tuple(names))
        if key in joined:
            joined[key]["verbs"] += rule["verbs"]
        else:
            joined[key] = {**rule, "verbs": list(rule["verbs"])}
    return kept + list(joined.values())


def _is_single(rule: Rule) -> bool:
    return len(_members(rule, "apiGroups")) == 1 == len(_members(rule, "resources"))


def text(rule: Rule) -> str:
    """Return a rule as text: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`
    (`CompactString`)."""
    shown = [
        f"{title}:{quoted(_members(rule, member))}"
        for member, title in _PRINTED
        if _members(rule, member)
    ]
    return "{" + ", ".join(shown) + "}"


def quoted(texts: Iterable[str]) -> str:
    """`["a" "b"]`: Go's `%q` of a slice of strings."""
    return "[" + " ".join(map(quote, texts)) + "]"
