"""Values as kube-apiserver's messages print them: as its internal types.

kube-apiserver converts objects to internal types (pkg/apis/*/types.go) before it validates them. An
error therefore contains Go's names of fields, in the order of the struct, with zero values of
missing fields: `{"Type":"Bogus","RollingUpdate":null}`. `internal.txt` describes how these types
differ from the v1 types of `types`. This module contains the only code that prints and compares
such values. Validation passes objects of v1 in their stored form.
"""

import copy
import difflib
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from inkube.schemas import caches, releases
from inkube.schemas.fielderrors import Verbatim
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import types
from inkube.schemas.gotypes.types import GoField, GoType
from inkube.schemas.objects import Object

_NEWEST: Final = releases.NEWEST.minor
MAX_COMPARED = 4_000
"""The most lines of texts that are compared completely, because this takes quadratic time. For
longer texts, a diff shows all lines from the first difference to the last. A pod with eighty
containers has about this number of lines."""
_CONTEXT = 3
_VERSIONS: Final = {"autoscaling": "v2"}
"""The version of a group from which internal types are converted; v1 for other groups."""
_ZEROS: Final[dict[str, Any]] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "quantity": "0", "intstr": 0,
}  # fmt: skip


class Field(NamedTuple):
    """A field of an internal type: its name, its key in v1 and how its value is printed."""

    name: str
    key: str
    show: Callable[[Any], Any]
    omitted: bool
    """Whether the field is omitted if it is missing, instead of printed with a zero value."""
    type: GoType
    pointer: bool
    """The Go type of the field: its v1 type, and whether the internal type has a pointer to it."""
    within: str = ""
    """The embedded structs that contain the field, separated by dots."""

    def steps(self, owner: str) -> list[str]:
        """Return the structs between a type and the field. An embedded struct that is a type of
        its own, such as `core.PersistentVolumeSource`, is not a step in itself."""
        steps = self.within.split(".") if self.within else []
        return steps[1:] if steps and steps[0] == owner.rpartition(".")[2] else steps


class Struct(NamedTuple):
    """An internal type."""

    fields: tuple[Field, ...]
    embedded: str
    """The key of the struct that is embedded before these fields, or ""."""


class InternalValue(Verbatim):
    """A value of an internal type in an error, or a list of such values. Other minors print it
    differently.

    `name` is the name of the type, `data` the v1 value: a copy, because an object loses its empty
    lists after its validation. `is_list` distinguishes a missing list from a missing value.
    """

    name: str
    data: Any
    is_list: bool

    def of(self, minor: int) -> Verbatim:
        """Return the same value in a minor, without the fields that this minor does not have."""
        show = items if self.is_list else value
        return show(self.name, self.data, minor)


class Difference(str):
    """The detail of an error that ends with a difference; see `difference`. The values are copies,
    because an object loses its empty lists after its validation."""

    __slots__ = ("lead", "name", "new", "old")
    lead: str
    name: str
    old: Object | None
    new: Object | None


def difference(lead: str, name: str, old: Object | None, new: Object | None) -> Difference:
    """Return `lead`, followed by the difference of two v1 values from `diff`."""
    made = Difference(lead + diff(name, old, new))
    made.lead, made.name = lead, name
    made.old, made.new = copy.deepcopy(old), copy.deepcopy(new)
    return made


def text(name: str, value: Object | None, minor: int = _NEWEST) -> str:
    """Return a v1 value as compact JSON of the internal type, such as `core.PodSpec`.

    Raises KeyError if `internal.txt` does not contain the type.
    """
    return _json(view(name, value, minor))


def value(name: str, data: Object | None, minor: int = _NEWEST) -> Verbatim:
    """Return `text` as the bad value of a field error."""
    return _shown(name, text(name, data, minor), data, is_list=False)


def items(name: str, values: list[Object] | None, minor: int = _NEWEST) -> Verbatim:
    """Return a list of such values as the bad value of a field error."""
    viewed = None if values is None else [view(name, each, minor) for each in values]
    shown = _json(viewed)
    return _shown(name, shown, values, is_list=True)


def _shown(name: str, text: str, data: Any, *, is_list: bool) -> InternalValue:
    made = InternalValue(text)
    made.name, made.data, made.is_list = name, copy.deepcopy(data), is_list
    return made


def diff(name: str, old: Object | None, new: Object | None, minor: int = _NEWEST) -> str:
    """Return the difference of two values, as a unified diff of their JSON, indented by one space.

    Follows apimachinery/pkg/util/diff, whose diff algorithm is a port of Python's.
    """
    return unified(_lines(view(name, old, minor)), _lines(view(name, new, minor)))


def unified(before: list[str], after: list[str]) -> str:
    """Return a unified diff without file names, with three lines of context, or "" for equal
    texts."""
    if max(len(before), len(after)) <= MAX_COMPARED:
        return "".join(islice(difflib.unified_diff(before, after, n=_CONTEXT), 2, None))
    return _replaced(before, after)


def view(name: str, data: Object | None, minor: int = _NEWEST) -> Any:
    """Return a v1 value as JSON of the internal type, with the printed names, order and zero
    values."""
    if data is None:
        return None
    struct, prepare = struct_of(name, minor), PREPARED.get(name)
    if prepare is not None:
        data = prepare(data)
    made: Object = {}
    if struct.embedded:
        made |= view("meta.ObjectMeta", data.get(struct.embedded) or {}, minor)
    for field in struct.fields:
        inner = data.get(field.key)
        if not field.omitted or not (inner is None or inner == [] or inner == {}):
            made[field.name] = field.show(inner)
    return made


def _pod_spec(data: Object) -> Object:
    """Move members of the spec to the security context, as in the internal type. Follows
    core/v1/conversion.go."""
    shared = {key: data[key] for key in _SHARED if data.get(key) is not None}
    return {**data, "securityContext": {**(data.get("securityContext") or {}), **shared}}


_SHARED = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
PREPARED: Final[dict[str, Callable[[Object], Object]]] = {"core.PodSpec": _pod_spec}


def _json(value: Any, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else (",", ": ")
    return gotext.escaped_html(
        json.dumps(value, separators=separators, indent=indent, ensure_ascii=False)
    )


def _lines(value: Any) -> list[str]:
    return [f"{line}\n" for line in _json(value, 1).split("\n")]


def _replaced(before: list[str], after: list[str]) -> str:
    """Return one hunk that removes and adds all lines from the first difference to the last."""
    shorter = min(len(before), len(after))
    pairs = enumerate(zip(before, after, strict=False))
    head = next((at for at, (one, other) in pairs if one != other), shorter)
    if head == len(before) == len(after):
        return ""
    pairs = enumerate(zip(reversed(before), reversed(after), strict=False))
    tail = min(next((at for at, (one, other) in pairs if one != other), shorter), shorter - head)
    start = max(head - _CONTEXT, 0)
    kept = min(tail, _CONTEXT)
    context, end = before[start:head], len(before) - tail
    old, new = before[head:end], after[head : len(after) - tail]
    around = len(context) + kept
    return "".join(
        [
            f"@@ -{_range(start, len(old) + around)} +{_range(start, len(new) + around)} @@\n",
            *(f" {line}" for line in context),
            *(f"-{line}" for line in old),
            *(f"+{line}" for line in new),
            *(f" {line}" for line in before[end : end + kept]),
        ]
    )


def _range(start: int, length: int) -> str:
    """Return a range of lines for the header of a hunk, counted from 1. An empty range names the
    line before it."""
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


_TYPES: Final[caches.Table[tuple[str, int], Struct]] = caches.Table(__name__, "_TYPES", 3072)
"""The internal types in use. A minor has fewer than 512."""


@caches.of_values(1)
def names() -> dict[str, str]:
    """Return the types of the table, with the text that describes each."""
    blocks = (Path(__file__).parent / "internal.txt").read_text(encoding="utf-8").split("\n\n")
    pairs = [block.split("\n", 1) for block in blocks if not block.startswith("#")]
    return {head.split(" ", 1)[0]: f"{head}\n{body}" for head, body in pairs}


def v1_name(name: str) -> str:
    """Return the type in `types` from which a type is converted: `core.Pod` →
    `io.k8s.api.core.v1.Pod`."""
    head = names()[name].partition("\n")[0]
    group, _, rest = head.rpartition(" = ")[2].removesuffix(" json").partition(".")
    if "." not in rest:
        rest = f"{_VERSIONS.get(group, 'v1')}.{rest}"
    return f"io.k8s.{'apimachinery.pkg.apis' if group == 'meta' else 'api'}.{group}.{rest}"


def struct_of(name: str, minor: int = _NEWEST) -> Struct:
    """Return the fields of an internal type in a minor. Raises KeyError."""
    key = (name, minor)
    return _TYPES.get(key) or _TYPES.keep(key, _read(name, minor))


def _read(name: str, minor: int) -> Struct:
    head, _, body = names()[name].partition("\n")
    go = types.of(v1_name(name), minor)
    fields = {key.lower(): key for key in go.fields}
    words = body.split()
    embedded = words[0][1:] if words[0].startswith("+") else ""
    plain = head.endswith(" json")
    found = (
        _field(name, word, go, fields, plain=plain, minor=minor) for word in words[bool(embedded) :]
    )
    return Struct(tuple(each for each in found if each is not None), embedded)


def _field(
    owner: str, word: str, go: GoType, keys: dict[str, str], *, plain: bool, minor: int
) -> Field | None:
    """Return a field, or None if the minor does not have it."""
    name, _, kind = word.partition("=")
    if kind:
        key = name[0].lower() + name[1:]
        zero = None if kind.startswith("*") else _ZEROS[kind]
        scalar = GoType(kind.lstrip("*"), kind.lstrip("*"))
        show: Callable[[Any], Any] = lambda data: zero if data is None else data  # noqa: E731
        return Field(name, key, show, omitted=False, type=scalar, pointer=zero is None)
    name, _, key = name.partition(":")
    bare = name.rstrip("*!")
    key = key or keys.get(bare.lower(), "")
    if key not in go.fields:
        return None
    known = go.fields[key]
    is_pointer = {"*": True, "!": False}.get(name[len(bare) :], known.pointer)
    show = _show(owner, known, is_pointer=is_pointer, minor=minor)
    omitted = plain and not known.always
    return Field(bare, key, show, omitted, known.type, is_pointer, known.within)


def _show(owner: str, known: GoField, *, is_pointer: bool, minor: int) -> Callable[[Any], Any]:
    """Return a function that prints a field's value, which can be missing."""
    inner = _printer(owner, known.type, minor)
    if is_pointer or known.type.kind in ("list", "map"):
        return lambda data: None if data is None else inner(data)
    if known.type.kind == "struct":
        return lambda data: inner(data or {})
    zero = _ZEROS.get(known.type.kind)
    return lambda data: zero if data is None else inner(data)


def _printer(owner: str, go: GoType, minor: int) -> Callable[[Any], Any]:
    """Return a function that prints a given value."""
    if go.kind == "struct":
        found = internal_name(owner, go.struct)
        return lambda data: view(found, data, minor)
    if go.item is not None:
        inner = _printer(owner, go.item, minor)
        if go.kind == "list":
            return lambda data: [inner(each) for each in data]
        return lambda data: {key: inner(data[key]) for key in sorted(data)}
    return lambda data: data


def internal_name(owner: str, struct: str) -> str:
    """Return the internal type of a struct in a type of `owner`'s group."""
    group = owner.partition(".")[0]
    return next(
        (found for each in (group, "core", "meta") if (found := f"{each}.{struct}") in names()),
        f"{group}.{struct}",
    )
