"""JSON decoded to a Go type and encoded again: the same errors, the same zero values omitted.

Unknown fields are dropped and named, a wrong JSON type is an error, what `omitempty` leaves out is
left out, what Go always sends is there, times and quantities are canonical. Follows
sigs.k8s.io/json (decode.go) and encoding/json.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from inkube.schemas import quantity
from inkube.schemas.golang import DecodeError, base64, gojson, gotext, rfc3339
from inkube.schemas.gotypes.types import GoField, GoType
from inkube.schemas.objects import Empty, NoEntries, Object

MAX_UNKNOWN = 100
"""Most strict errors that the reference collects."""
_RESOURCES = "v1.ResourceList"
_UNROUNDED = frozenset({"Overhead"})
"""Structs whose resources have no default, SetDefaults_ResourceList, that rounds them to milli."""
_EXACT = 2**53
"""A float64 represents every whole number up to this one."""
_INT_BITS = {"int32": 31, "int64": 63, "intstr": 31}
_BYTE = GoType("uint8", "uint8")
_STRINGS = GoType("list", "[]string", GoType("string", "string"))
_OPTIONAL = (
    "list", "map", "bytes", "time", "microtime", "raw", "json", "orbool", "orlist", "orstrings",
)  # fmt: skip
_EMPTY = frozenset({"list", "map"})
_TIMES = frozenset({"time", "microtime"})
_OWN_TIMES = frozenset({"deletionTimestamp", "time"})
"""Times in metadata and its managedFields that the server sets for an object: Go's zero time in a
body is as none there, but not in templates."""
_OWN_PLACES: tuple[list[str], ...] = ([], ["metadata"], ["managedFields"])
_NO_TIME = frozenset({rfc3339.ZERO, rfc3339.ZERO_MICRO})
_ZEROS: dict[str, Any] = {
    **dict.fromkeys(_OPTIONAL),
    "string": "", "bool": False, "int32": 0, "int64": 0, "uint8": 0, "float": 0,
    "quantity": "0", "intstr": 0,
}  # fmt: skip


class Decoded(NamedTuple):
    """A decoded value, and the paths of unknown fields: `spec.foo`."""

    object: Object
    unknown: list[str]
    empties: Sequence[Empty] = ()


class _MistypedError(DecodeError):
    """A value that does not fit its Go type. Without `place` it is outside structs."""

    def __init__(self, description: str, go_type: str, field: str, path: str) -> None:
        self.description = description
        self.go_type = go_type
        where = f"Go struct field {field}" if field else "Go value"
        super().__init__(
            f"json: cannot unmarshal {description} into {where} of type {go_type}", path
        )


def decode(go: GoType, data: Any, path: str = "", *, keep_empty: bool = False) -> Decoded:
    """Return the decoded value. The input does not change. Raises DecodeError.

    `path` is the path of the value, for unknown fields. Empty required lists and maps stay only
    with `keep_empty`, because protobuf cannot store them.
    """
    walk = _Walk(keep_empty=keep_empty)
    made = walk.value(go, data, path)
    if walk.error is not None:
        raise walk.error
    return Decoded(made, walk.unknown[:MAX_UNKNOWN], _placed(made, walk.empties))


def zero(go: GoType) -> Object:
    """Return the zero value of a struct, as Go encodes it."""
    return {key: _zero_of(known) for key, known in go.always if known.always or known.value}


def _placed(whole: Any, empties: list[tuple[Object, str, Any]]) -> list[Empty]:
    """Return the places of structs whose empty members were omitted. Few objects have any."""
    if not empties:
        return []
    found: list[Empty] = []
    members: dict[int, list[tuple[str, Any]]] = {}
    for holder, key, empty in empties:
        members.setdefault(id(holder), []).append((key, empty))
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), whole)]
    while pending:
        path, value = pending.pop()
        inner = enumerate(value) if isinstance(value, list) else value.items()
        pending += [((*path, key), each) for key, each in inner if isinstance(each, list | dict)]
        found += [
            Empty((*path, key), [] if isinstance(empty, list) else NoEntries())
            for key, empty in members.get(id(value), ())
        ]
    return found


class _Walk:
    """The state of one decoding: the first type error, the unknown fields, and Go's current
    field."""

    __slots__ = ("_keep_empty", "_owner", "_stack", "empties", "error", "unknown")

    def __init__(self, *, keep_empty: bool) -> None:
        self.unknown: list[str] = []
        self.empties: list[tuple[Object, str, Any]] = []
        self.error: DecodeError | None = None
        self._keep_empty = keep_empty
        self._stack: list[str] = []
        self._owner = ""

    def value(self, go: GoType, data: Any, path: str) -> Any:
        """Decode a value of any type. Returns the zero value for another JSON type."""
        kind = go.kind
        if kind == "struct":
            return self.struct(go, data, path)
        if data is None:
            return _ZEROS[kind]
        return _READERS[kind](self, go, data, path)

    def struct(self, go: GoType, data: Any, path: str) -> Object:
        """Decode a struct: members in the given order, then those that Go always encodes."""
        made: Object = {}
        if not isinstance(data, dict):
            if data is not None:
                self.mistyped(data, go, path)
            data = {}
        stack, fields, outer = self._stack, go.fields, self._owner
        prefix = f"{path}." if path else ""
        self._owner = go.struct
        for key, value in data.items():
            known = fields.get(key)
            if known is None:
                self.unknown.append(prefix + key)
            elif value.__class__ is known.leaf:
                if value or known.zero_kept:
                    made[key] = value
            elif value is not None:
                stack.append(known.place)
                kept = self.value(known.type, value, prefix + key)
                stack.pop()
                if kept or (
                    known.zero_kept
                    and (kept is not None or known.always or self._is_kept_time(key, known))
                ):
                    made[key] = kept
                if not kept and known.type.kind in _EMPTY and made.get(key) is None:
                    self.empties.append((made, key, value))
        self._owner = outer
        for key, known in go.always:
            if key not in made:
                made[key] = _missing(known)
        return made

    def _is_kept_time(self, key: str, known: GoField) -> bool:
        """Return whether a time that is null after decoding stays: Go's zero time in a pointer."""
        is_own = key in _OWN_TIMES and self._stack[:1] in _OWN_PLACES
        return known.type.kind in _TIMES and not is_own

    def items(self, go: GoType, data: Any, path: str) -> Any:
        if not isinstance(data, list):
            return self.mistyped(data, go, path)
        item = go.item
        assert item is not None, "lists have one"
        value = self.struct if item.kind == "struct" else self.value
        made = [value(item, each, f"{path}[{at}]") for at, each in enumerate(data)]
        return made if made or self._keep_empty else None

    def entries(self, go: GoType, data: Any, path: str) -> Any:
        if not isinstance(data, dict):
            return self.mistyped(data, go, path)
        item = go.item
        assert item is not None, "maps have one"
        if item.kind == "string":
            made = {
                key: each if each.__class__ is str else self.value(item, each, f"{path}.{key}")
                for key, each in data.items()
            }
        else:
            value = self.struct if item.kind == "struct" else self.value
            made = {key: value(item, each, f"{path}.{key}") for key, each in data.items()}
            if go.name == _RESOURCES and self._owner not in _UNROUNDED:
                written, milli = quantity.written, quantity.MILLI
                made = {key: written(each, milli) for key, each in made.items()}
            if item.kind == "bytes":  # a nil slice is stored as an empty one
                made = {key: each or "" for key, each in made.items()}
            if item.kind == "list":  # an empty one stays, where only the keys are counted
                made = {key: [] if data[key] == [] else each for key, each in made.items()}
        return made if made or self._keep_empty else None

    def text(self, go: GoType, data: Any, path: str) -> Any:
        return data if isinstance(data, str) else self.mistyped(data, go, path, "")

    def flag(self, go: GoType, data: Any, path: str) -> Any:
        return data if isinstance(data, bool) else self.mistyped(data, go, path, zero=False)

    def number(self, go: GoType, data: Any, path: str) -> Any:
        """Decode a number. Whole numbers are encoded without a fraction."""
        if data.__class__ is int and -_EXACT <= data <= _EXACT:
            return data
        if isinstance(data, bool) or not isinstance(data, int | float):
            return self.mistyped(data, go, path, 0)
        return gojson.settle_numbers(float(data))

    def integer(self, go: GoType, data: Any, path: str) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float):
            return int(self.mistyped(data, go, path, 0))
        bound = 1 << _INT_BITS[go.kind]
        if isinstance(data, float) or not -bound <= data < bound:
            text = _number_text(data)
            return int(self.mistyped(data, go, path, 0, description=f"number {text}"))
        return data

    def raw(self, _go: GoType, data: Any, _path: str) -> Any:
        return _plain(data)

    def json(self, _go: GoType, data: Any, _path: str) -> Any:
        return _settled(data)

    def base64(self, go: GoType, data: Any, path: str) -> Any:
        """Decode bytes: a text, or a list with the number of each byte, which encoding/json accepts
        as well."""
        if isinstance(data, list):
            numbers = [self.value(_BYTE, each, f"{path}[{at}]") for at, each in enumerate(data)]
            return base64.encoded(bytes(numbers))
        if not isinstance(data, str):
            return self.mistyped(data, go, path)
        try:
            return base64.canonical(data)
        except DecodeError as error:
            self.error = self.error or DecodeError(error.text, path)
            return None

    def byte(self, go: GoType, data: Any, path: str) -> int:
        if data.__class__ is int and 0 <= data < 256:
            return int(data)
        is_number = isinstance(data, int | float) and not isinstance(data, bool)
        description = f"number {_number_text(data)}" if is_number else ""
        return int(self.mistyped(data, go, path, 0, description=description))

    # types with their own UnmarshalJSON, whose errors end the decoding

    def amount(self, _go: GoType, data: Any, path: str) -> str:
        try:
            return quantity.written(_amount_text(data).strip())
        except ValueError as error:
            raise DecodeError(str(error), path) from error

    def int_or_string(self, go: GoType, data: Any, path: str) -> Any:
        if isinstance(data, str):
            return data
        number = self.integer(go, data, path)
        if self.error is not None:
            raise self.error
        return number

    def time(self, go: GoType, data: Any, path: str) -> str | None:
        """Decode a time. Go's zero time becomes None, because `MarshalJSON` writes it as null."""
        if not isinstance(data, str):
            raise _MistypedError(gotext.json_kind(data), "string", self.place(), path)
        try:
            time = rfc3339.rfc3339(data) if go.kind == "time" else rfc3339.micro_time(data)
        except DecodeError as error:
            raise DecodeError(error.text, path) from error
        return None if time in _NO_TIME else time

    def schema_or_bool(self, go: GoType, data: Any, path: str) -> Any:
        if isinstance(data, bool):
            return data
        if not isinstance(data, dict):
            raise DecodeError("boolean or JSON schema expected", path)
        return self.apart(go.item, data, path)

    def schema_or_list(self, go: GoType, data: Any, path: str) -> Any:
        """Decode one schema or a list of schemas. Other values, and an empty list, become None."""
        if isinstance(data, list):
            found = enumerate(data)
            return [self.apart(go.item, each, f"{path}[{at}]") for at, each in found] or None
        return self.apart(go.item, data, path) if isinstance(data, dict) else None

    def schema_or_strings(self, go: GoType, data: Any, path: str) -> Any:
        if isinstance(data, list):
            return self.apart(_STRINGS, data, path)
        return self.apart(go.item, data, path) if isinstance(data, dict) else None

    def apart(self, go: GoType | None, data: Any, path: str) -> Any:
        """Decode a value by its type's own UnmarshalJSON: unknown fields are not reported, and an
        error has the place of the whole value."""
        assert go is not None, "unions have one"
        if _is_canonical(go, data):
            return dict(data)
        try:
            return decode(go, data, path, keep_empty=self._keep_empty).object
        except _MistypedError as error:
            raise _MistypedError(
                error.description, error.go_type, self.place(), error.path
            ) from error

    def place(self) -> str:
        return f"{self._owner}.{'.'.join(self._stack)}" if self._stack else ""

    def mistyped(
        self, data: Any, go: GoType, path: str, zero: Any = None, *, description: str = ""
    ) -> Any:
        """Note the first type error with the text of encoding/json. Returns the zero value."""
        if self.error is None:
            description = description or gotext.json_kind(data)
            self.error = _MistypedError(description, go.name, self.place(), path)
        return zero


def _is_canonical(go: GoType, data: Any) -> bool:
    """Return whether a value of a struct without required members has only scalars, each with the
    type of its field and not empty: it is encoded as it is."""
    if data.__class__ is not dict or go.always:
        return False
    for key, value in data.items():
        known = go.fields.get(key)
        if known is None or value.__class__ is not known.leaf or not value:
            return False
    return True


_READERS: dict[str, Callable[[_Walk, GoType, Any, str], Any]] = {
    "list": _Walk.items,
    "map": _Walk.entries,
    "string": _Walk.text,
    "bool": _Walk.flag,
    "int32": _Walk.integer,
    "int64": _Walk.integer,
    "float": _Walk.number,
    "bytes": _Walk.base64,
    "uint8": _Walk.byte,
    "quantity": _Walk.amount,
    "intstr": _Walk.int_or_string,
    "time": _Walk.time,
    "microtime": _Walk.time,
    "raw": _Walk.raw,
    "json": _Walk.json,
    "orbool": _Walk.schema_or_bool,
    "orlist": _Walk.schema_or_list,
    "orstrings": _Walk.schema_or_strings,
}


def _number_text(number: float) -> str:
    if isinstance(number, gojson.Number):
        return number.text
    return repr(number) if isinstance(number, float) else str(number)


def _amount_text(data: Any) -> str:
    if isinstance(data, gojson.Number):
        return data.text
    return data if isinstance(data, str) else gotext.compact_json(data)


def _plain(value: Any) -> Any:
    """Return a JSON value without texts of numbers; the value itself if it has none."""
    if isinstance(value, dict):
        kept = {key: _plain(item) for key, item in value.items()}
        return kept if any(kept[key] is not value[key] for key in kept) else value
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return float(value) if isinstance(value, gojson.Number) else value


def _settled(value: Any) -> Any:
    """Return a copy of any JSON value, with numbers as Go encodes them."""
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_settled(item) for item in value]
    return gojson.settle_numbers(_plain(value))


def _missing(known: GoField) -> Any:
    """Return what a missing member of an object becomes: its default, or its zero value."""
    if known.default is not None:
        return known.default
    if known.value:
        return {key: _missing(inner) for key, inner in known.type.always}
    return _zero_of(known)


def _zero_of(known: GoField) -> Any:
    if known.value:
        return zero(known.type)
    if known.pointer:
        return None
    return zero(known.type) if known.type.kind == "struct" else _ZEROS[known.type.kind]
