"""IP addresses and prefixes as Go's net/netip parses and formats them.

Leading zeros are invalid. Errors are ValueError with netip's texts. Follows net/netip/netip.go
(parseIPv4Fields, parseIPv6, ParsePrefix).
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from inkube.schemas.golang import gotext

_HEX: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Addr:
    """An address: `bits` is 32 or 128, `zone` that of an IPv6 address or empty."""

    value: int
    bits: int
    zone: str = ""

    def __str__(self) -> str:
        if self.bits == 32:
            return str(ipaddress.IPv4Address(self.value))
        if self.is_4in6:
            text = f"::ffff:{ipaddress.IPv4Address(self.value & 0xFFFFFFFF)}"
        else:
            text = ipaddress.IPv6Address(self.value).compressed
        return f"{text}%{self.zone}" if self.zone else text

    @property
    def is_4in6(self) -> bool:
        """Is4In6: an IPv4 address mapped into IPv6."""
        return self.bits == 128 and self.value >> 32 == 0xFFFF

    @property
    def is_unspecified(self) -> bool:
        """IsUnspecified: 0.0.0.0 or ::."""
        return self.value == 0 and not self.zone

    @property
    def is_loopback(self) -> bool:
        """IsLoopback: 127.0.0.0/8 or ::1."""
        return self._starts(0x7F, 8) if self.bits == 32 else self.value == 1

    @property
    def is_multicast(self) -> bool:
        """IsMulticast: 224.0.0.0/4 or ff00::/8."""
        return self._starts(0xE, 4) if self.bits == 32 else self._starts(0xFF, 8)

    @property
    def is_link_local_unicast(self) -> bool:
        """IsLinkLocalUnicast: 169.254.0.0/16 or fe80::/10."""
        return self._starts(0xA9FE, 16) if self.bits == 32 else self._starts(0xFE80 >> 6, 10)

    @property
    def is_link_local_multicast(self) -> bool:
        """IsLinkLocalMulticast: 224.0.0.0/24 or ff?2::/16."""
        if self.bits == 32:
            return self._starts(0xE00000, 24)
        return (self.value >> 112) & 0xFF0F == 0xFF02

    @property
    def is_global_unicast(self) -> bool:
        """IsGlobalUnicast: not one of the special addresses. Private addresses are global here."""
        if self.bits == 32 and self.value in (0, 0xFFFFFFFF):
            return False
        return not (
            self.value == 0 or self.is_loopback or self.is_multicast or self.is_link_local_unicast
        )

    def _starts(self, prefix: int, length: int) -> bool:
        return self.value >> (self.bits - length) == prefix


@dataclass(frozen=True, slots=True)
class Prefix:
    """An address and the number of its first bits that form the prefix."""

    addr: Addr
    length: int

    def __str__(self) -> str:
        return f"{self.addr}/{self.length}"

    def masked(self) -> "Prefix":
        """Masked: the prefix with all bits after its length cleared."""
        shift = self.addr.bits - self.length
        return Prefix(Addr(self.addr.value >> shift << shift, self.addr.bits), self.length)

    def contains(self, addr: Addr) -> bool:
        """Contains: whether the address has the same family and the same first bits."""
        if addr.bits != self.addr.bits or addr.zone:
            return False
        shift = addr.bits - self.length
        return addr.value >> shift == self.addr.value >> shift

    def contains_prefix(self, other: "Prefix") -> bool:
        """Return whether this prefix contains every address of the other."""
        return self.length <= other.length and self.contains(other.addr)


def parse_addr(text: str) -> Addr:
    """Parse an IP address (`netip.ParseAddr`)."""
    for char in text:
        if char == ".":
            return Addr(_ipv4(text, text), 32)
        if char == ":":
            return _ipv6(text)
        if char == "%":
            raise _parse_error(text, "missing IPv6 address")
    raise _parse_error(text, "unable to parse IP")


def parse_prefix(text: str) -> Prefix:
    """Parse a CIDR (`netip.ParsePrefix`)."""
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        addr = parse_addr(address)
    except ValueError as error:
        raise _prefix_error(text, str(error)) from None
    if addr.zone:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", bits, re.ASCII):
        raise _prefix_error(text, f"bad bits after slash: {gotext.quote(bits)}")
    if int(bits) > addr.bits:
        raise _prefix_error(text, "prefix length out of range")
    return Prefix(addr, int(bits))


def _parse_error(text: str, message: str, at: str = "") -> ValueError:
    where = f" (at {gotext.quote(at)})" if at else ""
    return ValueError(f"ParseAddr({gotext.quote(text)}): {message}{where}")


def _prefix_error(text: str, message: str) -> ValueError:
    return ValueError(f"netip.ParsePrefix({gotext.quote(text)}): {message}")


def _ipv4(text: str, part: str) -> int:
    """Parse four decimal fields. `part` is the part of `text` that contains them."""
    fields: list[int] = []
    value = digits = 0
    for index, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _parse_error(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _parse_error(text, "IPv4 field has value >255")
        elif char == ".":
            if index in (0, len(part) - 1) or part[index - 1] == ".":
                raise _parse_error(text, "IPv4 field must have at least one digit", part[index:])
            if len(fields) == 3:
                raise _parse_error(text, "IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise _parse_error(text, "unexpected character", part[index:])
    if len(fields) < 3:
        raise _parse_error(text, "IPv4 address too short")
    return int.from_bytes(bytes([*fields, value]))


def _ipv6(text: str) -> Addr:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _parse_error(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = None
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return Addr(0, 128, zone)
    while len(groups) < 8:
        digits = _group(text, rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            groups += _embedded(text, rest, groups=len(groups), elided=ellipsis is not None)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        rest = _after_colon(text, rest)
        if rest.startswith(":"):
            if ellipsis is not None:
                raise _parse_error(text, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    if rest:
        raise _parse_error(text, "trailing garbage after address", rest)
    return Addr(_expanded(text, groups, ellipsis), 128, zone)


def _group(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _parse_error(text, "each group must have 4 or fewer digits", rest)
    if not digits:
        raise _parse_error(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _embedded(text: str, rest: str, *, groups: int, elided: bool) -> list[int]:
    """Return the two groups for an IPv4 address at the end of an IPv6 address."""
    if not elided and groups != 6:
        raise _parse_error(
            text, "embedded IPv4 address must replace the final 2 fields of the address", rest
        )
    if groups > 6:
        raise _parse_error(
            text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest
        )
    value = _ipv4(text, rest)
    return [value >> 16, value & 0xFFFF]


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _parse_error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _parse_error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _expanded(text: str, groups: list[int], ellipsis: int | None) -> int:
    missing = 8 - len(groups)
    if missing and ellipsis is None:
        raise _parse_error(text, "address string too short")
    if not missing and ellipsis is not None:
        raise _parse_error(text, "the :: must expand to at least one field of zeros")
    if ellipsis is not None:
        groups = groups[:ellipsis] + [0] * missing + groups[ellipsis:]
    value = 0
    for group in groups:
        value = value << 16 | group
    return value
