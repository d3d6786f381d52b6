"""Defaults of admission policies.

What is wrong with a policy's expressions is not said here. Follows
pkg/apis/admissionregistration/v1/defaults.go.
"""

from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.objects import Object


def fill_matching(target: Object) -> None:
    """How resources match unless said otherwise, for policies and webhooks alike."""
    target.setdefault("matchPolicy", "Equivalent")
    for member in ("namespaceSelector", "objectSelector"):
        target.setdefault(member, {})


class Policies(BuiltinStrategy):
    """Validating and mutating admission policies."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        constraints = spec.get("matchConstraints")
        if constraints is not None:
            _match_resources(constraints)


class PolicyBindings(BuiltinStrategy):
    """What binds a policy to parameters and resources."""

    def default(self, obj: Object) -> None:
        resources = (obj.get("spec") or {}).get("matchResources")
        if resources is not None:
            _match_resources(resources)


def _match_resources(target: Object) -> None:
    fill_matching(target)
    for member in ("resourceRules", "excludeResourceRules"):
        for rule in target.get(member) or []:
            rule.setdefault("scope", "*")
