"""The protobuf wire format: decodes and encodes tags, numbers and sizes.

Supports only the wire types of Kubernetes' messages: varints, 64-bit values and length-delimited
bytes. Unknown fields can have any type, including groups. Errors have the texts of gogo/protobuf's
generated code.
"""

from typing import Final

VARINT, FIXED64, BYTES, START, END, FIXED32 = range(6)
_MAX_SHIFT: Final = 64
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_SIGN: Final = 1 << 63
SIZES: Final = tuple(bytes([length]) for length in range(128))
"""The encoded sizes that fit in one byte."""


class WireError(ValueError):
    """Bytes that are not a valid message. The text is that of upstream's decoder."""


def tag(number: int, kind: int) -> bytes:
    """Return the tag with which a field begins."""
    return size(number << 3 | kind)


def size(value: int) -> bytes:
    """Return a varint of a number that is not negative."""
    if value < 128:
        return SIZES[value]
    if value < 1 << 14:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 128:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(value: int) -> bytes:
    """Return a varint of a signed number of at most 64 bits. Raises ValueError for a larger one."""
    if value < 0:
        value += 1 << 64
    if not 0 <= value <= _MASK:
        raise ValueError("a number has more than 64 bits")
    return size(value)


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return an unsigned number and the position after it. Raises WireError."""
    value = shift = 0
    while True:
        if shift >= _MAX_SHIFT:
            raise WireError("proto: integer overflow")
        if offset >= len(data):
            raise WireError("unexpected EOF")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, offset
        shift += 7


def end_of(data: bytes, offset: int) -> tuple[int, int]:
    """Return the start and the end of length-delimited bytes. `offset` is the position of their
    size. Raises WireError."""
    length, start = varint(data, offset)
    if length >= _SIGN or start + length >= _SIGN:
        raise WireError("proto: negative length found during unmarshaling")
    if start + length > len(data):
        raise WireError("unexpected EOF")
    return start, start + length


def skip(data: bytes, offset: int) -> int:
    """Return the end of the unknown field that begins at `offset`. Raises WireError."""
    depth, end = 0, len(data)
    while offset < end:
        key, offset = varint(data, offset)
        kind = key & 7
        if kind == VARINT:
            _, offset = varint(data, offset)
        elif kind in (FIXED64, FIXED32):
            offset += 8 if kind == FIXED64 else 4
        elif kind == BYTES:
            length, offset = varint(data, offset)
            if length >= _SIGN:
                raise WireError("proto: negative length found during unmarshaling")
            offset += length
        elif kind == START:
            depth += 1
        elif kind == END:
            if depth == 0:
                raise WireError("proto: unexpected end of group")
            depth -= 1
        else:
            raise WireError(f"proto: illegal wireType {kind}")
        if depth == 0:
            if offset > end:
                break
            return offset
    raise WireError("unexpected EOF")


def signed(value: int, bits: int = 64) -> int:
    """Return the signed number that the lowest `bits` bits of an unsigned one represent."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
