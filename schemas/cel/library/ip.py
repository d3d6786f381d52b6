"""IP addresses: ip, isIP, ip.isCanonical and the properties of an address.

Zones and IPv4 addresses mapped into IPv6 are invalid. Upstream: apiserver pkg/cel/library/ip.go.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.estimates import STRING_FACTOR
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, INT, STRING, Type
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.overloads import method, question, reader, reads, text
from inkube.schemas.golang import gotext, netip


@dataclass(frozen=True, slots=True)
class IpValue:
    """An address in an expression."""

    cel_type: ClassVar[Type] = types.IP
    addr: netip.Addr

    @property
    def cel_size(self) -> int:
        """The size of the address in bytes."""
        return self.addr.bits // 8


def parse(text: str) -> IpValue:
    """Return the address. Raises EvalError."""
    try:
        return IpValue(parse_addr(text))
    except ValueError as error:
        raise EvalError(str(error)) from None


def parse_addr(text: str) -> netip.Addr:
    """Return the address. Raises ValueError."""
    quoted = gotext.quote(text)
    try:
        addr = netip.parse_addr(text)
    except ValueError as error:
        raise ValueError(
            f"IP Address {quoted} parse error during conversion from string: {error}"
        ) from None
    if addr.zone:
        raise ValueError(f"IP address {quoted} with zone value is not allowed")
    if addr.is_4in6:
        raise ValueError(f"IPv4-mapped IPv6 address {quoted} is not allowed")
    return addr


def is_canonical(text: str) -> bool:
    """Return whether the text is the canonical form of the address. Raises EvalError."""
    return str(parse(text).addr) == text


_IP: Final = (types.IP,)
OVERLOADS: Final[tuple[Overload, ...]] = (
    reader("ip", "string_to_ip", types.IP, parse),
    method("family", "ip_family", _IP, INT, lambda ip: 4 if ip.addr.bits == 32 else 6),
    Overload(
        "ip.isCanonical",
        "ip_is_canonical",
        (STRING,),
        BOOL,
        is_canonical,
        cost=costs.per_size(2 * STRING_FACTOR),
        estimate=costs.sized(2 * STRING_FACTOR),
    ),
    method("isUnspecified", "ip_is_unspecified", _IP, BOOL, lambda ip: ip.addr.is_unspecified),
    method("isLoopback", "ip_is_loopback", _IP, BOOL, lambda ip: ip.addr.is_loopback),
    method(
        "isLinkLocalMulticast", "ip_is_link_local_multicast", _IP, BOOL,
        lambda ip: ip.addr.is_link_local_multicast,
    ),
    method(
        "isLinkLocalUnicast", "ip_is_link_local_unicast", _IP, BOOL,
        lambda ip: ip.addr.is_link_local_unicast,
    ),
    method(
        "isGlobalUnicast", "ip_is_global_unicast", _IP, BOOL, lambda ip: ip.addr.is_global_unicast
    ),
    question("isIP", "is_ip", reads(parse_addr)),
    text("ip_to_string", types.IP, lambda ip: str(ip.addr)),
)  # fmt: skip
