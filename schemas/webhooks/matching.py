"""Which webhooks a request concerns: rules, matchPolicy and selectors.

Follows plugin/webhook/predicates and generic/webhook.go (ShouldCallHook).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from inkube.schemas import selectors
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.policies import rules
from inkube.schemas.selectors import Requirement

_NAMESPACES = GVR("", "v1", "namespaces")


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
        return selectors.requirements(self.spec.get("namespaceSelector"))

    @cached_property
    def objects(self) -> tuple[Requirement, ...]:
        """objectSelector; empty for all."""
        return selectors.requirements(self.spec.get("objectSelector"))

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
    """Whether a rule names a request seen as being for `resource`; a Namespace is cluster-scoped
    although its requests carry a namespace."""
    return rules.names(
        rule,
        request.operation,
        resource,
        request.subresource,
        namespaced=bool(request.namespace) and resource != _NAMESPACES,
    )


def either_matches(conditions: tuple[Requirement, ...], *objects: Object | None) -> bool:
    """Whether the labels of any of the objects do (the old or the new one)."""
    if not conditions:
        return True
    return any(obj is not None and selectors.matches(conditions, labels_of(obj)) for obj in objects)


def labels_of(obj: Object) -> dict[str, str]:
    """metadata.labels; none where they are not what labels are."""
    meta = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        return {}
    return labels
