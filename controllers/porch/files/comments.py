"""Restores comments that a client removed from its copy of a package. Pure.

Clients that parse YAML into objects and serialize them again drop comments, including `# kpt-set`
and `# kpt-merge`. If the stored document has a comment at a field, and the sent document contains
that comment nowhere, the comment is inserted at that field; no other character changes (upstream:
healConfig of the engine with CopyComments of kyaml's comments package). Fields are located with
libyaml's events, so deep documents need no recursion.
"""

import bisect
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Document, Files, Unreadable

_TEMPLATE = re.compile(r"#[@!]")
"""Comments that another tool interprets. Texts with them are not changed, as upstream."""
_KEYS = ("name", "containerPort", "mountPath", "key", "ip", "port")
"""Members that identify the items of a list."""
_HEAD, _LINE, _FOOT = "head", "line", "foot"
Path = tuple[str, ...]


def restore(files: Files, old_files: Files) -> Files:
    """Return the sent files with the comments that only the stored files have. Texts that are not
    valid YAML stay unchanged."""
    changed = {name: text for name, text in files.items() if old_files.get(name) != text}
    known = _documents_by_identity(old_files) if any(map(documents.is_yaml, changed)) else {}
    if not known:
        return files
    made = dict(files)
    for name, text in changed.items():
        if documents.is_yaml(name):
            made[name] = "".join(
                _with_comments(part, name, known) for part in documents.parts(text)
            )
    return made


class _Identity(NamedTuple):
    api_version: str
    kind: str
    namespace: str
    name: str


def _documents_by_identity(old_files: Files) -> dict[_Identity, list[Document]]:
    """Return the stored documents that have comments, by identity."""
    found: dict[_Identity, list[Document]] = {}
    for name in sorted(old_files):
        if not documents.is_yaml(name) or "#" not in old_files[name]:
            continue
        for part in documents.split(old_files[name]):
            document = _document(part, name)
            if document is not None and "#" in part:
                found.setdefault(_identity(document), []).append(document)
    return found


def _document(text: str, name: str) -> Document | None:
    """Return the Kubernetes object in a text; None for any other text."""
    if _TEMPLATE.search(text):
        return None
    try:
        document = Document(name, 0, text)
    except Unreadable:
        return None
    return document if document.is_object else None


def _identity(document: Document) -> _Identity:
    _, kind, namespace, name = documents.identity(document.value)
    return _Identity(str(document.value["apiVersion"]), kind, namespace, name)


def _with_comments(text: str, name: str, old_documents: dict[_Identity, list[Document]]) -> str:
    """Return one document with its comments restored. The text stays unchanged if its lines end
    with CRLF, or if the insertion would change a value."""
    document = _document(text, name)
    others = old_documents.get(_identity(document), []) if document is not None else []
    if document is None or not others or "\r" in text:
        return text
    other = next((each for each in others if each.file == name), others[0])
    if other.text == text:
        return text
    healed = _inserted(_Layout(text), _Layout(other.text))
    try:
        return healed if documents.parse(healed) == document.value else text
    except Unreadable:
        return text


def _inserted(new: "_Layout", old: "_Layout") -> str:
    """Return the new text with comments of the old text inserted: those whose field exists in the
    new text and whose words the new text lacks."""
    spare = Counter(new.words)
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    lines = list(new.lines)
    for (kind, path), comment in old.comments.items():
        target = new.fields.get(path)
        words = Counter(comment.words)
        if words <= spare:
            spare -= words
            continue
        if target is None or (kind, path) in new.comments:
            continue
        if kind == _LINE:
            if target.tail is not None:
                lines[target.tail] += comment.gap + comment.words[0]
            continue
        first = new.lines[target.start]
        column = len(first) - len(first.lstrip(" ")) if kind == _HEAD else target.column
        block = [" " * column + each for each in comment.words]
        if kind == _HEAD:
            before.setdefault(target.start, []).extend(block)
        else:
            after.setdefault(target.end, []).extend(block)
    made: list[str] = []
    for at, line in enumerate(lines):
        made += [*before.get(at, ()), line, *after.get(at, ())]
    return "\n".join(made)


@dataclass(slots=True, eq=False)
class _Field:
    """A field or list item: its lines, counted from 0, and the column where it begins."""

    parent: "_Field | None"
    key: str | None
    start: int
    column: int
    end: int
    tail: int | None = None
    """The line at whose end a comment can be inserted; None if the field has no such line."""
    texts: dict[str, str] = field(default_factory=dict)
    """Its scalar members with keys in `_KEYS`; the first value of each key."""

    @property
    def path(self) -> Path | None:
        """The keys from the root to this field; None if an item on the path has no unique name."""
        steps: list[str] = []
        current: _Field | None = self
        while current is not None and current.parent is not None:
            if current.key is None:
                return None
            steps.append(current.key)
            current = current.parent
        return tuple(reversed(steps))


@dataclass(slots=True)
class _Comment:
    """The lines of a comment without their indentation. `gap` is the whitespace between a value and
    a comment on the same line."""

    words: list[str]
    gap: str = "  "


@dataclass(slots=True)
class _Frame:
    """A collection that is being parsed."""

    owner: _Field
    is_map: bool
    is_block: bool
    key: Any = None
    items: list[_Field] = field(default_factory=list)


class _Layout:
    """The lines of a document, the positions of its fields, and its comments by field."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._texts: list[tuple[int, int]] = []
        """The start and end indexes of scalars; a `#` inside a scalar does not begin a comment."""
        self._all: list[_Field] = []
        self._read(text)
        self._columns: dict[int, list[_Field]] = {}
        for each in self._all[1:]:
            self._columns.setdefault(each.column, []).append(each)
        self.fields: dict[Path, _Field] = {}
        for each in self._all:
            path = each.path
            if path is not None:
                self.fields.setdefault(path, each)
        self.comments: dict[tuple[str, Path], _Comment] = {}
        self.words: Counter[str] = Counter()
        """Each comment, with or without a field, and its number of occurrences."""
        self._collect()

    def _line(self, index: int) -> int:
        return bisect.bisect_right(self._starts, index) - 1

    def _read(self, text: str) -> None:
        root = _Field(None, "", 0, 0, len(self.lines) - 1)
        self._all.append(root)
        frames: list[_Frame] = []
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                self._close(frames.pop(), event, frames)
            elif isinstance(event, yaml.CollectionStartEvent):
                owner = self._child(frames, event) if frames else root
                is_block = not event.flow_style and (not frames or frames[-1].is_block)
                frames.append(_Frame(owner, isinstance(event, yaml.MappingStartEvent), is_block))
            elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
                self._leaf(frames, event)

    def _leaf(self, frames: list[_Frame], event: Any) -> None:
        """Handle a scalar or an alias: a key, or the end of a field."""
        start, end = event.start_mark.index, event.end_mark.index
        is_scalar = isinstance(event, yaml.ScalarEvent)
        if is_scalar:
            self._texts.append((start, end))
        if not frames:
            return
        frame = frames[-1]
        if frame.is_map and frame.key is None:
            frame.key = event
            return
        name = frame.key.value if isinstance(frame.key, yaml.ScalarEvent) else None
        found = self._child(frames, event)
        last = self._line(max(start, end - 1)) if end > start else found.start
        while last > found.start and not self.lines[last].strip():
            last -= 1
        found.end = last
        frame.owner.end = max(frame.owner.end, last)
        is_literal = is_scalar and event.style in ("|", ">")
        found.tail = last if frame.is_block and not is_literal else None
        if is_scalar and name in _KEYS:
            frame.owner.texts.setdefault(name, event.value)
        elif is_scalar and not frame.is_map:
            found.texts[""] = event.value

    def _child(self, frames: list[_Frame], event: Any) -> _Field:
        """Return a new field whose value begins with the event."""
        frame, mark, name = frames[-1], event.start_mark, None
        if frame.is_map:
            if frame.key is None:  # a collection as a key: its content is not recorded
                frame.key = event
                return _Field(frame.owner, None, 0, 0, 0)
            if isinstance(frame.key, yaml.ScalarEvent):
                name = f".{frame.key.value}"
            mark, frame.key = frame.key.start_mark, None
        line = self._line(mark.index)
        found = _Field(frame.owner, name, line, mark.index - self._starts[line], line)
        if frame.is_block:
            self._all.append(found)
            if isinstance(event, yaml.CollectionStartEvent) and frame.is_map:
                found.tail = line
        if not frame.is_map:
            found.column = len(self.lines[line]) - len(self.lines[line].lstrip(" "))
            frame.items.append(found)
        return found

    def _close(self, frame: _Frame, event: Any, frames: list[_Frame]) -> None:
        """Handle the end of a collection: set the last line of its owner and the names of its
        items."""
        owner = frame.owner
        if not frame.is_block:
            owner.end = self._line(max(0, event.end_mark.index - 1))
            owner.tail = owner.end if frames and frames[-1].is_block else None
        names = [self._name(item) for item in frame.items]
        times = Counter(names)
        for item, name in zip(frame.items, names, strict=True):
            item.key = name if name is not None and times[name] == 1 else None
        if frames:
            frames[-1].owner.end = max(frames[-1].owner.end, owner.end)

    @staticmethod
    def _name(item: _Field) -> str | None:
        """Return the name of a list item: its text, or an identifying member. None if it has
        neither."""
        for key in ("", *_KEYS):
            if key in item.texts:
                return f"[{key}={item.texts[key]}]"
        return None

    def _collect(self) -> None:
        """Assign each comment to its field."""
        first: dict[int, _Field] = {}
        tails: dict[int, _Field] = {}
        for each in self._all[1:]:
            first.setdefault(each.start, each)
            if each.tail is not None:
                tails[each.tail] = each
        block: list[str] = []
        column = 0
        for at, line in enumerate(self.lines):
            start = self._comment_in(at)
            if start is not None:
                self.words[line[start:].rstrip()] += 1
            if start is not None and not line[:start].strip():
                column = start if not block else column
                block.append(line[start:].rstrip())
            elif block and line.strip():
                self._give(block, column, first.get(at), at)
                block = []
            if start is not None and line[:start].strip() and at in tails:
                content = line[:start].rstrip()
                words = [line[start:].rstrip()]
                self._note(_LINE, tails[at], _Comment(words, line[len(content) : start]))
        if block:
            self._give(block, column, None, len(self.lines))

    def _give(self, block: list[str], column: int, follower: _Field | None, at: int) -> None:
        """Assign a block of comment lines to the field below it, or, if the block is indented more
        than that field, to the nearest field above with the same column."""
        own = self._all[1:2]
        if not own or at <= own[0].start:
            self._note(_HEAD, self._all[0], _Comment(block))
        elif follower is not None and column <= follower.column:
            self._note(_HEAD, follower, _Comment(block))
        else:
            same = self._columns.get(column, [])
            above = bisect.bisect_left(same, at, key=lambda each: each.start)
            if above:
                self._note(_FOOT, same[above - 1], _Comment(block))

    def _note(self, kind: str, owner: _Field, comment: _Comment) -> None:
        path = owner.path
        if path is None or self.fields.get(path) is not owner:
            return
        known = self.comments.setdefault((kind, path), comment)
        if known is not comment:
            known.words += comment.words

    def _comment_in(self, at: int) -> int | None:
        """Return the column where a comment begins on a line; None if the line has no comment."""
        line, base = self.lines[at], self._starts[at]
        for found in re.finditer(r"(?:^|(?<=[ \t]))#", line):
            if not self._is_text(base + found.start()):
                return found.start()
        return None

    def _is_text(self, index: int) -> bool:
        after = bisect.bisect_right(self._texts, (index, len(self.lines) + self._starts[-1]))
        return after > 0 and self._texts[after - 1][1] > index
