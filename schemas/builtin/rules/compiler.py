"""Paragraphs of the table as closures: each line becomes a step, each type its steps in order.

A type is compiled when an object first contains it. Unused types therefore cost nothing, and types
can contain themselves.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from inkube.schemas import caches, fielderrors, releases
from inkube.schemas.builtin.rules import conditions, functions, shapes, table, words
from inkube.schemas.builtin.rules.frames import Check, Frame, MetadataChecks, child
from inkube.schemas.builtin.rules.shapes import Shape
from inkube.schemas.builtin.rules.table import Line, RuleError, Word
from inkube.schemas.builtin.rules.words import Subject
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

Findings = list[Any]
"""The results of a check: FieldErrors, or texts in a paragraph of warnings."""
Step = Callable[[Frame, Findings], bool | None]
"""A step of a paragraph, which adds findings. Returns True if it ends the paragraph."""
PerList = Callable[[Frame], Check]
"""Makes a check of items that keeps state between items. Called once for each list."""


class Part(NamedTuple):
    """A compiled word of a line, with either `check` or `per_list`."""

    check: Check | None
    per_list: PerList | None = None
    unset: bool = False
    ends: bool = False


class Rules:
    """The rules of a type on an occasion; empty if the table does not contain them."""

    __slots__ = ("_minor", "_name", "_occasion", "_steps")

    def __init__(self, name: str, occasion: str, minor: int) -> None:
        self._name = name
        self._occasion = occasion
        self._minor = minor
        self._steps: list[tuple[str, Step]] | None = None

    @property
    def steps(self) -> list[tuple[str, Step]]:
        """The lines, compiled at the first use. Each has the member without which it does
        nothing, or "": most lines are for members that most objects do not have. Raises
        RuleError."""
        if self._steps is None:
            found = table.paragraph(self._name, self._occasion, self._minor)
            lines = found.lines(self._minor) if found is not None else []
            made = (self._step(line) for line in lines if not self._is_later(line))
            self._steps = [step for step in made if step is not None]
        return self._steps

    def run(self, frame: Frame) -> Findings:
        """Return all findings for a struct, in the table's order."""
        findings: Findings = []
        obj = frame.obj
        for member, step in self.steps if self._steps is None else self._steps:
            if (not member or member in obj) and step(frame, findings):
                break
        return findings

    def _is_later(self, line: Line) -> bool:
        """Return whether the line is for a field of a later minor, or only controls the removal of
        fields of items."""
        return "[]." in line.field or shapes.is_later(self._name, line.path, self._minor)

    def _step(self, line: Line) -> tuple[str, Step] | None:
        made = _LineCompiler(self._name, self._occasion, self._minor, line)
        try:
            return made.step()
        except (KeyError, ValueError, LookupError) as error:
            raise RuleError(f"{line.location}: {line.field}: {error!r}") from error


_MADE: Final[caches.Table[tuple[str, str, int], Rules]] = caches.Table(__name__, "_MADE", 8192)
"""The rules of types on their occasions. The limit is high enough for fewer than 600 types in each
of six minors."""


def rules(name: str, occasion: str = "", minor: int = table.NEWEST) -> Rules:
    """Return the rules of a type, such as `core.v1.PodSpec`."""
    key = (name, occasion, minor)
    return _MADE.get(key) or _MADE.keep(key, Rules(*key))


def errors(
    name: str,
    value: Any,
    path: str = "",
    old: Any = None,
    *,
    occasion: str = "",
    minor: int = releases.NEWEST.minor,
    metadata: MetadataChecks | None = None,
) -> list[FieldError]:
    """Return the errors of a struct of a type at a path. `old` is its state before an update, and
    `metadata` checks the metadata of a whole object."""
    prefix = f"{path}." if path else ""
    updates = old is not None
    frame = Frame(value, prefix, old, None, updates=updates, minor=minor, metadata=metadata)
    return rules(name, occasion, minor).run(frame)


class _LineCompiler:
    """The compilation of one line to a step."""

    def __init__(self, name: str, occasion: str, minor: int, line: Line) -> None:
        self._name = name
        self._package = table.package_of(name)
        self._occasion = occasion
        self._minor = minor
        self._line = line
        self._file = line.location.partition(":")[0].removesuffix(".rules")
        self._element = line.element
        self._field = line.field.removesuffix(line.element)
        self._path = self._field.split(".")
        self._shape = self._field_shape()

    def _field_shape(self) -> Shape:
        """Return the type of the line's field. Raises KeyError."""
        if self._field == "self":
            return Shape("struct", self._name, "", pointer=False, keys=())
        return shapes.at(self._name, self._path, self._minor)

    def step(self) -> tuple[str, Step] | None:
        """Return the step of the line, and the member without which it does nothing, or "". None
        without a step."""
        parts = list(self._parts())
        if not parts:
            return None
        step = self._conditional(parts)
        if self._line.find("last") is not None:
            step = _last(step)
        return "" if self._sees_absence(parts) else self._path[0], step

    def _sees_absence(self, parts: list[Part]) -> bool:
        if self._field == "self":
            return True
        always = self._line.find("always") is not None or self._shape.is_number
        return not self._element and (always or any(part.unset for part in parts))

    def _conditional(self, parts: list[Part]) -> Step:
        inner = self._step_of(parts)
        word = self._line.find("if")
        if word is not None:
            whether = conditions.make(word.value, self._name, self._file, self._line.location)

            def conditional(frame: Frame, findings: Findings) -> None:
                if whether(frame):
                    inner(frame, findings)

            return conditional
        return inner

    def _step_of(self, parts: list[Part]) -> Step:
        if self._field == "self":
            return _self_step(parts, self._place())
        if self._element == "[]":
            return self._items_step(parts)
        if self._element:
            return self._entries_step(parts, keys=self._element == "{keys}")
        return self._field_step(parts)

    # words

    def _parts(self) -> Iterator[Part]:
        descends = False
        for word in self._line.words:
            if word.name in table.SILENT or (self._element and word.name in _OF_THE_WHOLE):
                continue
            if word.name in ("valid", "call", "invalid"):
                descends = True  # `valid` at its own place, `call` in its function, `invalid` not
            yield self._part(word)
        if descends or self._field == "self" or self._element == "{keys}" or self._only_gates():
            return
        value = self._value()
        if value.struct and value.kind == "struct":
            yield from self._descent(value.struct, self._occasion)

    def _only_gates(self) -> bool:
        """Return whether the line contains only the gate of the field, which other
        lines validate."""
        said = self._line.words
        gated = any(word.name == "gate" for word in said)
        return gated and all(word.name in table.SILENT for word in said)

    def _part(self, word: Word) -> Part:
        if word.name == "valid":
            name = table.qualified(word.value, self._package) if word.value else ""
            return next(self._descent(name or self._value().struct, ""))
        if word.name == "union":
            return Part(self._union(word))
        if word.name in MetadataChecks._fields:
            return Part(_of_metadata(operator.attrgetter(word.name)))
        if word.name == "unique":
            return Part(None, _unique(word.value), ends=word.text == "ends")
        rule = words.WORDS.get(word.name)
        if rule is None:
            raise RuleError(f"{self._line.location}: no word {word.name!r}")
        said = self._line.find("show")
        shown = "" if said is None else said.value
        subject = Subject(
            self._name,
            self._field,
            self._value(),
            self._element,
            self._file,
            self._line.location,
            goes=shown == "go",
        )
        check = rule.make(word, subject)
        if shown in _IN_PLACE:
            check = _without_value(check, _IN_PLACE[shown])
        if self._line.find("ratchet") is not None:
            check = _ratcheted(check, self._path)
        return Part(check, unset=rule.unset, ends=rule.ends)

    def _value(self) -> Shape:
        """Return the type that the words apply to: that of the field, or of its items or values."""
        if self._element == "{keys}":
            return Shape("string", "", "", pointer=False, keys=())
        if self._element:
            return Shape(self._shape.item, self._shape.struct, "", pointer=False, keys=())
        return self._shape

    def _descent(self, name: str, occasion: str) -> Iterator[Part]:
        other = self._line.find("as")
        if other is not None:
            name = table.qualified(other.value, self._package)
        inner = rules(name, occasion, self._minor)
        if self._field == "self":
            yield Part(lambda _value, _path, frame: inner.run(frame))
        elif self._element:
            yield Part(None, _items_valid(inner, self._path, self._keys()))
        else:
            yield Part(_valid(inner, self._path))

    def _keys(self) -> tuple[str, ...]:
        """Return the members that identify an item in the list before an update."""
        word = self._line.find("set")
        own = word is not None and word.value and not word.value.startswith("@")
        return (word.value,) if word is not None and own else self._shape.keys

    def _union(self, word: Word) -> Check:
        """Return a check for `self` that checks the first member that is set, and refuses each one
        after it.

        The error for a refused `cephfs>cephFS` has the path `cephFS`, and errors in
        `disk@persistentDisk` have paths in `persistentDisk`. `flexVolume+` is allowed next to an
        earlier member.
        """
        known = shapes.fields(self._name, self._minor)
        members: dict[str, tuple[Rules, str, str, bool]] = {}
        for said in word.value.split("|"):
            member, _, refused = said.partition(">")
            member, _, checked = member.partition("@")
            member, beside, _ = member.partition("+")
            if shapes.is_later(self._name, [member], self._minor):
                continue
            inner = rules(known[member].struct, "", self._minor)
            members[member] = (inner, checked or member, refused or member, bool(beside))
        places = {member: place for place, member in enumerate(members)}
        none = self._line.find("none")
        missing = None if none is None else none.value

        def check(value: Any, path: str, frame: Frame) -> Findings:
            findings: Findings = []
            found = False
            for member in sorted(value.keys() & places.keys(), key=places.__getitem__):
                given = value[member]
                if given is None:
                    continue
                inner, checked, refused, beside = members[member]
                if found and not beside:
                    findings.append(fielderrors.forbidden(frame.prefix + refused, word.text))
                    continue
                found = True
                old = words.at(frame.old, [member])
                findings += inner.run(child(given, f"{frame.prefix}{checked}.", old, frame))
            if not found and missing is not None:
                findings.append(fielderrors.required(path, missing))
            return findings

        return check

    # steps

    def _read(self) -> Callable[[Object], Any]:
        if len(self._path) == 1:
            return operator.methodcaller("get", self._field)
        path = self._path
        return lambda obj: words.at(obj, path)

    def _place(self) -> Callable[[Frame], str]:
        """Return a function for the path of errors: the field, or the path of `at=` in its
        struct."""
        word = self._line.find("at")
        usual = "." if self._field == "self" else self._field
        name = usual if word is None or word.value == "[]" else word.value
        if name == ".":
            return lambda frame: frame.prefix[:-1]
        if name.startswith("/"):
            return lambda _frame: name[1:]
        return lambda frame: frame.prefix + name

    def _field_step(self, parts: list[Part]) -> Step:
        read, place, shape = self._read(), self._place(), self._shape
        always = self._line.find("always") is not None or shape.is_number
        every = _joined([(part.check, part.ends) for part in parts if part.check is not None])
        of_unset = [(p.check, p.ends) for p in parts if p.check and p.unset]
        unset = every if always else _joined(of_unset) if of_unset else None
        zero = _ZEROS.get(shape.kind) if always else None

        def step(frame: Frame, findings: Findings) -> None:
            value = read(frame.obj)
            check = every
            if not value and not words.is_set(value, shape):
                if unset is None:
                    return
                check = unset
                value = zero if value is None else value
            found = check(value, place(frame), frame)
            if found:
                findings.extend(found)

        return step

    def _items_step(self, parts: list[Part]) -> Step:
        read, place = self._read(), self._place()
        counted = self._counted()
        known = self._line.find("known")
        most, distinct = self._most(), self._distinct()

        def step(frame: Frame, findings: Findings) -> None:
            value = read(frame.obj)
            if not value:
                return
            path = place(frame)
            if most is not None and len(value) > most:
                findings.append(fielderrors.too_many(path, len(value), most))
                return
            check = _joined(list(_running(parts, frame)))
            for index, item in enumerate(value):
                where = f"{path}[{index}]" if counted else path
                before = len(findings)
                findings.extend(check(item, where, frame) or ())
                if known is not None and len(findings) == before:
                    faultless = frame.facts.setdefault(self._field, {})
                    faultless[item.get(known.value)] = item
            if distinct is not None:
                findings.extend(distinct(value, path))

        return step

    def _most(self) -> int | None:
        """Return `maxItems` of a line of items or entries. A longer list has no other findings."""
        word = self._line.find("maxItems")
        return None if word is None else int(word.value)

    def _distinct(self) -> Callable[[list[Any], str], Findings] | None:
        """Return the check for duplicates (`set`, `set=name`, `set=@call`), which runs after the
        checks of items."""
        word = self._line.find("set")
        if word is None:
            return None
        key = self._key_of(word.value)

        def check(values: list[Any], path: str) -> Findings:
            seen: set[Any] = set()
            findings: Findings = []
            for index, value in enumerate(values):
                found = key(value)
                if found in seen:
                    findings.append(fielderrors.duplicate(f"{path}[{index}]", found))
                seen.add(found)
            return findings

        return check

    def _key_of(self, member: str) -> Callable[[Any], Any]:
        if member.startswith("@"):
            found: Callable[[Any], Any] = functions.find(
                self._file, member[1:], self._line.location
            )
            return found
        return (lambda item: item.get(member)) if member else (lambda item: item)

    def _entries_step(self, parts: list[Part], *, keys: bool) -> Step:
        read, place = self._read(), self._place()
        counted = self._counted() if not keys else self._line.find("at") is not None
        most, word = self._most(), self._line.find("shorten")
        longest = None if word is None else int(word.value)

        def step(frame: Frame, findings: Findings) -> None:
            value = read(frame.obj)
            if not value:
                return
            path = place(frame)
            if most is not None and len(value) > most:
                findings.append(fielderrors.too_many(path, len(value), most))
                return
            check = _joined(list(_running(parts, frame)))
            for key in sorted(value):
                shown = key if longest is None else _shortened(key, longest)
                where = f"{path}[{shown}]" if counted else path
                findings.extend(check(key if keys else value[key], where, frame) or ())

        return step

    def _counted(self) -> bool:
        word = self._line.find("at")
        return word is None or word.value == "[]"


def _last(step: Step) -> Step:
    """Return a step whose findings end the paragraph."""

    def last(frame: Frame, findings: Findings) -> bool:
        before = len(findings)
        step(frame, findings)
        return len(findings) > before

    return last


def _shortened(key: str, longest: int) -> str:
    """Return a key, shortened with dots in the middle if it is too long for a path."""
    if len(key) <= longest:
        return key
    left = longest - len("...")
    return f"{key[: (left + 1) // 2]}...{key[len(key) - left // 2 :]}"


_OF_THE_WHOLE = frozenset({"maxItems", "set"})
"""Words in a line of items or entries that apply to the whole list or map."""
_ZEROS: dict[str, Any] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "float": 0, "struct": {},
}  # fmt: skip


def _running(parts: list[Part], frame: Frame) -> Iterator[tuple[Check, bool]]:
    for part in parts:
        if part.check is not None:
            yield part.check, part.ends
        elif part.per_list is not None:
            yield part.per_list(frame), part.ends


def _joined(checks: Sequence[tuple[Check, bool]]) -> Check:
    """Return the checks of a line as one. After an error of a check that `ends` the line, later
    checks do not run. Most lines have one check."""
    if len(checks) == 1:
        return checks[0][0]

    def every(value: Any, path: str, frame: Frame) -> Findings:
        findings: Findings = []
        for check, ends in checks:
            found = check(value, path, frame)
            if found:
                findings.extend(found)
                if ends:
                    break
        return findings

    return every


def _self_step(parts: list[Part], place: Callable[[Frame], str]) -> Step:
    check = _joined([(part.check, part.ends) for part in parts if part.check is not None])

    def step(frame: Frame, findings: Findings) -> None:
        findings.extend(check(frame.obj, place(frame), frame) or ())

    return step


def _of_metadata(find: Callable[[MetadataChecks], Callable[[], Findings]]) -> Check:
    """Return a check of the whole object's metadata. A part of an object has none."""

    def check(_value: Any, _path: str, frame: Frame) -> Findings:
        return [] if frame.metadata is None else find(frame.metadata)()

    return check


def _valid(inner: Rules, path_in: list[str]) -> Check:
    def check(value: Any, path: str, frame: Frame) -> Findings:
        old = None if frame.old is None else words.at(frame.old, path_in)
        return inner.run(child(value, f"{path}.", old, frame))

    return check


def _items_valid(inner: Rules, path_in: list[str], keys: tuple[str, ...]) -> PerList:
    """Check items by the rules of their type. Their old state is found by keys, or by index."""

    def check_new(value: Any, path: str, frame: Frame) -> Findings:
        return inner.run(child(value, f"{path}.", None, frame))

    def make(frame: Frame) -> Check:
        before = words.at(frame.old, path_in) if frame.old else None
        if not before:
            return check_new
        entries = before if isinstance(before, dict) else dict(enumerate(before))
        known: dict[Any, Any] = (
            {tuple(item.get(key) for key in keys): item for item in entries.values()}
            if keys
            else entries
        )
        places = count()

        def check(value: Any, path: str, frame: Frame) -> Findings:
            at = next(places)
            old = known.get(tuple(value.get(key) for key in keys) if keys else at)
            return inner.run(child(value, f"{path}.", old, frame))

        return check

    return make


def _unique(key: str) -> PerList:
    """Check that each item, or with a key each item's member, occurs only once."""

    def make(_frame: Frame) -> Check:
        seen: list[Any] | set[Any] = set()

        def check(value: Any, path: str, _frame: Frame) -> Findings:
            nonlocal seen
            shown = value.get(key) if key else value
            if isinstance(shown, dict | list) and isinstance(seen, set):
                seen = list(seen)
            if shown in seen:
                return [fielderrors.duplicate(f"{path}.{key}" if key else path, shown)]
            seen.add(shown) if isinstance(seen, set) else seen.append(shown)
            return []

        return check

    return make


_IN_PLACE = {"nothing": "", "null": None, "omitted": fielderrors.OMITTED}
"""What errors show instead of the value, by `show=`."""


def _without_value(check: Check, shown: Any) -> Check:
    """Return a check whose errors show something instead of the value."""

    def emptied(value: Any, path: str, frame: Frame) -> Any:
        found: Any = check(value, path, frame) or ()
        return [error._replace(value=shown) for error in found]

    return emptied


def _ratcheted(check: Check, path_in: list[str]) -> Check:
    """Return a check that ignores values that an update does not change."""

    def unless_same(value: Any, path: str, frame: Frame) -> Any:
        if frame.updates and same(value, words.at(frame.old, path_in)):
            return None
        return check(value, path, frame)

    return unless_same
