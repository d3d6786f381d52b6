"""Resource quotas and limit ranges.

Follows pkg/apis/core/validation ValidateResourceQuota, ValidateLimitRange and
pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem.
"""

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

COUNTED = frozenset({
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
})  # fmt: skip
_QUOTA = COUNTED | {
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_STANDARD = _QUOTA | {"storage"}
_SCOPES = frozenset({
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
})  # fmt: skip
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_PLAIN_SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity",
)  # fmt: skip
_COMPUTE = frozenset({
    "pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory",
})  # fmt: skip
_AMOUNTS = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
_POD_ONLY = "may not be specified when `type` is 'Pod'"


def _is_huge(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def resource_name(name: str, path: str) -> list[FieldError]:
    """validateResourceName: standard, or with a domain."""
    errors = checks.named(name, path, names.label_key)
    if not errors and "/" not in name and name not in _STANDARD and not _is_huge(name):
        why = "must be a standard resource type or fully qualified"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


class ResourceQuotas(BuiltinStrategy):
    """Hard limits by resource; the status is the controller's."""

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        for name, amount in sorted((spec.get("hard") or {}).items()):
            errors += _quota_name(name, f"spec.hard[{name}]")
            errors += _amount(name, amount, f"spec.hard[{name}]")
        return errors + _scopes(spec) + _selector(spec)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        new, before = (sorted((o.get("spec") or {}).get("scopes") or []) for o in (obj, old))
        if new != before:
            errors.append(fielderrors.invalid("spec.scopes", new, checks.IMMUTABLE))
        return errors

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        for member in ("hard", "used"):
            for name, amount in sorted(((obj.get("status") or {}).get(member) or {}).items()):
                errors += _quota_name(name, f"status.{member}[{name}]")
                errors += _amount(name, amount, f"status.{member}[{name}]")
        return errors


def _fits(scope: str, name: str) -> bool:
    """IsResourceQuotaScopeValidForResource; names that are not standard fit everywhere."""
    if name not in _QUOTA and not _is_huge(name):
        return True
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name == "persistentvolumeclaims"
    return scope not in _SCOPES or name in _COMPUTE


def _scopes(spec: Object) -> list[FieldError]:
    """validateResourceQuotaScopes."""
    given, path = spec.get("scopes") or [], "spec.scopes"
    errors = []
    for scope in given:
        if scope not in _SCOPES:
            errors.append(fielderrors.invalid(path, given, "unsupported scope"))
        errors += [
            fielderrors.invalid(path, given, "unsupported scope applied to resource")
            for name in sorted(spec.get("hard") or {})
            if not _fits(scope, name)
        ]
    return errors + [
        fielderrors.invalid(path, given, "conflicting scopes")
        for pair in _CONFLICTS
        if pair <= set(given)
    ]


def _selector(spec: Object) -> list[FieldError]:
    """validateScopedResourceSelectorRequirement, whose paths have no index."""
    given = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    path = "spec.scopeSelector.matchExpressions"
    errors = []
    for one in given:
        scope, operator = one.get("scopeName", ""), one.get("operator", "")
        values = one.get("values") or []
        if scope not in _SCOPES:
            errors.append(fielderrors.invalid(f"{path}.scopeName", scope, "unsupported scope"))
        errors += [
            fielderrors.invalid(
                path, spec["scopeSelector"], "unsupported scope applied to resource"
            )
            for name in sorted(spec.get("hard") or {})
            if not _fits(scope, name)
        ]
        if scope in _PLAIN_SCOPES and operator != "Exists":
            named = ", ".join(f"ResourceQuotaScope{name}" for name in _PLAIN_SCOPES[:-1])
            last = f"ResourceQuotaScope{_PLAIN_SCOPES[-1]}"
            why = f"must be 'Exists' when scope is any of {named} or {last}"
            errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for "
                errors.append(fielderrors.required(f"{path}.values", f"{why}scope selector"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                errors.append(fielderrors.invalid(f"{path}.values", values, f"{why}scope selector"))
        else:
            why = "not a valid selector operator"
            errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    named_scopes = {one.get("scopeName") for one in given}
    return errors + [
        fielderrors.invalid(path, given, "conflicting scopes")
        for pair in _CONFLICTS
        if pair <= named_scopes
    ]


def _quota_name(name: str, path: str) -> list[FieldError]:
    errors = resource_name(name, path)
    if "/" not in name and name not in _QUOTA and not _is_huge(name):
        why = "must be a standard resource for quota"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


def _amount(name: str, amount: str, path: str) -> list[FieldError]:
    errors = checks.quantity_not_negative(amount, path)
    if name in COUNTED and not is_whole(quantity.parse(amount)):
        errors.append(fielderrors.invalid(path, amount, "must be an integer"))
    return errors


def is_whole(amount: quantity.Quantity) -> bool:
    """Whether the amount has no fraction."""
    return amount.scale >= 0 or amount.value % 10**-amount.scale == 0


class LimitRanges(BuiltinStrategy):
    """Bounds and defaults per type; what is not said follows from what is."""

    def default(self, obj: Object) -> None:
        for item in (obj.get("spec") or {}).get("limits") or []:
            if item.get("type") == "Container":
                _fill(item)

    def check(self, obj: Object) -> list[FieldError]:
        items = (obj.get("spec") or {}).get("limits") or []
        paths = [f"spec.limits[{index}]" for index in range(len(items))]
        errors = checks.duplicates(
            [item.get("type") for item in items], [f"{path}.type" for path in paths]
        )
        for item, path in zip(items, paths, strict=True):
            errors += _limit_item(item, path)
        return errors


def _fill(item: Object) -> None:
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    for member, values in (("default", limits), ("defaultRequest", requests)):
        if values:
            item[member] = values


def _limit_item(item: Object, path: str) -> list[FieldError]:
    kind = item.get("type", "")
    errors = []
    if kind not in ("Container", "Pod", "PersistentVolumeClaim"):
        errors += checks.named(kind, f"{path}.type", names.label_key)
        if not errors and "/" not in kind:
            why = "must be a standard limit type or fully qualified"
            errors.append(fielderrors.invalid(f"{path}.type", kind, why))
    if kind == "Pod":
        errors += [
            fielderrors.forbidden(f"{path}.{member}", _POD_ONLY)
            for member in ("default", "defaultRequest")
            if item.get(member)
        ]
    if kind == "PersistentVolumeClaim" and not any(
        "storage" in (item.get(member) or {}) for member in ("min", "max")
    ):
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(fielderrors.required(f"{path}.limits", why))
    for member in _AMOUNTS:
        for name in sorted(item.get(member) or {}):
            errors += resource_name(name, f"{path}.{member}[{name}]")
    known = {name for member in _AMOUNTS for name in item.get(member) or {}}
    for name in sorted(known):
        errors += _bounds(item, name, path)
    return errors


_BOUNDS = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip
"""Lower bound, upper bound, the field blamed, the value shown, the text."""


def _bounds(item: Object, name: str, path: str) -> list[FieldError]:
    amounts = {member: (item.get(member) or {}).get(name) for member in _AMOUNTS}
    errors = []
    for low, high, blamed, shown, text in _BOUNDS:
        lower, upper = amounts.get(low), amounts.get(high)
        if lower and upper and quantity.parse(lower) > quantity.parse(upper):
            why = text.format(lower, upper)
            errors.append(fielderrors.invalid(f"{path}.{blamed}[{name}]", amounts[shown], why))
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio and quantity.parse(ratio) < quantity.Quantity(1):
        why = f"ratio {ratio} is less than 1"
        errors.append(fielderrors.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, why))
    return errors
