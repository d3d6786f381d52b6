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
    """A request for matching. `resources` are all versions of its objects, its own first."""

    operation: str
    resources: tuple[GVR, ...]
    subresource: str
    namespaced: bool
    name: str
    objects: tuple[Object, ...]
    """The new object and the old one, as far as they exist."""
    namespace_labels: dict[str, str] | None
    """The labels of the namespace; None if no namespace applies."""


def matched_resource(constraints: Object | None, target: Target) -> GVR | None:
    """Return the resource with which the constraints match, None if they do not match."""
    if constraints is None:
        return target.resources[0]
    if not _selected(constraints, target):
        return None
    excluded = constraints.get("excludeResourceRules") or []
    if excluded and _by_rules(excluded, constraints, target) is not None:
        return None
    rules = constraints.get("resourceRules") or []
    return _by_rules(rules, constraints, target) if rules else target.resources[0]


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


def _by_rules(rules: list[Object], constraints: Object, target: Target) -> GVR | None:
    """Return the resource of the request if it matches, else an equivalent one that does, or
    None."""
    exact = constraints.get("matchPolicy") == "Exact"
    for resource in target.resources[:1] if exact else target.resources:
        if any(_fits(rule, resource, target) for rule in rules):
            return resource
    return None


def _fits(rule: Object, resource: GVR, target: Target) -> bool:
    listed = rule.get("resourceNames")
    return admission_rules.names(
        rule, target.operation, resource, target.subresource, namespaced=target.namespaced
    ) and (not listed or target.name in listed)
