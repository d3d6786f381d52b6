"""Names and amounts of resources that containers, quotas and limit ranges can contain.

Follows pkg/apis/core/helper and core validation (validateResourceName and its siblings).
"""

from inkube.schemas import fielderrors, quantity
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names

COUNTED = frozenset({
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
})  # fmt: skip
"""Resources with integer amounts (integerResources)."""
OF_QUOTAS = COUNTED | {
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_STANDARD = OF_QUOTAS | {"storage"}
_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
HUGE = "hugepages-"
_NOT_NEGATIVE = "must be greater than or equal to 0"


def is_huge(name: str) -> bool:
    """Return whether the name is a size of huge pages, or a quota of one."""
    return name.startswith((HUGE, f"requests.{HUGE}"))


def is_native(name: str) -> bool:
    """Return whether Kubernetes itself defines the resource (IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Return whether the resource is not defined by Kubernetes (IsExtendedResourceName)."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.label_key(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    """Return whether limits can be greater than requests (IsOvercommitAllowed)."""
    return is_native(name) and not name.startswith(HUGE)


_MILLI = -3
_LOWEST = -(1 << 63)


def is_whole(amount: quantity.Quantity) -> bool:
    """Return whether the amount has no fraction. Go counts in milli, and of an arbitrary decimal
    only the low 64 bits (scale_int.go, scaledValue)."""
    if amount.big and amount.scale > _MILLI:
        factor = 10 ** min(amount.scale - _MILLI, 19)
        low = amount.value * (factor if factor < -_LOWEST else _LOWEST) % (1 << 64)
        signed = low if low < -_LOWEST else low + 2 * _LOWEST
        return signed % 1000 == 0
    return amount.scale >= 0 or amount.value % 10**-amount.scale == 0


def check(name: str, path: str) -> list[FieldError]:
    """validateResourceName: standard, or with a domain."""
    if name in _STANDARD:
        return []
    errors = [fielderrors.invalid(path, name, why) for why in names.label_key(name)]
    if not errors and "/" not in name and not is_huge(name):
        why = "must be a standard resource type or fully qualified"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


def check_of_container(name: str, path: str) -> list[FieldError]:
    """Check the name of a container's resource (validateContainerResourceName)."""
    errors = check(name, path)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith(HUGE):
            why = "must be a standard resource for containers"
            errors.append(fielderrors.invalid(path, name, why))
    elif not is_native(name) and not is_extended(name):
        why = "doesn't follow extended resource name standard"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


def check_of_quota(name: str, path: str) -> list[FieldError]:
    """Check the name of a resource in a quota (ValidateResourceQuotaResourceName)."""
    errors = check(name, path)
    if "/" not in name and name not in OF_QUOTAS and not is_huge(name):
        why = "must be a standard resource for quota"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


def check_amount(name: str, amount: str, path: str) -> list[FieldError]:
    """Check that an amount is not negative, and whole for integer resources
    (ValidateResourceQuantityValue)."""
    parsed = quantity.parse(amount)
    errors = []
    if parsed.sign < 0:
        errors.append(fielderrors.invalid(path, amount, _NOT_NEGATIVE))
    if (name in COUNTED or is_extended(name)) and not is_whole(parsed):
        errors.append(fielderrors.invalid(path, amount, "must be an integer"))
    return errors
