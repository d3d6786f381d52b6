"""Files with several documents: the first line of each document, and the place of each field.

`decoding` reads one document as the server does. This module serves offline validation, which
works on files. It does not read from disk.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import yaml

from inkube.schemas.lazyproperty import cached_property

_SEPARATOR = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_NOTHING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*#[^\n]*$|%[^\n]*(?:\n|$)|\.\.\.\s*|\s+)*")
_SOURCE = re.compile(rb"^# Source: (\S[^\n]*)", re.MULTILINE)
_IGNORE = re.compile(rb"#[ \t]*inkube:[ \t]*ignore(?:\[([^\]\n]*)\])?")
_IGNORES_EVERY = "*"
_INDEX = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
_KEY = re.compile(r"\.?\[([^\]]*)\](.*)", re.DOTALL)
_MERGE = "<<"


class Place(NamedTuple):
    """Characters of a file: line and column count from 1."""

    line: int
    column: int = 1
    length: int = 1
    value: str = ""
    """The text of a scalar."""


@dataclass(frozen=True)
class Document:
    """One document of a file; `number` and `line` count from 1."""

    file: str
    number: int
    line: int
    body: bytes
    media: Literal["json", "yaml"]

    def place_of(self, path: str, *, on_key: bool = False) -> Place:
        """Return the place of a field (`spec.items[0].name`): of its value if that is a scalar and
        not `on_key`, otherwise of its name. A missing field has the place of its nearest parent."""
        node = self._root
        if node is None:
            return self.first
        found, is_whole = _walk(node, path)
        if found is None:
            return self._place(node)
        name, value = found
        wants_value = is_whole and not on_key and isinstance(value, yaml.ScalarNode)
        if wants_value and value.value:
            return self._place(value)._replace(value=value.value)
        return self._place(name)

    def _place(self, node: "yaml.Node") -> Place:
        """Return the place of a node of this document, up to the end of its line."""
        start, end = node.start_mark, node.end_mark
        one_line = end.line == start.line
        length = end.column - start.column if one_line else 1
        return Place(self.line + start.line, start.column + 1, max(length, 1))

    def place_in_line(self, line: int) -> Place:
        """Return the place of the text of a line of the document, counted from 1."""
        text = self.line_text(self.line + line - 1)
        words = text.strip()
        return Place(self.line + line - 1, text.find(words) + 1, max(len(words), 1))

    def line_text(self, line: int) -> str:
        """Return the text of a line of the file that belongs to the document."""
        lines = self._lines
        at = line - self.line
        return lines[at].decode("utf-8", "replace").rstrip("\r") if 0 <= at < len(lines) else ""

    def has_twice(self, key: str, line: int) -> bool:
        """Return whether the mapping with the key in a line of the document, counted from 1,
        contains it twice itself: a member that replaces one of a merge (`<<: *base`) occurs
        once."""
        return any(
            sum(each.value == key for each in names) > 1
            for names in self._keys
            if any(each.value == key and each.start_mark.line == line - 1 for each in names)
        )

    @cached_property
    def _keys(self) -> "list[list[yaml.Node]]":
        found, seen, pending = [], set[int](), [self._root] if self._root else []
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue  # an alias
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                found.append([name for name, _ in node.value])
                pending += [value for _, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                pending += node.value
        return found

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.body.split(b"\n")

    @cached_property
    def first(self) -> Place:
        """The place of the first line with content: not `---`, and not a comment."""
        for number, line in enumerate(self._lines, 1):
            text = line.strip()
            if text and not text.startswith(b"#"):
                return self.place_in_line(number)
        return Place(self.line)

    @cached_property
    def source(self) -> str:
        """The file that `helm template` names above its document, or ""."""
        named = _SOURCE.search(self.body)
        return named[1].decode("utf-8", "replace").strip() if named else ""

    @cached_property
    def has_comments_for_us(self) -> bool:
        """Whether comments of the document say `inkube: ignore`."""
        return _IGNORE.search(self.body) is not None

    def ignores(self, code: str, line: int) -> bool:
        """Return whether a comment ignores the findings of a code: `# inkube:
        ignore[unknown-field]`.

        A comment behind a value is about its line, a comment on its own line about the document.
        Without brackets, it ignores all codes.
        """
        return any(
            of_line in (0, line) and codes & {code, _IGNORES_EVERY}
            for of_line, codes in self._ignores
        )

    @cached_property
    def _ignores(self) -> list[tuple[int, frozenset[str]]]:
        """Lines, 0 for the document, and the codes that are ignored there."""
        found = []
        for number, line in enumerate(self._lines, self.line):
            for match in _IGNORE.finditer(line):
                alone = not line[: match.start()].strip()
                names = (match[1] or _IGNORES_EVERY.encode()).decode("utf-8", "replace")
                codes = frozenset(name.strip() for name in names.split(","))
                found.append((0 if alone else number, codes))
        return found

    @cached_property
    def _root(self) -> "yaml.Node | None":
        """The parsed document (JSON is also YAML), None if it cannot be parsed."""
        try:
            root: yaml.Node | None = yaml.compose(self.body, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            return None
        return root


def split(file: str, body: bytes) -> list[Document]:
    """Return the documents of a file, YAML or JSON, empty ones left out."""
    json_parts = _split_json(body) if body.lstrip()[:1] == b"{" else None
    media: Literal["json", "yaml"] = "yaml" if json_parts is None else "json"
    parts = json_parts or _split_yaml(body)
    return [
        Document(file, number, line, part, media) for number, (line, part) in enumerate(parts, 1)
    ]


def _split_json(body: bytes) -> list[tuple[int, bytes]] | None:
    """Split consecutive JSON values; None if the text is not JSON (for example, flow YAML)."""
    try:
        text = body.decode()
        decoder, position, line, parts = json.JSONDecoder(), 0, 1, []
        while (start := _after_space(text, position)) < len(text):
            line += text.count("\n", position, start)
            _, end = decoder.raw_decode(text, start)
            parts.append((line, text[start:end].encode()))
            line, position = line + text.count("\n", start, end), end
    except (ValueError, RecursionError):
        return None
    return parts


_SPACE = re.compile(r"\s*")


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _split_yaml(body: bytes) -> list[tuple[int, bytes]]:
    """Split at `---`; text after it on the same line belongs to the new document."""
    starts = [0, *(match.start() for match in _SEPARATOR.finditer(body))]
    line, parts = 1, []
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        part = _SEPARATOR.sub(b"   ", body[start:end], count=1)
        if not _NOTHING.fullmatch(part):
            parts.append((line, part))
        line += body.count(b"\n", start, end)
    return parts


Step = tuple["yaml.Node", "yaml.Node"]
"""The node that names a part of a path, and the node of its value."""


def _walk(node: "yaml.Node", path: str) -> tuple[Step | None, bool]:
    """Return the last existing part of a path, and whether it is the whole path."""
    found: Step | None = None
    while path:
        step = next(_steps(node, path), None)
        if step is None:
            return found, False
        name, node, path = step
        found = name, node
    return found, True


def _steps(node: "yaml.Node", path: str) -> Iterator[tuple["yaml.Node", "yaml.Node", str]]:
    """Yield what the first part of the path leads to: the nodes of name and value, the rest of the
    path."""
    if isinstance(node, yaml.SequenceNode):
        index = index_of(path)
        if index and index[0] < len(node.value):
            item = node.value[index[0]]
            yield item, item, index[1]
    elif isinstance(node, yaml.MappingNode):
        keys = {key.value: (key, value) for key, value in _members(node)}
        for name, rest in first_parts(path, keys):
            key, value = keys[name]
            yield key, value, rest


def _members(node: "yaml.MappingNode") -> Iterator[tuple["yaml.Node", "yaml.Node"]]:
    """Yield the members of a mapping, after those that it merges."""
    for key, value in node.value:
        if key.value == _MERGE:
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for each in merged:
                if isinstance(each, yaml.MappingNode):
                    yield from _members(each)
    for key, value in node.value:
        if isinstance(key.value, str):
            yield key, value


def first_parts(path: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the members that a path can begin with, the longest name first, and the rest of the
    path.

    Names can contain dots, so a path can be read in several ways.
    """
    plain = path.removeprefix(".")
    for name in sorted(names, key=len, reverse=True):
        if name and plain.startswith(name) and plain[len(name) :][:1] in ("", ".", "["):
            yield name, plain[len(name) :]
    match = _KEY.fullmatch(path)
    if match and match[1] in names:
        yield match[1], match[2]


def index_of(path: str) -> tuple[int, str] | None:
    """Return the index that a path begins with, and the rest of the path."""
    match = _INDEX.fullmatch(path)
    return (int(match[1]), match[2]) if match else None
