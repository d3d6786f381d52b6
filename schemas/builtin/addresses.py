"""Validation of IP addresses and blocks in built-in kinds, and of a pod's lists of addresses.

New objects must not have leading zeros and mapped addresses, but old objects can. Follows
apimachinery/pkg/util/validation/ip.go and core validation (validatePodIPs, validateHostIPs).
"""

import ipaddress
from collections.abc import Iterator

from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object

_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_BLOCK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_NONSTANDARD = "{}: non-standard {} {} is invalid: use {}"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse(text: str) -> _Address | None:
    """Return the IP address in a text, or None if it is invalid. Leading zeros in IPv4 are valid
    (netutils.ParseIPSloppy, unlike net.ParseIP)."""
    try:
        return ipaddress.ip_address(_without_zeros(text)) if "%" not in text else None
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    if ":" in text:
        return text
    return ".".join(part.lstrip("0") or ("0" if part else "") for part in text.split("."))


def check(text: str, path: str, *, strict: bool = True) -> list[FieldError]:
    """Return the errors of an IP address (IsValidIP).

    Without `strict`, leading zeros and IPv4-mapped addresses are valid, as without the gate
    StrictIPCIDRValidation.
    """
    found = parse(text)
    if found is None:
        return [fielderrors.invalid(path, text, _ADDRESS)]
    errors: list[FieldError] = []
    if not strict:
        return errors
    if ":" not in text and text != str(found):
        errors.append(fielderrors.invalid(path, text, "must not have leading 0s"))
    if _is_mapped(found):
        why = "must not be an IPv4-mapped IPv6 address"
        errors.append(fielderrors.invalid(path, text, why))
    return errors


def block(text: str) -> tuple[_Address, int] | None:
    """Return the address and the length of the prefix, or None if the text is invalid
    (net.ParseCIDR)."""
    address, slash, length = text.partition("/")
    found = parse(address)
    if found is None or not slash or not length.isdecimal() or not length.isascii():
        return None
    return (found, int(length)) if int(length) <= found.max_prefixlen else None


def check_block(text: str, path: str, *, strict: bool = True) -> list[FieldError]:
    """Return the errors of a CIDR (IsValidCIDR). `check` describes `strict`."""
    parsed = block(text)
    if parsed is None:
        return [fielderrors.invalid(path, text, _BLOCK)]
    (found, prefix), (address, _, length) = parsed, text.partition("/")
    if not strict:
        return []
    if (":" not in address and address != str(found)) or length != str(prefix):
        why = "must not have leading 0s in IP or prefix length"
    elif _is_mapped(found):
        why = "must not have an IPv4-mapped IPv6 address"
    elif int(found) & _host_mask(found, prefix):
        why = "must not have bits set beyond the prefix length"
    else:
        return []
    return [fielderrors.invalid(path, text, why)]


def check_canonical(text: str, path: str) -> list[FieldError]:
    """Return the errors of an IP address that must be in its canonical form (IsValidIP)."""
    errors, found = check(text, path), parse(text)
    if errors or found is None or str(found) == text:
        return errors
    return [fielderrors.invalid(path, text, f'must be in canonical form ("{found}")')]


def warnings(text: str, path: str) -> list[str]:
    """Return the warnings about an IP address that is valid, but not in its canonical form
    (GetWarningsForIP)."""
    found = parse(text)
    if found is None or (str(found) == text and not _is_mapped(found)):
        return []
    shown, better = gotext.quote(text), gotext.quote(_preferred(found))
    if _is_mapped(found) or ":" not in text:
        return [_NONSTANDARD.format(path, "IP address", shown, better)]
    return [f"{path}: IPv6 address {shown} should be in RFC 5952 canonical format ({better})"]


def block_warnings(text: str, path: str) -> list[str]:
    """Return the warnings about a CIDR (GetWarningsForCIDR)."""
    parsed = block(text)
    if parsed is None:
        return []
    (found, prefix), (address, _, length) = parsed, text.partition("/")
    network = type(found)(int(found) & ~_host_mask(found, prefix))
    shown, better = gotext.quote(text), gotext.quote(f"{_preferred(network)}/{prefix}")
    texts = []
    if network != found:
        single = gotext.quote(f"{_preferred(found)}/{found.max_prefixlen}")
        texts.append(
            f"{path}: CIDR value {shown} is ambiguous in this context"
            f" (should be {better} or {single}?)"
        )
    has_zeros = (":" not in address and address != str(found)) or length != str(prefix)
    if _is_mapped(found) or has_zeros:
        texts.append(_NONSTANDARD.format(path, "CIDR value", shown, better))
    elif not texts and f"{found}/{prefix}" != text:
        why = f"should be in RFC 5952 canonical format ({better})"
        texts.append(f"{path}: IPv6 CIDR value {shown} {why}")
    return texts


def _is_mapped(address: _Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def _preferred(address: _Address) -> str:
    """Return the text of net.IP, which writes mapped addresses as IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(address if mapped is None else mapped)


def _host_mask(address: _Address, prefix: int) -> int:
    return (1 << (address.max_prefixlen - prefix)) - 1


def check_reachable(text: str, path: str) -> list[FieldError]:
    """Return the errors of an address of an endpoint, which must be reachable
    (ValidateEndpointIP)."""
    found = parse(text)
    if found is None:
        return [fielderrors.invalid(path, text, "must be a valid IP address")]
    errors = []
    if found.is_unspecified:
        errors.append(fielderrors.invalid(path, text, f"may not be unspecified ({text})"))
    for is_special, why in (
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            _is_link_local_multicast(found),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ):
        if is_special:
            errors.append(fielderrors.invalid(path, text, why))
    return errors


def _is_link_local_multicast(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return int(address) >> 8 == 0xE00000
    return address.is_multicast and (int(address) >> 112) & 0xF == 2


def of_pod(status: Object, member: str) -> list[FieldError]:
    """Return the errors of `podIPs` or `hostIPs` in a pod's status: at most one address of each
    family, and the first of `hostIPs` must equal `hostIP`."""
    many = status.get(f"{member}s") or []
    path = f"status.{member}s"
    errors = []
    first = status.get(member) or ""
    if member == "hostIP" and many and many[0].get("ip", "") != first:
        why = "must be equal to `hostIP`"
        errors.append(fielderrors.invalid(f"{path}[0].ip", many[0].get("ip", ""), why))
    for index, one in enumerate(many):
        errors += check(one.get("ip", ""), f"{path}[{index}]")
    return errors + _pair(many, path) if len(many) > 1 else errors


def _pair(many: list[Object], path: str) -> list[FieldError]:
    """Return the errors of addresses that are not one of each family."""
    texts = [one.get("ip", "") for one in many]
    errors = []
    wrong = next((index for index, text in enumerate(texts) if parse(text) is None), None)
    if wrong is not None:
        why = f"failed to check for dual stack with error:invalid IP[{wrong}]: {texts[wrong]}"
        errors.append(fielderrors.internal(path, why))
    families = {found.version for text in texts if (found := parse(text))}
    if wrong is not None or len(families) != len(many):
        why = "may specify no more than one IP for each IP family"
        errors.append(fielderrors.invalid(path, fielderrors.Verbatim(_listed(many)), why))
    return errors


def repeated(status: Object, member: str) -> Iterator[FieldError]:
    """Yield the errors of addresses that are in `podIPs` or `hostIPs` twice."""
    seen: set[str] = set()
    for index, one in enumerate(status.get(f"{member}s") or ()):
        if one.get("ip", "") in seen:
            shown = fielderrors.Verbatim(_listed([one])[1:-1])
            yield fielderrors.duplicate(f"status.{member}s[{index}]", shown)
        seen.add(one.get("ip", ""))


def _listed(many: list[Object]) -> str:
    return "[" + ",".join(f'{{"IP":"{one.get("ip", "")}"}}' for one in many) + "]"
