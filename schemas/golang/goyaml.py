"""YAML 1.1 as in Kubernetes: libyaml's events, converted to the JSON that Go would create.

Only the first document is used. Scalars have the types of go.yaml.in/yaml/v2 resolve.go (`yes` is
true, `010` is 8, dates and `=` are texts). Keys become strings as in sigs.k8s.io/yaml, and whole
floats become integers. Values are built from events, so that depth and aliases are limited during
parsing.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from inkube.schemas.golang import gojson, gotext
from inkube.schemas.golang.gojson import MAX_DEPTH, settle_numbers
from inkube.schemas.golang.unmarshal import DecodeError

_FEW, _MANY = 400_000, 4_000_000
"""Numbers of values: below the first, nearly all can come from aliases; above the second, a tenth.

go.yaml.in/yaml decode.go: alias_ratio_range_low, alias_ratio_range_high.
"""
_MOST = 500_000
"""The largest number of values in a document, including those of aliases. More would take seconds.
Upstream's only limit is the time of its request."""
_TAG = "tag:yaml.org,2002:"
_NOT_ALIKE = re.compile(rb"[^ -~]|\\[u/]")
_LONGEST_KEY = 500
_INT64 = 2**63


@dataclass(slots=True)
class Document:
    """A document's value, and the text `line N: key "k" already set in map` for each repeated
    key."""

    value: Any = None
    duplicates: list[str] = field(default_factory=list)


def loads(body: bytes) -> Document:
    """Return the first document. Raises DecodeError with the text of Go's yaml."""
    builder = _Builder()
    try:
        parser = yaml.CSafeLoader(body)
        for event in _events(parser):
            if builder.feed(event):
                break
        parser.dispose()
    except yaml.MarkedYAMLError as error:
        raise DecodeError(_problem(error)) from error
    except yaml.reader.ReaderError as error:
        raise DecodeError(f"yaml: {error.reason}") from error
    return Document(settle_numbers(builder.value), builder.duplicates)


def read_json(body: bytes) -> Any:
    """Return the value of a body that YAML and JSON read alike, at a tenth of the cost of YAML; or
    None. Clients send JSON where YAML is required, such as kubectl in a server-side apply. Repeated
    keys are not found.

    Left out is what YAML reads differently or refuses: other characters than those of one line of
    ASCII, some escapes, numbers that are no integers of 64 bits, long keys (libyaml ends them after
    1,024 characters) and too many values.
    """
    text = body.removesuffix(b"\n")
    if text[:1] != b"{" or _NOT_ALIKE.search(text) is not None:
        return None
    try:
        value = gojson.loads(text)
    except DecodeError:
        return None
    pending, values = [value], 0
    while pending:
        item = pending.pop()
        values += 1
        if type(item) is dict:
            if any(len(key) > _LONGEST_KEY for key in item):
                return None
            values += len(item)
            pending += item.values()
        elif type(item) is list:
            pending += item
        elif type(item) is float or (type(item) is int and not -_INT64 <= item < _INT64):
            return None
    return value if values <= _MOST else None


def _events(parser: Any) -> Iterator[Any]:
    while parser.check_event():
        yield parser.get_event()


def _problem(error: yaml.MarkedYAMLError) -> str:
    """Return the text of parser.fail. Go counts lines from 0, but those of scanner errors from
    1."""
    line = 0
    if error.problem_mark and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}"


@dataclass(slots=True)
class _Frame:
    """An open container."""

    value: dict[Any, Any] | list[Any]
    anchor: str | None
    key: Any = None
    has_key: bool = False
    line: int = 0
    merge: bool = False


class _Builder:
    def __init__(self) -> None:
        self.value: Any = None
        self.duplicates: list[str] = []
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        self._decoded = self._aliased = 0

    def feed(self, event: Any) -> bool:
        """Process one event. Returns whether the document is complete."""
        if isinstance(event, events.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, events.MappingStartEvent):
            self._open({}, event)
        elif isinstance(event, events.SequenceStartEvent):
            self._open([], event)
        elif isinstance(event, events.MappingEndEvent | events.SequenceEndEvent):
            self._close()
        elif isinstance(event, events.AliasEvent):
            self._alias(event)
        return isinstance(event, events.DocumentEndEvent)

    def _open(self, value: dict[Any, Any] | list[Any], event: Any) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise DecodeError("yaml: exceeded max depth")
        self._count()
        self._frames.append(_Frame(value, event.anchor, line=event.start_mark.line + 1))

    def _count(self) -> None:
        """Count one more value. Raises DecodeError above the limit."""
        self._decoded += 1
        if self._decoded > _MOST:
            raise DecodeError(f"yaml: document contains more than {_MOST} values")

    def _close(self) -> None:
        frame = self._frames.pop()
        value = frame.value
        if frame.anchor:
            self._anchors[frame.anchor] = value
        self._add(value, frame.line)

    def _scalar(self, event: Any) -> None:
        self._count()
        plain = event.implicit[0]
        value = resolve(event.value, event.tag, plain=plain)
        if event.anchor:
            self._anchors[event.anchor] = value
        line = event.start_mark.line + 1
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and isinstance(frame.value, dict) and not frame.has_key
        if is_key and frame is not None and event.value == "<<" and (plain or event.tag == "!"):
            frame.merge = frame.has_key = True
            return
        self._add(value, line)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise DecodeError(f"yaml: unknown anchor '{event.anchor}' referenced")
        self._add(self._copy(self._anchors[event.anchor]), event.start_mark.line + 1)

    def _copy(self, value: Any) -> Any:
        self._count()
        self._aliased += 1
        if self._aliased > 100 and self._decoded > 1000:
            self._check_ratio()
        if isinstance(value, dict):
            return {key: self._copy(item) for key, item in value.items()}
        return [self._copy(item) for item in value] if isinstance(value, list) else value

    def _check_ratio(self) -> None:
        """Limit the share of values from aliases, which is smaller for larger documents
        (allowedAliasRatio)."""
        over = min(max(self._decoded - _FEW, 0), _MANY - _FEW) / (_MANY - _FEW)
        if self._aliased > self._decoded * (0.99 - 0.89 * over):
            raise DecodeError("yaml: document contains excessive aliasing")

    def _add(self, value: Any, line: int) -> None:
        if not self._frames:
            self.value = value
            return
        frame = self._frames[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif not frame.has_key:
            frame.key, frame.has_key, frame.line = value, True, line
        else:
            self._set(frame, value)

    def _set(self, frame: _Frame, value: Any) -> None:
        assert isinstance(frame.value, dict)
        frame.has_key = False
        if frame.merge:
            frame.merge = False
            _merge(frame.value, value)
            return
        key = _key_text(frame.key)
        if key in frame.value:
            printed_key = gotext.quote(key) if isinstance(frame.key, str) else key
            self.duplicates.append(f"line {frame.line}: key {printed_key} already set in map")
        frame.value[key] = value


def _merge(target: dict[Any, Any], value: Any) -> None:
    """Process `<<: *base`: add members that the mapping does not have itself."""
    if isinstance(value, dict):
        for key, item in value.items():
            target.setdefault(key, item)
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        for item in value:
            _merge(target, item)
    else:
        raise DecodeError("yaml: map merge requires map or sequence of maps as the value")


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return gotext.number(key)
    kind = "%!s(<nil>)"
    if key is not None:
        kind = "map[interface {}]interface {}" if isinstance(key, dict) else "[]interface {}"
    raise DecodeError(f"unsupported map key of type: {kind}, key: {gotext.compact_json(key)}")


# ------------------------------------------------------------------------------ scalars

_BOOLEANS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_ODD_FLOATS = frozenset(
    sign + name for sign in ("", "+", "-") for name in (".inf", ".Inf", ".INF")
) | frozenset((".nan", ".NaN", ".NAN"))
_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_BASES = (16, 2, 8, 10)
_LONGEST = 70
"""More characters than any integer of 64 bits in any base."""


def resolve(text: str, tag: str | None, *, plain: bool) -> Any:
    """Return the value of a scalar. `plain` means without quotes and without a tag."""
    if tag is None or tag == "!":
        return _resolve_plain(text) if plain and tag is None else text
    name = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    read = _TAGGED.get(name)
    return read(text) if read else text


def _resolve_plain(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    first = text[0]
    if not (first in "+-." or "0" <= first <= "9"):
        return text
    if text in _ODD_FLOATS:
        raise DecodeError(f"json: unsupported value: {_ODD_NAMES[text[-4:].lower()](text)}")
    number = text if first == "." else text.replace("_", "")
    whole = _INTEGER.match(number)
    if whole:
        return _integer(whole)
    return _finite(number) if _FLOAT.match(number) else text


_ODD_NAMES: dict[str, Callable[[str], str]] = {
    ".nan": lambda _text: "NaN",
    ".inf": lambda text: "-Inf" if text.startswith("-") else "+Inf",
}


def _integer(match: "re.Match[str]") -> int | float | str:
    """Return an int64, or a uint64 as a float. Larger numbers stay texts, unless they have the form
    of a float."""
    text = match[0]
    if len(text) <= _LONGEST:
        digits, base = next((match[n + 2], b) for n, b in enumerate(_BASES) if match[n + 2])
        value = int(digits, base) * (-1 if match[1] == "-" else 1)
        if -(2**63) <= value < 2**64:
            return value if value < 2**63 else float(value)
    return _finite(text) if _FLOAT.match(text) else text


def _finite(text: str) -> float | str:
    value = float(text)
    return text if value in {float("inf"), float("-inf")} else value


def _tagged_integer(text: str) -> Any:
    value = _resolve_plain(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise DecodeError(f"yaml: cannot decode !!str `{text}` as a !!int")


def _tagged_float(text: str) -> Any:
    value = _resolve_plain(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise DecodeError(f"yaml: cannot decode !!str `{text}` as a !!float")


def _tagged_boolean(text: str) -> Any:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    raise DecodeError(f"yaml: cannot decode !!str `{text}` as a !!bool")


def _tagged_binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise DecodeError("yaml: !!binary value contains invalid base64 data") from None


_TAGGED: dict[str, Callable[[str], Any]] = {
    "int": _tagged_integer,
    "float": _tagged_float,
    "bool": _tagged_boolean,
    "null": lambda _text: None,
    "binary": _tagged_binary,
}
