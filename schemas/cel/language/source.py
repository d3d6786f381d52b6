"""The text of an expression, and its errors.

Positions are offsets in code points. Error texts follow cel-go common/error.go: position, message,
the line, and an arrow below it.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from inkube.schemas.cel.declarations.functions import CelError

_MAX_REPORTED = 100


class Position(NamedTuple):
    """Line from 1, column from 0, both in code points."""

    line: int
    column: int


class Source:
    """An expression's text with its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for offset, char in enumerate(text):
            if char == "\n":
                self._starts.append(offset + 1)

    def place(self, offset: int) -> Position:
        """Return line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1])

    def line(self, number: int) -> str:
        """Return the text of a line, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end]


@dataclass(frozen=True, slots=True)
class Issue:
    """One error at one offset."""

    offset: int
    message: str


class CompileError(CelError):
    """The expression is invalid; `str()` is cel-go's text, `issues` are its parts."""

    def __init__(self, source: Source, issues: list[Issue]) -> None:
        self.issues = sorted(issues, key=lambda issue: source.place(issue.offset))
        super().__init__(_text(source, self.issues))


def _text(source: Source, issues: list[Issue]) -> str:
    lines = [_display(source, issue) for issue in issues[:_MAX_REPORTED]]
    if len(issues) > _MAX_REPORTED:
        lines.append(f"{len(issues) - _MAX_REPORTED} more errors were truncated")
    return "\n".join(lines)


def _display(source: Source, issue: Issue) -> str:
    if not source.text:  # an empty text has no position and no line
        return f"ERROR: <input>:1:0: {issue.message}"
    line, column = source.place(issue.offset)
    snippet = source.line(line).replace("\t", " ")
    dots = "".join("." if char.isascii() else "．" for char in snippet[:column])
    arrow = "^" if snippet[column : column + 1].isascii() else "＾"
    head = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    return f"{head}\n | {snippet}\n | {dots}{arrow}"
