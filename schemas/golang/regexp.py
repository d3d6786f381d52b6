"""Regular expressions of RE2, with the errors and the matches of Go's regexp.

Searches call the binding beneath google-re2's own wrapper, which costs five times as much for
work (groups, offsets in characters) that is not needed here. Python's `re` would mean other things
and can be made to hang.
"""

from typing import Any, Final

import re2

from inkube.schemas import caches

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_BINDING: Final = re2._re2.RE2  # noqa: SLF001 - see above
_UNANCHORED: Final = _BINDING.Anchor.UNANCHORED

_CODES: Final = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}


class RegexError(ValueError):
    """Not a pattern: `error parsing regexp: missing closing ): …`, Go's text."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_match", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._match = _compiled(text).Match

    def matches(self, text: str) -> bool:
        """Whether it matches anywhere (MatchString)."""
        data = text.encode("utf-8", "surrogatepass")
        return bool(self._match(_UNANCHORED, data, 0, len(data))[0][0] >= 0)

    def find(self, text: str) -> str:
        """The leftmost match, or nothing (FindString)."""
        data = text.encode("utf-8", "surrogatepass")
        start, end = self._match(_UNANCHORED, data, 0, len(data))[0]
        return data[start:end].decode("utf-8", "surrogatepass") if start >= 0 else ""

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """The matches in order, at most `limit` (FindAllString).

        An empty match right behind another match does not count, unlike in Python.
        """
        data = text.encode("utf-8", "surrogatepass")
        found: list[str] = []
        position, previous = 0, -1
        while len(found) != limit and position <= len(data):
            start, end = self._match(_UNANCHORED, data, position, len(data))[0]
            if start < 0:
                break
            if end > position or start != previous:
                found.append(data[start:end].decode("utf-8", "surrogatepass"))
            position = end if end > position else _next_character(data, position)
            previous = end
        return found


def _next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


@caches.of_texts(4096)
def compile(text: str) -> Pattern:  # noqa: A001 - read as regexp.compile
    """The pattern, cached. Raises RegexError."""
    return Pattern(text)


def error(text: str) -> str | None:
    """Why the pattern does not compile, or None."""
    try:
        compile(text)
    except RegexError as why:
        return str(why)
    return None


def _compiled(text: str) -> Any:
    compiled = _BINDING(text.encode("utf-8", "surrogatepass"), _OPTIONS)
    if not compiled.ok():
        raise RegexError(_in_go(bytes(compiled.error()).decode("utf-8", "replace"), text))
    return compiled


def _in_go(message: str, pattern: str) -> str:
    for code, text in _CODES.items():
        if message == code or message.startswith(f"{code}: "):
            return f"error parsing regexp: {text}: `{message[len(code) + 2 :]}`"
    return f"error parsing regexp: expression too large: `{pattern}`"
