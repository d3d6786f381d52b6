"""The webhooks that match a request: rules, matchPolicy and selectors.

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
    """The part of a request that rules use. The `namespace` of a Namespace is its own name."""

    operation: str
    resource: GVR
    subresource: str = ""
    namespace: str = ""


class Hook:
    """One webhook of a configuration, with kube-apiserver's defaults."""

    def __init__(self, spec: Object, configuration: str = "") -> None:
        self.spec = spec
        self.configuration = configuration
        """The name of the configuration."""
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
        """The first version of the review that inkube supports, or v1."""
        spoken = self.spec.get("admissionReviewVersions") or ()
        return next((version for version in spoken if version in ("v1", "v1beta1")), "v1")

    @cached_property
    def namespaces(self) -> tuple[Requirement, ...]:
        """The namespaceSelector; empty matches all namespaces."""
        return selectors.requirements(self.spec.get("namespaceSelector"))

    @cached_property
    def objects(self) -> tuple[Requirement, ...]:
        """The objectSelector; empty matches all objects."""
        return selectors.requirements(self.spec.get("objectSelector"))

    def match(self, request: Request, equivalents: Iterable[GVR]) -> GVR | None:
        """Return the resource with which a rule matches the request, or None without a match.

        `equivalents` are other resources for the same objects. They are used only if the
        matchPolicy permits it. Earlier rules take precedence.
        """
        if any(_names(rule, request, request.resource) for rule in self.rules):
            return request.resource
        if self.is_exact:
            return None
        others = list(equivalents)
        found = (other for rule in self.rules for other in others if _names(rule, request, other))
        return next(found, None)


def _names(rule: Object, request: Request, resource: GVR) -> bool:
    """Return whether a rule matches a request as a request for `resource`. A Namespace is
    cluster-scoped, although its requests contain a namespace."""
    return rules.names(
        rule,
        request.operation,
        resource,
        request.subresource,
        namespaced=bool(request.namespace) and resource != _NAMESPACES,
    )


def either_matches(conditions: tuple[Requirement, ...], *objects: Object | None) -> bool:
    """Return whether the labels of any of the objects (the old or the new one) match."""
    if not conditions:
        return True
    return any(obj is not None and selectors.matches(conditions, labels_of(obj)) for obj in objects)


def labels_of(obj: Object) -> dict[str, str]:
    """Return metadata.labels, or an empty dict if they are not valid labels."""
    meta = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        return {}
    return labels
