"""Files with several documents: the first line of each document, and the line of each field.

`decoding` reads one document as the server does. This module serves offline validation, which
works on files. It does not read from disk.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import yaml

from inkube.schemas.lazyproperty import cached_property

_SEPARATOR = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_NOTHING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*#[^\n]*$|%[^\n]*(?:\n|$)|\s+)*")
_INDEX = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
_KEY = re.compile(r"\.?\[([^\]]*)\](.*)", re.DOTALL)


@dataclass(frozen=True)
class Document:
    """One document of a file; `number` and `line` count from 1."""

    file: str
    number: int
    line: int
    body: bytes
    media: Literal["json", "yaml"]

    def line_of(self, path: str) -> int:
        """The line of a field (`spec.items[0].name`), or of its nearest existing parent."""
        return self.line + (_find(self._root, path, 0) if self._root is not None else 0)

    @cached_property
    def _root(self) -> "yaml.Node | None":
        """The parsed document (JSON is also YAML), None if it cannot be parsed."""
        try:
            root: yaml.Node | None = yaml.compose(self.body, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            return None
        return root


def split(file: str, body: bytes) -> list[Document]:
    """The documents of a file, YAML or JSON, empty ones left out."""
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
        decoder, position, parts = json.JSONDecoder(), 0, []
        while (start := len(text) - len(text[position:].lstrip())) < len(text):
            _, position = decoder.raw_decode(text, start)
            parts.append((text.count("\n", 0, start) + 1, text[start:position].encode()))
    except (ValueError, RecursionError):
        return None
    return parts


def _split_yaml(body: bytes) -> list[tuple[int, bytes]]:
    """Split at `---`; text after it on the same line belongs to the new document."""
    starts = [0, *(match.start() for match in _SEPARATOR.finditer(body))]
    parts = []
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        part = _SEPARATOR.sub(b"   ", body[start:end], count=1)
        if not _NOTHING.fullmatch(part):
            parts.append((body.count(b"\n", 0, start) + 1, part))
    return parts


def _find(node: "yaml.Node", path: str, line: int) -> int:
    """The line of the last existing part of the path, counted from 0 in the document."""
    step = next(_steps(node, path), None) if path else None
    if step is None:
        return line
    below, rest, line = step
    return _find(below, rest, line)


def _steps(node: "yaml.Node", path: str) -> Iterator[tuple["yaml.Node", str, int]]:
    """The child for the first part of the path, the rest of the path, and the child's line."""
    if isinstance(node, yaml.SequenceNode):
        match = _INDEX.fullmatch(path)
        if match and int(match[1]) < len(node.value):
            item = node.value[int(match[1])]
            yield item, match[2], item.start_mark.line
    elif isinstance(node, yaml.MappingNode):
        keys = {key.value: (key, value) for key, value in node.value}
        plain = path.removeprefix(".")
        for name in sorted((k for k in keys if isinstance(k, str)), key=len, reverse=True):
            if name and plain.startswith(name) and plain[len(name) :][:1] in ("", ".", "["):
                key, value = keys[name]
                yield value, plain[len(name) :], key.start_mark.line
        match = _KEY.fullmatch(path)
        if match and match[1] in keys:
            key, value = keys[match[1]]
            yield value, match[2], key.start_mark.line
