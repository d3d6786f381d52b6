"""Irregular rules of discovery.k8s.io: addresses of a type, names of ports."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin import addresses
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_TYPES = frozenset({"FQDN", "IPv4", "IPv6"})
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def address_of_type(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check an address as before 1.33: each address is checked alone, and IPv4 in the notation of
    IPv6 counts as IPv4. Addresses of unknown types are not checked."""
    kind = frame.root.obj.get("addressType")
    if kind not in _TYPES:
        return []
    if kind == "FQDN":
        return _domain(value, path)
    found = addresses.parse(value)
    mapped = getattr(found, "ipv4_mapped", None) is not None
    version = 4 if mapped else getattr(found, "version", 0)
    errors: list[FieldError] = []
    if f"IPv{version}" != kind:
        errors.append(fielderrors.invalid(path, value, f"must be a valid {kind} address"))
    return errors + addresses.check_reachable(value, path)


def address(how: str, value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that an address has the slice's type. Addresses of unknown types are not checked.
    `how`: `strict`, or `lenient` as before the gate StrictIPCIDRValidation was on."""
    strict = how == "strict"
    kind = frame.root.obj.get("addressType")
    if kind not in _TYPES:
        return []
    if kind == "FQDN":
        return _domain(value, path)
    errors: list[FieldError] = []
    found = addresses.parse(value)
    if strict and found is not None and found.version == 6:
        errors += addresses.check_canonical(value, path)
    elif found is None or found.version == 4:
        errors += addresses.check(value, path, strict=strict)
    if found is not None and not errors:
        if f"IPv{found.version}" != kind:
            why = f"must be an {kind} address"
            errors.append(fielderrors.invalid(f"{frame.path}.addresses", value, why))
        errors += addresses.check_reachable(value, path)
    return errors


def _domain(value: str, path: str) -> list[FieldError]:
    """Check that a name has at least two labels (IsFullyQualifiedDomainName)."""
    if not value:
        return [fielderrors.required(path)]
    name = value.removesuffix(".")
    problems = names.subdomain(name)
    if problems:
        return [fielderrors.invalid(path, name, ",".join(problems))]
    if "." not in name:
        why = "should be a domain with at least two segments separated by dots"
        return [fielderrors.invalid(path, name, why)]
    return [
        fielderrors.invalid(path, label, ",".join(names.label(label)))
        for label in name.split(".")
        if names.label(label)
    ]


def old_addresses(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about addresses that are not in their canonical form, unless one of
    Kubernetes' own controllers writes the slice (warnOnBadIPs)."""
    if (value["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return []
    return [
        text
        for at, endpoint in enumerate(value.get("endpoints") or ())
        for index, address in enumerate(endpoint.get("addresses") or ())
        for text in addresses.warnings(address, f"endpoints[{at}].addresses[{index}]")
    ]
