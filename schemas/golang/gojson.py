"""JSON as in Go's encoding/json, with its errors.

orjson decodes nearly every body. This module is for the others: it returns Go's texts for errors,
and decodes input that only Go accepts. Bytes that are not UTF-8 and lone surrogates become U+FFFD.
Follows encoding/json/scanner.go.
"""

import codecs
import json
import re
from collections.abc import Callable
from typing import Any, Self

import orjson

from inkube.schemas.golang.unmarshal import DecodeError

MAX_DEPTH = 240
"""The greatest nesting depth of a body. Go accepts 10,000, but real bodies need far fewer levels,
and every encoder, comparison and copy of a stored object would have to support them."""

_GO_DEPTH = 10_000
_END = "unexpected end of JSON input"
_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_HEX = re.compile(rb"[0-9a-fA-F]{0,4}")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_POINT, _EXPONENT = b".0", orjson.dumps(1e16)[1:-1]
_POINTS = re.compile(b"%b[,}\\]]" % re.escape(_POINT))
_EXPONENTS = re.compile(b"%b[6-9][,}\\]]" % re.escape(_EXPONENT))
"""The ends of whole floats of at most 64 bits in orjson's output. Some strings match as well. One
pattern for both is ten times as slow, because it does not begin with a fixed text."""
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_WITH_EXPONENT = re.compile(rb"[:\[,]\s*-?[0-9.]+[eE][0-9+-]")
_FLAT = bytes.maketrans(b"123456789[", b"000000000{")
_LONG = b"0" * 19
"""An integer with fewer digits always fits into an int64."""
_INT64 = 2**63
_EXACT = 2**53


class Number(float):
    """A number with an exponent or with very many digits. `text` is how the body writes it, which
    a decoder of a Go type sees (json.Unmarshaler)."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Create the number with this text. Raises DecodeError if no float64 can hold it."""
        number = super().__new__(cls, _float(text))
        number.text = text
        return number

    def __deepcopy__(self, _copies: dict[int, Any]) -> Self:
        return self


def loads(body: bytes, *, texts: bool = False) -> Any:
    """Return the value. Integers beyond int64 become floats. Raises DecodeError with Go's text.

    With `texts`, numbers with an exponent and integers beyond int64 become Numbers.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _loads_slowly(body)
    flat = body.translate(_FLAT)
    if _LONG in flat:
        value = _shortened(value)
    if texts and _may_hold_numbers(body, flat):
        value = _loads_slowly(body, _whole_number, _exponent_number)
    if flat.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise DecodeError(syntax_error(body, depth=MAX_DEPTH))
    return value


def may_hold_texts(body: bytes) -> bool:
    """Return whether `loads` with `texts` can give another value than without."""
    return _may_hold_numbers(body, body.translate(_FLAT))


class Pairs(list[tuple[str, Any]]):
    """The names and values of an object in the order of the body, with repeated names."""

    __slots__ = ()


def pairs(body: bytes) -> Any:
    """Return the value of valid JSON with each object as Pairs, and numbers as texts. Raises
    RecursionError if it is nested too deeply."""
    text = body.decode("utf-8", "inkube.gojson")
    return json.loads(text, object_pairs_hook=_pairs, parse_int=str, parse_float=str)


def _pairs(members: list[tuple[str, Any]]) -> Pairs:
    return Pairs((_SURROGATE.sub("\ufffd", name), value) for name, value in members)


def written(value: Any) -> bytes:
    """Return the JSON of a value in which Numbers have their texts."""
    return orjson.dumps(value, default=_verbatim)


def _verbatim(value: Any) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.text)
    raise TypeError(type(value).__name__)


def may_hold_floats(data: bytes) -> bool:
    """Return whether `settle_numbers` can change the value with this text, which orjson wrote."""
    if _POINT in data and _POINTS.search(data) is not None:
        return True
    return _EXPONENT in data and _EXPONENTS.search(data) is not None


def settle_numbers(value: Any) -> Any:
    """Return the value with numbers as Go writes them: without fraction or exponent if whole.

    Changes the value in place. A number above int64 stays an unsigned integer if that is possible,
    so that it is written in digits. Read again, it is a float.
    """
    if type(value) is float:
        return _settled(value)
    if type(value) is dict:
        for name, item in value.items():
            if type(item) in {float, dict, list}:
                value[name] = settle_numbers(item)
    elif type(value) is list:
        for index, item in enumerate(value):
            if type(item) in {float, dict, list}:
                value[index] = settle_numbers(item)
    return value


def read_again(value: Any) -> Any:
    """Return the value as its JSON is read: numbers above int64 are floats."""
    if type(value) is int and value >= _INT64:
        return float(value)
    if type(value) is dict:
        return {name: read_again(item) for name, item in value.items()}
    return [read_again(item) for item in value] if type(value) is list else value


def _settled(value: float) -> int | float:
    if not value.is_integer() or not -_INT64 <= value < 2 * _INT64:
        return value
    whole = int(value) if abs(value) < _EXACT else _filled_up(value)
    return whole if whole >= -_INT64 else value


def _filled_up(value: float) -> int:
    """Return the shortest digits, padded with zeros: 9223372036854775808.0 is
    9223372036854776000."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    zeros = int(exponent or 0) - len(fraction)
    return int(whole + fraction) * 10**zeros if zeros >= 0 else int(value)


def _may_hold_numbers(body: bytes, flat: bytes) -> bool:
    if _LONG in flat:
        return True
    return (b"0e" in flat or b"0E" in flat) and _WITH_EXPONENT.search(body) is not None


def _whole_number(text: str) -> int | float:
    number = _integer(text)
    return number if type(number) is int and -_INT64 <= number < _INT64 else Number(text)


def _exponent_number(text: str) -> float:
    return Number(text) if "e" in text or "E" in text else _float(text)


def _loads_slowly(
    body: bytes,
    parse_int: Callable[[str], int | float] | None = None,
    parse_float: Callable[[str], float] | None = None,
) -> Any:
    problem = syntax_error(body) or syntax_error(body, depth=MAX_DEPTH)
    if problem:
        raise DecodeError(problem)
    text = body.decode("utf-8", "inkube.gojson")
    value = json.loads(text, parse_int=parse_int or _integer, parse_float=parse_float or _float)
    return _without_surrogates(value)


def _one_for_each(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("inkube.gojson", _one_for_each)


def _integer(text: str) -> int | float:
    if len(text) < 19:
        return int(text)
    value = float(text)
    if abs(value) > 2 * _INT64:
        return _float(text)
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise DecodeError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _without_surrogates(name): _without_surrogates(item) for name, item in value.items()
        }
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _shortened(value: Any) -> Any:
    """Return the value with integers outside int64 as floats."""
    if type(value) is int:
        return value if -_INT64 <= value < _INT64 else float(value)
    if type(value) is dict:
        return {name: _shortened(item) for name, item in value.items()}
    return [_shortened(item) for item in value] if type(value) is list else value


def _depth(value: Any) -> int:
    """Return the depth of nested containers, counted level by level up to the limit."""
    level, depth = [value], 0
    while depth <= MAX_DEPTH:
        level = [below for below in level if type(below) is dict or type(below) is list]
        if not level:
            break
        depth += 1
        level = [
            item for below in level for item in (below.values() if type(below) is dict else below)
        ]
    return depth


# ----------------------------------------------------------------------- syntax errors


class _SyntaxError(Exception):
    """A syntax error at the offset `at`. `context` is Go's phrase, or "" at the end of the input if
    a space can be there."""

    def __init__(self, at: int, context: str) -> None:
        super().__init__(context)
        self.at = at
        self.context = context


def syntax_error(body: bytes, *, depth: int = _GO_DEPTH) -> str:
    """Return Go's message for the first error, or "" for valid JSON that is not deeper than
    `depth`."""
    try:
        end = _Scanner(body, depth).scan()
    except _SyntaxError as error:
        if error.at >= len(body):  # scanner.eof reads a space, which some places do not accept
            return f"invalid character ' ' {error.context}" if error.context else _END
        return f"invalid character {_quoted(body[error.at])} {error.context}"
    return f"invalid character {_quoted(body[end])} after top-level value" if end >= 0 else ""


def _quoted(byte: int) -> str:
    """quoteChar: the byte as a rune in single quotes."""
    if byte == ord("'"):
        return r"'\''"
    if byte == ord('"'):
        return "'\"'"
    char = chr(byte)
    if char in _GO_ESCAPES:
        return f"'{_GO_ESCAPES[char]}'"
    if char.isprintable():
        return f"'{char}'"
    return f"'\\x{byte:02x}'" if byte < 0x80 else f"'\\u{byte:04x}'"


_GO_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\",
}  # fmt: skip


class _Scanner:
    """A scanner with a stack of open containers."""

    def __init__(self, body: bytes, depth: int) -> None:
        self._body = body
        self._at = 0
        self._depth = depth

    def scan(self) -> int:
        """Scan the text. Returns the offset of bytes after the value, or -1 without any."""
        stack: list[int] = []
        while True:
            self._value(stack)
            if not stack:
                self._space()
                return self._at if self._at < len(self._body) else -1

    def _value(self, stack: list[int]) -> None:
        """Read the next value, and the ends of all containers that it closes."""
        self._space()
        byte = self._peek()
        if byte in b"[{":
            self._open(byte, stack)
            return
        self._scalar(byte)
        self._close(stack)

    def _open(self, byte: int, stack: list[int]) -> None:
        if len(stack) >= self._depth:
            raise _SyntaxError(self._at, "exceeded max depth")
        self._at += 1
        self._space()
        closer = ord("]" if byte == ord("[") else "}")
        if self._at < len(self._body) and self._body[self._at] == closer:
            self._at += 1
            self._close(stack)
            return
        stack.append(byte)
        if byte == ord("{"):
            self._key()

    def _close(self, stack: list[int]) -> None:
        """Read a comma, or the ends of open containers, after a value."""
        while stack:
            self._space()
            in_list = stack[-1] == ord("[")
            after = "after array element" if in_list else "after object key:value pair"
            byte = self._peek()
            self._at += 1
            if byte == ord(","):
                if not in_list:
                    self._key()
                return
            if byte != ord("]" if in_list else "}"):
                raise _SyntaxError(self._at - 1, after)
            stack.pop()

    def _key(self) -> None:
        self._space()
        if self._peek() != ord('"'):
            raise _SyntaxError(self._at, "looking for beginning of object key string")
        self._string()
        self._space()
        if self._peek() != ord(":"):
            raise _SyntaxError(self._at, "after object key")
        self._at += 1

    def _scalar(self, byte: int) -> None:
        if byte == ord('"'):
            self._string()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        elif byte in b"-0123456789":
            self._number()
        else:
            raise _SyntaxError(self._at, "looking for beginning of value")

    def _string(self) -> None:
        self._at += 1
        while True:
            self._at = _skip(_STRING, self._body, self._at)
            byte = self._peek()
            if byte == ord('"'):
                self._at += 1
                return
            if byte != ord("\\"):
                raise _SyntaxError(self._at, "in string literal")
            escape = _ESCAPE.match(self._body, self._at)
            if not escape:
                raise self._bad_escape()
            self._at = escape.end()

    def _bad_escape(self) -> _SyntaxError:
        if self._body[self._at + 1 : self._at + 2] != b"u":
            return _SyntaxError(self._at + 1, "in string escape code")
        end = _skip(_HEX, self._body, self._at + 2)
        return _SyntaxError(end, "in \\u hexadecimal character escape")

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._body[self._at : self._at + 1] != bytes((expected,)):
                context = f"in literal {word.decode()} (expecting {_quoted(expected)})"
                raise _SyntaxError(self._at, context)
            self._at += 1

    def _number(self) -> None:
        match = _NUMBER.match(self._body, self._at)
        if not match:  # a lone minus
            raise _SyntaxError(self._at + 1, "in numeric literal")
        self._at = match.end()
        rest = self._body[self._at : self._at + 2]
        if rest[:1] == b"." and b"." not in match[0] and b"e" not in match[0].lower():
            raise _SyntaxError(self._at + 1, "after decimal point in numeric literal")
        if rest[:1] in {b"e", b"E"} and b"e" not in match[0].lower():
            sign = rest[1:] in {b"+", b"-"}
            raise _SyntaxError(self._at + 1 + sign, "in exponent of numeric literal")

    def _space(self) -> None:
        self._at = _skip(_SPACE, self._body, self._at)

    def _peek(self) -> int:
        if self._at >= len(self._body):
            raise _SyntaxError(self._at, "")
        return self._body[self._at]


def _skip(pattern: "re.Pattern[bytes]", body: bytes, at: int) -> int:
    match = pattern.match(body, at)
    return match.end() if match else at
