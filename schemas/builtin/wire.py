"""The protobuf wire format: fields of a message, one after the other.

Only what Kubernetes' messages use: varints, 64-bit values and length-delimited bytes.
"""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_SHIFT = 63


class WireError(ValueError):
    """The bytes are no message; the text is what the reference's decoder says."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of every field in the order sent. Raises WireError."""
    place, end = 0, len(data)
    while place < end:
        key, place = varint(data, place)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if number == 0:
            raise WireError(f"proto: illegal tag 0 (wire type {kind})")
        if kind == VARINT:
            value, place = varint(data, place)
        elif kind == BYTES:
            size, place = varint(data, place)
            value, place = _take(data, place, size), place + size
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value, place = _take(data, place, size), place + size
        else:
            raise WireError(f"proto: illegal wireType {kind}")
        yield number, value


def varint(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned number and where the next byte is. Raises WireError."""
    value = shift = 0
    while True:
        if place >= len(data):
            raise WireError("unexpected EOF")
        if shift > _MAX_SHIFT:
            raise WireError("proto: integer overflow")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
        shift += 7


def signed(value: int) -> int:
    """An unsigned 64-bit number as the signed one it stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _take(data: bytes, place: int, size: int) -> bytes:
    if size > len(data) - place:
        raise WireError("unexpected EOF")
    return data[place : place + size]
