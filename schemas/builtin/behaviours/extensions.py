"""Admission policies, runtime classes and kinds that only count their generation.

What is wrong with a policy's expressions is not said here. Follows
pkg/apis/admissionregistration/v1/defaults.go.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import (
    checks,
    metadata,
    naming,
    requirements,
    scheduling,
)
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
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


class RuntimeClasses(BuiltinStrategy):
    """The handler is for good."""

    def check(self, obj: Object) -> list[FieldError]:
        handler = obj.get("handler", "")
        if not handler:
            errors = [fielderrors.required("handler")]
        else:
            errors = checks.named(handler, "handler", naming.label)
        fixed = (obj.get("overhead") or {}).get("podFixed")
        if fixed:
            errors += requirements.of_container({"limits": fixed}, "overhead")
        given = obj.get("scheduling") or {}
        errors += metadata.labels(given.get("nodeSelector") or {}, "scheduling.nodeSelector")
        for index, toleration in enumerate(given.get("tolerations") or ()):
            errors += scheduling.toleration(toleration, f"scheduling.tolerations[{index}]")
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return checks.immutable(obj, old, "", "handler")


class Counted(BuiltinStrategy):
    """Kinds whose spec counts a generation, and no more."""
