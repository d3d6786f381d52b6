"""Regular expressions of RE2, with the errors and the matches of Go's regexp.

Searches call the binding below google-re2's Python wrapper. The wrapper takes five times as long,
for results (groups, offsets in characters) that are not needed here. Python's `re` has another
syntax and can take exponential time.
"""

import re
from typing import Any, Final

import re2

from inkube.schemas import caches

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


class PublicBinding:
    """The binding's methods with the wrapper's public names, for a google-re2 without the other."""

    def __init__(self, text: bytes, options: re2.Options) -> None:
        self._error = b""
        try:
            self._pattern = re2.compile(text, options)
        except re2.error as error:
            self._error = error.args[0]

    def ok(self) -> bool:
        """Return whether the pattern is valid."""
        return not self._error

    def error(self) -> bytes:
        """Return why it is not."""
        return self._error

    def ProgramSize(self) -> int:  # noqa: N802 # as in C++
        """Return the number of steps of its program."""
        return int(self._pattern.programsize)

    def Match(self, _: object, data: bytes, start: int, end: int) -> list[tuple[int, int]]:  # noqa: N802
        """Return the positions of the leftmost match and its groups; -1 without one."""
        match = self._pattern.search(data, start, end)
        return [(-1, -1)] if match is None else [match.span()]


try:
    _BINDING: Any = re2._re2.RE2  # noqa: SLF001 # see above
    _UNANCHORED: Any = _BINDING.Anchor.UNANCHORED
except AttributeError:
    _BINDING, _UNANCHORED = PublicBinding, None

# If RE2's automaton grows too large, RE2 tries every state of the program for every byte: 80
# million steps took a second.
_MOST_STEPS: Final = 200_000_000
_HIGHEST: Final = 1000  # regexp/syntax/parse.go: maxHeight
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


_TOKENS: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\(\?:|.", re.DOTALL
)
_REPEATS: Final = frozenset("*+?")


class RegexError(ValueError):
    """An invalid pattern, with Go's text: `error parsing regexp: missing closing ): …`."""


class StepsError(RegexError):
    """A text for which this pattern needs too many steps."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"matching takes too many steps: `{pattern}`")


class Pattern:
    """A compiled pattern. Its searches raise StepsError."""

    __slots__ = ("_longest", "_match", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        compiled = _compiled(text)
        self._match = compiled.Match
        self._longest = _MOST_STEPS // max(compiled.ProgramSize(), 1)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in the text (MatchString)."""
        data = self._bounded(text)
        return bool(self._match(_UNANCHORED, data, 0, len(data))[0][0] >= 0)

    def find(self, text: str) -> str:
        """Return the leftmost match, or "" without one (FindString)."""
        data = self._bounded(text)
        start, end = self._match(_UNANCHORED, data, 0, len(data))[0]
        return data[start:end].decode("utf-8", "surrogatepass") if start >= 0 else ""

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Return the matches in their order, at most `limit` (FindAllString).

        Unlike in Python, an empty match directly after another match does not count.
        """
        data = self._bounded(text)
        matches: list[str] = []
        position, previous = 0, -1
        while len(matches) != limit and position <= len(data):
            start, end = self._match(_UNANCHORED, data, position, len(data))[0]
            if start < 0:
                break
            if end > position or start != previous:
                matches.append(data[start:end].decode("utf-8", "surrogatepass"))
            position = end if end > position else _next_character(data, position)
            previous = end
        return matches

    def _bounded(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > self._longest:
            raise StepsError(self.text)
        return data


def _next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


@caches.of_texts(4096)
def compile(text: str) -> Pattern:  # noqa: A001 - read as regexp.compile
    """Return the compiled pattern, cached. Raises RegexError."""
    return Pattern(text)


def error(text: str) -> str | None:
    """Return the error of a pattern, or None."""
    try:
        compile(text)
    except RegexError as error:
        return str(error)
    return None


def _compiled(text: str) -> Any:
    if len(text) > _HIGHEST and _height(text) > _HIGHEST:
        raise RegexError(f"error parsing regexp: expression nests too deeply: `{text}`")
    compiled = _BINDING(text.encode("utf-8", "surrogatepass"), _OPTIONS)
    if not compiled.ok():
        raise RegexError(_in_go(bytes(compiled.error()).decode("utf-8", "replace"), text))
    return compiled


def _height(text: str) -> int:
    """Return the depth of nested operators in a pattern (regexp/syntax: calcHeight)."""
    levels = [_Level()]
    for token in _TOKENS.findall(text):
        if token in ("(", "(?:"):
            levels.append(_Level(is_group=token == "("))
        elif token == ")" and len(levels) > 1:  # inside the pattern
            height = levels.pop().height()
            levels[-1].add(height)
        elif token == "|":
            levels[-1].close()
            levels[-1].choices = 1
        elif token in _REPEATS or (token.startswith("{") and len(token) > 1):
            levels[-1].repeat(token)
        else:
            levels[-1].add(1)
    while len(levels) > 1:  # the pattern is invalid, and RE2 reports the error
        height = levels.pop().height()
        levels[-1].add(height)
    return levels[0].height()


class _Level:
    """The content of parentheses: alternatives, each a sequence of items."""

    __slots__ = ("_highest", "_item", "_items", "_repeated", "choices", "is_group")

    def __init__(self, *, is_group: bool = False) -> None:
        self.is_group = is_group
        self.choices = 0
        self._highest = 0  # of the alternatives before
        self._items = 0  # of the sequence at hand
        self._item = 0  # the height of the highest of them
        self._repeated = ""

    def add(self, height: int) -> None:
        """Add an item to the sequence."""
        self._item = max(self._item, height)
        self._items += 1
        self._repeated = ""

    def repeat(self, how: str) -> None:
        """Repeat the last item, which adds one operator for each kind of repeat."""
        if how != self._repeated:
            self._item += 1
        self._repeated = how

    def close(self) -> None:
        """End an alternative."""
        self._highest = max(self._highest, self._item + (self._items > 1))
        self._items = self._item = 0

    def height(self) -> int:
        """Return the height of the whole content, as one item."""
        self.close()
        return max(self._highest, 1) + self.choices + self.is_group


def _in_go(message: str, pattern: str) -> str:
    for code, text in _CODES.items():
        if message == code or message.startswith(f"{code}: "):
            return f"error parsing regexp: {text}: `{message[len(code) + 2 :]}`"
    return f"error parsing regexp: expression too large: `{pattern}`"
