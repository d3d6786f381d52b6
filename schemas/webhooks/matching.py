"""Which webhooks a request concerns: rules, matchPolicy and selectors.

Follows plugin/webhook/predicates and generic/webhook.go (ShouldCallHook).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVR
from inkube.schemas.selectors import Requirement

Object = dict[str, Any]
Labels = Mapping[str, str]
_NAMESPACES = GVR("", "v1", "namespaces")
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


@dataclass(frozen=True, slots=True)
class Request:
    """What rules look at. `namespace` of a Namespace is its own name."""

    operation: str
    resource: GVR
    subresource: str = ""
    namespace: str = ""


class Hook:
    """One webhook of a configuration, with the reference's defaults."""

    def __init__(self, spec: Object) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.client: Object = spec["clientConfig"]
        self.rules: list[Object] = spec.get("rules") or []
        self.ignores_failures = spec.get("failurePolicy") == "Ignore"
        self.is_exact = spec.get("matchPolicy") == "Exact"
        self.seconds: int = spec.get("timeoutSeconds") or 10
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        self.dry_runs = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        self.conditions: list[str] = [
            condition["expression"] for condition in spec.get("matchConditions") or ()
        ]

    @cached_property
    def review_version(self) -> str:
        """The first version of the review that both sides speak."""
        spoken = self.spec.get("admissionReviewVersions") or ()
        return next((version for version in spoken if version in ("v1", "v1beta1")), "v1")

    @cached_property
    def namespaces(self) -> tuple[Requirement, ...]:
        """namespaceSelector; empty for all."""
        return requirements(self.spec.get("namespaceSelector"))

    @cached_property
    def objects(self) -> tuple[Requirement, ...]:
        """objectSelector; empty for all."""
        return requirements(self.spec.get("objectSelector"))

    def match(self, request: Request, equivalents: Iterable[GVR]) -> GVR | None:
        """The resource under which the rules name the request; None: they do not.

        `equivalents` are the other addresses of the same objects, looked at only when the policy
        says so. Earlier rules win.
        """
        if any(_names(rule, request, request.resource) for rule in self.rules):
            return request.resource
        if self.is_exact:
            return None
        others = list(equivalents)
        found = (other for rule in self.rules for other in others if _names(rule, request, other))
        return next(found, None)


def _names(rule: Object, request: Request, resource: GVR) -> bool:
    """Whether a rule names a request seen as being for `resource`."""
    return (
        _scope(rule.get("scope"), request.namespace, resource)
        and _holds(rule.get("operations"), request.operation)
        and _holds(rule.get("apiGroups"), resource.group)
        and _holds(rule.get("apiVersions"), resource.version)
        and any(
            _resource(text, resource.resource, request.subresource)
            for text in rule.get("resources") or ()
        )
    )


def _holds(listed: Sequence[str] | None, value: str) -> bool:
    return listed is not None and (value in listed or "*" in listed)


def _scope(scope: str | None, namespace: str, resource: GVR) -> bool:
    """A Namespace is cluster-scoped although its requests carry a namespace."""
    if not scope or scope == "*":
        return True
    inside = bool(namespace) and resource != _NAMESPACES
    return inside if scope == "Namespaced" else not inside


def _resource(text: str, plural: str, subresource: str) -> bool:
    """`things` leaves subresources out, `things/*` has the resource itself in it."""
    name, _, sub = text.partition("/")
    return name in ("*", plural) and sub in ("*", subresource)


def requirements(selector: Object | None) -> tuple[Requirement, ...]:
    """A metav1.LabelSelector as conditions; none of them matches everything."""
    if not selector:
        return ()
    equal = [
        Requirement(key, "=", (value,))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    expressions = [
        Requirement(term["key"], _OPERATORS[term["operator"]], tuple(term.get("values") or ()))
        for term in selector.get("matchExpressions") or ()
    ]
    return (*equal, *expressions)


def matches(conditions: tuple[Requirement, ...], labels: Labels) -> bool:
    """Whether labels fulfil all conditions."""
    return all(condition.matches(dict(labels)) for condition in conditions)


def either_matches(conditions: tuple[Requirement, ...], *objects: Object | None) -> bool:
    """Whether the labels of any of the objects do (the old or the new one)."""
    if not conditions:
        return True
    return any(obj is not None and matches(conditions, labels_of(obj)) for obj in objects)


def labels_of(obj: Object) -> dict[str, str]:
    """metadata.labels; none where they are not what labels are."""
    meta = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        return {}
    return labels
