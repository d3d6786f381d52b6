"""The difference of two values of an internal type, as errors of minors before 1.34 show it.

    spec: Forbidden: pod updates may not change fields other than …
      core.PodSpec{
        … // 15 identical fields
    -   NodeName: "a",
    +   NodeName: "b",

Those errors end with the output of go-cmp's reporter. A `_Value` is a Go value with its types, a
`_Node` the comparison of two values. Texts consist of `_Line`, `_Wrap` and `_Records`. Equal parts
are shortened, differing parts are shown in detail. Follows cmp/{compare,report_compare,
report_reflect,report_slices,report_text}.go and cmp/internal/diff of version 0.7.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from inkube.schemas import quantity
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import gosource, internal
from inkube.schemas.gotypes.types import GoType
from inkube.schemas.objects import Object

MAX_COMPARED: Final = 1_000
"""The limit of the items of two lists, or the characters of two texts, for which the best match is
computed. This takes up to four comparisons for each. For longer ones, only the equal start and the
equal end are found."""
_WIDTH: Final = 80
_CONTEXT: Final = 2
_CHUNK: Final = 64
_NOTHING: Final = quantity.parse("0")
_SHORT: Final = 32
"""Texts shorter than this are not compared character by character."""
_MAX_CHUNKS: Final = 32


def diff(name: str, old: Object | None, new: Object | None, minor: int) -> str:
    """Return the difference of two v1 values, shown as that internal type; "" for equal ones."""
    values = [_Reader(minor).pointed(name, given) for given in (old, new)]
    node = _compared(values[0], values[1])
    if not node.differs:
        return ""
    text = _Format().of(node)
    lines: list[str] = []
    compact = _compact(text, " ")
    _expand(compact, " ", 0, lines)
    return f"  {''.join(lines)}\n"


# ------------------------------------------------------------------------------- values


@dataclass(slots=True, eq=False)
class _Value:
    """A Go value. `kind` is struct, slice, map, pointer, string or plain. `held` is its content:
    fields, items or entries with their names, the target of a pointer, or a text. None is nil."""

    kind: str
    type: str
    held: Any
    is_zero: bool
    stringer: str = ""
    """The result of its method String, or "" without one."""
    equal: Any = None
    """The value that its method Equal compares, or None without one."""


class _Reader:
    """Converts v1 values to Go values of internal types."""

    def __init__(self, minor: int) -> None:
        self._minor = minor

    def pointed(self, name: str, data: Object | None) -> _Value:
        """Return the struct itself, which the caller compares."""
        return self._struct(name, data or {})

    def _struct(self, name: str, data: Object) -> _Value:
        struct, prepare = internal.struct_of(name, self._minor), internal.PREPARED.get(name)
        if prepare is not None:
            data = prepare(data)
        fields: list[tuple[str, _Value]] = []
        if struct.embedded:
            fields.append(
                ("ObjectMeta", self._struct("meta.ObjectMeta", data.get(struct.embedded) or {}))
            )
        group = name.partition(".")[0]
        for one in struct.fields:
            value = self._field(name, one, data.get(one.key))
            into, steps = fields, one.steps(name)
            for step in steps:
                if not into or into[-1][0] != step:
                    into.append((step, _Value("struct", f"{group}.{step}", [], is_zero=True)))
                into[-1][1].is_zero &= value.is_zero
                into = into[-1][1].held
            into.append((gosource.exported(one.name), value))
        zero = all(value.is_zero for _, value in fields)
        return _Value("struct", gosource.package(name), fields, zero)

    def _field(self, owner: str, field: internal.Field, data: Any) -> _Value:
        go = field.type
        if not field.pointer or go.kind in ("list", "map"):
            return self._value(owner, go, data)
        if data is None:
            return _Value("pointer", "", None, is_zero=True)
        pointed = self._value(owner, go, data)
        said = self._said(owner, go, data)
        equal = data if go.kind == "time" else None
        return _Value("pointer", "", pointed, is_zero=False, stringer=said, equal=equal)

    def _said(self, owner: str, go: GoType, data: Any) -> str:
        """Return the result of the method String of a pointer, or "" without one."""
        match go.kind:
            case "quantity" | "intstr":
                return str(data)
            case "time":
                return _time(data)
            case "struct" if go.struct == "LabelSelector":
                return _selector(data)
            case "struct":
                name = internal.internal_name(owner, go.struct)
                embedded = internal.struct_of(name, self._minor).embedded
                return _metadata(data.get(embedded) or {}) if embedded else ""
        return ""

    def _value(self, owner: str, go: GoType, data: Any) -> _Value:
        if go.kind == "struct":
            return self._struct(internal.internal_name(owner, go.struct), data or {})
        if go.item is not None and go.kind in ("list", "map"):
            return self._items(owner, go, go.item, data)
        if go.kind == "quantity":
            return _quantity(data)
        if go.kind == "intstr":
            return _int_or_string(data)
        if go.kind in ("time", "microtime"):
            moment = _Value("struct", "time.Time", [], data is None, _time(data), data or "")
            return _Value("struct", "v1.Time", [("Time", moment)], moment.is_zero, moment.stringer)
        if go.kind == "string":
            stringer = (data or "") if go.name == "v1.ResourceName" else ""
            return _Value("string", gosource.type_name(owner, go), data or "", not data, stringer)
        text = "false" if go.kind == "bool" else "0"
        if data is not None:
            text = gotext.number(data) if not isinstance(data, bool) else str(data).lower()
        return _Value("plain", go.name, text, text in ("false", "0"))

    def _items(self, owner: str, go: GoType, item: GoType, data: Any) -> _Value:
        type_name, kind = gosource.type_name(owner, go), "slice" if go.kind == "list" else "map"
        if data is None:
            return _Value(kind, type_name, None, is_zero=True)
        if kind == "slice":
            items = [("", self._value(owner, item, each)) for each in data]
            return _Value(kind, type_name, items, is_zero=False)
        quote = _resource_name if item.kind == "quantity" else _quoted
        entries = [(quote(key), self._value(owner, item, data[key])) for key in sorted(data)]
        return _Value(kind, type_name, entries, is_zero=False)


def _metadata(data: Object) -> str:
    """Return the result of ObjectMeta.String, which is generated for protobuf."""
    grace = data.get("deletionGracePeriodSeconds")
    deleted = data.get("deletionTimestamp")
    owners = "".join(f"{_owner(each)}," for each in data.get("ownerReferences") or ())
    return (
        f"&ObjectMeta{{Name:{data.get('name', '')},GenerateName:{data.get('generateName', '')},"
        f"Namespace:{data.get('namespace', '')},SelfLink:{data.get('selfLink', '')},"
        f"UID:{data.get('uid', '')},ResourceVersion:{data.get('resourceVersion', '')},"
        f"Generation:{data.get('generation', 0)},"
        f"CreationTimestamp:{_time(data.get('creationTimestamp'))},"
        f"DeletionTimestamp:{_time(deleted) if deleted else '<nil>'},"
        f"DeletionGracePeriodSeconds:{'nil' if grace is None else f'*{grace}'},"
        f"Labels:{_texts(data.get('labels'))},Annotations:{_texts(data.get('annotations'))},"
        f"OwnerReferences:[]OwnerReference{{{owners}}},"
        f"Finalizers:[{' '.join(data.get('finalizers') or ())}],"
        "ManagedFields:[]ManagedFieldsEntry{},}"
    )


def _owner(data: Object) -> str:
    flags = [
        "nil" if data.get(key) is None else f"*{str(data[key]).lower()}"
        for key in ("controller", "blockOwnerDeletion")
    ]
    return (
        f"OwnerReference{{Kind:{data.get('kind', '')},Name:{data.get('name', '')},"
        f"UID:{data.get('uid', '')},APIVersion:{data.get('apiVersion', '')},"
        f"Controller:{flags[0]},BlockOwnerDeletion:{flags[1]},}}"
    )


def _texts(data: dict[str, str] | None) -> str:
    pairs = "".join(f"{key}: {data[key]}," for key in sorted(data)) if data else ""
    return f"map[string]string{{{pairs}}}"


def _selector(data: Object) -> str:
    """Return the result of LabelSelector.String, which is generated for protobuf."""
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in data.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:{_texts(data.get('matchLabels'))},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _time(data: Any) -> str:
    if not data:
        return gosource.NO_TIME
    return gosource.moment(data)


def _quantity(data: Any) -> _Value:
    if data is None:
        return _Value("struct", "resource.Quantity", [], is_zero=True, equal=_NOTHING)
    digits, scale, text, form = gosource.parts_of(data)
    amount = [
        (name, _Value("plain", "int64", str(number), not number))
        for name, number in (("value", digits), ("scale", scale))
    ]
    fields = [
        ("i", _Value("struct", "resource.int64Amount", amount, not digits and not scale)),
        ("s", _Value("string", "string", text, not text)),
        ("Format", _Value("string", "resource.Format", form, not form)),
    ]
    return _Value("struct", "resource.Quantity", fields, False, "", quantity.parse(str(data)))


def _int_or_string(data: Any) -> _Value:
    is_text = isinstance(data, str)
    fields = [
        ("Type", _Value("plain", "intstr.Type", "1" if is_text else "0", not is_text)),
        (
            "IntVal",
            _Value("plain", "int32", "0" if is_text else str(data or 0), is_text or not data),
        ),
        ("StrVal", _Value("string", "string", data if is_text else "", not (is_text and data))),
    ]
    return _Value("struct", "intstr.IntOrString", fields, not data and not is_text)


# -------------------------------------------------------------------------- comparisons


@dataclass(slots=True, eq=False)
class _Node:
    """Two values at one path, of which one can be missing. `same` and `differs` count leaves,
    `below` all descendants, and `depth` is their greatest depth."""

    old: _Value | None
    new: _Value | None
    same: int = 0
    differs: int = 0
    below: int = 0
    depth: int = 0
    records: "list[tuple[str, _Node]]" = field(default_factory=list)

    @property
    def value(self) -> _Value:
        """One of the two values, for properties that are equal for both."""
        found = self.old or self.new
        assert found is not None, "both are never missing"
        return found

    def add(self, name: str, child: "_Node") -> None:
        """Add a child."""
        self.records.append((name, child))
        self.same += child.same
        self.differs += child.differs
        self.below += child.below + 1
        self.depth = max(self.depth, child.depth + 1)


def _compared(old: _Value | None, new: _Value | None) -> _Node:
    node = _Node(old, new)
    if old is None or new is None:
        node.differs = 1
    elif old.equal is not None and new.equal is not None:
        node.same, node.differs = (1, 0) if old.equal == new.equal else (0, 1)
    elif old.held is None or new.held is None or old.kind in ("string", "plain"):
        node.same, node.differs = (1, 0) if old.held == new.held else (0, 1)
    elif old.kind == "pointer":
        node.add("", _compared(old.held, new.held))
    else:
        for name, one, other in _pairs(old, new):
            node.add(name, _compared(one, other))
    return node


def _pairs(old: _Value, new: _Value) -> Iterator[tuple[str, _Value | None, _Value | None]]:
    if old.kind == "slice":
        items, others = [v for _, v in old.held], [v for _, v in new.held]
        for at, to in _matched(items, others):
            yield "", None if at is None else items[at], None if to is None else others[to]
    elif old.kind == "map":
        before, after = dict(old.held), dict(new.held)
        for key in sorted(before.keys() | after.keys()):
            yield key, before.get(key), after.get(key)
    else:
        # a zero value, such as a quantity, can have no fields here
        before, after = dict(old.held), dict(new.held)
        for name in dict.fromkeys([*before, *after]):
            yield name, before.get(name), after.get(name)


def _matched(
    items: Sequence[_Value], others: Sequence[_Value]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield pairs of corresponding items of two lists; None for a missing counterpart."""
    known: dict[tuple[int, int], tuple[int, int]] = {}

    def judge(at: int, to: int) -> tuple[int, int]:
        if (at, to) not in known:
            node = _compared(items[at], others[to])
            known[at, to] = (node.same, node.differs)
        return known[at, to]

    at = to = 0
    for edit in _edits(len(items), len(others), judge):
        yield None if edit == _ADDED else at, None if edit == _REMOVED else to
        at, to = at + (edit != _ADDED), to + (edit != _REMOVED)


_SAME: Final = "."
_REMOVED: Final = "-"
_ADDED: Final = "+"
_CHANGED: Final = "~"


def _edits(count: int, others: int, judge: Callable[[int, int], tuple[int, int]]) -> str:
    """Return the edits that turn a list into another: one letter for each item. `judge` returns the
    numbers of equal and of different parts of two items."""
    if count + others > MAX_COMPARED:
        return _edits_of_long(count, others, judge)
    ahead, behind = _EditPath(1, 0, 0, judge), _EditPath(-1, count, others, judge)
    ends = [[0, 0], [count, others]]
    budget = 4 * (count + others)
    while True:
        for way, other, place in ((ahead, behind, 0), (behind, ahead, 1)):
            if ends[0][0] >= ends[1][0] or ends[0][1] >= ends[1][1] or budget <= 0:
                ahead.reach(behind.x, behind.y)
                return "".join([*ahead.edits, *reversed(behind.edits)])
            budget = way.search(other, ends[place], budget)
            along = abs(other.x - ends[place][0]) >= abs(other.y - ends[place][1])
            ends[place][0 if along else 1] += way.step


class _EditPath:
    """A path through the table of two lists, from its beginning or from its end."""

    def __init__(
        self, step: int, x: int, y: int, judge: Callable[[int, int], tuple[int, int]]
    ) -> None:
        self.step, self.x, self.y = step, x, y
        self.edits: list[str] = []
        self._judge = judge

    def _judged(self, x: int, y: int) -> tuple[int, int]:
        return self._judge(x, y) if self.step > 0 else self._judge(x - 1, y - 1)

    def _is_before(self, value: int, other: int) -> bool:
        return value < other if self.step > 0 else value > other

    def search(self, other: "_EditPath", end: list[int], budget: int) -> int:
        """Search the diagonal through `end` for the next match, go to it, and continue along equal
        items. Returns the rest of the budget."""
        turn, is_out = 0, [False, False]
        while not all(is_out) and budget > 0:
            off = (turn if turn % 2 == 0 else ~turn) >> 1
            turn += 1
            x, y = end[0] + self.step * off, end[1] - self.step * off
            if not self._is_before(x, other.x) or self._is_before(y, self.y):
                is_out[0] = True
            elif not self._is_before(y, other.y) or self._is_before(x, self.x):
                is_out[1] = True
            elif not self._judged(x, y)[1]:
                self.reach(x, y)
                self.take(_SAME)
                while self._is_before(self.x, other.x) and self._is_before(self.y, other.y):
                    if self._judged(self.x, self.y)[1]:
                        break
                    self.take(_SAME)
                end[:] = [self.x, self.y]
                break
            else:
                budget -= 1
        return budget

    def take(self, edit: str) -> None:
        """Take one step."""
        self.edits.append(edit)
        if edit != _ADDED:
            self.x += self.step
        if edit != _REMOVED:
            self.y += self.step

    def reach(self, x: int, y: int) -> None:
        """Move to a place. Two similar items count as one changed item, other items as removed and
        added."""
        first, second = (_REMOVED, _ADDED) if self.step > 0 else (_ADDED, _REMOVED)
        while self.x != x and self.y != y:
            same, differs = self._judged(self.x, self.y)
            if not differs:
                self.take(_SAME)
            elif same + 1 >= differs:
                self.take(_CHANGED)
            else:
                wide, high = abs(x - self.x), abs(y - self.y)
                self.take(first if (wide >= high if self.step > 0 else high >= wide) else second)
        while self.x != x:
            self.take(_REMOVED)
        while self.y != y:
            self.take(_ADDED)


def _edits_of_long(count: int, others: int, judge: Callable[[int, int], tuple[int, int]]) -> str:
    head = tail = 0
    while head < min(count, others) and not judge(head, head)[1]:
        head += 1
    rest = min(count, others) - head
    while tail < rest and not judge(count - tail - 1, others - tail - 1)[1]:
        tail += 1
    between = _REMOVED * (count - head - tail) + _ADDED * (others - head - tail)
    return _SAME * head + between + _SAME * tail


# -------------------------------------------------------------------------------- texts


class _Line(str):
    """A text on one line."""

    __slots__ = ()


class _Wrap(NamedTuple):
    """A text with a prefix and a suffix."""

    prefix: str
    inner: "_Text"
    suffix: str = ""


class _Record(NamedTuple):
    """A line of a list: its mark (removed, added, or " " for neither), its name, and a comment
    after it."""

    mark: str
    key: str
    text: "_Text"
    comment: str = ""
    has_comma: bool = True


_Records = tuple[_Record, ...]
_Text = _Line | _Wrap | _Records
_NIL: Final = _Line("nil")
_DOTS: Final = _Record(" ", "", _Line("..."), "", has_comma=False)


def _flat(text: _Text) -> str:
    """Return the text on one line."""
    if isinstance(text, str):
        return text
    if isinstance(text, _Wrap):
        return f"{text.prefix}{_flat(text.inner)}{text.suffix}"
    return ", ".join(
        f"{one.key}: {_flat(one.text)}" if one.key else _flat(one.text) for one in text
    )


def _compact(text: _Text, mark: str) -> _Text:
    """Return the text with all parts on one line that can be on one line."""
    if isinstance(text, str):
        return text
    if isinstance(text, _Wrap):
        inner = _compact(text.inner, mark)
        if isinstance(inner, str):
            return _Line(f"{text.prefix}{inner}{text.suffix}")
        return _Wrap(text.prefix, inner, text.suffix)
    made = tuple(
        one._replace(text=_compact(one.text, one.mark if one.mark != " " else mark)) for one in text
    )
    line = _flat(made)
    is_long = mark != " " and len(line.encode()) > _WIDTH
    if is_long or any(
        one.mark != " " or one.comment or not isinstance(one.text, str) for one in made
    ):
        return made
    return _Line(line)


def _expand(text: _Text, mark: str, depth: int, out: list[str]) -> None:
    """Append the text to `out`, with lists over several lines."""
    if isinstance(text, str):
        out.append(text)
    elif isinstance(text, _Wrap):
        out.append(text.prefix)
        _expand(text.inner, mark, depth, out)
        out.append(text.suffix)
    else:
        _expand_list(text, mark, depth, out)


def _expand_list(records: _Records, mark: str, depth: int, out: list[str]) -> None:
    inner = "\t" * (depth + 1)
    if records and all(
        one.mark == " " and not one.key and isinstance(one.text, str) and not one.comment
        for one in records
    ):
        batches = _batches([str(one.text) for one in records])
        out.extend(f"\n{mark} {inner}{line}" for line in batches)
    else:
        names = _padding(records, _name_width)
        comments = _padding(records, _text_width)
        for one, name_pad, comment_pad in zip(records, names, comments, strict=True):
            own = one.mark if one.mark != " " else mark
            out.append(f"\n{own} {inner}")
            out.append(f"{one.key}: {name_pad}" if one.key else name_pad)
            _expand(one.text, own, depth + 1, out)
            out.append(("," if one.has_comma else "") + comment_pad)
            if one.comment:
                out.append(f" // {one.comment}")
    tabs = "\t" * depth
    out.append(f"\n{mark} {tabs}")


def _batches(lines: list[str]) -> Iterator[str]:
    """Yield lines, each with as many short texts as fit."""
    batch = ""
    for line in lines:
        if batch and len(batch.encode()) + len(line.encode()) + 2 > _WIDTH:
            yield batch.rstrip(" ")
            batch = ""
        batch += f"{line}, "
    if batch:
        yield batch.rstrip(" ")


def _name_width(record: _Record) -> int | None:
    return len(record.key) if record.key and isinstance(record.text, str) else None


def _text_width(record: _Record) -> int | None:
    if not isinstance(record.text, str) or record.text == "..." or not record.comment:
        return None
    return len(record.text)


def _padding(records: _Records, width: Callable[[_Record], int | None]) -> list[str]:
    """Return the spaces that align neighbours. Records without a width separate groups."""
    made: list[str] = []
    group: list[int] = []
    for record in (*records, None):
        size = width(record) if record is not None else None
        if size is not None:
            group.append(size)
            continue
        made += [" " * (max(group) - each) for each in group]
        group = []
        if record is not None:
            made.append("")
    return made


# -------------------------------------------------------------------------------- words


@dataclass(frozen=True, slots=True)
class _Format:
    """The options of the output. `mark` is the side: both (""), equal (" "), removed or added.
    `types` is "always", "composite" or "never": the types that are named. `detail` is the depth."""

    mark: str = ""
    types: str = "always"
    detail: int = 0
    is_limited: bool = False
    """Whether `detail` limits the output."""
    plain: bool = False
    """Whether values are printed with their fields although they have a method String."""

    def of(self, node: _Node) -> _Text:
        """Return the text for two values."""
        if self.mark == " ":
            opts = replace(self, detail=1, is_limited=True)
        elif self.detail < 3:
            opts = replace(self, detail=3, is_limited=True)
        else:
            opts = self
        if opts.compares_text(node):
            return opts.text_diff(node)
        if node.depth == 0:
            return opts.leaf(node)
        if node.value.kind == "pointer":
            return _Wrap("&", opts.of(node.records[0][1]))
        return opts.typed(node.value, opts._list(node))

    def leaf(self, node: _Node) -> _Text:
        """Return the text for two values that are compared as a whole."""
        if self.mark == "-" or (self.mark in ("", " ") and node.new is None):
            return self.value(node.old)
        if self.mark == "+" or (self.mark in ("", " ") and node.old is None):
            return self.value(node.new)
        texts = self.value(node.old), self.value(node.new)
        if not node.differs:
            return texts[0] if len(_flat(texts[0])) < len(_flat(texts[1])) else texts[1]
        bare = replace(self, types="never")
        old, new = bare.value(node.old), bare.value(node.new)
        return replace(self, types="always").typed(
            node.value, (_Record("-", "", old), _Record("+", "", new))
        )

    def typed(self, value: _Value, text: _Text) -> _Text:
        """Return the text with the name of its type, if types are printed."""
        is_composite = value.kind in ("struct", "slice", "map")
        if self.types == "never" or (
            self.types == "composite" and (not is_composite or text == _NIL or self.mark == " ")
        ):
            return text
        if isinstance(text, _Wrap) and text.prefix[:1] in ("{", "("):
            return _Wrap(value.type, text)
        return _Wrap(f"{value.type}(", text, ")")

    def _list(self, node: _Node) -> _Text:
        """Return the records of a struct, a list or a map."""
        kind = node.value.kind
        limit = (1 << self.detail >> 1) << 2 if self.mark == " " else 2 << self.detail
        opts = replace(
            self, types="composite" if kind == "struct" else "never", detail=self.detail - 1
        )
        if self.mark:
            return _Wrap("{", opts.united(node, limit), "}")
        return _Wrap("{", opts.differing(node, limit), "}")

    def united(self, node: _Node, limit: int) -> _Records:
        """Return the records of only one side."""
        made: list[_Record] = []
        for name, child in node.records:
            if len(made) == limit:
                made.append(_DOTS)
                break
            shown = child.new if self.mark == "+" else child.old
            if shown is None or (node.value.kind == "struct" and shown.is_zero):
                continue
            made.append(_Record(" ", name, self.of(child)))
        return tuple(made)

    def differing(self, node: _Node, limit: int) -> _Records:
        """Return the differing records, with two equal records before and after each."""
        made: list[_Record] = []
        names = {"struct": "field", "map": "entry"}
        left = _Stats(names.get(node.value.kind, "element"))
        groups, shown = _groups(node.records), 0
        for place, group in enumerate(groups):
            if shown >= limit:
                left.count(group)
            elif not group[0][1].differs:
                self._add_equal(group, (place > 0, place < len(groups) - 1), left.name, made)
            else:
                for name, child in group:
                    self._add_change(name, child, made)
                shown += len(group)
        if left.total:
            made.append(_DOTS._replace(comment=str(left)))
        return tuple(made)

    def _add_equal(
        self,
        group: "list[tuple[str, _Node]]",
        beside: tuple[bool, bool],
        name: str,
        records: list[_Record],
    ) -> None:
        """Add equal records as one line, except for those next to a difference. `beside` contains
        whether there is a difference before and after them."""
        same = replace(self, mark=" ")
        first = min(_CONTEXT, len(group)) if beside[0] else 0
        last = min(_CONTEXT, len(group) - first) if beside[1] else 0
        last += len(group) - first - last == 1
        records += [_Record(" ", key, same.of(child)) for key, child in group[:first]]
        if left := len(group) - first - last:
            stats = _Stats(name, identical=left)
            records.append(_DOTS._replace(comment=str(stats)))
        records += [_Record(" ", key, same.of(child)) for key, child in group[len(group) - last :]]

    def _add_change(self, name: str, child: _Node, records: list[_Record]) -> None:
        if self.compares_text(child):
            records.append(_Record(" ", name, self.text_diff(child)))
        elif child.below != child.depth:
            records.append(_Record(" ", name, self.of(child)))
        else:
            sides = self._sides(child)
            records += [
                _Record(mark, name, text)
                for mark, text in zip("-+", sides, strict=True)
                if text is not None
            ]

    def _sides(self, child: _Node) -> tuple[_Text | None, _Text | None]:
        """Return both sides of a difference, with enough detail to show the difference."""
        opts = self
        for more in range(8):
            old = None if child.old is None else replace(opts, mark="-").of(child)
            new = None if child.new is None else replace(opts, mark="+").of(child)
            if old is None or new is None or old != new:
                break
            opts = replace(self, detail=max(self.detail, 0) + 2 * more, plain=more > 0)
        return old, new

    # ------------------------------------------------------------------- single values

    def value(self, value: _Value | None) -> _Text:
        """Return the text for one value."""
        if value is None:
            return _NIL
        if value.stringer and not self.plain:
            return _Line("s" + self._quoted(value.stringer))
        if value.held is None:
            return self.typed(value, _NIL) if value.kind != "pointer" else _NIL
        if value.kind == "pointer":
            return _Wrap("&", self.value(value.held))
        if value.kind == "string":
            return self.typed(value, _Line(self._quoted(value.held)))
        if value.kind == "plain":
            return self.typed(value, _Line(value.held))
        return self.typed(value, _Wrap("{", self._held(value), "}"))

    def _held(self, value: _Value) -> _Records:
        limit = (1 << max(self.detail, 0) >> 1) << 2 if self.is_limited else 1 << 62
        opts = replace(
            self, types="composite" if value.kind == "struct" else "never", detail=self.detail - 1
        )
        made: list[_Record] = []
        for name, held in value.held:
            if value.kind == "struct" and held.is_zero:
                continue
            if len(made) == limit:
                made.append(_DOTS)
                break
            made.append(_Record(" ", name, opts.value(held)))
        return tuple(made)

    def _quoted(self, text: str) -> str:
        longest = 32 << max(self.detail, 0) if self.is_limited else len(text.encode())
        raw = text.encode()
        if len(raw) > longest + 3:
            return _quoted(raw[:longest].decode(errors="replace")) + "..."
        return _quoted(text)

    # ---------------------------------------------------------------------- long texts

    def compares_text(self, node: _Node) -> bool:
        """Return whether two texts are compared by characters."""
        if self.mark or not node.differs or node.old is None or node.new is None:
            return False
        return node.value.kind == "string" and min(len(node.old.held), len(node.new.held)) >= _SHORT

    def text_diff(self, node: _Node) -> _Text:
        """Return the difference of two texts, in pieces of 64 characters or, for texts with several
        lines, by line."""
        assert node.old is not None, "there are two texts"
        assert node.new is not None, "there are two texts"
        old, new = node.old.held, node.new.held
        is_lined = (old + new).count("\n") >= 4 and not _has_odd(old + new)
        if is_lined:
            before, after = old.split("\n"), new.split("\n")
            records = _pieces(before, after, 1, "line")
            if (tripled := _tripled(records)) is not None:
                return _Wrap("(", tripled, ")")
            delimiter = gotext.quote("\n")
        else:
            records = _pieces(list(old), list(new), _CHUNK, "byte")
            delimiter = '""'
        quoted = tuple(
            one if one.text == "..." else one._replace(text=_Line(_quoted(str(one.text))))
            for one in records
        )
        return _Wrap("strings.Join(", _Wrap("{", quoted, "}"), f", {delimiter})")


def _has_odd(text: str) -> bool:
    return any(not (char.isprintable() or char.isspace()) for char in text)


def _pieces(old: list[str], new: list[str], size: int, name: str) -> list[_Record]:
    """Return the pieces of two texts: equal, removed and added ones."""
    edits = _edits(len(old), len(new), lambda at, to: (1, 0) if old[at] == new[to] else (0, 2))
    groups = _smoothed(_runs(edits), size // 4)
    made: list[_Record] = []
    left = _Stats(name)
    for place, (is_equal, run) in enumerate(groups):
        gone = len(run) - run.count(_ADDED)
        come = len(run) - run.count(_REMOVED)
        before, after, old, new = old[:gone], new[:come], old[gone:], new[come:]
        if len(made) >= _MAX_CHUNKS:
            left.add(run)
        elif is_equal:
            first = min(size * _CONTEXT, gone) if place else 0
            last = min(size * _CONTEXT, gone - first) if place < len(groups) - 1 else 0
            if gone - first - last <= size:
                last = gone - first
            made += _chunks(before[:first], size, " ")
            if rest := gone - first - last:
                made.append(_DOTS._replace(comment=str(_Stats(name, identical=rest))))
            made += _chunks(before[gone - last :], size, " ")
        else:
            made += [*_chunks(before, size, "-"), *_chunks(after, size, "+")]
    if left.total:
        made.append(_DOTS._replace(comment=str(left)))
    return made


def _chunks(parts: list[str], size: int, mark: str) -> list[_Record]:
    return [
        _Record(mark, "", _Line("".join(parts[at : at + size])))
        for at in range(0, len(parts), size)
    ]


def _runs(edits: str) -> list[tuple[bool, str]]:
    """Group consecutive edits by whether they are equal."""
    return [(is_equal, "".join(run)) for is_equal, run in groupby(edits, _SAME.__eq__)]


def _smoothed(groups: list[tuple[bool, str]], window: int) -> list[tuple[bool, str]]:
    """Join short equal runs with the changes around them, if both texts would be shown in any
    case."""
    made: list[tuple[bool, str]] = []
    for is_equal, run in groups:
        if len(made) >= 2 and not is_equal and len(made[-1][1]) <= window:
            around = made[-2][1] + run
            if _REMOVED in around and _ADDED in around:
                made[-2:] = [(False, made[-2][1] + made[-1][1] + run)]
                continue
        made.append((is_equal, run))
    return made


def _tripled(records: list[_Record]) -> _Records | None:
    """Return lines in triple quotes, or None if they would be ambiguous."""
    made = [_Record(" ", "", _Line('"""'), "", has_comma=False)]
    seen: set[str] = set()
    for one in records:
        line = str(one.text)
        if one.comment:
            made.append(one)
            continue
        bare = "".join(line.split())
        if line.startswith(('"""', "...")) or (one.mark != " " and bare in seen):
            return None
        seen = {bare} if one.mark == " " else seen | {bare}
        made.append(one._replace(has_comma=False))
    if made[-1].mark == " " and not made[-1].text:
        made.pop()
    return (*made, made[0])


class _Stats:
    """The numbers of records that are not shown: `2 identical and 1 removed fields`."""

    def __init__(self, name: str, *, identical: int = 0) -> None:
        self.name = name
        self._counts = dict.fromkeys(("identical", "removed", "inserted", "modified"), 0)
        self._counts["identical"] = identical

    @property
    def total(self) -> int:
        """The number of all records."""
        return sum(self._counts.values())

    def count(self, group: "list[tuple[str, _Node]]") -> None:
        """Add records."""
        for _, child in group:
            if not child.differs:
                self._counts["identical"] += 1
            elif child.new is None:
                self._counts["removed"] += 1
            elif child.old is None:
                self._counts["inserted"] += 1
            else:
                self._counts["modified"] += 1

    def add(self, edits: str) -> None:
        """Count equal, removed, added and changed items of edits."""
        names = {_SAME: "identical", _REMOVED: "removed", _ADDED: "inserted", _CHANGED: "modified"}
        for edit in edits:
            self._counts[names[edit]] += 1

    def __str__(self) -> str:
        parts = [f"{count} {name}" for name, count in self._counts.items() if count]
        name = self.name
        if self.total > 1:
            name = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
        if len(parts) > 2:
            return f"{', '.join(parts[:-1])}, and {parts[-1]} {name}"
        return f"{' and '.join(parts)} {name}"


def _groups(records: "list[tuple[str, _Node]]") -> "list[list[tuple[str, _Node]]]":
    """Group consecutive records by whether they differ."""
    return [list(group) for _, group in groupby(records, lambda record: bool(record[1].differs))]


def _quoted(text: str) -> str:
    """Return the text in double quotes, or in backquotes if these are shorter."""
    quoted = gotext.quote(text)
    is_raw = all((char.isprintable() or char == "\t") and char != "`" for char in text)
    return f"`{text}`" if len(quoted) != len(text) + 2 and is_raw else quoted


def _resource_name(name: str) -> str:
    return f"s{_quoted(name)}"
