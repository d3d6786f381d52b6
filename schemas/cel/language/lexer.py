r"""Tokens of CEL, as in cel-go parser/gen/CEL.g4.

A text that fits no token is reported as ANTLR's lexer does: `token recognition error at: '= '`
covers the text up to and including the first character that does not fit.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from inkube.schemas.cel.language.source import Issue

_ESCAPE = (
    r"\\(?:[abfnrtv\"'`\\?]|[0-3][0-7][0-7]"
    r"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2})"
)
_THREE = (r"\"{3}", r"'{3}")
_STRING = "|".join(
    [f"{quotes}(?:{_ESCAPE}|[^\\\\])*?{quotes}" for quotes in _THREE]
    + [f"{quote}(?:{_ESCAPE}|[^\\\\{quote}\n\r])*{quote}" for quote in "\"'"]
)
_RAW = "|".join(
    [f"{quotes}[\\s\\S]*?{quotes}" for quotes in _THREE]
    + [f"{quote}[^{quote}\n\r]*{quote}" for quote in "\"'"]
)
_TEXT = f"(?:[rR](?:{_RAW})|{_STRING})"
_HIDDEN = "HIDDEN"
_UNREADABLE = "UNREADABLE"
_TOKENS = {
    _HIDDEN: r"[\t \r\n\f]+|//[^\n]*",
    "BYTES": f"[bB]{_TEXT}",
    "STRING": _TEXT,
    "NUM_FLOAT": r"[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?",
    "NUM_UINT": r"0x[0-9a-fA-F]+[uU]|[0-9]+[uU]",
    "NUM_INT": r"0x[0-9a-fA-F]+|[0-9]+",
    "IDENTIFIER": r"[A-Za-z_][A-Za-z0-9_]*",
    "ESC_IDENTIFIER": r"`[A-Za-z0-9_.\-/ ]+`",
    "OP": r"==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%]",
}
_TOKEN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _TOKENS.items()))
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_UNFINISHED = re.compile(
    rf"(?P<quote>[\"'])(?:{_ESCAPE}|(?!(?P=quote))[^\\\n\r])*"
    r"(?:\\(?:[0-3][0-7]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[xX][0-9a-fA-F]?)?)?"
    r"|`[A-Za-z0-9_.\-/ ]*|[&|=]"
)
"""The beginning of a token, up to the character that does not fit."""

EOF = "<EOF>"


class Token(NamedTuple):
    """`kind` is a class (`NUM_INT`, `IDENTIFIER`) or the text itself (`==`, `in`, `<EOF>`)."""

    kind: str
    text: str
    pos: int


def tokens(text: str) -> tuple[list[Token], list[Issue]]:
    """Return all tokens, `<EOF>` last, and the issues of unreadable parts."""
    recognized: list[Token] = []
    issues: list[Issue] = []
    for kind, part, pos in _parts(text):
        if kind == _UNREADABLE:
            issues.append(Issue(pos, f"Syntax error: token recognition error at: '{part}'"))
        elif kind != _HIDDEN:
            literal = kind == "OP" or part in _KEYWORDS
            recognized.append(Token(part if literal else kind, part, pos))
    recognized.append(Token(EOF, EOF, len(text)))
    return recognized, issues


def readable(text: str) -> str:
    """Return the text without unreadable parts, as ANTLR shows a sequence of tokens."""
    return "".join(part for kind, part, _ in _parts(text) if kind != _UNREADABLE)


def _parts(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the class, text and offset of each part of the text."""
    pos = 0
    while pos < len(text):
        match = _TOKEN.match(text, pos)
        end = match.end() if match else _unreadable(text, pos)
        yield (match.lastgroup or "") if match else _UNREADABLE, text[pos:end], pos
        pos = end


def _unreadable(text: str, pos: int) -> int:
    """Return the offset after the unreadable text at `pos`."""
    begun = _UNFINISHED.match(text, pos)
    end = begun.end() + 1 if begun else pos + 1
    return min(end, len(text))
