"""Go's texts for JSON that does not fit a Go type, and their exception."""

from typing import Any

from inkube.schemas.golang import gotext


class DecodeError(Exception):
    """A body, or a part of it, cannot be decoded. `text` is Go's error without a prefix. `path` is
    the path of the value, where it is known: `spec.replicas`."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.path = path


def kind(value: Any) -> str:
    """Return the name of a value in encoding/json: string, number, bool, array, object."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def cannot_unmarshal(value: Any, go_type: str, field: str = "", path: str = "") -> DecodeError:
    """json.UnmarshalTypeError; `field` is `Struct.path.to.field`, or "" outside of structs."""
    what = kind(value)
    if what == "number" and go_type.startswith("int"):
        what = f"number {gotext.number(value)}"
    where = f"Go struct field {field}" if field else "Go value"
    return DecodeError(f"json: cannot unmarshal {what} into {where} of type {go_type}", path)
