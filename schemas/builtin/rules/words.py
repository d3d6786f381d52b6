"""The words of the table: each makes a check, with kube-apiserver's text.

A maker receives the word and its subject, and returns a check. `WORDS` contains all makers;
docs/rules.md explains each. Texts given in the table replace the usual ones; `{path}` and
`{value}` in them stand for the field's.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from inkube.schemas import expressionsize, fielderrors, quantity
from inkube.schemas.builtin.rules import formats, functions
from inkube.schemas.builtin.rules.frames import Check, Frame
from inkube.schemas.builtin.rules.shapes import Shape
from inkube.schemas.builtin.rules.table import RuleError, Word
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import semantically_same as same

IMMUTABLE = "field is immutable"


class Subject(NamedTuple):
    """The subject of a word: a field of a type, or with `element` the items or values of a field.

    `name` is the member's name, `shape` the value's type, `file` the stem of the table's file.
    """

    type: str
    name: str
    shape: Shape
    element: str
    file: str
    where: str
    goes: bool = False
    """Whether errors show a struct as Go prints its internal type (`show=go`)."""


Maker = Callable[[Word, Subject], Check]


class Rule(NamedTuple):
    """A word: its maker, whether the check also runs for a field that is not set, and whether an
    error ends the line."""

    make: Maker
    unset: bool = False
    ends: bool = False


def is_set(value: Any, shape: Shape) -> bool:
    """Return whether Go code treats the value as set: not the zero value and not nil."""
    if value is None:
        return False
    return bool(value) or shape.pointer or shape.kind == "struct"


def _said(text: str, value: Any, path: str) -> str:
    if "{" not in text:
        return text
    shown = value if isinstance(value, str) else fielderrors.show(value)
    return text.replace("{path}", path).replace("{value}", shown)


def _required(word: Word, subject: Subject) -> Check:
    shape, text = subject.shape, word.text

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if is_set(value, shape):
            return None
        return [fielderrors.required(path, _said(text, value, path))]

    return check


def _filled(word: Word, _subject: Subject) -> Check:
    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        return None if value else [fielderrors.required(path, _said(word.text, value, path))]

    return check


def _refused(error: Callable[[str, str], FieldError]) -> Maker:
    """Return the maker of a check that always fails, for lines with conditions."""

    def make(word: Word, _subject: Subject) -> Check:
        return lambda value, path, _frame: [error(path, _said(word.text, value, path))]

    return make


def _invalid(word: Word, subject: Subject) -> Check:
    struct = _internal_name(subject)

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        shown = internal.value(struct, value) if struct else value
        return [fielderrors.invalid(path, shown, _said(word.text, value, path))]

    return check


def _internal_name(subject: Subject) -> str:
    """Return the internal type of a struct for `show=go`. Raises KeyError without one."""
    if not subject.goes:
        return ""
    package, _, name = subject.shape.struct.rpartition(".")
    internal.view(found := f"{package.partition('.')[0]}.{name}", {})
    return found


def _warn(word: Word, _subject: Subject) -> Check:
    text = word.text or word.value

    def check(value: Any, path: str, _frame: Frame) -> Any:
        return [_said(text, value, path)]

    return check


def _enum(word: Word, _subject: Subject) -> Check:
    choices = tuple(word.value.split("|"))
    known = frozenset(choices)
    shown = () if word.text == "-" else choices

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if value in known:
            return None
        return [fielderrors.not_supported(path, value, shown)]

    return check


def _bound(word: Word, subject: Subject, usual: str, fails: Callable[[int], bool]) -> Check:
    """Return a check of a bound on a number or a quantity. `fails` receives the sign of the
    difference."""
    text = word.text or usual.format(word.value)
    if subject.shape.kind == "quantity":
        bound = quantity.parse(word.value)

        def check_quantity(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
            if not fails(quantity.parse(value).compare(bound)):
                return None
            return [fielderrors.invalid(path, value, _said(text, value, path))]

        return check_quantity
    limit = int(word.value)

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if not isinstance(value, int) or not fails(value - limit):
            return None
        return [fielderrors.invalid(path, value, _said(text, value, path))]

    return check


def _min(word: Word, subject: Subject) -> Check:
    return _bound(word, subject, "must be greater than or equal to {}", lambda off: off < 0)


def _max(word: Word, subject: Subject) -> Check:
    return _bound(word, subject, "must be less than or equal to {}", lambda off: off > 0)


def _over(word: Word, subject: Subject) -> Check:
    return _bound(word, subject, "must be greater than {}", lambda off: off <= 0)


def _range(word: Word, _subject: Subject) -> Check:
    low, high = (int(part) for part in word.value.split(".."))
    text = word.text or f"must be between {low} and {high}, inclusive"

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if not isinstance(value, int) or low <= value <= high:
            return None
        return [fielderrors.invalid(path, value, _said(text, value, path))]

    return check


def _max_length(word: Word, _subject: Subject) -> Check:
    limit = int(word.value)

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        return [fielderrors.too_long(path, limit)] if len(value) > limit else None

    return check


def _max_bytes(word: Word, _subject: Subject) -> Check:
    """Return a check of the length. Its error is "too long", or with its own text "invalid"."""
    limit, text = int(word.value), word.text

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if len(value.encode()) <= limit:
            return None
        if text:
            return [fielderrors.invalid(path, value, _said(text, value, path))]
        return [fielderrors.too_long(path, limit)]

    return check


def _max_items(word: Word, _subject: Subject) -> Check:
    limit = int(word.value)

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        return [fielderrors.too_many(path, len(value), limit)] if len(value) > limit else None

    return check


def _format(word: Word, subject: Subject) -> Check:
    of_text = formats.CHECKS.get(word.value)
    if of_text is not None:
        return lambda value, path, _frame: of_text(value, path)
    find = formats.FORMATS.get(word.value)
    if find is None:
        raise RuleError(f"{subject.where}: no format {word.value!r}")

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        problems = find(value)
        if not problems:
            return None
        if word.text:
            return [fielderrors.invalid(path, value, _said(word.text, value, path))]
        return [fielderrors.invalid(path, value, why) for why in problems]

    return check


def _immutable(word: Word, subject: Subject) -> Check:
    """Return a check for `immutable`, `immutable=forbidden "…"`; `immutable=once-set` allows to set
    a first value, `immutable=once-cleared` to remove a value. `immutable=exact` refuses an empty
    map in the place of none, too (reflect.DeepEqual)."""
    how = word.value.split("|")
    text = word.text or IMMUTABLE
    path_in = subject.name.split(".")
    struct, shape = _internal_name(subject), subject.shape

    def check(value: Any, path: str, frame: Frame) -> Iterable[FieldError] | None:
        if not frame.updates:
            return None
        before = at(frame.old, path_in)
        if value == before if "exact" in how else same(value, before):
            return None
        was_set = is_set(before, shape) or (shape.kind == "raw" and before is not None)
        if not was_set and ("once-set" in how or not ("exact" in how or is_set(value, shape))):
            return None
        if "forbidden" in how:
            return [fielderrors.forbidden(path, _said(text, value, path))]
        shown = internal.value(struct, value) if struct else value
        if shown is None and not shape.pointer:
            shown = _ZEROS.get(shape.kind)
        return [fielderrors.invalid(path, shown, _said(text, value, path))]

    return check


_ZEROS = {"string": "", "bool": False, "int32": 0, "int64": 0}
"""What Go prints for a field of a plain type that is not set."""


def at(obj: Any, path: list[str]) -> Any:
    """Return the value at a path in a struct, or None."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _once(_word: Word, subject: Subject) -> Check:
    """Return a check that no earlier item of the enclosing list has the same value."""
    fact = f"{subject.type}.{subject.name}"

    def check(value: Any, path: str, frame: Frame) -> Iterable[FieldError] | None:
        seen = (frame.up or frame).facts.setdefault(fact, set())
        if value in seen:
            return [fielderrors.duplicate(path, value)]
        seen.add(value)
        return None

    return check


def _one_of(word: Word, _subject: Subject) -> Check:
    """Return a check for `self` that one of the named members is set. Its error has the text of the
    word."""
    members = word.value.split("|")

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        if any(value.get(member) is not None for member in members):
            return None
        return [fielderrors.required(path, word.text)]

    return check


def _at_most_one(word: Word, _subject: Subject) -> Check:
    """Return a check for `self` that forbids every member that is set after the first one."""
    members = word.value.split("|")

    def check(value: Any, _path: str, frame: Frame) -> Iterable[FieldError] | None:
        given = [member for member in members if value.get(member) is not None]
        return [fielderrors.forbidden(frame.prefix + extra, word.text) for extra in given[1:]]

    return check


def _call(word: Word, subject: Subject) -> Check:
    found: Check = functions.find(subject.file, word.value, subject.where)
    return found


def _expressions(_word: Word, _subject: Subject) -> Check:
    """Return a check of the total size of CEL expressions, before any is compiled."""

    def check(value: Any, path: str, _frame: Frame) -> Iterable[FieldError] | None:
        return expressionsize.errors(value, path)

    return check


WORDS: dict[str, Rule] = {
    "at-most-one": Rule(_at_most_one),
    "call": Rule(_call),
    "enum": Rule(_enum),
    "expressions": Rule(_expressions, ends=True),
    "filled": Rule(_filled, unset=True),
    "forbidden": Rule(_refused(fielderrors.forbidden), ends=True),
    "format": Rule(_format),
    "immutable": Rule(_immutable, unset=True),
    "invalid": Rule(_invalid),
    "max": Rule(_max),
    "maxBytes": Rule(_max_bytes),
    "maxItems": Rule(_max_items, ends=True),
    "maxLength": Rule(_max_length),
    "min": Rule(_min),
    "missing": Rule(_refused(fielderrors.required), ends=True),
    "once": Rule(_once, ends=True),
    "one-of": Rule(_one_of, ends=True),
    "over": Rule(_over),
    "range": Rule(_range),
    "required": Rule(_required, unset=True, ends=True),
    "warn": Rule(_warn),
}
