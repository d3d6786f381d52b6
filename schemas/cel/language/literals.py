"""Values of literals: numbers, strings and bytes with escapes (cel-go parser/unescape.go)."""

import re

from inkube.schemas.cel.declarations.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\"'`\\?])|([0-3][0-7][0-7])"
    r"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xX]([0-9a-fA-F]{2}))"
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def integer(text: str, negative: bool) -> int:
    """Return the value of an int literal. Raises ValueError if it does not fit into 64 bits."""
    value = int(text, 16) if text[:2] == "0x" else int(text)
    value = -value if negative else value
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError(text)
    return value


def unsigned(text: str) -> Uint:
    """Return the value of a uint literal, which ends with `u`. Raises ValueError if it does not fit
    into 64 bits."""
    digits = text[:-1]
    value = int(digits, 16) if digits[:2] == "0x" else int(digits)
    if value > UINT_MAX:
        raise ValueError(text)
    return Uint(value)


def double(text: str, negative: bool) -> float:
    """Return the value of a double literal. Raises ValueError on overflow, as
    strconv.ParseFloat."""
    value = float(text)
    if value == float("inf"):
        raise ValueError(text)
    return -value if negative else value


def string(text: str) -> str:
    """Return the value of a string literal with quotes and prefix. Raises ValueError for an escape
    out of range."""
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def bytes_(text: str) -> bytes:
    """Return a bytes literal with its prefix; `\\x` and octal escapes are bytes, the rest is
    UTF-8."""
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts: list[bytes] = []
    start = 0
    for match in _ESCAPE.finditer(body):
        if match[3] or match[4]:
            raise ValueError(text)
        parts.append(body[start : match.start()].encode())
        character = _character(match)
        parts.append(character.encode() if match[1] else bytes([ord(character)]))
        start = match.end()
    return b"".join([*parts, body[start:].encode()])


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    size = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[size:-size], raw


def _character(match: re.Match[str]) -> str:
    simple, octal, short, long, hexadecimal = match.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal else int(short or long or hexadecimal, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(match[0])
    return chr(code)
