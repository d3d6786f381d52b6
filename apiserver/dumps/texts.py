"""A stream of JSON or YAML as values, one after the other, without the whole text in memory.

Documents that follow each other are read one by one, and the items of a list also, however long it
is. A value without an apiVersion or a kind gets those of its list.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from inkube.apiserver.dumps.findings import Unread
from inkube.schemas.golang import DecodeError, goyaml
from inkube.schemas.objects import Object

LARGEST: Final = 32 * 2**20
"""The most bytes of an object, of a document without its items, and of items whose kind comes
later. etcd stores less than two megabytes by default."""
_CHUNK = 256 * 1024
_SPACE = re.compile(r"[\s\ufeff\0]*")
_TOO_LARGE = f"larger than {LARGEST // 2**20} MiB"
_LOG = re.compile(r"==== START logs for container (\S+) of pod ([^\s/]+)/(\S+) ====")
_LOG_END = "==== END logs for container {} of pod {}/{} ===="


class LogText:
    """A log inside a text, as `kubectl cluster-info dump` prints it: read it before the next
    value."""

    def __init__(self, container: str, namespace: str, pod: str, lines: Iterator[bytes]) -> None:
        self.container, self.namespace, self.pod = container, namespace, pod
        self.lines = lines


Value = Object | LogText | Unread
"""An object, a log, or the reason why an item or a document cannot be read. What follows it is
still read."""


def values(stream: io.BufferedReader) -> Iterator[Value]:
    """Yield the values of a stream, items of lists one by one. Raises Unread if the rest of the
    stream cannot be read."""
    start = stream.peek(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"[", b"="):
        yield from _Json(stream).values()
    else:
        yield from _yaml(stream)


def logs(stream: io.BufferedReader) -> Iterator[LogText]:
    """Yield the logs of a file of `kubectl cluster-info dump`. Raises Unread."""
    for value in _Json(stream).values():
        if isinstance(value, LogText):
            yield value


def is_list(value: Any) -> bool:
    """Return whether a value is a list of objects, such as List or PodList."""
    named = str(value.get("kind") or "List").endswith("List")
    return named and isinstance(value.get("items", 0), list | None)


class _Head:
    """The apiVersion and the kind of a list, and the items that wait for them."""

    def __init__(self) -> None:
        self.api_version = self.kind = ""
        self._is_whole = True
        self._waiting: list[Object] = []
        self._size = 0

    def note(self, member: str, value: Any) -> None:
        """Remember a member of the list."""
        if member == "kind" and isinstance(value, str):
            self.kind = value.removesuffix("List")
        elif member == "apiVersion" and isinstance(value, str):
            self.api_version = value

    def unread(self, reason: Unread) -> Iterator[Unread]:
        """Yield the reason why an item cannot be read."""
        self._is_whole = False
        yield reason

    def item(self, value: Any, size: int) -> Iterator[Object | Unread]:
        """Yield an item, or keep it for `waiting`."""
        if not isinstance(value, dict):
            yield from self.unread(Unread("an item that is no object"))
        elif value.get("kind") and value.get("apiVersion"):
            yield value
        elif self.kind and self.api_version:
            yield self._complete(value)
        else:
            self._size += size
            if self._size > LARGEST:
                raise Unread(f"items without a kind that are {_TOO_LARGE} together")
            self._waiting.append(value)

    def waiting(self) -> Iterator[Object]:
        """Yield the items that were kept."""
        for value in self._waiting:
            yield self._complete(value)
        self._waiting = []

    def _complete(self, value: Object) -> Object:
        head = {"apiVersion": self.api_version, "kind": self.kind}
        return {**{name: text for name, text in head.items() if text}, **value}

    def empty(self) -> Iterator[Object]:
        """Yield a list without its items: it says that the dump covers this kind, so that missing
        objects count as deleted. An item that cannot be read is not missing."""
        if self._is_whole:
            yield {"apiVersion": self.api_version, "kind": f"{self.kind}List", "items": []}


class _Json:
    """Reads JSON values from a growing window of the text."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._parse = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._ended = False

    def values(self) -> Iterator[Value]:
        """Yield every value. Raises Unread."""
        while char := self._next():
            if char == "{":
                yield from self._object()
            elif char == "[":
                yield from self._array(_Head())
            elif char == "=":
                yield self._log()
            else:
                raise Unread("no Kubernetes object")

    def _object(self) -> Iterator[Object | Unread]:
        """Yield an object, or the items of a list."""
        self._at += 1
        found: Object = {}
        head, has_items, size = _Head(), False, 0
        while (char := self._next()) != "}":
            if char == ",":
                self._at += 1
                continue
            name = self._value()
            if not isinstance(name, str) or self._next() != ":":
                raise Unread("invalid JSON")
            self._at += 1
            if name == "items" and self._next() == "[":
                has_items = True
                yield from self._array(head)
                continue
            start = self._at
            found[name] = self._value()
            size += max(0, self._at - start)
            if size > LARGEST:
                raise Unread(_TOO_LARGE)
            head.note(name, found[name])
        self._at += 1
        if has_items:
            yield from head.waiting()
            yield from head.empty()
        elif is_list(found):  # the items are null, as in an empty list of Go
            yield from head.empty()
        else:
            yield found

    def _array(self, head: _Head) -> Iterator[Object | Unread]:
        self._at += 1
        while (char := self._next()) != "]":
            if char == ",":
                self._at += 1
                continue
            start = self._at
            value = self._value()
            yield from head.item(value, max(0, self._at - start))
        self._at += 1
        if not head.kind:  # a plain array has no members that follow
            yield from head.waiting()

    def _value(self) -> Any:
        """Parse the next value. Raises Unread."""
        self._next()
        self._trim()
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except RecursionError as error:
                raise Unread("JSON that is nested too deeply") from error
            except ValueError as error:
                if self._ended:
                    raise Unread("invalid JSON") from error
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > LARGEST:
                raise Unread(_TOO_LARGE)
            self._read(max(_CHUNK, len(self._text) - self._at))

    def _next(self) -> str:
        """Move to the next character that is not a space, and return it: "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._trim()
            self._read(_CHUNK)

    def _trim(self) -> None:
        if self._at > _CHUNK:
            self._text, self._at = self._text[self._at :], 0

    def _read(self, size: int) -> None:
        data = self._stream.read(size)
        self._ended = not data
        try:
            self._text += self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise Unread("text that is not UTF-8") from error

    def _line(self) -> str:
        """Return the rest of the line with its end, or the part of it that is read: "" at the
        end."""
        while (end := self._text.find("\n", self._at)) < 0 and not self._ended:
            if len(self._text) - self._at >= LARGEST:
                break
            self._trim()
            self._read(_CHUNK)
        start, self._at = self._at, end + 1 if end >= 0 else len(self._text)
        return self._text[start : self._at]

    def _log(self) -> LogText:
        match = _LOG.match(self._line())
        if match is None:
            raise Unread("no Kubernetes object")
        container, namespace, pod = match.groups()
        end = _LOG_END.format(container, namespace, pod)

        def lines() -> Iterator[bytes]:
            while line := self._line():
                text, found, _ = line.partition(end)
                if text:
                    yield text.encode()
                if found:
                    return
                self._trim()

        return LogText(container, namespace, pod, lines())


def _yaml(stream: io.BufferedReader) -> Iterator[Object | Unread]:
    """Yield the objects of YAML documents. Lists are cut at the lines where their items begin."""
    lines = _Lines(stream)
    while not lines.ended:
        yield from _yaml_document(lines)


class _Lines:
    """The lines of YAML, and whether they have ended."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.ended = False

    def document(self) -> Iterator[bytes]:
        """Yield the lines up to the end of a document."""
        while line := self._stream.readline(LARGEST + 1):
            if len(line) > LARGEST:
                raise Unread(_TOO_LARGE)
            if line.startswith((b"---", b"...")) and line[3:4] in b" \t\r\n":
                if (rest := line[3:].strip()) and not rest.startswith(b"#"):
                    yield line[3:]
                    continue
                return
            yield line.rstrip(b"\0")
        self.ended = True


def _yaml_document(lines: _Lines) -> Iterator[Object | Unread]:
    outer: list[bytes] = []
    item: list[bytes] = []
    head, size, inside, dash = _Head(), 0, False, b""
    for line in lines.document():
        size += len(line)
        if size > LARGEST:
            raise Unread(_TOO_LARGE)
        if inside and not dash and line.strip():
            dash = line[: len(line) - len(line.lstrip(b" "))] + b"- "
        if inside and dash and line.startswith(dash):
            yield from _yaml_item(item, head)
            size -= sum(map(len, item))
            item = [line]
        elif inside and (line[:1] in b" \r\n#" or not line.strip()):
            item.append(line)
        else:
            inside, dash = line.rstrip() == b"items:", b""
            outer.append(line)
            if line.startswith((b"apiVersion:", b"kind:")):
                _note(head, line)
    yield from _yaml_item(item, head)
    try:
        found = _load(b"".join(outer))
    except Unread as error:
        yield error
        return
    if isinstance(found, list):
        for each in found:
            yield from _Head().item(each, 0)
    elif isinstance(found, dict):
        if not item and not is_list(found):
            yield found
            return
        for member, value in found.items():
            head.note(member, value)
        for each in found.get("items") or ():
            yield from head.item(each, 0)
        yield from head.waiting()
        yield from head.empty()
    elif found is not None:
        yield Unread("no Kubernetes object")


def _note(head: _Head, line: bytes) -> None:
    name, _, value = line.decode(errors="replace").partition(":")
    head.note(name, value.strip().strip("\"'"))


def _yaml_item(lines: list[bytes], head: _Head) -> Iterator[Object | Unread]:
    if not lines:
        return
    text = b"".join(lines)
    try:
        found = _load(text) or ()
    except Unread as error:
        yield from head.unread(error)
        return
    for value in found:
        yield from head.item(value, len(text))


def _load(text: bytes) -> Any:
    try:
        return goyaml.loads(text).value
    except DecodeError as error:
        raise Unread(error.text) from error
