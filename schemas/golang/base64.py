"""Base64 as in Go's encoding/base64, with its errors (base64.go, decodeQuantum)."""

import base64
import re

from inkube.schemas.golang.unmarshal import DecodeError

_URL_SAFE = str.maketrans("-_+/", "+/!!")
_QUANTUM = re.compile(rb"(?:[\r\n]*[A-Za-z0-9+/]){4}")
_DIGITS = re.compile(rb"(?:[\r\n]*[A-Za-z0-9+/])*")
_BREAKS = re.compile(rb"[\r\n]*")


def canonical(text: str) -> str:
    """Return the text without line breaks. Raises DecodeError with Go's text."""
    return encoded(_decode(text))


def _decode(text: str) -> bytes:
    data = _decoded(text.replace("\r", "").replace("\n", ""))
    if data is None:
        raise DecodeError(f"illegal base64 data at input byte {_place(text.encode())}")
    return data


def _decoded(text: str) -> bytes | None:
    if len(text) % 4 or text.endswith("==="):  # Python accepts padding behind whole quanta
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def encoded(data: bytes) -> str:
    """Return bytes as a text."""
    return base64.b64encode(data).decode()


def decode_url(text: str) -> bytes:
    """Return the bytes of a text with the alphabet for URLs. Raises DecodeError with Go's text."""
    return _decode(text.translate(_URL_SAFE))


def _place(text: bytes) -> int:
    """Return the offset at which Go's decoder stops. It reads four digits at a time."""
    at = 0
    while match := _QUANTUM.match(text, at):
        at = match.end()
    digits = _DIGITS.match(text, at)
    assert digits is not None, "it matches the empty text"
    count = len(_BREAKS.sub(b"", digits[0]))
    end = _after_breaks(text, digits.end())
    if end == len(text):
        return end - count
    if text[end : end + 1] != b"=" or count < 2:
        return end
    padding = end
    end += 1
    if count == 2:
        end = _after_breaks(text, end)
        if end == len(text):
            return end
        if text[end : end + 1] != b"=":
            return padding if end == padding + 1 else end - 1
        end += 1
    return _after_breaks(text, end)


def _after_breaks(text: bytes, at: int) -> int:
    match = _BREAKS.match(text, at)
    return match.end() if match else at
