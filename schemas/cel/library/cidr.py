"""Address ranges: cidr, isCIDR, containsIP, containsCIDR, masked, prefixLength.

Upstream: apiserver pkg/cel/library/cidr.go.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.estimates import (
    ONE,
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Range,
)
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError, Impl, Overload
from inkube.schemas.cel.declarations.types import BOOL, INT, STRING, Type
from inkube.schemas.cel.library import costs, ip
from inkube.schemas.cel.library.ip import IpValue
from inkube.schemas.cel.library.overloads import method, question, reader, reads, text
from inkube.schemas.golang import gotext, netip

_ADDRESS: Final = Range(4, 16)
"""The bytes of an address of either family."""
_FAILED: Final = "network address parse error during conversion from string: "


@dataclass(frozen=True, slots=True)
class CidrValue:
    """An address range in an expression."""

    cel_type: ClassVar[Type] = types.CIDR
    prefix: netip.Prefix

    @property
    def cel_size(self) -> int:
        """The size of the prefix in bytes."""
        return math.ceil(self.prefix.length / 8)


def parse(text: str) -> CidrValue:
    """Return the range. Raises EvalError."""
    try:
        return CidrValue(_prefix(text))
    except ValueError as error:
        raise EvalError(f"{_FAILED}{error}") from None


def _prefix(text: str) -> netip.Prefix:
    try:
        prefix = netip.parse_prefix(text)
    except ValueError as error:
        raise ValueError(f"{_FAILED}{error}") from None
    if prefix.addr.is_4in6:
        raise ValueError(f"IPv4-mapped IPv6 address {gotext.quote(text)} is not allowed")
    return prefix


def contains_ip(value: CidrValue, address: IpValue) -> bool:
    """Return whether the range contains the address."""
    return value.prefix.contains(address.addr)


def contains_ip_text(value: CidrValue, text: str) -> bool:
    """As `contains_ip`, for a text. Raises EvalError, as upstream without the reason."""
    try:
        address = ip.parse(text)
    except EvalError:
        raise EvalError(NO_OVERLOAD) from None
    return contains_ip(value, address)


def contains_cidr(value: CidrValue, other: CidrValue) -> bool:
    """Return whether the range contains the other range."""
    return value.prefix.contains_prefix(other.prefix)


def contains_cidr_text(value: CidrValue, text: str) -> bool:
    """As `contains_cidr`, for a range as text. Raises EvalError."""
    return value.prefix.contains_prefix(parse(text).prefix)


def _bytes_cost(arguments: tuple[Any, ...]) -> int:
    return math.ceil(2 * costs.size_of(arguments[0]) * STRING_FACTOR)


def _text_cost(arguments: tuple[Any, ...]) -> int:
    """Return the cost of a call that parses its text argument."""
    other = arguments[1]
    return math.ceil(len(other) * STRING_FACTOR) if isinstance(other, str) else 0


def _ip_cost(arguments: tuple[Any, ...], _: Any) -> int:
    return _bytes_cost(arguments) + _text_cost(arguments)


def _cidr_cost(arguments: tuple[Any, ...], _: Any) -> int:
    masking = math.ceil(costs.size_of(arguments[0]) * STRING_FACTOR) + 1
    return _bytes_cost(arguments) + masking + _text_cost(arguments)


def _estimate_ip(arguments: tuple[Argument, ...]) -> CallEstimate:
    cost = (_ADDRESS + _ADDRESS).times(STRING_FACTOR)
    if arguments[1].type == STRING:
        cost += arguments[1].size.times(STRING_FACTOR)
    return CallEstimate(cost)


def _estimate_cidr(arguments: tuple[Argument, ...]) -> CallEstimate:
    masking = _ADDRESS.times(STRING_FACTOR) + ONE
    return CallEstimate(_estimate_ip(arguments).cost + masking)


def _containing(function: str, id: str, other: Type, impl: Impl) -> Overload:
    is_ip = function == "containsIP"
    return Overload(
        function,
        id,
        (types.CIDR, other),
        BOOL,
        impl,
        receiver=True,
        cost=_ip_cost if is_ip else _cidr_cost,
        estimate=_estimate_ip if is_ip else _estimate_cidr,
        fails=other is STRING,
    )


_CIDR: Final = (types.CIDR,)
OVERLOADS: Final[tuple[Overload, ...]] = (
    reader("cidr", "string_to_cidr", types.CIDR, parse),
    _containing("containsIP", "cidr_contains_ip_string", STRING, contains_ip_text),
    _containing("containsIP", "cidr_contains_ip_ip", types.IP, contains_ip),
    _containing("containsCIDR", "cidr_contains_cidr_string", STRING, contains_cidr_text),
    _containing("containsCIDR", "cidr_contains_cidr", types.CIDR, contains_cidr),
    method("ip", "cidr_ip", _CIDR, types.IP, lambda cidr: IpValue(cidr.prefix.addr)),
    method("prefixLength", "cidr_prefix_length", _CIDR, INT, lambda cidr: cidr.prefix.length),
    method(
        "masked", "cidr_masked", _CIDR, types.CIDR, lambda cidr: CidrValue(cidr.prefix.masked())
    ),
    question("isCIDR", "is_cidr", reads(_prefix)),
    text("cidr_to_string", types.CIDR, lambda cidr: str(cidr.prefix)),
)
