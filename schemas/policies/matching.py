"""The matching of requests by a policy or binding: rules, labels, names.

Follows apiserver/pkg/admission/plugin/policy/matching/matching.go.
"""

from dataclasses import dataclass

from inkube.schemas import selectors
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.policies import rules as admission_rules


@dataclass(frozen=True, slots=True)
class Target:
    """A request for matching. `versions` are all of the resource, that of the request first."""

    operation: str
    group: str
    versions: tuple[str, ...]
    resource: str
    subresource: str
    namespaced: bool
    name: str
    objects: tuple[Object, ...]
    """The new object and the old one, as far as they exist."""
    namespace_labels: dict[str, str] | None
    """The labels of the namespace; None if no namespace applies."""


def matched_version(constraints: Object | None, target: Target) -> str | None:
    """The version with which the constraints match, None if they do not match."""
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
    if selector and labels is not None and not selectors.selects(selector, labels):
        return False
    object_selector = constraints.get("objectSelector")
    return not object_selector or any(
        selectors.selects(object_selector, obj["metadata"].get("labels") or {})
        for obj in target.objects
    )


def _by_rules(rules: list[Object], constraints: Object, target: Target) -> str | None:
    """The version of the request if it matches, else an equivalent one that does, or None."""
    exact = constraints.get("matchPolicy") == "Exact"
    for version in target.versions[:1] if exact else target.versions:
        if any(_fits(rule, version, target) for rule in rules):
            return version
    return None


def _fits(rule: Object, version: str, target: Target) -> bool:
    resource = GVR(target.group, version, target.resource)
    listed = rule.get("resourceNames")
    return admission_rules.names(
        rule, target.operation, resource, target.subresource, namespaced=target.namespaced
    ) and (not listed or target.name in listed)
