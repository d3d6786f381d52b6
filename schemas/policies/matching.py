"""Which requests a policy or binding is about: rules, labels, names.

Follows apiserver/pkg/admission/plugin/policy/matching/matching.go.
"""

from dataclasses import dataclass
from typing import Any

from inkube.schemas.builtin.behaviours.checks import selects

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A request as rules see it. `versions` are all the resource has, the request's own first."""

    operation: str
    group: str
    versions: tuple[str, ...]
    resource: str
    subresource: str
    namespaced: bool
    name: str
    objects: tuple[Object, ...]
    """The new object, the old one: those there are."""
    namespace_labels: dict[str, str] | None
    """None where no namespace has a say."""


def matched_version(constraints: Object | None, target: Target) -> str | None:
    """The version by which the constraints match, None where they do not."""
    if constraints is None:
        return target.versions[0]
    if not _selected(constraints, target):
        return None
    excluded = constraints.get("excludeResourceRules") or []
    if excluded and _by_rules(excluded, constraints, target) is not None:
        return None
    rules = constraints.get("resourceRules") or []
    return _by_rules(rules, constraints, target) if rules else target.versions[0]


def _selected(constraints: Object, target: Target) -> bool:
    selector = constraints.get("namespaceSelector")
    labels = target.namespace_labels
    if selector and labels is not None and not selects(selector, labels):
        return False
    wanted = constraints.get("objectSelector")
    return not wanted or any(
        selects(wanted, obj["metadata"].get("labels") or {}) for obj in target.objects
    )


def _by_rules(rules: list[Object], constraints: Object, target: Target) -> str | None:
    """The request's own version if it matches, else an equivalent one that does."""
    exact = constraints.get("matchPolicy") == "Exact"
    for version in target.versions[:1] if exact else target.versions:
        if any(_fits(rule, version, target) for rule in rules):
            return version
    return None


def _fits(rule: Object, version: str, target: Target) -> bool:
    names = rule.get("resourceNames")
    return (
        _has(rule.get("operations"), target.operation)
        and _has(rule.get("apiGroups"), target.group)
        and _has(rule.get("apiVersions"), version)
        and _in_scope(rule.get("scope") or "*", target)
        and any(_covers(resource, target) for resource in rule.get("resources") or [])
        and (not names or target.name in names)
    )


def _has(values: list[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _in_scope(scope: str, target: Target) -> bool:
    return scope == "*" or (scope == "Namespaced") == target.namespaced


def _covers(pattern: str, target: Target) -> bool:
    """`pods` is not `pods/status`; `*/status` and `pods/*` are patterns."""
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", target.resource) and (
        subresource == target.subresource or (subresource == "*")
    )
