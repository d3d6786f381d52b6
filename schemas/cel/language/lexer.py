r"""Tokens of CEL, as in cel-go parser/gen/CEL.g4.

A text that fits no token is reported as ANTLR's lexer does: `token recognition error at: '= '`
covers what was read up to and including the character that could not follow.
"""

import re
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
_TOKENS = {
    "HIDDEN": r"[\t \r\n\f]+|//[^\n]*",
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
"""What may begin a token, up to the character that ends the hope of one."""

EOF = "<EOF>"


class Token(NamedTuple):
    """`kind` is a class (`NUM_INT`, `IDENTIFIER`) or the text itself (`==`, `in`, `<EOF>`)."""

    kind: str
    text: str
    pos: int


def tokens(text: str) -> tuple[list[Token], list[Issue]]:
    """All tokens, `<EOF>` last, and what could not be read."""
    found: list[Token] = []
    issues: list[Issue] = []
    pos = 0
    while pos < len(text):
        match = _TOKEN.match(text, pos)
        if match is None:
            end = _unreadable(text, pos)
            message = f"Syntax error: token recognition error at: '{text[pos:end]}'"
            issues.append(Issue(pos, message))
            pos = end
            continue
        pos = match.end()
        kind = match.lastgroup or ""
        if kind != "HIDDEN":
            word = match.group()
            literal = kind == "OP" or word in _KEYWORDS
            found.append(Token(word if literal else kind, word, match.start()))
    found.append(Token(EOF, EOF, len(text)))
    return found, issues


def _unreadable(text: str, pos: int) -> int:
    """Where reading goes on after the unreadable text at `pos`."""
    begun = _UNFINISHED.match(text, pos)
    end = begun.end() + 1 if begun else pos + 1
    return min(end, len(text))
