"""The matching of requests by a rule: operations, groups, versions, resources and scope.

Webhooks and policies have the same rules. Follows
apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go.
"""

from collections.abc import Sequence

from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object


def names(
    rule: Object, operation: str, resource: GVR, subresource: str, *, namespaced: bool
) -> bool:
    """Return whether the rule names the operation on a resource."""
    return (
        _in_scope(rule.get("scope") or "*", namespaced=namespaced)
        and _holds(rule.get("operations"), operation)
        and _holds(rule.get("apiGroups"), resource.group)
        and _holds(rule.get("apiVersions"), resource.version)
        and any(
            _covers(pattern, resource.resource, subresource)
            for pattern in rule.get("resources") or ()
        )
    )


def _holds(listed: Sequence[str] | None, value: str) -> bool:
    return listed is not None and (value in listed or "*" in listed)


def _in_scope(scope: str, *, namespaced: bool) -> bool:
    return scope == "*" or (scope == "Namespaced") == namespaced


def _covers(pattern: str, plural: str, subresource: str) -> bool:
    """Return whether a pattern covers a resource and subresource.

    `pods` does not cover `pods/status`; `*/status` and `pods/*` are patterns.
    """
    name, _, sub = pattern.partition("/")
    return name in ("*", plural) and sub in ("*", subresource)
