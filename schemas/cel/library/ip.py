"""IP addresses: ip, isIP, ip.isCanonical and what an address is.

Zones and IPv4 addresses mapped into IPv6 are refused. Upstream: apiserver pkg/cel/library/ip.go.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.estimates import STRING_FACTOR
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, INT, STRING, Type
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.overloads import folded
from inkube.schemas.golang import gotext, netip


@dataclass(frozen=True, slots=True)
class IpValue:
    """An address in an expression."""

    cel_type: ClassVar[Type] = types.IP
    addr: netip.Addr

    @property
    def cel_size(self) -> int:
        """Bytes."""
        return self.addr.bits // 8


def parse(text: str) -> IpValue:
    """Raises EvalError."""
    try:
        return IpValue(parse_addr(text))
    except ValueError as error:
        raise EvalError(str(error)) from None


def parse_addr(text: str) -> netip.Addr:
    """The address. Raises ValueError."""
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


def is_ip(text: str) -> bool:
    """Whether `parse` would read it."""
    try:
        parse_addr(text)
    except ValueError:
        return False
    return True


def is_canonical(text: str) -> bool:
    """Whether the address is written as it would be printed. Raises EvalError."""
    return str(parse(text).addr) == text


def _question(function: str, id: str, ask: Callable[[netip.Addr], bool]) -> Overload:
    return Overload(
        function,
        id,
        (types.IP,),
        BOOL,
        lambda value: ask(value.addr),
        receiver=True,
        fails=False,
    )


OVERLOADS: Final[tuple[Overload, ...]] = (
    Overload(
        "ip",
        "string_to_ip",
        (STRING,),
        types.IP,
        parse,
        cost=costs.per_size(),
        estimate=costs.sized(),
        specialise=folded(parse),
    ),
    Overload(
        "family",
        "ip_family",
        (types.IP,),
        INT,
        lambda value: 4 if value.addr.bits == 32 else 6,
        receiver=True,
        fails=False,
    ),
    Overload(
        "ip.isCanonical",
        "ip_is_canonical",
        (STRING,),
        BOOL,
        is_canonical,
        cost=costs.per_size(2 * STRING_FACTOR),
        estimate=costs.sized(2 * STRING_FACTOR),
    ),
    _question("isUnspecified", "ip_is_unspecified", lambda addr: addr.is_unspecified),
    _question("isLoopback", "ip_is_loopback", lambda addr: addr.is_loopback),
    _question(
        "isLinkLocalMulticast",
        "ip_is_link_local_multicast",
        lambda addr: addr.is_link_local_multicast,
    ),
    _question(
        "isLinkLocalUnicast", "ip_is_link_local_unicast", lambda addr: addr.is_link_local_unicast
    ),
    _question("isGlobalUnicast", "ip_is_global_unicast", lambda addr: addr.is_global_unicast),
    Overload(
        "isIP",
        "is_ip",
        (STRING,),
        BOOL,
        is_ip,
        cost=costs.per_size(),
        estimate=costs.sized(),
        fails=False,
    ),
    Overload(
        "string",
        "ip_to_string",
        (types.IP,),
        STRING,
        lambda value: str(value.addr),
        fails=False,
    ),
)
