"""Values of internal types as Go source: `core.Taint{Key:"k", Value:"", …, TimeAdded:<nil>}`.

Errors of minors before 1.34 print values with `%#v`. Go prints a pointer as an address, which
differs in each run; here, the address is constant. Follows fmt/print.go.
"""

import re
from base64 import b64decode
from itertools import groupby
from typing import Any

from inkube.schemas import quantity
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import internal
from inkube.schemas.gotypes.types import GoType
from inkube.schemas.objects import Object

_ADDRESS = "(0xc000000000)"
_ZEROS = {"string": '""', "bool": "false", "int32": "0", "int64": "0", "float": "0"}
_META = "meta."
NO_TIME = "0001-01-01 00:00:00 +0000 UTC"
"""The zero value of a time."""


def value(name: str, data: Object | None, minor: int) -> str:
    """Return a v1 value as its internal type, such as `core.Taint`. Raises KeyError."""
    struct = internal.struct_of(name, minor)
    members = []
    if struct.embedded:
        inner = value("meta.ObjectMeta", (data or {}).get(struct.embedded), minor)
        members.append(f"ObjectMeta:{inner}")
    for steps, fields in groupby(struct.fields, key=lambda field: field.steps(name)):
        written = ", ".join(
            f"{exported(field.name)}:{_field(name, field, (data or {}).get(field.key), minor)}"
            for field in fields
        )
        for step in reversed(steps):
            written = f"{step}:{name.partition('.')[0]}.{step}{{{written}}}"
        members.append(written)
    return f"{package(name)}{{{', '.join(members)}}}"


def of_json(value: Any) -> str:
    """Return any JSON value in the form that Go decodes: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        pairs = (f"{gotext.quote(key)}:{of_json(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(of_json, value))}}}"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return gotext.number(value)


def of_type(name: str, data: Any) -> str:
    """Return a value of a plain Go type: a quantity, quantities by name, an int-or-string or a
    text."""
    if name == "resource.Quantity":
        return _quantity(data)
    if name == "intstr.IntOrString":
        return _int_or_string(data)
    if name in ("time", "*time"):
        if data is None:
            return '"null"' if name == "*time" else NO_TIME
        return moment(data)
    if data is None:
        return f"{name}(nil)"
    if name == "[]byte":
        return f"[]byte{{{', '.join(f'{byte:#04x}' for byte in b64decode(data))}}}"
    if isinstance(data, dict) and name != "core.ResourceList":
        pairs = (f"{gotext.quote(key)}:{gotext.quote(data[key])}" for key in sorted(data))
        return f"{name}{{{', '.join(pairs)}}}"
    if name == "core.ResourceList":
        pairs = (f"{gotext.quote(key)}:{_quantity(data[key])}" for key in sorted(data))
        return f"{name}{{{', '.join(pairs)}}}"
    return f"{name}{{{', '.join(map(gotext.quote, data))}}}"


def items(name: str, data: list[Object] | None, minor: int) -> str:
    """Return a list of such values."""
    if data is None:
        return f"[]{package(name)}(nil)"
    return f"[]{package(name)}{{{', '.join(value(name, each, minor) for each in data)}}}"


def _field(owner: str, field: internal.Field, data: Any, minor: int) -> str:
    go = field.type
    if go.kind in ("time", "microtime") and data is None:
        return "<nil>"  # in these structs, optional times are pointers
    if field.pointer and go.kind not in ("list", "map"):
        return f"(*{type_name(owner, go)}){'(nil)' if data is None else _ADDRESS}"
    return _value(owner, go, data, minor)


def _value(owner: str, go: GoType, data: Any, minor: int) -> str:
    if go.kind == "struct":
        return value(internal.internal_name(owner, go.struct), data, minor)
    if go.item is not None:
        return _held(owner, go, data, minor)
    if go.kind == "quantity":
        return _quantity(data)
    if go.kind == "intstr":
        return _int_or_string(data)
    if data is None:
        return _ZEROS.get(go.kind, "<nil>")
    if isinstance(data, str):
        return gotext.quote(data)
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, dict):  # the fieldsV1 of managed fields
        return f"(*v1.FieldsV1){_ADDRESS}"
    return gotext.number(data)


def _held(owner: str, go: GoType, data: Any, minor: int) -> str:
    name, item = type_name(owner, go), go.item
    assert item is not None
    if data is None:
        return f"{name}(nil)"
    if go.kind == "list":
        return f"{name}{{{', '.join(_value(owner, item, each, minor) for each in data)}}}"
    pairs = (f"{gotext.quote(key)}:{_value(owner, item, data[key], minor)}" for key in sorted(data))
    return f"{name}{{{', '.join(pairs)}}}"


def _quantity(data: Any) -> str:
    """Return a quantity as resource.int64Amount. Larger amounts, which need infDecAmount, do not
    occur in practice."""
    digits, scale, text, form = parts_of(data)
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{digits}, scale:{scale}}}, "
        f"d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:{gotext.quote(text)}, "
        f'Format:"{form}"}}'
    )


def moment(data: str) -> str:
    """Return a time in the format of its method String."""
    return f"{data.replace('T', ' ').removesuffix('Z')} +0000 UTC"


def parts_of(data: Any) -> tuple[int, int, str, str]:
    """Return the parts of a quantity in Go: digits, a power of ten, its text if this is canonical,
    and its format."""
    text = "0" if data is None else str(data)
    digits, scale = _decimal(text)
    kind = "BinarySI" if text.endswith("i") else "DecimalSI"
    is_canonical = data is not None and str(quantity.parse(text)) == text
    return digits, scale, text if is_canonical else "", kind if data is not None else ""


_SCALES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


_AMOUNT = re.compile(
    r"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3})|([KMGTPE]i|[numkMGTPE]?))", re.ASCII
)


def _decimal(text: str) -> tuple[int, int]:
    """Return the digits and a power of ten."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return 0, 0
    sign, whole, fraction, exponent, suffix = found.groups()
    digits = int(f"{sign}{whole}{fraction}" if whole or fraction else "0")
    if suffix in _BINARY:
        return digits << _BINARY[suffix], -len(fraction)
    return digits, int(exponent or 0) + _SCALES.get(suffix or "", 0) - len(fraction)


def _int_or_string(data: Any) -> str:
    if isinstance(data, str):
        return f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{gotext.quote(data)}}}"
    return f'intstr.IntOrString{{Type:0, IntVal:{data or 0}, StrVal:""}}'


def type_name(owner: str, go: GoType) -> str:
    """Return the Go name of the type, with internal packages instead of those of v1."""
    if go.kind == "struct":
        return package(internal.internal_name(owner, go.struct))
    if go.kind == "list" and go.item is not None:
        return go.name if go.item.kind == "bytes" else f"[]{type_name(owner, go.item)}"
    if go.kind == "map" and go.item is not None:
        if go.name == "v1.ResourceList":
            return "core.ResourceList"
        return f"map[string]{type_name(owner, go.item)}"
    if go.kind == "intstr":
        return "intstr.IntOrString"
    if go.name.startswith("v1."):
        return f"{owner.partition('.')[0]}.{go.name.removeprefix('v1.')}"
    return go.name


def package(name: str) -> str:
    """Return the Go name of the type, with `v1.` for the types of metadata."""
    return f"v1.{name.removeprefix(_META)}" if name.startswith(_META) else name


def exported(name: str) -> str:
    """Return the Go name of a field from its JSON name."""
    if name[0].isupper():
        return name
    return _JSON_NAMES.get(name) or name[0].upper() + name[1:]


_JSON_NAMES = {"apiVersion": "APIVersion", "uid": "UID"}
