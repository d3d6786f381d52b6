"""Decoding JSON into Go structs, as encoding/json does it for built-in kinds.

A `Decoder` takes a JSON value and gives the value as the reference would write it back: fields of
zero value are dropped where Go says omitempty, added where it does not; unknown fields are dropped
and named. The structs themselves are declared by `kinds`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inkube.schemas.golang import gojson, gotext, rfc3339, unmarshal
from inkube.schemas.golang.unmarshal import DecodeError

Decoder = Callable[[Any, str, list[str]], Any]
"""(value, path for unknown fields, the unknown fields found so far) → decoded value."""


class Mismatch(Exception):
    """A value of a type its Go field cannot hold (json.UnmarshalTypeError)."""

    def __init__(self, value: str, go_type: str) -> None:
        super().__init__(go_type)
        self.value = value
        self.go_type = go_type
        self.struct = ""
        self.path: list[str] = []

    def within(self, struct: str, field: str) -> None:
        """Note the field it was found in; called from the innermost struct outwards."""
        self.struct = self.struct or struct
        self.path.append(field)

    def text(self) -> str:
        """The error as encoding/json prints it."""
        where = "Go value"
        if self.struct:
            where = f"Go struct field {self.struct}.{'.'.join(reversed(self.path))}"
        return f"json: cannot unmarshal {self.value} into {where} of type {self.go_type}"


class Malformed(Exception):
    """A refusal by a type's own UnmarshalJSON; the text is whole."""


@dataclass(frozen=True, slots=True)
class Field:
    """A struct's field."""

    decode: Decoder
    always: bool = False
    """Written even when it is zero: the field has no omitempty."""
    pointer: bool = False
    """A pointer keeps "", false and 0."""
    leaf: type | None = None
    """What is of this Python type stays as it is. Most members are texts: the decoder is not even
    asked then."""


def struct(name: str, fields: Mapping[str, Field]) -> Decoder:
    """A struct. `name` is the bare Go type."""
    always = [(key, field.decode) for key, field in fields.items() if field.always]

    def decode(value: Any, path: str, unknown: list[str]) -> Any:
        if value is None:
            value = {}
        elif not isinstance(value, dict):
            raise Mismatch(unmarshal.kind(value), f"v1.{name}")
        decoded = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                unknown.append(f"{path}.{key}" if path else key)
                continue
            if item.__class__ is not field.leaf:
                try:
                    item = field.decode(item, f"{path}.{key}" if path else key, unknown)
                except Mismatch as mismatch:
                    mismatch.within(name, key)
                    raise
            if item or (item is not None and (field.pointer or field.always)):
                decoded[key] = item
        for key, decode_zero in always:
            if key not in decoded:
                decoded[key] = decode_zero(None, "", unknown)
        return decoded

    return decode


def pointer(decode: Decoder) -> Decoder:
    """`*T`: null stays null."""

    def decode_pointer(value: Any, path: str, unknown: list[str]) -> Any:
        return None if value is None else decode(value, path, unknown)

    return decode_pointer


def slice_of(decode: Decoder, go_type: str) -> Decoder:
    """`[]T`."""

    def decode_slice(value: Any, path: str, unknown: list[str]) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise Mismatch(unmarshal.kind(value), f"[]{go_type}")
        return [decode(item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]

    return decode_slice


def map_of(decode: Decoder, go_type: str) -> Decoder:
    """`map[string]T`."""

    def decode_map(value: Any, path: str, unknown: list[str]) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Mismatch(unmarshal.kind(value), f"map[string]{go_type}")
        return {key: decode(item, f"{path}.{key}", unknown) for key, item in value.items()}

    return decode_map


def string(go_type: str = "string") -> Decoder:
    """A string type."""

    def decode(value: Any, _path: str, _unknown: list[str]) -> Any:
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        raise Mismatch(unmarshal.kind(value), go_type)

    return decode


def boolean(value: Any, _path: str, _unknown: list[str]) -> Any:
    """`bool`."""
    if isinstance(value, bool):
        return value
    if value is None:
        return False
    raise Mismatch(unmarshal.kind(value), "bool")


def integer(bits: int) -> Decoder:
    """`int32` or `int64`."""
    limit = 1 << (bits - 1)

    def decode(value: Any, _path: str, _unknown: list[str]) -> Any:
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mismatch(unmarshal.kind(value), f"int{bits}")
        if isinstance(value, float) or not -limit <= value < limit:
            raise Mismatch(f"number {_number_text(value)}", f"int{bits}")
        return value

    return decode


def number(value: Any, _path: str, _unknown: list[str]) -> Any:
    """`float64`; whole numbers are written without a fraction."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Mismatch(unmarshal.kind(value), "float64")
    return gojson.settle_numbers(float(value))


_BASE64 = re.compile(r"[A-Za-z0-9+/]*")


def base64_bytes(value: Any, _path: str, _unknown: list[str]) -> Any:
    """`[]byte`: base64 text, which stays as it is."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Mismatch(unmarshal.kind(value), "[]uint8")
    text = value.replace("\r", "").replace("\n", "")
    digits = len(_BASE64.match(text)[0])  # type: ignore[index]  # matches every text
    padding = "=" * (-digits % 4)
    if digits % 4 == 1 or text[digits:] != padding:
        raise Malformed(f"illegal base64 data at input byte {digits}")
    return text


def time(value: Any, _path: str, _unknown: list[str]) -> Any:
    """`metav1.Time`, as it writes itself: UTC, whole seconds."""
    if value is None:
        return None
    if not isinstance(value, str):
        kind = unmarshal.kind(value)
        raise Malformed(f"json: cannot unmarshal {kind} into Go value of type string")
    try:
        return rfc3339.rfc3339(value)
    except DecodeError as error:
        raise Malformed(error.text) from error


def any_json(value: Any, _path: str, _unknown: list[str]) -> Any:
    """JSON of any shape; numbers as the reference writes them back."""
    if isinstance(value, dict):
        return {key: any_json(item, "", []) for key, item in value.items()}
    if isinstance(value, list):
        return [any_json(item, "", []) for item in value]
    return gojson.settle_numbers(value) if isinstance(value, float) else value


def _number_text(value: float) -> str:
    return repr(value) if isinstance(value, float) else gotext.number(value)
