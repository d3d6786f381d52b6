"""Built-in objects as Go's typed decoding leaves them: the same errors, the same zeros gone.

`decode` takes a body's object through the kind's Go type and back: unknown fields are dropped and
named, wrong JSON types are an error, what `omitempty` leaves out is left out, what Go always sends
is there, times and quantities are canonical. It follows sigs.k8s.io/json (decode.go) and
encoding/json. The pipeline calls it on every body and on every patched object.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inkube.schemas import fielderrors, quantity, status
from inkube.schemas.builtin import gotypes, microtimes, types
from inkube.schemas.builtin.gotypes import GoField, GoType
from inkube.schemas.golang import gotext, rfc3339
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.meta import GVK

__all__ = [
    "DecodeError", "Decoded", "check_type", "coerce", "decode", "empty", "patch_refusal", "refusal",
    "zero",
]  # fmt: skip

Object = dict[str, Any]
MAX_UNKNOWN = 100
"""How many strict errors the reference collects."""
_INT_BITS = {"int32": 31, "int64": 63, "intstr": 31}
_NULLS = frozenset({"list", "map", "bytes", "time", "microtime", "raw", "union"})
_ZEROS: dict[str, Any] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "quantity": "0", "intstr": 0,
}  # fmt: skip


class Decoded(NamedTuple):
    """An object of its kind, and the strict errors: `unknown field "spec.foo"`."""

    object: Object
    unknown: list[str]


def decode(obj: Object, gvk: GVK) -> Decoded:
    """The object as its Go type holds it; the input is left alone. Raises DecodeError."""
    name = types.table().of(gvk)
    if name is None:
        raise LookupError(f"{gvk} is no built-in kind")
    walk = _Walk()
    made = walk.struct(gotypes.of(name), obj, "")
    if walk.error:
        raise DecodeError(walk.error)
    head: Object = {member: made[member] for member in ("apiVersion", "kind") if member in made}
    return Decoded({**head, **made}, walk.unknown[:MAX_UNKNOWN])


def coerce(obj: Object, schema: Object, gvk: GVK, unknown: list[str] | None) -> None:
    """`decode` in place, for the pipeline: unknown fields go to `unknown` where that is a list.

    Raises the StatusError of `refusal`, its cause a DecodeError. The schema is not looked at: the
    kind's Go type knows more.
    """
    try:
        decoded = decode(obj, gvk)
    except DecodeError as error:
        raise refusal(gvk, error) from error
    obj.clear()
    obj.update({"apiVersion": gvk.api_version, "kind": gvk.kind, **decoded.object})
    if unknown is not None:
        unknown.extend(decoded.unknown)


def check_type(obj: Object, gvk: GVK) -> None:
    """Refuse a body of another kind or version; a built-in body may leave both out.

    Raises StatusError 400.
    """
    version, kind = obj.get("apiVersion") or gvk.api_version, obj.get("kind") or gvk.kind
    if not isinstance(version, str) or not isinstance(kind, str):
        member = "apiVersion" if not isinstance(version, str) else "kind"
        given = gotext.json_kind(obj[member])
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {gvk.kind}): couldn't get "
            f"version/kind; json parse error: json: cannot unmarshal {given} into Go struct field "
            f".{member} of type string"
        )
    if version != gvk.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({gvk.api_version})"
        )
    if kind != gvk.kind:
        raise status.bad_request(_other_kind(kind, gvk))


def _other_kind(kind: str, gvk: GVK) -> str:
    if types.table().of(GVK(gvk.group, gvk.version, kind)) is None:
        return (
            f"{kind} in version {gotext.quote(gvk.version)} cannot be handled as a {gvk.kind}: no "
            f"kind {gotext.quote(kind)} is registered for version {gotext.quote(gvk.api_version)} "
            'in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        )
    group = gvk.group.partition(".")[0] or "core"
    return (
        f"{kind} in version {gotext.quote(gvk.version)} cannot be handled as a {gvk.kind}: "
        f"converting ({gvk.version}.{kind}) to ({group}.{gvk.kind}): unknown conversion"
    )


def empty(gvk: GVK) -> Object:
    """An object of the kind before anything is set: what Go sends for its zero value."""
    name = types.table().of(gvk)
    return {} if name is None else _zero_struct(gotypes.of(name))


def zero(gvk: GVK, member: str) -> Object | None:
    """What Go sends for an empty struct member, such as the status; None where it sends none."""
    name = types.table().of(gvk)
    known = gotypes.of(name).fields.get(member) if name else None
    return _zero_struct(known.type) if known is not None and known.value else None


def refusal(gvk: GVK, error: Exception | str) -> status.StatusError:
    """The 400 that answers a POST or PUT whose body does not decode."""
    return status.bad_request(
        f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {error}'
    )


def patch_refusal(value: str, error: Exception | str) -> status.StatusError:
    """The 422 that answers a patch whose outcome does not decode; `value` is the patched JSON,
    or for a strategic patch `gotext.plain` of the patch."""
    return status.invalid("", "", "", [fielderrors.invalid("patch", value, str(error))])


@dataclass(slots=True)
class _Walk:
    """One decoding: the first type error, the unknown fields, and where Go thinks it is."""

    unknown: list[str] = field(default_factory=list)
    error: str = ""
    stack: list[str] = field(default_factory=list)
    owner: str = ""

    def struct(self, go: GoType, given: Any, path: str) -> Object:
        """A struct's members in the order given, then those Go always sends."""
        made: Object = {}
        if not isinstance(given, dict):
            if given is not None:
                self.mistyped(given, go)
            given = {}
        outer = self.owner
        self.owner = go.name.rpartition(".")[2]
        for key, value in given.items():
            known = go.fields.get(key)
            if known is None:
                self.unknown.append(f'unknown field "{path}{key}"')
                continue
            self.stack.append(key)
            self.member(made, key, known, value, f"{path}{key}")
            self.stack.pop()
        self.owner = outer
        for key, known in go.fields.items():
            if key not in made:
                _add_zero(made, key, known)
        return made

    def member(self, made: Object, key: str, known: GoField, value: Any, path: str) -> None:
        """One field, unless Go would not send it."""
        if value is None:
            return
        kept = self.value(known.type, value, path)
        if known.always or known.pointer or known.value or not _is_zero(kept, known.type):
            made[key] = kept

    def value(self, go: GoType, given: Any, path: str) -> Any:
        """A value of any type; its zero where it is of another JSON type."""
        kind = go.kind
        if kind == "struct":
            return self.struct(go, given, f"{path}.")
        if kind == "list":
            return self.items(go, given, path)
        if kind == "map":
            return self.entries(go, given, path)
        if kind == "raw":
            return given
        if kind == "union":
            return self.union(go, given, path)
        if given is None:
            return None if kind in _NULLS else _ZEROS[kind]
        return self.scalar(go, given)

    def items(self, go: GoType, given: Any, path: str) -> Any:
        if not isinstance(given, list):
            self.mistyped(given, go)
            return None
        item = go.item
        assert item is not None
        return [self.value(item, value, f"{path}[{at}]") for at, value in enumerate(given)] or None

    def entries(self, go: GoType, given: Any, path: str) -> Any:
        if not isinstance(given, dict):
            self.mistyped(given, go)
            return None
        item = go.item
        assert item is not None
        return {key: self.value(item, value, f"{path}.{key}") for key, value in given.items()}

    def union(self, go: GoType, given: Any, path: str) -> Any:
        """JSONSchemaProps or something else (a bool, a list of them)."""
        item = go.item
        assert item is not None
        if isinstance(given, dict):
            return self.struct(item, given, f"{path}.")
        if isinstance(given, list):
            return [self.union(go, value, f"{path}[{at}]") for at, value in enumerate(given)]
        return given

    def scalar(self, go: GoType, given: Any) -> Any:
        kind = go.kind
        if kind == "string":
            return given if isinstance(given, str) else self.mistyped(given, go, "")
        if kind == "bool":
            return given if isinstance(given, bool) else self.mistyped(given, go, zero=False)
        if kind in ("int32", "int64"):
            return self.integer(go, given)
        if kind == "float":
            is_number = isinstance(given, int | float) and not isinstance(given, bool)
            return given if is_number else self.mistyped(given, go, 0)
        return self.special(go, given)

    def integer(self, go: GoType, given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int | float):
            return int(self.mistyped(given, go, 0))
        bound = 1 << _INT_BITS.get(go.kind, 31)
        if isinstance(given, float) or not -bound <= given < bound:
            text = repr(given) if isinstance(given, float) else str(given)
            return int(self.mistyped(given, go, 0, word=f"number {text}"))
        return given

    def special(self, go: GoType, given: Any) -> Any:
        """Types with their own UnmarshalJSON, whose errors end the decoding."""
        if go.kind == "bytes":
            return _bytes(given) if isinstance(given, str) else self.mistyped(given, go)
        if go.kind == "quantity":
            return _quantity(given)
        if go.kind == "intstr":
            if isinstance(given, str):
                return given
            number = self.integer(go, given)
            if self.error:
                raise DecodeError(self.error)
            return number
        if not isinstance(given, str):
            kind = gotext.json_kind(given)
            raise DecodeError(f"json: cannot unmarshal {kind} into Go value of type string")
        return rfc3339.rfc3339(given) if go.kind == "time" else microtimes.canonical(given)

    def mistyped(self, given: Any, go: GoType, zero: Any = None, *, word: str = "") -> Any:
        """Note the first type error as encoding/json words it; answers the zero."""
        if not self.error:
            kind = word or gotext.json_kind(given)
            place = f"struct field {self.owner}.{'.'.join(self.stack)}" if self.stack else "value"
            self.error = f"json: cannot unmarshal {kind} into Go {place} of type {go.name}"
        return zero


def _add_zero(made: Object, key: str, known: GoField) -> None:
    if known.default is not None:
        made[key] = known.default
    elif known.value:
        made[key] = _zero_struct(known.type)
    elif known.always:
        kind = known.type.kind
        if known.pointer or kind in _NULLS:
            made[key] = None
        else:
            made[key] = _zero_struct(known.type) if kind == "struct" else _ZEROS[kind]


def _zero_struct(go: GoType) -> Object:
    made: Object = {}
    for key, known in go.fields.items():
        _add_zero(made, key, known)
    return made


def _is_zero(value: Any, go: GoType) -> bool:
    if go.kind in ("quantity", "intstr", "raw", "union"):
        return False
    return value is None or value in ("", 0, {}, [])


def _bytes(text: str) -> str:
    """Canonical base64, or Go's complaint with the place of the first odd byte."""
    plain = text.replace("\r", "").replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(plain, validate=True)).decode()
    except (binascii.Error, ValueError) as error:
        place = _illegal_byte(text)
        raise DecodeError(f"illegal base64 data at input byte {place}") from error


def _illegal_byte(text: str) -> int:
    """Where Go's decoder stops: the first byte outside the alphabet, or the end of a short text."""
    odd = re.search(r"[^A-Za-z0-9+/\r\n]", text)
    return odd.start() if odd else len(text)


def _quantity(given: Any) -> str:
    text = given if isinstance(given, str) else gotext.compact_json(given)
    if not text:
        return "0"
    try:
        return str(quantity.parse(text.strip()))
    except ValueError as error:
        raise DecodeError(str(error)) from error
